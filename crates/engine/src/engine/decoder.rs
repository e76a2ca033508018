//! The interface between the worker and a model: evaluate rows, read logits, go back to an earlier position.

use std::sync::Arc;

use super::marks::Marks;
use crate::models::dialect::Prompt;

/// Index into a model's vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub i32);

/// One token to evaluate: it becomes position `position` of sequence `sequence`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub sequence: usize,
    pub position: usize,
    pub token: Token,
    /// Whether the logits after this row will be read.
    pub logits: bool,
}

/// Capacity of a decoder, rows it evaluates at once, and features it supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of sequences.
    pub sequences: usize,
    /// Maximum number of positions of one sequence.
    pub context: usize,
    /// Maximum number of rows of one prefill call. May be many, because a call that is no longer wanted is stopped midway.
    pub chunk: usize,
    /// Rows of a prefill call for whose end answers wait; a whole chunk where that takes no longer than a few tokens.
    pub part: usize,
    /// Maximum number of rows of one call whose logits can be read.
    pub outputs: usize,
    pub vocabulary: usize,
    pub sharing: Sharing,
    /// Whether [`Decoder::keep`] can shorten a sequence to any length, not only to where it was marked.
    pub cuts_anywhere: bool,
    /// Calls that a sequence gets in a row before the next one's turn, where calls cannot be shared: on a GPU the first call for
    /// another sequence costs as much as several.
    pub calls_in_a_row: usize,
    /// Rows at the end of a sequence's last call that [`Decoder::keep`] can take back.
    pub undo: usize,
}

/// Whether rows of several sequences may be evaluated in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// The decoder computes every sequence on its own anyway.
    Always,
    /// Exact bits are not asked for, so logits may differ from those of separate calls: prompts share calls too, and all of a prefix
    /// that a sequence holds is reused.
    Wanted,
    /// Only if comparison has shown the same logits as in separate calls, see `sharing`.
    IfProved,
    /// A shared call is known to change logits, or to fail.
    Never,
}

impl Sharing {
    /// Whether calls are shared from the first on, without a proof for each regime.
    pub fn is_given(self) -> bool {
        matches!(self, Sharing::Always | Sharing::Wanted)
    }
}

/// Called now and then during a call; true stops it with [`DecodeError::Stopped`].
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// A call gave no result. The sequences of its rows must be cut back with [`Decoder::keep`] before they are used again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("the model could not evaluate {rows} rows: {reason}")]
    Failed { rows: usize, reason: String },
    #[error("the call was stopped")]
    Stopped,
}

/// A sequence as bytes in host memory, with its checkpoints. Clones share the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Number of positions.
    pub length: usize,
    pub state: Arc<[u8]>,
    /// Checkpoints of the layers that cannot be cut, each with its length, shortest first.
    pub marks: Vec<(usize, Arc<[u8]>)>,
}

impl Saved {
    /// Host memory it takes.
    pub fn bytes(&self) -> usize {
        self.state.len() + self.marks.iter().map(|(_, state)| state.len()).sum::<usize>()
    }
}

/// A model with its context, driven by one thread.
pub trait Decoder {
    fn limits(&self) -> Limits;

    /// Evaluates `rows`; rows of a sequence are consecutive and continue it. At most [`Limits::outputs`] of them may
    /// ask for logits.
    fn decode(&mut self, rows: &[Row], stop: Stop<'_>) -> Result<(), DecodeError>;

    /// Logits after row `row` of the last call, one value a vocabulary entry. The row must have asked for them.
    fn logits(&self, row: usize) -> &[f32];

    /// Makes the current end of `sequence` a position that [`Decoder::keep`] can return to. Costs nothing if a sequence
    /// can be cut anywhere.
    fn mark(&mut self, sequence: usize);

    /// Shortens `sequence` to the longest length not above `wanted` that can be restored exactly, and returns it.
    fn keep(&mut self, sequence: usize, wanted: usize) -> usize;

    /// Whether a copy of `sequence` would compute further tokens to the last bit as the sequence itself. With sliding windows
    /// it is so now and then, see `llama/decoder.rs`.
    fn copies_exactly(&self, _sequence: usize) -> bool {
        true
    }

    /// A copy of `sequence` in host memory; `None` if it is empty.
    fn save(&mut self, sequence: usize) -> Option<Saved>;

    /// Replaces `sequence` by what was saved from a decoder of the same model and shape. If it returns false,
    /// `sequence` is empty.
    fn restore(&mut self, sequence: usize, saved: &Saved) -> bool;
}

/// The tokens of a model. Immutable, shared by every thread.
pub trait Vocabulary: Send + Sync {
    fn size(&self) -> usize;

    /// Tokens of a prompt. Only its special pieces may become control tokens.
    fn tokenize(&self, prompt: &Prompt) -> Vec<Token>;

    /// The bytes a token stands for; control tokens stand for none.
    fn bytes(&self, token: Token) -> &[u8];

    /// The name of a control token, such as `<|im_end|>`; `None` for ordinary tokens.
    fn control(&self, token: Token) -> Option<&[u8]>;

    /// Whether a control token of this name belongs to the text of a reply, because calls or channels are read by it.
    fn is_said(&self, _name: &str) -> bool {
        false
    }

    /// The marks around thoughts.
    fn marks(&self) -> Arc<Marks> {
        Marks::in_tags()
    }

    /// Whether a generation ends with this token.
    fn is_end(&self, token: Token) -> bool;

    /// Whether replies may begin with thoughts between `<think>` and `</think>`: true if `<think>` is one token.
    fn marks_thoughts(&self) -> bool {
        self.continued(&Prompt::default().special("<think>")).len() == 1
    }

    /// Tokens of a text that follows another: without the one with which some models begin every text.
    fn continued(&self, prompt: &Prompt) -> Vec<Token> {
        let begin = self.tokenize(&Prompt::default()).len();
        self.tokenize(prompt).split_off(begin)
    }

    /// Every token that ends a generation.
    fn ends(&self) -> Vec<Token> {
        (0..self.size() as i32).map(Token).filter(|token| self.is_end(*token)).collect()
    }
}
