//! The limits of a model guided by code (`agent/guide`): the lengths measured with a 1.5B model,
//! and larger ones on faster machines.

use std::time::Duration;

use super::Pace;

/// Maximum prompt tokens per second of a slow machine: twice the speed of a 1.5B model on two
/// cores, because measured speed varies with load.
const SLOW: f64 = 120.0;
/// Code in the prompt of a step on a slow machine, in tokens.
const PACK: usize = 1_600;
/// Maximum length of an answer to a question, in tokens.
const ANSWER_MAX: usize = 2_000;

/// The limits of the steps of a turn. Lengths are in tokens unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guided {
    /// Code in the prompt of a step.
    pub pack: usize,
    /// Tokens for the descriptions of MCP tools beyond [`Guided::TOOLS_FEW`], which are always
    /// shown.
    pub tools: usize,
    /// The list of steps that the model derives from a request; each step repeats words of the
    /// request.
    pub steps: usize,
    /// An answer that names the definitions to change, and one that names lines of a long function.
    pub names: usize,
    pub line_names: usize,
    /// Minimum and maximum length of a definition; between them, twice its current length.
    pub code: usize,
    pub code_most: usize,
    /// The rewritten lines of a long function.
    pub lines: usize,
    /// A passage, a new file or a test: as much as a slow machine can write in the time within
    /// which a change should begin.
    pub text: usize,
    /// A data file shown in full, and a new entry for it.
    pub data: usize,
    pub entry: usize,
    /// Calls that show the effect of a change, and a command.
    pub calls: usize,
    /// A line to fill in; more than one may be missing.
    pub fill: usize,
    /// An answer (given more room, a small model repeats itself), and a tool's result in the prompt
    /// of the answer.
    pub answer: usize,
    pub result_bytes: usize,
    /// No further round begins after this time; `None` for no limit.
    pub rounds_time: Option<Duration>,
    /// Time for small changes made by code, between two rounds and in a repair; lines filled in by
    /// the model get the same time again.
    pub trials_time: Duration,
    pub repair_time: Duration,
}

impl Guided {
    /// Number of MCP tools that every model can choose from: retrieval seldom ranks the right one
    /// lower.
    pub const TOOLS_FEW: usize = 5;
    /// Maximum number of definitions in one change.
    pub const ITEMS: usize = 3;
    /// Maximum number of cases in a new test; without a limit, a model keeps adding numbers.
    pub const CASES: usize = 5;
    /// Maximum number of attempts: at a change for a report with failing examples, at text, at
    /// data, and after others changed the file in the meantime. Each prompt contains the fault of
    /// the previous attempt.
    pub const REPORT_ROUNDS: usize = 2;
    pub const TEXT_ROUNDS: usize = 3;
    pub const DATA_ROUNDS: usize = 2;
    pub const STALE_ROUNDS: usize = 3;
    /// Maximum number of samples: of a definition until one differs from the existing code, and of
    /// calls until one shows a change.
    pub const SAMPLES: usize = 3;
    /// Drafts per round: with the best of four, the 1.5B model wrote 6 of 19 changes; with one, 4
    /// of 38 (BENCHMARKS.md).
    pub const DRAFTS: usize = 4;
    /// Time limit of one run of the project's tests, and of one example.
    pub const CHECK_TIME: Duration = Duration::from_secs(60);
    pub const EXAMPLE_TIME: Duration = Duration::from_secs(10);

    /// Whether there is time and room for more than the code to change.
    pub fn has_room(&self) -> bool {
        self.pack > PACK
    }

    pub fn of(pace: Pace) -> Guided {
        let context = pace.context;
        let more = (pace.speed.prompt / SLOW).max(1.0);
        let scaled = |tokens: usize| (tokens as f64 * more) as usize;
        // At least the length that measurements proved necessary, as far as it fits.
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
