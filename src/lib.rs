//! monobloc: an agent that runs its language models in its own process. Groups are listed from the bottom to the top; a module of
//! `crates/` has its path here too. Which module may use which is a table in `tests/it/architecture.rs`. Public are the modules that tests use.

// They panic where the output takes nothing more; `ui/out.rs` has what ends with one line instead.
#![deny(clippy::print_stdout, clippy::print_stderr)]
// A fault that a caller can act on is an error; all others go through `base::OrBug`.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

// Helpers that every layer shares.
pub mod base;
pub mod config;
pub mod language;
pub mod protocol;
pub use monobloc_guarded::checkpoint;

// Models: which there are, the memory they may take, what runs them.
pub mod remote;
pub use monobloc_engine::{budget, engine, models};
pub use monobloc_index::embed;
#[cfg(feature = "lab")]
pub use monobloc_synth as synth;

// The project: what its files say, where something is, changes to it.
mod edit;
pub mod lessons;
pub use monobloc_index::{index, retrieve};
pub mod tools;

// A turn: what the request says, what the model sees, what is done.
pub mod agent;
mod context;
pub mod request;

// Around turns.
pub mod app;
pub mod measure;
pub mod serve;
pub mod session;
pub mod ui;
