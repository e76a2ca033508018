//! The text of a request or a step, analysed once: callers use its methods and do not parse the
//! text themselves.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::base::is_listed;
use crate::language::clauses::{self, Part};
use crate::language::quotations::{self, Quotation};
use crate::language::said::Said;
use crate::language::{Asked, Tokens, words};

use super::arguments::{self, Edit, Unsettled};
use super::kind::lists::{BEFORE_VERB, CHANGES, COMMANDS, ENDED, MAKES, PRINTED, REPORTS};
use super::kind::{self, Kind};
use super::named::MARK;
use super::renames;
use super::substitution::{self, Substitution};

/// A text from the user: a request, a step or a part of one. It is split into words when it is
/// created; all further analysis happens on first use and is cached. The text is immutable, and only
/// this module reads it: other modules ask a method, or show the text as it is.
#[derive(Clone, Debug, Default)]
pub struct Text {
    tokens: Arc<Tokens>,
    asked: Asked,
    said: OnceLock<Arc<Said>>,
    command: OnceLock<Option<String>>,
    renames: OnceLock<Option<Vec<(Kind, String)>>>,
    replacements: OnceLock<Replacements>,
    removes: OnceLock<bool>,
    adds_words: OnceLock<bool>,
}

/// The values, names and types that a text replaces; `None` where the text does not state which
/// replaces which.
#[derive(Clone, Debug, Default)]
pub struct Replacements {
    /// A value, or any text.
    pub values: Option<Substitution>,
    /// The name of something in code.
    pub names: Option<Substitution>,
    /// The type of something in code.
    pub types: Option<Substitution>,
}

impl Text {
    /// Splits `text` into words; whatever takes more is read when it is first asked for.
    pub fn of(text: impl Into<String>) -> Text {
        let tokens = Arc::new(Tokens::of(text));
        Text { asked: Asked::with(tokens.clone()), tokens, ..Text::default() }
    }

    /// The unmodified text, for a reader of the complete text: a model, a search, the user.
    pub fn shown(&self) -> &str {
        &self.tokens.text
    }

    /// The text for the functions that analyse it.
    pub(crate) fn raw(&self) -> &str {
        &self.tokens.text
    }

    /// Whether any word of the text is in the space-separated `list`.
    pub(crate) fn has(&self, list: &str) -> bool {
        self.tokens.has(list)
    }

    /// Whether the text contains one of these lower-case strings: word stems or phrases.
    pub(crate) fn contains(&self, texts: &[&str]) -> bool {
        self.tokens.contains(texts)
    }

    /// The words of the text in lower case.
    pub(crate) fn words(&self) -> &[String] {
        self.tokens.all()
    }

    /// The text's statements about names in code, for the checks of a change.
    pub fn as_asked(&self) -> &Asked {
        &self.asked
    }

    /// The stems of the meaningful words of the text.
    pub fn content(&self) -> &HashSet<String> {
        self.tokens.content()
    }

    /// Whether the clause rules support the language of the text.
    pub fn has_rules(&self) -> bool {
        clauses::has_rules(self.raw())
    }

    /// Whether it is in English.
    pub fn is_english(&self) -> bool {
        clauses::is_english(self.raw())
    }

    /// Its clauses.
    pub fn parts(&self) -> Vec<Part> {
        clauses::parts(self.raw())
    }

    /// The text with each run of white space as a single space.
    pub fn on_one_line(&self) -> Text {
        Text::of(self.raw().split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Whether the text contains exactly these words: a name, a command, a path.
    pub fn says(&self, words: &str) -> bool {
        self.raw().contains(words)
    }

    /// The values that the text states, in any form.
    pub fn said(&self) -> &Said {
        self.said.get_or_init(|| Arc::new(Said::of(self.raw())))
    }

    /// Whether the texts are equal, ignoring upper case and surrounding spaces.
    pub fn is_same_as(&self, other: &str) -> bool {
        self.raw().trim().to_lowercase() == other.trim().to_lowercase()
    }
}

/// Queries about the subject of the text.
impl Text {
    /// Whether the text reports a problem, or asks for a repair.
    pub fn is_report(&self) -> bool {
        self.has(REPORTS) || self.has("fix repair mend behebe corrige arregla исправь")
    }

    /// Whether the text only asks to make failing tests pass.
    pub fn is_about_red_tests(&self) -> bool {
        kind::is_about_red_tests(self.raw())
    }

    /// Whether any word of the text is about tests: `tests`, `testing`, `unittest`, but not
    /// `latest`.
    pub fn speaks_of_tests(&self) -> bool {
        kind::speaks_of_tests(self.raw())
    }

    /// Whether the text is about documentation.
    pub fn speaks_of_docs(&self) -> bool {
        kind::speaks_of_docs(self.raw())
    }

    /// Whether the text asks how a run ended or what it printed: `tell me how many passed`,
    /// `what is the output?`.
    pub fn asks_how_it_ended(&self) -> bool {
        self.speaks_of_passing() || self.has(PRINTED)
    }

    /// Whether the text mentions passing or failing.
    pub fn speaks_of_passing(&self) -> bool {
        self.has(ENDED)
    }

    /// Whether the text asks for the current result, not when or why one would occur.
    pub fn asks_for_now(&self) -> bool {
        (self.has("many which do does are is all") || self.has(COMMANDS)) && !self.has("why how's when if would warum")
    }

    /// Whether the text asks for information: it contains a question, or asks to look at or report
    /// something.
    pub(crate) fn asks_something(&self) -> bool {
        kind::asks_something(self.raw())
    }

    /// Whether the text begins with a word that asks to look at or report something, and gives no
    /// order.
    pub fn asks_to_tell(&self) -> bool {
        kind::asks_to_tell(self.raw())
    }

    /// Whether the text asks to add a few words to a document and leave the rest unchanged.
    pub fn adds_words(&self) -> bool {
        *self.adds_words.get_or_init(|| kind::adds_words(self.raw()))
    }
}

/// Queries about the orders in the text.
impl Text {
    /// Whether it contains a question mark.
    pub fn has_question_mark(&self) -> bool {
        self.says("?")
    }

    /// The quoted texts outside parentheses, except long ones.
    pub fn quoted(&self) -> Vec<String> {
        const LONGEST: usize = 80;
        let all = quotations::of(self.raw());
        let is_text = |one: &&Quotation<'_>| one.text.trim().len() > 1 && one.text.len() <= LONGEST;
        let outside =
            all.iter().filter(is_text).filter(|one| quotations::depth(self.raw(), &all, one.range.start) == 0);
        outside.map(|one| one.text.to_owned()).collect()
    }

    /// Whether the text asks for a change: it gives an order, reports a problem, states something
    /// about code or expresses a wish, even in the form of a question.
    pub fn is_order(&self) -> bool {
        kind::is_order(self.raw())
    }

    /// The kind of the text as an order: a fix if it is about failing tests or a failing quoted
    /// command, else an edit.
    pub fn kind_of_order(&self) -> Kind {
        kind::ordered(self.raw())
    }

    /// The command that the text quotes or reports as failing.
    pub fn command(&self) -> Option<&str> {
        self.command.get_or_init(|| kind::quoted_command(self.raw())).as_deref()
    }

    /// The renames and moves that the text consists of, as `FROM -> TO`; `None` if it asks for
    /// anything else.
    pub fn renames(&self) -> Option<&[(Kind, String)]> {
        self.renames.get_or_init(|| renames::all(self.raw().trim())).as_deref()
    }

    /// The replacements that the text asks for: old to new.
    pub fn replacements(&self) -> &Replacements {
        self.replacements.get_or_init(|| Replacements {
            values: substitution::of(self.raw()),
            names: substitution::of_names(self.raw()),
            types: substitution::of_types(self.raw()),
        })
    }

    /// Whether the text states, outside of questions, which value, text or name replaces which.
    pub fn says_what_becomes_what(&self) -> bool {
        let all = self.replacements();
        !self.has_question_mark() && (all.values.is_some() || all.names.is_some())
    }

    /// An order to raise the project's version, in the form `set the version to 4.10.0`; the
    /// version comes from this text or from the complete `request`. `None` if the text orders
    /// something else.
    pub fn version_bump(&self, request: &Text) -> Option<Text> {
        substitution::version_bump(self.raw(), request.raw()).map(Text::of)
    }

    /// The edit of `file` that the text spells out.
    ///
    /// # Errors
    /// If it names no new value, or no line matches it, or several match about equally.
    pub fn edit_of(&self, file: &str) -> Result<Edit, Unsettled> {
        arguments::settle_edit(self.raw(), file)
    }

    /// Whether the text asks to remove something.
    pub fn removes(&self) -> bool {
        *self.removes.get_or_init(|| arguments::removes(self.raw()))
    }

    /// Whether the text removes something described only as unneeded, or cleans up in general.
    pub fn is_vague_removal(&self) -> bool {
        arguments::is_vague_removal(self.raw())
    }

    /// The edit of `file`, at `path`, that makes the removal; `None` if the text asks for something
    /// else.
    ///
    /// # Errors
    /// If it is unclear what to remove; the error says how to name it.
    pub fn removal_from(&self, path: &str, file: &str) -> Option<Result<Edit, String>> {
        arguments::settle_removal(self.raw(), path, file)
    }

    /// Whether the text only changes existing text or code: it begins with a verb of change and
    /// creates nothing. Its file names must be replaced by [`MARK`].
    pub fn changes_what_is_there(&self) -> bool {
        let words = self.words();
        from_verb(words).first().is_some_and(|verb| is_listed(CHANGES, verb))
            && !words.iter().any(|word| is_listed(MAKES, word))
    }

    /// Whether the text creates the file that [`MARK`] stands for: it begins with a verb of
    /// creation, as in `write a list of … to F`.
    pub fn makes_file(&self) -> bool {
        const WRITES: &str = "create write generate draft make save export document translate erstelle schreibe crée écris crea escribe создай напиши";
        const BEFORE_FILE: &str = "to into in as called named file a an the new";
        let verb = from_verb(self.words()).first();
        let last = words::split(self.before_mark()).pop().unwrap_or_default();
        let is_object = is_listed(BEFORE_FILE, &last) || verb.is_some_and(|verb| *verb == last);
        self.says(MARK) && is_object && verb.is_some_and(|verb| is_listed(WRITES, verb))
    }

    /// Whether the text creates the file that [`MARK`] stands for, rather than a part of it:
    /// `create a file F`.
    pub fn creates_file(&self) -> bool {
        const CREATES: &str = "create generate make draft erstelle crée crea создай";
        const ARTICLES: &str = "file a an the new empty called named";
        let before = words::split(self.before_mark());
        from_verb(&before).split_first().is_some_and(|(verb, between)| {
            is_listed(CREATES, verb) && between.iter().all(|word| is_listed(ARTICLES, word))
        })
    }

    fn before_mark(&self) -> &str {
        self.raw().split(MARK).next().unwrap_or_default()
    }
}

/// The words of an order, starting at its verb.
fn from_verb(words: &[String]) -> &[String] {
    &words[words.iter().take_while(|word| is_listed(BEFORE_VERB, word)).count()..]
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.raw())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text::of(text)
    }
}

/// Texts are equal if their characters are; the cached analysis is ignored.
impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        self.raw() == other.raw()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_once() {
        let text = Text::of("In net.py wait 30 seconds, not 20; `make lint` is red");
        assert!(std::ptr::eq(text.replacements(), text.replacements()));
        assert_eq!(text.command(), Some("make lint"));
        let values = text.replacements().values.as_ref();
        assert_eq!(values.map(|one| (one.old.as_str(), one.new.as_str())), Some(("20", "30")));
    }

    #[test]
    fn another_text_says_something_else() {
        let mut text = Text::of("Rename a_b to c_d");
        assert!(text.renames().is_some() && !text.is_report());
        assert_eq!(text.clone(), text);
        text = format!("{text} and run the tests, it crashes").into();
        assert!(text.renames().is_none() && text.is_report());
        assert_ne!(text, Text::of("Rename a_b to c_d"));
    }

    #[test]
    fn blanks_around_a_rename_do_not_matter() {
        let names = |text: &str| Text::of(text).renames().map(|all| all[0].1.clone());
        assert_eq!(names("\n  rename grind\nto mill "), Some("grind -> mill".to_owned()));
    }

    #[test]
    fn quoted_texts_are_read_outside_of_calls() {
        let text = Text::of("It's 'a b' and \"c d\", so f('e f') is \u{201c}gh\u{201d}. don't");
        assert_eq!(text.quoted(), ["a b", "c d", "gh"]);
    }

    #[test]
    fn a_file_is_made_or_changed() {
        let check = |text: &str, expected: (bool, bool, bool)| {
            let text = Text::of(text.replace("F", MARK));
            assert_eq!((text.changes_what_is_there(), text.makes_file(), text.creates_file()), expected, "{text}");
        };
        check("please create a new file F", (false, true, true));
        check("Write the names of all hooks to F", (false, true, false));
        check("In F change 5 to 6", (true, false, false));
        check("Create a chapter on hooks for readers of F", (false, false, false));
    }
}
