//! The question for consent: the proposed action, with the hunks of a diff, and the keys for answering.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};
use serde_json::{Map, Value};

use super::diff;
use super::theme::Theme;
use super::wrap::{cut, wrapped};
use crate::protocol::{Decision, Proposal};

/// Number of ticks during which letters are ignored: someone who is typing when the question
/// appears has not read it.
const UNREAD_TICKS: u64 = 2;
/// Maximum width, in columns, of a displayed reason and of the text on the scope of `always`: a
/// model influences both.
const REASON_COLUMNS: usize = 200;
const ALWAYS_COLUMNS: usize = 60;

#[derive(Debug)]
pub struct Question {
    pub proposal: Proposal,
    /// Lines above the view.
    pub above: usize,
    /// The tick when it appeared.
    asked_at: u64,
    /// The reason the edited arguments were rejected.
    pub wrong: Option<String>,
    /// The values entered so far, if values are requested; the last one is being typed.
    values: Vec<String>,
}

/// The meaning of a key for the question.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Decided(Decision),
    Edit,
    Scroll(isize),
    None,
}

impl Question {
    pub fn new(proposal: Proposal, tick: u64) -> Question {
        Question { proposal, above: 0, asked_at: tick, wrong: None, values: vec![String::new()] }
    }

    /// Whether less than [`UNREAD_TICKS`] have passed since the question appeared or the last
    /// letter was typed.
    fn is_unread(&self, now: u64) -> bool {
        now < self.asked_at + UNREAD_TICKS
    }

    /// A letter typed at tick `now`. Someone still typing has not read the question, so its time
    /// restarts.
    pub fn typed(&mut self, now: u64) {
        if self.is_unread(now) {
            self.asked_at = now;
        }
    }

    /// The answer given by the key at tick `now`.
    pub fn answer(&self, key: &KeyEvent, now: u64) -> Answer {
        if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            return Answer::None;
        }
        let unread = self.is_unread(now);
        match key.code {
            KeyCode::Up => Answer::Scroll(-1),
            KeyCode::Down => Answer::Scroll(1),
            KeyCode::PageUp => Answer::Scroll(-10),
            KeyCode::PageDown => Answer::Scroll(10),
            KeyCode::Esc => Answer::Decided(Decision::Reject),
            KeyCode::Char(_) if unread => Answer::None,
            KeyCode::Char('y' | 'Y') => Answer::Decided(Decision::Approve),
            KeyCode::Char('n' | 'N') => Answer::Decided(Decision::Reject),
            KeyCode::Char('a' | 'A') if self.proposal.always.is_some() => Answer::Decided(Decision::Always),
            KeyCode::Char('e' | 'E') => Answer::Edit,
            _ => Answer::None,
        }
    }

    /// Handles a key while values are being entered; the last value decides.
    pub fn write(&mut self, key: &KeyEvent, now: u64) -> Option<Decision> {
        let unread = self.is_unread(now);
        let value = self.values.last_mut()?;
        match key.code {
            KeyCode::Esc => return Some(Decision::Reject),
            _ if unread || key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {}
            KeyCode::Char(letter) => value.push(letter),
            KeyCode::Backspace => drop(value.pop()),
            KeyCode::Enter if value.trim().is_empty() => {}
            KeyCode::Enter if self.values.len() < self.proposal.wanted().len() => self.values.push(String::new()),
            KeyCode::Enter => return Some(self.proposal.filled(self.values.clone())),
            _ => {}
        }
        None
    }

    /// Adds the first line of pasted text to the value being entered.
    pub fn paste(&mut self, text: &str) {
        if let Some(value) = self.values.last_mut() {
            value.push_str(text.lines().next().unwrap_or_default());
        }
    }

    /// The arguments as JSON, for the editor.
    pub fn arguments(&self) -> String {
        serde_json::to_string_pretty(&self.proposal.arguments).unwrap_or_default()
    }

    /// The decision with the edited arguments; if they are invalid, the question stays open and
    /// shows why.
    pub fn edited(&mut self, text: &str) -> Option<Decision> {
        match serde_json::from_str::<Map<String, Value>>(text) {
            Ok(arguments) if arguments == self.proposal.arguments => {
                self.wrong = Some("the arguments are unchanged".to_owned());
                None
            }
            Ok(arguments) => Some(Decision::Modify(arguments)),
            Err(error) => {
                self.wrong = Some(format!("that is not a JSON object: {error}"));
                None
            }
        }
    }

    /// Moves the view by `lines` towards the end, within `total` lines, `height` of which are
    /// visible.
    pub fn scroll(&mut self, lines: isize, total: usize, height: usize) {
        self.above = self.above.saturating_add_signed(lines).min(total.saturating_sub(height));
    }

    pub fn title(&self) -> String {
        let counts = diff::counts(&self.proposal.preview);
        let size = match counts.hunks {
            0 => String::new(),
            1 => format!(" +{} -{}", counts.added, counts.removed),
            hunks => format!(" +{} -{} in {hunks} hunks", counts.added, counts.removed),
        };
        format!(" {}{size} ", self.proposal.tool)
    }

    pub fn preview(&self, width: usize, theme: Theme) -> Vec<Line<'static>> {
        diff::lines(&self.proposal.preview, theme).iter().flat_map(|line| wrapped(line, width, 2)).collect()
    }

    pub fn prompt(&self, width: usize, theme: Theme) -> Vec<Line<'static>> {
        let reason = self.wrong.as_ref().unwrap_or(&self.proposal.reason);
        let mut lines = wrapped(&Line::styled(cut(reason, REASON_COLUMNS), theme.warning()), width, 0);
        if let Some(name) = self.proposal.wanted().get(self.values.len() - 1) {
            let value = self.values.last().map_or("", String::as_str);
            lines.extend(wrapped(&Line::from(format!("{name}: {value}▏")), width, 2));
            lines.push(Line::styled("Enter answers · Esc cancels", theme.dim()));
            return lines;
        }
        let key = |key: &'static str| Span::styled(key, theme.accent());
        let mut spans =
            vec![key("y"), Span::raw(" yes · "), key("n"), Span::raw(" no · "), key("e"), Span::raw(" edit")];
        if let Some(always) = &self.proposal.always {
            spans.extend([
                Span::raw(" · "),
                key("a"),
                Span::raw(format!(" always now: {}", cut(always, ALWAYS_COLUMNS))),
            ]);
        }
        lines.extend(wrapped(&Line::from(spans), width, 2));
        lines
    }
}
