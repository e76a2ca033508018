//! Changes a value that a request spells out: the model picks the line if several contain it, and
//! code replaces the value.

use std::ops::Range;

use crate::agent::evidence::Evidence;
use crate::agent::player::Form;
use crate::agent::toolkit::TurnError;
use crate::context::{Pack, Shown, is_declaration};
use crate::edit::{Edit, has_grammar, is_comment, line_of, testing};
use crate::index::{is_string, syntax_nodes};
use crate::language::{grounding, words};
use crate::models::dialect::Message;
use crate::request::mentions::Mentions;
use crate::request::substitution::Substitution;

use super::change::{Ask, ask, task};
use super::{Done, Job};

const PROMPT: &str =
    "A request changes a value in a project. Say which of these lines is meant, by its number, and nothing else.";
/// Maximum number of lines to pick from (with more, the value does not identify the place), and of
/// characters shown per line.
const LINES_MAX: usize = 24;
const LINE_CHARS: usize = 120;

/// A line that the model may pick.
struct Line<'a> {
    path: &'a str,
    /// Line number in the file, from 1.
    number: usize,
    text: &'a str,
    /// The nearest less indented line above; empty if there is none.
    under: &'a str,
}

impl<'a> Line<'a> {
    /// The lines of a file that `is_wanted` accepts.
    fn of(path: &'a str, text: &'a str, is_wanted: impl Fn(&str) -> bool) -> Vec<Line<'a>> {
        let lines: Vec<&str> = text.lines().collect();
        let indent = |line: &str| line.len() - line.trim_start().len();
        let under = |at: usize| {
            let above =
                lines[..at].iter().rev().find(|line| !line.trim().is_empty() && indent(line) < indent(lines[at]));
            above.map_or("", |line| line.trim())
        };
        let wanted = (0..lines.len()).filter(|at| is_wanted(lines[*at]));
        wanted.map(|at| Line { path, number: at + 1, text: lines[at], under: under(at) }).collect()
    }
}

/// Replaces the value in the only line that contains it, or in the line that the model picks.
/// `None` if the request spells out no value, or if no shown line contains it.
pub async fn change(
    job: Job<'_>,
    pack: &Pack,
    mentions: &Mentions,
    evidence: &mut Evidence,
) -> Result<Option<Done>, TurnError> {
    let replacements = job.step.text.replacements();
    let spelled_out = replacements.values.as_ref().filter(|one| !one.is_quoted);
    let is_type = spelled_out.is_none();
    let Some(wanted) = spelled_out.or(replacements.types.as_ref()) else { return Ok(None) };
    let is_code = |path: &str| has_grammar(path) && !testing::is_test(path) && !is_declaration(path);
    let lines = pack.files.iter().filter(|file| is_code(&file.path)).flat_map(|file| {
        let docs = documentation(&file.path, &file.text);
        let mut lines = Line::of(&file.path, &file.text, |line| value(line, wanted).is_some());
        lines.retain(|line| !docs.iter().any(|(first, last)| (*first..=*last).contains(&line.number)));
        lines.into_iter().map(move |line| (file, line))
    });
    let mut found: Vec<(&Shown, Line<'_>)> = lines.collect();
    // If the request names a definition, it means the value in that definition.
    let is_named = |(file, line): &(&Shown, Line<'_>)| {
        let mut nodes = mentions.symbols.iter().flat_map(|symbol| &symbol.nodes);
        nodes.any(|node| node.path == file.path && (node.start..=node.end).contains(&line.number))
    };
    let has_named = found.iter().any(is_named);
    found.retain(|one| !has_named || is_named(one));
    // A type is used in many unrelated places.
    if is_type && !has_named && found.len() > 1 {
        return Ok(None);
    }
    let (files, lines): (Vec<&Shown>, Vec<Line<'_>>) = found.into_iter().unzip();
    let chosen = match lines.as_slice() {
        [_] => Some(0),
        several => pick(job, several).await?,
    };
    let Some(at) = chosen else { return Ok(None) };
    let mut all: Vec<String> = files[at].text.split_inclusive('\n').map(str::to_owned).collect();
    let Some(changed) = all.get_mut(lines[at].number - 1) else { return Ok(None) };
    let Some(value) = value(changed, wanted) else { return Ok(None) };
    changed.replace_range(value, &wanted.new);
    let Shown { path, text: before, .. } = files[at];
    match job.edited(path, before, &Edit::Whole(&all.concat()), &[]) {
        Ok(after) if after != *before => job.replace(path, before, &after, evidence).await.map(Some),
        _ => Ok(None),
    }
}

/// Asks the model which line is meant; returns its index in `lines`. `None` if there are no lines
/// or more than `LINES_MAX`.
async fn pick(job: Job<'_>, lines: &[Line<'_>]) -> Result<Option<usize>, TurnError> {
    if lines.is_empty() || lines.len() > LINES_MAX {
        return Ok(None);
    }
    let listed = lines.iter().enumerate().map(|(at, line)| {
        let under = if line.under.is_empty() { String::new() } else { format!(" (under `{}`)", line.under) };
        let under = words::shorten(&under, LINE_CHARS);
        format!("{}. {}:{}: {}{under}", at + 1, line.path, line.number, words::shorten(line.text.trim(), LINE_CHARS))
    });
    let messages =
        [Message::system(PROMPT), Message::user(format!("{}\n\n{}", listed.collect::<Vec<_>>().join("\n"), task(job)))];
    let numbers = (1..=lines.len()).map(|number| number.to_string());
    let form = Form::Choice(numbers.collect());
    let form = Ask { form, tokens: 4, seed: None, phase: "finding the line" };
    let answer = ask(job, &messages, form).await?;
    let chosen =
        answer.whole().unwrap_or_default().trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    tracing::debug!(?chosen, "picked");
    Ok(chosen.filter(|at| *at < lines.len()))
}

/// The first and last line of each string that is a separate statement, such as a docstring.
fn documentation(path: &str, text: &str) -> Vec<(usize, usize)> {
    let nodes = syntax_nodes(path, text, &(0..text.len()));
    let is_statement =
        |parent: Option<usize>| parent.is_some_and(|parent| nodes[parent].kind == "expression_statement");
    let found = nodes.iter().filter(|node| is_string(&node.kind) && is_statement(node.parent));
    found.map(|node| (line_of(text, node.bytes.start), line_of(text, node.bytes.end))).collect()
}

/// The bytes of the old value in a line; `None` if the line is a comment, or does not contain the
/// value exactly once as a word.
fn value(line: &str, wanted: &Substitution) -> Option<Range<usize>> {
    let old = &wanted.old;
    if is_comment(line) {
        return None;
    }
    let is_alone = |at: &usize| !line[..*at].ends_with('.') && !line[at + old.len()..].starts_with('.');
    let at = grounding::places(line, old).find(is_alone).filter(|_| line.matches(old.as_str()).count() == 1)?;
    Some(at..at + old.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Text;

    #[test]
    fn docstrings_are_not_searched_for_values() {
        let text = "def f(indent='\\t'):\n    \"\"\"Indents\n    with '\\t'.\n    \"\"\"\n    return indent\n";
        assert_eq!(documentation("a.py", text), [(2, 4)]);
        let lines = Line::of("a.py", text, |line| line.contains("return"));
        assert_eq!((lines[0].number, lines[0].under), (5, "def f(indent='\\t'):"));
    }

    #[test]
    fn a_value_counts_once_and_by_itself() {
        let wanted = &Text::of("30, not 25").replacements().values.clone().unwrap();
        for line in ["    hyphen_penalty: 25,", "limit = 25", "f(25)"] {
            assert!(value(line, wanted).is_some(), "{line}");
        }
        for line in ["// 25 is enough", "x = 125", "x = 0.25", "f(25, 25)", "a25 = 1"] {
            assert_eq!(value(line, wanted), None, "{line}");
        }
    }
}
