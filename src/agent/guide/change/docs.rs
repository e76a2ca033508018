//! Changes the docstring that a request names (`mention it in the docstring of Store`) as a passage
//! of text, so that the surrounding code is preserved.

use crate::agent::evidence::Evidence;
use crate::agent::guide::passage::{Passage, Place};
use crate::agent::guide::{Done, Job};
use crate::agent::toolkit::TurnError;
use crate::edit::line_of;
use crate::index::parts::{self, Span};
use crate::request::mentions::Mentions;

use super::text::{Target, write};

/// Changes the docstring that the step names; `None` if it names none, or asks for new code as well.
pub(super) async fn change(
    job: Job<'_>,
    mentions: &Mentions,
    evidence: &mut Evidence,
) -> Result<Option<Done>, TurnError> {
    let Some(name) = job.step.text.documented().filter(|_| mentions.asked_for.is_empty()) else { return Ok(None) };
    let last = name.rsplit('.').next().unwrap_or(name);
    let nodes =
        mentions.symbols.iter().chain(&mentions.likely).filter(|symbol| symbol.name == name || symbol.name == last);
    let Some(node) = nodes.flat_map(|symbol| &symbol.nodes).find(|node| node.path.ends_with(".py")) else {
        return Ok(None);
    };
    let Some(before) = job.text(&node.path) else { return Ok(None) };
    let all = parts::definitions(&node.path, &before);
    let is_it = |span: &&Span| span.name == last && (span.lines.0..=span.lines.1).contains(&node.start);
    let Some(passage) = all.iter().find(is_it).and_then(|span| passage(&before, span)) else {
        return Ok(Some(Done::note(format!("not done: `{name}` has no docstring; say what it should contain"))));
    };
    tracing::debug!(way = "docstring", name);
    let body = body(&before, &passage).filter(|_| job.step.text.adds_words());
    let (wanted, chosen) = match body {
        Some(body) => (Place::Into(0), body),
        None => (Place::Change(0), super::passage::narrowed(&before, &passage, job.step.text.content())),
    };
    let target = Target { path: &node.path, before: &before, wanted, chosen };
    write(job, target, evidence).await.map(Some)
}

/// The lines of a definition's docstring, if they contain nothing else.
fn passage(text: &str, of: &Span) -> Option<Passage> {
    let range = of.docstring.clone()?;
    let lines = (line_of(text, range.start), line_of(text, range.end));
    let whole: Vec<&str> = text.lines().skip(lines.0 - 1).take(lines.1 + 1 - lines.0).collect();
    let is_alone = whole.join("\n").trim() == text[range].lines().collect::<Vec<_>>().join("\n");
    is_alone.then(|| Passage { lines, title: of.name.clone() })
}

/// The lines of a docstring above its closing quotation marks, if these are on a separate line.
fn body(text: &str, docstring: &Passage) -> Option<Passage> {
    let (first, last) = docstring.lines;
    let is_alone = matches!(text.lines().nth(last - 1).map(str::trim), Some("\"\"\"" | "'''"));
    (is_alone && last > first).then(|| Passage { lines: (first, last - 1), title: docstring.title.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_docstring_is_a_passage_if_it_has_its_own_lines() {
        let check = |text: &str, expected: Option<(usize, usize)>| {
            let all = parts::definitions("a.py", text);
            assert_eq!(passage(text, &all[0]).map(|one| one.lines), expected, "{text}");
        };
        check("class A:\n    \"\"\"One.\n\n    Two.\n    \"\"\"\n    x = 1\n", Some((2, 5)));
        check("def f():\n    '''One.'''\n    return 1\n", Some((2, 2)));
        check("def f(): \"\"\"One.\"\"\"\n", None);
        check("def f():\n    return 1\n", None);
    }

    #[test]
    fn words_are_added_above_the_closing_quotation_marks() {
        let text = "class A:\n    \"\"\"One.\n\n      two\n    \"\"\"\n    x = 1\n";
        let all = parts::definitions("a.py", text);
        let body = body(text, &passage(text, &all[0]).unwrap()).unwrap();
        let expected = text.replace("two\n", "two\n\n    New.\n");
        assert_eq!(super::super::passage::put(text, &body, Place::Into(0), "New."), expected);
    }
}
