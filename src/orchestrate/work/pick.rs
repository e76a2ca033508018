//! A value that a request spells out and several lines have: the model picks the line, code changes the value.

use crate::models::dialect::Message;
use crate::orchestrate::evidence::Evidence;
use crate::orchestrate::toolkit::TurnError;
use crate::orchestrate::{check, words};

use super::change::{Ask, ask, code_of, put, task};
use super::context::{Pack, Shown};
use super::read::Step;
use super::{Done, Job, substitution};

const PROMPT: &str =
    "A request changes a value in a project. Say which of these lines is meant, by its number, and nothing else.";
/// Most lines to pick from, and letters of each; more say that the value is no clue.
const LINES_MAX: usize = 24;
const LINE_CHARS: usize = 120;

/// A line to choose.
pub struct Line<'a> {
    pub path: &'a str,
    /// Its place in the file, from 1, and its text.
    pub number: usize,
    pub text: &'a str,
}

/// Changes the value in the line that the model picks; `None` if the request spells out no value, or no line of the code shown has it.
pub async fn change(
    job: Job<'_>,
    step: &Step,
    pack: &Pack,
    evidence: &mut Evidence,
) -> Result<Option<Done>, TurnError> {
    let Some(wanted) = substitution::of(&step.text).filter(|one| !one.is_quoted) else { return Ok(None) };
    let lines = code_of(pack).flat_map(|file| {
        let numbered = file.text.lines().enumerate().filter(|(_, text)| has_value(text, &wanted.old));
        numbered.map(move |(at, text)| (file, Line { path: &file.path, number: at + 1, text }))
    });
    let (files, lines): (Vec<&Shown>, Vec<Line<'_>>) = lines.unzip();
    let chosen = match lines.as_slice() {
        [_] => Some(0),
        several => pick(job, step, several).await?,
    };
    let Some(at) = chosen else { return Ok(None) };
    let mut all: Vec<String> = files[at].text.split_inclusive('\n').map(str::to_owned).collect();
    let Some(changed) = all.get_mut(lines[at].number - 1) else { return Ok(None) };
    *changed = changed.replacen(&wanted.old, &wanted.new, 1);
    put(job, step, files[at], &all.concat(), evidence).await
}

/// The line that the model says is meant, by its place; `None` where there is none, or are too many to choose from.
pub async fn pick(job: Job<'_>, step: &Step, lines: &[Line<'_>]) -> Result<Option<usize>, TurnError> {
    if lines.is_empty() || lines.len() > LINES_MAX {
        return Ok(None);
    }
    let listed = lines.iter().enumerate().map(|(at, line)| {
        format!("{}. {}:{}: {}", at + 1, line.path, line.number, words::shorten(line.text.trim(), LINE_CHARS))
    });
    let messages = [
        Message::system(PROMPT),
        Message::user(format!("{}\n\n{}", listed.collect::<Vec<_>>().join("\n"), task(job, step))),
    ];
    let numbers: Vec<String> = (1..=lines.len()).map(|number| format!("\"{number}\"")).collect();
    let grammar = format!("start: {}\n", numbers.join(" | "));
    let answer = ask(job, &messages, Ask { grammar, tokens: 4, seed: None, phase: "finding the line" }).await?;
    let chosen = answer.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    tracing::debug!(?chosen, "picked");
    Ok(chosen.filter(|at| *at < lines.len()))
}

/// Whether a line of code, no comment, has a value once and by itself.
fn has_value(line: &str, value: &str) -> bool {
    let code = line.trim_start();
    let is_comment = ["//", "#", "*", "/*", "--"].iter().any(|mark| code.starts_with(mark));
    let is_alone = |at: usize| !line[..at].ends_with('.') && !line[at + value.len()..].starts_with('.');
    !is_comment && line.matches(value).count() == 1 && check::places(line, value).any(is_alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stands_by_itself() {
        for line in ["    hyphen_penalty: 25,", "limit = 25", "f(25)"] {
            assert!(has_value(line, "25"), "{line}");
        }
        for line in ["// 25 is enough", "x = 125", "x = 0.25", "f(25, 25)", "a25 = 1"] {
            assert!(!has_value(line, "25"), "{line}");
        }
    }
}
