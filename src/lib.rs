//! monobloc: an agent that runs its language models in its own process. Module groups are listed
//! from the bottom to the top; modules of `crates/` have a path here too. The table in
//! `tests/it/architecture.rs` says which module may use which. The modules that tests use are
//! public.

// These macros panic if the output fails; `ui/out.rs` has versions that end the program with one
// line.
#![deny(clippy::print_stdout, clippy::print_stderr)]
// An error that a caller can act on is returned; all others go through `base::OrBug`.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

// Helpers that every layer shares.
pub mod base;
pub mod config;
pub mod protocol;
pub use monobloc_guarded::checkpoint;
pub use monobloc_language as language;

// Models: what is available, how much memory each may take, what runs them.
pub mod remote;
pub use monobloc_engine::{budget, engine, models};
pub use monobloc_index::embed;
#[cfg(feature = "lab")]
pub use monobloc_synth as synth;

// The project: its files, where things are, changes to it.
pub mod lessons;
pub use monobloc_index::{index, retrieve};
pub mod tools;
pub use monobloc_edit as edit;

// A turn: the reading of the request, the model's prompt, the actions.
pub mod agent;
mod context;
pub use monobloc_request as request;

// Around the turns.
pub mod app;
pub mod measure;
pub mod serve;
pub mod session;
pub mod ui;
