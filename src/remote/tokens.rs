//! Estimates the tokens of a text for a model without a local tokenizer, and corrects estimates by the server's counts.

use std::sync::{Arc, Mutex};

use super::ask::Ask;
use crate::base::lock;

/// ASCII characters per token, in code and prose. Any other character counts as one token.
const CHARS: f64 = 3.2;
/// Factor for every estimate, so that a prompt is rarely longer than expected.
const MARGIN: f64 = 1.1;
/// Overhead of each message in tokens.
const AROUND: usize = 8;
/// Bounds of the learned factor: a server with wrong counts must not make prompts endless or empty.
const FACTOR: std::ops::RangeInclusive<f64> = 0.5..=2.5;
/// Shorter prompts are not used for learning, because the server's own template is a large part of
/// them.
const LEARN_MIN: f64 = 200.0;

/// The correction factor for one model's estimates; clones share it.
#[derive(Clone, Debug)]
pub struct Tokens(Arc<Mutex<f64>>);

impl Default for Tokens {
    fn default() -> Tokens {
        Tokens(Arc::new(Mutex::new(1.0)))
    }
}

impl Tokens {
    /// A cautious estimate for a text of this many [`plain`] tokens.
    pub fn of(&self, plain: f64) -> usize {
        (plain * *lock(&self.0) * MARGIN).ceil() as usize
    }

    /// Corrects later estimates: a prompt estimated at this many [`plain`] tokens had `counted`.
    pub fn learn(&self, plain: f64, counted: usize) {
        if plain >= LEARN_MIN && counted > 0 {
            let seen = (counted as f64 / plain).clamp(*FACTOR.start(), *FACTOR.end());
            let mut factor = lock(&self.0);
            *factor = (*factor + seen) / 2.0;
        }
    }
}

/// The tokens of a text estimated from its characters alone.
pub fn plain(text: &str) -> f64 {
    let other = text.chars().filter(|c| !c.is_ascii()).count();
    let ascii = text.bytes().filter(u8::is_ascii).count();
    ascii as f64 / CHARS + other as f64
}

/// The tokens of a request estimated from its characters alone.
pub fn of_ask(ask: &Ask) -> f64 {
    let messages = ask.messages.iter().map(|message| {
        let calls: f64 =
            message.calls.iter().map(|call| plain(&call.name) + plain(&format!("{:?}", call.arguments))).sum();
        plain(&message.content) + calls + AROUND as f64
    });
    let tools = ask.tools.iter().map(|tool| plain(&tool.json().to_string()));
    messages.sum::<f64>() + tools.sum::<f64>() + plain(&ask.begun)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_follows_what_the_server_counts_within_bounds() {
        let tokens = Tokens::default();
        let first = tokens.of(plain(&"word ".repeat(640)));
        assert_eq!(first, 1_100);
        for _ in 0..10 {
            tokens.learn(1_000.0, 1_500);
        }
        assert!((1_640..=1_651).contains(&tokens.of(1_000.0)), "{}", tokens.of(1_000.0));
        for _ in 0..20 {
            tokens.learn(1_000.0, 1_000_000);
        }
        assert_eq!(tokens.of(1_000.0), 2_750);
        let other = tokens.clone();
        other.learn(10.0, 1);
        assert_eq!(other.of(1_000.0), 2_750, "a short prompt teaches nothing");
    }

    #[test]
    fn other_scripts_have_a_token_a_character() {
        assert_eq!(plain("日本語"), 3.0);
        assert_eq!(plain(""), 0.0);
    }
}
