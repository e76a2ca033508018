//! The steps of a request: found by rules if the request is plain, else parsed from the model's output.

use serde_json::json;

use crate::base::StepId;
use crate::language::clauses::{self, Part, roles};
use crate::language::{quotations, shape};

use super::kind::{self, Kind};
use super::{Text, complete, renames};

/// Maximum number of steps in the model's answer. Rules may produce more from a long request,
/// because none of its parts may be dropped.
const STEPS_MAX: usize = 12;

/// One step of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its number in the plan, from 1.
    pub id: StepId,
    /// What it does.
    pub kind: Kind,
    /// Everything that the request says about the step; `FROM -> TO` for a rename or move.
    pub text: Text,
    /// The clause from which `forms` reads a tool and its arguments.
    pub part: Part,
    /// Steps that must succeed before this one.
    pub needs: Vec<StepId>,
}

impl Step {
    /// The step with this number; its clause is the text with its verb.
    pub fn of(number: usize, kind: Kind, text: String) -> Step {
        let verb = clauses::parts(&text).into_iter().next().and_then(|part| part.verb);
        let part = Part { verb, ..roles::plain(&text) };
        Step { id: StepId(number), kind, text: text.into(), part, needs: Vec::new() }
    }

    /// The step with this number that a clause asks for.
    pub fn of_part(number: usize, part: Part, needs: Vec<StepId>) -> Step {
        let kind = Kind::of(std::slice::from_ref(&part));
        Step { id: StepId(number), kind, text: part.full_text().into(), part, needs }
    }

    /// The text of the step's clause alone, without the surrounding sentences.
    pub fn clause(&self) -> Text {
        Text::of(&self.part.text)
    }

    /// Whether this step continues, tests, describes or uses the change of `earlier`: it refers
    /// back, shares a name in code with it, or asks for tests or documentation without naming
    /// anything else; or it asks for the outcome of the run of `earlier`.
    pub fn builds_on(&self, earlier: &Step) -> bool {
        let (own, others) = (shape::names_in(self.text.raw()), shape::names_in(earlier.text.raw()));
        let refers = || self.text.parts().first().is_some_and(|part| part.refers_back);
        let describes = || self.text.speaks_of_tests() || self.text.speaks_of_docs();
        let names_own = !own.is_empty() || !quotations::of(self.text.raw()).is_empty();
        match self.kind {
            Kind::Ask => earlier.kind == Kind::Run && self.text.asks_how_it_ended(),
            Kind::Run => refers(),
            _ => refers() || own.iter().any(|name| others.contains(name)) || describes() && !names_own,
        }
    }

    /// Whether this step writes tests for the change of `earlier`.
    pub fn tests(&self, earlier: &Step) -> bool {
        self.kind == Kind::Edit && self.text.speaks_of_tests() && self.builds_on(earlier)
    }
}

/// Maximum length of a request that is read without a model, in words.
const PLAIN_WORDS: usize = 24;
/// Verbs that begin a step that is not an edit, or that may hide one.
const NOT_PLAIN: &str = "rename move call fix make run test extract split read look find show check see";

/// The step of a request that clearly has only one: a question, or one clause that states what to
/// add, change or remove. `None` for other requests.
pub(super) fn plain(request: &str) -> Option<Step> {
    if kind::only_asks(request) && !kind::has_word(request, kind::COMMANDS) {
        return Some(Step::of(1, Kind::Ask, request.trim().to_owned()));
    }
    let parts = clauses::parts(request);
    let [part] = parts.as_slice() else { return None };
    let text = request.trim();
    let one_sentence = !text.trim_end_matches(['.', '?', '!']).contains([';', '\n', '?', '!']) && !text.contains(". ");
    let joined = text.split_whitespace().any(|word| matches!(word, "and" | "then" | "und" | "et" | "y" | "и"));
    let verb = part.verb.as_deref().unwrap_or_default();
    if !one_sentence || joined || text.split_whitespace().count() > PLAIN_WORDS || kind::has_word(verb, NOT_PLAIN) {
        return None;
    }
    let kind = match Kind::of(&parts) {
        Kind::Edit => Kind::Edit,
        _ if kind::is_order(text) && text.ends_with('?') => kind::ordered(text),
        Kind::Ask if text.ends_with('?') => Kind::Ask,
        _ => return None,
    };
    Some(Step::of(1, kind, text.to_owned()))
}

/// The steps of a request that rules can read: one plain step, a numbered list, or renames and
/// moves. `None` for other requests.
pub(super) fn by_rules(request: &str) -> Option<Vec<Step>> {
    if let Some(step) = plain(request) {
        return Some(complete::numbered(complete::tests_apart(vec![(step.kind, step.text.to_string())])));
    }
    let request = request.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(steps) = complete::listed(&request) {
        return Some(complete::numbered(complete::tests_apart(steps)));
    }
    renames::all(&request).map(complete::numbered)
}

/// The kinds of the steps that the model read.
pub fn kinds(text: &str) -> Vec<Kind> {
    read(text).into_iter().map(|(kind, _)| kind).collect()
}

/// The grammar of the model's answer: lines of `kind: words of the request`. The words may include
/// the space before an arrow.
pub fn grammar(request: &Text) -> String {
    let text = json!({ "substring_words": request.raw() });
    let most = STEPS_MAX - 1;
    format!(
        "start: step (\"\\n\" step){{0,{most}}}\n\
         step: one | two\n\
         one: (\"ask: \" | \"edit: \" | \"run: \" | \"fix: \") TEXT\n\
         two: (\"rename: \" | \"move: \") TEXT (\" -> \" | \"-> \") TEXT\n\
         TEXT: %regex {text}\n"
    )
}

/// The kinds allowed in those lines.
pub const KINDS: &[&str] = &["ask", "edit", "run", "fix", "rename", "move"];

/// Parses an answer that follows [`grammar`]; corrects a kind that contradicts the words of its
/// step.
pub fn read(text: &str) -> Vec<(Kind, String)> {
    let step = |line: &str| {
        let (kind, text) = line.split_once(": ")?;
        let text = text.trim().trim_end_matches([',', ';']).to_owned();
        let kind = match Kind::by_name(kind.trim())? {
            Kind::Ask if kind::is_order(&text) => kind::ordered(&text),
            Kind::Edit if kind::begins_with_question(&text) || kind::asks_to_tell(&text) => Kind::Ask,
            kind => kind,
        };
        Some((kind, text)).filter(|(_, text)| !text.is_empty() && text != "->")
    };
    let mut steps: Vec<(Kind, String)> = text.lines().filter_map(step).take(STEPS_MAX).collect();
    steps.dedup();
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_no_question() {
        let kind = |text: &str| read(&format!("ask: {text}"))[0].0;
        assert_eq!(kind("I need another function tail(list)"), Kind::Edit);
        assert_eq!(kind("Passe la largeur de la page de 25 à 50"), Kind::Edit);
        assert_eq!(kind("`make lint` fails. Find out why, then mend it"), Kind::Fix);
        assert_eq!(kind("plural(12) gives 12s and plural(112) gives 112s"), Kind::Edit);
        assert_eq!(kind("Treat full stops as blanks when counting, too"), Kind::Edit);
        assert_eq!(kind("support for yaml"), Kind::Ask);
        assert_eq!(kind("I want a helper names(expr) that tells me which names an expression needs"), Kind::Edit);
        assert_eq!(kind("Job braucht eine Methode untag(*tags). Rückgabe wie bei tag()"), Kind::Edit);
        assert_eq!(kind("Ein negatives maxAge soll abgelehnt werden wie 0"), Kind::Edit);
        assert_eq!(kind("can we have is_even(4), which says whether a number is?"), Kind::Edit);
        assert_eq!(kind("Trim(\"a?\", \"?\") comes back as \"a?\""), Kind::Edit);
        assert_eq!(kind("whats the highest port"), Kind::Ask);
        assert_eq!(kind("I want to know which tests need a server"), Kind::Ask);
        assert_eq!(kind("Find the function that returns None"), Kind::Ask);
        assert_eq!(kind("Tell me how to add a tool"), Kind::Ask);
        assert_eq!(kind("Can the cache be changed?"), Kind::Ask);
        assert_eq!(kind("When I save twice, one is lost. Can you fix that?"), Kind::Edit);
    }

    #[test]
    fn a_step_builds_on_what_it_describes() {
        let step = |text: &str| Step::of(1, Kind::Edit, text.to_owned());
        let first = step("Add an option skipEmpty to merge() in merge.js");
        for text in [
            "say so in the README",
            "Write two tests for it",
            "update the readme",
            "add a test",
            "use skipEmpty in cli.js",
        ] {
            assert!(step(text).builds_on(&first), "{text}");
        }
        for text in ["Set PORT to 80 in server.js", "fix the typo 'teh' in README.md"] {
            assert!(!step(text).builds_on(&first), "{text}");
        }
        let ask = |text: &str| Step::of(2, Kind::Ask, text.to_owned());
        let run = Step::of(1, Kind::Run, "Run the tests in lib/".to_owned());
        assert!(ask("say how many of them failed").builds_on(&run));
        assert!(!ask("where is the port read?").builds_on(&run) && !ask("say what failed").builds_on(&first));
    }

    #[test]
    fn a_numbered_list_is_split_without_a_model() {
        let steps = |request: &str| complete::listed(request).unwrap_or_default();
        let tags = steps("1) add a get_tags() method to Scheduler 2) also a module level get_tags() shortcut");
        assert_eq!(tags.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [Kind::Edit, Kind::Edit]);
        assert_eq!(tags[1].1, "also a module level get_tags() shortcut");
        assert_eq!(steps("Python 3. It is 2) of 4"), []);
        assert_eq!(steps("run the tests, then 1) add f 2) add g"), []);
        let both = steps("two things: 1. where is the port read? 2. set it to 5");
        assert_eq!(both.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [Kind::Ask, Kind::Edit]);
    }

    #[test]
    fn only_a_plain_step_is_read_without_a_model() {
        let kind = |request: &str| plain(request).map(|step| step.kind);
        assert_eq!(kind("Where is the port read?"), Some(Kind::Ask));
        assert_eq!(kind("Add a method clear to the Queue class"), Some(Kind::Edit));
        for request in [
            "Rename a to b",
            "Set X to 5 in a.py and run the tests",
            "It crashes. Fix it.",
            "Read a.py, then set X to 5",
            "Wo wird der Port gelesen",
        ] {
            assert_eq!(kind(request), None, "{request}");
        }
    }
}
