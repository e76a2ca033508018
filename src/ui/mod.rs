//! The user interfaces: the command line, and the full-screen terminal.

pub mod cli;
mod open;
mod screen;
