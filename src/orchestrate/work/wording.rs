//! What a program says, worded anew: `the error for a nul byte should be: string has a nul byte`. The text that is meant is found by its
//! words, or picked by the model; code puts the new one in its place.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::json;

use crate::index::{is_string, syntax_nodes};
use crate::orchestrate::evidence::Evidence;
use crate::orchestrate::toolkit::TurnError;
use crate::orchestrate::words;
use crate::tools::builtin::Builtin;

use super::change::perform;
use super::context::{Pack, Shown, text_of};
use super::pick::{self, Line};
use super::read::Step;
use super::{Done, Job, passage, verify};

/// Longest text that a program says.
const TEXT_BYTES_MAX: usize = 240;
/// Marks of values that are put into a text.
const INSERTS: &[char] = &['{', '%', '$', '\\'];

/// Words the text anew that `step` speaks of; `None` if it gives no new wording, or no text of the code shown is meant.
pub async fn change(
    job: Job<'_>,
    step: &Step,
    pack: &Pack,
    evidence: &mut Evidence,
) -> Result<Option<Done>, TurnError> {
    let Some(new) = wording(&step.text) else { return Ok(None) };
    let code = pack.files.iter().filter(|file| crate::edit::has_grammar(&file.path) && !verify::is_test(&file.path));
    let asked = words::content(&step.text);
    let of_file = |file: &'_ Shown| {
        let line_of = |at: usize| file.text[..at].matches('\n').count() + 1;
        let all = texts(&file.path, &file.text).into_iter();
        let meant = all.filter(|bytes| !words::content(&file.text[bytes.clone()]).is_disjoint(&asked));
        meant.map(|bytes| (file.path.clone(), line_of(bytes.start), file.text.clone(), bytes)).collect::<Vec<_>>()
    };
    let all: Vec<(String, usize, String, Range<usize>)> = code.flat_map(of_file).collect();
    let contents: Vec<&str> = all.iter().map(|(_, _, text, bytes)| &text[bytes.clone()]).collect();
    let chosen = match (passage::clearly_meant(&contents, &step.text), contents.len()) {
        (None, 1) => Some(0),
        (None, _) => {
            let lines =
                all.iter().zip(&contents).map(|((path, number, ..), text)| Line { path, number: *number, text });
            pick::pick(job, step, &lines.collect::<Vec<_>>()).await?
        }
        (meant, _) => meant,
    };
    let Some((path, _, before, bytes)) = chosen.and_then(|at| all.get(at)) else { return Ok(None) };
    if text_of(job.scene.context, path).as_ref() != Some(before) {
        return Ok(None);
    }
    let mark = before[..bytes.start].chars().next_back().unwrap_or('"').to_string();
    let new = new.replace(&mark, &format!("\\{mark}"));
    let after = format!("{}{new}{}", &before[..bytes.start], &before[bytes.end..]);
    if after == *before || !verify::problems(job.index, path, before, &after, &[]).is_empty() {
        return Ok(None);
    }
    perform(job.scene, step, Builtin::WriteFile, json!({ "path": path, "content": after }), evidence).await?;
    Ok(Some(Done::default()))
}

/// The texts of a file that a program may say, as bytes without their marks: of several words, no documentation, nothing put into them.
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

/// The new wording of a message that a request gives: quoted, or behind a colon.
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
    (new.trim().contains(' ')).then(|| new.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_wording_is_quoted_or_stands_behind_a_colon() {
        let check = |task: &str, expected: Option<&str>| assert_eq!(wording(task).as_deref(), expected, "{task}");
        check("The error text for a nul byte should be: string has a nul byte", Some("string has a nul byte"));
        check("Change the message of f to 'no such file'.", Some("no such file"));
        check("the error message for x should be shorter", None);
        check("the title should say \"a b\" and run the tests", None);
        check("add a message to the log", None);
    }

    #[test]
    fn what_a_program_says_is_told_from_documentation_and_names() {
        let text = "def f(a):\n    \"\"\"Says it all.\"\"\"\n    if a:\n        raise E('no such file')\n    return g('key', \"at {a} of b\")\n";
        let found: Vec<&str> = texts("a.py", text).into_iter().map(|bytes| &text[bytes]).collect();
        assert_eq!(found, ["no such file"]);
    }
}
