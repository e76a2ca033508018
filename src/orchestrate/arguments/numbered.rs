//! Reads lines that are named by their numbers, their order or by being empty: `lines 3 to 5 and 8`, `the last two lines`, `all blank lines`.

use crate::orchestrate::decompose::scan::{Kind, Token};
use crate::orchestrate::decompose::words::{is_determiner, listed};

use super::removal::{Extent, LINES};

/// Other things are counted without headings and brackets, so that their numbers are none of lines.
const COUNTED: &str = "line, lines, строку, строки";
const RANGES: &str = "to, through, thru, по";
const JOINTS: &str = "and, &, и";
const SMALL: [&str; 6] = ["one", "two", "three", "four", "five", "six"];

/// The lines that an object means by their numbers; `noun` is the place of its noun. `None` where there is more in it than numbers.
pub(super) fn lines(object: &[Token], noun: usize) -> Option<Extent> {
    if !listed(LINES, &object[noun].low) {
        return None;
    }
    let is_counted = listed(COUNTED, &object[noun].low);
    let said = |token: &&Token| !is_determiner(&token.low) && !listed("number, from, номер, с, все, всё", &token.low);
    let before: Vec<&str> = object[..noun].iter().filter(said).map(|token| token.text).collect();
    let before: Vec<String> = before.into_iter().map(str::to_lowercase).collect();
    let before: Vec<&str> = before.iter().map(String::as_str).collect();
    let behind: Vec<&Token> = object[noun + 1..].iter().filter(said).collect();
    if !behind.is_empty() {
        let ranges = before.is_empty().then(|| ranges(&behind))??;
        return Some(ranges.filter(|_| is_counted).map_or(Extent::Unclear, Extent::Numbered));
    }
    let (first, last) = ("first, первую, первые", "last, последнюю, последние");
    match before.as_slice() {
        ["empty" | "blank" | "пустые" | "пустую"] if is_counted => Some(Extent::Blank),
        [order, count @ ..] if is_counted && count.len() < 2 && (listed(first, order) || listed(last, order)) => {
            let count = count.first().map_or(Some(1), |count| small(count)).filter(|count| *count > 0);
            let extent =
                |count| if listed(last, order) { Extent::Last(count) } else { Extent::Numbered(vec![(1, count)]) };
            Some(count.map_or(Extent::Unclear, extent))
        }
        _ => None,
    }
}

/// `3`, `3-5`, `3 to 5`, `3, 5 and 8`: outer `None` if it is no number, inner if there is more to it or it counts no lines.
fn ranges(tokens: &[&Token]) -> Option<Option<Vec<(usize, usize)>>> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    let mut reaches = false;
    for token in tokens {
        match () {
            () if token.kind == Kind::Dash || listed(RANGES, &token.low) => reaches = true,
            () if token.kind == Kind::Comma || listed(JOINTS, &token.low) || listed(COUNTED, &token.low) => {}
            () => {
                let mut numbers = token.low.split(['-', '–']).map(|number| number.parse().unwrap_or(0));
                match (numbers.next().unwrap_or(0), numbers.next()) {
                    (0, _) if ranges.is_empty() && !token.low.starts_with(|c: char| c.is_ascii_digit()) => return None,
                    (from, to) if !reaches => ranges.push((from, to.unwrap_or(from))),
                    (to, None) if !ranges.is_empty() => {
                        ranges.last_mut().into_iter().for_each(|open| open.1 = to);
                    }
                    _ => return Some(None),
                }
                reaches = false;
            }
        }
    }
    let counts = !reaches && !ranges.is_empty() && ranges.iter().all(|(from, to)| 0 < *from && from <= to);
    Some(counts.then_some(ranges))
}

/// A number that counts things, in digits or as a word.
pub(super) fn small(count: &str) -> Option<usize> {
    count.parse().ok().or_else(|| SMALL.iter().position(|word| *word == count).map(|place| place + 1))
}
