//! Runs models in this process: each loaded model is owned by one thread, and callers hold a cloneable handle.

pub mod decoder;
pub mod expressible;
pub mod generation;
pub mod grammar;
pub mod handle;
pub mod llama;
mod lookup;
mod marks;
pub mod pictures;
pub mod pool;
pub mod prefix;
mod repetition;
pub mod request;
pub mod sampler;
mod scheduler;
pub mod scripted;
pub mod sharing;
pub mod slot;
mod text;
pub mod thought;
pub mod trial;
mod worker;

pub use decoder::{Decoder, Limits, Row, Token, Vocabulary};
pub use generation::Generation;
pub use grammar::Grammar;
pub use handle::Engine;
pub use request::{EngineError, Finish, Logprobs, Output, Piece, Request, Tally};
pub use sampler::{Choice, Dry, Manner, Sampling, SamplingError};
pub use thought::Thinking;
pub use worker::Busy;
