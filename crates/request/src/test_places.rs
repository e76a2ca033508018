//! Reads the places in `run the tests in F`, where F are files and folders.

use std::sync::LazyLock;

use regex::Regex;

use crate::base::pattern::{pattern, static_regex};
use crate::language::clauses;

use super::forms;
use super::named::{Found, MARK, Named, Names, Role};

impl Names<'_> {
    /// The places, if the text orders to run all tests in certain places; `is_folder` tests whether
    /// a single word that does not look like a path, such as `examples`, is a folder of the
    /// project.
    pub fn places_of_tests(self, is_folder: impl Fn(&str) -> bool) -> Option<Vec<Named>> {
        static PLACE: LazyLock<Regex> = LazyLock::new(|| {
            let before = r"(?:\b(?:in|of|from|under|inside|at|for|and|the|test|file|files|folder|directory)\s+|,\s*)*";
            pattern(format!(r"(?i){before}{}(?:\s+(?:folder|directory|file))?", regex::escape(MARK)))
        });
        static_regex!(
            FOLDER = r"(?i)\s(?:in|of|from|under|inside)\s+(?:the\s+)?(?:folder\s+)?`?([\w.-]+)`?(?:\s+(?:folder|directory))?\W*$"
        );
        let text = self.text.raw();
        let mut rest = self.masked().raw().to_owned();
        let mut named = self.all;
        if let Some(found) = FOLDER.captures(text).filter(|found| named.is_empty() && is_folder(&found[1])) {
            let (range, said) = (found.get(0)?.range(), found[1].to_owned());
            rest = text[..range.start].to_owned();
            named.push(Named { range, found: Found::Folder(said.clone()), said, role: Role::Place });
        }
        clauses::parts(&PLACE.replace_all(&rest, " ")).into_iter().next().filter(forms::runs_all_tests)?;
        (!named.is_empty()).then_some(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Text;

    #[test]
    fn the_places_of_tests_are_files_and_folders() {
        let check = |text: &str, expected: Option<&[&str]>| {
            let text = Text::of(text);
            let places = Names::of(&text, None, &["tests/door.py".to_owned()]).places_of_tests(|word| word == "specs");
            let places: Option<Vec<String>> = places.map(|all| all.into_iter().map(|one| one.said).collect());
            let expected = expected.map(|all| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
            assert_eq!(places, expected, "{text}");
        };
        check("run the tests in tests/door.py", Some(&["tests/door.py"]));
        check("run the tests in the specs folder", Some(&["specs"]));
        check("run the tests", None);
        check("fix the tests in tests/door.py", None);
    }
}
