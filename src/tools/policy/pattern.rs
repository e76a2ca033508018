//! Patterns of rules: wildcards for names, texts and paths, words for command lines.

use globset::{GlobBuilder, GlobMatcher};

use crate::tools::shell;

/// How a pattern applies to something with several parts, such as a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// For rules that allow: every part must match, and the whole must be understood.
    All,
    /// For rules that ask or deny: one part is enough.
    Any,
}

/// One pattern as it was written.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    glob: GlobMatcher,
    wild: bool,
}

impl Pattern {
    /// For names and texts: `*` stands for anything.
    pub fn text(text: &str) -> Result<Pattern, String> {
        Pattern::new(text, false)
    }

    /// For paths: `*` stays within a folder, `**` does not; a final `/` stands for everything below the folder.
    pub fn path(text: &str) -> Result<Pattern, String> {
        let whole = text.strip_prefix("./").unwrap_or(text);
        match whole.strip_suffix('/') {
            Some(folder) => Pattern::new(&format!("{folder}/**"), true),
            None => Pattern::new(whole, true),
        }
    }

    fn new(text: &str, separated: bool) -> Result<Pattern, String> {
        let glob = GlobBuilder::new(text).literal_separator(separated).backslash_escape(true).build();
        let glob = glob.map_err(|error| format!("`{text}` is no pattern: {}", error.kind()))?.compile_matcher();
        Ok(Pattern { text: text.to_owned(), glob, wild: text.contains(['*', '?', '[', '{']) })
    }

    pub fn matches(&self, text: &str) -> bool {
        self.glob.is_match(text)
    }

    /// Matches a shell command line. A pattern without wildcards has to equal the first words of a command.
    pub fn matches_command(&self, line: &str, sense: Sense) -> bool {
        let Some(commands) = shell::commands(line) else {
            // Quotes that do not close, or too long a line: nothing is allowed, and a rule that asks or denies applies if its text occurs anywhere.
            return sense == Sense::Any && line.contains(self.text.trim_matches('*'));
        };
        match sense {
            Sense::All => {
                let hidden = ["$(", "`", "<(", ">(", "\n"].iter().any(|sign| line.contains(sign));
                let plain = |one: &shell::Command| one.is_plain() && self.begins(&one.words, false);
                !hidden && !commands.is_empty() && commands.iter().all(plain)
            }
            Sense::Any => commands.iter().any(|one| self.begins(&one.words, true)),
        }
    }

    /// Whether the words begin with the pattern; `anywhere`: from any word on, and with folders left out.
    fn begins(&self, words: &[String], anywhere: bool) -> bool {
        if !anywhere {
            return self.begins_at(words);
        }
        // A word with blanks in it may be a command line for another shell.
        let apart = words.iter().flat_map(|word| word.split_whitespace());
        let bare: Vec<String> = apart.map(|word| word.rsplit('/').next().unwrap_or(word).to_owned()).collect();
        (0..bare.len()).any(|at| self.begins_at(&bare[at..])) || (0..words.len()).any(|at| self.begins_at(&words[at..]))
    }

    fn begins_at(&self, words: &[String]) -> bool {
        if self.wild {
            return self.glob.is_match(words.join(" "));
        }
        let wanted: Vec<&str> = self.text.split_whitespace().collect();
        words.len() >= wanted.len() && words.iter().zip(&wanted).all(|(word, wanted)| word == wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, line: &str, all: bool, any: bool) {
        let pattern = Pattern::text(pattern).unwrap();
        let got = (pattern.matches_command(line, Sense::All), pattern.matches_command(line, Sense::Any));
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
}
