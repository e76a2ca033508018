//! Estimates the cost of the steps of a plan: tokens from their files and the model's limits,
//! seconds from its speed as measured on this machine.

use std::time::Duration;

use crate::models::speed::Speed;
use crate::protocol::StepReport;
use crate::request::{Kind, Step};
use crate::tools::confine::Access;

use super::budget::{
    self, Guided, LARGE_FROM, LEAD_READ, LEAD_REPLIES, LEAD_WRITTEN, PROMPT_REST, Pace, TOKEN_BYTES, TOLD_FROM, target,
};
use super::spelled;
use super::toolkit::Toolkit;

/// Numbers of tokens read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    pub read: usize,
    pub written: usize,
}

impl Cost {
    pub fn tokens(self) -> usize {
        self.read + self.written
    }

    /// The time needed at this speed.
    pub fn time(self, speed: Speed) -> Duration {
        Duration::from_secs_f64(speed.seconds(self.read, self.written).1)
    }
}

/// The tokens of a step if the planner carries it out; zero if code does.
pub fn of_step(toolkit: &Toolkit, step: &Step, by_model: bool) -> Cost {
    let limits = Guided::of(Pace::of_planner(toolkit));
    let code = || PROMPT_REST + code_of(toolkit, step).map_or(limits.pack, |tokens| tokens.min(limits.pack));
    match step.kind {
        _ if !by_model || spelled::is_by_code(toolkit, step) => Cost::default(),
        Kind::Rename | Kind::Move => Cost::default(),
        Kind::Run => Cost { read: PROMPT_REST, written: limits.fill },
        Kind::Ask => Cost { read: code(), written: limits.answer },
        // The model first names the definitions, then writes them.
        Kind::Edit | Kind::Fix => Cost { read: code(), written: limits.names + limits.code },
    }
}

/// Tokens in the files that a step names; `None` if it names no existing file.
fn code_of(toolkit: &Toolkit, step: &Step) -> Option<usize> {
    let root = &toolkit.context.as_ref()?.root;
    let size = |path: &String| {
        let file = root.resolve(path, Access::Read).ok()?;
        std::fs::metadata(file.absolute()).ok().filter(|about| about.is_file()).map(|about| about.len())
    };
    let sizes: Vec<u64> = step.part.paths.iter().filter_map(size).collect();
    (!sizes.is_empty()).then(|| sizes.iter().sum::<u64>() as usize / TOKEN_BYTES)
}

/// The expected time of steps with this cost; `None` if the planner has not been measured on this
/// machine.
pub fn time(toolkit: &Toolkit, cost: Cost) -> Option<Duration> {
    budget::measured(toolkit).map(|speed| cost.time(speed))
}

/// The tokens of a turn led by a model, if its first prompt has `first` tokens.
pub fn of_lead(first: usize) -> Cost {
    let later = (LEAD_REPLIES - 1) * LEAD_READ;
    Cost { read: first + later, written: LEAD_REPLIES * LEAD_WRITTEN }
}

/// The forecast shown before a turn led by a model; includes the time if it is long.
pub fn announced_lead(toolkit: &Toolkit, first: usize) -> Option<(String, Duration)> {
    let cost = of_lead(first);
    let time = time(toolkit, cost)?;
    Some((announced(&format!("about {LEAD_REPLIES} replies"), cost, time)?, time))
}

/// A number of steps, in words.
pub fn steps(count: usize) -> String {
    if count == 1 { "1 step".to_owned() } else { format!("{count} steps") }
}

/// The forecast shown before a turn with these parts; `None` if the turn is short.
pub fn announced(parts: &str, cost: Cost, time: Duration) -> Option<String> {
    (time >= TOLD_FROM).then(|| {
        format!(
            "expect about {} s: {parts}, {} tokens to read and {} to write at the speed measured here",
            time.as_secs(),
            cost.read,
            cost.written
        )
    })
}

/// Target time of a turn with these calls, in seconds, on the hardware that such models are made
/// for. The targets differ for small talk, an answer by a small model, one by a large model, and a
/// request with calls that may change something.
pub fn meant(toolkit: &Toolkit, reports: &[StepReport], model_calls: usize) -> u64 {
    let size = || toolkit.pool.file_of(toolkit.planner()).and_then(|file| std::fs::metadata(file).ok());
    let is_large = || toolkit.is_away(toolkit.planner()) || size().is_some_and(|about| about.len() >= LARGE_FROM);
    match reports {
        [] if model_calls <= 1 => target::TALK,
        [] => target::TASK,
        reports if reports.iter().any(|report| report.executing) => target::TASK,
        _ if is_large() => target::LARGE,
        _ => target::SMALL,
    }
}

/// The comparison with the forecast, shown at the end of the turn.
pub fn compared(expected: Duration, took: Duration) -> String {
    format!("it took {} s; about {} s were expected", took.as_secs(), expected.as_secs())
}
