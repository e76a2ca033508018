//! `monobloc telemetry`: prints the costs, tool calls and loop statistics of the last turns.

use anyhow::{Context as _, Result};
use clap::Args;

use crate::app::{self, App};
use crate::base::Bytes;
use crate::protocol::{CallCost, Repeat, ToolMiss, Usage};
use crate::session::{Journal, TimedCall, TurnStats, telemetry};
use crate::ui::words;

/// Show time, tokens and memory of the last turns in this project
#[derive(Args)]
pub struct Telemetry {
    /// Turns to show
    #[arg(short = 'n', long, default_value_t = 10)]
    turns: usize,
    /// Also show every call in a turn, and stalls of the single-model loop
    #[arg(long)]
    timeline: bool,
    /// Print one JSON object per turn
    #[arg(long)]
    json: bool,
}

impl Telemetry {
    pub fn run(self, app: &App) -> Result<()> {
        let project = &app.config.project;
        let journal = Journal::existing(&app::journal(project))?.with_context(|| {
            format!("no turn was recorded in {}; run `monobloc ask` there first", project.display())
        })?;
        let turns = telemetry(&journal, self.turns)?;
        if self.json {
            for turn in turns {
                putln!("{}", serde_json::to_string(&turn)?);
            }
            return Ok(());
        }
        putln!(
            "{:>8} {:>6} {:>8} {:>8} {:>10} {:>12}  request",
            "wall",
            "calls",
            "prompt",
            "cached",
            "generated",
            "peak memory"
        );
        for turn in &turns {
            line(turn);
            servers(turn);
            if self.timeline {
                timeline(turn);
            }
        }
        if let Some(sum) = sum(&turns) {
            putln!("{sum}");
        }
        Ok(())
    }
}

fn line(turn: &TurnStats) {
    let Usage { model_calls, prompt_tokens, cached_tokens, generated_tokens, .. } = &turn.usage;
    let (seconds, peak) = (turn.usage.wall_ms as f64 / 1000.0, Bytes(turn.usage.peak_memory_bytes).to_string());
    let request: String = turn.request.chars().take(60).collect();
    say!(
        "{seconds:>6.1} s {model_calls:>6} {prompt_tokens:>8} {cached_tokens:>8} {generated_tokens:>10} {peak:>12}  {request}"
    );
}

/// A line for each server model that answered in the turn.
fn servers(turn: &TurnStats) {
    let calls = &turn.usage.calls;
    let mut models: Vec<(&str, &str)> =
        calls.iter().filter(|call| call.server.is_some()).map(|call| (&*call.role, &*call.model)).collect();
    models.sort_unstable();
    models.dedup();
    for (role, model) in models {
        let of: Vec<&CallCost> = calls.iter().filter(|call| call.role == role && call.model == model).collect();
        let sum = |count: fn(&CallCost) -> usize| of.iter().map(|call| count(call)).sum::<usize>();
        let first_ms = of.iter().map(|call| call.prompt_ms).sum::<u64>() / of.len().max(1) as u64;
        say!(
            "    {role}: {model}, {} calls, {} tokens sent, {} received, each began after {first_ms} ms",
            of.len(),
            sum(|call| call.prompt_tokens),
            sum(|call| call.generated_tokens)
        );
    }
}

fn timeline(turn: &TurnStats) {
    for TimedCall { time, report: call } in &turn.timeline {
        let class = if call.executing { "execute" } else { "read" };
        let status = words::status(call.status);
        let arguments: String = call.arguments.to_string().chars().take(80).collect();
        say!("    {time} {class:<7} {status:<8} {} {arguments}", call.tool);
    }
    for one in &turn.detections {
        putln!("    {}", words::stall(one));
    }
    for one in &turn.recoveries {
        let came = if one.recovered { "the model recovered" } else { "the model did not recover" };
        putln!("    loop {}: {came}", one.iteration);
    }
}

/// Statistics of the single-model loop over all turns; `None` if it never ran.
fn sum(turns: &[TurnStats]) -> Option<String> {
    let looped: Vec<&TurnStats> = turns.iter().filter(|turn| turn.tool_miss.is_some()).collect();
    if looped.is_empty() {
        return None;
    }
    let misses = |count: fn(&ToolMiss) -> usize| looped.iter().flat_map(|one| &one.tool_miss).map(count).sum::<usize>();
    let repeats = |count: fn(&Repeat) -> usize| looped.iter().flat_map(|one| &one.repeat).map(count).sum::<usize>();
    Some(format!(
        "single-model loop in {} of {} turns: {} replies, {} without a call, {} calls written as text; {} calls, {} \
         repeated, {} batches and {} texts repeated; at most {} reading calls in a row; {} times going nowhere, {} \
         times back on its way by itself",
        looped.len(),
        turns.len(),
        misses(|miss| miss.total_responses),
        misses(|miss| miss.responses_without_tool_calls),
        misses(|miss| miss.textual_tool_call_patterns),
        repeats(|repeat| repeat.total_tool_calls),
        repeats(|repeat| repeat.deduplicated_tool_calls),
        repeats(|repeat| repeat.repeated_batches),
        repeats(|repeat| repeat.repeated_content),
        looped.iter().map(|turn| turn.reading_max()).max().unwrap_or(0),
        looped.iter().map(|turn| turn.detections.len()).sum::<usize>(),
        looped.iter().flat_map(|turn| &turn.recoveries).filter(|one| one.recovered).count(),
    ))
}
