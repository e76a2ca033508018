//! Runs three requests, of one, two and five steps, through the single-model loop and through the orchestrator.
//!
//! Each runs on a fresh copy of a small project; every call is approved.

use crate::base::lock;
use std::path::Path;
use std::sync::Mutex;

use anyhow::Result;
use serde::Serialize;

use crate::agent::{Deciding, Host, Meter, Toolkit, probe, run_turn};
use crate::base::StepId;
use crate::base::config::ApproveMode;
use crate::models::Role;
use crate::protocol::{Decision, Event, Proposal, Repeat, StepStatus, ToolMiss};
use crate::tools::policy::Policy;

/// A request, and the tools that carry it out.
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

/// Writes the project that the requests are about.
pub fn project(folder: &Path) -> Result<()> {
    for (name, text) in FILES {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().unwrap_or(folder))?;
        std::fs::write(file, text)?;
    }
    Ok(())
}

/// The result of one request, run one of the two ways.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    pub request: String,
    pub orchestrated: bool,
    pub wall_ms: u64,
    /// Calls that generate text; scoring calls are not counted.
    pub model_calls: usize,
    /// Replies of the single-model loop with neither a new call nor the final answer.
    pub wasted_calls: usize,
    /// How many of the case's tools ran and succeeded.
    pub tools_done: usize,
    pub tools: usize,
    /// The tools of successful calls, in order.
    pub called: Vec<String>,
}

/// Loads and probes the models before the comparison, so that neither way pays for it.
pub async fn warm(toolkit: &Toolkit) -> Result<()> {
    let host = Approving { policy: Policy::of(ApproveMode::Never), last: Mutex::default() };
    let model = toolkit.model(Role::Planner, &host).await?;
    toolkit.model(Role::Router, &host).await?;
    probe::capability(toolkit, &model, &host).await?;
    Ok(())
}

/// Runs `case` with `toolkit`, which must belong to a fresh copy of the project.
pub async fn run(toolkit: &Toolkit, case: &Case, orchestrated: bool) -> Result<Run> {
    let host = Approving { policy: Policy::of(ApproveMode::Never), last: Mutex::default() };
    let toolkit = Toolkit { orchestrate: orchestrated, meter: Meter::start(), ..toolkit.clone() };
    let finished = run_turn(&toolkit, case.request, &host).await?;
    let (miss, repeat, stalled) = *lock(&host.last);
    let new = repeat.total_tool_calls.saturating_sub(repeat.deduplicated_tool_calls);
    let final_answers = usize::from(miss.total_responses > 0 && !stalled);
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
        model_calls: finished.usage.model_calls,
        wasted_calls: miss.total_responses.saturating_sub(new + final_answers),
        tools_done: case.tools.iter().filter(|tool| called.iter().any(|one| one == *tool)).count(),
        tools: case.tools.len(),
        called,
    })
}

/// Approves every call and keeps the last counts of the single-model loop.
struct Approving {
    policy: Policy,
    /// The third value: whether the loop was ended because it made no progress.
    last: Mutex<(ToolMiss, Repeat, bool)>,
}

impl Host for Approving {
    fn emit(&self, event: Event) {
        let mut last = lock(&self.last);
        match event {
            Event::ToolMiss(miss) => last.0 = miss,
            Event::Repeat(repeat) => last.1 = repeat,
            Event::Detection(one) => last.2 |= one.remedy.ends_the_loop(),
            _ => {}
        }
    }

    fn approve<'a>(&'a self, _: StepId, _: &'a Proposal) -> Deciding<'a> {
        Box::pin(async { Decision::Approve })
    }

    fn policy(&self) -> &Policy {
        &self.policy
    }
}
