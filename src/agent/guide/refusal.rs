//! Explains to the user why a change was not made, and what to do next.

use std::sync::LazyLock;

use regex::Regex;

use crate::base::pattern::pattern;

/// The note for a change that was tried and failed for the reason `why`.
pub fn not_done(taken_back: bool, why: &str) -> String {
    let state = if taken_back { "the files are as they were" } else { "and an attempted change remains" };
    format!("not done, {state}: {why}")
}

/// The problem with an answer that names no definition.
pub const NOTHING_NAMED: &str = "No definition was named that has to change.";
/// Introduces the problem with a change that was written to the files; the output of a run follows.
pub const TRIED: &str = "It is written and was tried: ";
/// The problem with a change that none of the model's programs calls.
pub const UNSEEN: &str = "no call that the model wrote shows what it does";
/// Introduces the problem with an answer that was cut off.
pub const CUT: &str = "The answer did not come to its end";

/// The problem as shown to the user: the model's text, why it was refused, and what the user can
/// do, without the advice to the model.
pub fn for_user(problem: &str) -> String {
    of("what the model wrote", problem)
}

/// Like [`for_user`], for the text of the file `path`.
pub fn of_file(path: &str, problem: &str) -> String {
    of(&format!("what the model wrote for {path}"), problem)
}

fn of(what: &str, problem: &str) -> String {
    if problem == NOTHING_NAMED {
        return "the model found nothing to change; say which lines of which function should change".to_owned();
    }
    // The program and output that follow may look like advice.
    if let Some(shown) = problem.strip_prefix(TRIED) {
        return format!("a change was tried, and {shown}; add a call and its expected result, or ask a larger model");
    }
    let fact = without_advice(problem);
    if let Some(why) = fact.strip_prefix(CUT) {
        return format!("{what} is incomplete{why}; ask for less at a time");
    }
    format!("{what} was refused: {fact}; say which lines should change and how, or ask a larger model")
}

/// The facts of a problem, without the advice.
fn without_advice(problem: &str) -> String {
    static ADVICE: LazyLock<Regex> = LazyLock::new(|| {
        let verbs =
            "write|keep|balance|define|use|import|give|add|remove|do|name|say it|so keep|if the request|the mistake or";
        pattern(format!(r"(?i)[;.,] (?:{verbs})\b.*$"))
    });
    let fact = ADVICE.replace(problem, "");
    let fact = fact.replace("What you wrote for", "its version of").replace("what you wrote", "it");
    fact.trim_end_matches(['.', ';']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_speaks_to_the_user() {
        let check = |problem: &str, expected: &str| {
            let said = for_user(problem);
            assert!(said.starts_with(expected), "{problem}: {said}");
            assert!(said[expected.len()..].starts_with("; "), "no next step: {said}");
        };
        check(
            "What you wrote for `a` is what is there already, so nothing would change. The mistake or the change is somewhere else.",
            "what the model wrote was refused: its version of `a` is what is there already, so nothing would change",
        );
        check(
            "Most of `a` is missing in what you wrote. Keep what the request does not change.",
            "what the model wrote was refused: Most of `a` is missing in it",
        );
        check(&format!("{TRIED}`f(1)` still gives 2"), "a change was tried, and `f(1)` still gives 2");
        let program = "`import a; import b; print(a.f(b))` still gives 2";
        check(&format!("{TRIED}{program}"), &format!("a change was tried, and {program}"));
        check(
            &format!("{CUT}: it was cut at 90 tokens. Write it shorter."),
            "what the model wrote is incomplete: it was cut at 90 tokens",
        );
        check(NOTHING_NAMED, "the model found nothing to change");
        assert!(of_file("a.md", "The line `x` is gone.").starts_with("what the model wrote for a.md was refused: The"));
    }
}
