//! Splits Rust files into words without comments and literals, with line numbers and test code marked.

use std::fs;
use std::path::Path;

/// One file: its path (`src/engine/pool.rs`), its text and its words.
pub struct Source {
    pub path: String,
    pub text: String,
    pub words: Vec<Word>,
}

/// An identifier, a number, `::`, or any other single character.
pub struct Word {
    pub text: String,
    pub line: usize,
    /// Whether it is inside an item under `#[cfg(test)]` or `#[test]`, or in a test file.
    pub test: bool,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Source {
        let mut words = words(text);
        mark_tests(&mut words);
        if path.ends_with("/tests.rs") || path.contains("/tests/") {
            words.iter_mut().for_each(|word| word.test = true);
        }
        Source { path: path.into(), text: text.into(), words }
    }

    /// Text of the word at `at`; empty after the end.
    pub fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| &word.text)
    }

    /// Text of the word before `at`; empty at the beginning.
    pub fn before(&self, at: usize) -> &str {
        at.checked_sub(1).map_or("", |at| self.word(at))
    }
}

/// Every `.rs` file under `folder` of the repository, sorted by path.
pub fn read(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("a readable folder entry").path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != "target") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                let name = path.strip_prefix(root).expect("a path under the root").to_string_lossy().replace('\\', "/");
                sources.push(Source::new(&name, &text));
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

fn words(text: &str) -> Vec<Word> {
    let chars: Vec<char> = text.chars().collect();
    let at = |index: usize| chars.get(index).copied().unwrap_or('\0');
    let (mut words, mut line, mut here) = (Vec::new(), 1, 0);
    while here < chars.len() {
        let start = here;
        let mut kept = false;
        match (at(here), at(here + 1)) {
            ('/', '/') => here = find(&chars, here, |c| c == '\n'),
            ('/', '*') => here = comment_end(&chars, here),
            ('"', _) => here = string_end(&chars, here + 1),
            ('\'', '\\') => here = find(&chars, here + 3, |c| c == '\'') + 1,
            ('\'', _) if at(here + 2) == '\'' => here += 3,
            // A lifetime: skip its name, because no path starts with it.
            ('\'', _) => here = find(&chars, here + 1, |c| !is_ident(c)),
            (c, _) if c.is_whitespace() => here += 1,
            (c, _) if is_ident(c) => {
                here = find(&chars, here, |c| !is_ident(c));
                let prefix: String = chars[start..here].iter().collect();
                match (prefix.as_str(), at(here)) {
                    ("r" | "br" | "cr", '"') => here = raw_string_end(&chars, here),
                    ("r" | "br" | "cr", '#') if matches!(at(here + 1), '"' | '#') => {
                        here = raw_string_end(&chars, here)
                    }
                    ("b" | "c", '"') => here = string_end(&chars, here + 1),
                    ("b", '\'') => {} // the character literal is read next
                    _ => kept = true,
                }
            }
            (':', ':') => (here, kept) = (here + 2, true),
            _ => (here, kept) = (here + 1, true),
        }
        here = here.min(chars.len());
        if kept {
            words.push(Word { text: chars[start..here].iter().collect(), line, test: false });
        }
        line += chars[start..here].iter().filter(|c| **c == '\n').count();
    }
    words
}

fn is_ident(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The first index at or after `from` for which `stop` is true, or the end.
fn find(chars: &[char], from: usize, stop: impl Fn(char) -> bool) -> usize {
    (from..chars.len()).find(|&index| stop(chars[index])).unwrap_or(chars.len())
}

fn string_end(chars: &[char], from: usize) -> usize {
    let mut stop = find(chars, from, |c| c == '"' || c == '\\');
    while chars.get(stop) == Some(&'\\') {
        stop = find(chars, stop + 2, |c| c == '"' || c == '\\');
    }
    stop + 1
}

/// Index after a raw string; `from` is at the hashes or the quote of `r##"…"##`.
fn raw_string_end(chars: &[char], from: usize) -> usize {
    let open = find(chars, from, |c| c != '#');
    let hashes = open - from;
    let closes =
        |at: usize| chars[at] == '"' && chars[at + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes;
    (open + 1..chars.len()).find(|&at| closes(at)).map_or(chars.len(), |at| at + 1 + hashes)
}

/// Index after the block comment at `from`; block comments nest.
fn comment_end(chars: &[char], from: usize) -> usize {
    let (mut depth, mut here) = (0, from);
    while here < chars.len() {
        match (chars[here], chars.get(here + 1)) {
            ('/', Some('*')) => (depth, here) = (depth + 1, here + 2),
            ('*', Some('/')) => (depth, here) = (depth - 1, here + 2),
            _ => here += 1,
        }
        if depth == 0 {
            break;
        }
    }
    here
}

/// Marks the item after every `#[cfg(test)]` and `#[test]`, up to its closing brace, or to its `;` if it has no body.
fn mark_tests(words: &mut [Word]) {
    let mut here = 0;
    while here < words.len() {
        let end = attribute_end(words, here);
        if end == here {
            here += 1;
            continue;
        }
        let named = |name| words[here..end].iter().any(|word| word.text == name);
        if !named("test") || named("not") || named("cfg_attr") {
            here = end;
            continue;
        }
        let close = item_end(words, end);
        words[here..close].iter_mut().for_each(|word| word.test = true);
        here = close;
    }
}

/// Index after the `]` of an attribute that starts at `from`; `from` if none starts there.
fn attribute_end(words: &[Word], from: usize) -> usize {
    let text = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    if text(from) != "#" || text(from + 1) != "[" {
        return from;
    }
    let mut depth = 0;
    for at in from + 1..words.len() {
        match text(at) {
            "[" => depth += 1,
            "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    words.len()
}

fn item_end(words: &[Word], from: usize) -> usize {
    let mut depth = 0_usize;
    for (at, word) in words.iter().enumerate().skip(from) {
        match word.text.as_str() {
            "{" | "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "}" => {
                depth = depth.saturating_sub(1);
                // A brace that closes at depth zero ends a body. In `use a::{b};` this leaves the
                // `;` over, which does no harm.
                if depth == 0 {
                    return at + 1;
                }
            }
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
    }
    words.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the words of `text`; in `expected`, words of tests are in brackets.
    fn check(text: &str, expected: &str) {
        let source = Source::new("src/sample.rs", text);
        let shown: Vec<String> = source
            .words
            .iter()
            .map(|word| if word.test { format!("[{}]", word.text) } else { word.text.clone() })
            .collect();
        assert_eq!(shown.join(" "), expected, "in {text}");
    }

    #[test]
    fn comments_and_literals_are_no_words() {
        check("a // crate::b\nc", "a c");
        check("a /* b /* c */ d */ e", "a e");
        check(r#"f("crate::b \" c", 'x', '\'', b'y', b"z")"#, "f ( , , , , )");
        check(r###"g(r#"crate::"b" "#, r"\", br##"a"#b"##) h"###, "g ( , , ) h");
        check("'\\u{1F600}' a", "a");
        check("\"never closed", "");
    }

    #[test]
    fn a_lifetime_does_not_swallow_what_follows() {
        check("fn f<'a>(x: &'a str) {}", "fn f < > ( x : & str ) { }");
    }

    #[test]
    fn test_items_are_marked_to_their_end() {
        check(
            "a #[cfg(test)] mod t { b { c } } d",
            "a [#] [[] [cfg] [(] [test] [)] []] [mod] [t] [{] [b] [{] [c] [}] [}] d",
        );
        check("#[test] fn t() {} d", "[#] [[] [test] []] [fn] [t] [(] [)] [{] [}] d");
        check("#[cfg(test)] mod t; d", "[#] [[] [cfg] [(] [test] [)] []] [mod] [t] [;] d");
        check("#[cfg(not(test))] a", "# [ cfg ( not ( test ) ) ] a");
    }

    #[test]
    fn a_word_knows_its_line() {
        let source = Source::new("src/sample.rs", "a /* \n */ \"\n\" b");
        assert_eq!(source.words.iter().map(|word| word.line).collect::<Vec<_>>(), [1, 3]);
    }
}
