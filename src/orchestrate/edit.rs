//! Finds what to replace in a file: by code where the task says from what to what or what is to go, else a model rewrites one line.

use std::io::Read;

use serde_json::{Map, json};

use crate::engine::{Grammar, Request, Sampling};
use crate::models::Role;
use crate::models::dialect::Message;
use crate::tools::Context;
use crate::tools::confine::Access;

use super::Host;
use super::arguments::{Edit, settle_edit, settle_removal};
use super::toolkit::{Toolkit, TurnError};
use super::words;

const PROMPT: &str = include_str!("prompts/edit.md");
const REMOVAL: &str = include_str!("prompts/remove.md");
/// Largest file that is edited this way.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Lines a model may choose from.
const LINES_SHOWN: usize = 12;
/// Longest new line, in characters and in tokens.
const LINE_CHARS_MAX: usize = 300;
const LINE_TOKENS_MAX: usize = 140;
/// `line: 12345`, in tokens.
const NUMBER_TOKENS_MAX: usize = 16;

/// A file, and what is to become of it.
#[derive(Clone, Copy)]
struct Sheet<'a> {
    path: &'a str,
    text: &'a str,
    task: &'a str,
}

/// What a step asks for.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The clause alone: what it takes out is read from nothing else.
    pub clause: &'a str,
    /// With the sentences that say how things are.
    pub whole: &'a str,
}

/// What a model is told, what it writes behind a line's number (Lark), and its most tokens.
#[derive(Clone, Copy)]
struct Form<'a> {
    system: &'a str,
    rest: &'a str,
    tokens_max: usize,
}

/// The arguments of a `replace_in_file` call for `task`, or why there are none.
pub async fn arguments(
    toolkit: &Toolkit,
    context: &Context,
    path: &str,
    task: Task<'_>,
    host: &dyn Host,
) -> Result<Result<Map<String, serde_json::Value>, String>, TurnError> {
    let text = match read(context, path) {
        Ok(text) => text,
        Err(error) => return Ok(Err(error)),
    };
    let sheet = |task| Sheet { path, text: &text, task };
    let arguments = |old: &str, new: &str| match json!({ "path": path, "old": old, "new": new }) {
        serde_json::Value::Object(map) => map,
        _ => Map::new(),
    };
    // What is to go is never written by a model: code finds the places that the task points at, a model at most says which.
    if let Some(places) = settle_removal(task.clause, path, &text) {
        let places = match places {
            Ok(places) => places,
            Err(reason) => return Ok(Err(reason)),
        };
        let edit = removed(toolkit, sheet(task.clause), places, host).await?;
        return Ok(edit.map(|edit| arguments(&edit.old, &edit.new)));
    }
    if let Some(edit) = settle_edit(task.whole, &text) {
        return Ok(Ok(arguments(&edit.old, &edit.new)));
    }
    Ok(rewritten(toolkit, sheet(task.whole), host).await?.map(|(old, new)| arguments(&old, &new)))
}

fn read(context: &Context, path: &str) -> Result<String, String> {
    let file = context.root.resolve(path, Access::Read).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let mut open = file.open().map_err(|error| error.to_string())?.take(FILE_BYTES_MAX + 1);
    open.read_to_string(&mut text).map_err(|error| format!("{path}: {error}"))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("{path} is larger than {FILE_BYTES_MAX} bytes; change it by naming the exact text"));
    }
    Ok(text)
}

/// The place that a removal means, among those that answer to the task equally well.
async fn removed(
    toolkit: &Toolkit,
    sheet: Sheet<'_>,
    places: Vec<Edit>,
    host: &dyn Host,
) -> Result<Result<Edit, String>, TurnError> {
    let Sheet { path, text, task } = sheet;
    let number = match places.as_slice() {
        [only] => only.line,
        _ => {
            let line = |edit: &Edit| Some((edit.line, text.lines().nth(edit.line - 1)?));
            let lines: Vec<(usize, &str)> = places.iter().filter_map(line).collect();
            let form = Form { system: REMOVAL, rest: "", tokens_max: NUMBER_TOKENS_MAX };
            let written = about_a_line(toolkit, sheet, &lines, form, host).await?;
            field(&written, "line:").and_then(|number| number.parse().ok()).unwrap_or_default()
        }
    };
    let meant = places.into_iter().find(|edit| edit.line == number);
    Ok(meant.ok_or_else(|| format!("which line of {path} `{}` means was not said", words::shorten(task, 120))))
}

/// One line as a model rewrites it. Its proposal has to carry every name, number and quotation of the task that the
/// old line does not have yet; the user sees it as a diff like any other change.
async fn rewritten(
    toolkit: &Toolkit,
    sheet: Sheet<'_>,
    host: &dyn Host,
) -> Result<Result<(String, String), String>, TurnError> {
    let Sheet { path, text, task } = sheet;
    let router = toolkit.model(Role::Router, host).await?;
    if !router.capability.supports_complex_reasoning {
        let model = router.engine.model();
        return Ok(Err(format!(
            "{model} cannot write code; say the change as `change A to B in {path}`, or get a model that can (scripts/fetch-models)"
        )));
    }
    let candidates = candidates(text, task, path);
    if candidates.is_empty() {
        return Ok(Err(format!(
            "no line of {path} has to do with `{}`; name the text to replace",
            words::shorten(task, 120)
        )));
    }
    let rest = format!(" \"new: \" LINE \"\\n\"\nLINE: /[^\\n]{{1,{LINE_CHARS_MAX}}}/");
    let form = Form { system: PROMPT, rest: &rest, tokens_max: LINE_TOKENS_MAX };
    let written = about_a_line(toolkit, sheet, &candidates, form, host).await?;
    Ok(proposal(&written, &candidates, task, path).ok_or_else(|| {
        format!("no change of {path} could be made out for `{}`; say it as: change A to B", words::shorten(task, 120))
    }))
}

/// What a model writes about one of these lines: its number first, then what the form asks for.
async fn about_a_line(
    toolkit: &Toolkit,
    Sheet { path, task, .. }: Sheet<'_>,
    lines: &[(usize, &str)],
    Form { system, rest, tokens_max }: Form<'_>,
    host: &dyn Host,
) -> Result<String, TurnError> {
    let planner = toolkit.model(Role::Planner, host).await?;
    let shown: Vec<String> = lines.iter().map(|(number, line)| format!("{number}: {}", line.trim())).collect();
    let messages = [
        Message::system(system.trim()),
        Message::user(format!("{path}:\n{}\n\nTask: {}", shown.join("\n"), words::shorten(task, 1_000))),
    ];
    let numbers: Vec<String> = lines.iter().map(|(number, _)| format!("\"{number}\"")).collect();
    let grammar = format!("start: \"line: \" number \"\\n\"{rest}\nnumber: {}\n", numbers.join(" | "));
    let request = Request {
        grammar: Some(Grammar::Lark(grammar)),
        sampling: Sampling::greedy(),
        ..planner.engine.request(&planner.dialect.render(&messages), tokens_max)
    };
    Ok(toolkit.generate(&planner, request, "writing the change", host).await?.text)
}

/// Lines that share words with the task, most first, at most [`LINES_SHOWN`], in the order of the file.
fn candidates<'t>(text: &'t str, task: &str, path: &str) -> Vec<(usize, &'t str)> {
    let mut wanted = words::content(task);
    words::content(path).iter().for_each(|word| {
        wanted.remove(word);
    });
    let mut scored: Vec<(usize, usize, &str)> = text
        .lines()
        .enumerate()
        .map(|(n, line)| (words::content(line).intersection(&wanted).count(), n + 1, line))
        .filter(|(score, ..)| *score > 0)
        .collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.truncate(LINES_SHOWN);
    scored.sort_by_key(|(_, number, _)| *number);
    scored.into_iter().map(|(_, number, line)| (number, line)).collect()
}

fn field<'w>(written: &'w str, name: &str) -> Option<&'w str> {
    written.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

fn proposal(written: &str, candidates: &[(usize, &str)], task: &str, path: &str) -> Option<(String, String)> {
    let number: usize = field(written, "line:")?.parse().ok()?;
    let old = candidates.iter().find(|(candidate, _)| *candidate == number)?.1;
    let indent = &old[..old.len() - old.trim_start().len()];
    let new = format!("{indent}{}", field(written, "new:")?);
    let kept = words::marks(task)
        .into_iter()
        .filter(|mark| !path.contains(mark.as_str()))
        .all(|mark| new.contains(&mark) || old.contains(&mark));
    (kept && new.trim() != old.trim()).then(|| (old.to_owned(), new))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# Greeting\n    title = \"Helo\"\n    size = 3\n";

    #[test]
    fn only_lines_about_the_task_are_offered() {
        assert_eq!(
            candidates(FILE, "Fix the spelling of the title in a.toml", "a.toml"),
            [(2, "    title = \"Helo\"")]
        );
    }

    #[test]
    fn a_proposal_keeps_the_indent_and_must_change_something() {
        let lines = candidates(FILE, "make the title Hello", "a.toml");
        let made = proposal("line: 2\nnew: title = \"Hello\"\n", &lines, "make the title Hello", "a.toml");
        assert_eq!(made, Some(("    title = \"Helo\"".into(), "    title = \"Hello\"".into())));
        assert_eq!(proposal("line: 2\nnew: title = \"Helo\"\n", &lines, "make the title Hello", "a.toml"), None);
    }

    #[test]
    fn a_proposal_that_forgets_the_new_value_is_not_taken() {
        let lines = candidates(FILE, "set the size to 7", "a.toml");
        assert_eq!(proposal("line: 3\nnew: size = 8\n", &lines, "set the size to 7", "a.toml"), None);
    }
}
