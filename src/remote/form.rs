//! Converts the text of a reply to the requested form: cuts off the given beginning, and extracts a choice from JSON.

use serde_json::Value;

use super::ask::{Ask, Form};
use super::body::{CHOICE, KIND, LINES, WORDS};

/// The text of one reply.
pub struct Words<'a> {
    /// The beginning of the answer, which is cut off if the reply repeats it.
    begun: &'a str,
    form: &'a Form,
    held: String,
    /// Whether text may be passed on as it arrives.
    free: bool,
}

impl<'a> Words<'a> {
    /// The text of a reply to `ask`.
    pub fn of(ask: &'a Ask) -> Words<'a> {
        let free = ask.begun.is_empty() && matches!(ask.form, Form::Free | Form::Call | Form::Grammar(_));
        Words { begun: &ask.begun, form: &ask.form, held: String::new(), free }
    }

    /// Adds text and returns the part that can no longer change.
    pub fn push(&mut self, text: &str) -> String {
        if self.free {
            return text.to_owned();
        }
        self.held.push_str(text);
        if !matches!(self.form, Form::Free | Form::Call | Form::Grammar(_)) {
            return String::new();
        }
        let said = self.held.trim_start();
        let wanted = self.begun.trim_start();
        if said.len() < wanted.len() && wanted.starts_with(said) {
            return String::new();
        }
        self.free = true;
        let held = std::mem::take(&mut self.held);
        match held.trim_start().strip_prefix(wanted) {
            Some(rest) => rest.to_owned(),
            None => held,
        }
    }

    /// The rest at the end of the reply.
    pub fn finish(self) -> String {
        let text = match self.form {
            Form::Schema(_) => bare(&self.held).to_owned(),
            Form::Choice(choices) => chosen(&self.held, choices),
            Form::Lines(_) => lines(&self.held),
            Form::Free | Form::Call | Form::Grammar(_) => self.held,
        };
        match text.trim_start().strip_prefix(self.begun) {
            Some(rest) if !self.begun.is_empty() && !self.free => rest.to_owned(),
            _ => text,
        }
    }
}

/// The choice that a text names: in the requested object, as JSON, or in words. The text itself if
/// it names none.
fn chosen(text: &str, choices: &[String]) -> String {
    let bare = bare(text);
    let value = serde_json::from_str::<Value>(bare).unwrap_or_default();
    let said = value[CHOICE].as_str().or(value.as_str()).unwrap_or(bare);
    let plain = |text: &str| text.trim().trim_matches(['"', '\'', '`', '*', '.', '-', ' ']).to_lowercase();
    let is = |choice: &&String| choice.as_str() == said || plain(choice) == plain(said);
    choices.iter().find(is).cloned().unwrap_or_else(|| text.to_owned())
}

/// The lines in the requested object; the text itself if it is not such an object.
fn lines(text: &str) -> String {
    let value = serde_json::from_str::<Value>(bare(text)).unwrap_or_default();
    let line = |one: &Value| Some(format!("{}: {}", one[KIND].as_str()?, one[WORDS].as_str()?.replace('\n', " ")));
    match value[LINES].as_array() {
        Some(all) => all.iter().filter_map(line).collect::<Vec<_>>().join("\n"),
        None => text.to_owned(),
    }
}

/// A text without the fence that models put around JSON.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inside.and_then(|inside| inside.split_once('\n')).map_or(text, |(_, inside)| inside.trim())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(begun: &str, form: Form, text: &str, expected: &str) {
        let ask = Ask { begun: begun.to_owned(), form, ..Ask::new(Vec::new(), 9) };
        for size in [1, 3, 100] {
            let mut words = Words::of(&ask);
            let chars: Vec<char> = text.chars().collect();
            let mut got: String = chars.chunks(size).map(|part| words.push(&part.iter().collect::<String>())).collect();
            got += &words.finish();
            assert_eq!(got, expected, "{text} in parts of {size}");
        }
    }

    #[test]
    fn a_beginning_that_comes_again_is_cut_off() {
        check("def f(", Form::Free, "def f(a):\n", "a):\n");
        check("def f(", Form::Free, "\n def f(a):", "a):");
        check("def f(", Form::Free, "a):\n", "a):\n");
        check("def f(", Form::Free, "def g(a)", "def g(a)");
        check("def f(", Form::Free, "de", "de");
        check("", Form::Free, "  def", "  def");
    }

    #[test]
    fn a_choice_is_one_of_the_choices_or_what_the_model_wrote() {
        let choices = || Form::Choice(vec!["Yes".to_owned(), "no way".to_owned()]);
        check("", choices(), "{\"choice\": \"no way\"}", "no way");
        check("", choices(), "```json\n{\"choice\": \"Yes\"}\n```", "Yes");
        check("", choices(), "**yes.**", "Yes");
        check("", choices(), "\"Yes\"", "Yes");
        check("", choices(), "perhaps", "perhaps");
    }

    #[test]
    fn lines_come_out_of_the_object_that_was_asked_for() {
        let form = || Form::Lines(vec!["ask".to_owned(), "edit".to_owned()]);
        let one =
            json!({ "lines": [{ "kind": "ask", "words": "what it\ndoes" }, { "kind": "edit", "words": "a -> b" }] });
        check("", form(), &one.to_string(), "ask: what it does\nedit: a -> b");
        check("", form(), "ask: what it does", "ask: what it does");
    }

    #[test]
    fn json_comes_without_a_fence() {
        check("", Form::Schema(json!({})), "```json\n{\"a\": 1}\n```\n", "{\"a\": 1}");
        check("", Form::Schema(json!({})), " {\"a\": 1} ", "{\"a\": 1}");
    }
}
