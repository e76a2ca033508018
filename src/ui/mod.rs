//! What people see: the command line.

pub mod cli;
