//! Creates search questions from comments: a definition's comment is removed, and its first sentence should find it.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::ranking::Target;
use super::search::Question;
use crate::base::Cancel;
use crate::index::paths::{self, Sort};
use crate::index::{Index, SymbolRow, language_of};

/// Number of words in a question. Shorter sentences only repeat the name; longer ones are
/// paragraphs without a full stop.
const WORDS: std::ops::RangeInclusive<usize> = 5..=30;
/// Maximum number of lines in a signature; a docstring must begin after it.
const SIGNATURE_LINES_MAX: usize = 15;

/// Writes the project in `root` into the folder `stripped`, without the comments that became
/// questions. Returns at most `limit` questions, spread evenly over the project, and none whose
/// sentence still occurs in the stripped text.
pub fn make(root: &Path, stripped: &Path, limit: usize, cancel: &Cancel) -> Result<Vec<Question>> {
    let folder = tempfile::tempdir().context("no temporary folder for the index")?;
    let index = Index::open_in(root, folder.path())?;
    index.refresh_lexical(&mut |_| {}, cancel)?;
    let mut questions = Vec::new();
    let mut everything = String::new();
    for path in index.paths()? {
        let text = String::from_utf8_lossy(&fs::read(root.join(&path))?).into_owned();
        let mut lines: Vec<&str> = text.split('\n').collect();
        let asked = !paths::sorts(&path).iter().any(|sort| matches!(sort, Sort::Test | Sort::Example | Sort::Prose));
        for symbol in index.file_symbols(&path)?.iter().filter(|symbol| asked && symbol.kind != "module") {
            if let Some(sentence) = first_sentence(&symbol.doc)
                && strip(&mut lines, symbol)
            {
                let target = Target { path: path.clone(), line: Some(symbol.start) };
                questions.push(Question { text: sentence, targets: vec![target], category: language_of(&path).into() });
            }
        }
        let text = lines.join("\n");
        let to = stripped.join(&path);
        fs::create_dir_all(to.parent().unwrap_or(stripped))?;
        fs::write(&to, &text)?;
        everything.push_str(&spaced(&text));
        everything.push('\n');
    }
    // Reduce to `limit` before searching the whole text for each question, which is slow.
    let count = questions.len();
    let kept = |at: usize| count <= limit || at * limit / count != (at + 1) * limit / count;
    let questions = questions.into_iter().enumerate().filter(|(at, _)| kept(*at)).map(|(_, question)| question);
    Ok(questions.filter(|question| !everything.contains(&spaced(&question.text))).collect())
}

/// Text with single spaces and without comment marks at line starts, for comparison.
fn spaced(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim_start_matches([' ', '\t', '/', '*', '#', '!']));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// The first sentence of a comment, if it is prose with a number of words in [`WORDS`].
fn first_sentence(doc: &str) -> Option<String> {
    let text = doc.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = text.find(". ").unwrap_or(text.len());
    let sentence = text[..end].trim_end_matches(['.', ':']).to_owned();
    (WORDS.contains(&sentence.split(' ').count()) && !sentence.starts_with(['@', '#'])).then_some(sentence)
}

/// Blanks the comment lines above a definition (past attributes and decorators), or the docstring
/// below its head. Line numbers stay the same. Returns false if there is no comment.
fn strip(lines: &mut [&str], symbol: &SymbolRow) -> bool {
    let mut found = false;
    let above = symbol.start.saturating_sub(1).min(lines.len());
    for line in lines[..above].iter_mut().rev() {
        let text = line.trim();
        if text.starts_with("//") || text.starts_with("/*") || text.starts_with('*') {
            *line = "";
            found = true;
        } else if !(text.starts_with("#[") || text.starts_with('@')) {
            break;
        }
    }
    if found || !symbol.path.ends_with(".py") {
        return found;
    }
    let marks = ["\"\"\"", "'''"];
    let opens = |line: &str| {
        let text = line.trim().trim_start_matches(['r', 'R']);
        marks.into_iter().find(|mark| text.starts_with(mark))
    };
    let last = symbol.end.min(lines.len());
    let head = symbol.start..last.min(symbol.start + SIGNATURE_LINES_MAX);
    let Some((from, mark)) = head.filter_map(|at| opens(lines[at]).map(|mark| (at, mark))).next() else { return false };
    let closes = |at: &usize| lines[*at].matches(mark).count() >= if *at == from { 2 } else { 1 };
    let Some(to) = (from..last).find(closes) else { return false };
    lines[from..=to].fill("");
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_become_questions_and_leave_the_source() {
        let (root, stripped) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let source = "/**\n * Waits a little longer after every attempt. More of it.\n */\nexport function pause() {}\n\n\
                      // Too short.\nexport function other() {}\n\n\
                      // Says the same thing in two places here\nexport const one = 1;\n\n\
                      // Says the same thing in two places here\n\n\nrun();\n";
        fs::create_dir(root.path().join("src")).unwrap();
        fs::write(root.path().join("src/pause.ts"), source).unwrap();
        let questions = make(root.path(), stripped.path(), 10, &Cancel::new()).unwrap();
        let expected = Question {
            text: "Waits a little longer after every attempt".into(),
            targets: vec![Target { path: "src/pause.ts".into(), line: Some(4) }],
            category: "typescript".into(),
        };
        assert_eq!(questions, [expected]);
        let left = fs::read_to_string(stripped.path().join("src/pause.ts")).unwrap();
        assert!(left.starts_with("\n\n\nexport function pause() {}\n") && left.contains("Too short"), "{left}");
    }

    #[test]
    fn no_more_questions_are_asked_than_allowed() {
        let (root, stripped) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let one =
            |n: usize| format!("/** Counts the things of sort {n} again. */\nexport function count{n}() {{}}\n\n");
        fs::write(root.path().join("a.ts"), (10..60).map(one).collect::<String>()).unwrap();
        let questions = make(root.path(), stripped.path(), 7, &Cancel::new()).unwrap();
        assert_eq!(questions.len(), 7);
        assert!(questions.last().is_some_and(|last| last.targets[0].line > Some(100)), "spread over the project");
    }
}
