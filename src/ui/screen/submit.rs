//! Handles a submitted line: a request, a command, or a line for the user's shell. Work is queued.

use super::event::Effect;
use super::input::Submitted;
use super::keys;
use super::popup::{Kind, Popup};
use super::state::{Running, Screen, TICKS_A_SECOND, Waiting};
use super::transcript::Entry;
use crate::protocol::REQUEST_BYTES_MAX;
use crate::ui::cli::chat::QUEUE_MAX;
use crate::ui::cli::chat::line::{self, Line, Show, Work};
use crate::ui::cli::chat::work::Attached;

/// A second Ctrl-C within this time ends the program.
const ARMED_TICKS: u64 = 2 * TICKS_A_SECOND;

impl Screen {
    /// Sends the input.
    pub fn submit(&mut self) -> Vec<Effect> {
        let submitted = self.input.submitted();
        if submitted.text.len() > REQUEST_BYTES_MAX {
            self.note(&format!(
                "the request has {} bytes; the limit is {REQUEST_BYTES_MAX}: put long text into a file of the project and name the file",
                submitted.text.len()
            ));
            return Vec::new();
        }
        if self.queue.len() >= QUEUE_MAX {
            self.note(&format!("{QUEUE_MAX} requests are already waiting; send this one when one of them is done"));
            return Vec::new();
        }
        self.history.add(self.input.draft());
        self.input.clear();
        self.popup = None;
        self.transcript.follow();
        self.carry_out(submitted)
    }

    fn carry_out(&mut self, submitted: Submitted) -> Vec<Effect> {
        let Submitted { shown, text, attached } = submitted;
        // The typed text decides its kind; a paste that begins with `!` or `/` is part of a
        // request.
        let typed = shown.trim();
        if typed.starts_with('!') {
            return self.shell(text.trim().trim_start_matches('!').trim());
        }
        match typed {
            "/mouse" => return self.switch_mouse(),
            "/undo" | "/rewind" => {
                self.popup = Some(Popup::waiting(Kind::Checkpoints));
                return vec![Effect::ListCheckpoints];
            }
            _ => {}
        }
        let whole = text.trim();
        let read = match (typed.starts_with('/'), whole.is_empty()) {
            (true, _) => line::read(&text),
            (false, true) => Line::Nothing,
            (false, false) => Line::Work(Work::Request(whole.to_owned())),
        };
        match read {
            Line::Nothing => Vec::new(),
            Line::Wrong(why) => {
                self.transcript.push(Entry::Failure(why));
                Vec::new()
            }
            Line::Show(Show::Help) => {
                self.transcript.push(Entry::Text(format!("{}\n\n{}", line::help(), keys::help())));
                Vec::new()
            }
            Line::Show(_) if self.opening.is_some() => {
                self.note("the project is still being opened; ask again in a moment");
                Vec::new()
            }
            Line::Show(what) => vec![Effect::Show(what)],
            Line::Work(work) => self.enqueue(shown, work, attached),
        }
    }

    fn shell(&mut self, command: &str) -> Vec<Effect> {
        if command.is_empty() {
            self.note("write a command after `!`: !git status");
            return Vec::new();
        }
        if self.shell_runs {
            self.note("one command at a time; Esc ends the running one");
            return Vec::new();
        }
        self.shell_runs = true;
        self.transcript.push(Entry::Shell { command: command.to_owned(), output: String::new(), ended: None });
        vec![Effect::Shell(command.to_owned())]
    }

    fn switch_mouse(&mut self) -> Vec<Effect> {
        self.mouse = !self.mouse;
        self.note(if self.mouse {
            "the mouse wheel scrolls; the terminal selects text with Shift held, or after /mouse again"
        } else {
            "the terminal handles the mouse again"
        });
        vec![Effect::Mouse(self.mouse)]
    }

    /// Queues work behind other waiting work, or begins it if nothing is running.
    pub fn enqueue(&mut self, shown: String, work: Work, attached: Attached) -> Vec<Effect> {
        self.queue.push_back(Waiting { shown, work, attached });
        self.start_next()
    }

    /// Begins the work that has waited longest, if the session is open and nothing is running.
    pub fn start_next(&mut self) -> Vec<Effect> {
        if self.opening.is_some() || self.running.is_some() {
            return Vec::new();
        }
        let Some(Waiting { shown, work, attached }) = self.queue.pop_front() else { return Vec::new() };
        if work == Work::Exit {
            return vec![Effect::Quit { cancelled: false }];
        }
        self.transcript.push(Entry::Request(shown));
        self.running = Some(Running { since: self.ticks, ..Running::default() });
        vec![Effect::Start { work, attached }]
    }

    /// Cancels the running turn, everything waiting behind it, and the user's command. `None` if
    /// there is nothing to cancel.
    pub fn cancel(&mut self) -> Option<Vec<Effect>> {
        let mut effects = Vec::new();
        if let Some(running) = self.running.as_mut().filter(|running| !running.cancelled) {
            running.cancelled = true;
            self.question = None;
            let dropped = self.queue.len();
            self.queue.clear();
            if dropped > 0 {
                self.note(&format!("{dropped} waiting requests were dropped; the up arrow brings them back"));
            }
            effects.push(Effect::Cancel);
        } else if self.shell_runs {
            effects.push(Effect::KillShell);
        }
        (!effects.is_empty()).then_some(effects)
    }

    /// Ctrl-C: cancels running work. If there is none, it clears the input, and a second press soon
    /// after ends the program.
    pub fn interrupt(&mut self) -> Vec<Effect> {
        self.popup = None;
        if self.running.as_ref().is_some_and(|running| running.cancelled) {
            return vec![Effect::Quit { cancelled: true }];
        }
        if let Some(effects) = self.cancel() {
            return effects;
        }
        if self.is_armed() {
            return vec![Effect::Quit { cancelled: true }];
        }
        self.input.clear();
        self.armed_at = Some(self.ticks);
        Vec::new()
    }

    /// Whether the next Ctrl-C ends the program.
    pub fn is_armed(&self) -> bool {
        self.armed_at.is_some_and(|tick| self.ticks < tick + ARMED_TICKS)
    }
}
