//! The user interfaces: the command line, the full-screen terminal, and protocols over standard input and output.

// Its macros must precede the modules that use them.
#[macro_use]
mod out;

mod acp;
pub mod cli;
mod lookup;
mod mcp_server;
mod open;
mod screen;
mod words;
