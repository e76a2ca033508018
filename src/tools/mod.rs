//! The agent's tools: descriptions, retrieval for a step, parsing and checking of calls, consent, sandbox, execution.

pub mod spec;

pub mod builtin;
pub mod catalog;
pub mod schema;

pub mod adapter;
pub mod features;
pub mod head;
pub mod prefilter;
pub mod thesaurus;
pub mod value_kinds;
pub mod words;

pub mod call;
pub mod policy;
pub mod preview;
pub mod shell;

pub mod arguments;
pub mod confine;
pub mod context;
pub mod execute;
pub mod outcome;
pub mod sandbox;

pub mod command;
pub mod files;
pub mod mcp;
pub mod search;

pub use call::ToolCall;
pub use catalog::Catalog;
pub use context::Context;
pub use execute::execute;
pub use outcome::{Finding, Outcome, Status};
pub use prefilter::{Prefilter, Ranked};
pub use spec::ToolSpec;
