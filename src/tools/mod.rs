//! What the agent can do: tools, how they are found, how calls are read, what needs consent.

pub mod spec;

pub use spec::ToolSpec;
