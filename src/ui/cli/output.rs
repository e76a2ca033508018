//! Prints the events of a turn: as text for people, or as one JSON object per line for programs.

use std::fmt::Display;
use std::io::{self, BufRead, IsTerminal};
use std::time::Duration;

use anyhow::Result;
use console::{StyledObject, style};
use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::oneshot;

use super::chat::consent::Question;
use crate::base::visible;
use crate::protocol::{Decision, Event, PlanView, Proposal, Record, StepReport, StepStatus};
use crate::ui::{out, words};

pub enum Printer {
    Json,
    Text(Text),
}

/// Readable output, and the content of the terminal's current line.
pub struct Text {
    bar: Option<ProgressBar>,
    /// Whether the last output was a piece of the answer.
    in_answer: bool,
    /// Whether the last output on standard error was a piece of the model's thinking.
    in_thought: bool,
}

impl Printer {
    pub fn new(json: bool) -> Printer {
        if json { Printer::Json } else { Printer::Text(Text { bar: None, in_answer: false, in_thought: false }) }
    }

    pub fn print(&mut self, record: &Record) -> Result<()> {
        match self {
            Printer::Json => {
                // Programs read each line as it arrives, even through a pipe.
                put!("{}\n", serde_json::to_string(record)?);
            }
            Printer::Text(text) => text.print(&record.event)?,
        }
        Ok(())
    }

    /// Asks the user for a decision. `yes` approves without asking, and gives no values; without a
    /// terminal nobody can be asked.
    pub fn consent(&mut self, proposal: Proposal, yes: bool) -> Result<Decision> {
        if proposal.is_stage() {
            self.preview(&proposal);
        }
        let wants_consent = proposal.wanted().is_empty();
        if yes && wants_consent {
            return Ok(Decision::Approve);
        }
        if !matches!(self, Printer::Text(_)) || !io::stdin().is_terminal() {
            let (tool, reason) = (visible(&proposal.tool), visible(&proposal.reason));
            let (need, way) = (proposal.need(), if wants_consent { "--yes approves" } else { "say it in the request" });
            tell!("monobloc: `{tool}` needs {need} ({reason}), and nobody can be asked here: not done; {way}");
            return Ok(Decision::NotAsked(format!("there is no terminal; {way}")));
        }
        if !proposal.is_stage() {
            self.preview(&proposal);
        }
        let (reply, mut decided) = oneshot::channel();
        let (mut lines, mut open) = (io::stdin().lock().lines(), Some(Question::new(proposal, reply)));
        while let Some(question) = open {
            put!("{}", question.prompt());
            let Some(line) = lines.next().transpose()? else { break };
            open = question.answer(&line);
        }
        // At the end of the input the question is dropped without an answer.
        Ok(decided.try_recv().unwrap_or(Decision::Cancel))
    }

    /// Prints text between events, but not in JSON output.
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
            Event::Notice { text } => self.marked(style("note: ").dim(), text),
            Event::PlanCreated { plan } => self.plan(plan),
            Event::StepExecuting { step, description } => self.marked(style(format!("{step} > ")).cyan(), description),
            Event::StepCompleted(report) => self.step(report),
            Event::Fallback { from, reason } => {
                self.marked(style("fallback: ").yellow(), &format!("{from} → single-model loop: {reason}"))
            }
            Event::Token { text } => self.token(text),
            Event::Thinking { text } => self.thought(text),
            Event::TurnFinished(finished) => {
                self.clear();
                putln!("\n\n{}", style(words::cost(&finished.usage)).dim());
            }
            Event::TurnFailed { error } => self.marked(style("failed: ").red(), error),
            Event::ModelsChanged { text, .. } => self.line(text),
            Event::Rewound(rewound) => self.line(&words::rewound(rewound)),
            other => match (words::doing(other), words::remark(other)) {
                (Some(doing), _) => {
                    self.bar(ProgressStyle::with_template("{spinner} {msg}")).set_message(visible(&doing));
                }
                (None, Some(remark)) => self.marked(style(visible(&remark)).dim(), ""),
                // The others are for the journal and for programs.
                (None, None) => {}
            },
        }
        Ok(())
    }

    fn plan(&mut self, plan: &PlanView) {
        self.marked(style("plan").bold(), "");
        for step in &plan.steps {
            self.line(&format!("  {} {}{}", step.id, step.description, words::after(&step.dependencies)));
        }
        if let Some(estimate) = words::estimate(plan) {
            self.line(&format!("  {estimate}"));
        }
    }

    fn step(&mut self, report: &StepReport) {
        let mark = style(words::status(report.status));
        let mark = match report.status {
            StepStatus::Succeeded => mark.green(),
            StepStatus::Failed => mark.red(),
            _ => mark.yellow(),
        };
        let call = report.call.map_or(String::new(), |call| format!(" [{call}]"));
        let arguments = words::arguments(&report.arguments);
        let told = format!("{call} {}({arguments}) {} ms: {}", report.tool, report.wall_ms, report.summary);
        self.marked(format!("   {mark}"), &told);
        if let Some(diff) = &report.diff {
            self.diff(diff);
        }
    }

    /// A piece of the answer; the first one begins a new line.
    fn token(&mut self, text: &str) {
        self.clear();
        if !self.in_answer {
            putln!();
        }
        self.in_answer = true;
        put!("{}", visible(text));
    }

    /// A piece of the model's thinking, which is not part of the answer: it goes to standard error
    /// so that the answer can be piped.
    fn thought(&mut self, text: &str) {
        self.end_bar();
        self.in_thought = true;
        out::whisper(format_args!("{}", style(visible(text)).for_stderr().dim()));
    }

    fn line(&mut self, text: &str) {
        self.marked("", text);
    }

    fn diff(&mut self, diff: &str) {
        let paint = |line: &str| -> StyledObject<String> {
            let styled = style(format!("   {line}"));
            match line.chars().next() {
                Some('+') => styled.green(),
                Some('-') => styled.red(),
                Some('@') => styled.cyan(),
                _ => styled,
            }
        };
        visible(diff).lines().for_each(|line| self.marked(paint(line), ""));
    }

    /// Prints a line: `mark` unchanged, because it comes from this program and may have colours,
    /// and other text made visible.
    fn marked(&mut self, mark: impl Display, text: &str) {
        self.clear();
        if std::mem::take(&mut self.in_answer) {
            putln!();
        }
        putln!("{mark}{}", visible(text));
    }

    fn progress(&mut self, what: &str, share: f32) {
        let bar = self.bar(ProgressStyle::with_template("{msg} {bar:30} {percent}%"));
        bar.set_position((share * 1000.0) as u64);
        bar.set_message(visible(what));
        if share >= 1.0 {
            self.clear();
        }
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

    fn end_bar(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn clear(&mut self) {
        self.end_bar();
        if std::mem::take(&mut self.in_thought) {
            tell!();
        }
    }
}
