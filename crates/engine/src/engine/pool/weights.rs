//! The weights of one file with their memory lease, shared by all of its contexts, and their vocabulary.

use std::sync::{Arc, Mutex};

use crate::budget::{Lease, LoadSettings};
use crate::engine::decoder::{Laid, Token, Vocabulary};
use crate::engine::llama::Weights;
use crate::engine::marks::Marks;
use crate::models::dialect::{Dialect, Prompt};

/// Fields are released in this order: the weights, their memory, then the signal that others wait
/// for.
pub struct Held {
    pub weights: Weights,
    /// The device and layout with which they were loaded.
    pub settings: LoadSettings,
    /// The memory of the projector that the weights hold once it is loaded.
    pub projector: Mutex<Option<Lease>>,
    pub _lease: Lease,
    pub released: Arc<()>,
}

/// The vocabulary of a model whose replies use this dialect. Grammars and streams that hold it keep
/// the weights in memory.
pub struct Spoken {
    pub held: Arc<Held>,
    pub dialect: Arc<Dialect>,
    marks: Arc<Marks>,
}

impl Spoken {
    pub fn new(held: Arc<Held>, dialect: Arc<Dialect>) -> Spoken {
        let marks = Arc::new(Marks::of(dialect.notation()));
        Spoken { held, dialect, marks }
    }
}

impl Vocabulary for Spoken {
    fn size(&self) -> usize {
        self.held.weights.size()
    }

    fn tokenize(&self, prompt: &Prompt) -> Vec<Token> {
        self.held.weights.tokenize(prompt)
    }

    fn lay_out(&self, prompt: &Prompt) -> Result<Laid, String> {
        self.held.weights.lay_out(prompt)
    }

    fn bytes(&self, token: Token) -> &[u8] {
        self.held.weights.bytes(token)
    }

    fn control(&self, token: Token) -> Option<&[u8]> {
        self.held.weights.control(token)
    }

    fn is_said(&self, name: &str) -> bool {
        self.dialect.notation().is_of_calls(name)
    }

    fn marks(&self) -> Arc<Marks> {
        Arc::clone(&self.marks)
    }

    fn is_end(&self, token: Token) -> bool {
        self.held.weights.is_end(token)
    }
}
