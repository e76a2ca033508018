//! A question for consent to a tool call; it is given lines of input, because standard input has another reader.

use console::style;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::base::visible;
use crate::protocol::{Decision, Proposal};

/// Unclear answers after which the call is rejected.
const TRIES: usize = 3;

/// The possible answers, each with its letter.
fn choices(proposal: &Proposal) -> String {
    let always = proposal.always.as_ref().map_or(String::new(), |what| format!(" [a]lways now: {what},"));
    format!("[y]es,{always} [n]o, [e]dit the arguments")
}

/// A question that waits for a line of input. Dropping it takes the question back.
pub struct Question {
    proposal: Proposal,
    reply: oneshot::Sender<Decision>,
    tries: usize,
    /// Whether the next line holds the new arguments.
    editing: bool,
}

impl Question {
    pub fn new(proposal: Proposal, reply: oneshot::Sender<Decision>) -> Question {
        Question { proposal, reply, tries: TRIES, editing: false }
    }

    /// The text before the cursor.
    pub fn prompt(&self) -> String {
        if self.editing {
            let now = Value::Object(self.proposal.arguments.clone()).to_string();
            format!("now:  {}\nnew:  ", visible(&now))
        } else {
            let asked = visible(&format!("{} {}", self.proposal.reason, choices(&self.proposal)));
            format!("{} {asked}: ", style("?").yellow().bold())
        }
    }

    /// Takes a line of input; returns the question if it is still open.
    pub fn answer(mut self, line: &str) -> Option<Question> {
        let decision = match (self.editing, line.trim().to_lowercase().as_str()) {
            (true, _) => match serde_json::from_str::<Map<String, Value>>(line) {
                Ok(arguments) => Decision::Modify(arguments),
                Err(error) => {
                    putln!("that is not a JSON object: {error}");
                    self.editing = false;
                    return self.again();
                }
            },
            (false, "y" | "yes") => Decision::Approve,
            (false, "a" | "always") if self.proposal.always.is_some() => Decision::Always,
            (false, "n" | "no") => Decision::Reject,
            (false, "e" | "edit") => {
                self.editing = true;
                return Some(self);
            }
            (false, _) => return self.again(),
        };
        // It fails if the turn was cancelled in the meantime, which then needs no decision.
        let _: Result<(), Decision> = self.reply.send(decision);
        None
    }

    /// The question again, unless there were too many unclear answers.
    fn again(mut self) -> Option<Question> {
        self.tries -= 1;
        if self.tries > 0 {
            return Some(self);
        }
        let _: Result<(), Decision> = self.reply.send(Decision::Reject);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposal() -> Proposal {
        Proposal { tool: "write_file".into(), always: Some("write_file in src/".into()), ..Proposal::default() }
    }

    fn check(lines: &[&str], expected: Option<Decision>) {
        let (reply, mut decided) = oneshot::channel();
        let mut question = Some(Question::new(proposal(), reply));
        for line in lines {
            question = question.take().expect("still open").answer(line);
        }
        assert_eq!((question.is_none(), decided.try_recv().ok()), (true, expected), "{lines:?}");
    }

    #[test]
    fn the_first_clear_answer_decides() {
        check(&["y"], Some(Decision::Approve));
        check(&["a"], Some(Decision::Always));
        check(&["what?", "No"], Some(Decision::Reject));
        check(&["e", "{}"], Some(Decision::Modify(Map::new())));
        check(&["e", "nonsense", "yes"], Some(Decision::Approve));
    }

    #[test]
    fn what_a_question_names_cannot_act_on_the_terminal() {
        let proposal = Proposal {
            arguments: [("path".to_owned(), Value::from("a\u{202e}b"))].into_iter().collect(),
            reason: "it changes \x1b[2Jx".into(),
            always: Some("\x1b]0;mine\x07".into()),
            ..proposal()
        };
        let mut question = Question::new(proposal, oneshot::channel().0);
        let prompt = question.prompt();
        assert!(prompt.contains("it changes �[2Jx") && prompt.contains("�]0;mine�"), "{prompt:?}");
        question.editing = true;
        assert!(question.prompt().contains("a�b"), "{:?}", question.prompt());
    }

    #[test]
    fn a_question_without_a_clear_answer_is_a_no() {
        check(&["?", "?", "?"], Some(Decision::Reject));
    }
}
