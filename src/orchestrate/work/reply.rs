//! Takes the fenced code out of an answer of a model, and closes code that was cut off.

/// The code of the first fenced block of an answer that is not blank; an open fence ends with the text. Text without a fence is code if it has more
/// than one line.
pub fn first(text: &str) -> Option<String> {
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let fence: String = line.trim_start().chars().take_while(|c| *c == '`').collect();
        if fence.len() < 3 {
            continue;
        }
        let code: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != fence).collect();
        let code = code.join("\n");
        if !code.trim().is_empty() {
            return Some(code);
        }
    }
    (text.trim().lines().count() > 1).then(|| text.trim_end().to_owned())
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

    #[test]
    fn the_first_block_is_the_code() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(first(text).as_deref(), expected, "{text}");
        check("src/a.py\n```python\nx = 1\n```\n", Some("x = 1"));
        check("Here it is.\n```python\nx = 1\n```", Some("x = 1"));
        check("a.py\n```\n\n```\nb.py\n```\ny\n```", Some("y"));
        check("```python\nx = 1\n", Some("x = 1"));
        check("a.md\n````\n```\nx\n```\n````", Some("```\nx\n```"));
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
