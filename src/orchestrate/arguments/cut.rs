//! Finds the passage that a removal means, and what has to go with it. Refuses where nothing answers to it, or more than it says would go.

use std::ops::{Range, RangeInclusive};

use crate::index::language_of;

use super::edit::{Edit, FILE_BYTES_MAX};
use super::removal::{self, Extent, Removal};
use super::{blocks, definitions, places, remarks, strike};

/// Most lines from the first that goes to the last: people have to be able to look through what they approve.
const SPAN_LINES_MAX: usize = 2_000;
/// Places a model may choose from; among more, people cannot either.
const PLACES_MAX: usize = 12;

/// Files for people, besides Markdown.
const PROSE: [&str; 7] = [".txt", ".rst", ".adoc", ".org", ".log", ".csv", ".tsv"];

/// A line that changes: its place, and what is left of it; `None` if nothing is.
pub(super) type Change = (usize, Option<String>);

/// What changes together.
pub(super) type Place = Vec<Change>;

/// The edits of `file` that take out what `step` asks to be taken out, one a place that is meant, equally well each. An error says what was
/// not found and how else to say it; `None` when the step asks for something else.
pub fn settle_removal(step: &str, path: &str, file: &str) -> Option<Result<Vec<Edit>, String>> {
    let removal = removal::read(step)?;
    let desk = Desk::new(path, file);
    let edits = desk.places(&removal).and_then(|places| desk.edits(places, &removal));
    Some(edits.map_err(|reason| format!("{reason}; quote the text that is to go, or name the numbers of its lines")))
}

/// A file, line by line.
pub(super) struct Desk<'a> {
    pub path: &'a str,
    pub file: &'a str,
    /// Without their ends.
    pub lines: Vec<&'a str>,
    newline: &'static str,
    /// Where each line begins.
    starts: Vec<usize>,
    /// Text for people: words stand in it as they are said.
    pub is_prose: bool,
    /// How deep the heading in each line is, 0 where there is none; empty unless it is Markdown.
    pub levels: Vec<usize>,
}

pub(super) fn gone(lines: RangeInclusive<usize>) -> Place {
    lines.map(|line| (line, None)).collect()
}

impl<'a> Desk<'a> {
    pub fn new(path: &'a str, file: &'a str) -> Desk<'a> {
        let windows = file.contains("\r\n") && file.matches("\r\n").count() == file.matches('\n').count();
        let newline = if windows { "\r\n" } else { "\n" };
        let mut lines: Vec<&str> = file.split(newline).collect();
        if file.ends_with(newline) {
            lines.pop();
        }
        let starts =
            lines.iter().scan(0, |next, line| Some(std::mem::replace(next, *next + line.len() + newline.len())));
        let starts = starts.collect();
        let language = language_of(path);
        let is_prose = language == "markdown" || PROSE.iter().any(|ending| path.ends_with(ending));
        let levels = if language == "markdown" { blocks::levels(file) } else { Vec::new() };
        Desk { path, file, lines, newline, starts, is_prose, levels }
    }

    pub fn is_blank(&self, at: usize) -> bool {
        self.lines.get(at).is_some_and(|line| line.trim().is_empty())
    }

    /// The byte where the text of a line begins.
    pub fn begins(&self, at: usize) -> usize {
        self.starts[at] + self.lines[at].len() - self.lines[at].trim_start().len()
    }

    /// Line and column of a byte.
    pub fn place(&self, byte: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= byte).saturating_sub(1);
        (line, byte - self.starts.get(line).copied().unwrap_or(byte))
    }

    /// What stands in the lines of these bytes before and behind them.
    pub fn beside(&self, bytes: &Range<usize>) -> (&'a str, &'a str) {
        let ((first, from), (last, to)) = (self.place(bytes.start), self.place(bytes.end));
        let line = |at: usize| self.lines.get(at).copied().unwrap_or_default();
        (line(first).get(..from).unwrap_or_default(), line(last).get(to..).unwrap_or_default())
    }

    fn places(&self, removal: &Removal) -> Result<Vec<Place>, String> {
        if self.file.len() > FILE_BYTES_MAX {
            return Err(format!("{} is larger than {FILE_BYTES_MAX} bytes", self.path));
        }
        Ok(match &removal.extent {
            Extent::Unclear => {
                return Err(format!("which lines of {} `{}` means cannot be told for sure", self.path, removal.said));
            }
            Extent::Numbered(ranges) => vec![self.numbered(ranges)?],
            Extent::Last(count) => {
                vec![self.numbered(&[((self.lines.len() + 1).saturating_sub(*count), self.lines.len())])?]
            }
            Extent::Blank => (0..self.lines.len()).filter(|at| self.is_blank(*at)).map(|at| gone(at..=at)).collect(),
            Extent::Words => strike::texts(self, &removal.literals).into_iter().collect(),
            Extent::Todo if !self.is_prose => remarks::places(self, removal)?,
            Extent::Comment => remarks::places(self, removal)?,
            Extent::Line | Extent::Todo => self.described(removal).into_iter().map(|at| gone(at..=at)).collect(),
            Extent::Function | Extent::Type => definitions::named(self, removal)?,
            Extent::Section => blocks::places(self, removal)?,
            Extent::Mention => self.mentioned(removal)?,
            Extent::Unsaid => self.unsaid(removal)?,
        })
    }

    fn numbered(&self, ranges: &[(usize, usize)]) -> Result<Place, String> {
        let count = self.lines.len();
        match ranges.iter().any(|(from, to)| *from == 0 || *to > count) {
            true => Err(format!("{} has {count} line(s)", self.path)),
            false => Ok(ranges.iter().flat_map(|(from, to)| gone(from - 1..=to - 1)).collect()),
        }
    }

    /// The lines that answer to all of a description, in its very words where there are such.
    fn described(&self, removal: &Removal) -> Vec<usize> {
        let says_nothing = removal.about.is_empty() && !removal.quoted;
        let answers = |at: usize| {
            let line = self.lines[at];
            let quoted = !removal.quoted || removal.literals.iter().all(|text| line.contains(text.as_str()));
            let is_whole = removal.literals.iter().any(|text| line.trim() == text.trim());
            let score = places::answered(line, &removal.about)? + usize::from(is_whole);
            (quoted && !says_nothing && !self.is_blank(at)).then_some(score)
        };
        best((0..self.lines.len()).filter_map(|at| Some((answers(at)?, at))).collect(), removal.all)
    }

    /// Texts that stand for themselves wherever they occur: names of code in its middle do not, even in quotation marks.
    fn mentioned(&self, removal: &Removal) -> Result<Vec<Place>, String> {
        let is_name = |text: &str| text.chars().all(|c| c.is_alphanumeric() || c == '_');
        let is_part = |text: &&String| {
            (is_name(text) || !removal.quoted) && strike::occurs(self, text) && !strike::is_item(self, text)
        };
        match removal.literals.iter().find(is_part) {
            Some(text) => Err(format!("`{text}` is a part of something else in {}", self.path)),
            None => Ok(strike::texts(self, &removal.literals).into_iter().collect()),
        }
    }

    /// What has no noun: a line if the text stands for it, else the text where it stands for itself, else the line that answers to all of it.
    fn unsaid(&self, removal: &Removal) -> Result<Vec<Place>, String> {
        let [text] = removal.literals.as_slice() else {
            return self.mentioned(removal);
        };
        let says_code = |at: &usize| self.is_prose || !places::is_comment(self.lines[*at]);
        let named = strike::named_lines(self, text);
        if !named.is_empty() && named.iter().all(says_code) {
            return named.into_iter().map(|at| self.with_block(at)).collect();
        }
        if removal.quoted && removal.about.is_empty() || removal.bare && strike::occurs(self, text) {
            return self.mentioned(removal);
        }
        if self.is_prose && strike::occurs(self, text) {
            return Err(format!("`{text}` may be only these words or the lines with them in {}", self.path));
        }
        // `all imports` may stand in any line, and says of none that it goes.
        if removal.all {
            return Ok(Vec::new());
        }
        let lines: Vec<usize> = self.described(removal).into_iter().filter(says_code).collect();
        match lines.len() {
            0 | 1 => lines.into_iter().map(|at| self.with_block(at)).collect(),
            count => Err(format!("{count} lines of {} have to do with `{}`", self.path, removal.said)),
        }
    }

    /// A line, with the block that it opens.
    fn with_block(&self, at: usize) -> Result<Place, String> {
        match blocks::opened(self, at) {
            blocks::Opened::Nothing => Ok(gone(at..=at)),
            blocks::Opened::To(end) => Ok(gone(at..=end)),
            blocks::Opened::Unknown => Err(self.no_end(at)),
        }
    }

    /// Why what begins in a line is not taken out.
    pub fn no_end(&self, at: usize) -> String {
        format!("where what begins in line {} of {} ends cannot be told for sure", at + 1, self.path)
    }

    fn edits(&self, mut places: Vec<Place>, removal: &Removal) -> Result<Vec<Edit>, String> {
        let Removal { said, extent, .. } = removal;
        if removal.all && places.len() > 1 {
            places = vec![places.into_iter().flatten().collect()];
        }
        places.retain(|place| !place.is_empty());
        places.dedup();
        match places.len() {
            0 => return Err(format!("nothing in {} is `{said}`", self.path)),
            count if count > PLACES_MAX => {
                return Err(format!("{count} places in {} may be `{said}`; say that all are meant", self.path));
            }
            _ => {}
        }
        // Lines that are named by number or form are all that goes.
        let takes_along = !matches!(extent, Extent::Numbered(_) | Extent::Last(_) | Extent::Blank);
        let edits = places.into_iter().map(|place| self.edit(place, takes_along));
        let edits: Vec<Edit> = edits.collect::<Result<_, _>>()?;
        match edits.windows(2).find(|pair| pair[0].line == pair[1].line) {
            Some(pair) => Err(format!("`{said}` may be several places of line {} of {}", pair[0].line, self.path)),
            None => Ok(edits),
        }
    }

    /// The edit that makes these changes, with as many lines around them as make `old` unique in the file.
    fn edit(&self, mut changes: Place, takes_along: bool) -> Result<Edit, String> {
        changes.sort_by_key(|(at, _)| *at);
        changes.dedup_by_key(|(at, _)| *at);
        let (first, last) = changes.first().zip(changes.last()).map_or((0, 0), |(first, last)| (first.0, last.0));
        if last - first >= SPAN_LINES_MAX {
            return Err(format!("lines {} to {} of {} are more than go at once", first + 1, last + 1, self.path));
        }
        if takes_along {
            self.take_along(&mut changes, first, last);
        }
        let (from, to) = (changes[0].0, changes[changes.len() - 1].0);
        // A last line without a line end takes the one before it along.
        let is_open = |at: usize| at + 1 == self.lines.len() && !self.file.ends_with(self.newline);
        let upper = if is_open(to) { from.saturating_sub(1) } else { from };
        let window = places::unmistakable(self.file, &self.lines, self.newline, upper, to).ok_or_else(|| {
            format!("lines {} to {} of {} cannot be told from others", first + 1, last + 1, self.path)
        })?;
        let kept = |at: usize| match changes.iter().find(|(line, _)| *line == at) {
            Some((_, left)) => left.clone(),
            None => Some(self.lines[at].to_owned()),
        };
        let ending = if is_open(*window.end()) { "" } else { self.newline };
        let old = self.lines[window.clone()].join(self.newline) + ending;
        let left: Vec<String> = window.filter_map(kept).collect();
        let new = if left.is_empty() { String::new() } else { left.join(self.newline) + ending };
        let reason = format!("line(s) {} to {} hold what is to be removed", first + 1, last + 1);
        Ok(Edit { old, new, line: first + 1, reason })
    }

    /// What has no place any more when these lines are gone: a second blank line, the comma behind what is the last of a list then.
    fn take_along(&self, changes: &mut Place, first: usize, last: usize) {
        let vanishes = changes.iter().all(|(_, left)| left.is_none()) && last - first + 1 == changes.len();
        if !vanishes {
            return;
        }
        if (first == 0 || self.is_blank(first - 1)) && self.is_blank(last + 1) {
            changes.push((last + 1, None));
        }
        let Some(before) = first.checked_sub(1).map(|before| self.lines[before]) else { return };
        let is_code = |at: usize| !self.is_blank(at) && !places::is_comment(self.lines[at]);
        let ends_list = self.lines.get(last + 1).is_some_and(|line| line.trim_start().starts_with(['}', ']', ')']));
        if ends_list
            && (first..=last).any(is_code)
            && is_code(first - 1)
            && !self.lines[last].trim_end().ends_with(',')
            && let Some(left) = before.trim_end().strip_suffix(',')
        {
            changes.insert(0, (first - 1, Some(left.to_owned())));
        }
    }
}

/// Those that answer best; all of them where all are meant.
pub(super) fn best<T>(scored: Vec<(usize, T)>, all: bool) -> Vec<T> {
    let best = scored.iter().map(|(score, _)| *score).max().unwrap_or(0);
    scored.into_iter().filter(|(score, _)| all || *score == best).map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests;
