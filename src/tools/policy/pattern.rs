//! Patterns of rules: wildcards for names, texts and paths, and words for command lines.

use globset::{GlobBuilder, GlobMatcher};

use crate::tools::policy::denied;
use crate::tools::policy::form::Form;
use crate::tools::shell::Line;
use crate::tools::shell::word::Word;

/// How a pattern applies to a value with several parts, such as a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// For rules that allow: every part must match, and the whole line must have been parsed.
    All,
    /// For rules that ask or deny: one matching part is enough.
    Any,
}

/// One pattern as it was written.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    glob: GlobMatcher,
    wild: bool,
    /// Whether it has a wildcard other than a final ` *`, which stands for any further words.
    inner_wild: bool,
    /// For `folder/` and `folder/**`: the folder itself.
    folder: Option<GlobMatcher>,
    /// The pattern as a command; `None` if it begins with a wildcard.
    form: Option<Form>,
}

impl Pattern {
    /// For names and texts: `*` matches any text.
    pub fn text(text: &str) -> Result<Pattern, String> {
        Pattern::new(text, false)
    }

    /// For paths: `*` matches within a folder, `**` across folders; a final `/` matches everything
    /// below the folder.
    pub fn path(text: &str) -> Result<Pattern, String> {
        let whole = text.strip_prefix("./").unwrap_or(text);
        let folder = whole.strip_suffix("/**").or(whole.strip_suffix('/')).filter(|folder| !folder.is_empty());
        let Some(folder) = folder else { return Pattern::new(whole, true) };
        let itself = Pattern::new(folder, true)?.glob;
        Ok(Pattern { folder: Some(itself), ..Pattern::new(&format!("{folder}/**"), true)? })
    }

    fn new(text: &str, separated: bool) -> Result<Pattern, String> {
        let glob = GlobBuilder::new(text).literal_separator(separated).backslash_escape(true).build();
        let glob = glob.map_err(|error| format!("`{text}` is not a pattern: {}", error.kind()))?.compile_matcher();
        let wild = text.contains(['*', '?', '[', '{']);
        let inner_wild = text.trim_end_matches(" *").contains(['*', '?', '[', '{']);
        Ok(Pattern { text: text.to_owned(), glob, wild, inner_wild, folder: None, form: Form::new(text) })
    }

    pub fn matches(&self, text: &str) -> bool {
        self.glob.is_match(text)
    }

    /// For rules that ask or deny: whether the path or a folder above it matches. A final `*`
    /// matches only direct entries of its folder.
    pub fn covers(&self, path: &str) -> bool {
        let stays = self.text.rsplit('/').next() == Some("*");
        let itself = |path: &str| self.folder.as_ref().is_some_and(|folder| folder.is_match(path));
        let mut above = path.match_indices('/').map(|(at, _)| &path[..at]).filter(|folder| !folder.is_empty());
        self.matches(path) || itself(path) || above.any(|folder| itself(folder) || (!stays && self.matches(folder)))
    }

    /// Whether a path that begins with `start` and continues with unknown text may match.
    pub fn may_cover_below(&self, start: &str) -> bool {
        let literal = self.text.split(['*', '?', '[', '{']).next().unwrap_or_default().trim_end_matches('/');
        let start = start.trim_start_matches("./");
        !start.is_empty() && !literal.is_empty() && (literal.starts_with(start) || start.starts_with(literal))
    }

    pub fn is_absolute(&self) -> bool {
        self.text.starts_with('/')
    }

    /// Matches the shell command line `text`, parsed as `line`. A pattern without wildcards must
    /// equal the first words of a command.
    pub fn matches_command(&self, text: &str, line: &Line, sense: Sense) -> bool {
        match sense {
            Sense::All => {
                let hidden = ["$(", "`", "<(", ">(", "\n"].iter().any(|sign| text.contains(sign));
                !hidden && line.plain().is_some_and(|all| all.iter().all(|one| self.begins(&one.words)))
            }
            Sense::Any => match &self.form {
                Some(form) => denied::may_run(form, line) || (self.inner_wild && self.stands_in(text, line)),
                None => self.stands_in(text, line),
            },
        }
    }

    /// Whether the words begin with the pattern.
    fn begins(&self, words: &[Word]) -> bool {
        if self.wild {
            return self.glob.is_match(joined(words));
        }
        let wanted: Vec<&str> = self.text.split_whitespace().collect();
        words.len() >= wanted.len() && words.iter().zip(&wanted).all(|(word, wanted)| word.known() == Some(wanted))
    }

    /// Whether a pattern with wildcards matches a command from any word on, or may match it because
    /// of unknown words.
    fn stands_in(&self, text: &str, line: &Line) -> bool {
        let start = self.text.split(['*', '?', '[', '{']).next().unwrap_or_default();
        let may = |words: &[Word], begins: bool| {
            let known = words.iter().all(|word| word.known().is_some());
            let all = joined(words);
            let first = words[0].start();
            let begun = begins || !first.is_empty();
            self.glob.is_match(&all) || (!known && begun && (all.starts_with(start) || start.starts_with(first)))
        };
        let bare = |words: &[Word]| -> Vec<Word> {
            words.iter().map(|word| word.known().map_or_else(|| word.clone(), |_| word.program())).collect()
        };
        let anywhere = |words: &[Word]| (0..words.len()).any(|at| may(&words[at..], at == 0));
        !line.understood
            || self.glob.is_match(text)
            || line.commands.iter().any(|one| anywhere(&one.words) || anywhere(&bare(&one.words)))
    }
}

fn joined(words: &[Word]) -> String {
    words.iter().map(Word::shown).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::shell::parse;

    fn check(pattern: &str, line: &str, all: bool, any: bool) {
        let (pattern, read) = (Pattern::text(pattern).unwrap(), parse(line));
        let got = (pattern.matches_command(line, &read, Sense::All), pattern.matches_command(line, &read, Sense::Any));
        assert_eq!(got, (all, any), "{} {line}", pattern.text);
    }

    #[test]
    fn first_words_match_whole_words_only() {
        check("cargo test", "cargo test --lib", true, true);
        check("cargo test", "cargo testify", false, false);
        check("cargo t*", "cargo testify", true, true);
        check("cargo test", "cargo", false, false);
    }

    #[test]
    fn what_hides_behind_an_allowed_command_is_not_allowed() {
        check("cargo test", "cargo test; rm -rf x", false, true);
        check("cargo test", "cargo test && cargo test -q", true, true);
        check("cargo *", "cargo test > out.txt", false, true);
        check("cargo *", "cargo test 2>/dev/null", true, true);
        check("cargo *", "cargo test $(rm x)", false, true);
        check("cargo *", "cargo test \"`rm x`\"", false, true);
        check("cargo *", "cargo test <(rm x)", false, true);
        check("cargo *", "cargo test\nrm x", false, true);
        check("cargo *", "PATH=. cargo test", false, true);
        check("cargo *", "cargo test 'open", false, true);
        check("cargo *", "", false, false);
    }

    #[test]
    fn what_is_denied_is_found_behind_other_programs() {
        check("git push", "env X=1 git push", false, true);
        check("git push", "/usr/bin/git push", false, true);
        check("git push", "sh -c 'git push origin'", false, true);
        check("git push", "ls | xargs git push", false, true);
        check("git push", "git log --grep push", false, false);
    }

    #[test]
    fn a_star_stays_in_its_folder_and_two_do_not() {
        let check = |pattern: &str, path: &str, expected: bool| {
            assert_eq!(Pattern::path(pattern).unwrap().matches(path), expected, "{pattern} {path}");
        };
        check("src/*", "src/a.rs", true);
        check("src/*", "src/deep/a.rs", false);
        check("src/**", "src/deep/a.rs", true);
        check("src/", "src/deep/a.rs", true);
        check("src/**", "../src/a.rs", false);
        check("**/*.env", "a/b/x.env", true);
        assert!(Pattern::path("a[").is_err());
    }

    #[test]
    fn what_is_denied_is_denied_with_all_that_is_in_it() {
        let check = |pattern: &str, path: &str, expected: bool| {
            assert_eq!(Pattern::path(pattern).unwrap().covers(path), expected, "{pattern} {path}");
        };
        for pattern in ["keys", "keys/", "./keys", "./keys/", "keys/**", "**/keys", "k*"] {
            for path in ["keys", "keys/a", "keys/deep/a"] {
                check(pattern, path, true);
            }
            check(pattern, "src/a", false);
        }
        check("keys/", "keys.rs", false);
        check("**/*.env", ".env", true);
        check("src/*", "src/a", true);
        check("src/*", "src/deep/a", false);
        check("src/*/a", "src/deep/a/b", true);
    }
}
