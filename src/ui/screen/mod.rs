//! The full-screen terminal: shows a conversation with its transcript, input, questions and memory.
//!
//! [`Screen`] is the state, changed only by events; `view` draws it; `run` connects both to the
//! terminal and the session.

mod approve;
mod code;
mod diff;
mod doer;
mod editor;
mod event;
mod footer;
mod history;
mod input;
mod keys;
mod lookup;
mod markdown;
mod plan;
mod popup;
mod run;
mod shell;
mod state;
mod status;
mod submit;
mod terminal;
#[cfg(test)]
mod tests;
mod theme;
mod transcript;
mod turn;
mod typing;
mod view;
mod wrap;

use std::io::{IsTerminal, stdin, stdout};

use crate::protocol::Mode;

pub use run::run;
pub use terminal::restore;

use state::Screen;

/// The options of a conversation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub mode: Mode,
    /// Whether every call that needs consent is approved automatically.
    pub approves: bool,
    /// Whether to continue the project's last conversation.
    pub continues: bool,
}

/// Whether there is a terminal to take over.
pub fn fits() -> bool {
    let can_move = std::env::var_os("TERM").is_some_and(|name| !name.is_empty() && name != "dumb");
    can_move && stdin().is_terminal() && stdout().is_terminal()
}
