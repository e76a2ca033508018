//! The sandbox of commands and MCP servers, re-exported from its own crate, and tests that run
//! commands in it as the tool does.

pub use monobloc_guarded::sandbox::*;

#[cfg(test)]
mod tests;
