//! The agent's tools: descriptions, retrieval for a step, parsing and checking of calls, consent, sandbox, execution.

pub(crate) mod schema;
pub(crate) mod spec;

pub(crate) mod builtin;
pub(crate) mod catalog;

pub(crate) mod adapter;
pub(crate) mod features;
pub(crate) mod prefilter;
pub(crate) mod thesaurus;

pub mod call;
pub(crate) mod planned;
pub mod policy;
pub(crate) mod preview;
pub(crate) mod shell;

pub(crate) mod arguments;
pub(crate) mod context;
pub(crate) mod diagnose;
pub mod execute;
pub(crate) mod outcome;
pub mod sandbox;

pub(crate) mod command;
pub(crate) mod files;
pub mod mcp;
pub(crate) mod search;

pub use call::ToolCall;
pub use catalog::Catalog;
pub use context::Context;
pub use diagnose::diagnose;
pub use execute::{execute, execute_planned};
pub use monobloc_guarded::confine;
pub use outcome::{Finding, Outcome, Status};
pub use prefilter::{Prefilter, Ranked};
pub use spec::ToolSpec;
