//! One binary for everything that needs more than one module, or the program itself.

mod architecture;
mod engine;
mod models;
