//! The weights of one file with the lease of their memory, shared by every context made from them.

use std::sync::Arc;

use crate::budget::{Lease, LoadSettings};
use crate::engine::decoder::{Token, Vocabulary};
use crate::engine::llama::Weights;
use crate::models::dialect::Prompt;

/// The order of the fields is the order of release: the weights, their memory, then what the others wait for.
pub struct Held {
    pub weights: Weights,
    /// How they were loaded: on which device, and in which order.
    pub settings: LoadSettings,
    pub _lease: Lease,
    pub released: Arc<()>,
}

/// Grammars and streams that hold this vocabulary keep the weights in memory.
impl Vocabulary for Held {
    fn size(&self) -> usize {
        self.weights.size()
    }

    fn tokenize(&self, prompt: &Prompt) -> Vec<Token> {
        self.weights.tokenize(prompt)
    }

    fn bytes(&self, token: Token) -> &[u8] {
        self.weights.bytes(token)
    }

    fn control(&self, token: Token) -> Option<&[u8]> {
        self.weights.control(token)
    }

    fn is_end(&self, token: Token) -> bool {
        self.weights.is_end(token)
    }
}
