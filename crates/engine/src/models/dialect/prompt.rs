//! Text and pictures for a model, in pieces that record which text may become control tokens.

use crate::models::Picture;

/// Only [`Piece::Special`] may become control tokens; text from a user or a tool that happens to
/// contain `<|im_end|>` stays ordinary text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    pub pieces: Vec<Piece>,
    /// Number of bytes at the start of the flat text that are the same in every prompt of this
    /// kind: the system message.
    pub(super) fixed: usize,
}

/// A piece of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Text whose marks become control tokens.
    Special(String),
    /// Never becomes control tokens.
    Text(String),
    Picture(Picture),
}

impl Piece {
    fn text(&self) -> &str {
        match self {
            Piece::Special(text) | Piece::Text(text) => text,
            Piece::Picture(_) => "",
        }
    }

    /// The first `bytes` of the piece.
    fn cut(&self, bytes: usize) -> Piece {
        let start = self.text()[..bytes].to_owned();
        match self {
            Piece::Special(_) => Piece::Special(start),
            Piece::Text(_) => Piece::Text(start),
            Piece::Picture(picture) => Piece::Picture(picture.clone()),
        }
    }
}

impl Prompt {
    pub fn special(mut self, text: impl Into<String>) -> Prompt {
        self.pieces.push(Piece::Special(text.into()));
        self
    }

    pub fn text(mut self, text: impl Into<String>) -> Prompt {
        self.pieces.push(Piece::Text(text.into()));
        self
    }

    pub fn picture(mut self, picture: Picture) -> Prompt {
        self.pieces.push(Piece::Picture(picture));
        self
    }

    /// Whether it contains a picture.
    pub fn has_pictures(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Picture(_)))
    }

    /// Marks all pieces so far as the same in every prompt of this kind.
    pub fn fixed_so_far(mut self) -> Prompt {
        self.fixed = self.pieces.iter().map(|piece| piece.text().len()).sum();
        self
    }

    /// The part that is the same in every prompt of this kind; it ends before the first picture.
    /// Its last token may differ from that of the complete prompt, where text follows.
    pub fn fixed_part(&self) -> Prompt {
        let (mut pieces, mut left) = (Vec::new(), self.fixed);
        for piece in &self.pieces {
            let bytes = piece.text().len().min(left);
            if bytes == 0 || matches!(piece, Piece::Picture(_)) {
                break;
            }
            pieces.push(piece.cut(bytes));
            left -= bytes;
        }
        Prompt { pieces, fixed: self.fixed }
    }

    /// The complete prompt as one text, without its pictures, for logs and scripted models; never
    /// tokenised.
    pub fn flat(&self) -> String {
        self.pieces.iter().map(Piece::text).collect()
    }
}
