//! Reads a step of the form `FROM -> TO`: a rename or a move.

use crate::base::is_listed;
use crate::language::shape;

use super::Text;

/// A move: the file or definition to move, and its destination.
pub struct Move {
    /// The file or definition as the request names it.
    pub what: Text,
    place: String,
}

impl Text {
    fn sides(&self) -> Option<(&str, &str)> {
        self.raw().split_once(" -> ")
    }

    /// The old and the new name of a rename; `is_known` tests whether the project contains a name,
    /// as it must contain the old one.
    pub fn renamed(&self, is_known: impl Fn(&str) -> bool) -> Option<(String, String)> {
        let (left, right) = self.sides()?;
        let known = candidates(left).into_iter().filter(|name| is_known(name));
        let from = known.max_by_key(|name| shape::is_coined(name))?;
        let to = new_name(right, &from)?;
        Some((from, to.rsplit(['.', ':']).next().unwrap_or(&to).to_owned()))
    }

    /// The two sides of a move `FROM -> TO`; `None` for any other text.
    pub fn moved(&self) -> Option<Move> {
        let (what, place) = self.sides()?;
        Some(Move { what: Text::of(what), place: place.to_owned() })
    }
}

impl Move {
    /// The name of a definition to move out of a file: `NAME from PATH`.
    pub fn out_of_file(&self) -> Option<&str> {
        let (name, _) = self.what.raw().split_once(" from ").filter(|(name, _)| !name.trim().contains(' '))?;
        Some(name.trim_matches(['`', ' ']))
    }

    /// The moved definition or file, if the text is a single name.
    pub fn name(&self) -> &str {
        self.what.raw().trim_matches(['`', ' '])
    }

    /// Fails if the file to move could be one other than `from`.
    pub fn only_one(&self, from: &str, known: &[String]) -> Result<(), String> {
        only_one(self.what.raw(), from, known)
    }

    /// The new path of a file, or of a definition in the file `from`. The error gives the reason
    /// why there is none.
    pub fn destination(&self, from: Option<&str>, known: &[String]) -> Result<String, String> {
        destination(&self.place, from.unwrap_or(&self.place), known)
    }
}

/// The words of a text that may be names.
fn candidates(text: &str) -> Vec<String> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | ':');
    let words = text.split(|c| !is_name(c)).map(|word| word.trim_matches(['.', ':']).to_owned());
    words.filter(|word| !word.is_empty()).collect()
}

/// The word of `text` that is most likely the new name of `from`: written as code and in the style
/// of `from`; the last of equal candidates. Words of rename requests do not count.
fn new_name(text: &str, from: &str) -> Option<String> {
    const WORDS: &str = "rename to it the into as call everywhere in um nach zu en a por all of";
    let style = |name: &str| {
        let bare = name.trim_start_matches('_');
        let upper = bare.chars().next().is_some_and(char::is_uppercase);
        (name.starts_with('_'), upper, bare.contains('_'), bare.chars().any(char::is_lowercase))
    };
    let likeness = |word: &String| (shape::is_coined(word), style(word) == style(from));
    let words = candidates(text).into_iter();
    words.filter(|word| word != from && !is_listed(WORDS, &word.to_lowercase())).max_by_key(likeness)
}

/// Fails if `what` could also mean another file.
fn only_one(what: &str, from: &str, known: &[String]) -> Result<(), String> {
    let name = from.rsplit('/').next().unwrap_or(from);
    let same: Vec<&str> =
        known.iter().map(String::as_str).filter(|path| path.rsplit('/').next() == Some(name)).collect();
    if what.contains(from) || same.len() < 2 {
        Ok(())
    } else {
        Err(format!("`{name}` may be {}; give the full path", same.join(" or ")))
    }
}

/// The new path of `from`: a word of `text` with the extension of the file, else a folder, in which
/// the file keeps its name. The error gives the reason why there is none.
fn destination(text: &str, from: &str, known: &[String]) -> Result<String, String> {
    let name = from.rsplit('/').next().unwrap_or(from);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    const MARKS: [char; 11] = ['`', '"', '\'', ',', ';', ':', '(', ')', '.', '?', '!'];
    let words = text.split_whitespace().map(|word| word.trim_start_matches(&MARKS[..8]).trim_end_matches(MARKS));
    let words: Vec<&str> = words.filter(|word| *word != from).collect();
    let is_file = |word: &&&str| {
        word.rsplit('/').next().is_some_and(|last| last.rsplit_once('.').is_some_and(|(_, e)| e == ending))
    };
    let is_folder = |word: &str| known.iter().any(|path| path.starts_with(&format!("{}/", word.trim_matches('/'))));
    let file = words.iter().find(is_file);
    let folder = words.iter().find(|word| word.contains('/')).or_else(|| words.iter().find(|word| is_folder(word)));
    match (file, folder) {
        (Some(file), _) if !file.contains('/') && from.contains('/') => {
            Err(format!("`{file}` has no folder; write `./{file}` for the project's root folder"))
        }
        (Some(file), _) => Ok(file.trim_start_matches("./").to_owned()),
        (None, Some(folder)) => Ok(format!("{}/{name}", folder.trim_start_matches("./").trim_end_matches('/'))
            .trim_start_matches('/')
            .to_owned()),
        (None, None) => Err(format!("`{text}` does not give a new path for {from}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_name_is_found_among_other_words() {
        let check = |text: &str, from: &str, expected: &str| {
            assert_eq!(new_name(text, from).as_deref(), Some(expected), "{text}")
        };
        check("rename to _LockMixin everywhere", "_LockedMixin", "_LockMixin");
        check("typeOfValue and update everything", "kindOf", "typeOfValue");
        check("Call it bake_loaf, in src and tests", "bake_it", "bake_loaf");
        check("load", "read", "load");
        assert_eq!(new_name("everywhere", "read"), None);
    }

    #[test]
    fn the_new_path_is_found_among_other_words() {
        let known: Vec<String> = ["src/a.ts", "src/utils/a.ts", "lib/b.ts"].map(str::to_owned).to_vec();
        let check =
            |text: &str, expected: Result<&str, &str>| match (destination(text, "src/utils/a.ts", &known), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
                (Err(why), Err(part)) => assert!(why.contains(part), "{text}: {why}"),
                (found, _) => panic!("{text}: {found:?}"),
            };
        check("to src/b.ts and fix the imports", Ok("src/b.ts"));
        check("`src/codec/a.ts`.", Ok("src/codec/a.ts"));
        check("into src/codec/", Ok("src/codec/a.ts"));
        check("the lib folder", Ok("lib/a.ts"));
        check("./b.ts", Ok("b.ts"));
        check("./", Ok("a.ts"));
        check("b.ts", Err("write `./b.ts`"));
        check("somewhere else", Err("does not give"));
    }

    #[test]
    fn a_file_name_that_two_files_have_is_refused() {
        let known: Vec<String> = ["src/a.ts", "lib/a.ts"].map(str::to_owned).to_vec();
        assert!(only_one("move a.ts", "lib/a.ts", &known).unwrap_err().contains("src/a.ts or lib/a.ts"));
        assert!(only_one("move lib/a.ts", "lib/a.ts", &known).is_ok());
    }
}
