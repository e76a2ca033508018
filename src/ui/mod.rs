//! The user interfaces: the command line, the full-screen terminal, and programs that speak a protocol with this one over standard
//! input and output.

mod acp;
pub mod cli;
mod lookup;
mod mcp_server;
mod open;
mod screen;
mod words;
