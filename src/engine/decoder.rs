//! What the worker needs of a model: rows in, logits out, and the ability to go back to an earlier position.

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

/// What a decoder can hold and how much it takes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Sequences that live side by side.
    pub sequences: usize,
    /// Most positions of one sequence.
    pub context: usize,
    /// Most rows of one prefill call; sized for about a fifth of a second; the largest
    /// models take longer, because a chunk has a least size.
    pub chunk: usize,
    pub vocabulary: usize,
    /// Whether rows of several sequences in one call give the same logits as one call each. Where this is not
    /// known to hold (sliding-window attention, facts of llama.cpp) every call carries one sequence.
    pub co_batch: bool,
}

/// The model refused a call. The sequences of the call are in an unknown state and must be cleared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the model could not evaluate {rows} rows: {reason}")]
pub struct DecodeError {
    pub rows: usize,
    pub reason: String,
}

/// A model with its context, driven by one thread.
pub trait Decoder {
    fn limits(&self) -> Limits;

    /// Evaluates `rows`; rows of a sequence are consecutive and continue it.
    fn decode(&mut self, rows: &[Row]) -> Result<(), DecodeError>;

    /// Logits after row `row` of the last call, one value a vocabulary entry. The row must have asked for them.
    fn logits(&self, row: usize) -> &[f32];

    /// Makes the current end of `sequence` a place that [`Decoder::keep`] can return to. Costs nothing where a
    /// sequence can be cut anywhere.
    fn mark(&mut self, sequence: usize);

    /// Shortens `sequence` to the longest length not above `wanted` that can be restored exactly, and returns it.
    fn keep(&mut self, sequence: usize, wanted: usize) -> usize;
}

/// The tokens of a model. Immutable, shared by every thread.
pub trait Vocabulary: Send + Sync {
    fn size(&self) -> usize;

    /// Tokens of a prompt. Only its special pieces may become control tokens.
    fn tokenize(&self, prompt: &Prompt) -> Vec<Token>;

    /// The bytes a token stands for; control tokens stand for none.
    fn bytes(&self, token: Token) -> &[u8];

    /// The name of a control token, `<|im_end|>` say; `None` for ordinary tokens.
    fn control(&self, token: Token) -> Option<&[u8]>;

    /// Whether a generation ends with this token.
    fn is_end(&self, token: Token) -> bool;

    /// Every token that [`Vocabulary::is_end`].
    fn ends(&self) -> Vec<Token> {
        (0..self.size() as i32).map(Token).filter(|token| self.is_end(*token)).collect()
    }
}
