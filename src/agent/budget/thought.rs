//! Decides how many tokens a model may use for a thought before an answer, from the time of the
//! turn, the measured speed and the context.

use std::time::Duration;

use super::Pace;
use crate::config::Think;
use crate::models::speed::Speed;

/// Maximum time of one thought: half of the time within which a change should begin.
const THOUGHT_TIME: Duration = Duration::from_secs(30);
/// Maximum time of all thoughts of a turn.
const TURN_TIME: Duration = Duration::from_secs(120);
/// Divisor of a slot's context for the maximum length of a thought.
const CONTEXT_SHARE: usize = 4;
/// With fewer tokens than this, the model does not think at all.
const TOKENS_MIN: usize = 64;
/// Length of the shortest answer in a grammar that is worth a thought, in tokens; plans, names and
/// verdicts are shorter.
pub const LONG_ANSWER: usize = 500;

/// Tokens of the next thought of a model with this speed, after `spent` on earlier thoughts.
pub fn tokens(think: Think, speed: Option<Speed>, spent: Duration, context: usize) -> usize {
    match think {
        Think::Off => 0,
        Think::Tokens(tokens) => tokens,
        Think::Auto => {
            let time = TURN_TIME.saturating_sub(spent).min(THOUGHT_TIME);
            let tokens = (speed.unwrap_or(Pace::HERE.speed).decode * time.as_secs_f64()) as usize;
            Some(tokens.min(context / CONTEXT_SHARE)).filter(|tokens| *tokens >= TOKENS_MIN).unwrap_or(0)
        }
    }
}

/// Whether the thoughts of a turn have used up their time.
pub fn is_spent(spent: Duration) -> bool {
    spent >= TURN_TIME
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(think: Think, rate: Option<f64>, spent_s: u64, context: usize, expected: usize) {
        let speed = rate.map(|decode| Speed { prompt: 60.0, decode });
        let found = tokens(think, speed, Duration::from_secs(spent_s), context);
        assert_eq!(found, expected, "{think:?} {rate:?} {spent_s} {context}");
    }

    #[test]
    fn a_thought_takes_what_time_and_context_leave() {
        check(Think::Auto, Some(20.0), 0, 8_192, 600);
        check(Think::Auto, Some(20.0), 110, 8_192, 200);
        check(Think::Auto, Some(20.0), 119, 8_192, 0);
        check(Think::Auto, Some(20.0), 500, 8_192, 0);
        check(Think::Auto, Some(1_000.0), 0, 8_192, 2_048);
        check(Think::Auto, None, 0, 8_192, 300);
        check(Think::Auto, Some(1.0), 0, 8_192, 0);
        check(Think::Tokens(7), Some(1.0), 500, 512, 7);
        check(Think::Off, Some(20.0), 0, 8_192, 0);
    }
}
