//! Finds the characters that a request calls by name: `indent with two spaces instead of a tab`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// How a character is written in a string literal, and its names.
const NAMES: &[(&str, &[&str])] = &[
    (r"\t", &["tab", "tabs", "tabulator", "tabulation"]),
    (r"\n", &["newline", "newlines", "line break", "zeilenumbruch"]),
    (" ", &["space", "spaces", "blank", "blanks", "leerzeichen", "espace", "espaces", "espacio", "espacios"]),
    (",", &["comma", "commas", "komma", "kommas", "virgule", "virgules", "coma", "comas"]),
    (";", &["semicolon", "semicolons", "semikolon", "strichpunkt", "point-virgule"]),
    (":", &["colon", "colons", "doppelpunkt"]),
    ("-", &["dash", "dashes", "hyphen", "hyphens", "bindestrich", "bindestriche", "tiret", "tirets", "guion"]),
    ("_", &["underscore", "underscores", "unterstrich", "unterstriche"]),
    (".", &["dot", "dots", "period", "full stop", "punkt"]),
    ("|", &["pipe", "pipes"]),
    ("/", &["slash", "slashes", "schrägstrich"]),
    ("*", &["asterisk", "asterisks"]),
];
const COUNTS: &[(&str, usize)] =
    &[("two", 2), ("2", 2), ("three", 3), ("3", 3), ("four", 4), ("4", 4), ("eight", 8), ("8", 8)];

/// The characters that `task` names: the bytes of each name with its article or number, and the text for a string literal.
pub fn named(task: &str) -> Vec<(Range<usize>, String)> {
    static NAMED: LazyLock<Regex> = LazyLock::new(|| {
        let names: Vec<&str> = NAMES.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let counts: Vec<&str> = COUNTS.iter().map(|(word, _)| *word).collect();
        let pattern = format!(
            r"(?i)(?:\b(?:an?|one|a single|single|ein|einem|einen|une?|una?|({}))\s+)?\b({})\b",
            counts.join("|"),
            names.join("|")
        );
        Regex::new(&pattern).expect("a pattern")
    });
    let found = NAMED.captures_iter(task).filter_map(|found| {
        let name = found.get(2)?.as_str().to_lowercase();
        let (character, _) = NAMES.iter().find(|(_, names)| names.contains(&name.as_str()))?;
        let count = found.get(1).and_then(|word| {
            COUNTS.iter().find(|(count, _)| count.eq_ignore_ascii_case(word.as_str())).map(|(_, count)| *count)
        });
        Some((found.get(0)?.range(), character.repeat(count.unwrap_or(1))))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_called_by_their_names() {
        let check = |task: &str, expected: &[&str]| {
            let found: Vec<String> = named(task).into_iter().map(|(_, text)| text).collect();
            assert_eq!(found, expected, "{task}");
        };
        check("indent the list with two spaces instead of a tab", &["  ", r"\t"]);
        check("Join them with semicolons, not commas", &[";", ","]);
        check("a full stop is missing", &["."]);
        check("the table and the dashboard", &[]);
    }
}
