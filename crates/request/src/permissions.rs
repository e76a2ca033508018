//! Reads what a text permits: what may be removed, what may be shortened, and whether tests may
//! change.

use std::sync::LazyLock;

use regex::Regex;

use crate::base::pattern::pattern;

use super::Text;
use super::kind::lists::{GIVES_WAY, REMOVALS, REMOVE, SHORTENS};

impl Text {
    /// Whether the text asks in any way to remove something.
    pub fn may_remove(&self) -> bool {
        self.has(REMOVE) || self.has(REMOVALS) || self.has("take") && self.has("out")
    }

    /// Whether the text asks to remove or replace something.
    pub fn may_replace(&self) -> bool {
        self.has(REMOVE) || self.has(GIVES_WAY)
    }

    /// Whether text or code may be shortened.
    pub fn may_shorten(&self) -> bool {
        self.has(REMOVE) || self.has(SHORTENS)
    }

    /// Whether the text states that the tests are wrong.
    pub fn doubts_tests(&self) -> bool {
        static DOUBTS: LazyLock<Regex> = LazyLock::new(|| {
            let wrong =
                r"\btests?\s+(?:is|are|itself|themselves)?\s*(?:\w+ly\s+)?(?:wrong|outdated|stale|old|incorrect)\b";
            let change = r"\b(?:update|adjust|adapt|correct|change)\s+(?:the\s+|its\s+)?(?:failing\s+)?tests?\b";
            pattern(format!("(?i){wrong}|{change}"))
        });
        DOUBTS.is_match(self.raw()) && !self.keeps_tests()
    }

    /// Whether the text states that the tests must stay unchanged.
    pub fn keeps_tests(&self) -> bool {
        static KEEPS: LazyLock<Regex> = LazyLock::new(|| {
            let change = r"(?:touch|chang|edit|modif|alter|adjust|adapt|updat|rewrit|delet|remov|weaken)\w*";
            let refused =
                format!(r"(?:\b(?:not|never|without)|n['’]t)\s+(?:\w+\s+)?{change}\s+(?:[\w/.]+\s+){{0,3}}tests?\b");
            let right = r"\btests?\s+(?:(?:itself|themselves)\s+)?(?:is|are)\s+(?:fine|right|correct|okay|ok)\b";
            let left = r"\b(?:leave|keep)\s+(?:the\s+|all\s+)?tests?/?\s+(?:alone|as|un|intact|and)";
            pattern(format!(r"(?i){refused}|{right}|{left}"))
        });
        KEEPS.is_match(self.raw())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_names_what_may_go_or_get_shorter() {
        let check = |text: &str, expected: (bool, bool, bool)| {
            let text = Text::of(text);
            assert_eq!((text.may_remove(), text.may_replace(), text.may_shorten()), expected, "{text}");
        };
        check("Drop the flag -q", (true, true, true));
        check("Take the second hook out", (true, false, false));
        check("Use a tuple instead", (false, true, false));
        check("Simplify parse", (false, false, true));
        check("Add a flag -q", (false, false, false));
    }

    #[test]
    fn a_request_may_forbid_changes_of_tests() {
        let keeps = [
            "get them to pass without touching the tests",
            "don't change anything in the tests",
            "Fix it, but do not edit tests/test_a.py or other tests",
            "leave the tests alone",
            "mend it, the test is fine",
            "fix it in lib, leave tests/ and check.sh alone",
        ];
        for text in keeps {
            assert!(Text::of(text).keeps_tests(), "{text}");
        }
        for text in ["It should not crash; add a test", "keep the tests green", "`f` does not test for zero, add tests"]
        {
            assert!(!Text::of(text).keeps_tests(), "{text}");
        }
        assert!(Text::of("the test is wrong: update the test").doubts_tests());
        assert!(!Text::of("the test is not wrong, do not change the tests").doubts_tests());
    }
}
