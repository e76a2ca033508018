//! The marks around a model's thoughts, from the notation of its template.

use std::sync::{Arc, LazyLock};

use super::decoder::Vocabulary;
use crate::models::dialect::Prompt;
use crate::models::dialect::notation::{Form, Notation};

pub const OPEN: &str = "<think>";
pub const CLOSE: &str = "</think>";

/// The marks around a model's thoughts.
#[derive(Debug, PartialEq)]
pub struct Marks {
    pub open: String,
    pub close: String,
    /// Text between an opening mark and the content of a thought.
    pub inside: String,
    /// Text between a thought and the answer.
    text_between: &'static str,
    /// Marks used instead of that text.
    marks_between: String,
    /// The answer's marks that follow them; no thought can be opened after these.
    pub answer: &'static str,
    /// Tags that are removed from the text; those that open a thought have a closing tag.
    pub tags: Vec<Tag>,
    /// Marks that begin a call, which ends a thought without a closing mark.
    pub calls: Vec<String>,
}

pub type Tag = (String, Option<String>);

/// `<think>`, which reasoning models write even if their templates do not contain it.
static IN_TAGS: LazyLock<Arc<Marks>> = LazyLock::new(|| Arc::new(Marks::of(&Notation::usual())));

impl Marks {
    pub fn in_tags() -> Arc<Marks> {
        Arc::clone(&IN_TAGS)
    }

    /// The marks of a model with this notation.
    pub fn of(notation: &Notation) -> Marks {
        if notation.calls.form == Form::Channels {
            return in_channels();
        }
        let (open, close, label) = match &notation.thoughts {
            Some(thoughts) => (thoughts.open.trim(), thoughts.close.trim(), thoughts.label.as_str()),
            None => (OPEN, CLOSE, ""),
        };
        let inside = if open == OPEN || !label.is_empty() { format!("{label}\n") } else { String::new() };
        // A label is required, a line break is not.
        let tag = if label.is_empty() { open.to_owned() } else { format!("{open}{inside}") };
        // Only the first word of the mark, because models differ in their spacing.
        let call = notation.calls.mark().split_whitespace().next();
        // A header follows a space, and the next message has its own header.
        let headed = notation.headers.is_some();
        Marks {
            open: if headed { format!(" {open}") } else { open.to_owned() },
            close: close.to_owned(),
            inside,
            text_between: if open == OPEN { "\n\n" } else { "" },
            marks_between: if headed { notation.begun.clone() } else { String::new() },
            answer: "",
            tags: vec![(tag, Some(close.to_owned()))],
            calls: call.into_iter().map(str::to_owned).collect(),
        }
    }

    pub fn are_channels(&self) -> bool {
        !self.answer.is_empty()
    }

    /// The beginning of a thought.
    pub fn opening(&self) -> Prompt {
        Prompt::default().special(self.open.as_str()).text(self.inside.as_str())
    }

    /// The end of a thought, which ends with `last_words`.
    pub fn closing(&self, last_words: &str) -> Prompt {
        let line = if self.inside.ends_with('\n') { "\n" } else { "" };
        Prompt::default().text(format!("{last_words}{line}")).special(self.close.as_str())
    }

    /// Whether the vocabulary or the template contains the marks.
    pub fn are_known(&self, vocabulary: &dyn Vocabulary) -> bool {
        self.open != OPEN || vocabulary.marks_thoughts()
    }

    /// Whether the control token with this name opens or closes thoughts.
    pub fn has(&self, name: &str) -> bool {
        [&self.open, &self.close, OPEN, CLOSE].contains(&name)
    }

    /// The text between a thought and the answer.
    pub fn between(&self) -> Prompt {
        Prompt::default().special(self.marks_between.as_str()).text(self.text_between)
    }
}

/// The marks of gpt-oss.
fn in_channels() -> Marks {
    let (open, close) = ("<|channel|>analysis<|message|>", "<|end|>");
    let tag = |tag: &str, close: Option<&str>| (tag.to_owned(), close.map(str::to_owned));
    let answer = "<|channel|>final<|message|>";
    Marks {
        open: open.to_owned(),
        close: close.to_owned(),
        inside: String::new(),
        text_between: "",
        marks_between: "<|start|>assistant".to_owned(),
        answer,
        tags: vec![
            tag(OPEN, Some(CLOSE)),
            tag(open, Some(close)),
            tag(answer, None),
            // Text between tool calls.
            tag("<|channel|>commentary<|message|>", None),
            tag("<|start|>assistant", None),
            tag(close, None),
        ],
        calls: Vec::new(),
    }
}
