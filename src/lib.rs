//! monobloc: an agent that runs its language models in its own process. Module groups are listed
//! from bottom to top; modules in `crates/` have a path here too. The table in
//! `tests/it/architecture.rs` states which module may use which. Modules used in tests are public.

// These macros panic if output fails; `ui/out.rs` has versions that end the program with a one-line
// message.
#![deny(clippy::print_stdout, clippy::print_stderr)]
// Errors that a caller can act on are returned; all others go through `base::OrBug`.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

// Helpers that every layer shares.
pub mod base;
pub mod config;
pub mod protocol;
pub use monobloc_guarded::checkpoint;
pub use monobloc_language as language;

// Models: which are available, how much memory each may use, what runs them.
pub mod remote;
pub use monobloc_engine::{budget, engine, models};
pub use monobloc_index::embed;
#[cfg(feature = "lab")]
pub use monobloc_synth as synth;

// The project: its files, where things are, and changes to it.
pub mod lessons;
pub use monobloc_index::{index, retrieve};
pub mod tools;
pub use monobloc_edit as edit;

// A turn: reading the request, prompting the model, taking actions.
pub mod agent;
mod context;
pub use monobloc_request as request;

// Around the turns.
pub mod app;
pub mod measure;
pub mod serve;
pub mod session;
pub mod ui;
