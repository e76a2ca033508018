//! Takes the fenced code out of an answer of a model, and closes code that was cut off.

/// The code of the first fenced block of an answer that is not blank, without the path in a comment that it may begin with. Text without
/// a fence is code if it has more than one line.
pub fn first(text: &str) -> Option<String> {
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let fence: String = line.trim_start().chars().take_while(|c| *c == '`').collect();
        if fence.len() < 3 {
            continue;
        }
        let mut is_closed = false;
        let mut code: Vec<&str> = lines
            .by_ref()
            .take_while(|line| {
                is_closed = line.trim() == fence;
                !is_closed
            })
            .collect();
        // A model may close a block of four backticks with three: with the last three that close no inner block.
        let closers: Vec<usize> = (0..code.len()).filter(|at| code[*at].trim() == "```").collect();
        let openers = code.iter().filter(|line| line.trim_start().starts_with("```")).count() - closers.len();
        if let Some(last) = closers.last().filter(|_| !is_closed && fence.len() > 3 && closers.len() % 2 != openers % 2)
        {
            code.truncate(*last);
        }
        if code.first().is_some_and(|first| is_path_in_comment(first)) {
            code.remove(0);
        }
        let code = code.join("\n");
        if !code.trim().is_empty() {
            return Some(code);
        }
    }
    (text.trim().lines().count() > 1).then(|| text.trim_end().to_owned())
}

/// Whether a line is a path in a comment: `# src/a.py`.
fn is_path_in_comment(line: &str) -> bool {
    let text = line.trim();
    let Some(inner) = text.strip_prefix("//").or_else(|| text.strip_prefix('#')) else { return false };
    let word = inner.trim().trim_matches(['*', '#', '`', ':', '"', '(', ')']);
    let name = word.rsplit('/').next().unwrap_or(word);
    name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=8).contains(&ending.len())
            && ending.chars().all(char::is_alphanumeric)
            && ending.chars().any(char::is_alphabetic)
            && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '/' | '_' | '-' | '@'))
    })
}

/// Cuts unfinished code after its last whole line and closes the brackets that are open there; Python is only cut.
pub fn up_to_a_whole(path: &str, code: &str) -> String {
    let mut lines: Vec<&str> = code.lines().collect();
    lines.pop();
    if path.ends_with(".py") {
        return lines.join("\n");
    }
    while lines.last().is_some_and(|line| !line.trim_end().ends_with([';', '}', ')', '{', ','])) {
        lines.pop();
    }
    let mut whole = lines.join("\n");
    for (indent, closers) in open_at_the_end(&whole).into_iter().rev() {
        let end = if closers.ends_with(')') { ";" } else { "" };
        whole.push_str(&format!("\n{}{closers}{end}", " ".repeat(indent)));
    }
    whole
}

/// The brackets that are open at the end of some code, outermost first: for each line that opens some, its indentation and the brackets that
/// close them.
fn open_at_the_end(code: &str) -> Vec<(usize, String)> {
    let mut open: Vec<(usize, char)> = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let mut quote = None;
        for c in line.chars() {
            match (quote, c) {
                (Some(mark), _) if mark == c => quote = None,
                (None, '"' | '\'' | '`') => quote = Some(c),
                (None, '(') => open.push((number, ')')),
                (None, '[') => open.push((number, ']')),
                (None, '{') => open.push((number, '}')),
                (None, ')' | ']' | '}') => drop(open.pop()),
                _ => {}
            }
        }
    }
    let lines: Vec<&str> = code.lines().collect();
    let mut closers: Vec<(usize, usize, String)> = Vec::new();
    for (number, sign) in open {
        match closers.last_mut().filter(|(line, ..)| *line == number) {
            Some((.., signs)) => signs.insert(0, sign),
            None => closers.push((number, lines[number].len() - lines[number].trim_start().len(), sign.to_string())),
        }
    }
    closers.into_iter().map(|(_, indent, signs)| (indent, signs)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(first(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn the_first_block_is_the_code_without_its_path() {
        check("src/a.py\n```python\nx = 1\n```\n", Some("x = 1"));
        check("```python\n# src/a.py\nx = 1\n```", Some("x = 1"));
        check("```python\n# see a.py\nx = 1\n```", Some("# see a.py\nx = 1"));
        check("Here it is.\n```python\nx = 1\n```", Some("x = 1"));
        check("a.py\n```\n\n```\nb.py\n```\ny\n```", Some("y"));
    }

    #[test]
    fn an_open_fence_ends_with_the_text_and_a_longer_one_holds_a_shorter() {
        check("```python\nx = 1\n", Some("x = 1"));
        check("a.md\n````\n```\nx\n```\n````", Some("```\nx\n```"));
        check("````\n## A\n\ntext\n```\nThat is all.", Some("## A\n\ntext"));
        check("````\n## A\n```js\nf()\n```\nmore", Some("## A\n```js\nf()\n```\nmore"));
        check("def f():\n    return 1", Some("def f():\n    return 1"));
        check("I cannot do that.", None);
    }

    #[test]
    fn unfinished_code_is_closed_after_its_last_whole_line() {
        let cut = "describe('a', () => {\n  it('b', () => {\n    expect(f(1)).toBe(')');\n    expect(f(";
        let whole = "describe('a', () => {\n  it('b', () => {\n    expect(f(1)).toBe(')');\n  });\n});";
        assert_eq!(up_to_a_whole("a.test.js", cut), whole);
        assert_eq!(up_to_a_whole("a.py", "def f():\n    a()\n    b("), "def f():\n    a()");
    }
}
