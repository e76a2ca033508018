//! The state of the screen: events change it and return the effects to be carried out.

use std::collections::VecDeque;

use ratatui::layout::Rect;

use super::approve::Question;
use super::event::{Edited, Effect, Event};
use super::footer::Facts;
use super::history::History;
use super::input::Input;
use super::popup::{Choice, Kind, Popup};
use super::theme::Theme;
use super::transcript::{Entry, Transcript};
use super::{Options, view};
use crate::protocol::Decision;
use crate::tools::mcp::offers::Offers;
use crate::ui::cli::chat::line::Work;
use crate::ui::cli::chat::work::Attached;
use crate::ui::open::Told;
use crate::ui::words;

/// Ticks per second: activity indicators move with them, and waiting times are counted in them.
pub const TICKS_A_SECOND: u64 = 4;

/// The header's facts about the conversation.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Name of the project's folder.
    pub project: String,
    /// How requests are carried out: agent or chat.
    pub mode: &'static str,
    /// When the user is asked before a tool runs, in words.
    pub asks: &'static str,
}

/// A conversation as shown on the screen.
#[derive(Default)]
pub struct Screen {
    pub about: About,
    pub theme: Theme,
    pub area: Rect,
    pub transcript: Transcript,
    pub input: Input,
    pub history: History,
    pub popup: Option<Popup>,
    pub question: Option<Question>,
    pub facts: Facts,
    /// Work that is waiting for the session or for the running work.
    pub queue: VecDeque<Waiting>,
    pub running: Option<Running>,
    /// Whether the user's own command is running.
    pub shell_runs: bool,
    /// The work in progress before the session accepts requests; `None` once it does.
    pub opening: Option<String>,
    pub ticks: u64,
    /// The tick at which Ctrl-C was pressed with nothing to cancel; a second press soon after ends
    /// the program.
    pub armed_at: Option<u64>,
    pub mouse: bool,
    /// Whether there are servers whose resources and prompts have not been requested yet.
    pub asks_servers: bool,
    pub offers: Offers,
}

/// Work requested by the user, in their words.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    pub shown: String,
    pub work: Work,
    pub attached: Attached,
}

/// The work in progress.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Running {
    pub cancelled: bool,
    /// The tick at which it began.
    pub since: u64,
    /// The current work.
    pub doing: String,
}

impl Screen {
    /// A screen whose session is not open yet.
    pub fn new(theme: Theme, area: Rect, options: Options) -> Screen {
        let resume = Waiting { shown: "--continue".to_owned(), work: Work::Resume(1), attached: Attached::default() };
        Screen {
            theme,
            area,
            transcript: Transcript::new(theme, usize::from(area.width)),
            queue: options.continues.then_some(resume).into_iter().collect(),
            opening: Some("looking for models".to_owned()),
            ..Screen::default()
        }
    }

    /// Applies an event; returns the effects to carry out.
    pub fn apply(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Key(key) => return self.typed(key),
            Event::Paste(text) => self.pasted(&text),
            Event::Wheel(lines) => self.scroll(lines),
            Event::Resize { width, height } => self.resize(width, height),
            Event::Tick => self.ticks += 1,
            Event::Interrupt => return self.interrupt(),
            Event::Opening(told) => self.told(told),
            Event::Opened { asked } => {
                self.opening = None;
                self.history.begin_with(asked);
                return self.start_next();
            }
            Event::Turn(event) => self.happened(event),
            Event::Approve(proposal) => {
                let cancelled = self.running.as_ref().is_some_and(|running| running.cancelled);
                self.question = (!cancelled).then(|| Question::new(proposal, self.ticks));
            }
            Event::Failed(error) => self.transcript.push(Entry::Failure(error)),
            Event::Done => {
                (self.running, self.question) = (None, None);
                return self.start_next();
            }
            Event::Memory(memory) => self.facts.memory = Some(memory),
            Event::Shown(Ok(text)) => self.transcript.push(Entry::Text(text)),
            Event::Shown(Err(why)) => self.transcript.push(Entry::Failure(why)),
            Event::Files(paths) => self.found_files(paths),
            Event::Offers(offers) => {
                self.offers = offers;
                self.add_offers();
            }
            Event::Checkpoints(found) => self.found_checkpoints(found),
            Event::Output(text) => self.transcript.shell(&text, None),
            Event::ShellEnded(how) => {
                self.shell_runs = false;
                self.transcript.shell("", Some(how));
            }
            Event::Edited { what, text } => return self.edited(what, text),
        }
        Vec::new()
    }

    fn resize(&mut self, width: u16, height: u16) {
        self.area = Rect::new(0, 0, width, height);
        self.transcript.resize(usize::from(width));
    }

    fn told(&mut self, told: Told) {
        match told {
            Told::Note(note) => self.note(&note),
            Told::Indexing(progress) => self.opening = Some(words::progress(progress)),
        }
    }

    pub fn note(&mut self, text: &str) {
        self.transcript.push(Entry::Note(text.to_owned()));
    }

    /// Moves the view of the transcript by `lines` towards the beginning.
    pub fn scroll(&mut self, lines: isize) {
        let height = view::areas(self).transcript.height;
        self.transcript.scroll(lines, usize::from(height));
    }

    fn found_files(&mut self, paths: Vec<String>) {
        if let Some(popup) = self.popup.as_mut().filter(|popup| popup.kind == Kind::Files) {
            let choice = |path: String| Choice { label: path.clone(), detail: String::new(), value: path };
            popup.fill(paths.into_iter().map(choice).collect());
        }
        self.add_offers();
    }

    /// Adds the servers' offers to the open list: resources to the files, prompts to the commands.
    pub fn add_offers(&mut self) {
        let Some(popup) = self.popup.as_mut() else { return };
        match popup.kind {
            Kind::Files => popup.add(self.offers.resources.iter().map(|one| {
                let written = one.written();
                Choice { label: written[1..].to_owned(), detail: one.about.clone(), value: written }
            })),
            Kind::Commands => popup.add(self.offers.prompts.iter().map(|one| {
                let space = if one.arguments.is_empty() { "" } else { " " };
                Choice { label: one.form(), detail: one.about.clone(), value: one.written() + space }
            })),
            Kind::History | Kind::Checkpoints => {}
        }
    }

    fn found_checkpoints(&mut self, found: Result<Vec<Choice>, String>) {
        let Some(popup) = self.popup.as_mut().filter(|popup| popup.kind == Kind::Checkpoints) else { return };
        match found {
            Ok(choices) => popup.fill(choices),
            Err(why) => {
                self.popup = None;
                self.transcript.push(Entry::Failure(why));
            }
        }
    }

    fn edited(&mut self, what: Edited, text: Result<String, String>) -> Vec<Effect> {
        match (what, text) {
            (_, Err(why)) => self.note(&why),
            (Edited::Input, Ok(text)) => {
                if let Err(why) = self.input.replace(&text) {
                    self.note(&why);
                }
            }
            (Edited::Arguments, Ok(text)) => {
                if let Some(decision) = self.question.as_mut().and_then(|question| question.edited(&text)) {
                    return self.decide(decision);
                }
            }
        }
        Vec::new()
    }

    /// Answers the open question.
    pub fn decide(&mut self, decision: Decision) -> Vec<Effect> {
        let Some(question) = self.question.take() else { return Vec::new() };
        let said = match &decision {
            Decision::Approve => "yes",
            Decision::Always => "always",
            Decision::Reject => "no",
            Decision::Cancel | Decision::NotAsked(_) => "no answer",
            Decision::Modify(_) if !question.proposal.wanted().is_empty() => "answered",
            Decision::Modify(_) => "yes, with other arguments",
        };
        self.transcript.push(Entry::Decided { preview: question.proposal.preview, decision: said });
        vec![Effect::Decide(decision)]
    }
}
