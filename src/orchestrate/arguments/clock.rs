//! Reads a time of day: `2pm`, `2:30 pm`, `14:00`, `noon`, `9 to 11am`.

use jiff::civil::Time;

/// A time of day at `at`: `2pm`, `2:30 pm`, `14:00`, `noon`, `9` in `9 to 11am`.
pub(super) fn clock(words: &[&str], at: usize) -> Option<(Time, usize)> {
    let word = |i: usize| words.get(i).copied().unwrap_or("");
    match word(at) {
        "noon" => return Some((Time::constant(12, 0, 0, 0), 1)),
        "midnight" => return Some((Time::midnight(), 1)),
        _ => {}
    }
    let own = half_of(word(at));
    let next = half_of_word(word(at + 1));
    let half = own.or(next);
    // `9 to 11am`: the second time says which half of the day the first is in.
    let later = matches!(word(at + 1), "to" | "-" | "–" | "until" | "till")
        .then(|| half_of(word(at + 2)).or(half_of_word(word(at + 3))))
        .flatten();
    let named = matches!(at.checked_sub(1).map(word), Some("at" | "@"));
    let colon = word(at).contains(':');
    if half.is_none() && later.is_none() && !colon && !named {
        return None;
    }
    let digits = word(at)
        .trim_end_matches("am")
        .trim_end_matches("pm")
        .trim_end_matches("a.m.")
        .trim_end_matches("p.m.")
        .trim_end_matches("a.m")
        .trim_end_matches("p.m");
    let time = hour(digits, half.or(later))?;
    Some((time, 1 + usize::from(own.is_none() && next.is_some())))
}

pub(super) fn half_of(word: &str) -> Option<bool> {
    let bare = word.replace('.', "");
    let digits = bare.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit() || c == ':') {
        return None;
    }
    half_of_word(&bare[digits.len()..])
}

pub(super) fn half_of_word(word: &str) -> Option<bool> {
    match word {
        "am" | "a.m." | "a.m" => Some(false),
        "pm" | "p.m." | "p.m" => Some(true),
        _ => None,
    }
}

pub(super) fn hour(digits: &str, afternoon: Option<bool>) -> Option<Time> {
    let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "0"));
    let (hours, minutes): (i8, i8) = (hours.parse().ok()?, minutes.parse().ok()?);
    let hours = match afternoon {
        Some(true) if hours < 12 => hours + 12,
        Some(false) if hours == 12 => 0,
        _ => hours,
    };
    Time::new(hours, minutes, 0, 0).ok()
}
