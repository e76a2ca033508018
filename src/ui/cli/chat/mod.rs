//! `monobloc chat`: a conversation that handles input, the running request and Ctrl-C concurrently.

pub(super) mod consent;
pub(in crate::ui) mod input;
pub(in crate::ui) mod line;
mod table;
pub(in crate::ui) mod work;

use std::collections::VecDeque;
use std::io::{self, BufReader, IsTerminal};
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use self::consent::Question;
use self::line::{Line, Show, Work};
use self::work::Running;
use super::ask::modes;
use super::output::Printer;
use crate::app::App;
use crate::protocol::{Event, Mode, Proposal, REQUEST_BYTES_MAX, Record};
use crate::session::{Message, Session};
use crate::ui::screen;

/// Maximum number of requests waiting behind the running one. At this limit, no line is read until
/// a request is done.
pub(in crate::ui) const QUEUE_MAX: usize = 16;

/// Start a conversation: models stay in memory between requests, /help lists the commands; uses the
/// full terminal, or reads line by line
#[derive(Args, Default)]
pub struct Chat {
    /// Read and write line by line, even on a terminal
    #[arg(long)]
    plain: bool,
    /// Print one JSON object per line instead of text
    #[arg(long)]
    json: bool,
    /// Approve every call that needs consent
    #[arg(long)]
    yes: bool,
    /// agent: plan, act, answer; chat: look things up and answer, change nothing
    #[arg(long, default_value = "agent", value_parser = modes())]
    mode: Mode,
    /// Continue this project's last conversation
    #[arg(long = "continue")]
    continues: bool,
}

impl Chat {
    pub async fn run(self, app: &App) -> Result<()> {
        if !self.plain && !self.json && screen::fits() {
            let options = screen::Options { mode: self.mode, approves: self.yes, continues: self.continues };
            return screen::run(app, options).await;
        }
        // Until the conversation exists, Ctrl-C cancels the program, as in other commands.
        let opening = tokio::spawn(super::watch_for_interrupt(app.clone()));
        let session = Arc::new(super::ask::session(app, "monobloc chat", self.json)?);
        let interrupts = signal(SignalKind::interrupt())?;
        opening.abort();
        let conversation = Conversation {
            session,
            app: app.clone(),
            printer: Printer::new(self.json),
            terminal: io::stdin().is_terminal(),
            queue: self.continues.then_some(Work::Resume(1)).into_iter().collect(),
            running: None,
            question: None,
            listening: true,
            options: self,
        };
        let lines = input::lines(BufReader::new(io::stdin()), REQUEST_BYTES_MAX);
        conversation.run(lines, interrupts).await
    }
}

struct Conversation {
    session: Arc<Session>,
    app: App,
    printer: Printer,
    options: Chat,
    terminal: bool,
    queue: VecDeque<Work>,
    running: Option<Running>,
    question: Option<Question>,
    /// Whether standard input is still open.
    listening: bool,
}

impl Conversation {
    async fn run(mut self, mut lines: mpsc::Receiver<input::Read1>, mut interrupts: Signal) -> Result<()> {
        if self.terminal && !self.options.json {
            putln!("Each line is a request; /help lists commands, /exit quits.");
        }
        self.prompt()?;
        loop {
            if self.running.is_none() {
                match self.queue.pop_front() {
                    Some(Work::Exit) => return Ok(()),
                    Some(work) => {
                        let (mode, alone) = (self.options.mode, work::Attached::default());
                        self.running = Some(work::start(&self.app, &self.session, work, mode, alone));
                    }
                    None if !self.listening => return Ok(()),
                    None => {}
                }
            }
            let room = self.listening && self.queue.len() < QUEUE_MAX;
            tokio::select! {
                line = lines.recv(), if room => match line {
                    Some(line) => self.hear(line)?,
                    // At the end of the input an open question is withdrawn.
                    None => (self.listening, self.question) = (false, None),
                },
                message = next(&mut self.running) => self.take(message)?,
                Some(()) = interrupts.recv() => self.interrupted()?,
            }
        }
    }

    /// Handles a line of input.
    fn hear(&mut self, line: input::Read1) -> Result<()> {
        let line = match line {
            Ok(line) => line,
            Err(why) => return self.fail(why),
        };
        if let Some(question) = self.question.take() {
            self.question = question.answer(&line);
            return self.prompt();
        }
        match line::read(&line) {
            Line::Nothing => {}
            Line::Wrong(why) => self.fail(why)?,
            Line::Show(what) => self.show(what)?,
            Line::Work(work) => {
                if self.running.is_some() {
                    let place = self.queue.len() + 1;
                    let behind = "queued behind the running request";
                    self.event(Event::Notice { text: format!("{behind} (#{place}): {}", line.trim()) })?;
                }
                self.queue.push_back(work);
                return Ok(());
            }
        }
        self.prompt()
    }

    /// Handles a message from the running work; `None` means that the work is done.
    fn take(&mut self, message: Option<Message>) -> Result<()> {
        match message {
            Some(Message::Record(record)) => self.printer.print(&record),
            Some(Message::Approve { proposal, reply }) if self.asks(&proposal) => {
                self.printer.preview(&proposal);
                self.question = Some(Question::new(proposal, reply));
                self.prompt()
            }
            // Nobody is asked: `--yes` approves; without a terminal the printer rejects and
            // explains why.
            Some(Message::Approve { proposal, reply }) => {
                let _ = reply.send(self.printer.consent(proposal, self.options.yes)?);
                Ok(())
            }
            Some(Message::Failed(error)) => {
                let cancelled = self.running.as_ref().is_some_and(|running| running.cancel.is_cancelled());
                self.fail(if cancelled { "cancelled".to_owned() } else { error.to_string() })
            }
            None => {
                (self.running, self.question) = (None, None);
                if self.queue.is_empty() { self.prompt() } else { Ok(()) }
            }
        }
    }

    /// Whether the user can be asked and has not already answered with `--yes`, which does not give
    /// any values.
    fn asks(&self, proposal: &Proposal) -> bool {
        self.terminal && !self.options.json && !(self.options.yes && proposal.wanted().is_empty())
    }

    /// The first Ctrl-C cancels the running work and clears the queue; a second one, or one while
    /// nothing is running, ends the program.
    fn interrupted(&mut self) -> Result<()> {
        match &self.running {
            Some(running) if !running.cancel.is_cancelled() => {
                running.cancel.cancel();
                (self.question, self.queue) = (None, VecDeque::new());
                Ok(())
            }
            _ => {
                self.app.cancel.cancel();
                bail!("cancelled")
            }
        }
    }

    fn show(&mut self, what: Show) -> Result<()> {
        let (text, json) = match work::shown(&self.app, &self.session, what) {
            Ok(shown) => shown,
            Err(error) => return self.fail(super::told(&error)),
        };
        if self.options.json {
            putln!("{json}");
        } else {
            self.printer.show(&text);
        }
        Ok(())
    }

    fn fail(&mut self, error: String) -> Result<()> {
        self.event(Event::TurnFailed { error })
    }

    fn event(&mut self, event: Event) -> Result<()> {
        self.printer.print(&Record::now(&self.session.conversation(), event))
    }

    /// Prints the text before the cursor, but only on a terminal.
    fn prompt(&mut self) -> Result<()> {
        if !self.terminal || self.options.json {
            return Ok(());
        }
        match &self.question {
            Some(question) => put!("{}", question.prompt()),
            None if self.running.is_none() => put!("> "),
            None => {}
        }
        Ok(())
    }
}

/// The next message from the running work; waits forever if nothing is running.
async fn next(running: &mut Option<Running>) -> Option<Message> {
    match running {
        Some(running) => running.messages.recv().await,
        None => std::future::pending().await,
    }
}
