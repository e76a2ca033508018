//! Constrains a generation to a grammar: computes the allowed next tokens from a Lark text or a JSON schema.

use std::sync::{Arc, OnceLock};

use llguidance::api::{ParserLimits, TopLevelGrammar};
use llguidance::{GrammarBuilder, JsonCompileOptions, Matcher, ParserFactory};
use serde_json::{Value, json};
use toktrie::{ApproximateTokEnv, InferenceCapabilities, TokEnv, TokRxInfo, TokTrie, TokenId};

use super::decoder::{Token, Vocabulary};
use crate::models::dialect::Prompt;

/// The required form of a generation.
#[derive(Clone, Debug, PartialEq)]
pub enum Grammar {
    /// llguidance's Lark dialect; `<|name|>` stands for a control token.
    Lark(String),
    /// A Lark text in parts.
    Marked(Vec<Part>),
    /// JSON that is valid under the schema, on one line or indented.
    JsonSchema(Value),
}

/// A part of a Lark text.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Lark(String),
    /// Marks: control tokens or text, depending on the vocabulary.
    Marks(String),
    /// Any text up to and including the marks.
    Until(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the grammar cannot be used: {0}")]
pub struct GrammarError(String);

/// Compiles grammars for one vocabulary. The token tree takes hundreds of milliseconds to build, so it is built on
/// first use.
pub struct Grammars {
    vocabulary: Arc<dyn Vocabulary>,
    factory: OnceLock<Result<ParserFactory, GrammarError>>,
}

impl Grammars {
    pub fn new(vocabulary: Arc<dyn Vocabulary>) -> Grammars {
        Grammars { vocabulary, factory: OnceLock::new() }
    }

    pub fn compile(&self, grammar: &Grammar) -> Result<Constraint, GrammarError> {
        let factory = self.factory.get_or_init(|| factory(&*self.vocabulary)).as_ref().map_err(Clone::clone)?;
        let top = match grammar {
            Grammar::Lark(text) => TopLevelGrammar::from_lark(text.clone()),
            Grammar::Marked(parts) => TopLevelGrammar::from_lark(lark(&*self.vocabulary, parts)),
            Grammar::JsonSchema(schema) => TopLevelGrammar::from_json_schema(with_few_blanks(schema.clone())),
        };
        let mut matcher = Matcher::new(factory.create_parser(top));
        match matcher.get_error() {
            Some(error) => Err(GrammarError(error)),
            None => {
                for warning in matcher.grammar_warnings() {
                    tracing::debug!(warning, "grammar");
                }
                Ok(Constraint { matcher })
            }
        }
    }
}

/// The whitespace allowed between two parts of JSON. Without a limit, a small model writes blank
/// lines until its tokens run out.
const BLANKS: &str = r" |\n[ \t]{0,64}";

/// The schema with an llguidance annotation that limits the whitespace between parts.
pub fn with_few_blanks(mut schema: Value) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("x-guidance".to_owned(), json!({ "whitespace_pattern": BLANKS }));
    }
    schema
}

/// Whether a JSON schema can be turned into a grammar, regardless of the vocabulary. The error is
/// one line long.
pub fn compiles(schema: &Value) -> Result<(), String> {
    let builder = GrammarBuilder::new(None, ParserLimits::default());
    let compiled = JsonCompileOptions::default().json_to_llg_no_validate(builder, schema.clone());
    compiled.map(drop).map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned())
}

/// The Lark text of a grammar in parts.
fn lark(vocabulary: &dyn Vocabulary, grammar: &[Part]) -> String {
    const TEXT: &str = "/(.|\\n)*/";
    let (mut text, mut rules) = (String::new(), String::new());
    for (index, part) in grammar.iter().enumerate() {
        match part {
            Part::Lark(lark) => text.push_str(lark),
            Part::Marks(marks) => text.push_str(&parts(vocabulary, marks).join(" ")),
            Part::Until(marks) => match &parts(vocabulary, marks)[..] {
                [first, rest @ ..] if first.starts_with('"') => {
                    // The shortest match: a longer one would contain the mark.
                    rules.push_str(&format!("\nuntil{index}[suffix={first}]: {TEXT}"));
                    text.push_str(&format!("until{index} {}", rest.join(" ")));
                }
                marks => text.push_str(&format!("{TEXT} {}", marks.join(" "))),
            },
        }
    }
    format!("{text}{rules}\n")
}

/// `marks` as Lark terms: control tokens by number, the text between them in quotes.
fn parts(vocabulary: &dyn Vocabulary, marks: &str) -> Vec<String> {
    let quoted = |text: &str| (!text.is_empty()).then(|| Value::String(text.to_owned()).to_string());
    let (mut parts, mut rest) = (Vec::new(), marks);
    for token in vocabulary.tokenize(&Prompt::default().special(marks)) {
        let name = vocabulary.control(token).and_then(|name| std::str::from_utf8(name).ok());
        // Skip a control token that is not in `marks`: the tokenizer puts it before every text.
        let Some((before, after)) = name.filter(|name| !name.is_empty()).and_then(|name| rest.split_once(name)) else {
            continue;
        };
        parts.extend(quoted(before));
        parts.push(format!("<[{}]>", token.0));
        rest = after;
    }
    parts.extend(quoted(rest));
    parts
}

fn factory(vocabulary: &dyn Vocabulary) -> Result<ParserFactory, GrammarError> {
    let failed = |error: anyhow::Error| GrammarError(error.to_string());
    let ends: Vec<TokenId> = vocabulary.ends().iter().map(|token| token.0 as TokenId).collect();
    let first_end = *ends.first().ok_or_else(|| GrammarError("the vocabulary has no end-of-text token".to_owned()))?;
    let words: Vec<Vec<u8>> = (0..vocabulary.size() as i32).map(|index| word(vocabulary, Token(index))).collect();
    let trie = TokTrie::from(&TokRxInfo::new(words.len() as u32, first_end), &words).with_eos_tokens(&ends);
    let environment: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
    let capabilities = InferenceCapabilities { ff_tokens: false, ..Default::default() };
    let mut factory =
        ParserFactory::new(&environment, capabilities, &llguidance::earley::SlicedBiasComputer::general_slices())
            .map_err(failed)?;
    factory.quiet();
    Ok(factory)
}

/// A token in the form that the token tree expects: its bytes, or the marker byte and the name for
/// a control token.
fn word(vocabulary: &dyn Vocabulary, token: Token) -> Vec<u8> {
    match vocabulary.control(token) {
        Some(name) => [&[TokTrie::SPECIAL_TOKEN_MARKER], name].concat(),
        None => vocabulary.bytes(token).to_vec(),
    }
}

/// One generation's position in its grammar.
pub struct Constraint {
    matcher: Matcher,
}

impl Constraint {
    /// Sets the logits of every forbidden next token to minus infinity.
    pub fn mask(&mut self, logits: &mut [f32]) -> Result<(), GrammarError> {
        let allowed = self.matcher.compute_mask_or_eos().map_err(|error| GrammarError(error.to_string()))?;
        let known = allowed.len().min(logits.len());
        logits[known..].fill(f32::NEG_INFINITY);
        allowed.iter_unset_entries(|index| {
            if let Some(logit) = logits.get_mut(index) {
                *logit = f32::NEG_INFINITY;
            }
        });
        Ok(())
    }

    /// Advances past `token`; true if nothing may follow.
    pub fn accept(&mut self, token: Token) -> Result<bool, GrammarError> {
        self.matcher.consume_token(token.0 as TokenId).map_err(|error| GrammarError(error.to_string()))?;
        Ok(self.matcher.is_stopped())
    }
}
