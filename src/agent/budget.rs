//! Derives every limit of a turn that a capable model leads: tokens, rounds and time, from the context and the measured speed of the model.

use std::time::Duration;

use crate::models::digest;
use crate::models::speed::Speed;

use super::player::Player;
use super::toolkit::Toolkit;

/// Speed of a server's model that was never measured here: servers have accelerators.
const OF_SERVER: Speed = Speed { prompt: 5_000.0, decode: 50.0 };
/// Speed of a model of this process that was never measured: a 1.5B on two cores.
const OF_HERE: Speed = Speed { prompt: 60.0, decode: 10.0 };
/// Time for reading the code that the first prompt shows: under half of the minute within which a change begins on a slow machine.
const PACK_TIME: Duration = Duration::from_secs(27);
/// Time for reading the project's instructions.
const INSTRUCTIONS_TIME: Duration = Duration::from_secs(15);
/// Time for writing one reply.
const REPLY_TIME: Duration = Duration::from_secs(60);
/// No further round of a turn begins after this time.
const TURN_TIME: Duration = Duration::from_secs(3_600);
/// Fewest tokens of a reply: a call with a definition of some length.
const REPLY_MIN: usize = 1_000;
/// The most tokens that the project's instructions may take.
const INSTRUCTIONS_MAX: usize = 1_500;
/// Bytes of a token where nothing was counted: of code, in most vocabularies.
const TOKEN_BYTES: usize = 3;

/// The limits of one turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Tokens that a prompt and its reply may have together.
    pub context: usize,
    /// Tokens of code in the opening.
    pub pack: usize,
    /// Hits of the index in the opening.
    pub hits: usize,
    /// Tokens of the project's own instructions.
    pub instructions: usize,
    /// Tokens of earlier turns.
    pub earlier: usize,
    /// Tokens of the request, and as many of texts that the user handed over.
    pub request: usize,
    /// Tokens of one reply.
    pub reply: usize,
    /// Tokens of one result.
    pub result: usize,
    /// Tokens at which the conversation is condensed, and to which.
    pub full: usize,
    pub condensed: usize,
    /// Replies of the model.
    pub rounds: usize,
    /// Calls of one reply that are run.
    pub calls: usize,
    /// Tools of MCP servers that are listed.
    pub server_tools: usize,
    pub time: Duration,
}

impl Budget {
    /// The limits for a model with this context and speed.
    pub fn of(context: usize, speed: Speed) -> Budget {
        let read = |time: Duration| (speed.prompt * time.as_secs_f64()) as usize;
        let written = (speed.decode * REPLY_TIME.as_secs_f64()) as usize;
        let reply = written.max(REPLY_MIN).min(context / 4);
        Budget {
            context,
            pack: read(PACK_TIME).min(context / 4),
            hits: 6,
            instructions: read(INSTRUCTIONS_TIME).min(INSTRUCTIONS_MAX).min(context / 8),
            earlier: context / 8,
            request: context / 8,
            reply,
            result: context / 8,
            full: (context * 4 / 5).min(context - reply),
            condensed: context / 2,
            rounds: 100,
            calls: 24,
            server_tools: 15,
            time: TURN_TIME,
        }
    }

    /// The limits for the model that plays, by what was measured of it here.
    pub fn for_player(toolkit: &Toolkit, model: &Player) -> Budget {
        Budget::of(model.context(), speed(toolkit, model))
    }
}

/// How fast a model reads and writes here.
fn speed(toolkit: &Toolkit, model: &Player) -> Speed {
    if model.here().is_none() {
        return OF_SERVER;
    }
    let remembered = || {
        let fingerprint = digest::fingerprint(&toolkit.pool.file_of(model.role())?).ok()?;
        Speed::remembered(toolkit.pool.capabilities()?, &fingerprint)
    };
    remembered().unwrap_or(OF_HERE)
}

/// About how many bytes of a text like `sample` have so many tokens, by the model's own count.
pub fn bytes(tokens: usize, sample: &str, count: impl Fn(&str) -> usize) -> usize {
    match count(sample) {
        0 => tokens * TOKEN_BYTES,
        counted => tokens * sample.len() / counted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_model_reads_what_a_small_one_was_shown_and_a_fast_one_a_quarter_of_its_context() {
        let slow = Budget::of(8_192, Speed { prompt: 60.0, decode: 10.0 });
        assert_eq!((slow.pack, slow.instructions, slow.reply), (1_620, 900, 1_000));
        let fast = Budget::of(32_768, Speed { prompt: 5_000.0, decode: 50.0 });
        assert_eq!((fast.pack, fast.instructions, fast.reply, fast.result), (8_192, 1_500, 3_000, 4_096));
    }

    proptest::proptest! {
        #[test]
        fn a_prompt_that_is_not_condensed_leaves_room_for_a_reply(
            context in 512_usize..1_000_000, prompt in 0.1..20_000.0, decode in 0.1..2_000.0
        ) {
            let budget = Budget::of(context, Speed { prompt, decode });
            proptest::prop_assert!(budget.full + budget.reply <= context);
            proptest::prop_assert!(budget.condensed < budget.full && budget.result <= context / 8);
        }
    }

    #[test]
    fn bytes_go_by_the_count_of_the_model() {
        assert_eq!(bytes(10, "eight by", |_| 2), 40);
        assert_eq!(bytes(10, "", |_| 0), 30);
    }
}
