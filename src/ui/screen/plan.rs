//! The plan of a turn as a tree: each step with its state, below it its calls with a line about each result.

use ratatui::text::{Line, Span};
use serde_json::Value;

use super::diff;
use super::theme::Theme;
use crate::base::StepId;
use crate::protocol::{PlanView, StepReport, StepState, StepStatus};

/// Longest value of an argument that is shown, in characters.
const VALUE_CHARS: usize = 48;

/// A plan with what has happened so far.
#[derive(Debug)]
pub struct Plan {
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    id: StepId,
    description: String,
    after: Vec<StepId>,
    state: StepState,
    calls: Vec<StepReport>,
}

impl Plan {
    pub fn new(view: &PlanView) -> Plan {
        let step = |step: &crate::protocol::PlanStep| Step {
            id: step.id,
            description: step.description.clone(),
            after: step.dependencies.clone(),
            state: StepState::Pending,
            calls: Vec::new(),
        };
        Plan { steps: view.steps.iter().map(step).collect() }
    }

    pub fn has(&self, id: StepId) -> bool {
        self.steps.iter().any(|step| step.id == id)
    }

    pub fn enter(&mut self, id: StepId, state: StepState) {
        if let Some(step) = self.steps.iter_mut().find(|step| step.id == id) {
            step.state = state;
        }
    }

    pub fn add(&mut self, report: StepReport) {
        if let Some(step) = self.steps.iter_mut().find(|step| step.id == report.step) {
            step.calls.push(report);
        }
    }

    /// The tree; `unfolded` shows the diffs of its calls.
    pub fn lines(&self, theme: Theme, unfolded: bool) -> Vec<Line<'static>> {
        let done = self.steps.iter().filter(|step| step.state == StepState::Complete).count();
        let mut lines = vec![Line::from(vec![
            Span::styled("plan ", theme.strong()),
            Span::styled(format!("{done} of {} done", self.steps.len()), theme.dim()),
        ])];
        for step in &self.steps {
            lines.push(head(step, theme));
            lines.extend(step.calls.iter().flat_map(|report| call(report, theme, unfolded)));
        }
        lines
    }
}

fn head(step: &Step, theme: Theme) -> Line<'static> {
    let (sign, style, state) = match step.state {
        StepState::Pending => ("○", theme.dim(), ""),
        StepState::Thinking => ("◔", theme.accent(), " choosing a tool"),
        StepState::Deciding => ("◔", theme.accent(), " checking the rules"),
        StepState::AwaitingApproval => ("?", theme.warning(), " waits for you"),
        StepState::Executing => ("◑", theme.accent(), " running"),
        StepState::Complete => ("●", theme.good(), ""),
        StepState::FailedToThink | StepState::FailedToExecute => ("✗", theme.bad(), " failed"),
    };
    let after = match step.after.as_slice() {
        [] => String::new(),
        needs => format!(" (after {})", needs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    };
    Line::from(vec![
        Span::styled(format!("{sign} {} ", step.id), style),
        Span::raw(step.description.clone()),
        Span::styled(format!("{after}{state}"), theme.dim()),
    ])
}

/// A tool call with one line about its result, and its diff.
pub fn call(report: &StepReport, theme: Theme, unfolded: bool) -> Vec<Line<'static>> {
    let (sign, style) = match report.status {
        StepStatus::Succeeded => ("ok", theme.good()),
        StepStatus::Failed => ("failed", theme.bad()),
        StepStatus::Rejected => ("rejected", theme.warning()),
        StepStatus::Skipped => ("skipped", theme.warning()),
    };
    let mut spans = vec![
        Span::styled("  └ ", theme.dim()),
        Span::styled(format!("{sign} "), style),
        Span::raw(format!("{}({})", report.tool, arguments(&report.arguments))),
        Span::styled(
            format!(" {} ms: {}", report.wall_ms, report.summary.lines().next().unwrap_or_default()),
            theme.dim(),
        ),
    ];
    let Some(diff) = &report.diff else { return vec![Line::from(spans)] };
    let counts = diff::counts(diff);
    let fold = if unfolded { "" } else { ", Ctrl-O shows it" };
    spans.push(Span::styled(format!(" [+{} -{}{fold}]", counts.added, counts.removed), theme.accent()));
    let mut lines = vec![Line::from(spans)];
    if unfolded {
        lines.extend(diff::lines(diff, theme));
    }
    lines
}

/// Arguments in one line; long values are cut.
fn arguments(arguments: &Value) -> String {
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
