//! One binary for everything that needs more than one module, or the program itself.

mod architecture;
mod ask;
mod cli;
mod complete;
mod engine;
mod interrupt;
mod models;
#[cfg(target_os = "linux")]
mod offline;
mod scripted;
mod stream;
mod terminal;
mod turn;
mod wrong_input;
