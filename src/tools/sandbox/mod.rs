//! The sandbox of commands and MCP servers, which is a crate of its own, and its tests, which run commands as the tool does.

pub use monobloc_guarded::sandbox::*;

#[cfg(test)]
mod tests;
