//! Says where what a line opens ends: a section below a heading, a table, an indented or bracketed block. Unknown where that is not sure.

use crate::index::language_of;
use crate::orchestrate::words;

use super::cut::{self, Desk, Place, gone};
use super::places::answered;
use super::removal::Removal;

/// What begins in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opened {
    /// Nothing that other lines belong to.
    Nothing,
    /// Ends in this line.
    To(usize),
    /// More than this line, nobody knows how much.
    Unknown,
}

/// The sections and blocks whose first line answers to the description.
pub(super) fn places(desk: &Desk, removal: &Removal) -> Result<Vec<Place>, String> {
    let answers = |at: &usize| {
        let line = desk.lines[*at];
        // The name of a block stands before what is in it.
        let name = if desk.is_prose { line } else { line.split([':', '{', '=']).next().unwrap_or(line) };
        let quoted = !removal.quoted || removal.literals.iter().all(|text| name.contains(text.as_str()));
        let says = quoted && (removal.quoted || !removal.about.is_empty());
        let is_all = words::split(name).len() == removal.about.len();
        let holds = |at: usize| opened(desk, at) != Opened::Nothing || !desk.is_prose && line.contains(['{', '[']);
        let score = answered(name, &removal.about).filter(|_| says && holds(*at));
        score.map(|exact| 2 * exact + usize::from(is_all))
    };
    let scored = (0..desk.lines.len()).filter_map(|at| Some((answers(&at)?, at))).collect();
    let end = |at: usize| match opened(desk, at) {
        Opened::Nothing => Ok(gone(at..=at)),
        Opened::To(end) => Ok(gone(at..=end)),
        Opened::Unknown => Err(desk.no_end(at)),
    };
    cut::best(scored, removal.all).into_iter().map(end).collect()
}

/// What line `at` opens.
pub(super) fn opened(desk: &Desk, at: usize) -> Opened {
    let line = desk.lines[at].trim();
    match language_of(desk.path) {
        "markdown" => section(desk, at),
        "toml" if table(line).is_some() => to_next_table(desk, at),
        "yaml" if !line.ends_with(['{', '[', ',']) => indented(desk, at),
        "json" | "toml" | "yaml" | "css" => bracketed(desk, at),
        "html" if is_balanced(line) => Opened::Nothing,
        "html" => Opened::Unknown,
        _ if desk.is_prose => Opened::Nothing,
        // What is code has its ends by its syntax, or not at all.
        _ => match depth(line) {
            Some(0) if !line.ends_with([':', '{', '(', '[']) && !line.starts_with(['}', ')', ']', '<']) => {
                Opened::Nothing
            }
            _ => Opened::Unknown,
        },
    }
}

/// A Markdown text whose fenced blocks are blank: what stands in them is no heading and no comment.
pub(super) fn without_fences(text: &str) -> String {
    let mut fence: Option<&str> = None;
    let mut left = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        let is_inside = fence.is_some();
        match (fence, mark) {
            (None, mark) => fence = mark,
            (Some(open), Some(mark)) if open == mark && start.trim_end().trim_matches(['`', '~']).is_empty() => {
                fence = None
            }
            _ => {}
        }
        match is_inside || fence.is_some() {
            true => {
                left.extend(line.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { char::from(byte) } else { ' ' }))
            }
            false => left.push_str(line),
        }
    }
    left
}

fn section(desk: &Desk, at: usize) -> Opened {
    let own = desk.levels.get(at).copied().unwrap_or(0);
    // What is underlined may be the end of something else as well, such as a list or a header of settings.
    if own == 0 || !desk.lines[at].starts_with('#') {
        return Opened::Nothing;
    }
    let below = desk.levels[at + 1..].iter().take_while(|level| **level == 0 || **level > own).count();
    Opened::To(last_said(desk, at, at + below))
}

/// How deep the heading in each line of a Markdown text is; 0 where there is none.
pub(super) fn levels(text: &str) -> Vec<usize> {
    let text = without_fences(text);
    let lines: Vec<&str> = text.lines().collect();
    let level = |(at, line): (usize, &&str)| {
        let marks = line.bytes().take_while(|byte| *byte == b'#').count();
        // `Usage` above `-----`.
        let below = lines.get(at + 1).map_or("", |below| below.trim_end());
        let is_underlined = |mark| !line.trim().is_empty() && below.len() > 1 && below.chars().all(|c| c == mark);
        match () {
            () if marks > 0 && line[marks..].starts_with(' ') => marks,
            () if is_underlined('=') => 1,
            () if is_underlined('-') => 2,
            () => 0,
        }
    };
    lines.iter().enumerate().map(level).collect()
}

/// The name in `[name]` and `[[name]]`.
fn table(line: &str) -> Option<&str> {
    let name = line.strip_prefix('[')?.split('#').next()?.trim_end().strip_suffix(']')?;
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name).trim();
    let is_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

/// To the next table that is not a part of this one; the comment above that is its own.
fn to_next_table(desk: &Desk, at: usize) -> Opened {
    let name = table(desk.lines[at].trim()).unwrap_or_default();
    let is_part = |line: &&&str| match table(line.trim()) {
        Some(other) => other.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')),
        None => !line.starts_with('['),
    };
    let mut end = at + desk.lines[at + 1..].iter().take_while(is_part).count();
    let is_sure = desk.lines.get(end + 1).is_none_or(|next| table(next.trim()).is_some());
    let is_comment = |line: &&&str| line.trim_start().starts_with('#');
    let open: Option<i64> = desk.lines[at..=end].iter().filter(|line| !is_comment(line)).map(|line| depth(line)).sum();
    while end > at && (desk.is_blank(end) || is_comment(&&desk.lines[end])) {
        end -= 1;
    }
    if is_sure && open == Some(0) { Opened::To(end) } else { Opened::Unknown }
}

/// What stands further in below a line; a list may stand as far as the name of it.
fn indented(desk: &Desk, at: usize) -> Opened {
    let line = desk.lines[at];
    let is_item = |line: &str| line.trim_start().starts_with("- ");
    let has_list = line.trim_end().ends_with(':') && !is_item(line);
    let belongs = |other: &&&str| {
        other.trim().is_empty()
            || indent(other) > indent(line)
            || has_list && indent(other) == indent(line) && is_item(other)
    };
    let below = desk.lines[at + 1..].iter().take_while(belongs).count();
    match last_said(desk, at, at + below) {
        end if end == at => Opened::Nothing,
        end => Opened::To(end),
    }
}

/// What stands between a line that opens a bracket and the line that closes it, which stands as far in; everything else further in.
pub(super) fn bracketed(desk: &Desk, at: usize) -> Opened {
    let line = desk.lines[at];
    let closes = |line: &str| line.trim_start().starts_with(['}', ')', ']']);
    match depth(line) {
        Some(0) if !closes(line) => return Opened::Nothing,
        Some(open) if open > 0 && !closes(line) => {}
        _ => return Opened::Unknown,
    }
    let inside = |other: &&&str| other.trim().is_empty() || indent(other) > indent(line);
    let end = at + 1 + desk.lines[at + 1..].iter().take_while(inside).count();
    let open: Option<i64> = desk.lines.get(at..=end).and_then(|block| block.iter().map(|line| depth(line)).sum());
    let is_end =
        |last: &&str| indent(last) == indent(line) && closes(last) && last.trim().chars().all(|c| ")]};,".contains(c));
    match open == Some(0) && desk.lines.get(end).is_some_and(is_end) {
        true => Opened::To(end),
        false => Opened::Unknown,
    }
}

/// How many more brackets a line opens than it closes, beside those in quotation marks; `None` where a quotation does not end.
fn depth(line: &str) -> Option<i64> {
    let (mut depth, mut quote, mut is_escaped) = (0, None, false);
    for c in line.chars() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if c == '\\' => is_escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'' | '`') => quote = Some(c),
            None if matches!(c, '(' | '[' | '{') => depth += 1,
            None if matches!(c, ')' | ']' | '}') => depth -= 1,
            None => {}
        }
    }
    quote.is_none().then_some(depth)
}

/// Whether a line of markup closes the tag that it opens.
fn is_balanced(line: &str) -> bool {
    const VOID: [&str; 9] = ["img", "input", "br", "hr", "meta", "link", "source", "col", "!doctype"];
    let Some(tag) = line.strip_prefix('<') else { return !line.contains("</") };
    let name: String = tag.chars().take_while(|c| c.is_alphanumeric() || "-!".contains(*c)).collect();
    let name = name.to_lowercase();
    let is_void = line.matches('<').count() == 1 && (VOID.contains(&name.as_str()) || line.ends_with("/>"));
    let is_closed = line.matches(&format!("<{name}")).count() == 1 && line.ends_with(&format!("</{name}>"));
    line.ends_with('>') && (is_void || is_closed)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The last line with text from `at` to `end`.
fn last_said(desk: &Desk, at: usize, end: usize) -> usize {
    (at..=end).rev().find(|line| !desk.is_blank(*line)).unwrap_or(at)
}
