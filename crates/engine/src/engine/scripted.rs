//! A decoder that plays a script instead of running a model, so that code around models can be
//! tested exactly.
//!
//! Its tokens are bytes, and chat markers are ordinary text to it. As with a real model, its output
//! depends only on the text in the sequence: the text after the last turn marker is its own reply
//! so far, and the first rule whose pattern occurs before that marker determines the reply, or
//! several equally likely ones.

use std::sync::Arc;
use std::time::Duration;

use super::decoder::{DecodeError, Decoder, Limits, Row, Saved, Sharing, Stop, Token, Vocabulary};
use super::handle::Engine;
use super::request::EngineError;
use crate::budget::permit::Permit;
use crate::models::Measured;
use crate::models::capability::{
    CALLS, CHANGES, Choices, Choosing, LONG_PLAN, LONG_PLANS, READINGS, Share, TALKS, TOOLS_MANY,
};
use crate::models::dialect::Prompt;
use crate::models::speed::Speed;

/// The token that ends a reply; tokens 0 to 255 are the byte values.
const END: Token = Token(256);
/// The marker that begins the assistant's turn in a ChatML prompt.
const TURN: &str = "<|im_start|>assistant\n";
/// An empty thought, which a request without thinking adds after the turn marker.
const EMPTY_THOUGHT: &str = "<think>\n\n</think>\n\n";
const CLOSE: &str = "</think>";
/// Logit of the script's next token when certain, then when unsure; all others get 0.
const CERTAIN: f32 = 20.0;
const UNSURE: f32 = 0.5;
/// How much lower the logit of each further reply is, so that greedy decoding picks the first.
const LATER: f32 = 0.01;

/// The replies to prompts.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Pattern and replies of each rule.
    rules: Vec<(String, Vec<String>)>,
    otherwise: Vec<String>,
    /// Prompts that contain one of these texts fail to evaluate.
    fails: Vec<String>,
    pub slots: usize,
    pub context: usize,
    /// Time per row, for testing waiting, priority and cancellation.
    pub row_time: Duration,
    /// Maximum number of rows in a prefill call.
    pub chunk: usize,
    /// Whether it marks its thoughts with `<think>`.
    pub thoughtful: bool,
    is_unsure: bool,
    /// Its measured speed.
    pub(super) speed: Option<Speed>,
    /// Results of the probe.
    pub(super) measured: Option<Measured>,
    /// Whether the user declares it capable; `None` leaves that to the probe.
    pub(super) capable: Option<bool>,
}

impl Script {
    /// A script that replies `otherwise` to every prompt.
    pub fn saying(otherwise: &str) -> Script {
        let (slots, context, chunk) = (2, 65_536, 64);
        Script {
            otherwise: vec![otherwise.to_owned()],
            slots,
            context,
            chunk,
            capable: Some(true),
            ..Script::default()
        }
    }

    /// Replies `reply` when the prompt contains `pattern` and no earlier rule applies.
    pub fn on(self, pattern: &str, reply: &str) -> Script {
        self.on_either(pattern, &[reply])
    }

    /// The same with several replies: a sampled answer chooses among them by its seed, and a greedy
    /// answer is the first.
    pub fn on_either(mut self, pattern: &str, replies: &[&str]) -> Script {
        self.rules.push((pattern.to_owned(), replies.iter().map(|reply| (*reply).to_owned()).collect()));
        self
    }

    /// Sets its measured speed in tokens per second, for reading and writing.
    pub fn at(self, prompt: f64, decode: f64) -> Script {
        Script { speed: Some(Speed { prompt, decode }), ..self }
    }

    /// Makes its replies only slightly more probable than anything else.
    pub fn unsure(self) -> Script {
        Script { is_unsure: true, ..self }
    }

    /// Makes prompts that contain `pattern` fail.
    pub fn failing(mut self, pattern: &str) -> Script {
        self.fails.push(pattern.to_owned());
        self
    }

    /// Sets whether the user declares it capable, which is the default.
    pub fn judged(self, capable: Option<bool>) -> Script {
        Script { capable, ..self }
    }

    /// Sets probe results that show it can read requests, write changes and choose tools.
    pub fn writing(self) -> Script {
        let all = Share { right: 3, of: 3 };
        let few = Share { right: 4, of: 4 };
        let choices = Choices { few, many: few, margin_min: None };
        let choosing = Choosing { free: choices, grammar: choices };
        Script { measured: Some(Measured { choosing, reading: all, writing: all, ..Measured::default() }), ..self }
    }

    /// Sets how many of eight tools it chose correctly in the probe, freely and inside a grammar.
    /// It chooses better with few tools than with many, and is more certain of correct choices than
    /// an [`Script::unsure`] one.
    pub fn choosing(self, free: usize, grammar: usize) -> Script {
        let half = |right: usize| Share { right, of: 4 };
        let [free, grammar] = [free, grammar].map(|right| Choices {
            few: half(right.div_ceil(2)),
            many: half(right / 2),
            margin_min: Some(0.5),
        });
        let choosing = Choosing { free, grammar };
        Script { measured: Some(Measured { choosing, ..self.measured.unwrap_or_default() }), ..self }
    }

    /// Sets probe results that show it can also run free loops: it leads its turns.
    pub fn acting(self) -> Script {
        let all = |of: usize| Share { right: of, of };
        let measured = Measured {
            format: all(CALLS),
            selection: [(TOOLS_MANY, all(CALLS))].into(),
            restraint: all(TALKS),
            plans: [(LONG_PLAN, all(LONG_PLANS))].into(),
            reading: all(READINGS),
            writing: all(CHANGES),
            ..Measured::default()
        };
        Script { measured: Some(measured), ..self }
    }

    fn replies(&self, prompt: &str) -> &[String] {
        let rule = self.rules.iter().find(|(pattern, _)| prompt.contains(pattern.as_str()));
        rule.map_or(&self.otherwise, |(_, replies)| replies)
    }

    /// The tokens that may follow `text`, one for each reply that begins with it.
    fn next(&self, text: &str) -> Vec<Token> {
        let turn = text.rfind(TURN).map_or(text.len(), |at| at + TURN.len());
        let turn = if text[turn..].starts_with(EMPTY_THOUGHT) { turn + EMPTY_THOUGHT.len() } else { turn };
        let (prompt, written) = text.split_at(turn);
        let mut tokens = Vec::new();
        for token in self.replies(prompt).iter().filter_map(|reply| after(reply, written)) {
            if !tokens.contains(&token) {
                tokens.push(token);
            }
        }
        // If a grammar forced different text, the script ends.
        if tokens.is_empty() { vec![END] } else { tokens }
    }

    /// A running engine that plays this script.
    pub fn engine(self, permit: Permit) -> Result<Engine, EngineError> {
        let vocabulary = Arc::new(Letters { thoughtful: self.thoughtful, ..Letters::new() });
        let thread_vocabulary = vocabulary.clone();
        Engine::spawn("scripted", vocabulary, permit, move |inbox| {
            let sequences = vec![Vec::new(); self.slots];
            inbox.serve(ScriptedDecoder { script: self, sequences, logits: Vec::new() }, &*thread_vocabulary)
        })
    }
}

/// The token of `reply` after the text `written` so far; `None` if the reply begins differently.
fn after(reply: &str, written: &str) -> Option<Token> {
    let (mut reply, mut written) = (reply, written);
    // After a thought that was cut short, continue with the text that follows it in the reply.
    if !reply.starts_with(written)
        && let (Some((_, after)), Some((_, so_far))) = (reply.split_once(CLOSE), written.split_once(CLOSE))
    {
        (reply, written) = (after.trim_start(), so_far.trim_start());
    }
    let rest = reply.as_bytes().strip_prefix(written.as_bytes())?;
    Some(rest.first().map_or(END, |&byte| Token(i32::from(byte))))
}

/// A vocabulary of 256 byte tokens and one end token.
pub struct Letters {
    bytes: Vec<[u8; 1]>,
    pub thoughtful: bool,
}

impl Letters {
    pub fn new() -> Letters {
        Letters { bytes: (0..=255u8).map(|byte| [byte]).collect(), thoughtful: false }
    }
}

impl Default for Letters {
    fn default() -> Letters {
        Letters::new()
    }
}

impl Vocabulary for Letters {
    fn size(&self) -> usize {
        257
    }

    fn tokenize(&self, prompt: &Prompt) -> Vec<Token> {
        prompt.flat().bytes().map(|byte| Token(i32::from(byte))).collect()
    }

    fn bytes(&self, token: Token) -> &[u8] {
        self.bytes.get(token.0 as usize).map_or(&[], |byte| byte)
    }

    fn control(&self, token: Token) -> Option<&[u8]> {
        (token == END).then_some(b"<|end|>")
    }

    fn is_end(&self, token: Token) -> bool {
        token == END
    }

    fn marks_thoughts(&self) -> bool {
        self.thoughtful
    }
}

struct ScriptedDecoder {
    script: Script,
    sequences: Vec<Vec<u8>>,
    /// Logits after each row of the last call; empty if the row did not request them.
    logits: Vec<Vec<f32>>,
}

impl Decoder for ScriptedDecoder {
    fn limits(&self) -> Limits {
        Limits {
            sequences: self.script.slots,
            context: self.script.context,
            chunk: self.script.chunk,
            part: self.script.chunk,
            outputs: self.script.chunk.max(self.script.slots),
            vocabulary: 257,
            sharing: Sharing::Always,
            cuts_anywhere: true,
            calls_in_a_row: 1,
            undo: usize::MAX,
        }
    }

    fn decode(&mut self, rows: &[Row], stop: Stop<'_>) -> Result<(), DecodeError> {
        self.logits.clear();
        for row in rows {
            if stop() {
                return Err(DecodeError::Stopped);
            }
            std::thread::sleep(self.script.row_time);
            let sequence = &mut self.sequences[row.sequence];
            let byte = u8::try_from(row.token.0).unwrap_or(b'?');
            if sequence.len() != row.position {
                let reason = format!("row for position {}, but the sequence ends at {}", row.position, sequence.len());
                return Err(DecodeError::Failed { rows: rows.len(), reason });
            }
            sequence.push(byte);
            let mut logits = Vec::new();
            if row.logits {
                let text = String::from_utf8_lossy(sequence);
                if self.script.fails.iter().any(|pattern| text.contains(pattern.as_str())) {
                    let reason = "the script says so".to_owned();
                    return Err(DecodeError::Failed { rows: rows.len(), reason });
                }
                logits = vec![0.0; 257];
                let best = if self.script.is_unsure { UNSURE } else { CERTAIN };
                for (at, token) in self.script.next(&text).into_iter().enumerate() {
                    logits[token.0 as usize] = best - LATER * at as f32;
                }
            }
            self.logits.push(logits);
        }
        Ok(())
    }

    fn logits(&self, row: usize) -> &[f32] {
        &self.logits[row]
    }

    fn mark(&mut self, _: usize) {}

    fn keep(&mut self, sequence: usize, wanted: usize) -> usize {
        let held = &mut self.sequences[sequence];
        held.truncate(wanted);
        held.len()
    }

    fn save(&mut self, sequence: usize) -> Option<Saved> {
        let held = &self.sequences[sequence];
        let state = held.as_slice().into();
        (!held.is_empty()).then(|| Saved { length: held.len(), state, marks: Vec::new(), places: Vec::new() })
    }

    fn restore(&mut self, sequence: usize, saved: &Saved) -> bool {
        self.sequences[sequence] = saved.state.to_vec();
        true
    }
}
