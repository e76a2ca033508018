//! Decides which tools the single-model loop may use, by the model's capability and the requested mode. Pure.
//!
//! Steps that code carries out are not limited: they run on every model.

use crate::protocol::Mode;
use crate::tools::ToolSpec;

/// Which tools the loop may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    All,
    /// Tools that change nothing.
    Reading,
    /// Search tools of the project's index.
    Index,
}

/// What the loop may do for one pair of capability and mode. Retrieval is on in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopRights {
    pub mode: Mode,
    pub access: Access,
    /// Use the short system prompt: a little reasoning, then the answer.
    pub short: bool,
}

/// A weak model works in chat mode whatever mode was asked for.
pub fn cell(capable: bool, asked: Mode) -> LoopRights {
    match (capable, asked) {
        (true, Mode::Agent) => LoopRights { mode: Mode::Agent, access: Access::All, short: false },
        (true, Mode::Chat) => LoopRights { mode: Mode::Chat, access: Access::Reading, short: false },
        (false, Mode::Agent) => LoopRights { mode: Mode::Chat, access: Access::Index, short: true },
        (false, Mode::Chat) => LoopRights { mode: Mode::Chat, access: Access::Reading, short: true },
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
