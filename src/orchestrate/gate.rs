//! What a free loop may do: the matrix of capability and mode (seed 000). Pure.
//!
//! Steps that code owns are not gated: they run on every model.

use crate::protocol::Mode;
use crate::tools::ToolSpec;

/// Tools of a free loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    All,
    /// Tools that read.
    Reading,
    /// Tools of the project's index.
    Index,
}

/// One cell of the matrix. Retrieval is on in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    pub mode: Mode,
    pub access: Access,
    /// The short prompt: a little reasoning, then the answer.
    pub short: bool,
}

/// A model that cannot be left to itself answers in chat mode whatever was asked for.
pub fn cell(capable: bool, asked: Mode) -> Cell {
    match (capable, asked) {
        (true, Mode::Agent) => Cell { mode: Mode::Agent, access: Access::All, short: false },
        (true, Mode::Chat) => Cell { mode: Mode::Chat, access: Access::Reading, short: false },
        (false, Mode::Agent) => Cell { mode: Mode::Chat, access: Access::Index, short: true },
        (false, Mode::Chat) => Cell { mode: Mode::Chat, access: Access::Reading, short: true },
    }
}

impl Access {
    pub fn allows(self, spec: &ToolSpec) -> bool {
        match self {
            Access::All => true,
            Access::Reading => !spec.mutates,
            Access::Index => !spec.mutates && spec.name.starts_with("index_"),
        }
    }
}
