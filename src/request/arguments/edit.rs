//! Finds the one line that `change X from A to B` means, so that an edit needs no model. Finds nothing when unsure.

use crate::edit::is_comment;

use super::intent::{self, Intent};
use super::places;

/// An edit of a file, in which `old` occurs exactly once.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    pub old: String,
    pub new: String,
    /// The first line that changes, counted from 1.
    pub line: usize,
    /// Why this place was chosen, for the user who approves the edit.
    pub reason: String,
}

/// How much the best place's score must be above that of the next one.
const MARGIN: f32 = 0.75;

/// Most lines an edit may span, from the first place that changes to the last.
const SPAN_LINES_MAX: usize = 200;

/// Longer files are not edited here, because every line is looked at.
pub(super) const FILE_BYTES_MAX: usize = 4 << 20;

/// The edit of `file_text` that `step` asks for (`change`, `set`, `replace`, `rename`, `bump`, `enable`, …); `None` if it names
/// no new value, no line matches it, or two lines match about equally.
pub fn settle_edit(step: &str, file_text: &str) -> Option<Edit> {
    if file_text.len() > FILE_BYTES_MAX {
        return None;
    }
    let intent = intent::read(step, file_text)?;
    let lines: Vec<&str> = file_text.split('\n').collect();
    let old = intent.old.as_deref().filter(|old| *old != intent.new);
    match (old, intent.old.is_some()) {
        (Some(old), _) if intent.all => everywhere(file_text, &lines, old, &intent),
        (Some(old), _) if is_renaming(old, &intent) => everywhere(file_text, &lines, old, &intent),
        (Some(old), _) => one_place(file_text, &lines, old, &intent),
        (None, true) => None,
        (None, false) => assignment(file_text, &lines, &intent),
    }
}

/// Whether one identifier replaces another, with no word about which place is meant: `replace createRoot with hydrateRoot`.
fn is_renaming(old: &str, intent: &Intent) -> bool {
    let is_name = |text: &str| {
        text.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    intent.exact && intent.about.is_empty() && intent::is_coined(old) && is_name(old) && is_name(&intent.new)
}

/// The edit of every whole occurrence of `old`, as one block of lines.
fn everywhere(file: &str, lines: &[&str], old: &str, intent: &Intent) -> Option<Edit> {
    let changed: Vec<usize> = (0..lines.len()).filter(|&i| !places::whole(lines[i], old).is_empty()).collect();
    let (first, last) = (*changed.first()?, *changed.last()?);
    if last - first >= SPAN_LINES_MAX {
        return None;
    }
    let new: Vec<String> =
        lines[first..=last].iter().map(|line| replaced(line, old, &intent.new, &places::whole(line, old))).collect();
    let reason = format!("`{old}` stands in {} line(s), from line {} to line {}", changed.len(), first + 1, last + 1);
    block(file, lines, first, last, new.join("\n"), reason, first + 1)
}

/// The edit of `old` in the one line that matches the description best.
fn one_place(file: &str, lines: &[&str], old: &str, intent: &Intent) -> Option<Edit> {
    let forms = [old.to_owned(), grouped(old)];
    let found = |line: &str| forms.iter().find(|form| !places::whole(line, form).is_empty()).cloned();
    let mut ranked: Vec<(f32, usize, String)> = (0..lines.len())
        .filter_map(|i| Some((i, found(lines[i])?)))
        .map(|(i, form)| (places::answers(lines, i, &intent.about) + bonus(lines[i]), i, form))
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let (score, at, form) = ranked.first()?.clone();
    let clear = ranked.get(1).is_none_or(|second| score - second.0 >= MARGIN);
    let described = intent.about.is_empty() || score >= 1.0;
    let alone = ranked.len() == 1 && intent.exact;
    if !clear || !(described || alone) || intent.about.is_empty() && ranked.len() > 1 {
        return None;
    }
    let offsets = places::whole(lines[at], &form);
    let offset = chosen(lines[at], &offsets)?;
    let new = replaced(lines[at], &form, &matching(&form, &intent.new), &[offset]);
    let reason = reason(at, &form, &intent.about, ranked.len());
    block(file, lines, at, at, new, reason, at + 1)
}

fn reason(at: usize, value: &str, about: &[String], places: usize) -> String {
    match about {
        [] => format!("line {} is the only one with `{value}`", at + 1),
        _ => format!("line {} holds `{value}` and answers best to `{}` of {places} place(s)", at + 1, about.join(" ")),
    }
}

/// The only offset or, if a line has several occurrences, the one inside its value.
fn chosen(line: &str, offsets: &[usize]) -> Option<usize> {
    if let [only] = offsets {
        return Some(*only);
    }
    let (start, _) = value_span(line)?;
    let mut behind = offsets.iter().filter(|&&offset| offset >= start);
    behind.next().copied().filter(|_| behind.next().is_none())
}

/// Score bonus: a line that assigns a value is meant more often than one that uses it, a comment hardly ever.
fn bonus(line: &str) -> f32 {
    if is_comment(line) {
        -0.8
    } else if value_span(line).is_some() {
        0.3
    } else {
        0.0
    }
}

/// The edit for `set X to B` and `enable X`: of the assignment, field or default whose name matches X.
fn assignment(file: &str, lines: &[&str], intent: &Intent) -> Option<Edit> {
    if intent.about.is_empty() {
        return None;
    }
    let mut ranked: Vec<(f32, usize, String)> = Vec::new();
    let is_number = |value: &str| {
        value.trim_start_matches(['"', '\'', '^', '~', '=', 'v', '>']).starts_with(|c: char| c.is_ascii_digit())
    };
    let mut numbers: Vec<usize> = Vec::new();
    for (i, line) in lines.iter().enumerate().filter(|(_, line)| !is_comment(line)) {
        let Some((start, end)) = value_span(line) else { continue };
        let Some(new) = fitting(&line[start..end], &intent.new) else { continue };
        let mut keys = lines.to_vec();
        keys[i] = &line[..start];
        let mut score = places::answers(&keys[i.saturating_sub(64)..=i], i.min(64), &intent.about);
        let key = line[..start].trim_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').to_lowercase();
        if intent.about.contains(&key) {
            score += MARGIN;
        }
        if is_number(&line[start..end]) {
            numbers.push(i);
        }
        ranked.push((score, i, format!("{}{new}{}", &line[..start], &line[end..])));
    }
    // If several keys match (two `"version"` entries), a new number goes to one that holds a number.
    let same = |score: f32| ranked.iter().any(|(other, i, _)| (other - score).abs() < MARGIN && numbers.contains(i));
    let best = ranked.iter().map(|(score, ..)| *score).fold(f32::MIN, f32::max);
    if is_number(&intent.new) && same(best) {
        ranked.retain(|(_, i, _)| numbers.contains(i));
    }
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let (score, at, new) = ranked.first()?.clone();
    let clear = ranked.get(1).is_none_or(|second| score - second.0 >= MARGIN);
    // At least 40 % of the highest possible score, which is 2 for each word of the description.
    let enough = score >= 2.0 && score > intent.about.len() as f32 * 0.8;
    if !clear || !enough || new == lines[at] {
        return None;
    }
    let reason = format!("line {} sets what answers best to `{}`", at + 1, intent.about.join(" "));
    block(file, lines, at, at, new, reason, at + 1)
}

/// Byte range of the value in `name = value`, `name: value` or `"name": value`; `None` if it is no literal.
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
        _ => rest
            .find(|c: char| matches!(c, ',' | ';' | '#' | ')' | '}' | ']') || c.is_whitespace())
            .unwrap_or(rest.len()),
    };
    let value = &rest[..length];
    let literal = matches!(first, '"' | '\'' | '`')
        || value.parse::<f64>().is_ok()
        || starts_number(value)
        || is_flag(value)
        || value.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    (literal && !value.is_empty()).then_some((start, start + length))
}

fn starts_number(value: &str) -> bool {
    value.strip_prefix('-').unwrap_or(value).starts_with(|c: char| c.is_ascii_digit())
}

fn is_flag(value: &str) -> bool {
    matches!(value, "true" | "false" | "True" | "False" | "TRUE" | "FALSE" | "on" | "off" | "yes" | "no")
}

/// `new` in the style of `old` (quotes, word for true or false, digits); `None` if it is no value of that kind.
fn fitting(old: &str, new: &str) -> Option<String> {
    let bare = new.trim_matches(['"', '\'', '`']);
    if let Some(quote) = old.chars().next().filter(|c| matches!(c, '"' | '\'' | '`')) {
        return Some(format!("{quote}{bare}{quote}"));
    }
    if is_flag(old) {
        let truth = match bare.to_lowercase().as_str() {
            "true" | "on" | "yes" | "enabled" | "1" => true,
            "false" | "off" | "no" | "disabled" | "0" => false,
            _ => return None,
        };
        let (yes, no) = match old.to_lowercase().as_str() {
            "on" | "off" => ("on", "off"),
            "yes" | "no" => ("yes", "no"),
            _ => ("true", "false"),
        };
        let flag = if truth { yes } else { no };
        return Some(if old.chars().all(char::is_uppercase) {
            flag.to_uppercase()
        } else if old.starts_with(char::is_uppercase) {
            flag[..1].to_uppercase() + &flag[1..]
        } else {
            flag.to_owned()
        });
    }
    if starts_number(old) {
        return starts_number(bare).then(|| matching(old, bare));
    }
    bare.chars()
        .all(|c| c.is_alphanumeric() || "_-.:".contains(c))
        .then(|| bare.to_owned())
        .filter(|_| !bare.is_empty() && !is_flag(&bare.to_lowercase()))
}

/// A number keeps the suffix and digit groups of the file: `5u32` -> `3u32`, `30s` -> `60s`, `5_000` -> `10_000`.
fn matching(old: &str, new: &str) -> String {
    let plain = new.replace(',', "");
    if !starts_number(old) || !plain.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-') {
        return new.to_owned();
    }
    let written = if old.contains('_') { grouped(&plain) } else { plain };
    let suffix = old.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '_'));
    format!("{written}{suffix}")
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

/// The edit of lines `first..=last`, extended by lines around them until `old` is unique in the file.
fn block(
    file: &str,
    lines: &[&str],
    first: usize,
    last: usize,
    new: String,
    reason: String,
    line: usize,
) -> Option<Edit> {
    let window = places::unmistakable(file, lines, "\n", first, last)?;
    let old = lines[window.clone()].join("\n");
    let kept: String = lines[*window.start()..first].iter().map(|line| format!("{line}\n")).collect();
    let below: String = lines[last + 1..=*window.end()].iter().map(|line| format!("\n{line}")).collect();
    Some(Edit { old, new: kept + &new + &below, line, reason })
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
