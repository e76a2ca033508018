//! Answers questions about a project's code from its index, as text and as JSON, for the commands and for MCP clients.

pub mod code;
pub mod graph;
pub mod status;
