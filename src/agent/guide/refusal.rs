//! Words for the user why a change was not made.

use std::sync::LazyLock;

use regex::Regex;

use crate::base::pattern::pattern;

/// The note for a change that was tried and failed for the reason `why`.
pub fn not_done(taken_back: bool, why: &str) -> String {
    let state = if taken_back { "the files are as they were" } else { "and a change that was tried is left" };
    format!("not done, {state}: {why}")
}

/// The problem of an answer that names no definition.
pub const NOTHING_NAMED: &str = "No definition was named that has to change.";

/// A problem as the user reads it: who wrote the refused change and why it was refused, without the advice to the model.
pub fn for_user(problem: &str) -> String {
    if problem == NOTHING_NAMED {
        return "the model named nothing that has to change; name the file or the function".to_owned();
    }
    static ADVICE: LazyLock<Regex> = LazyLock::new(|| {
        let verbs =
            "write|keep|balance|define|use|import|give|add|remove|do|name|so keep|if the request|the mistake or";
        pattern(format!(r"(?i)[;.,] (?:{verbs})\b.*$"))
    });
    let fact =
        ADVICE.replace(problem, "").replace("What you wrote for", "its version of").replace("what you wrote", "it");
    format!("what the model wrote was refused: {}", fact.trim_end_matches(['.', ';']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_speaks_to_the_user() {
        let check = |problem: &str, expected: &str| {
            assert_eq!(for_user(problem), format!("what the model wrote was refused: {expected}"), "{problem}");
        };
        check(
            "What you wrote for `a` is what is there already, so nothing would change. The mistake or the change is somewhere else.",
            "its version of `a` is what is there already, so nothing would change",
        );
        check(
            "Most of `a` is missing in what you wrote. Keep what the request does not change.",
            "Most of `a` is missing in it",
        );
        assert!(for_user(NOTHING_NAMED).ends_with("name the file or the function"));
    }
}
