//! Finds a passage in a file: as it is, by its words alone, or the nearest one.

use similar::TextDiff;

use crate::edit::indent::indent;

/// Windows compared character by character, after a cheap choice by common lines and words.
const CANDIDATES_MAX: usize = 12;
/// Longest passage that is compared.
const COMPARED_CHARS_MAX: usize = 8_000;
/// From here on a passage is the one that was meant, if no other comes near.
const SURE_MIN: f32 = 0.9;
/// By how much it has to be nearer than the next.
const LEAD_MIN: f32 = 0.05;
/// Below this a passage has nothing to do with what was meant.
const SHOWN_MIN: f32 = 0.3;
/// Lines shown of the nearest passage.
const SHOWN_LINES_MAX: usize = 30;

/// First lines (counted from 0) at which `search` is found: exactly, else without regard to white space at both ends of its lines.
pub fn places(lines: &[&str], search: &[&str]) -> Vec<usize> {
    let equal: [fn(&str, &str) -> bool; 3] =
        [|a, b| a == b, |a, b| a.trim_end() == b.trim_end(), |a, b| a.trim() == b.trim()];
    let windows = || (0..(lines.len() + 1).saturating_sub(search.len())).filter(|_| !search.is_empty());
    let found = equal.iter().map(|same| {
        let fits = |first: &usize| lines[*first..].iter().zip(search).all(|(a, b)| same(a, b));
        windows().filter(fits).collect::<Vec<usize>>()
    });
    found.into_iter().find(|places| !places.is_empty()).unwrap_or_default()
}

/// The passage that is most like what was searched.
pub struct Near {
    pub first: usize,
    height: usize,
    alike: f32,
    /// It is like enough, and no other comes near.
    pub is_sure: bool,
}

impl Near {
    /// It as a sentence and its lines, to stand behind an error.
    pub fn shown(&self, lines: &[&str]) -> String {
        let rows = lines[self.first..self.first + self.height].iter().take(SHOWN_LINES_MAX).enumerate();
        let rows =
            rows.map(|(at, line)| format!("\n{}| {}", self.first + at + 1, line.chars().take(300).collect::<String>()));
        format!(
            "; the nearest passage is lines {}-{} ({:.0}% alike), copy it without the numbers:{}",
            self.first + 1,
            self.first + self.height,
            self.alike * 100.0,
            rows.collect::<String>()
        )
    }
}

pub fn nearest(lines: &[&str], search: &[&str]) -> Option<Near> {
    let height = search.len().min(lines.len());
    let words = |line: &str| -> Vec<String> {
        line.split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let wanted: std::collections::HashSet<String> = search.iter().flat_map(|line| words(line)).collect();
    let shared: Vec<usize> =
        lines.iter().map(|line| words(line).iter().filter(|word| wanted.contains(*word)).take(50).count()).collect();
    let mut sum: usize = shared.iter().take(height).sum();
    let mut windows = vec![(sum, 0)];
    for at in 1..(lines.len() + 1).saturating_sub(height.max(1)) {
        sum = sum + shared[at + height - 1] - shared[at - 1];
        windows.push((sum, at));
    }
    windows.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
    let joined = |lines: &[&str]| -> String {
        lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join("\n").chars().take(COMPARED_CHARS_MAX).collect()
    };
    let text = joined(search);
    let mut compared: Vec<(f32, usize)> = windows
        .into_iter()
        .take(CANDIDATES_MAX)
        .filter(|_| height > 0)
        .map(|(_, first)| (alike(&text, &joined(&lines[first..first + height])), first))
        .collect();
    compared.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let (alike, first) = *compared.first()?;
    let next = compared.iter().skip(1).map(|(alike, _)| *alike).next().unwrap_or(0.0);
    let is_sure = alike >= SURE_MIN && alike - next >= LEAD_MIN && height == search.len();
    (alike >= SHOWN_MIN).then_some(Near { first, height, alike, is_sure })
}

fn alike(a: &str, b: &str) -> f32 {
    const TIME_MAX: std::time::Duration = std::time::Duration::from_millis(100);
    TextDiff::configure().timeout(TIME_MAX).diff_chars(a, b).ratio()
}

/// The lines `actual` of a file with the change from `search` to `replace` made in them, at their indentation. A line that both parts
/// have stays as the file has it.
pub fn rewritten(actual: &[&str], search: &[&str], replace: &[&str]) -> Vec<String> {
    let trimmed = |lines: &[&str]| lines.iter().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    let (old, new) = (trimmed(search), trimmed(replace));
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
    let filled = search.iter().position(|line| !line.trim().is_empty()).unwrap_or(0);
    let (was, now) = (indent(search[filled]), indent(actual[filled]));
    let moved = |line: &str| match line.strip_prefix(was) {
        _ if was == now => line.to_owned(),
        _ if line.trim().is_empty() => String::new(),
        Some(rest) => format!("{now}{rest}"),
        None => line.to_owned(),
    };
    let mut out = Vec::new();
    for op in TextDiff::from_slices(&old, &new).ops() {
        match op {
            similar::DiffOp::Equal { old_index, new_index, len } => {
                for at in 0..*len {
                    // Only its indentation changes.
                    let deeper = indent(search[old_index + at]) != indent(replace[new_index + at]);
                    let line = if deeper { moved(replace[new_index + at]) } else { actual[old_index + at].to_owned() };
                    out.push(line);
                }
            }
            similar::DiffOp::Delete { .. } => {}
            similar::DiffOp::Insert { new_index, new_len, .. }
            | similar::DiffOp::Replace { new_index, new_len, .. } => {
                out.extend(replace[*new_index..new_index + new_len].iter().map(|line| moved(line)));
            }
        }
    }
    out
}
