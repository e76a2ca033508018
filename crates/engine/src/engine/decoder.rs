//! The interface between the worker and a model: evaluates rows, returns logits and rewinds to an
//! earlier position.

use std::sync::Arc;

use super::marks::Marks;
use crate::models::dialect::Prompt;
use crate::models::{Picture, PictureError};

/// Index into a model's vocabulary; a negative number is one vector of a picture, see
/// [`pictures`](super::pictures).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub i32);

/// One token to evaluate, at position `position` of sequence `sequence`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub sequence: usize,
    pub position: usize,
    pub token: Token,
    /// Whether the logits after this row will be read.
    pub logits: bool,
}

/// A part of a picture in a prompt: rows that are evaluated together, each one a projector vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    pub picture: Picture,
    /// The index of this part among the parts into which the model's family divides the picture.
    pub part: usize,
    /// Position of its first row in the prompt.
    pub from: usize,
    pub rows: usize,
}

impl Shown {
    /// Position after its last row.
    pub fn end(&self) -> usize {
        self.from + self.rows
    }
}

/// A prompt as tokens, along with its pictures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Laid {
    pub tokens: Vec<Token>,
    /// In prompt order.
    pub shown: Vec<Shown>,
}

/// A decoder's capacity, maximum rows per call, and supported features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of sequences.
    pub sequences: usize,
    /// Maximum number of positions in a sequence.
    pub context: usize,
    /// Maximum number of rows in one prefill call. May be large, because a call that is no longer
    /// wanted is stopped midway.
    pub chunk: usize,
    /// Number of rows of a prefill call while answers wait for it to end; a whole chunk if that
    /// takes no longer than a few tokens.
    pub part: usize,
    /// Maximum number of rows per call whose logits can be read.
    pub outputs: usize,
    pub vocabulary: usize,
    pub sharing: Sharing,
    /// Whether [`Decoder::keep`] can shorten a sequence to any length, not only to a mark.
    pub cuts_anywhere: bool,
    /// How many consecutive calls a sequence gets before the next one's turn if calls cannot be
    /// shared: on a GPU, the first call after switching sequences costs as much as several.
    pub calls_in_a_row: usize,
    /// Rows at the end of a sequence's last call that [`Decoder::keep`] can undo.
    pub undo: usize,
}

/// Whether rows of several sequences may be evaluated in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// The decoder computes every sequence separately anyway.
    Always,
    /// Exact bits are not required, so logits may differ from those of separate calls. Prompts
    /// share calls too, and a matching prefix in a sequence is reused in full.
    Wanted,
    /// Only if a comparison has shown that the logits equal those of separate calls, see `sharing`.
    IfProved,
    /// A shared call is known to change logits, or to fail.
    Never,
}

impl Sharing {
    /// Whether calls are shared from the start, without testing each regime.
    pub fn is_given(self) -> bool {
        matches!(self, Sharing::Always | Sharing::Wanted)
    }
}

/// Polled during a call; returning true stops the call with [`DecodeError::Stopped`].
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// A call produced no result. The sequences of its rows must be shortened with [`Decoder::keep`]
/// before they are used again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("the model could not evaluate {rows} rows: {reason}")]
    Failed { rows: usize, reason: String },
    #[error("the call was stopped")]
    Stopped,
    /// The picture's file is damaged.
    #[error(transparent)]
    Picture(#[from] PictureError),
}

/// A sequence as bytes in host memory, with its checkpoints. Clones share the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Number of positions.
    pub length: usize,
    pub state: Arc<[u8]>,
    /// Checkpoints of the layers that cannot be cut, each with its length, shortest first.
    pub marks: Vec<(usize, Arc<[u8]>)>,
    /// Its pictures that take fewer positions than they have rows.
    pub places: Vec<Place>,
}

/// A picture in a sequence of a model whose positions encode picture rows and columns (M-RoPE): it
/// takes fewer positions than it has rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of its first row, and number of its rows.
    pub from: usize,
    pub rows: usize,
    /// Number of positions between the text before it and the text after it.
    pub positions: usize,
}

impl Saved {
    /// Size in host memory, in bytes.
    pub fn bytes(&self) -> usize {
        self.state.len() + self.marks.iter().map(|(_, state)| state.len()).sum::<usize>()
    }
}

/// A model with its context, driven by one thread.
pub trait Decoder {
    fn limits(&self) -> Limits;

    /// Evaluates `rows`. Rows of a sequence are consecutive and continue it. At most
    /// [`Limits::outputs`] of them may request logits.
    fn decode(&mut self, rows: &[Row], stop: Stop<'_>) -> Result<(), DecodeError>;

    /// Evaluates a part of a picture as the next rows of `sequence`, in as many calls as necessary.
    /// Returns the index of the last row for [`Decoder::logits`]; its logits are computed if they
    /// are `wanted`. Can also be stopped between its calls.
    fn see(&mut self, _sequence: usize, shown: &Shown, _wanted: bool, _stop: Stop<'_>) -> Result<usize, DecodeError> {
        Err(DecodeError::Failed { rows: shown.rows, reason: "it does not accept pictures".to_owned() })
    }

    /// Logits after row `row` of the last call, one value per vocabulary entry. The row must have
    /// requested them.
    fn logits(&self, row: usize) -> &[f32];

    /// Makes the current end of `sequence` a position that [`Decoder::keep`] can return to. Costs
    /// nothing if a sequence can be cut anywhere.
    fn mark(&mut self, sequence: usize);

    /// Shortens `sequence` to the longest exactly restorable length up to `wanted`, and returns
    /// that length.
    fn keep(&mut self, sequence: usize, wanted: usize) -> usize;

    /// Whether a copy of `sequence` would compute further tokens identically, to the last bit. With
    /// sliding windows this holds only sometimes, see `llama/decoder.rs`.
    fn copies_exactly(&self, _sequence: usize) -> bool {
        true
    }

    /// A copy of `sequence` in host memory; `None` if it is empty.
    fn save(&mut self, sequence: usize) -> Option<Saved>;

    /// Replaces `sequence` with data saved from a decoder of the same model and shape. If it
    /// returns false, `sequence` is empty.
    fn restore(&mut self, sequence: usize, saved: &Saved) -> bool;
}

/// The tokens of a model. Immutable, shared by every thread.
pub trait Vocabulary: Send + Sync {
    fn size(&self) -> usize;

    /// The tokens of a prompt. Only its special pieces may become control tokens. Pictures that the
    /// model cannot see are omitted.
    fn tokenize(&self, prompt: &Prompt) -> Vec<Token>;

    /// Tokens and pictures of a prompt; the error says why the model cannot see one of the
    /// pictures.
    fn lay_out(&self, prompt: &Prompt) -> Result<Laid, String> {
        if prompt.has_pictures() {
            return Err("it does not accept pictures".to_owned());
        }
        Ok(Laid { tokens: self.tokenize(prompt), shown: Vec::new() })
    }

    /// The bytes of a token; empty for control tokens.
    fn bytes(&self, token: Token) -> &[u8];

    /// The name of a control token, such as `<|im_end|>`; `None` for ordinary tokens.
    fn control(&self, token: Token) -> Option<&[u8]>;

    /// Whether the control token with this name belongs to the text of a reply, because calls or
    /// channels are parsed by it.
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

    /// The tokens of a text that follows another one, without the token that some models put before
    /// every text.
    fn continued(&self, prompt: &Prompt) -> Vec<Token> {
        let begin = self.tokenize(&Prompt::default()).len();
        self.tokenize(prompt).split_off(begin)
    }

    /// Every token that ends a generation.
    fn ends(&self) -> Vec<Token> {
        (0..self.size() as i32).map(Token).filter(|token| self.is_end(*token)).collect()
    }
}
