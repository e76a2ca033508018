//! The transcript as lines that fit the screen, kept rendered so that drawing time does not depend on its length.

use std::collections::VecDeque;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::plan::{self, Plan};
use super::theme::Theme;
use super::wrap::{cut, wrapped, wrapped_text};
use super::{diff, markdown};
use crate::base::StepId;
use crate::protocol::StepReport;

/// Maximum number of entries, and maximum size of each in bytes: enough for hours of work. The
/// oldest entries, and the ends of long texts, are dropped.
const ENTRIES_MAX: usize = 2_000;
const TEXT_BYTES_MAX: usize = 256 << 10;
/// Number of lines of thinking shown when folded.
const THINKING_FOLDED: usize = 1;

/// A message or an action.
#[derive(Debug)]
pub enum Entry {
    Request(String),
    /// An answer in Markdown; more may follow.
    Answer(String),
    Thinking(String),
    Plan(Plan),
    /// A step outside any plan begins.
    Step(String),
    /// A call outside any plan.
    Call(Box<StepReport>),
    /// A proposal that was decided, and the decision.
    Decided {
        preview: String,
        decision: &'static str,
    },
    Note(String),
    /// Text that needs little attention, such as costs.
    Detail(String),
    Failure(String),
    /// A table or other text whose line breaks are kept.
    Text(String),
    /// The user's own command, its output, and its result.
    Shell {
        command: String,
        output: String,
        ended: Option<String>,
    },
}

#[derive(Debug)]
struct Rendered {
    entry: Entry,
    lines: Vec<Line<'static>>,
}

/// The entries, and the part of them in view.
#[derive(Debug, Default)]
pub struct Transcript {
    entries: VecDeque<Rendered>,
    theme: Theme,
    width: usize,
    unfolded: bool,
    /// Number of lines of all entries.
    total: usize,
    /// Number of lines below the view; if 0, the view follows new lines.
    below: usize,
}

impl Transcript {
    pub fn new(theme: Theme, width: usize) -> Transcript {
        Transcript { theme, width, ..Transcript::default() }
    }

    pub fn push(&mut self, entry: Entry) {
        if self.entries.len() == ENTRIES_MAX
            && let Some(oldest) = self.entries.pop_front()
        {
            self.total -= oldest.lines.len();
        }
        self.entries.push_back(Rendered { entry, lines: Vec::new() });
        self.render(self.entries.len() - 1);
    }

    /// Adds a piece to the answer being written, or begins one.
    pub fn answer(&mut self, piece: &str) {
        match self.entries.back_mut().map(|one| &mut one.entry) {
            Some(Entry::Answer(text)) => append(text, piece),
            _ => return self.push(Entry::Answer(piece.to_owned())),
        }
        self.render(self.entries.len() - 1);
    }

    pub fn thinking(&mut self, piece: &str) {
        match self.entries.back_mut().map(|one| &mut one.entry) {
            Some(Entry::Thinking(text)) => append(text, piece),
            _ => return self.push(Entry::Thinking(piece.to_owned())),
        }
        self.render(self.entries.len() - 1);
    }

    /// Changes the newest plan that contains the step; false if there is none in this turn.
    pub fn plan(&mut self, step: StepId, change: impl FnOnce(&mut Plan)) -> bool {
        for at in (0..self.entries.len()).rev() {
            match &mut self.entries[at].entry {
                Entry::Plan(plan) if plan.has(step) => {
                    change(plan);
                    self.render(at);
                    return true;
                }
                Entry::Request(_) => return false,
                _ => {}
            }
        }
        false
    }

    /// Adds output of the user's running command, or its result.
    pub fn shell(&mut self, more: &str, end: Option<String>) {
        for at in (0..self.entries.len()).rev() {
            if let Entry::Shell { output, ended, .. } = &mut self.entries[at].entry
                && ended.is_none()
            {
                append(output, more);
                *ended = end;
                return self.render(at);
            }
        }
    }

    /// Whether the entries since the last request include an answer.
    pub fn is_answered(&self) -> bool {
        let mut turn = self.entries.iter().rev().take_while(|one| !matches!(one.entry, Entry::Request(_)));
        turn.any(|one| matches!(one.entry, Entry::Answer(_)))
    }

    /// Fits the lines to a new width.
    pub fn resize(&mut self, width: usize) {
        if width != self.width {
            self.width = width;
            self.render_all();
        }
    }

    /// Shows thinking and diffs, or folds them.
    pub fn fold(&mut self) {
        self.unfolded = !self.unfolded;
        self.render_all();
    }

    /// Moves the view by `lines` towards the beginning.
    pub fn scroll(&mut self, lines: isize, height: usize) {
        let most = self.total.saturating_sub(height);
        self.below = self.below.saturating_add_signed(lines).min(most);
    }

    pub fn follow(&mut self) {
        self.below = 0;
    }

    pub fn below(&self) -> usize {
        self.below
    }

    /// The visible lines in a view of this height.
    pub fn visible(&self, height: usize) -> Vec<&Line<'static>> {
        let below = self.below.min(self.total.saturating_sub(height));
        let newest_first = self.entries.iter().rev().flat_map(|one| one.lines.iter().rev());
        let mut lines: Vec<&Line<'static>> = newest_first.skip(below).take(height).collect();
        lines.reverse();
        lines
    }

    /// All lines, for the terminal's scrollback.
    pub fn lines(&self) -> impl Iterator<Item = &Line<'static>> {
        self.entries.iter().flat_map(|one| one.lines.iter())
    }

    fn render_all(&mut self) {
        (0..self.entries.len()).for_each(|at| self.render(at));
        self.below = self.below.min(self.total);
    }

    /// Renders an entry again. A view that is not following new lines keeps its position.
    fn render(&mut self, at: usize) {
        let lines = rendered(&self.entries[at].entry, self.width, self.theme, self.unfolded);
        let (old, new) = (self.entries[at].lines.len(), lines.len());
        self.entries[at].lines = lines;
        self.total = self.total + new - old;
        if self.below > 0 {
            self.below = (self.below + new).saturating_sub(old);
        }
    }
}

/// Appends to a text up to its limit.
fn append(text: &mut String, more: &str) {
    let room = TEXT_BYTES_MAX.saturating_sub(text.len());
    let end = more.floor_char_boundary(room);
    text.push_str(&more[..end]);
}

fn rendered(entry: &Entry, width: usize, theme: Theme, unfolded: bool) -> Vec<Line<'static>> {
    let block = |lines: Vec<Line<'static>>, hang: usize| -> Vec<Line<'static>> {
        lines.iter().flat_map(|line| wrapped(line, width, hang)).collect()
    };
    let marked = |mark: &str, style: Style, text: &str| {
        let mut spans = vec![Span::styled(mark.to_owned(), style)];
        spans.push(Span::styled(text.to_owned(), style));
        block(vec![Line::from(spans)], 2)
    };
    let lines = match entry {
        Entry::Request(text) => request(text, width, theme),
        Entry::Answer(text) => markdown::lines(text, width, theme),
        Entry::Thinking(text) => thinking(text, width, theme, unfolded),
        Entry::Plan(plan) => block(plan.lines(theme, unfolded), 4),
        Entry::Step(text) => marked("▸ ", theme.accent(), text),
        Entry::Call(report) => block(plan::call(report, theme, unfolded), 4),
        Entry::Decided { preview, decision } => decided(preview, decision, width, theme, unfolded),
        Entry::Note(text) => text.lines().flat_map(|line| marked("note: ", theme.dim(), line)).collect(),
        Entry::Detail(text) => wrapped_text(text, width, theme.dim()),
        Entry::Failure(text) => wrapped_text(&format!("failed: {text}"), width, theme.bad()),
        Entry::Text(text) => wrapped_text(text, width, theme.plain()),
        Entry::Shell { command, output, ended } => {
            let mut lines = vec![Line::styled(format!("! {command}"), theme.accent())];
            lines.extend(output.lines().map(|line| Line::raw(line.to_owned())));
            lines.extend(ended.iter().map(|end| Line::styled(end.clone(), theme.dim())));
            block(lines, 0)
        }
    };
    if !begins_a_block(entry) {
        return lines;
    }
    std::iter::once(Line::default()).chain(lines).collect()
}

/// Whether an empty line precedes the entry.
fn begins_a_block(entry: &Entry) -> bool {
    matches!(entry, Entry::Request(_) | Entry::Answer(_) | Entry::Plan(_) | Entry::Shell { .. })
}

fn request(text: &str, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let line = |(place, line): (usize, &str)| {
        let mark = if place == 0 { "> " } else { "  " };
        let spans = vec![Span::styled(mark, theme.accent()), Span::styled(line.to_owned(), theme.strong())];
        wrapped(&Line::from(spans), width, 2)
    };
    text.lines().enumerate().flat_map(line).collect()
}

fn thinking(text: &str, width: usize, theme: Theme, unfolded: bool) -> Vec<Line<'static>> {
    let lines = wrapped_text(text.trim(), width, theme.dim());
    if unfolded || lines.len() <= THINKING_FOLDED {
        return lines;
    }
    vec![Line::styled(cut(&format!("thinking: {} lines, Ctrl-O shows them", lines.len()), width), theme.dim())]
}

fn decided(preview: &str, decision: &str, width: usize, theme: Theme, unfolded: bool) -> Vec<Line<'static>> {
    let counts = diff::counts(preview);
    let what = if counts.hunks > 0 {
        format!("+{} -{}", counts.added, counts.removed)
    } else {
        preview.lines().next().unwrap_or_default().to_owned()
    };
    let mut lines = wrapped_text(&format!("you: {decision} ({what})"), width, theme.dim());
    if unfolded {
        lines.extend(diff::lines(preview, theme).iter().flat_map(|line| wrapped(line, width, 2)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visible(transcript: &Transcript, height: usize) -> Vec<String> {
        transcript.visible(height).iter().map(ToString::to_string).collect()
    }

    fn notes(count: usize) -> Transcript {
        let mut transcript = Transcript::new(Theme::Plain, 40);
        (1..=count).for_each(|n| transcript.push(Entry::Note(n.to_string())));
        transcript
    }

    #[test]
    fn the_view_follows_unless_it_was_scrolled() {
        let mut transcript = notes(5);
        assert_eq!(visible(&transcript, 2), ["note: 4", "note: 5"]);
        transcript.scroll(2, 2);
        transcript.push(Entry::Note("6".into()));
        assert_eq!(visible(&transcript, 2), ["note: 2", "note: 3"]);
        transcript.scroll(100, 2);
        assert_eq!(visible(&transcript, 2), ["note: 1", "note: 2"]);
        transcript.follow();
        assert_eq!(visible(&transcript, 1), ["note: 6"]);
    }

    #[test]
    fn old_entries_go_and_the_view_stays_within_what_is_left() {
        let mut transcript = notes(ENTRIES_MAX + 10);
        assert_eq!(transcript.lines().count(), ENTRIES_MAX);
        transcript.scroll(isize::MAX, 2);
        assert_eq!(visible(&transcript, 1), ["note: 12"]);
    }

    #[test]
    fn thinking_is_folded_until_it_is_asked_for() {
        let mut transcript = Transcript::new(Theme::Plain, 60);
        transcript.thinking("one\n");
        transcript.thinking("two");
        assert_eq!(visible(&transcript, 9), ["thinking: 2 lines, Ctrl-O shows them"]);
        transcript.fold();
        assert_eq!(visible(&transcript, 9), ["one", "two"]);
    }
}
