//! Holds back model output that may become a tool call: half a call must not reach a client as text.

use crate::base::half_of;
use crate::models::dialect::Dialect;

/// Beginnings of calls in every family: small models often write calls in JSON.
const BEGINNINGS: [&str; 5] = ["{", "<tool_call>", "```json", "```tool", "<function"];

/// The beginnings of calls in the notation of `dialect`, starting with its own mark, which counts
/// anywhere in a reply.
pub fn openers(dialect: &Dialect) -> Vec<String> {
    let mark = dialect.notation().calls.mark();
    let mark = if mark.is_empty() { "[" } else { mark };
    // Only the first line of `<tool_call>\n{"name": "`, because models vary the spaces.
    let own = mark.lines().next().unwrap_or(mark).trim_end_matches(['{', '"', ' ']);
    [if own.is_empty() { mark } else { own }].into_iter().chain(BEGINNINGS).map(str::to_owned).collect()
}

enum State {
    /// Only spaces so far, or a partial opener.
    Start,
    Words,
    Call,
}

/// The part of a reply that has not been passed on yet.
pub struct Held {
    openers: Vec<String>,
    state: State,
    text: String,
}

impl Held {
    /// Holds back a reply that begins with one of `openers`, and in any reply everything after the
    /// first of them; nothing without openers.
    pub fn at(openers: Vec<String>) -> Held {
        Held { openers, state: State::Start, text: String::new() }
    }

    /// The mark of the model's family.
    pub fn mark(&self) -> Option<&str> {
        self.openers.first().map(String::as_str)
    }

    /// The text that can be passed on.
    pub fn push(&mut self, text: &str) -> String {
        self.text.push_str(text);
        if let State::Start = self.state {
            let begun = self.text.trim_start();
            if self.openers.iter().any(|opener| begun.starts_with(opener.as_str())) {
                self.state = State::Call;
            } else if !self.openers.iter().any(|opener| opener.starts_with(begun)) {
                self.state = State::Words;
            }
        }
        match self.state {
            State::Start | State::Call => String::new(),
            State::Words => self.words(),
        }
    }

    /// The text before the family's mark.
    fn words(&mut self) -> String {
        // A bracket is too common a mark to hold text back.
        let Some(mark) = self.openers.first().filter(|mark| mark.len() > 1) else {
            return std::mem::take(&mut self.text);
        };
        let kept = match self.text.find(mark.as_str()) {
            Some(at) => {
                self.state = State::Call;
                self.text.len() - at
            }
            None => half_of(&self.text, mark),
        };
        let rest = self.text.split_off(self.text.len() - kept);
        std::mem::replace(&mut self.text, rest)
    }

    pub fn flush(&mut self) -> String {
        std::mem::take(&mut self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::dialect::by_name;

    /// The text that was passed on, and the text that was held back.
    fn split(dialect: &str, pieces: &[&str]) -> (String, String) {
        let dialect = by_name(dialect).expect("a dialect");
        let mut held = Held::at(openers(&dialect));
        let passed: String = pieces.iter().map(|piece| held.push(piece)).collect();
        let rest = held.flush();
        (passed, rest)
    }

    #[test]
    fn what_may_become_a_call_is_held_back_and_other_words_are_not() {
        for (dialect, pieces, passed, begins) in [
            (
                "hermes",
                &["I look. <too", "l_call>\n{\"na", "me\": \"ls\"}\n</tool_call>"][..],
                "I look. ",
                "<tool_call>",
            ),
            ("hermes", &["\n``", "`json\n{}"], "", "\n```json"),
            ("hermes", &["{", "\"name\": 1}"], "", "{\"name\""),
            ("hermes", &["``", "`python\nx = 1\n```"], "```python\nx = 1\n```", ""),
            ("chatml", &["It is [1, 2]."], "It is [1, 2].", ""),
            ("chatml", &["[ls(path=\"a\")]"], "", "[ls("),
        ] {
            let (text, held) = split(dialect, pieces);
            assert_eq!(text, passed, "{pieces:?}");
            assert!(held.starts_with(begins) && held.is_empty() == begins.is_empty(), "{pieces:?}: {held}");
        }
    }
}
