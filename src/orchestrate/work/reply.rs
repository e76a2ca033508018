//! Parses the fenced blocks of code in an answer of a model, each with the file it is for, and closes code that was cut off.

/// Code for a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// As the model named it; `None` if it did not.
    pub path: Option<String>,
    pub code: String,
}

/// Most blocks of one answer.
const BLOCKS_MAX: usize = 12;

/// The blocks of an answer. Text without a fence is one block if it has more than one line.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut before: Option<String> = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let fence: String = line.trim_start().chars().take_while(|c| *c == '`').collect();
        if fence.len() < 3 {
            before = named(line).or(before.filter(|_| line.trim().is_empty()));
            continue;
        }
        let info = line.trim_start().trim_start_matches('`').trim();
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
        let inside = code.first().and_then(|first| commented(first));
        if inside.is_some() {
            code.remove(0);
        }
        let path = inside.or_else(|| info.split([' ', ':']).find_map(named)).or(before.take());
        let code = code.join("\n");
        if !code.trim().is_empty() && blocks.len() < BLOCKS_MAX {
            blocks.push(Block { path, code });
        }
    }
    if blocks.is_empty() && text.trim().lines().count() > 1 {
        blocks.push(Block { path: None, code: text.trim_end().to_owned() });
    }
    blocks
}

/// The code of the first block of an answer.
pub fn first(text: &str) -> Option<String> {
    blocks(text).into_iter().next().map(|block| block.code)
}

/// The path that a line ends with, without marks around it; `None` if its last word is no path.
fn named(line: &str) -> Option<String> {
    let word = line.trim().trim_matches(['*', '#', '`', ':', ' ', '"', '(', ')']);
    let word = word.rsplit(' ').next().unwrap_or(word).trim_matches(['`', ':', '*']);
    let name = word.rsplit('/').next().unwrap_or(word);
    let (stem, ending) = name.rsplit_once('.')?;
    let is_path = !stem.is_empty()
        && (1..=8).contains(&ending.len())
        && ending.chars().all(char::is_alphanumeric)
        && ending.chars().any(char::is_alphabetic)
        && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '/' | '_' | '-' | '@'));
    is_path.then(|| word.trim_start_matches("./").to_owned())
}

/// A path in the comment that a block begins with: `# src/a.py`.
fn commented(line: &str) -> Option<String> {
    let text = line.trim();
    let inner = text.strip_prefix("//").or_else(|| text.strip_prefix('#'))?.trim();
    (!inner.contains(' ')).then(|| named(inner)).flatten()
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

    fn check(text: &str, expected: &[(Option<&str>, &str)]) {
        let found = blocks(text);
        let found: Vec<_> = found.iter().map(|block| (block.path.as_deref(), block.code.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_block_belongs_to_the_file_named_before_it_or_in_it() {
        check("src/a.py\n```python\nx = 1\n```\n", &[(Some("src/a.py"), "x = 1")]);
        check("### `src/a.py`:\n\n```python\nx = 1\n```", &[(Some("src/a.py"), "x = 1")]);
        check("```python\n# src/a.py\nx = 1\n```", &[(Some("src/a.py"), "x = 1")]);
        check("```js lib/b.js\ny()\n```", &[(Some("lib/b.js"), "y()")]);
        check("Here it is.\n```python\nx = 1\n```", &[(None, "x = 1")]);
        check("a.py\n```\nx\n```\nb.py\n```\ny\n```", &[(Some("a.py"), "x"), (Some("b.py"), "y")]);
    }

    #[test]
    fn an_open_fence_ends_with_the_text_and_a_longer_one_holds_a_shorter() {
        check("```python\nx = 1\n", &[(None, "x = 1")]);
        check("a.md\n````\n```\nx\n```\n````", &[(Some("a.md"), "```\nx\n```")]);
        check("````\n## A\n\ntext\n```\nThat is all.", &[(None, "## A\n\ntext")]);
        check("````\n## A\n```js\nf()\n```\nmore", &[(None, "## A\n```js\nf()\n```\nmore")]);
        check("def f():\n    return 1", &[(None, "def f():\n    return 1")]);
        check("I cannot do that.", &[]);
    }

    #[test]
    fn unfinished_code_is_closed_after_its_last_whole_line() {
        let cut = "describe('a', () => {\n  it('b', () => {\n    expect(f(1)).toBe(')');\n    expect(f(";
        let whole = "describe('a', () => {\n  it('b', () => {\n    expect(f(1)).toBe(')');\n  });\n});";
        assert_eq!(up_to_a_whole("a.test.js", cut), whole);
        assert_eq!(up_to_a_whole("a.py", "def f():\n    a()\n    b("), "def f():\n    a()");
    }
}
