//! Finds in an answer the claim that tests or checks passed, which only a run can prove. Pure functions only.

use crate::base::pattern::static_regex;
use crate::language::grounding;

/// Words that show that a sentence is not a claim.
const OPEN: [&str; 13] =
    ["not", "never", "no", "without", "if", "should", "would", "could", "may", "might", "once", "until", "whether"];

static_regex!(
    PASSED = r"(?ix)\b(?:tests?|suite|checks?|build|linter|compiler)\b (?:\s+[\w`'-]+){0,3}? \s+
        (?:pass(?:es|ed)?|succeed(?:s|ed)?|(?:is|are|was|were)\s+(?:passing|green|successful))
        (?:[.,;:!)]|\s*$|\s+(?:now|again|with|after|and|locally|here)\b)
        | \b\d+\s+(?:of\s+\d+\s+)?(?:tests?\s+)?pass(?:ed|es)?\b"
);

/// The first sentence outside fenced code that makes this claim.
pub fn of_run(said: &str) -> Option<String> {
    let mut in_code = false;
    let prose = said.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    });
    let mut sentences = prose.flat_map(grounding::sentences);
    let is_claim = |sentence: &String| {
        let low = sentence.to_lowercase();
        let mut words = low.split(|c: char| !c.is_alphanumeric() && c != '\'');
        PASSED.is_match(sentence) && !words.any(|word| OPEN.contains(&word) || word.ends_with("n't"))
    };
    sentences.find(is_claim).map(|sentence| sentence.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_that_a_run_passed_is_a_claim_and_what_explains_or_asks_for_one_is_none() {
        for said in [
            "All tests pass now.",
            "I changed it.\nThe whole suite still passes, as you can see.",
            "The test suite is green.",
            "14 passed, and nothing else is open.",
            "The build succeeded.",
        ] {
            assert!(of_run(said).is_some(), "{said}");
        }
        for said in [
            "The tests pass a clock to `run`.",
            "I did not run the tests, so I cannot say that the tests pass.",
            "If the tests pass, merge it.",
            "The tests should pass now.",
            "```\n14 passed\n```",
            "The value is passed to `check`.",
        ] {
            assert_eq!(of_run(said), None, "{said}");
        }
    }
}
