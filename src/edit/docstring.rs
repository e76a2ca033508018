//! Finds long Python docstrings, which a model does not write again when it rewrites a function.

use std::ops::Range;

/// Fewest lines of a docstring that may be left out; a model rewrites a shorter one without loss.
const LINES_MIN: usize = 4;

/// The lines, counted from 0, of a definition's docstring, if it has at least `LINES_MIN` lines.
pub fn long(definition: &str) -> Option<Range<usize>> {
    let lines: Vec<&str> = definition.lines().collect();
    let start = body_start(&lines)?;
    let bare = lines.get(start)?.trim_start().trim_start_matches(['r', 'R']);
    let mark = ["\"\"\"", "'''"].into_iter().find(|mark| bare.starts_with(mark))?;
    if bare[mark.len()..].contains(mark) {
        return None;
    }
    let end = start + 2 + lines[start + 1..].iter().position(|line| line.contains(mark))?;
    (end - start >= LINES_MIN).then_some(start..end)
}

/// The first line, counted from 0, of the body of a function or class.
fn body_start(lines: &[&str]) -> Option<usize> {
    let first = lines.iter().position(|line| {
        let line = line.trim_start();
        ["def ", "async def ", "class "].iter().any(|head| line.starts_with(head))
    })?;
    let ends = |line: &&str| line.split(" #").next().is_some_and(|code| code.trim_end().ends_with(':'));
    let end = first + lines[first..].iter().position(ends)?;
    let next = lines[end + 1..].iter().position(|line| !line.trim().is_empty())?;
    Some(end + 1 + next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_docstring_is_found_below_its_head() {
        let old = "def f(\n        a,\n    ):\n        \"\"\"\n        Adds.\n\n        >>> f(1)\n        \"\"\"\n        return a";
        assert_eq!(long(old), Some(3..8));
        assert_eq!(long("def f(a):\n    \"\"\"Adds.\"\"\"\n    return a"), None);
    }
}
