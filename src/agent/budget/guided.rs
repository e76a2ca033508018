//! The limits of a model that code guides (`agent/guide`): the lengths that a 1.5B was measured with, and more on machines that are faster.

use std::time::Duration;

use super::Pace;

/// Tokens a second of reading up to which a machine counts as slow: twice what two cores read with a 1.5B, because
/// measured speed varies with load.
const SLOW: f64 = 120.0;
/// Code in the prompt of a step on a slow machine, in tokens.
const PACK: usize = 1_600;
/// Longest answer to a question, in tokens.
const ANSWER_MAX: usize = 2_000;

/// The limits of the steps of a turn. Lengths are tokens, if they say nothing else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guided {
    /// Code in the prompt of a step.
    pub pack: usize,
    /// The tools of servers that a model chooses among, beyond the few that it is always shown.
    pub tools: usize,
    /// The steps that the model reads from a request: each repeats its words.
    pub steps: usize,
    /// An answer that names what to change, and one that names lines of a long function.
    pub names: usize,
    pub line_names: usize,
    /// A definition, at least and at most; between them twice its length.
    pub code: usize,
    pub code_most: usize,
    /// The rewritten lines of a long function.
    pub lines: usize,
    /// A passage, a new file or a test: what a slow machine writes in the time in which a change should begin.
    pub text: usize,
    /// A data file that is shown whole, and an entry of it that is written.
    pub data: usize,
    pub entry: usize,
    /// Calls that show what a change does, and a command.
    pub calls: usize,
    /// A line that is filled in; more than one may be missing.
    pub fill: usize,
    /// An answer (with more room a small model repeats itself), and the result of a tool in its prompt.
    pub answer: usize,
    pub result_bytes: usize,
    /// After this time no further round begins; `None` for no limit.
    pub rounds_time: Option<Duration>,
    /// Time for small changes that code makes between two rounds, and in a repair; the same again for lines that the model fills in.
    pub trials_time: Duration,
    pub repair_time: Duration,
}

impl Guided {
    /// Tools of servers that every model chooses among: retrieval seldom ranks the right one lower.
    pub const TOOLS_FEW: usize = 5;
    /// Definitions of one change.
    pub const ITEMS: usize = 3;
    /// Cases of a new test; without a limit a model keeps writing further numbers.
    pub const CASES: usize = 5;
    /// Attempts at a change that a report with failing examples asks for, at text, at data, and at what others change
    /// meanwhile. The fault of one goes into the next prompt.
    pub const REPORT_ROUNDS: usize = 2;
    pub const TEXT_ROUNDS: usize = 3;
    pub const DATA_ROUNDS: usize = 2;
    pub const STALE_ROUNDS: usize = 3;
    /// Samples of a definition until one differs from the existing code, and of calls until one shows a change.
    pub const SAMPLES: usize = 3;
    /// Drafts of one round: with the best of four the 1.5B wrote 6 of 19 changes, with one 4 of 38
    /// (BENCHMARKS.md).
    pub const DRAFTS: usize = 4;
    /// Time of one run of the project's tests, and of one example.
    pub const CHECK_TIME: Duration = Duration::from_secs(60);
    pub const EXAMPLE_TIME: Duration = Duration::from_secs(10);

    /// Whether there is time and room for more than the code that is to be changed.
    pub fn has_room(&self) -> bool {
        self.pack > PACK
    }

    pub fn of(pace: Pace) -> Guided {
        let context = pace.context;
        let more = (pace.speed.prompt / SLOW).max(1.0);
        let scaled = |tokens: usize| (tokens as f64 * more) as usize;
        // Never less than what was measured to be needed, as far as it fits.
        let within =
            |tokens: usize, most: usize| scaled(tokens).min(most.min(context / 4)).max(tokens.min(context / 3));
        let first = pace.time.first();
        let share = |part: f64| first.unwrap_or(Guided::CHECK_TIME).mul_f64(part);
        Guided {
            pack: pace.packed(|| within(PACK, usize::MAX)),
            tools: within(PACK, usize::MAX),
            steps: within(400, 1_000),
            names: within(60, 200),
            line_names: within(90, 200),
            code: within(400, usize::MAX),
            code_most: within(900, usize::MAX),
            lines: within(300, 2_000),
            text: within(600, usize::MAX),
            data: within(1_500, usize::MAX),
            entry: within(200, 1_000),
            calls: within(200, 400),
            fill: within(48, 100),
            answer: within(150, ANSWER_MAX),
            result_bytes: scaled(2_000).min(context / 8 * super::TOKEN_BYTES).max(2_000),
            rounds_time: first,
            trials_time: share(0.14),
            repair_time: share(0.42),
        }
    }
}
