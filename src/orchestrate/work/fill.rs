//! Has the model write one line of a definition anew from what stands before and behind it, as models are trained to (fill in the middle).

use std::ops::Range;

use crate::edit::mutate::Clues;
use crate::engine::Finish;
use crate::index::spans;
use crate::models::dialect::Prompt;
use crate::orchestrate::toolkit::TurnError;

use super::Job;

/// How models mark what stands before, what stands behind and where to write: Qwen, StarCoder, DeepSeek.
const MARKS: &[[&str; 3]] = &[
    ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"],
    ["<fim_prefix>", "<fim_suffix>", "<fim_middle>"],
    ["<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"],
];
/// Tokens that are written; a few lines, since what was forgotten may be more than one.
const TOKENS_MAX: usize = 48;
/// Fewer lines say too little about what the one that is missing was.
const LINES_MIN: usize = 4;
/// Most lines of one definition that are written anew.
const LINES_MAX: usize = 16;

/// The lines of a definition that say something, as bytes without the line end: those first that speak of what the clues speak of.
pub fn lines(path: &str, text: &str, within: &Range<usize>, clues: &Clues) -> Vec<Range<usize>> {
    let comments = spans(path, text).and_then(Result::ok).map(|found| found.comments).unwrap_or_default();
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
    // The head says what it is, and is right.
    let mut found: Vec<Range<usize>> = found.into_iter().skip(1).collect();
    found.sort_by_key(|line| std::cmp::Reverse(clues.shared(&text[line.clone()])));
    found.truncate(LINES_MAX);
    found
}

/// A line of a definition.
#[derive(Clone, Copy)]
pub struct Spot<'a> {
    pub path: &'a str,
    pub text: &'a str,
    /// The definition, and the line without its end.
    pub within: &'a Range<usize>,
    pub line: &'a Range<usize>,
}

/// The text with the line as the model fills it in, the likeliest extent first; none if the model was not trained to, or has nothing else.
/// It may be shown the old line, as one that was wrong.
pub async fn fill(job: Job<'_>, spot: Spot<'_>, shows_old: bool) -> Result<Vec<String>, TurnError> {
    let Spot { path, text, within, line } = spot;
    let engine = &job.model.engine;
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
    let request = engine.request(&prompt, TOKENS_MAX);
    let output = job.scene.toolkit.generate(job.model, request, "finding what is wrong", job.scene.host).await?;
    let next = text[line.end..].lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let has_ended = output.finish == Finish::End;
    let extents = extents(&output.text, has_ended, old, next);
    tracing::debug!(line = &text[line.clone()], ?extents, "filled");
    Ok(extents.iter().map(|new| format!("{}{new}{}", &text[..start], &text[line.end..])).collect())
}

/// How much of what was written stands for the line: all of it if that has an end, up to the old line again or to the line behind it, one
/// line.
fn extents(written: &str, has_ended: bool, old: &str, next: &str) -> Vec<String> {
    let lines: Vec<&str> = written.trim_start().lines().collect();
    let place = |wanted: &str| lines.iter().skip(1).position(|line| line.trim() == wanted).map(|at| at + 1);
    let ends = [has_ended.then_some(lines.len()), place(old).map(|at| at + 1), place(next), Some(1)];
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

    #[test]
    fn what_is_filled_in_ends_where_the_code_goes_on() {
        assert_eq!(
            extents("if x {\n\ty = 1\n}\ncase 3:", false, "y = 1", "case 3:"),
            ["if x {\n\ty = 1", "if x {\n\ty = 1\n}", "if x {"]
        );
        assert_eq!(
            extents("move(key)\n        return v", false, "return v", "def g"),
            ["move(key)\n        return v", "move(key)"]
        );
        assert!(extents("return v", true, "return v", "").is_empty());
    }

    #[test]
    fn lines_of_code_are_filled_in_and_comments_are_not() {
        let text = "def f(a):\n    # why\n    b = a\n\n    c = b\n    return limit(c)\n";
        let found = lines("a.py", text, &(0..text.len()), &Clues::of("the limit is wrong", ""));
        let found: Vec<&str> = found.into_iter().map(|line| text[line].trim()).collect();
        assert_eq!(found, ["return limit(c)", "b = a", "c = b"]);
    }
}
