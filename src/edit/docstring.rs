//! Puts back long Python docstrings that a model left out when it rewrote a function.

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

/// `new` with the long docstring of `old`, re-indented, if `new` has no docstring.
pub fn restored(old: &str, new: &str) -> String {
    let lines: Vec<&str> = new.lines().collect();
    let Some((docstring, at)) = long(old).zip(body_start(&lines)) else { return new.to_owned() };
    let Some(first) = lines.get(at).filter(|line| !line.trim_start().starts_with(['"', '\''])) else {
        return new.to_owned();
    };
    let indent = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
    let old: Vec<&str> = old.lines().collect();
    let (was, is) = (indent(old[docstring.start]), indent(first));
    let moved = old[docstring].iter().map(|line| match line.strip_prefix(was.as_str()) {
        Some(rest) => format!("{is}{rest}"),
        None => (*line).to_owned(),
    });
    let mut all: Vec<String> = lines[..at].iter().map(|line| (*line).to_owned()).collect();
    all.extend(moved);
    all.extend(lines[at..].iter().map(|line| (*line).to_owned()));
    all.join("\n")
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

    const OLD: &str = "def f(\n        a,\n    ):\n        \"\"\"\n        Adds.\n\n        >>> f(1)\n        \"\"\"\n        return a";

    #[test]
    fn a_docstring_that_was_left_out_is_put_back() {
        assert_eq!(long(OLD), Some(3..8));
        let new = "def f(a, b=1):\n    c = a + b\n    return c";
        let whole = "def f(a, b=1):\n    \"\"\"\n    Adds.\n\n    >>> f(1)\n    \"\"\"\n    c = a + b\n    return c";
        assert_eq!(restored(OLD, new), whole);
        assert_eq!(restored(OLD, whole), whole);
        assert_eq!(restored("def f(a):\n    \"\"\"Adds.\"\"\"\n    return a", new), new);
    }
}
