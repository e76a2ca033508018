//! The limits of a turn (tokens, rounds, items, time), derived from the model's context and speed
//! and from the turn's time.

mod guided;
pub mod thought;
mod weak;

use std::time::{Duration, Instant};

use crate::config::TurnTime;
use crate::models::Role;
use crate::models::digest;
use crate::models::speed::Speed;

use super::player::Player;
use super::toolkit::Toolkit;
pub use guided::Guided;
pub use weak::Weak;

/// Assumed speed of a model on a server: servers have accelerators.
const OF_SERVER: Speed = Speed { prompt: 5_000.0, decode: 50.0 };
/// Shares of the time within which a change should begin, for reading the code in the first prompt,
/// the project's instructions, and the earlier turns.
const PACK_SHARE: f64 = 0.45;
const INSTRUCTIONS_SHARE: f64 = 0.25;
const EARLIER_SHARE: f64 = 0.15;
/// Maximum amount of code in the first prompt, in tokens. Every later prompt repeats it, and the
/// model reads more by itself: in six requests played by hand, a third of the 36 pieces shown was
/// used, mostly among the first three.
const PACK_MAX: usize = 600;
/// Minimum length of a reply, in tokens: a call that contains a definition of moderate length.
const REPLY_MIN: usize = 1_000;
/// Maximum length of the project's instructions, in tokens.
const INSTRUCTIONS_MAX: usize = 1_500;
/// Bytes per token if nothing was counted; applies to code in most vocabularies.
pub const TOKEN_BYTES: usize = 3;
/// Tokens of a prompt in addition to its code, for estimates: rules, request, locations.
pub const PROMPT_REST: usize = 500;
/// Minimum expected time of a long turn, whose forecast is shown before it begins.
pub const TOLD_FROM: Duration = Duration::from_secs(15);
/// For estimates: replies of a leading model, tokens that it reads before each reply except the
/// first, and tokens of each reply. Medians of 24 requests played by hand, and means of six of them
/// (BENCHMARKS.md, "Models that act").
pub const LEAD_REPLIES: usize = 4;
pub const LEAD_READ: usize = 1_200;
pub const LEAD_WRITTEN: usize = 280;
/// Maximum numbers of tokens that a model reads and writes while its capability, tier and choice of
/// tools are measured; verdicts usually come earlier.
const MEASURED_READ: f64 = 6_500.0;
const MEASURED_WRITTEN: f64 = 1_500.0;
/// Share of a turn's time that measurements of a model may take.
const MEASURED_SHARE: f64 = 0.5;
/// Minimum size of a large model file: about 8 billion weights of four bits.
pub const LARGE_FROM: u64 = 5 << 30;
/// Maximum time that a turn waits for a value from the user.
pub const ANSWER_TIME: Duration = Duration::from_secs(30 * 60);
/// Stands for "no time limit"; longer than the rounds of any turn.
const LONG: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Maximum number of tokens that a model writes about one picture, and the divisor of its context
/// for a second limit on them.
const PICTURE_MAX: usize = 1_024;
const PICTURE_SHARE: usize = 4;

/// Share of the time until a first change that a re-ranker may take for the hits of one search, the
/// time of a search if nobody waits, and the maximum number of hits: later ones are
/// hardly ever meant.
const JUDGED_SHARE: f64 = 1.0 / 30.0;
const JUDGED_UNWAITED: Duration = Duration::from_secs(target::LARGE);
const JUDGED_MAX: usize = 50;

/// Maximum time that a re-ranker takes for the hits of one search.
pub fn judging(time: TurnTime) -> Duration {
    time.first().map_or(JUDGED_UNWAITED, |first| first.mul_f64(JUDGED_SHARE))
}

/// Maximum number of hits of one search that a re-ranker scores, at this many pairs of a question
/// and a hit a second.
pub fn judged(pairs_a_second: f64, time: TurnTime) -> usize {
    ((pairs_a_second.max(0.0) * judging(time).as_secs_f64()) as usize).min(JUDGED_MAX)
}

/// Tokens that a model with this context may write about a picture.
pub fn picture(context: usize) -> usize {
    PICTURE_MAX.min(context / PICTURE_SHARE)
}

/// Target seconds of a turn, see `forecast::meant`.
pub mod target {
    pub const TALK: u64 = 3;
    pub const SMALL: u64 = 5;
    pub const LARGE: u64 = 20;
    pub const TASK: u64 = 60;
}

/// The figures that limits are derived from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Maximum number of tokens of a prompt and its reply together.
    pub context: usize,
    pub speed: Speed,
    pub time: TurnTime,
    /// Tokens of code in the prompt of a step, if the user set them.
    pub pack: Option<usize>,
}

impl Pace {
    /// Assumed for a local model that was never measured: a 1.5B on two cores, with the default
    /// context.
    pub const HERE: Pace =
        Pace { context: 8_192, speed: Speed { prompt: 60.0, decode: 10.0 }, time: TurnTime::Waited, pack: None };

    /// The pace of the model in use, as measured on this machine.
    pub fn of(toolkit: &Toolkit, model: &Player) -> Pace {
        let pack = toolkit.bounds.pack;
        Pace { context: toolkit.context_of(model), speed: speed(toolkit, model), time: toolkit.time, pack }
    }

    /// The pace of the planner if it is available at once; else [`Pace::HERE`].
    pub fn of_planner(toolkit: &Toolkit) -> Pace {
        toolkit.at_hand(Role::Planner).map_or(Pace::HERE, |model| Pace::of(toolkit, &model))
    }

    /// Tokens of code in a prompt: the user's setting, up to half of the context; else `derived`.
    fn packed(self, derived: impl Fn() -> usize) -> usize {
        self.pack.map_or_else(derived, |set| set.min(self.context / 2))
    }

    /// Number of prompt tokens that can be read in this share of the time until a first change.
    fn read_within(self, share: f64) -> usize {
        self.time.first().map_or(usize::MAX, |first| (self.speed.prompt * first.as_secs_f64() * share) as usize)
    }

    /// Number of tokens that can be written in the time until a first change.
    fn written(self) -> usize {
        self.time.first().map_or(usize::MAX, |first| (self.speed.decode * first.as_secs_f64()) as usize)
    }
}

/// How fast a model reads and writes on this machine.
fn speed(toolkit: &Toolkit, model: &Player) -> Speed {
    let Some(leased) = model.here() else { return OF_SERVER };
    // A model's first turns after loading measure its speed.
    leased.speed.or_else(|| remembered(toolkit, model.role())).unwrap_or(Pace::HERE.speed)
}

fn remembered(toolkit: &Toolkit, role: Role) -> Option<Speed> {
    let fingerprint = digest::fingerprint(&toolkit.pool.file_of(role)?).ok()?;
    Speed::remembered(toolkit.pool.capabilities()?, &fingerprint)
}

/// The measured speed of the planner on this machine, loaded or not; `None` for a planner on a
/// server, and for one without a measurement.
pub fn measured(toolkit: &Toolkit) -> Option<Speed> {
    let role = toolkit.planner();
    let loaded = toolkit.pool.resident(role).and_then(|model| model.speed);
    loaded.or_else(|| remembered(toolkit, role)).filter(|_| !toolkit.is_away(role))
}

/// The limits of a turn led by a capable model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Maximum number of tokens of a prompt and its reply together.
    pub context: usize,
    /// Tokens of code in the opening.
    pub pack: usize,
    /// Hits of the index in the opening.
    pub hits: usize,
    /// Tokens of the project's own instructions.
    pub instructions: usize,
    /// Tokens of earlier turns.
    pub earlier: usize,
    /// Tokens of the request; texts that the user handed over may use the same number.
    pub request: usize,
    /// Tokens of one reply.
    pub reply: usize,
    /// Maximum number of consecutive continuations of a cut text.
    pub continued: usize,
    /// Tokens of one result.
    pub result: usize,
    /// Tokens at which the conversation is condensed, and tokens afterwards.
    pub full: usize,
    pub condensed: usize,
    /// Tokens of the model's summary of a condensed conversation.
    pub summary: usize,
    /// Number of newest rounds kept when a conversation is condensed.
    pub rounds_kept: usize,
    /// Maximum number of calls executed per reply.
    pub calls: usize,
    /// Maximum number of MCP tools listed.
    pub server_tools: usize,
    /// No further round begins after this time; `None` for no limit.
    pub time: Option<Duration>,
}

impl Budget {
    /// Maximum number of checklist items.
    pub const ITEMS: usize = 40;

    pub fn of(pace: Pace) -> Budget {
        let context = pace.context;
        let reply = pace.written().max(REPLY_MIN).min(context / 4);
        Budget {
            context,
            pack: pace.packed(|| pace.read_within(PACK_SHARE).min(context / 4).min(PACK_MAX)),
            hits: 6,
            instructions: pace.read_within(INSTRUCTIONS_SHARE).min(INSTRUCTIONS_MAX).min(context / 8),
            earlier: pace.read_within(EARLIER_SHARE).min(context / 4).max(context / 8),
            request: context / 8,
            reply,
            continued: 4,
            result: context / 8,
            full: (context * 4 / 5).min(context - reply),
            condensed: context / 2,
            summary: reply.min(context / 16),
            rounds_kept: 2,
            calls: 24,
            server_tools: 15,
            time: pace.time.whole(),
        }
    }

    /// The limits for the model in use, from measurements on this machine.
    pub fn for_player(toolkit: &Toolkit, model: &Player) -> Budget {
        Budget::of(Pace::of(toolkit, model))
    }

    /// Whether a result with this many tokens must be cut for the model. Tools already limit it in
    /// bytes, which is less exact.
    pub fn is_long_result(&self, tokens: usize) -> bool {
        tokens > self.result + self.result / 4
    }
}

/// Number of drafts of a change written concurrently after the first has failed: one per free slot,
/// if slots share calls. The slots' memory is already allocated. In separate calls, drafts would
/// take as long as one after another, and a server has its own queue.
pub fn drafts(model: &Player) -> usize {
    model.here().map_or(1, |here| here.engine.free_together().clamp(1, Guided::DRAFTS))
}

/// The time that a turn may spend on measuring a model: the time of all measurements at the model's
/// speed, so that a slow machine also reaches a verdict. `None` if nobody waits.
pub fn measuring(pace: Pace) -> Option<Duration> {
    pace.time.first()?;
    let needed = MEASURED_READ / pace.speed.prompt + MEASURED_WRITTEN / pace.speed.decode;
    let most = pace.time.whole().map(|whole| whole.mul_f64(MEASURED_SHARE));
    Some(most.unwrap_or(Duration::MAX).min(Duration::try_from_secs_f64(needed).unwrap_or(LONG)))
}

/// The moment after this time; without a limit, a moment that is never reached.
pub fn until(time: Option<Duration>) -> Instant {
    Instant::now() + time.unwrap_or(LONG)
}

/// The approximate number of bytes of a text like `sample` in this many tokens, as the model counts
/// them.
pub fn bytes(tokens: usize, sample: &str, count: impl Fn(&str) -> usize) -> usize {
    match count(sample) {
        0 => tokens * TOKEN_BYTES,
        counted => tokens * sample.len() / counted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(context: usize, prompt: f64, decode: f64, time: TurnTime) -> Pace {
        Pace { context, speed: Speed { prompt, decode }, time, pack: None }
    }

    #[test]
    fn the_first_prompt_is_short_and_what_is_read_and_written_follows_context_and_pace() {
        let slow = Budget::of(Pace::HERE);
        assert_eq!((slow.pack, slow.instructions, slow.reply), (PACK_MAX, 900, 1_000));
        let fast = Budget::of(pace(32_768, 5_000.0, 50.0, TurnTime::Waited));
        assert_eq!((fast.pack, fast.instructions, fast.reply, fast.result), (PACK_MAX, 1_500, 3_000, 4_096));
        let unattended = Budget::of(Pace { time: TurnTime::Unlimited, ..Pace::HERE });
        assert_eq!((unattended.pack, unattended.instructions, unattended.reply), (PACK_MAX, 1_024, 2_048));
        assert_eq!(unattended.time, None);
        let set = Pace { pack: Some(3_000), ..Pace::HERE };
        assert_eq!((Budget::of(set).pack, Guided::of(set).pack, Weak::of(set).background), (3_000, 3_000, 3_000));
        assert_eq!(Guided::of(Pace { pack: Some(99_000), ..set }).pack, set.context / 2);
        let hurried = Budget::of(Pace { time: TurnTime::of(Some(20)), ..Pace::HERE });
        assert_eq!((hurried.pack, hurried.time), (540, Some(Duration::from_secs(20))));
    }

    #[test]
    fn as_many_hits_are_judged_as_the_measured_speed_allows_in_a_share_of_the_time() {
        let check = |speed, time, expected| assert_eq!(judged(speed, time), expected, "{speed}");
        check(9.6, TurnTime::Waited, 19);
        check(0.4, TurnTime::Waited, 0);
        check(1e9, TurnTime::Waited, JUDGED_MAX);
        check(9.0, TurnTime::of(Some(15)), 4);
        check(2.0, TurnTime::Unlimited, 40);
        check(f64::NAN, TurnTime::Waited, 0);
        let times = [TurnTime::Waited, TurnTime::Unlimited, TurnTime::of(Some(15))].map(judging);
        assert_eq!(times, [2_000, 20_000, 500].map(Duration::from_millis));
    }

    #[test]
    fn a_model_is_measured_for_as_long_as_its_speed_needs() {
        let seconds = |prompt, decode, time| measuring(pace(8_192, prompt, decode, time)).map(|time| time.as_secs());
        let waited = [(60.0, 10.0), (15.0, 2.5), (600.0, 60.0)]
            .map(|(prompt, decode)| seconds(prompt, decode, TurnTime::Waited));
        assert_eq!(waited, [Some(258), Some(1_033), Some(35)]);
        assert_eq!(seconds(15.0, 2.5, TurnTime::of(Some(100))), Some(50));
        assert_eq!(seconds(15.0, 2.5, TurnTime::Unlimited), None);
    }

    #[test]
    fn at_sixty_tokens_a_second_a_guided_model_has_what_it_was_measured_with_and_a_fast_one_more() {
        let slow = Guided::of(Pace::HERE);
        assert_eq!((slow.pack, slow.answer, slow.code, slow.code_most), (1_600, 150, 400, 900));
        // The load of a machine changes the measured speed, but not the limits.
        assert_eq!(Guided::of(pace(8_192, 110.0, 22.0, TurnTime::Waited)), slow);
        let fast = Guided::of(pace(32_768, 5_000.0, 50.0, TurnTime::Waited));
        assert_eq!((fast.pack, fast.answer, fast.code_most), (8_192, 2_000, 8_192));
    }

    proptest::proptest! {
        #[test]
        fn a_prompt_that_is_not_condensed_leaves_room_for_a_reply(
            context in 512_usize..1_000_000, prompt in 0.1..20_000.0, decode in 0.1..2_000.0, seconds in 0_u64..10_000
        ) {
            let pace = pace(context, prompt, decode, TurnTime::of((seconds > 0).then_some(seconds)));
            let budget = Budget::of(pace);
            proptest::prop_assert!(budget.full + budget.reply <= context);
            proptest::prop_assert!(budget.condensed < budget.full && budget.result <= context / 8);
            let guided = Guided::of(pace);
            proptest::prop_assert!(guided.pack + guided.answer <= context && guided.code_most <= context);
        }
    }

    #[test]
    fn bytes_go_by_the_count_of_the_model() {
        assert_eq!(bytes(10, "eight by", |_| 2), 40);
        assert_eq!(bytes(10, "", |_| 0), 30);
    }
}
