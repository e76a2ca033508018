//! Prints the events of a turn: as text for people, or as one JSON object per line for programs.

use std::fmt::Display;
use std::io::{self, BufRead, IsTerminal, Write};
use std::time::Duration;

use anyhow::Result;
use console::style;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::oneshot;

use super::chat::consent::Question;
use crate::base::visible;
use crate::protocol::{
    Decision, Detection, Event, PlanView, Proposal, Record, Remedy, Stall, StepReport, StepStatus, Usage, Verification,
};

/// Prints events in one of two forms.
pub enum Printer {
    Json,
    Text(Text),
}

/// Readable output, and what is on the terminal's current line.
pub struct Text {
    bar: Option<ProgressBar>,
    /// Whether the last thing written was a piece of the answer.
    in_answer: bool,
}

impl Printer {
    pub fn new(json: bool) -> Printer {
        if json { Printer::Json } else { Printer::Text(Text { bar: None, in_answer: false }) }
    }

    pub fn print(&mut self, record: &Record) -> Result<()> {
        match self {
            Printer::Json => {
                let mut out = io::stdout().lock();
                serde_json::to_writer(&mut out, record)?;
                writeln!(out)?;
                out.flush()?;
            }
            Printer::Text(text) => text.print(&record.event)?,
        }
        Ok(())
    }

    /// Asks the user for a decision. `yes` approves without asking; without a terminal the call is rejected.
    pub fn consent(&mut self, proposal: Proposal, yes: bool) -> Result<Decision> {
        if yes {
            return Ok(Decision::Approve);
        }
        if !self.can_ask() {
            let (tool, reason) = (visible(&proposal.tool), visible(&proposal.reason));
            eprintln!(
                "monobloc: `{tool}` needs consent ({reason}), and nobody can be asked here: not done; --yes approves"
            );
            return Ok(Decision::Reject);
        }
        self.preview(&proposal);
        let (reply, mut decided) = oneshot::channel();
        self.ask(Question::new(proposal, reply))?;
        // A question that was dropped without an answer counts as a rejection.
        Ok(decided.try_recv().unwrap_or(Decision::Reject))
    }

    fn can_ask(&self) -> bool {
        matches!(self, Printer::Text(_)) && io::stdin().is_terminal()
    }

    /// Asks until the question is answered or given up, or the input ends.
    fn ask(&mut self, question: Question) -> Result<()> {
        let (mut lines, mut open) = (io::stdin().lock().lines(), Some(question));
        while let Some(question) = open {
            print!("{}", question.prompt());
            io::stdout().flush()?;
            let Some(line) = lines.next().transpose()? else { break };
            open = question.answer(&line);
        }
        Ok(())
    }

    /// Prints text between events; nothing in JSON output.
    pub fn show(&mut self, words: &str) {
        if let Printer::Text(text) = self {
            text.line(words);
        }
    }

    /// Prints the preview of a call, before the caller asks for consent.
    pub fn preview(&mut self, proposal: &Proposal) {
        if let Printer::Text(text) = self {
            text.diff(&proposal.preview);
        }
    }
}

impl Text {
    fn print(&mut self, event: &Event) -> Result<()> {
        match event {
            Event::ModelLoading { role, file, share } => self.progress(&format!("loading {role} {file}"), *share),
            Event::QueueUpdate { position, eta_ms } => {
                let eta = eta_ms.map_or(String::new(), |ms| format!(", about {} s", ms.div_ceil(1000)));
                self.wait(&format!("queued (#{position}{eta})"));
            }
            Event::Pulse { phase, waited_ms } => self.wait(&format!("{phase} … {} s", waited_ms / 1000)),
            Event::Notice { text } => self.marked(style("note: ").dim(), text),
            Event::PlanCreated { plan } => self.plan(plan),
            Event::StepExecuting { step, description } => self.marked(style(format!("{step} > ")).cyan(), description),
            Event::LessonsUsed { lessons, problem, instead_of, .. } => {
                let text = format!("as in {}: {problem} (instead of {instead_of})", lessons.join(", "));
                self.dim(&format!("   {text}"));
            }
            Event::StepCompleted(report) => self.step(report),
            Event::Fallback { from, reason } => {
                self.marked(style("fallback: ").yellow(), &format!("{from} → single-model loop: {reason}"))
            }
            Event::Verification(verification) => self.draft(verification),
            Event::Detection(detection) => self.dim(&told(detection)),
            Event::Token { text } => self.token(text)?,
            Event::TurnFinished(finished) => {
                self.clear();
                println!("\n\n{}", style(cost(&finished.usage)).dim());
            }
            Event::TurnFailed { error } => self.marked(style("failed: ").red(), error),
            Event::ModelsChanged { text, .. } => self.line(text),
            Event::CheckpointMade { checkpoint, created, changed, deleted } => {
                if created + changed + deleted > 0 {
                    let files = counted(*created, *changed, *deleted);
                    self.dim(&format!("{checkpoint}: {files}; `monobloc undo` takes it back"));
                }
            }
            Event::Rewound(rewound) => self.line(&super::undo::told(rewound)),
            Event::TurnStarted { .. }
            | Event::StepState { .. }
            | Event::Refinement { .. }
            | Event::Cognition(_)
            | Event::Decided { .. }
            | Event::ApprovalRequested { .. }
            | Event::CallStarted { .. }
            | Event::Thinking { .. }
            | Event::ToolMiss(_)
            | Event::Repeat(_)
            | Event::Recovery(_) => {}
        }
        Ok(())
    }

    fn plan(&mut self, plan: &PlanView) {
        self.marked(style("plan").bold(), "");
        for step in &plan.steps {
            let after = match step.dependencies.as_slice() {
                [] => String::new(),
                needs => format!(" (after {})", needs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
            };
            self.line(&format!("  {} {}{after}", step.id, step.description));
        }
    }

    fn step(&mut self, report: &StepReport) {
        let mark = match report.status {
            StepStatus::Succeeded => style("ok").green(),
            StepStatus::Failed => style("failed").red(),
            StepStatus::Rejected => style("rejected").yellow(),
            StepStatus::Skipped => style("skipped").yellow(),
        };
        let call = report.call.map_or(String::new(), |call| format!(" [{call}]"));
        let arguments = short(&report.arguments);
        let told = format!("{call} {}({arguments}) {} ms: {}", report.tool, report.wall_ms, report.summary);
        self.marked(format!("   {mark}"), &told);
        if let Some(diff) = &report.diff {
            self.diff(diff);
        }
    }

    /// How sure the cognitive loop is of a draft.
    fn draft(&mut self, one: &Verification) {
        let (round, sure) = (one.iteration, one.confidence * 100.0);
        let why = if one.critique.is_empty() { String::new() } else { format!(": {}", one.critique) };
        self.dim(&format!("draft {round}: {sure:.0} % sure{why}"));
    }

    /// A piece of the answer; the first one begins a new line.
    fn token(&mut self, text: &str) -> Result<()> {
        self.clear();
        if !self.in_answer {
            println!();
        }
        self.in_answer = true;
        print!("{}", visible(text));
        io::stdout().flush()?;
        Ok(())
    }

    fn line(&mut self, text: &str) {
        self.marked("", text);
    }

    fn dim(&mut self, text: &str) {
        self.marked(style(visible(text)).dim(), "");
    }

    fn diff(&mut self, diff: &str) {
        self.marked(paint_diff(&visible(diff)), "");
    }

    /// Prints a line: `mark` as it is, because it is this program's own and may have colours, and the text of others made visible.
    fn marked(&mut self, mark: impl Display, text: &str) {
        self.clear();
        if std::mem::take(&mut self.in_answer) {
            println!();
        }
        println!("{mark}{}", visible(text));
    }

    fn progress(&mut self, what: &str, share: f32) {
        let bar = self.bar(ProgressStyle::with_template("{msg} {bar:30} {percent}%"));
        bar.set_position((share * 1000.0) as u64);
        bar.set_message(visible(what));
        if share >= 1.0 {
            self.clear();
        }
    }

    fn wait(&mut self, what: &str) {
        self.bar(ProgressStyle::with_template("{spinner} {msg}")).set_message(visible(what));
    }

    fn bar(&mut self, look: Result<ProgressStyle, indicatif::style::TemplateError>) -> &ProgressBar {
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(1000);
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        if let Ok(look) = look {
            bar.set_style(look);
        }
        bar
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// A detected stall of the single-model loop and the remedy, in words.
pub fn told(detection: &Detection) -> String {
    let stall = match detection.stall {
        Stall::ReadOnlyLoop => "only reading",
        Stall::SameBatch => "asking for the same again",
        Stall::SameText => "saying the same again",
        Stall::Deflection => "no tool was called",
        Stall::NothingExecuted => "nothing was executed",
        Stall::UnreadableCall => "a call that cannot be read",
        Stall::NoUsableCall => "no call that can be run",
        Stall::CategoryLockIn => "staying with the tools of one kind",
        Stall::OpenSteps => "parts of the request are open",
        Stall::OutOfIterations => "the last iteration is over",
    };
    let remedy = match detection.remedy {
        Remedy::Nudge => "told to go on",
        Remedy::ExecutingToolsOnly => "only executing tools are offered now",
        Remedy::OtherToolsOnly => "only other tools are offered now",
        Remedy::AskedAgain => "asked again",
        Remedy::CodeOwnedSteps => "what is open is carried out step by step",
        Remedy::Synthesis => "answering from what is known",
    };
    format!("loop {}: {stall}; {remedy}", detection.iteration)
}

/// Arguments in one line; long values are cut.
fn short(arguments: &serde_json::Value) -> String {
    let Some(map) = arguments.as_object() else { return String::new() };
    let shown = |value: &serde_json::Value| {
        let text = value.to_string();
        if text.chars().count() > 60 { format!("{}…\"", text.chars().take(58).collect::<String>()) } else { text }
    };
    map.iter().map(|(name, value)| format!("{name}={}", shown(value))).collect::<Vec<_>>().join(", ")
}

fn paint_diff(diff: &str) -> String {
    let paint = |line: &str| match line.chars().next() {
        Some('+') => style(line.to_owned()).green().to_string(),
        Some('-') => style(line.to_owned()).red().to_string(),
        Some('@') => style(line.to_owned()).cyan().to_string(),
        _ => line.to_owned(),
    };
    diff.lines().map(|line| format!("   {}", paint(line))).collect::<Vec<_>>().join("\n")
}

/// For example `1 created, 2 changed`.
pub fn counted(created: usize, changed: usize, deleted: usize) -> String {
    let parts = [(created, "created"), (changed, "changed"), (deleted, "deleted")];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if parts.is_empty() { "no file changed".to_owned() } else { parts.join(", ") }
}

fn cost(usage: &Usage) -> String {
    let over = if usage.budget.over.is_empty() {
        String::new()
    } else {
        format!(" · over budget: {}", usage.budget.over.join("; "))
    };
    format!(
        "{:.1} s · {} model calls · {} prompt tokens ({} cached), {} generated · peak memory {}{over}",
        usage.wall_ms as f64 / 1000.0,
        usage.model_calls,
        usage.prompt_tokens,
        usage.cached_tokens,
        usage.generated_tokens,
        crate::base::Bytes(usage.peak_memory_bytes)
    )
}
