//! Takes texts out of lines, and says where a text is the whole of a line or an item of a list.

use super::cut::{Change, Desk, Place};
use super::places;

/// Every occurrence of the texts; `None` unless each of them occurs.
pub(super) fn texts(desk: &Desk, texts: &[String]) -> Option<Place> {
    let mut left: Vec<String> = desk.lines.iter().map(|&line| line.to_owned()).collect();
    for text in texts {
        let is_exact = left.iter().any(|line| !places::whole(line, text).is_empty());
        let mut found = false;
        for line in &mut left {
            let hits = if is_exact {
                places::whole(line, text)
            } else {
                // Letters of ASCII keep their place when they change their case.
                places::whole(&line.to_ascii_lowercase(), &text.to_ascii_lowercase())
            };
            if !hits.is_empty() {
                *line = without(line, text.len(), &hits);
                found = true;
            }
        }
        if !found {
            return None;
        }
    }
    let changed = |(at, line): (usize, String)| {
        let says = !own(&line).is_empty() || own(desk.lines[at]).is_empty();
        (line != desk.lines[at]).then_some((at, says.then_some(line)))
    };
    let changes: Vec<Change> = left.into_iter().enumerate().filter_map(changed).collect();
    (!changes.is_empty()).then_some(changes)
}

/// The lines that a text is the whole of, or that are named by it: `- alice`, `"left-pad": "1.2.0",`. None where it stands in others as well.
pub(super) fn named_lines(desk: &Desk, text: &str) -> Vec<usize> {
    let low = text.to_lowercase();
    let is_named = |at: &usize| {
        let own = own(desk.lines[*at]).to_lowercase();
        let behind = own.strip_prefix(&low).map(|rest| rest.trim_start_matches(['"', '\'', '`']));
        behind.is_some_and(|rest| rest.is_empty() || rest.trim_start().starts_with([':', '=']))
    };
    // `react-dom` is another name than `react`.
    let is_bound = |text: &str| {
        let mut chars = text.chars();
        chars.next() == Some('-') && chars.next().is_some_and(char::is_alphanumeric)
    };
    let is_whole = |line: &str, at: usize| {
        let before: String = line[..at].chars().rev().take(2).collect();
        !is_bound(&before) && !is_bound(&line[at + low.len()..])
    };
    let holds = |at: &usize| {
        let line = desk.lines[*at].to_lowercase();
        places::whole(&line, &low).into_iter().any(|at| is_whole(&line, at))
    };
    let holding: Vec<usize> = (0..desk.lines.len()).filter(holds).collect();
    if holding.iter().all(is_named) { holding } else { Vec::new() }
}

/// Whether a text stands in the file as it is written.
pub(super) fn occurs(desk: &Desk, text: &str) -> bool {
    desk.lines.iter().any(|line| !places::whole(line, text).is_empty())
}

/// Whether a text stands for itself wherever it occurs: in prose, in quotation marks, between the commas and brackets of a list.
pub(super) fn is_item(desk: &Desk, text: &str) -> bool {
    let stands_alone = |(line, at): (&str, usize)| {
        let (before, behind) = (line[..at].trim_end(), line[at + text.len()..].trim_start());
        // The name of a field is no item.
        let is_name = behind.trim_start_matches(['"', '\'', '`']).trim_start().starts_with([':', '=']);
        !is_name
            && (before.is_empty() || before.ends_with(['"', '\'', '`', ',', '(', '[', '{']))
            && (behind.is_empty() || behind.starts_with(['"', '\'', '`', ',', ')', ']', '}']))
    };
    let hits = |line: &&'_ str| places::whole(line, text);
    desk.is_prose || desk.lines.iter().all(|line| hits(line).into_iter().all(|at| stands_alone((*line, at))))
}

/// A line without the mark of a list or a comment, quotation marks and what closes it.
fn own(line: &str) -> &str {
    let marks = |c: char| c.is_whitespace() || "-*+/#>\"'`;".contains(c);
    line.trim_start_matches(marks).trim_end_matches(|c: char| c.is_whitespace() || ",;\"'`.".contains(c))
}

/// `line` without the texts of `length` bytes at `hits`, the quotation marks around them in a list, and the comma or blank that stood beside
/// them. Looks at each byte once, for lines of a megabyte.
fn without(line: &str, length: usize, hits: &[usize]) -> String {
    let mut left = String::with_capacity(line.len());
    let mut next = 0;
    for &hit in hits.iter().filter(|hit| line.is_char_boundary(**hit + length)) {
        // What went with an earlier one is gone.
        if hit < next {
            continue;
        }
        left.push_str(&line[next..hit]);
        next = hit + length;
        if let Some(quote) = line[next..].chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))
            && left.strip_suffix(quote).is_some_and(|before| before.trim_end().ends_with([',', '[', '(', '{']))
        {
            left.pop();
            next += 1;
        }
        let (opened, behind) = (left.trim_end(), &line[next..]);
        let rest = behind.trim_start();
        match () {
            () if opened.ends_with([',', '(', '[', '{']) && rest.starts_with(',') => {
                next = line.len() - rest[1..].trim_start().len();
            }
            () if opened.ends_with(',') && rest.starts_with([')', ']', '}']) => {
                let length = opened[..opened.len() - 1].trim_end().len();
                left.truncate(length);
            }
            () if opened.is_empty() => next = line.len() - rest.len(),
            () if left.ends_with(' ')
                && (behind.is_empty() || behind.starts_with([' ', '.', ',', ';', ':', '!', '?', ')'])) =>
            {
                left.pop();
            }
            () => {}
        }
    }
    left + &line[next..]
}
