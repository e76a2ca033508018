//! Extracts fenced code from a model's answer.

/// The code of the first closed, non-blank fenced block of an answer. A longer fence is also closed
/// by a last line of three backticks, which belongs to the code if it closes a block inside. Text
/// without a fence counts as code if it has more than one line.
pub fn first(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut at, mut has_fence) = (0, false);
    while at < lines.len() {
        let fence: String = lines[at].trim_start().chars().take_while(|c| *c == '`').collect();
        at += 1;
        if fence.len() < 3 {
            continue;
        }
        has_fence = true;
        let ends_short = fence.len() > 3 && lines.last().is_some_and(|line| line.trim() == "```");
        let short = || ends_short.then(|| lines.len() - at - usize::from(!ends_inside(&lines[at..lines.len() - 1])));
        let end = at + lines[at..].iter().position(|line| line.trim() == fence).or_else(short)?;
        let code = lines[at..end].join("\n");
        if !code.trim().is_empty() {
            return Some(code);
        }
        at = end + 1;
    }
    (!has_fence && text.trim().lines().count() > 1).then(|| text.trim_end().to_owned())
}

/// Whether a block of three backticks is open after these lines.
fn ends_inside(lines: &[&str]) -> bool {
    lines.iter().fold(false, |is_open, line| match line.trim().strip_prefix("```") {
        Some("") => !is_open,
        // A language follows the fence that opens a block.
        Some(language) => is_open || !language.contains('`'),
        None => is_open,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_is_the_code() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(first(text).as_deref(), expected, "{text}");
        check("src/a.py\n```python\nx = 1\n```\n", Some("x = 1"));
        check("Here it is.\n```python\nx = 1\n```", Some("x = 1"));
        check("a.py\n```\n\n```\nb.py\n```\ny\n```", Some("y"));
        check("```python\nx = 1\n", None);
        check("a.md\n````\n```\nx\n```\n````", Some("```\nx\n```"));
        check("````\nx\n```", Some("x"));
        check("````\nx\n```sh\ny\n```\n```", Some("x\n```sh\ny\n```"));
        check("````\nx\n```sh\ny\n```", Some("x\n```sh\ny\n```"));
        check("````\n```x``` and y\n```sh\ny\n```", Some("```x``` and y\n```sh\ny\n```"));
        check("````\nx\ny", None);
        check("def f():\n    return 1", Some("def f():\n    return 1"));
        check("I cannot do that.", None);
    }
}
