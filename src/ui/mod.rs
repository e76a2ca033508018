//! The user interface: the command line.

pub mod cli;
