//! A question which of several tools is meant, answered by a line.

use console::style;
use tokio::sync::oneshot;

use super::open::TRIES;
use crate::protocol::Doubt;

/// A question that waits for a line. Dropping it leaves the choice to the program.
pub struct Which {
    doubt: Doubt,
    reply: oneshot::Sender<usize>,
    tries: usize,
}

impl Which {
    pub fn new(doubt: Doubt, reply: oneshot::Sender<usize>) -> Which {
        Which { doubt, reply, tries: TRIES }
    }

    /// What stands before the cursor.
    pub fn prompt(&self) -> String {
        let list = self.doubt.candidates.iter().enumerate();
        let list: String = list.map(|(at, one)| format!("  {} {}: {}\n", at + 1, one.tool, one.description)).collect();
        let mark = style("?").yellow().bold();
        format!("{mark} which is meant by \"{}\"\n{list}number (Enter takes 1): ", self.doubt.step)
    }

    /// Takes a line; gives the question back if it is still open.
    pub fn answer(mut self, line: &str) -> Option<Which> {
        let line = line.trim();
        let place = match line {
            "" => Some(0),
            _ => line
                .parse::<usize>()
                .ok()
                .and_then(|number| number.checked_sub(1))
                .or_else(|| self.doubt.candidates.iter().position(|candidate| candidate.tool == line)),
        };
        match place.filter(|place| *place < self.doubt.candidates.len()) {
            Some(place) => {
                // The turn may have been cancelled meanwhile; then nobody waits for the answer.
                let _: Result<(), usize> = self.reply.send(place);
                None
            }
            None => {
                self.tries -= 1;
                (self.tries > 0).then_some(self)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Candidate;

    fn check(lines: &[&str], expected: Option<usize>) {
        let candidate = |tool: &str| Candidate { tool: tool.to_owned(), description: String::new() };
        let doubt = Doubt { step: "Look".into(), candidates: vec![candidate("read_file"), candidate("list_dir")] };
        let (reply, mut chosen) = oneshot::channel();
        let mut which = Some(Which::new(doubt, reply));
        for line in lines {
            which = which.take().expect("still open").answer(line);
        }
        assert_eq!((which.is_none(), chosen.try_recv().ok()), (true, expected), "{lines:?}");
    }

    #[test]
    fn a_number_or_a_name_chooses_and_an_empty_line_takes_the_first() {
        check(&["2"], Some(1));
        check(&["list_dir"], Some(1));
        check(&[""], Some(0));
        check(&["0", "3", "1"], Some(0));
        check(&["?", "?", "?"], None);
    }
}
