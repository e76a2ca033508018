//! Shortens a report for a small model: the failing tests, and the output about each.

use super::{Failure, Kind, Report};

/// Characters reserved for the line with the number of omitted failures.
const REST_CHARS: usize = 24;

/// A summary of at most `limit_chars` characters. Whole failures are omitted, and counted, before
/// one is shortened.
pub fn summary(report: &Report, limit_chars: usize) -> String {
    let mut text = head(report);
    let mut shown = 0;
    for failure in &report.errors {
        let part = one(failure);
        let room = limit_chars.saturating_sub(text.chars().count() + REST_CHARS);
        if part.chars().count() > room && shown > 0 {
            break;
        }
        text.extend(part.chars().take(room));
        shown += 1;
    }
    let rest = report.failed.max(report.errors.len()) - shown;
    if rest > 0 && shown > 0 {
        text.push_str(&format!("\n… and {rest} more"));
    }
    text.chars().take(limit_chars).collect()
}

fn head(report: &Report) -> String {
    let Report { passed, failed, .. } = report;
    match report.kind {
        Kind::Passed => format!("{passed} passed"),
        Kind::Failed => format!("{failed} failed, {passed} passed"),
        Kind::Broken => "the code does not compile or load".to_owned(),
        Kind::Hung => "the run was stopped at its time limit: something waits or loops for ever".to_owned(),
        Kind::NoTests => "no tests ran".to_owned(),
        Kind::Missing => "the command could not be run".to_owned(),
    }
}

fn one(failure: &Failure) -> String {
    let place = failure.file.as_ref().map(|file| match failure.line {
        Some(line) => format!("{file}:{line}"),
        None => file.clone(),
    });
    let name = match (&failure.test, place) {
        (Some(test), Some(place)) if !test.contains(&place) => format!("{test} ({place})"),
        (Some(test), _) => test.clone(),
        (None, Some(place)) => place,
        (None, None) => String::new(),
    };
    let mut text = if name.is_empty() { String::new() } else { format!("\n- {name}") };
    failure.message.lines().for_each(|line| text.push_str(&format!("\n  {line}")));
    let deepest = failure.frames.first().filter(|_| failure.frames.len() > 1);
    deepest.into_iter().for_each(|frame| text.push_str(&format!("\n  at {}:{}", frame.file, frame.line)));
    text
}
