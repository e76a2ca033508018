//! One binary for everything that needs more than one module, or the program itself.

mod architecture;
mod ask;
mod chat;
mod choice;
mod cli;
mod clock;
mod cognitive;
mod complete;
#[cfg(target_os = "linux")]
mod confined;
mod connect;
mod conversation;
mod docs;
mod engine;
mod fit;
mod gate;
mod index_kill;
mod injection;
mod interrupt;
mod kill;
mod lessons;
mod loops;
mod lora;
mod mcp;
mod mixed;
mod models;
mod names;
#[cfg(target_os = "linux")]
mod offline;
mod page;
mod pool;
mod pull;
mod react;
mod scripted;
mod serve;
mod side_by_side;
mod soak;
mod stream;
mod terminal;
mod turn;
mod undo;
mod work;
mod writer;
mod wrong_input;
