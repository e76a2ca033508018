//! Finds what an order changes: the docstring that it mentions, or the files after a preposition.

use std::sync::LazyLock;

use regex::Regex;

use crate::base::pattern::pattern;
use crate::language::shape;

use super::Text;

impl Text {
    /// The definition whose docstring the text mentions.
    pub fn documented(&self) -> Option<&str> {
        owner(self.raw())
    }

    /// The files to change: those after a preposition (`take a.txt out of MANIFEST.in`), or all of
    /// `paths` if there are none.
    pub fn files_to_change<'p>(&self, paths: Vec<&'p String>) -> Vec<&'p String> {
        to_change(self.raw(), paths)
    }
}

/// The definition whose docstring a text mentions: `the docstring of Store`,
/// `Store.add's docstring`.
fn owner(text: &str) -> Option<&str> {
    static OWNER: LazyLock<Regex> = LazyLock::new(|| {
        let (docs, kinds) =
            (r"(?:docstring|doc string|doc comment)s?", r"(?:the\s+)?(?:class|function|method|type)?\s*");
        let name = r"`?([A-Za-z_][\w.]*\w)`?";
        pattern(format!(r"(?i)\b{docs}\s+(?:of|for|in|von|de)\s+{kinds}{name}|{name}['’]s\s+{docs}"))
    });
    let found = OWNER.captures(text)?;
    let name = found.get(1).or(found.get(2))?.as_str();
    shape::is_coined(name).then_some(name).or_else(|| text.contains(&format!("{name}()")).then_some(name))
}

fn to_change<'p>(text: &str, paths: Vec<&'p String>) -> Vec<&'p String> {
    const PREPOSITIONS: &[&str] =
        &["in", "inside", "from", "into", "to", "out of", "in der", "aus", "dans", "de", "en"];
    let follows_preposition = |path: &&String| {
        let name = path.rsplit('/').next().unwrap_or(path);
        let before = text.find(name).map_or("", |at| &text[..at]);
        let before = &before[..before.rfind(char::is_whitespace).unwrap_or(0)];
        let before = ["file", "the", "our", "my"]
            .iter()
            .fold(before.trim_end(), |rest, word| rest.strip_suffix(word).map_or(rest, str::trim_end));
        PREPOSITIONS
            .iter()
            .any(|word| before.strip_suffix(word).is_some_and(|rest| rest.is_empty() || rest.ends_with(' ')))
    };
    let named: Vec<&String> = paths.iter().copied().filter(|path| follows_preposition(path)).collect();
    if named.is_empty() { paths } else { named }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_of_a_docstring_is_read() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(owner(text), expected, "{text}");
        check("Say in the docstring of Store.add that it trims", Some("Store.add"));
        check("mention both in the docstring for the class `Shelf`", Some("Shelf"));
        check("Extend load_all's docstring by an example", Some("load_all"));
        check("Add docstrings to all functions", None);
        check("the docstring of it is wrong", None);
    }

    #[test]
    fn only_the_file_after_a_preposition_is_changed() {
        let check = |text: &str, expected: &[&str]| {
            let paths = ["a.txt".to_owned(), "docs/b.md".to_owned()];
            assert_eq!(to_change(text, paths.iter().collect()), expected, "{text}");
        };
        check("take a.txt out of docs/b.md", &["docs/b.md"]);
        check("Mention a.txt in the file `docs/b.md`", &["docs/b.md"]);
        check("update a.txt and docs/b.md", &["a.txt", "docs/b.md"]);
        check("Say so in a.txt, and in b.md too", &["a.txt", "docs/b.md"]);
    }
}
