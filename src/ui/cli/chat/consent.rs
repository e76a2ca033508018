//! A question about a tool call, answered line by line: in a conversation standard input has one reader already.

use console::style;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::protocol::{Decision, Proposal};

/// Answers that are none, after which silence counts as a no.
const TRIES: usize = 3;

/// The answers there are, each with its letter.
fn choices(proposal: &Proposal) -> String {
    let always = proposal.always.as_ref().map_or(String::new(), |what| format!(" [a]lways now: {what},"));
    format!("[y]es,{always} [n]o, [e]dit the arguments")
}

/// A question that waits for a line. Dropping it is a no.
pub struct Question {
    proposal: Proposal,
    reply: oneshot::Sender<Decision>,
    tries: usize,
    /// The next line is to be the new arguments.
    editing: bool,
}

impl Question {
    pub fn new(proposal: Proposal, reply: oneshot::Sender<Decision>) -> Question {
        Question { proposal, reply, tries: TRIES, editing: false }
    }

    /// What stands before the cursor.
    pub fn prompt(&self) -> String {
        match self.editing {
            true => format!("now:  {}\nnew:  ", Value::Object(self.proposal.arguments.clone())),
            false => {
                format!("{} {} {}: ", style("?").yellow().bold(), self.proposal.reason, choices(&self.proposal))
            }
        }
    }

    /// Takes a line; gives the question back if it is still open.
    pub fn answer(mut self, line: &str) -> Option<Question> {
        let decision = match (self.editing, line.trim().to_lowercase().as_str()) {
            (true, _) => match serde_json::from_str::<Map<String, Value>>(line) {
                Ok(arguments) => Decision::Modify(arguments),
                Err(error) => {
                    println!("that is no JSON object: {error}");
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
        // The turn may have been cancelled meanwhile; then nobody waits for the answer.
        let _: Result<(), Decision> = self.reply.send(decision);
        None
    }

    fn again(mut self) -> Option<Question> {
        self.tries -= 1;
        (self.tries > 0).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[&str], expected: Option<Decision>) {
        let proposal = Proposal {
            tool: "write_file".into(),
            arguments: Map::new(),
            reason: "it changes a file".into(),
            preview: String::new(),
            always: Some("write_file in src/".into()),
        };
        let (reply, mut decided) = oneshot::channel();
        let mut question = Some(Question::new(proposal, reply));
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
    fn a_question_that_nobody_answers_is_dropped_which_is_a_no() {
        check(&["?", "?", "?"], None);
    }
}
