//! Everything that needs more than one module, in one test program.

mod engine;
mod models;
