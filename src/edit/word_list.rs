//! Adds a word to the one list of words that a request describes: `emoji should be an uncountable word`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::index::{is_string, syntax_nodes};

use super::mutate::LISTS;

/// Fewest strings in a list of words.
const TEXTS_MIN: usize = 4;
/// Shortest word of the description that is compared, and how many of its letters count: `uncountable` also means
/// `uncountables`.
const LETTERS_MIN: usize = 5;
const LETTERS: usize = 8;
/// Lines above a list that may describe it.
const LABEL_LINES: usize = 3;
/// Nouns for lists and what is in them. A request has to have one of them, or quotes around the word: `add logging to
/// the parser` means something else.
const HOLDERS: &[&str] = &[
    "list",
    "lists",
    "word",
    "words",
    "keyword",
    "keywords",
    "name",
    "names",
    "key",
    "keys",
    "type",
    "types",
    "extension",
    "extensions",
    "rule",
    "rules",
    "code",
    "codes",
    "token",
    "tokens",
    "entries",
    "set",
    "allowlist",
    "denylist",
    "blocklist",
];

/// The word that is to be added and the description of its list, if a request asks for that and no more.
pub fn asked(task: &str) -> Option<(String, String)> {
    static ASKED: LazyLock<Regex> = LazyLock::new(|| {
        let word = r#"(["'`]?)([\w.+#-]*\w)["'`]?"#;
        let add = format!(r"(?:please\s+)?(?:add|treat|put|append|include)\s+{word}\s+(?:to|as|into|in|among)");
        let be = r"(?:should|must|has to|needs to|ought to)\s+(?:also\s+)?(?:be(?:long|\s+treated|\s+counted)?|count)";
        let be = format!(r"{word}\s+{be}\s+((?:one|part)\s+of|an?|to|as|in|among|on)");
        Regex::new(&format!(r"(?i)^(?:{add}|{be})\s+([^.,;:!?\n]+)$")).expect("a pattern")
    });
    let found = ASKED.captures(task.trim().trim_end_matches(['.', '!']))?;
    let group = |at: usize| found.get(at).map(|one| one.as_str()).unwrap_or_default();
    let (is_marked, is_one_of) =
        (!(group(1).is_empty() && group(3).is_empty()), group(5).to_lowercase().ends_with("of"));
    let (word, about) = (if group(2).is_empty() { group(4) } else { group(2) }, group(6));
    let mut words = about.split(|letter: char| !letter.is_alphanumeric()).map(str::to_lowercase);
    let is_more = words.clone().any(|word| matches!(word.as_str(), "and" | "then"));
    let holds = is_marked || is_one_of || words.any(|word| HOLDERS.contains(&word.as_str()));
    (holds && !is_more).then(|| (word.to_owned(), about.to_owned()))
}

/// `text` with `word` added to the one list that has the words of `about` in its name, in the lines above it, or behind
/// it. `None` if no list or several have them, or if the text has `word` already.
pub fn add(path: &str, text: &str, word: &str, about: &str) -> Option<String> {
    let low = text.to_lowercase();
    let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let wanted = word.to_lowercase();
    let is_present = low
        .match_indices(&wanted)
        .any(|(at, _)| !is_part(low[..at].chars().next_back()) && !is_part(low[at + wanted.len()..].chars().next()));
    if is_present {
        return None;
    }
    let nodes = syntax_nodes(path, text, &(0..text.len()));
    let texts_of = |of: usize| -> Vec<Range<usize>> {
        let inner = nodes.iter().filter(|node| node.parent == Some(of) && node.is_named);
        inner.filter(|node| is_string(&node.kind)).map(|node| node.bytes.clone()).collect()
    };
    let lists = (0..nodes.len()).filter(|at| LISTS.contains(&nodes[*at].kind.as_str()));
    let labelled = lists.filter(|at| texts_of(*at).len() >= TEXTS_MIN && is_about(text, &nodes[*at].bytes, about));
    let labelled: Vec<usize> = labelled.collect();
    let [list] = labelled.as_slice() else { return None };
    let texts = texts_of(*list);
    let bare = |bytes: &Range<usize>| text[bytes.clone()].trim_matches(['"', '\'', '`']).to_lowercase();
    let is_sorted = texts.windows(2).all(|pair| bare(&pair[0]) <= bare(&pair[1]));
    let before = texts.iter().rposition(|one| !is_sorted || bare(one) < wanted);
    let beside = &texts[before.unwrap_or(0)];
    let mark = text[beside.clone()].chars().next().filter(|mark| ['"', '\'', '`'].contains(mark))?;
    let new = format!("{mark}{word}{mark}");
    let line = text[..beside.start].rfind('\n').map_or(0, |end| end + 1);
    let indent = &text[line..beside.start];
    let joint = if indent.trim().is_empty() { format!("\n{indent}") } else { " ".to_owned() };
    Some(match before {
        Some(_) => format!("{},{joint}{new}{}", &text[..beside.end], &text[beside.end..]),
        None => format!("{}{new},{joint}{}", &text[..beside.start], &text[beside.start..]),
    })
}

/// Whether the text around a list has at least half of the long words of `about`.
fn is_about(text: &str, list: &Range<usize>, about: &str) -> bool {
    let (before, behind) = (&text[..list.start], &text[list.end..]);
    let mut label: Vec<&str> = before.lines().rev().take(LABEL_LINES + 1).collect();
    label.push(behind.lines().next().unwrap_or_default());
    let label = label.join("\n").to_lowercase();
    let about = about.to_lowercase();
    let words = about.split(|letter: char| !letter.is_alphanumeric());
    let words = words.filter(|word| word.chars().count() >= LETTERS_MIN);
    let found: Vec<bool> = words.map(|word| label.contains(&word.chars().take(LETTERS).collect::<String>())).collect();
    let held = found.iter().filter(|is_held| **is_held).count();
    held > 0 && 2 * held >= found.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_and_its_list_are_asked_for() {
        let check = |task: &str, expected: Option<(&str, &str)>| {
            let found = asked(task);
            assert_eq!(found.as_ref().map(|(word, list)| (word.as_str(), list.as_str())), expected, "{task}");
        };
        check("emoji should be an uncountable word", Some(("emoji", "uncountable word")));
        check("Add 'webp' to the image extensions.", Some(("webp", "the image extensions")));
        check("xor must be one of the reserved words", Some(("xor", "the reserved words")));
        check("timeout should be 30", None);
        check("Add logging to the parser", None);
        check("Parser should be a class", None);
        check("Add 'webp' to the image extensions and write a test", None);
        check("add a function f to the module", None);
    }

    #[test]
    fn a_word_is_added_to_the_list_that_is_described() {
        let text = "var a = ['x', 'y', 'z', 'w'];\n/**\n * Uncountable rules.\n */\n[\n  // no plurals\n  'advice',\n  'elk',\n  'fish',\n  'news',\n  /ese$/\n].forEach(addRule);\n";
        let added = add("a.js", text, "emoji", "uncountable word").unwrap();
        assert_eq!(added, text.replace("'elk',\n", "'elk',\n  'emoji',\n"));
        assert_eq!(add("a.js", text, "advice", "uncountable word"), None);
        assert_eq!(add("a.js", text, "emoji", "plural rules of english"), None);
        let tight = "IMAGE_TYPES = ('png', 'gif', 'jpg', 'bmp')\n";
        assert_eq!(add("a.py", tight, "webp", "image types").unwrap(), tight.replace("'bmp'", "'bmp', 'webp'"));
        let first = "WORDS = [\"b\", \"c\", \"d\", \"e\"]\n";
        assert_eq!(add("a.py", first, "a", "the words").unwrap(), first.replace("\"b\"", "\"a\", \"b\""));
    }
}
