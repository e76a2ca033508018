//! Knows the marks around a model's thoughts, by the tokens of its vocabulary.

use super::decoder::Vocabulary;
use crate::models::dialect::Prompt;

pub const OPEN: &str = "<think>";
pub const CLOSE: &str = "</think>";

/// The marks around a model's thoughts.
#[derive(Debug, PartialEq)]
pub struct Marks {
    pub open: &'static str,
    pub close: &'static str,
    /// Text between an opening mark and the thought.
    pub inside: &'static str,
    /// Text between a thought and the answer.
    text_between: &'static str,
    /// Marks in place of that text.
    marks_between: &'static str,
    /// Marks of an answer, behind those: after them no thought can be opened.
    pub answer: &'static str,
    /// Tags that are removed from the text and, if they open thinking, the tag that closes it.
    pub tags: &'static [Tag],
    /// Marks that begin a call, which ends a thought without its closing mark.
    pub calls: &'static [&'static str],
}

pub type Tag = (&'static str, Option<&'static str>);

pub const IN_TAGS: Marks = Marks {
    open: OPEN,
    close: CLOSE,
    inside: "\n",
    text_between: "\n\n",
    marks_between: "",
    answer: "",
    tags: &[(OPEN, Some(CLOSE))],
    calls: &["<tool_call>"],
};

/// The marks if the vocabulary has channel tokens. Other models may write these marks as text.
pub const IN_CHANNELS: Marks = Marks {
    open: "<|channel|>analysis<|message|>",
    close: "<|end|>",
    inside: "",
    text_between: "",
    marks_between: "<|start|>assistant",
    answer: "<|channel|>final<|message|>",
    tags: &[
        (OPEN, Some(CLOSE)),
        ("<|channel|>analysis<|message|>", Some("<|end|>")),
        ("<|channel|>final<|message|>", None),
        // Text between tool calls.
        ("<|channel|>commentary<|message|>", None),
        ("<|start|>assistant", None),
        ("<|end|>", None),
    ],
    calls: &[],
};

/// Marks of families that write thoughts in others than `<think>`: a vocabulary has the opening one as a token.
pub static IN_OTHER_TAGS: [Marks; 5] = [
    in_tags("[THINK]", "[/THINK]", "", &[("[THINK]", Some("[/THINK]"))], &["[TOOL_CALLS]"]),
    in_tags(
        "<|START_THINKING|>",
        "<|END_THINKING|>",
        "",
        &[("<|START_THINKING|>", Some("<|END_THINKING|>"))],
        &["<|START_ACTION|>"],
    ),
    in_tags("<seed:think>", "</seed:think>", "", &[("<seed:think>", Some("</seed:think>"))], &["<seed:tool_call>"]),
    in_tags(
        "<|inner_prefix|>",
        "<|inner_suffix|>",
        "",
        &[("<|inner_prefix|>", Some("<|inner_suffix|>"))],
        &["<|tools_prefix|>"],
    ),
    // Gemma 4 names the kind of thought behind the mark.
    in_tags("<|channel>", "<channel|>", "thought\n", &[("<|channel>thought\n", Some("<channel|>"))], &["<|tool_call>"]),
];

const fn in_tags(
    open: &'static str,
    close: &'static str,
    inside: &'static str,
    tags: &'static [Tag],
    calls: &'static [&'static str],
) -> Marks {
    Marks { open, close, inside, text_between: "", marks_between: "", answer: "", tags, calls }
}

impl Marks {
    pub fn of(vocabulary: &dyn Vocabulary) -> &'static Marks {
        // A mark may be a control token or one that the maker has added as text.
        let knows = |mark: &str| vocabulary.continued(&Prompt::default().special(mark)).len() == 1;
        if knows("<|channel|>") {
            return &IN_CHANNELS;
        }
        IN_OTHER_TAGS.iter().find(|marks| knows(marks.open)).unwrap_or(&IN_TAGS)
    }

    /// The beginning of a thought.
    pub fn opening(&self) -> Prompt {
        Prompt::default().special(self.open).text(self.inside)
    }

    /// The end of a thought, with `last_words` in it.
    pub fn closing(&self, last_words: &str) -> Prompt {
        let line = if self.inside.ends_with('\n') { "\n" } else { "" };
        Prompt::default().text(format!("{last_words}{line}")).special(self.close)
    }

    /// Whether the vocabulary has them.
    pub fn are_known(&self, vocabulary: &dyn Vocabulary) -> bool {
        *self != IN_TAGS || vocabulary.marks_thoughts()
    }

    /// The text between a thought and the answer.
    pub fn between(&self) -> Prompt {
        Prompt::default().special(self.marks_between).text(self.text_between)
    }
}

/// Whether a control token of this name opens or closes thoughts.
pub fn is_mark(name: &str) -> bool {
    let others = IN_OTHER_TAGS.iter().flat_map(|marks| [marks.open, marks.close]);
    others.chain([OPEN, CLOSE]).any(|mark| mark == name)
}
