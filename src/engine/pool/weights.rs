//! The weights of one file with the lease of their memory, shared by every context made from them.

use crate::budget::Lease;
use crate::budget::place::Settings;
use crate::engine::decoder::{Token, Vocabulary};
use crate::engine::llama::Weights;
use crate::models::dialect::Prompt;

use super::usage::ReleaseSignal;

/// The order of the fields is the order of release: the weights, their memory, then the signal.
pub struct Held {
    pub weights: Weights,
    /// How they were loaded: on which device, and in which order.
    pub settings: Settings,
    pub _lease: Lease,
    pub _farewell: ReleaseSignal,
}

/// The vocabulary of loaded weights; keeps the weights in memory.
pub struct HeldVocabulary(pub std::sync::Arc<Held>);

impl Vocabulary for HeldVocabulary {
    fn size(&self) -> usize {
        self.0.weights.size()
    }

    fn tokenize(&self, prompt: &Prompt) -> Vec<Token> {
        self.0.weights.tokenize(prompt)
    }

    fn bytes(&self, token: Token) -> &[u8] {
        self.0.weights.bytes(token)
    }

    fn control(&self, token: Token) -> Option<&[u8]> {
        self.0.weights.control(token)
    }

    fn is_end(&self, token: Token) -> bool {
        self.0.weights.is_end(token)
    }
}
