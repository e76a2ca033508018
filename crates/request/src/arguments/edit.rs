//! Finds the one line that `change X from A to B` refers to, so that an edit needs no model; finds
//! nothing if unsure.

use std::ops::RangeInclusive;

use crate::edit::is_comment;
use crate::language::shape::{is_identifier, is_joined};

use super::intent::{self, Intent};
use super::places;
use super::unsettled::{Unsettled, absent, elsewhere, quoted, same_values, several};

/// An edit of a file, in which `old` occurs exactly once.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// The lines as they are.
    pub old: String,
    /// The lines that take their place.
    pub new: String,
}

/// Minimum lead of the best location's score over the second-best.
const MARGIN: f32 = 0.75;

/// Maximum number of lines an edit may span, from the first changed line to the last.
const SPAN_LINES_MAX: usize = 200;

/// Larger files are not edited here, because every line is examined.
pub(super) const FILE_BYTES_MAX: usize = 4 << 20;

/// The edit of `file` requested by `step` (`change`, `set`, `replace`, `rename`, `bump`, `enable`,
/// …).
///
/// # Errors
/// If the step names no new value, or no line matches it, or several match about equally.
pub fn settle_edit(step: &str, file: &str) -> Result<Edit, Unsettled> {
    // A byte order mark is not part of the first line.
    let file = file.strip_prefix('\u{feff}').unwrap_or(file);
    settle(&intent::read(step, file).ok_or(Unsettled::Unsaid)?, file)
}

/// The edit of `file` described by `intent`.
pub(crate) fn settle(intent: &Intent, file: &str) -> Result<Edit, Unsettled> {
    if file.len() > FILE_BYTES_MAX {
        return Err(Unsettled::of(format!("it is larger than {FILE_BYTES_MAX} bytes")));
    }
    let mut lines: Vec<&str> = file.split('\n').collect();
    let changed = match intent.old.as_deref() {
        Some(old) if old == intent.new => return Err(same_values(old)),
        Some(old) if intent.all || is_renaming(old, intent) => {
            everywhere(&lines, old, &intent.new).ok_or_else(|| absent(&lines, old, intent))?
        }
        Some(old) => vec![one_place(&lines, old, intent)?],
        None => vec![assignment(&lines, intent).or_else(|why| of_text(&lines, intent).unwrap_or(Err(why)))?],
    };
    for (at, line) in &changed {
        lines[*at] = line;
    }
    let unclear = || Unsettled::of("the line cannot be told apart from others");
    Edit::between(file, &lines.join("\n")).ok_or_else(unclear)
}

impl Edit {
    /// The edit that turns `file` into `after`, extended by surrounding lines until `old` is unique
    /// in the file. `None` if the texts are equal, or if `old` cannot be made unique.
    pub(super) fn between(file: &str, after: &str) -> Option<Edit> {
        if file == after {
            return None;
        }
        let newline = if file.contains("\r\n") { "\r\n" } else { "\n" };
        let (old, new): (Vec<&str>, Vec<&str>) = (file.split(newline).collect(), after.split(newline).collect());
        let first = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let same = old[first..].iter().rev().zip(new[first..].iter().rev()).take_while(|(a, b)| a == b).count();
        // Removing complete lines also removes a line ending, so the edit includes the next
        // remaining line.
        let gone = old.len() - same;
        let (from, to) = match (gone, new.len() == first + same) {
            (gone, true) if gone < old.len() => (first, gone),
            (gone, true) => (first.saturating_sub(1), gone.saturating_sub(1)),
            (gone, false) => (first, gone.saturating_sub(1).max(first)),
        };
        let window = unmistakable(file, &old, newline, from, to)?;
        let behind = old.len() - 1 - window.end();
        let new = new.get(*window.start()..new.len() - behind)?.join(newline);
        Some(Edit { old: old[window].join(newline), new })
    }
}

/// A small range of lines around `first..=last` whose text, joined by `newline`, occurs only once
/// in the file; `None` if there is none. `lines` contains all lines of the file.
fn unmistakable(file: &str, lines: &[&str], newline: &str, first: usize, last: usize) -> Option<RangeInclusive<usize>> {
    /// Maximum number of lines added above or below to make a location unique.
    const AROUND_MAX: usize = 12;
    let above = (0..=AROUND_MAX).map(|above| (above, 0));
    let around = (1..=AROUND_MAX).flat_map(|below| [(0, below), (below, below)]);
    let windows = above.chain(around).filter(|(above, below)| *above <= first && last + below < lines.len());
    windows.map(|(above, below)| first - above..=last + below).find(|window| {
        let text = lines[window.clone()].join(newline);
        !text.trim().is_empty() && file.find(&text).is_some_and(|at| file.rfind(&text) == Some(at))
    })
}

/// Whether one identifier replaces another without any words about the location:
/// `replace createRoot with hydrateRoot`.
fn is_renaming(old: &str, intent: &Intent) -> bool {
    intent.exact && intent.about.is_empty() && is_joined(old) && is_identifier(old) && is_identifier(&intent.new)
}

/// A line number, from 0, and the new text.
type Changed = (usize, String);

/// Every line that contains `old` as a complete word.
fn everywhere(lines: &[&str], old: &str, new: &str) -> Option<Vec<Changed>> {
    let found = lines.iter().enumerate().map(|(at, line)| (at, line, places::whole(line, old, &[])));
    let changed: Vec<Changed> = found
        .filter(|(.., offsets)| !offsets.is_empty())
        .map(|(at, line, offsets)| (at, replaced(line, old, new, &offsets)))
        .collect();
    let ((first, _), (last, _)) = (changed.first()?, changed.last()?);
    (last - first < SPAN_LINES_MAX).then_some(changed)
}

/// A score, a line, and the text found in it.
type Ranked = (f32, usize, String);

/// The location with the highest score, if it is clearly above the second-best; else all lines with
/// about the same score.
fn clearly_best(mut ranked: Vec<Ranked>) -> Result<Ranked, Vec<usize>> {
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let near = ranked.iter().take_while(|one| ranked[0].0 - one.0 < MARGIN).count();
    if near > 1 {
        Err(ranked[..near].iter().map(|one| one.1).collect())
    } else {
        ranked.into_iter().next().ok_or(Vec::new())
    }
}

/// `old` replaced in the one line that best matches the description.
fn one_place(lines: &[&str], old: &str, intent: &Intent) -> Result<Changed, Unsettled> {
    let (forms, new) = forms(old, &intent.new);
    let whole = |line: &str, form: &str| places::whole(line, form, &intent.about);
    let found = |line: &str| forms.iter().find(|form| !whole(line, form).is_empty()).cloned();
    let score = |at: usize| places::answers(lines, at, &intent.about) + bonus(lines[at]);
    let ranked: Vec<Ranked> = (0..lines.len()).filter_map(|at| Some((score(at), at, found(lines[at])?))).collect();
    if ranked.is_empty() {
        return Err(absent(lines, old, intent));
    }
    let places: Vec<usize> = ranked.iter().map(|one| one.1).collect();
    let is_alone = places.len() == 1;
    let (score, at, form) = clearly_best(ranked).map_err(|lines| several(old, &lines))?;
    if !(if intent.about.is_empty() { is_alone } else { score >= 1.0 || is_alone && intent.exact }) {
        return Err(if is_alone { elsewhere(lines, old, at) } else { several(old, &places) });
    }
    let offset = chosen(lines[at], &whole(lines[at], &form)).ok_or_else(|| {
        Unsettled::of(format!("`{old}` occurs more than once on line {}; quote more of the line", at + 1))
    })?;
    Ok((at, replaced(lines[at], &form, &matching(&form, &new), &[offset])))
}

/// The spellings that the old value may have in a file, and the new value in the same spelling. An
/// empty value is in quotation marks.
fn forms(old: &str, new: &str) -> (Vec<String>, String) {
    match old {
        "" => (["\"\"", "''"].map(str::to_owned).to_vec(), format!("\"{new}\"")),
        old => (vec![old.to_owned(), grouped(old)], new.to_owned()),
    }
}

/// Replaces literal occurrences of the step's object in the file: `change A to B`, where A is not
/// the name of a value. `None` if A could be one.
fn of_text(lines: &[&str], intent: &Intent) -> Option<Result<Changed, Unsettled>> {
    let object = intent
        .object
        .as_deref()
        .filter(|object| !starts_number(&intent.new) && flags(&intent.new).is_none() && !object.is_empty())?;
    let places: Vec<(usize, usize)> = (0..lines.len())
        .flat_map(|at| places::whole(lines[at], object, &[]).into_iter().map(move |offset| (at, offset)))
        .collect();
    let is_name = |(at, offset): &(usize, usize)| {
        let behind = lines[*at][offset + object.len()..].trim_start_matches(['"', '\'', '`', ']']).trim_start();
        behind.starts_with(['=', ':']) || ["is ", "are ", "was "].iter().any(|verb| behind.starts_with(verb))
    };
    match places.as_slice() {
        [] if intent.exact || lines.iter().any(|line| line.contains(object)) => {
            Some(Err(absent(lines, object, intent)))
        }
        [] => None,
        all if all.iter().any(is_name) => None,
        [(at, offset)] => Some(Ok((*at, replaced(lines[*at], object, &intent.new, &[*offset])))),
        all => Some(Err(several(object, &all.iter().map(|(at, _)| *at).collect::<Vec<_>>()))),
    }
}

/// The offset, if there is only one; among several occurrences in a line, the one inside the line's
/// value.
fn chosen(line: &str, offsets: &[usize]) -> Option<usize> {
    if let [only] = offsets {
        return Some(*only);
    }
    let (start, _) = value_span(line)?;
    let mut behind = offsets.iter().filter(|&&offset| offset >= start);
    behind.next().copied().filter(|_| behind.next().is_none())
}

/// Score bonus: a step usually means a line that assigns a value rather than one that uses it, and
/// almost never a comment.
fn bonus(line: &str) -> f32 {
    if is_comment(line) {
        -0.8
    } else if value_span(line).is_some() {
        0.3
    } else {
        0.0
    }
}

/// The changed line for `set X to B` and `enable X`: the assignment, field or default whose name
/// matches X.
fn assignment(lines: &[&str], intent: &Intent) -> Result<Changed, Unsettled> {
    let is_number = |value: &str| {
        value.trim_start_matches(['"', '\'', '^', '~', '=', 'v', '>']).starts_with(|c: char| c.is_ascii_digit())
    };
    let mut ranked: Vec<Ranked> = Vec::new();
    let mut unfitting: Vec<Ranked> = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !is_comment(line)) {
        let Some((start, end)) = value_span(line) else { continue };
        let mut keys = lines.to_vec();
        keys[at] = &line[..start];
        let mut score = places::answers(&keys[at.saturating_sub(64)..=at], at.min(64), &intent.about);
        let key = line[..start].trim_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').to_lowercase();
        if intent.about.contains(&key) {
            score += MARGIN;
        }
        // At least 40 % of the highest possible score, which is 2 for each word of the description.
        if score < 2.0 || score <= intent.about.len() as f32 * 0.8 {
            continue;
        }
        let Some(new) = fitting(&line[start..end], &intent.new, line[end..].trim().is_empty()) else {
            unfitting.push((score, at, String::new()));
            continue;
        };
        // If several keys match (two `"version"` entries), a new number replaces the numeric value.
        if is_number(&intent.new) && is_number(&line[start..end]) {
            score += MARGIN;
        }
        ranked.push((score, at, format!("{}{new}{}", &line[..start], &line[end..])));
    }
    let named = intent.about.join(" ");
    if named.is_empty() {
        return Err(Unsettled::Unsaid);
    }
    if ranked.is_empty() {
        return Err(Unsettled::of(match clearly_best(unfitting) {
            Ok((_, at, _)) => format!("{}, where `{}` does not fit", quoted(lines, at), intent.new),
            Err(_) => format!("no line gives `{named}` a value that can become `{}`", intent.new),
        }));
    }
    let (_, at, line) = clearly_best(ranked).map_err(|lines| several(&named, &lines))?;
    if line == lines[at] { Err(same_values(&intent.new)) } else { Ok((at, line)) }
}

/// Byte range of the value in `name = value`, `name: value` or `"name": value`; `None` if it is not a literal.
fn value_span(line: &str) -> Option<(usize, usize)> {
    let bytes = line.as_bytes();
    let single = |i: usize| {
        let before = if i > 0 { bytes[i - 1] } else { b' ' };
        let after = bytes.get(i + 1).copied().unwrap_or(b' ');
        !b"=!<>+-*/%&|^~:".contains(&before) && !b"=>~".contains(&after)
    };
    let equals = (0..bytes.len())
        .find(|&i| bytes[i] == b'=' && (single(i) || i > 0 && bytes[i - 1] == b':' && bytes.get(i + 1) != Some(&b'=')));
    let colon = || {
        (0..bytes.len()).find(|&i| {
            bytes[i] == b':'
                && bytes.get(i + 1) != Some(&b':')
                && (i == 0 || bytes[i - 1] != b':')
                && bytes.get(i + 1).is_some_and(|b| *b == b' ')
        })
    };
    let mark = equals.or_else(colon)? + 1;
    let start = mark + line[mark..].len() - line[mark..].trim_start().len();
    let rest = &line[start..];
    let first = rest.chars().next()?;
    let length = match first {
        '"' | '\'' | '`' => rest[1..].find(first)? + 2,
        _ => {
            let end = rest.find([',', ';', '#', ')', '}', ']']).unwrap_or(rest.len());
            let plain = rest[..end].trim_end();
            let word = plain.find(char::is_whitespace).unwrap_or(plain.len());
            let more = plain[word..].trim_start();
            if more.starts_with(['*', '+', '-', '%', '<', '>', '&', '|', '^', '?']) {
                return None;
            }
            // `greeting = hello world`: a value of several words must end the line.
            let is_phrase = plain.chars().all(|c| c.is_alphanumeric() || c.is_whitespace() || "_-.!?'’".contains(c));
            let goes_on = is_phrase && !starts_number(plain) && more.starts_with(char::is_alphanumeric);
            if goes_on { plain.len() } else { word }
        }
    };
    let value = &rest[..length];
    let literal = matches!(first, '"' | '\'' | '`')
        || starts_number(value)
        || value.chars().all(|c| c.is_alphanumeric() || "_-. !?'’".contains(c));
    (literal && !value.is_empty()).then_some((start, start + length))
}

fn starts_number(value: &str) -> bool {
    value.strip_prefix(['-', '+']).unwrap_or(value).starts_with(|c: char| c.is_ascii_digit())
}

/// Words for true and false in files.
const FLAGS: [(&str, &str); 5] =
    [("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("on", "off"), ("yes", "no")];

fn flags(value: &str) -> Option<(&'static str, &'static str)> {
    FLAGS.into_iter().find(|(yes, no)| value == *yes || value == *no)
}

/// `new` in the style of `old` (quotes, word for true or false, digits); `None` if the kinds of
/// value differ. `is_last`: nothing follows `old` on the line.
fn fitting(old: &str, new: &str, is_last: bool) -> Option<String> {
    let bare = new.trim_matches(['"', '\'', '`']);
    if let Some(quote) = old.chars().next().filter(|c| matches!(c, '"' | '\'' | '`')) {
        return Some(format!("{quote}{bare}{quote}"));
    }
    if let Some((yes, no)) = flags(old) {
        return match bare.to_lowercase().as_str() {
            "true" | "on" | "yes" | "enabled" | "1" => Some(yes.to_owned()),
            "false" | "off" | "no" | "disabled" | "0" => Some(no.to_owned()),
            _ => None,
        };
    }
    if starts_number(old) {
        return starts_number(bare).then(|| matching(old, bare));
    }
    let is_one = |c: char| c.is_alphanumeric() || "_-.:".contains(c);
    // A plain value at the end of its line may contain spaces and symbols, as in INI files.
    let is_text = |c: char| !c.is_control() && !"\"'`\\,;#(){}[]=".contains(c);
    let is_word = !bare.trim().is_empty() && bare.chars().all(|c| is_one(c) || is_last && is_text(c));
    (is_word && flags(&bare.to_lowercase()).is_none()).then(|| bare.to_owned())
}

/// A number in the file's style, with its unit or type and digit groups: `5u32` -> `3u32`, `30s` ->
/// `60s`, `5_000` -> `10_000`.
fn matching(old: &str, new: &str) -> String {
    let plain = new.replace(',', "");
    if !starts_number(old) || !plain.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-') {
        return new.to_owned();
    }
    let written = if old.contains('_') { grouped(&plain) } else { plain };
    let unsigned = old.trim_start_matches(['-', '+']);
    let suffix = unsigned.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '_'));
    // `0x0A`, `2e-4` and `1.2-rc1` continue after their first digits.
    let has_prefix = ["0x", "0X", "0b", "0o"].iter().any(|prefix| unsigned.starts_with(prefix));
    let is_unit = !has_prefix && suffix.chars().all(|c| c.is_alphabetic() || c == '%') || places::is_type(suffix);
    if is_unit { format!("{written}{suffix}") } else { written }
}

/// `5000` as `5_000`.
fn grouped(number: &str) -> String {
    let digits = number.replace([',', '_'], "");
    if digits.len() < 4 || !digits.chars().all(|c| c.is_ascii_digit()) {
        return number.to_owned();
    }
    let lead = digits.len() % 3;
    let groups = digits.as_bytes()[lead..].chunks(3).map(|chunk| String::from_utf8_lossy(chunk).into_owned());
    let first = (lead > 0).then(|| digits[..lead].to_owned());
    first.into_iter().chain(groups).collect::<Vec<_>>().join("_")
}

fn replaced(line: &str, old: &str, new: &str, offsets: &[usize]) -> String {
    let mut text = String::with_capacity(line.len() + new.len());
    let mut at = 0;
    for &offset in offsets {
        text.push_str(&line[at..offset]);
        text.push_str(new);
        at = offset + old.len();
    }
    text.push_str(&line[at..]);
    text
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
