//! Finds the passage that a removal means, and what has to go with it. Says nothing when nothing answers to it.

use super::edit::{Edit, FILE_BYTES_MAX, SPAN_LINES_MAX};
use super::places;
use super::removal::{self, Extent, Removal};

/// Lines above a definition that go with it: its comment and its attributes.
const ABOVE_MAX: usize = 40;

/// A line that changes: its place, and what is left of it; `None` if nothing is.
type Change = (usize, Option<String>);

/// The edits of `file_text` that take out what `step` asks to be taken out, one a place that is meant, equally well each.
/// `None` when it asks for something else.
pub fn settle_removal(step: &str, file_text: &str) -> Option<Vec<Edit>> {
    let removal = removal::read(step)?;
    if file_text.len() > FILE_BYTES_MAX {
        return Some(Vec::new());
    }
    let lines: Vec<&str> = file_text.split('\n').collect();
    let end = lines.len() - usize::from(file_text.ends_with('\n'));
    let desk = Desk { file: file_text, lines: &lines, end };
    let changes: Vec<Vec<Change>> = match removal.extent {
        Extent::Numbered(from, to) => {
            let (from, to) = if from == 0 { (end, end) } else { (from, to) };
            if from == 0 || to > end { Vec::new() } else { vec![gone(from - 1..=to - 1)] }
        }
        Extent::Words => desk.texts(&removal.literals).into_iter().collect(),
        Extent::Unsaid if !desk.stands_for_line(&removal) => desk.texts(&removal.literals).into_iter().collect(),
        _ => desk.described(&removal),
    };
    let changes = match removal.all && changes.len() > 1 {
        true => vec![changes.into_iter().flatten().collect()],
        false => changes,
    };
    Some(changes.into_iter().filter_map(|changes| desk.edit(changes)).collect())
}

fn gone(lines: std::ops::RangeInclusive<usize>) -> Vec<Change> {
    lines.map(|line| (line, None)).collect()
}

/// A file, line by line; `end` is behind its last line.
struct Desk<'a> {
    file: &'a str,
    lines: &'a [&'a str],
    end: usize,
}

impl Desk<'_> {
    /// Every occurrence of the texts; `None` unless each of them occurs.
    fn texts(&self, texts: &[String]) -> Option<Vec<Change>> {
        let mut left: Vec<String> = self.lines.iter().map(|&line| line.to_owned()).collect();
        for text in texts {
            let exact = left.iter().any(|line| !places::whole(line, text).is_empty());
            let mut found = false;
            for line in &mut left {
                // Letters of ASCII keep their place when they change their case.
                let (seen, wanted) = if exact {
                    (line.clone(), text.clone())
                } else {
                    (line.to_ascii_lowercase(), text.to_ascii_lowercase())
                };
                for at in places::whole(&seen, &wanted).into_iter().rev() {
                    *line = without(line, at, at + text.len());
                    found = true;
                }
            }
            if !found {
                return None;
            }
        }
        let changed = |(at, line): (usize, String)| {
            let says = line.contains(char::is_alphanumeric) || !own(self.lines[at]).contains(char::is_alphanumeric);
            (line != self.lines[at]).then_some((at, says.then_some(line)))
        };
        let changes: Vec<Change> = left.into_iter().enumerate().filter_map(changed).collect();
        (!changes.is_empty()).then_some(changes)
    }

    /// Whether what has no kind is the whole of a line, or what the line is named by: `- alice`, `"left-pad": "1.2.0",`.
    /// A text that does not occur as it was written can only describe a line.
    fn stands_for_line(&self, removal: &Removal) -> bool {
        let [text] = removal.literals.as_slice() else { return false };
        let low = text.to_lowercase();
        let occurs = |line: &&&str| !places::whole(&line.to_lowercase(), &low).is_empty();
        let mut holding = self.lines.iter().filter(occurs).peekable();
        holding.peek().is_none()
            || holding.all(|line| {
                let own = own(line).to_lowercase();
                let behind = own.strip_prefix(&low).map(|rest| rest.trim_start_matches(['"', '\'', '`']));
                behind.is_some_and(|rest| rest.is_empty() || rest.trim_start().starts_with([':', '=']))
            })
    }

    /// What answers to the description, one list of changes a place; those that answer best.
    fn described(&self, removal: &Removal) -> Vec<Vec<Change>> {
        let wanted = removal.about.len();
        let score = |at: usize| {
            let line = match removal.extent {
                Extent::Comment => comment(self.lines[at]).map(|from| &self.lines[at][from..])?,
                Extent::Block => self.lines[at..=at].iter().find(|_| self.block_end(at).is_some())?,
                _ => self.lines[at],
            };
            let quoted =
                removal.extent == Extent::Unsaid || removal.literals.iter().all(|text| line.contains(text.as_str()));
            let own = places::parts(line);
            let answers = |word: &&String| own.iter().any(|part| places::same(part, word));
            quoted.then(|| removal.about.iter().filter(answers).count())
        };
        let scores: Vec<(usize, usize)> = (0..self.end)
            .filter(|&at| !self.lines[at].trim().is_empty())
            .filter_map(|at| Some((score(at)?, at)))
            .collect();
        let best = scores.iter().map(|(score, _)| *score).max().unwrap_or(0);
        let tied: Vec<usize> = scores.into_iter().filter(|(score, _)| *score == best).map(|(_, at)| at).collect();
        // A line or a comment that alone answers to most of its description is meant, anything else only by all of it.
        let loose = matches!(removal.extent, Extent::Line | Extent::Comment) && tied.len() == 1 && !removal.all;
        let everything = wanted == 0 && removal.extent == Extent::Comment;
        if !everything && (best == 0 || best < wanted && !(loose && best * 2 > wanted)) {
            return Vec::new();
        }
        tied.into_iter().map(|at| self.with_its_own(at, removal)).collect()
    }

    /// The place at a line, with what belongs to it.
    fn with_its_own(&self, at: usize, removal: &Removal) -> Vec<Change> {
        match removal.extent {
            Extent::Line => gone(at..=at),
            Extent::Comment => match comment(self.lines[at]) {
                Some(from) if !places::is_comment(self.lines[at]) => {
                    vec![(at, Some(self.lines[at][..from].trim_end().to_owned()))]
                }
                _ if removal.all || removal.about.iter().any(|word| matches!(word.as_str(), "todo" | "fixme")) => {
                    gone(at..=at)
                }
                _ => {
                    let alike = |line: &&&str| mark(line) == mark(self.lines[at]);
                    let above = self.lines[..at].iter().rev().take(ABOVE_MAX).take_while(alike).count();
                    let below = self.lines[at + 1..self.end].iter().take(ABOVE_MAX).take_while(alike).count();
                    gone(at - above..=at + below)
                }
            },
            _ => {
                let end = self.block_end(at).unwrap_or(at);
                let belongs = |line: &&&str| {
                    let line = line.trim_start();
                    places::is_comment(line) || line.starts_with("#[") || line.starts_with('@')
                };
                let is_heading = self.lines[at].starts_with('#') || end == at;
                let above = self.lines[..at].iter().rev().take(if is_heading { 0 } else { ABOVE_MAX });
                gone(at - above.take_while(belongs).count()..=end)
            }
        }
    }

    /// The last line of what line `at` opens by a bracket, a colon or a heading.
    fn block_end(&self, at: usize) -> Option<usize> {
        let most = self.end.min(at + SPAN_LINES_MAX);
        let depth = |line: &str| {
            let count = |marks: [char; 3]| line.matches(marks).count() as i64;
            count(['(', '[', '{']) - count([')', ']', '}'])
        };
        let line = self.lines[at];
        if depth(line) > 0 {
            let mut open = 0;
            return (at..most).find(|&line| {
                open += depth(self.lines[line]);
                open <= 0
            });
        }
        let level = |line: &str| line.bytes().take_while(|byte| *byte == b'#').count();
        let is_heading = |line: &str| level(line) > 0 && line[level(line)..].starts_with(' ');
        let indent = |line: &str| line.len() - line.trim_start().len();
        let inside = |other: &str| match is_heading(line) {
            true => !(is_heading(other) && level(other) <= level(line)),
            false => other.trim().is_empty() || indent(other) > indent(line),
        };
        if !is_heading(line) && !line.trim_end().ends_with(':') {
            return (line.contains('{') && line.contains('}') || line.trim_end().ends_with(';')).then_some(at);
        }
        let body = self.lines[at + 1..most].iter().take_while(|line| inside(line)).count();
        (at..=at + body).rev().find(|&line| !self.lines[line].trim().is_empty())
    }

    /// The edit that makes these changes, with as many lines above as make `old` unique in the file.
    fn edit(&self, mut changes: Vec<Change>) -> Option<Edit> {
        changes.sort_by_key(|(at, _)| *at);
        changes.dedup_by_key(|(at, _)| *at);
        let (first, last) = (changes.first()?.0, changes.last()?.0);
        if last - first >= SPAN_LINES_MAX {
            return None;
        }
        let blank = |at: usize| at < self.end && self.lines[at].trim().is_empty();
        let vanishes = changes.iter().all(|(_, left)| left.is_none()) && last - first + 1 == changes.len();
        // Two blank lines do not meet where something stood between them.
        if vanishes && (first == 0 || blank(first - 1)) && blank(last + 1) {
            changes.push((last + 1, None));
        }
        // What was the last of a list leaves no comma behind.
        let comma_left = vanishes
            && first > 0
            && !self.lines[last].trim_end().ends_with(',')
            && self.lines[first - 1].trim_end().ends_with(',')
            && self.lines.get(last + 1).is_some_and(|line| line.trim_start().starts_with(['}', ']', ')']));
        if comma_left {
            let before = self.lines[first - 1].trim_end();
            changes.insert(0, (first - 1, Some(before[..before.len() - 1].to_owned())));
        }
        let (from, to) = (changes[0].0, changes[changes.len() - 1].0);
        let kept = |at: usize| match changes.iter().find(|(line, _)| *line == at) {
            Some((_, left)) => left.clone(),
            None => Some(self.lines[at].to_owned()),
        };
        // A last line without a line end takes the one before it along.
        let open_end = to + 1 == self.lines.len();
        let least = usize::from(open_end && from > 0);
        for above in least..=from.min(ABOVE_MAX) {
            let start = from - above;
            let text = |lines: Vec<String>| lines.join("\n") + if open_end || lines.is_empty() { "" } else { "\n" };
            let old = text(self.lines[start..=to].iter().map(|&line| line.to_owned()).collect());
            if !old.trim().is_empty() && self.file.match_indices(old.as_str()).take(2).count() == 1 {
                let new = text((start..=to).filter_map(kept).collect());
                let reason = format!("line(s) {} to {} hold what is to be removed", first + 1, last + 1);
                return Some(Edit { old, new, line: first + 1, reason });
            }
        }
        None
    }
}

/// A line without the mark of a list or a comment, quotation marks and what closes it.
fn own(line: &str) -> &str {
    let marks = |c: char| c.is_whitespace() || "-*+/#>\"'`;".contains(c);
    line.trim_start_matches(marks).trim_end_matches(|c: char| c.is_whitespace() || ",;\"'`.".contains(c))
}

/// Where the comment of a line begins; `None` if it has none.
fn comment(line: &str) -> Option<usize> {
    if places::is_comment(line) {
        return Some(line.len() - line.trim_start().len());
    }
    let begins = |at: &usize| {
        let before = &line[..*at];
        before.ends_with(char::is_whitespace) && ['"', '\''].iter().all(|quote| before.matches(*quote).count() % 2 == 0)
    };
    ["// ", "# ", "-- ", "/* "].iter().filter_map(|mark| line.match_indices(mark).map(|(at, _)| at).find(begins)).min()
}

/// Indentation and mark of a comment line; `None` for any other.
fn mark(line: &str) -> Option<&str> {
    let length = line.find(|c: char| !c.is_whitespace() && !"/#*-!;<".contains(c)).unwrap_or(line.len());
    places::is_comment(line).then(|| line[..length].trim_end())
}

/// `line` without the bytes `from..to`, the quotation marks around them in a list, and the comma or blank that stood beside them.
fn without(line: &str, from: usize, to: usize) -> String {
    let (mut before, mut behind) = (&line[..from], &line[to..]);
    if let Some(quote) = behind.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))
        && before.strip_suffix(quote).is_some_and(|before| before.trim_end().ends_with([',', '[', '(', '{']))
    {
        (before, behind) = (&before[..before.len() - 1], &behind[1..]);
    }
    let (opened, rest) = (before.trim_end(), behind.trim_start());
    match () {
        () if opened.ends_with([',', '(', '[', '{']) && rest.starts_with(',') => behind = rest[1..].trim_start(),
        () if opened.ends_with(',') && rest.starts_with([')', ']', '}']) => {
            before = opened[..opened.len() - 1].trim_end()
        }
        () if opened.is_empty() => behind = rest,
        () if before.ends_with(' ')
            && (behind.is_empty() || behind.starts_with([' ', '.', ',', ';', ':', '!', '?', ')'])) =>
        {
            before = &before[..before.len() - 1];
        }
        () => {}
    }
    format!("{before}{behind}")
}

#[cfg(test)]
#[path = "cut_tests.rs"]
mod tests;
