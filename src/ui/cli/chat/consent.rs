//! A question for consent to a tool call; it receives lines of input, because standard input has another reader.

use console::style;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::base::visible;
use crate::protocol::{Asks, Decision, Proposal};

/// Number of unclear answers after which the call is rejected.
const TRIES: usize = 3;

/// The possible answers, each with its letter.
fn choices(proposal: &Proposal) -> String {
    if let Asks::Stage { skips } = &proposal.asks {
        let skips = skips.as_ref().map_or(String::new(), |what| format!(" [s]kip {what},"));
        return format!("[c]ontinue,{skips} s[t]op");
    }
    let always = proposal.always.as_ref().map_or(String::new(), |what| format!(" [a]lways now: {what},"));
    format!("[y]es,{always} [n]o, [e]dit the arguments")
}

/// A question waiting for a line of input. Dropping it withdraws the question.
pub struct Question {
    proposal: Proposal,
    reply: oneshot::Sender<Decision>,
    tries: usize,
    /// Whether the next line contains the new arguments.
    editing: bool,
    /// The values entered so far, if values are requested.
    values: Vec<String>,
}

impl Question {
    pub fn new(proposal: Proposal, reply: oneshot::Sender<Decision>) -> Question {
        Question { proposal, reply, tries: TRIES, editing: false, values: Vec::new() }
    }

    /// The text before the cursor.
    pub fn prompt(&self) -> String {
        if let Some(name) = self.proposal.wanted().get(self.values.len()) {
            let asked = visible(&format!("{}; an empty line cancels\n{name}", self.proposal.reason));
            format!("{} {asked}: ", style("?").yellow().bold())
        } else if self.editing {
            let now = Value::Object(self.proposal.arguments.clone()).to_string();
            format!("now:  {}\nnew:  ", visible(&now))
        } else {
            let asked = visible(&format!("{} {}", self.proposal.reason, choices(&self.proposal)));
            format!("{} {asked}: ", style("?").yellow().bold())
        }
    }

    /// Handles a line of input; returns the question if it is still open.
    pub fn answer(mut self, line: &str) -> Option<Question> {
        let wanted = self.proposal.wanted().len();
        if wanted > 0 {
            self.values.push(line.to_owned());
            if self.values.len() < wanted && !line.trim().is_empty() {
                return Some(self);
            }
            let _: Result<(), Decision> = self.reply.send(self.proposal.filled(self.values));
            return None;
        }
        let decision = match (self.editing, line.trim().to_lowercase().as_str()) {
            (true, _) => match serde_json::from_str::<Map<String, Value>>(line) {
                Ok(arguments) => Decision::Modify(arguments),
                Err(error) => {
                    putln!("that is not a JSON object: {error}");
                    self.editing = false;
                    return self.again();
                }
            },
            (false, "c" | "continue") if self.proposal.is_stage() => Decision::Approve,
            (false, "s" | "skip") if self.skips() => Decision::Reject,
            (false, "t" | "stop") if self.proposal.is_stage() => Decision::Cancel,
            (false, _) if self.proposal.is_stage() => return self.again(),
            (false, "y" | "yes") => Decision::Approve,
            (false, "a" | "always") if self.proposal.always.is_some() => Decision::Always,
            (false, "n" | "no") => Decision::Reject,
            (false, "e" | "edit") => {
                self.editing = true;
                return Some(self);
            }
            (false, _) => return self.again(),
        };
        // This fails if the turn was cancelled in the meantime and so needs no decision.
        let _: Result<(), Decision> = self.reply.send(decision);
        None
    }

    /// Whether something can be left out here.
    fn skips(&self) -> bool {
        matches!(self.proposal.asks, Asks::Stage { skips: Some(_) })
    }

    /// The same question again, unless there were too many unclear answers.
    fn again(mut self) -> Option<Question> {
        self.tries -= 1;
        if self.tries > 0 {
            return Some(self);
        }
        let unclear = if self.proposal.is_stage() { Decision::Cancel } else { Decision::Reject };
        let _: Result<(), Decision> = self.reply.send(unclear);
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
    fn values_are_asked_for_one_after_the_other() {
        let wanted = Asks::Values(vec!["to".to_owned(), "on".to_owned()]);
        let arguments = Map::from_iter([("subject".to_owned(), Value::from("Loom"))]);
        for (lines, expected) in [
            (
                &["ada", " today "][..],
                r#"Ok(Modify({"subject": String("Loom"), "to": String("ada"), "on": String("today")}))"#,
            ),
            (&["ada", ""], "Ok(Reject)"),
            (&[" "], "Ok(Reject)"),
        ] {
            let (reply, mut decided) = oneshot::channel();
            let proposal = Proposal { asks: wanted.clone(), arguments: arguments.clone(), ..proposal() };
            let mut question = Some(Question::new(proposal, reply));
            for (line, name) in lines.iter().zip(["to: ", "on: "]) {
                let open = question.take().expect("still open");
                assert!(open.prompt().ends_with(name), "{}", open.prompt());
                question = open.answer(line);
            }
            let decided = format!("{:?}", decided.try_recv());
            assert!(question.is_none() && decided == expected, "{lines:?}: {decided}");
        }
    }

    #[test]
    fn after_a_stage_the_turn_goes_on_skips_or_stops() {
        for (skips, lines, expected) in [
            (Some("s1"), &["c"][..], Decision::Approve),
            (Some("s1"), &["s"], Decision::Reject),
            (Some("s1"), &["y", "t"], Decision::Cancel),
            (None, &["s", "continue"], Decision::Approve),
            (None, &["s", "y", "what?"], Decision::Cancel),
        ] {
            let (reply, mut decided) = oneshot::channel();
            let asks = Asks::Stage { skips: skips.map(str::to_owned) };
            let mut question = Some(Question::new(Proposal { asks, ..proposal() }, reply));
            for line in lines {
                let open = question.take().expect("still open");
                assert_eq!(open.prompt().contains("[s]kip s1"), skips.is_some(), "{}", open.prompt());
                question = open.answer(line);
            }
            assert_eq!((question.is_none(), decided.try_recv()), (true, Ok(expected)), "{lines:?}");
        }
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
