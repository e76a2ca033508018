//! The plan of a turn as a tree: each step with its state, and its calls with one line about each result.

use ratatui::text::{Line, Span};

use super::diff;
use super::theme::Theme;
use crate::base::StepId;
use crate::protocol::{PlanStep, PlanView, StepReport, StepState, StepStatus};
use crate::ui::words;

/// A plan with its progress so far.
#[derive(Debug)]
pub struct Plan {
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    planned: PlanStep,
    state: StepState,
    calls: Vec<StepReport>,
}

impl Plan {
    pub fn new(view: PlanView) -> Plan {
        let step = |planned: PlanStep| Step { planned, state: StepState::Pending, calls: Vec::new() };
        Plan { steps: view.steps.into_iter().map(step).collect() }
    }

    pub fn has(&self, id: StepId) -> bool {
        self.steps.iter().any(|step| step.planned.id == id)
    }

    pub fn enter(&mut self, id: StepId, state: StepState) {
        if let Some(step) = self.steps.iter_mut().find(|step| step.planned.id == id) {
            step.state = state;
        }
    }

    pub fn add(&mut self, report: StepReport) {
        if let Some(step) = self.steps.iter_mut().find(|step| step.planned.id == report.step) {
            step.calls.push(report);
        }
    }

    /// The tree; if `unfolded`, with the diffs of its calls.
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
    Line::from(vec![
        Span::styled(format!("{sign} {} ", step.planned.id), style),
        Span::raw(step.planned.description.clone()),
        Span::styled(format!("{}{state}", words::after(&step.planned.dependencies)), theme.dim()),
    ])
}

/// A tool call with one line about its result, and its diff.
pub fn call(report: &StepReport, theme: Theme, unfolded: bool) -> Vec<Line<'static>> {
    let style = match report.status {
        StepStatus::Succeeded => theme.good(),
        StepStatus::Failed => theme.bad(),
        _ => theme.warning(),
    };
    let mut spans = vec![
        Span::styled("  └ ", theme.dim()),
        Span::styled(format!("{} ", words::status(report.status)), style),
        Span::raw(format!("{}({})", report.tool, words::arguments(&report.arguments))),
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
