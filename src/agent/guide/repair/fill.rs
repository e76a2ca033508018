//! Has the model rewrite one line of a definition from the text before and after it (fill-in-the-middle).

use std::ops::Range;

use crate::agent::toolkit::TurnError;
use crate::engine::Finish;
use crate::index::comments;
use crate::models::dialect::Prompt;

use super::mutate::RepairHints;
use crate::agent::guide::Job;

/// Special tokens before the prefix, the suffix and the middle: Qwen, StarCoder, DeepSeek.
const MARKS: &[[&str; 3]] = &[
    ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"],
    ["<fim_prefix>", "<fim_suffix>", "<fim_middle>"],
    ["<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"],
];
/// Minimum length, in lines, of a definition to try; a shorter one gives too little information
/// about the missing line.
const LINES_MIN: usize = 4;
/// Maximum number of lines tried in one definition.
const LINES_MAX: usize = 16;

/// The code lines of the definition `within`, without its first line, as byte ranges without line
/// endings. Lines that share the most words with the clues come first.
pub fn lines(path: &str, text: &str, within: &Range<usize>, clues: &RepairHints) -> Vec<Range<usize>> {
    let comments = comments(path, text);
    let mut found = Vec::new();
    let mut start = text[..within.start].rfind('\n').map_or(0, |end| end + 1);
    for line in text[start..within.end].split('\n') {
        let code = start + line.len() - line.trim_start().len();
        let is_comment = comments.iter().any(|comment| comment.start <= code && code < comment.end);
        if line.contains(char::is_alphanumeric) && !is_comment {
            found.push(start..start + line.trim_end().len());
        }
        start += line.len() + 1;
    }
    if found.len() < LINES_MIN {
        return Vec::new();
    }
    // The head of the definition is assumed to be correct.
    let mut found: Vec<Range<usize>> = found.into_iter().skip(1).collect();
    found.sort_by_key(|line| std::cmp::Reverse(clues.shared(&text[line.clone()])));
    found.truncate(LINES_MAX);
    found
}

/// A line to rewrite.
#[derive(Clone, Copy)]
pub struct Spot<'a> {
    pub path: &'a str,
    pub text: &'a str,
    /// Byte range of the definition.
    pub within: &'a Range<usize>,
    /// Byte range of the line, without its line ending.
    pub line: &'a Range<usize>,
}

/// The text of the file with the line filled in by the model, once for each part of the answer that
/// may be the line, most likely first. Empty if the model lacks the special tokens, does not run in
/// this process, or only repeats the line. `shows_old` puts the old line into the prompt as a wrong
/// one.
pub async fn fill(job: Job<'_>, spot: Spot<'_>, shows_old: bool) -> Result<Vec<String>, TurnError> {
    let Spot { path, text, within, line } = spot;
    let player = job.model().await?;
    let Some(model) = player.here() else { return Ok(Vec::new()) };
    let engine = &model.engine;
    let is_one = |mark: &str| engine.tokenize(&Prompt::default().special(mark)).len() == 1;
    let Some([before, behind, here]) = MARKS.iter().find(|marks| marks.iter().all(|mark| is_one(mark))) else {
        return Ok(Vec::new());
    };
    let indent = text[line.clone()].len() - text[line.clone()].trim_start().len();
    let start = line.start + indent;
    let old = text[start..line.end].trim();
    let mark = if path.ends_with(".py") { "#" } else { "//" };
    let comment = format!("{mark} was wrong: {old}\n{}", &text[line.start..start]);
    let prompt = Prompt::default()
        .special(*before)
        .text(format!("{}{}", &text[within.start..start], if shows_old { &comment } else { "" }))
        .special(*behind)
        .text(&text[line.end..within.end])
        .special(*here);
    let request = engine.request(&prompt, job.limits().fill);
    let output = job.scene.toolkit.complete(model, request, "finding what is wrong", job.scene.host).await?;
    let next = text[line.end..].lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let has_ended = output.finish == Finish::End;
    let extents = extents(&output.text, has_ended, old, next);
    tracing::debug!(line = &text[line.clone()], ?extents, "filled");
    Ok(extents.iter().map(|new| format!("{}{new}{}", &text[..start], &text[line.end..])).collect())
}

/// The parts of an answer that may replace the line: the complete answer if the model ended it, the
/// part up to and including the old line, the part before the next line of the code, and the first
/// line.
fn extents(written: &str, has_ended: bool, old: &str, next: &str) -> Vec<String> {
    let lines: Vec<&str> = written.trim_start().lines().collect();
    // The last line of an incomplete answer may be cut off.
    let has_first = has_ended || lines.len() > 1 || written.ends_with('\n');
    let place = |wanted: &str| lines.iter().skip(1).position(|line| line.trim() == wanted).map(|at| at + 1);
    let ends = [has_ended.then_some(lines.len()), place(old).map(|at| at + 1), place(next), has_first.then_some(1)];
    let mut found: Vec<String> = Vec::new();
    for end in ends.into_iter().flatten().filter(|end| *end <= lines.len()) {
        let new = lines[..end].join("\n");
        if !new.trim().is_empty() && new.trim() != old && !found.contains(&new) {
            found.push(new);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Text;

    #[test]
    fn a_filled_in_line_ends_where_the_old_code_goes_on() {
        assert_eq!(
            extents("if x {\n\ty = 1\n}\ncase 3:", false, "y = 1", "case 3:"),
            ["if x {\n\ty = 1", "if x {\n\ty = 1\n}", "if x {"]
        );
        assert_eq!(
            extents("move(key)\n        return v", false, "return v", "def g"),
            ["move(key)\n        return v", "move(key)"]
        );
        assert!(extents("return v", true, "return v", "").is_empty());
        assert!(extents("return val", false, "return v", "").is_empty(), "it was cut");
        assert_eq!(extents("return val", true, "return v", ""), ["return val"]);
    }

    #[test]
    fn lines_of_code_are_filled_in_and_comments_are_not() {
        let text = "def f(a):\n    # why\n    b = a\n\n    c = b\n    return limit(c)\n";
        let found = lines("a.py", text, &(0..text.len()), &RepairHints::of(&Text::of("the limit is wrong"), ""));
        let found: Vec<&str> = found.into_iter().map(|line| text[line].trim()).collect();
        assert_eq!(found, ["return limit(c)", "b = a", "c = b"]);
    }
}
