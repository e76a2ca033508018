//! Describes the events of a turn in words, for all user interfaces.

use serde_json::Value;

use crate::base::{Bytes, StepId};
use crate::index::Progress;
use crate::protocol::{Detection, Event, PlanView, Remedy, Rewound, Stall, StepStatus, Usage};

/// Maximum length of a displayed argument value, in characters.
const VALUE_CHARS: usize = 60;
/// Maximum number of unrestored files named.
const LEFT_SHOWN: usize = 20;
/// Maximum number of changed paths without a checkpoint named in the line about a checkpoint.
const UNCOVERED_SHOWN: usize = 5;

/// The work in progress according to an event, for a line that is later replaced.
pub fn doing(event: &Event) -> Option<String> {
    Some(match event {
        Event::ModelLoading { role, file, share } => format!("loading {role} {file}: {:.0} %", share * 100.0),
        Event::QueueUpdate { position, eta_ms } => {
            let eta = eta_ms.map_or(String::new(), |ms| format!(", about {} s", ms.div_ceil(1000)));
            format!("queued (#{position}{eta})")
        }
        Event::Pulse { phase, waited_ms } => format!("{phase} … {} s", waited_ms / 1000),
        _ => return None,
    })
}

/// A line about an event of minor importance.
pub fn remark(event: &Event) -> Option<String> {
    Some(match event {
        Event::LessonsUsed { lessons, problem, instead_of, .. } => {
            format!("as in {}: {problem} (instead of {instead_of})", lessons.join(", "))
        }
        Event::Verification(one) => {
            let why = if one.critique.is_empty() { String::new() } else { format!(": {}", one.critique) };
            format!("draft {}: {:.0} % sure{why}", one.iteration, one.confidence * 100.0)
        }
        Event::Detection(one) => stall(one),
        Event::ToolChosen(choice) if choice.handed_on => {
            let (role, offered) = (&choice.role, choice.offered);
            format!("the {role} is not sure: the planner chooses among the same {offered} tools")
        }
        Event::CheckpointMade { checkpoint, created, changed, deleted, left } => {
            let kept = (created + changed + deleted > 0).then(|| counted(*created, *changed, *deleted));
            let parts = kept.into_iter().chain(not_covered(left));
            return Some(format!("{checkpoint}: {}", parts.reduce(|all, part| format!("{all}; {part}"))?));
        }
        _ => return None,
    })
}

/// The project lines shown to the model.
pub fn context(places: &[String], tokens: usize) -> String {
    if places.is_empty() {
        return "the model is shown no code".to_owned();
    }
    format!("the model is shown {} ({tokens} tokens)", places.join(", "))
}

/// The changed paths that are not covered by any checkpoint, in words; `None` if there are none.
fn not_covered(left: &[(String, String)]) -> Option<String> {
    let shown: Vec<String> = left.iter().take(UNCOVERED_SHOWN).map(|(path, why)| format!("{path} ({why})")).collect();
    let more = left.len().saturating_sub(UNCOVERED_SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!left.is_empty()).then(|| format!("not covered, stays as it is now: {}{more}", shown.join(", ")))
}

/// A detected stall of the single-model loop, and the remedy.
pub fn stall(detection: &Detection) -> String {
    let stall = match detection.stall {
        Stall::ReadOnlyLoop => "only reading",
        Stall::SameBatch => "repeating the same calls",
        Stall::SameText => "saying the same again",
        Stall::Deflection => "no tool was called",
        Stall::NothingExecuted => "nothing was executed",
        Stall::UnreadableCall => "a call that cannot be read",
        Stall::NoUsableCall => "no call that can be run",
        Stall::CategoryLockIn => "staying with the tools of one kind",
        Stall::OpenSteps => "parts of the request are still open",
        Stall::OutOfIterations => "the last iteration is over",
    };
    let remedy = match detection.remedy {
        Remedy::Nudge => "told to continue",
        Remedy::ExecutingToolsOnly => "only executing tools are offered now",
        Remedy::OtherToolsOnly => "only other tools are offered now",
        Remedy::AskedAgain => "asked again",
        Remedy::CodeOwnedSteps => "open steps are carried out one by one",
        Remedy::Synthesis => "answering from the results so far",
    };
    format!("loop {}: {stall}; {remedy}", detection.iteration)
}

pub fn status(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Succeeded => "ok",
        StepStatus::Failed => "failed",
        StepStatus::Rejected => "rejected",
        StepStatus::Cancelled => "cancelled",
        StepStatus::NotAsked => "not asked",
        StepStatus::Denied => "denied",
        StepStatus::Skipped => "skipped",
    }
}

/// For example ` (after s1, s2)`; empty if the step needs no others.
pub fn after(needs: &[StepId]) -> String {
    if needs.is_empty() {
        return String::new();
    }
    format!(" (after {})", needs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

/// Arguments on one line; long values are truncated.
pub fn arguments(arguments: &Value) -> String {
    let Some(map) = arguments.as_object() else { return String::new() };
    let shown = |value: &Value| {
        let text = value.to_string();
        if text.chars().count() <= VALUE_CHARS {
            return text;
        }
        text.chars().take(VALUE_CHARS - 1).chain(['…']).collect()
    };
    map.iter().map(|(name, value)| format!("{name}={}", shown(value))).collect::<Vec<_>>().join(", ")
}

/// For example `1 created, 2 changed`.
pub fn counted(created: usize, changed: usize, deleted: usize) -> String {
    let parts = [(created, "created"), (changed, "changed"), (deleted, "deleted")];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if parts.is_empty() { "no file changed".to_owned() } else { parts.join(", ") }
}

/// The cost of a turn.
pub fn cost(usage: &Usage) -> String {
    let over = if usage.budget.over.is_empty() {
        String::new()
    } else {
        format!(" · over budget: {}", usage.budget.over.join("; "))
    };
    let Usage { model_calls, prompt_tokens, cached_tokens, generated_tokens, .. } = usage;
    let (seconds, peak) = (usage.wall_ms as f64 / 1000.0, Bytes(usage.peak_memory_bytes));
    let meant = match usage.budget.seconds_meant {
        meant if meant > 0 && seconds > meant as f64 => format!(" (target {meant} s)"),
        _ => String::new(),
    };
    format!(
        "{seconds:.1} s{meant} · {model_calls} model calls · {prompt_tokens} prompt tokens ({cached_tokens} cached), {generated_tokens} \
         generated · peak memory {peak}{over}"
    )
}

/// The progress of an index refresh.
pub fn progress(progress: Progress) -> String {
    format!("index: {} {}/{}", progress.stage.name(), progress.done, progress.total)
}

/// The result of a rewind.
pub fn rewound(rewound: &Rewound) -> String {
    let mut text = format!("back at {}: ", rewound.checkpoint);
    text.push_str(&match rewound.restored.as_slice() {
        [] if rewound.left.is_empty() => "no file differed".to_owned(),
        [] => "no file was restored".to_owned(),
        paths if paths.len() <= 3 => paths.join(", "),
        paths => format!("{} files and folders", paths.len()),
    });
    for (path, why) in rewound.left.iter().take(LEFT_SHOWN) {
        text.push_str(&format!("\n  left: {path}: {why}"));
    }
    if rewound.left.len() > LEFT_SHOWN {
        text.push_str(&format!("\n  left: {} more", rewound.left.len() - LEFT_SHOWN));
    }
    text.push_str(&format!("\n`monobloc rewind {}` undoes this", rewound.safety));
    text
}

/// The expected tokens and time for a plan; `None` if code carries it out.
pub fn estimate(plan: &PlanView) -> Option<String> {
    let time = plan.estimated_seconds.map(|seconds| format!(", {seconds} s")).unwrap_or_default();
    (plan.total_estimated_tokens > 0).then(|| format!("about {} tokens{time}", plan.total_estimated_tokens))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::BudgetReport;

    #[test]
    fn a_turn_that_takes_longer_than_it_is_meant_to_says_so() {
        let told = |wall_ms: u64, seconds_meant: u64| {
            let budget = BudgetReport { seconds_meant, ..BudgetReport::default() };
            cost(&Usage { wall_ms, budget, ..Usage::default() })
        };
        assert!(told(7_400, 5).starts_with("7.4 s (target 5 s) · 0 model calls"), "{}", told(7_400, 5));
        assert!(told(4_000, 5).starts_with("4.0 s · ") && told(4_000, 0).starts_with("4.0 s · "));
    }
}
