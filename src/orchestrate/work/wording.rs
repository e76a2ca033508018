//! Replaces a message of a program: `the error for a nul byte should be: string has a nul byte`. The old message is found by its words, or
//! picked by the model.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::edit::line_of;
use crate::index::{is_string, syntax_nodes};
use crate::language::words;
use crate::orchestrate::evidence::Evidence;
use crate::orchestrate::toolkit::TurnError;

use super::change::{code_of, put};
use super::pick::{self, Line};
use super::{Done, Job, passage};
use crate::context::{Pack, Shown};
use crate::request::Step;

/// Longest string literal that counts as a message.
const TEXT_BYTES_MAX: usize = 240;
/// Fewest words that a message shares with the request that means it.
const SHARED_MIN: usize = 2;
/// Characters of placeholders and escapes.
const INSERTS: &[char] = &['{', '%', '$', '\\'];

/// Replaces the message that `step` speaks of. `None` if it gives no new wording, or no message of the code shown is found.
pub async fn change(
    job: Job<'_>,
    step: &Step,
    pack: &Pack,
    evidence: &mut Evidence,
) -> Result<Option<Done>, TurnError> {
    let Some(new) = wording(&step.text) else { return Ok(None) };
    let asked = words::content(&step.text);
    let meant = |text: &str| words::content(text).intersection(&asked).count() >= SHARED_MIN;
    let all = code_of(pack).flat_map(|file| texts(&file.path, &file.text).into_iter().map(move |text| (file, text)));
    let all: Vec<(&Shown, Range<usize>)> = all.filter(|(file, bytes)| meant(&file.text[bytes.clone()])).collect();
    let contents: Vec<&str> = all.iter().map(|(file, bytes)| &file.text[bytes.clone()]).collect();
    let chosen = match (passage::clearly_meant(&contents, &step.text), contents.len()) {
        (None, 1) => Some(0),
        (None, _) => {
            let lines = all.iter().zip(&contents).map(|((file, bytes), text)| Line {
                path: &file.path,
                number: line_of(&file.text, bytes.start),
                text,
                under: "",
            });
            pick::pick(job, step, &lines.collect::<Vec<_>>()).await?
        }
        (meant, _) => meant,
    };
    let Some((file, bytes)) = chosen.and_then(|at| all.get(at)) else { return Ok(None) };
    let (before, behind) = (&file.text[..bytes.start], &file.text[bytes.end..]);
    let mark = before.chars().next_back().unwrap_or('"').to_string();
    let new = new.replace(&mark, &format!("\\{mark}"));
    put(job, step, file, &format!("{before}{new}{behind}"), evidence).await
}

/// The string literals of a file that may be messages, as byte ranges without quotation marks: several words, no docstring, no placeholder.
fn texts(path: &str, text: &str) -> Vec<Range<usize>> {
    let nodes = syntax_nodes(path, text, &(0..text.len()));
    let is_statement = |parent: Option<usize>| parent.is_none_or(|parent| nodes[parent].kind == "expression_statement");
    let found = nodes.iter().filter(|node| is_string(&node.kind) && !is_statement(node.parent));
    let inner = found.filter_map(|node| {
        let (start, end) = (node.bytes.start, node.bytes.end);
        let open = text[start..end].find(['"', '\'', '`']).map(|at| start + at + 1)?;
        let close = text[open..end].rfind(['"', '\'', '`']).map(|at| open + at)?;
        Some(open..close)
    });
    let says = |bytes: &Range<usize>| {
        let content = &text[bytes.clone()];
        content.trim().contains(' ') && content.len() <= TEXT_BYTES_MAX && !content.contains(INSERTS)
    };
    inner.filter(says).collect()
}

/// The new wording of a message that a request gives, quoted or after a colon.
fn wording(task: &str) -> Option<String> {
    static WORDED: LazyLock<Regex> = LazyLock::new(|| {
        let what = r"(?:text|message|wording|hint|label|title|description|prompt|error|warning|meldung|fehlermeldung|fehlertext|mensaje|texto|texte)";
        let verb = r"(?:(?:should|must|shall|has to|soll|sollte|muss|doit|debe)\s+(?:be|say|read|become|lauten|sein|heißen|être|dire|decir|ser)|\bto)";
        Regex::new(&format!("(?is)\\b{what}\\b[^.:\"“«]{{0,80}}?\\s{verb}\\s*(:?)\\s*(.+)$")).expect("a pattern")
    });
    let found = WORDED.captures(task)?;
    let rest = found[2].trim();
    let closer = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('«', '»'), ('„', '“')];
    let quoted = closer.iter().find_map(|(open, close)| rest.strip_prefix(*open)?.split_once(*close));
    let new = match quoted {
        Some((inner, behind)) if behind.trim_matches(['.', '!', ' ']).is_empty() => inner,
        None if !found[1].is_empty() && !rest.contains('\n') => rest.trim_end_matches('.'),
        _ => return None,
    };
    (new.trim().contains(' ') && !new.contains(INSERTS)).then(|| new.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_wording_is_quoted_or_follows_a_colon() {
        let check = |task: &str, expected: Option<&str>| assert_eq!(wording(task).as_deref(), expected, "{task}");
        check("The error text for a nul byte should be: string has a nul byte", Some("string has a nul byte"));
        check("Change the message of f to 'no such file'.", Some("no such file"));
        check("the error message for x should be shorter", None);
        check("the title should say \"a b\" and run the tests", None);
        check("add a message to the log", None);
        check("the message should be: {n} files of {all}", None);
    }

    #[test]
    fn docstrings_and_single_words_are_no_messages() {
        let text = "def f(a):\n    \"\"\"Says it all.\"\"\"\n    if a:\n        raise E('no such file')\n    return g('key', \"at {a} of b\")\n";
        let found: Vec<&str> = texts("a.py", text).into_iter().map(|bytes| &text[bytes]).collect();
        assert_eq!(found, ["no such file"]);
    }
}
