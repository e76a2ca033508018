//! Reads days by their name: weekdays, months, dates as people and machines write them.

use jiff::civil::{Date, DateTime, Time, Weekday, date};

use super::dates::Stretch;

pub(super) const MONTHS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

pub(super) const WEEKDAYS: &[(&str, Weekday)] = &[
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

pub(super) fn weekday(word: &str) -> Option<Weekday> {
    let bare = word.trim_end_matches("'s");
    WEEKDAYS.iter().find(|(name, _)| *name == bare).map(|(_, day)| *day)
}

/// The first such weekday after `from`; `from` itself counts with `or_today`.
pub(super) fn coming(from: Date, weekday: Weekday, or_today: bool) -> Option<Date> {
    if or_today && from.weekday() == weekday { Some(from) } else { from.nth_weekday(1, weekday).ok() }
}

pub(super) fn before(from: Date, weekday: Weekday) -> Option<Date> {
    from.nth_weekday(-1, weekday).ok()
}

pub(super) fn month(word: &str) -> Option<i8> {
    let bare = word.trim_end_matches('.');
    let at = MONTHS.iter().position(|name| {
        *name == bare || bare.len() >= 3 && bare != "may" && bare.len() <= 4 && name.starts_with(bare)
    })?;
    i8::try_from(at + 1).ok()
}

pub(super) fn day_number(word: &str) -> Option<i8> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = &word[digits.len()..];
    digits.parse().ok().filter(|n| (1..=31).contains(n) && matches!(suffix, "" | "st" | "nd" | "rd" | "th"))
}

pub(super) fn year(word: &str) -> Option<i16> {
    word.parse().ok().filter(|y| word.len() == 4 && (1900..=2200).contains(y))
}

/// `2026-03-05`, `3/5/2026`, `March 5, 2026`, `5 March`, `March 2026`.
pub(super) fn calendar(words: &[&str], today: Date) -> Option<Stretch> {
    let word = |i: usize| words.get(i).copied().unwrap_or("");
    let day = |day: Date, length: usize| {
        Some((day.to_datetime(Time::midnight()), day.to_datetime(Time::midnight()), false, length))
    };
    if let Ok(moment) = word(0)
        .to_uppercase()
        .parse::<DateTime>()
        .or_else(|_| word(0).parse::<Date>().map(|d| d.to_datetime(Time::midnight())))
    {
        let timed = word(0).contains('t');
        return word(0).contains('-').then_some((moment, moment, timed, 1));
    }
    let slashed: Vec<&str> = word(0).split('/').collect();
    if let [m, d, y] = slashed.as_slice() {
        let (m, d, y) = (m.parse().ok()?, d.parse().ok()?, year(y)?);
        return day(Date::new(y, m, d).or_else(|_| Date::new(y, d, m)).ok()?, 1);
    }
    let (month_at, day_at) = match (month(word(0)), month(word(1))) {
        (Some(_), _) => (0, 1),
        (None, Some(_)) => (1, 0),
        _ if word(1) == "of" && month(word(2)).is_some() => (2, 0),
        _ => return None,
    };
    let m = month(word(month_at))?;
    if month_at == 0 && day_number(word(1)).is_none() {
        let y = year(word(1))?;
        let from = date(y, m, 1);
        return Some((
            from.to_datetime(Time::midnight()),
            from.last_of_month().to_datetime(Time::midnight()),
            false,
            2,
        ));
    }
    let d = day_number(word(day_at))?;
    let end = month_at.max(day_at) + 1;
    let comma = usize::from(word(end) == ",");
    let said = year(word(end + comma));
    let length = if said.is_some() { end + comma + 1 } else { end };
    let this_year = Date::new(said.unwrap_or(today.year()), m, d).ok()?;
    // Without a year the next such day is meant.
    let chosen = if said.is_none() && this_year < today { Date::new(today.year() + 1, m, d).ok()? } else { this_year };
    day(chosen, length)
}
