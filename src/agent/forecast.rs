//! Estimates what the steps of a plan take: tokens from their files and the limits of the model, seconds from its speed as measured here.

use std::time::Duration;

use crate::models::speed::Speed;
use crate::request::{Kind, Step};
use crate::tools::confine::Access;

use super::budget::{self, Guided, PROMPT_REST, Pace, TOKEN_BYTES, TOLD_FROM};
use super::spelled;
use super::toolkit::Toolkit;

/// Tokens that are read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    pub read: usize,
    pub written: usize,
}

impl Cost {
    pub fn tokens(self) -> usize {
        self.read + self.written
    }

    /// The time at this speed.
    pub fn time(self, speed: Speed) -> Duration {
        Duration::from_secs_f64(speed.seconds(self.read, self.written).1)
    }
}

/// The tokens of a step if the planner carries it out; none if code does.
pub fn of_step(toolkit: &Toolkit, step: &Step, by_model: bool) -> Cost {
    let limits = Guided::of(Pace::of_planner(toolkit));
    let code = || PROMPT_REST + code_of(toolkit, step).map_or(limits.pack, |tokens| tokens.min(limits.pack));
    match step.kind {
        _ if !by_model || spelled::is_by_code(toolkit, step) => Cost::default(),
        Kind::Rename | Kind::Move => Cost::default(),
        Kind::Run => Cost { read: PROMPT_REST, written: limits.fill },
        Kind::Ask => Cost { read: code(), written: limits.answer },
        // The definitions are named first, then written.
        Kind::Edit | Kind::Fix => Cost { read: code(), written: limits.names + limits.code },
    }
}

/// Tokens of the files that a step names; `None` if it names none that exist.
fn code_of(toolkit: &Toolkit, step: &Step) -> Option<usize> {
    let root = &toolkit.context.as_ref()?.root;
    let size = |path: &String| {
        let file = root.resolve(path, Access::Read).ok()?;
        std::fs::metadata(file.absolute()).ok().filter(|about| about.is_file()).map(|about| about.len())
    };
    let sizes: Vec<u64> = step.part.paths.iter().filter_map(size).collect();
    (!sizes.is_empty()).then(|| sizes.iter().sum::<u64>() as usize / TOKEN_BYTES)
}

/// The expected time of steps that take so much; `None` if the planner was not measured here.
pub fn time(toolkit: &Toolkit, cost: Cost) -> Option<Duration> {
    budget::measured(toolkit).map(|speed| cost.time(speed))
}

/// The forecast for the user before a turn that takes long; `None` for a short one.
pub fn announced(steps: usize, cost: Cost, time: Duration) -> Option<String> {
    let parts = if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") };
    (time >= TOLD_FROM).then(|| {
        format!(
            "expect about {} s: {parts}, {} tokens to read and {} to write at the speed measured here",
            time.as_secs(),
            cost.read,
            cost.written
        )
    })
}

/// The comparison with the forecast, for the user at the end of the turn.
pub fn compared(expected: Duration, took: Duration) -> String {
    format!("it took {} s; about {} s were expected", took.as_secs(), expected.as_secs())
}
