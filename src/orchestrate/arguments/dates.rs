//! Turns `tomorrow at 2pm`, `last hour`, `this week`, `March 5` into dates and times, counted from a given now.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::{Span, ToSpan};

use super::calendar::{before, calendar, coming, weekday};
use super::clock::clock;
use crate::orchestrate::decompose::scan::Token;

/// A stretch of time that a text speaks of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct When {
    pub from: DateTime,
    /// The last moment of it; a day without a time ends at its midnight.
    pub to: DateTime,
    /// A time of day was said.
    pub timed: bool,
    /// More than one day, or two times: `this week`, `9 to 11am`.
    pub ranged: bool,
    /// The tokens that say it.
    pub first: usize,
    pub last: usize,
}

/// Everything in `tokens` that says when, in order. A time of day joins the day nearest to it, or today.
pub(super) fn find(tokens: &[Token], now: DateTime) -> Vec<When> {
    let words: Vec<&str> =
        tokens.iter().map(|token| if token.low.is_empty() { token.text } else { token.low.as_str() }).collect();
    let mut days: Vec<When> = Vec::new();
    let mut hours: Vec<(Time, usize, usize)> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if let Some((from, to, timed, length)) = stretch(&words[at..], now) {
            days.push(When {
                from,
                to,
                timed,
                ranged: from.date() != to.date() || timed && from != to,
                first: at,
                last: at + length - 1,
            });
            at += length;
        } else if let Some((time, length)) = clock(&words, at) {
            hours.push((time, at, at + length - 1));
            at += length;
        } else {
            at += 1;
        }
    }
    join(days, hours, now)
}

fn join(mut days: Vec<When>, hours: Vec<(Time, usize, usize)>, now: DateTime) -> Vec<When> {
    for pair in chunk_ranges(&hours) {
        let (first, last) = (pair[0], pair[pair.len() - 1]);
        let near = (0..days.len()).filter(|&i| !days[i].timed && days[i].from.date() == days[i].to.date());
        match near.min_by_key(|&i| days[i].first.abs_diff(first.1)) {
            Some(i) => {
                let day = days[i].from.date();
                let spread = (days[i].first.min(first.1), days[i].last.max(last.2));
                days[i] = When {
                    from: day.to_datetime(first.0),
                    to: day.to_datetime(last.0),
                    timed: true,
                    ranged: pair.len() > 1,
                    first: spread.0,
                    last: spread.1,
                };
            }
            None => {
                let day = now.date();
                days.push(When {
                    from: day.to_datetime(first.0),
                    to: day.to_datetime(last.0),
                    timed: true,
                    ranged: pair.len() > 1,
                    first: first.1,
                    last: last.2,
                });
            }
        }
    }
    days.sort_by_key(|when| when.first);
    days
}

/// Two times with only `to`, `-`, `until` between them are one stretch.
fn chunk_ranges(hours: &[(Time, usize, usize)]) -> Vec<Vec<(Time, usize, usize)>> {
    let mut chunks: Vec<Vec<(Time, usize, usize)>> = Vec::new();
    for hour in hours {
        match chunks.last_mut() {
            Some(chunk) if chunk.len() == 1 && hour.1 - chunk[0].2 <= 2 => chunk.push(*hour),
            _ => chunks.push(vec![*hour]),
        }
    }
    chunks
}

/// From, to, whether a time was said, how many words say it.
pub(super) type Stretch = (DateTime, DateTime, bool, usize);

fn stretch(words: &[&str], now: DateTime) -> Option<Stretch> {
    let today = now.date();
    let word = |i: usize| words.get(i).copied().unwrap_or("");
    let day = |day: Date, length: usize| {
        Some((day.to_datetime(Time::midnight()), day.to_datetime(Time::midnight()), false, length))
    };
    let days = |from: Date, to: Date, length: usize| {
        Some((from.to_datetime(Time::midnight()), to.to_datetime(Time::midnight()), false, length))
    };
    let shift = |span: Span| today.checked_add(span).ok();
    if word(0) == "the" && word(1) == "day" && word(2) == "after" && word(3) == "tomorrow"
        || word(0) == "day" && word(1) == "after" && word(2) == "tomorrow"
    {
        return day(shift(2.days())?, if word(0) == "the" { 4 } else { 3 });
    }
    match word(0) {
        "today" | "tonight" | "сегодня" => return day(today, 1),
        "tomorrow" | "tomorrow's" | "завтра" => return day(shift(1.day())?, 1),
        "yesterday" | "yesterday's" | "вчера" => return day(shift(-1.days())?, 1),
        "end" if word(1) == "of" => {
            let skip = usize::from(matches!(word(2), "the" | "this"));
            let friday = coming(today, Weekday::Friday, true)?;
            return match word(2 + skip) {
                "week" => day(friday, 3 + skip),
                "month" => day(today.last_of_month(), 3 + skip),
                "year" => day(today.last_of_year(), 3 + skip),
                "day" | "today" => day(today, 3 + skip),
                _ => None,
            };
        }
        _ => {}
    }
    if let Some(when) = counted(words, now) {
        return Some(when);
    }
    if matches!(word(0), "this" | "next" | "last" | "past" | "previous" | "coming" | "current") {
        let step: i64 = match word(0) {
            "next" | "coming" => 1,
            "this" | "current" => 0,
            _ => -1,
        };
        let monday = today.checked_sub(i64::from(today.weekday().to_monday_zero_offset()).days()).ok()?;
        return match word(1) {
            "week" => {
                let from = monday.checked_add((7 * step).days()).ok()?;
                days(from, from.checked_add(6.days()).ok()?, 2)
            }
            "weekend" => {
                let from = monday.checked_add((7 * step + 5).days()).ok()?;
                days(from, from.checked_add(1.day()).ok()?, 2)
            }
            "month" => {
                let from = today.first_of_month().checked_add(step.months()).ok()?;
                days(from, from.last_of_month(), 2)
            }
            "year" => {
                let from = today.first_of_year().checked_add(step.years()).ok()?;
                days(from, from.last_of_year(), 2)
            }
            "morning" | "afternoon" | "evening" | "night" if step == 0 => day(today, 1),
            "night" => day(shift(-1.days())?, 2),
            "hour" if step < 0 => Some((now.checked_sub(1.hour()).ok()?, now, true, 2)),
            "minute" if step < 0 => Some((now.checked_sub(1.minute()).ok()?, now, true, 2)),
            "day" if step < 0 => Some((now.checked_sub(1.day()).ok()?, now, true, 2)),
            name => {
                let weekday = weekday(name)?;
                day(if step < 0 { before(today, weekday)? } else { coming(today, weekday, step == 0)? }, 2)
            }
        };
    }
    if let Some(weekday) = weekday(word(0)) {
        return day(coming(today, weekday, false)?, 1);
    }
    calendar(words, today)
}

/// `in 3 days`, `2 weeks ago`, `last 30 minutes`, `next 7 days`.
fn counted(words: &[&str], now: DateTime) -> Option<Stretch> {
    let word = |i: usize| words.get(i).copied().unwrap_or("");
    let lead = usize::from(matches!(word(0), "in" | "last" | "past" | "next" | "previous" | "within"));
    let lead = lead + usize::from(lead == 1 && word(1) == "the");
    let count = amount(word(lead))?;
    let (span, exact) = unit(word(lead + 1), count)?;
    let length = lead + 2;
    let midnight = |moment: DateTime| if exact { moment } else { moment.date().to_datetime(Time::midnight()) };
    match (word(0), word(length)) {
        (_, "ago") if lead == 0 => {
            let from = midnight(now.checked_sub(span).ok()?);
            Some((from, from, exact, length + 1))
        }
        ("in" | "within", _) if lead > 0 => {
            let from = midnight(now.checked_add(span).ok()?);
            Some((from, from, exact, length))
        }
        ("last" | "past" | "previous", _) => {
            Some((midnight(now.checked_sub(span).ok()?), midnight(now), exact, length))
        }
        ("next", _) => Some((midnight(now), midnight(now.checked_add(span).ok()?), exact, length)),
        _ => None,
    }
}

/// A whole number, in digits or as a word up to twelve.
pub(super) fn amount(word: &str) -> Option<i64> {
    const NAMES: &[&str] =
        &["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    if matches!(word, "a" | "an") {
        return Some(1);
    }
    NAMES
        .iter()
        .position(|name| *name == word)
        .map(|n| n as i64)
        .or_else(|| word.parse().ok())
        .filter(|n| (0..=100_000).contains(n))
}

fn unit(word: &str, count: i64) -> Option<(Span, bool)> {
    Some(match word.trim_end_matches('s') {
        "minute" | "min" => (Span::new().try_minutes(count).ok()?, true),
        "hour" | "hr" => (Span::new().try_hours(count).ok()?, true),
        "day" => (Span::new().try_days(count).ok()?, false),
        "week" => (Span::new().try_weeks(count).ok()?, false),
        "month" => (Span::new().try_months(count).ok()?, false),
        "year" => (Span::new().try_years(count).ok()?, false),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::orchestrate::decompose::scan::scan;

    /// Counted from Saturday, 21 November 2026, 10:30.
    fn check(text: &str, expected: &str) {
        let found = find(&scan(text), date(2026, 11, 21).at(10, 30, 0, 0));
        let shown: Vec<String> = found
            .iter()
            .map(|when| {
                let show = |moment: DateTime| {
                    if when.timed { moment.strftime("%Y-%m-%dT%H:%M").to_string() } else { moment.date().to_string() }
                };
                if when.ranged { format!("{}..{}", show(when.from), show(when.to)) } else { show(when.from) }
            })
            .collect();
        assert_eq!(shown.join(" "), expected, "{text}");
    }

    #[test]
    fn days_are_counted_from_today() {
        check("due tomorrow", "2026-11-22");
        check("yesterday's standup", "2026-11-20");
        check("by Friday", "2026-11-27");
        check("next Tuesday", "2026-11-24");
        check("last Monday", "2026-11-16");
        check("in 3 days", "2026-11-24");
        check("two weeks ago", "2026-11-07");
        check("by end of week", "2026-11-27");
        check("by the end of the month", "2026-11-30");
    }

    #[test]
    fn stretches_have_two_ends() {
        check("this week", "2026-11-16..2026-11-22");
        check("last month", "2026-10-01..2026-10-31");
        check("the last hour", "2026-11-21T09:30..2026-11-21T10:30");
        check("the last 30 days", "2026-10-22..2026-11-21");
        check("in March 2025", "2025-03-01..2025-03-31");
    }

    #[test]
    fn times_join_their_day() {
        check("next Tuesday at 2pm", "2026-11-24T14:00");
        check("tomorrow 9 to 11am", "2026-11-22T09:00..2026-11-22T11:00");
        check("at 14:30", "2026-11-21T14:30");
        check("tomorrow at noon", "2026-11-22T12:00");
        check("on March 5 from 9:30 am to 5 pm", "2027-03-05T09:30..2027-03-05T17:00");
    }

    #[test]
    fn calendar_dates_are_read() {
        check("on 2026-03-05", "2026-03-05");
        check("12/24/2026", "2026-12-24");
        check("March 5th, 2027", "2027-03-05");
        check("24 December", "2026-12-24");
        check("2026-03-05T08:15:00", "2026-03-05T08:15");
    }

    #[test]
    fn other_numbers_are_left_alone() {
        check("change 5 to 3 in a.rs", "");
        check("you may march on", "");
        check("the top 10 results in 2 files", "");
        check("version 1.2.3 of 9-10", "");
    }
}
