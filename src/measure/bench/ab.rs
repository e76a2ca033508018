//! Runs three requests, of one, two and five steps, through the single-model loop and through the orchestrator.
//!
//! Each runs on a fresh copy of a small project; every call is approved.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;

use anyhow::Result;
use serde::Serialize;

use crate::agent::{Deciding, Host, Meter, Toolkit, probe, run_turn};
use crate::base::{CallId, StepId, lock};
use crate::config::ApproveMode;
use crate::models::Role;
use crate::protocol::{Decision, Event, Proposal, StepState, StepStatus};
use crate::tools::policy::Policy;

/// A request, and the tools needed for it.
pub struct Case {
    pub request: &'static str,
    pub tools: &'static [&'static str],
}

pub const CASES: [Case; 3] = [
    Case { request: "Read src/limits.ts and tell me how long a title may be", tools: &["read_file"] },
    Case { request: "List the files in src, then read README.md", tools: &["list_dir", "read_file"] },
    Case {
        request: "Find all files named limits.ts, read src/limits.ts, in src/limits.ts change the title length from \
                  120 to 100, create notes.txt with the text \"shorter titles\" and run the command `cat notes.txt`",
        tools: &["find_files", "read_file", "replace_in_file", "write_file", "run_command"],
    },
];

const FILES: [(&str, &str); 3] = [
    ("README.md", "# Titles\n\nKeeps titles short.\n"),
    ("src/limits.ts", "/** Longest title, in letters. */\nexport const TITLE_LENGTH_MAX = 120;\n"),
    (
        "src/title.ts",
        "import { TITLE_LENGTH_MAX } from \"./limits\";\n\nexport const cut = (title: string) => title.slice(0, TITLE_LENGTH_MAX);\n",
    ),
];

/// Writes the project used by the requests.
pub fn project(folder: &Path) -> Result<()> {
    for (name, text) in FILES {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().unwrap_or(folder))?;
        std::fs::write(file, text)?;
    }
    Ok(())
}

/// The result of one request in one of the two modes.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    pub request: String,
    pub orchestrated: bool,
    pub wall_ms: u64,
    /// Calls that generate text; scoring calls are not counted.
    pub model_calls: usize,
    /// Model calls that led to none of these: a plan, a successful call, the end of a step, the
    /// answer. Counted in the same way for both modes.
    pub wasted_calls: usize,
    pub prompt_tokens: usize,
    pub generated_tokens: usize,
    /// How many of the case's tools ran and succeeded.
    pub tools_done: usize,
    pub tools: usize,
    /// The tools of successful calls, in order.
    pub called: Vec<String>,
}

/// Loads and probes the models before the comparison, so that neither mode pays for it.
pub async fn warm(toolkit: &Toolkit) -> Result<()> {
    let host = Approving::of(Meter::start());
    let model = toolkit.model(Role::Planner, &host).await?;
    toolkit.model(Role::Router, &host).await?;
    probe::capability(toolkit, &model, &host).await?;
    Ok(())
}

/// Runs `case` with `toolkit`, which must belong to a fresh copy of the project.
pub async fn run(toolkit: &Toolkit, case: &Case, orchestrated: bool) -> Result<Run> {
    let meter = Meter::start();
    let host = Approving::of(meter.clone());
    let toolkit = Toolkit { orchestrate: orchestrated, meter, ..toolkit.clone() };
    let finished = run_turn(&toolkit, case.request, &host).await?;
    let calls = finished.usage.model_calls;
    let Seen { mut useful, stalled, .. } = std::mem::take(&mut *lock(&host.seen));
    if !stalled && !finished.answer.trim().is_empty() {
        useful.insert(calls);
    }
    let called: Vec<String> = finished
        .steps
        .iter()
        .filter(|step| step.status == StepStatus::Succeeded)
        .map(|step| step.tool.clone())
        .collect();
    Ok(Run {
        request: case.request.to_owned(),
        orchestrated,
        wall_ms: finished.usage.wall_ms,
        model_calls: calls,
        wasted_calls: (1..=calls).filter(|call| !useful.contains(call)).count(),
        prompt_tokens: finished.usage.prompt_tokens,
        generated_tokens: finished.usage.generated_tokens,
        tools_done: case.tools.iter().filter(|tool| called.iter().any(|one| one == *tool)).count(),
        tools: case.tools.len(),
        called,
    })
}

/// Approves every call and records which model calls produced something.
struct Approving {
    policy: Policy,
    meter: Meter,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// Numbers, from 1, of the model calls that led to an action before the next model call.
    useful: BTreeSet<usize>,
    calls: BTreeSet<CallId>,
    /// Whether the loop was ended because it made no progress.
    stalled: bool,
}

impl Approving {
    fn of(meter: Meter) -> Approving {
        Approving { policy: Policy::of(ApproveMode::Never), meter, seen: Mutex::default() }
    }
}

impl Host for Approving {
    fn emit(&self, event: Event) {
        let mut seen = lock(&self.seen);
        let has_brought = match &event {
            Event::PlanCreated { .. } | Event::StepState { state: StepState::Complete, .. } => true,
            // A repeated call has the number of the first.
            Event::StepCompleted(report) => {
                report.call.is_none_or(|call| seen.calls.insert(call)) && report.status == StepStatus::Succeeded
            }
            _ => false,
        };
        if has_brought {
            seen.useful.insert(self.meter.usage().model_calls);
        }
        seen.stalled |= matches!(event, Event::Detection(one) if one.remedy.ends_the_loop());
    }

    fn approve<'a>(&'a self, _: StepId, _: &'a Proposal) -> Deciding<'a> {
        Box::pin(async { Decision::Approve })
    }

    fn policy(&self) -> &Policy {
        &self.policy
    }
}
