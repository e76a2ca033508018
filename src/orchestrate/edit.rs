//! Finds what to replace in a file: by code where the task says from what to what, else a model rewrites one line.

use std::io::Read;

use serde_json::{Map, json};

use crate::engine::{Grammar, Request, Sampling};
use crate::models::Role;
use crate::models::dialect::Message;
use crate::tools::Context;
use crate::tools::confine::Access;

use super::Host;
use super::arguments::settle_edit;
use super::toolkit::{Toolkit, TurnError};
use super::words;

const PROMPT: &str = include_str!("prompts/edit.md");
/// Largest file that is edited this way.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Lines a model may choose from.
const LINES_SHOWN: usize = 12;
/// Longest new line, in characters and in tokens.
const LINE_CHARS_MAX: usize = 300;
const LINE_TOKENS_MAX: usize = 140;

/// The arguments of a `replace_in_file` call for `task`, or why there are none.
pub async fn arguments(
    toolkit: &Toolkit,
    context: &Context,
    path: &str,
    task: &str,
    host: &dyn Host,
) -> Result<Result<Map<String, serde_json::Value>, String>, TurnError> {
    let text = match read(context, path) {
        Ok(text) => text,
        Err(error) => return Ok(Err(error)),
    };
    let arguments = |old: &str, new: &str| match json!({ "path": path, "old": old, "new": new }) {
        serde_json::Value::Object(map) => map,
        _ => Map::new(),
    };
    if let Some(edit) = settle_edit(task, &text) {
        return Ok(Ok(arguments(&edit.old, &edit.new)));
    }
    Ok(rewritten(toolkit, path, &text, task, host).await?.map(|(old, new)| arguments(&old, &new)))
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

/// One line as a model rewrites it. Its proposal has to carry every name, number and quotation of the task that the
/// old line does not have yet; the user sees it as a diff like any other change.
async fn rewritten(
    toolkit: &Toolkit,
    path: &str,
    text: &str,
    task: &str,
    host: &dyn Host,
) -> Result<Result<(String, String), String>, TurnError> {
    let candidates = candidates(text, task, path);
    if candidates.is_empty() {
        return Ok(Err(format!(
            "no line of {path} has to do with `{}`; name the text to replace",
            words::shorten(task, 120)
        )));
    }
    let planner = toolkit.model(Role::Planner, host).await?;
    let shown: Vec<String> = candidates.iter().map(|(number, line)| format!("{number}: {}", line.trim())).collect();
    let messages = [
        Message::system(PROMPT.trim()),
        Message::user(format!("{path}:\n{}\n\nTask: {}", shown.join("\n"), words::shorten(task, 1_000))),
    ];
    let numbers: Vec<String> = candidates.iter().map(|(number, _)| format!("\"{number}\"")).collect();
    let request = Request {
        grammar: Some(Grammar::Lark(format!(
            "start: \"line: \" number \"\\nnew: \" LINE \"\\n\"\nnumber: {}\nLINE: /[^\\n]{{1,{LINE_CHARS_MAX}}}/\n",
            numbers.join(" | ")
        ))),
        sampling: Sampling::greedy(),
        ..planner.engine.request(&planner.dialect.render(&messages), LINE_TOKENS_MAX)
    };
    let output = toolkit.generate(&planner, request, "writing the change", host).await?;
    let proposal = proposal(&output.text, &candidates, task, path);
    Ok(proposal.ok_or_else(|| {
        format!("no change of {path} could be made out for `{}`; say it as: change A to B", words::shorten(task, 120))
    }))
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

fn proposal(written: &str, candidates: &[(usize, &str)], task: &str, path: &str) -> Option<(String, String)> {
    let field = |name: &str| written.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let number: usize = field("line:")?.parse().ok()?;
    let old = candidates.iter().find(|(candidate, _)| *candidate == number)?.1;
    let indent = &old[..old.len() - old.trim_start().len()];
    let new = format!("{indent}{}", field("new:")?);
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
