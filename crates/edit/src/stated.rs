//! Reads the results that a short program states in comments after its prints, and finds the first
//! one that differs in a run.

use crate::base::pattern::static_regex;

/// A print whose stated result differs from the printed one.
#[derive(Debug, PartialEq)]
pub struct Contradiction {
    /// The code up to this print, without comments and earlier prints.
    pub code: String,
    /// The result that is stated next to it.
    pub stated: String,
    /// The result that running it printed.
    pub printed: String,
}

/// The first print in `code` whose stated result differs from the line in `printed`. `None` if the
/// lines cannot be matched to the prints one by one.
pub fn contradicted(code: &str, printed: &[String]) -> Option<Contradiction> {
    let is_print = |line: &str| line.starts_with("print(") || line.starts_with("console.log(");
    let lines: Vec<&str> = code.lines().map(str::trim).collect();
    let prints: Vec<usize> = (0..lines.len()).filter(|at| is_print(lines[*at])).collect();
    if prints.len() != printed.len() {
        return None;
    }
    prints.iter().zip(printed).find_map(|(at, printed)| {
        let (print, comment) = commented(lines[*at])?;
        let stated = value(comment).filter(|stated| !is_same(stated, printed))?;
        let bare = |line: &&str| commented(line).map_or_else(|| (*line).to_owned(), |(code, _)| code.to_owned());
        let before = lines[..*at].iter().filter(|line| !is_print(line)).map(bare);
        let code: Vec<String> = before.chain([print.to_owned()]).collect();
        Some(Contradiction { code: code.join("\n"), stated: stated.to_owned(), printed: printed.clone() })
    })
}

/// Splits a line into its code and its comment.
fn commented(line: &str) -> Option<(&str, &str)> {
    let mut quote: Option<char> = None;
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (Some(mark), _) if mark == letter => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '#') => return Some((line[..at].trim_end(), line[at + 1..].trim())),
            (None, '/') if line[at..].starts_with("//") => return Some((line[..at].trim_end(), line[at + 2..].trim())),
            _ => {}
        }
    }
    None
}

/// The value that a comment states, without the surrounding words; `None` for prose and for
/// shortened values.
fn value(comment: &str) -> Option<&str> {
    static_regex!(
        LEAD = r"(?i)^(?:(?:this\s+|it\s+)?(?:(?:should|must|will|expected|expect)\s+)*(?:be|give|gives|print|prints|output|outputs|returns?|result|expected)\b(?:\s+(?:output|result))?\s*:?|[-=]+>|→)\s*"
    );
    static_regex!(
        PLAIN = r#"^(?:-?\d[\w.]*|True|False|None|true|false|null|undefined|"[^"]*"|'[^']*'|(?:[A-Z]\w*\s*)?[(\[{])"#
    );
    static_regex!(BEHIND = r"^\s*(?:$|[(,;.]|[-–—]\s|because\b|since\b|as\b)");
    let text = comment[LEAD.find(comment).map_or(0, |lead| lead.end())..].trim();
    let first = PLAIN.find(text)?;
    let end = if first.as_str().ends_with(['(', '[', '{']) {
        super::examples::closed(text, first.end() - 1)?
    } else {
        first.end()
    };
    let (stated, rest) = text.split_at(end);
    let is_prose = stated.starts_with('(') && !stated.contains(|c: char| c.is_ascii_digit() || "'\",".contains(c));
    let is_whole = !is_prose && !stated.contains("...") && !stated.contains('…');
    (BEHIND.is_match(rest) && is_whole).then_some(stated)
}

/// Whether two texts show the same value. White space, quotation marks, brackets and the order of
/// mappings and sets are ignored, because notations differ.
fn is_same(stated: &str, printed: &str) -> bool {
    let (stated, printed) = (core(stated), core(printed));
    if let Some(text) = unquoted(stated) {
        return text == unquoted(printed).unwrap_or(printed);
    }
    let (mut left, mut right) = (words(stated), words(printed));
    if stated.contains('{') || printed.contains('{') {
        left.sort_unstable();
        right.sort_unstable();
    }
    left.len() == right.len() && left.iter().zip(&right).all(|(left, right)| is_same_word(left, right))
}

/// The first value inside a named type (`{'a': 1}` in `Box({'a': 1}, size=2)`), else the text
/// itself.
fn core(text: &str) -> &str {
    static_regex!(OF_TYPE = r"^[A-Za-z_]\w*(?:\(\d+\))?\s*\(?\s*([\[{(])");
    let text = text.trim();
    let open = OF_TYPE.captures(text).and_then(|found| found.get(1)).map(|open| open.start());
    let inner = open.and_then(|open| Some(&text[open..super::examples::closed(text, open)?]));
    inner.unwrap_or(text)
}

/// The text between quotation marks, if they enclose it completely.
fn unquoted(text: &str) -> Option<&str> {
    ['\'', '"']
        .iter()
        .find_map(|mark| text.strip_prefix(*mark)?.strip_suffix(*mark).filter(|text| !text.contains(*mark)))
}

/// The words and numbers in a value.
fn words(text: &str) -> Vec<&str> {
    static_regex!(WORD = r"-?[\w.]*\w");
    WORD.find_iter(text).map(|word| word.as_str()).collect()
}

fn is_same_word(left: &str, right: &str) -> bool {
    match (left.parse::<f64>(), right.parse::<f64>()) {
        (Ok(left), Ok(right)) => (left - right).abs() <= 1e-9 * left.abs().max(right.abs()),
        _ => left == right || left.eq_ignore_ascii_case(right) && ["true", "false"].contains(&&*left.to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stated_result_is_compared_with_the_printed_one() {
        let check = |code: &str, printed: &str, is_contradicted: bool| {
            let lines: Vec<String> = printed.lines().map(str::to_owned).collect();
            let found = contradicted(code, &lines);
            assert_eq!(found.is_some(), is_contradicted, "{code} {printed} {found:?}");
        };
        let moved = "box.move('a', 'd')\nprint(box)  # Box({'d': 1, 'b': 2})";
        check(moved, "Box({'a': 1, 'b': 2, 'd': 1})", true);
        // Keys are unordered, a type may show additional values, and JavaScript writes values with
        // more white space.
        check(moved, "Box({'b': 2, 'd': 1}, size=4)", false);
        check("print(box)  # {'a': 1}", "Box({'a': 1})", false);
        check("console.log(f([2, 1]));  // [1, 2]", "[ 1, 2 ]", false);
        check("console.log(f([2, 1]));  // [1, 2]", "[ 2, 1 ]", true);
        check("print(join('a b'))  # Output: 'a-b'", "a-b", false);
        check("print(join('a b'))  # -> 'a-b'", "a_b", true);
        check("print(third(1))  # 0.5", "0.50000000000001", false);
        check("print(third(1))  # should be 1.0 (rounded)", "1", false);
        check("print(is_odd(3))  # True, because 3 is", "False", true);
        check("print('# 1')", "2", false);
        check("print(f(1))  # 1\nprint(f(2))  # 3", "1\n2", true);
        // Prose and shortened values state no result, and ambiguous lines are ignored.
        check("print(f(1))  # the first one", "2", false);
        check("print(f(1))  # (the first one)", "2", false);
        check("print(f(1))  # 2 and then some", "3", false);
        check("print(f(1))  # [1, 2, ...]", "[1, 3, 4]", false);
        check("print(f(1))  # 1", "2\n3", false);
    }

    #[test]
    fn a_contradiction_names_the_print_and_both_results() {
        let code = "x = 1  # one\nprint(f(x))  # 1\nx = 2\nprint(f(x))  # 2";
        let found = contradicted(code, &["1".to_owned(), "3".to_owned()]);
        let code = "x = 1\nx = 2\nprint(f(x))".to_owned();
        assert_eq!(found, Some(Contradiction { code, stated: "2".into(), printed: "3".into() }));
    }
}
