//! Settings for commands: their access and limits.

use std::path::PathBuf;

use crate::base::{Bytes, Hidden};

/// Commands' access outside the project, and their resource limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    /// Run commands in a sandbox that enforces all of this; if false, ask the user about each one.
    pub confined: bool,
    /// Whether commands may use the network and other programs' sockets.
    pub network: bool,
    /// Readable paths besides the project, programs and toolchains.
    pub reads: Vec<PathBuf>,
    /// Writable paths besides the project.
    pub writes: Vec<PathBuf>,
    /// Maximum memory of one process.
    pub memory: Bytes,
    /// Maximum size of a file that a command writes.
    pub file_size: Bytes,
    /// Maximum number of processes and threads that a command may have at once.
    pub processes: u64,
    /// Timeout for a command whose call gives none.
    pub timeout_s: usize,
    /// Paths in the project that must not be read.
    pub hidden: Hidden,
}

impl Default for Commands {
    fn default() -> Commands {
        Commands {
            confined: true,
            network: false,
            reads: Vec::new(),
            writes: Vec::new(),
            memory: Bytes::gib(8),
            file_size: Bytes::gib(4),
            processes: 1_024,
            timeout_s: 60,
            hidden: Hidden::default(),
        }
    }
}
