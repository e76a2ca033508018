//! The six sections of a report, for users who want one: the instruction to the model, and the
//! sections missing from an answer.

use crate::base::pattern::pattern;
use crate::protocol::Exchange;

/// The sections in order, each with a description of its content.
const SECTIONS: [(&str, &str); 6] = [
    ("Analysis", "what is asked for and what it depends on"),
    ("Research", "what you read and found, with places"),
    ("Plan", "what had to be done, in steps"),
    ("Reflection", "what may be wrong with it and what you did not check"),
    ("Actions", "what you changed and ran, and how that ended"),
    ("Delivery", "the result, and what is left to do"),
];
/// Number of characters that a session keeps of an answer; what a longer answer lacks is unknown.
const KEPT_CHARS: usize = 8_000;

/// The instruction on the form of the answer, and on the sections missing from the last report.
pub fn form(earlier: &[Exchange]) -> String {
    let listed: String = SECTIONS.iter().map(|(name, what)| format!("\n## {name}: {what}")).collect();
    let form = format!("\n\nYour last reply is a report with these six headings, each with at least one line:{listed}");
    let last = earlier.last().map(|turn| turn.answer.as_str()).filter(|answer| answer.chars().count() < KEPT_CHARS);
    match last.map(missing).filter(|lacks| !lacks.is_empty() && lacks.len() < SECTIONS.len()) {
        Some(lacks) => {
            let lacks = lacks.join(", ");
            format!("{form}\nYour report on the request before lacked {lacks}: begin with that, then write all six.")
        }
        None => form,
    }
}

/// The line for the user about sections missing from an answer; `None` if it has all of them.
pub fn lack(answer: &str) -> Option<String> {
    let lacks = missing(answer).join(", ");
    (!lacks.is_empty()).then(|| format!("- the report lacks {lacks}; the next request will point this out"))
}

/// The sections without a heading in the answer.
fn missing(answer: &str) -> Vec<&'static str> {
    let heading = |name: &str| pattern(format!(r"(?im)^[ \t]*(?:#+|\*\*|\d+[.)])[ \t*#\d.)]*{name}\b"));
    SECTIONS.iter().map(|(name, _)| *name).filter(|name| !heading(name).is_match(answer)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_known_by_their_headings_alone() {
        let whole = "## Analysis\na\n### 2. research: b\n**Plan**\nc\n4) Reflection\nd\n# ACTIONS\n5. **Delivery**\ne";
        assert_eq!(missing(whole), Vec::<&str>::new());
        assert_eq!(missing("The plan is research, and its delivery needs actions."), SECTIONS.map(|(name, _)| name));
        assert_eq!(
            lack(&whole.replace("**Plan**", "Plan")).as_deref().map(|text| text.contains("lacks Plan;")),
            Some(true)
        );
    }

    #[test]
    fn only_a_report_is_found_to_lack_something() {
        let told = |answer: &str| form(&[Exchange { request: "x".to_owned(), answer: answer.to_owned() }]);
        assert!(told("## Analysis\na\n## Plan\nb").contains("lacked Research, Reflection, Actions, Delivery:"));
        assert!(!told("It retries three times.").contains("lacked"));
        assert!(!told(&format!("## Analysis\n{}", "a".repeat(KEPT_CHARS))).contains("lacked"), "its end is unknown");
        assert!(!form(&[]).contains("lacked"));
    }
}
