//! Judges the drafts of a round in the order in which they finish, and takes the first that passes
//! the checks.

use std::time::Instant;

use futures_util::StreamExt;

use crate::agent::budget;
use crate::agent::evidence::{Check, Evidence};
use crate::agent::guide::files::Version;
use crate::agent::guide::items::{Choices, Item, What};
use crate::agent::guide::{Done, verify};
use crate::agent::toolkit::TurnError;

use super::write::{Draft, Drafts, Writer};
use super::{Attempt, Given, Outcome, Rounds};

/// The last check that a draft reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reached {
    /// The checks that run no code.
    Merge,
    Examples,
    /// The command that must pass, or the project's tests.
    Tests,
    Difference,
}

/// The state after a refused draft; the next round continues from it.
#[derive(Clone)]
struct Standing {
    files: Version,
    choices: Choices,
    may_be_data: bool,
    next: Option<Given>,
    doubted: Option<usize>,
    contradiction: Option<String>,
}

impl<'a> Rounds<'a> {
    /// One round: the model writes, and the first draft that passes the checks is accepted. The
    /// first round has one greedy draft; later rounds have several, written in parallel if the
    /// model supports that. If none passes, the next round continues from the draft that passed the
    /// most checks.
    pub(super) async fn round(
        &mut self,
        round: usize,
        until: Instant,
        evidence: &mut Evidence,
    ) -> Result<Outcome, TurnError> {
        let (mut drafts, count) = self.write(round).await?;
        let begun = self.standing();
        let mut best: Option<(Reached, Outcome, Standing)> = None;
        let mut known: Vec<Draft> = Vec::new();
        for at in 1..=count {
            let Some(draft) = drafts.next().await.transpose()? else { break };
            let is_over = Instant::now() >= until;
            let has_others = at < count && !is_over;
            // The last draft decides whether the change that was set aside is made, so it is always
            // judged.
            if known.contains(&draft) && (has_others || begun.doubted.is_none()) {
                continue;
            }
            self.go_back(&begun);
            let is_last = is_over || !has_others && round + 1 >= self.count;
            let attempt = Attempt { round, has_others, is_last, pieces: Vec::new() };
            let (reached, outcome) = self.judge(&draft, attempt, evidence).await?;
            if let Outcome::Accepted(mut done) = outcome {
                if count > 1 && done.notes.is_empty() {
                    done.tried.push(format!("accepted: draft {at} of {count} of round {}", round + 1));
                }
                return Ok(Outcome::Accepted(done));
            }
            known.push(draft);
            if best.as_ref().is_none_or(|(furthest, ..)| reached > *furthest) {
                best = Some((reached, outcome, self.standing()));
            }
            if is_over {
                break;
            }
        }
        let Some((_, outcome, standing)) = best else {
            return Err(TurnError::Lost("no draft was written; this is a bug in guide/code".to_owned()));
        };
        self.go_back(&standing);
        Ok(outcome)
    }

    /// Has the model name items and write one or more drafts of them; returns the number of drafts.
    async fn write(&mut self, round: usize) -> Result<(Drafts<'a>, usize), TurnError> {
        let given = self.next.take();
        let writer = Writer {
            job: self.job,
            files: &self.files,
            choices: &self.choices,
            trouble: &self.trouble,
            round,
            items_max: self.items_max,
        };
        let items = writer.items(given, &self.messages).await?;
        let is_drawn = round > 0 && items.iter().any(|item| !matches!(item.what, What::Remove(_)));
        let count = if is_drawn { budget::drafts(&self.job.model().await?) } else { 1 };
        if count > 1 {
            let notice = format!("{count} drafts are written at once; the first that passes the checks is used");
            self.job.scene.host.notice(&notice);
        }
        let drafts = writer.drafts(items, &self.messages, count);
        self.trouble.clear();
        Ok((drafts, count))
    }

    fn standing(&self) -> Standing {
        Standing {
            files: self.files.version(),
            choices: self.choices.clone(),
            may_be_data: self.may_be_data,
            next: self.next.clone(),
            doubted: self.doubted,
            contradiction: self.contradiction.clone(),
        }
    }

    fn go_back(&mut self, standing: &Standing) {
        self.files.go_back(&standing.files);
        let Standing { choices, may_be_data, next, doubted, contradiction, .. } = standing.clone();
        (self.choices, self.may_be_data, self.next) = (choices, may_be_data, next);
        (self.doubted, self.contradiction) = (doubted, contradiction);
    }

    /// Merges a draft into the files, writes them, and runs the examples, then the command or the
    /// tests. Incomplete items are rewritten in the next round.
    async fn judge(
        &mut self,
        draft: &Draft,
        mut attempt: Attempt,
        evidence: &mut Evidence,
    ) -> Result<(Reached, Outcome), TurnError> {
        let whole: Result<Vec<(Item, String)>, String> =
            draft.iter().cloned().map(|(item, code)| Ok((item, code?))).collect();
        match whole {
            Ok(pieces) => {
                attempt.pieces = pieces;
                if let Some(outcome) = self.merge(&attempt) {
                    return Ok((Reached::Merge, outcome));
                }
            }
            // The change that the model was questioned about is kept if no complete one replaces
            // it.
            Err(why) => {
                self.next = Some((draft.iter().map(|(item, _)| item.clone()).collect(), true));
                if self.may_try_again(&attempt) {
                    return Ok((Reached::Merge, Outcome::Refused(why)));
                }
                self.files.take_from_aside();
                if self.files.changed().is_empty() {
                    return Ok((Reached::Merge, Outcome::Refused(why)));
                }
            }
        }
        if let Some(notes) = self.files.write(self.job, evidence).await? {
            return Ok((Reached::Merge, Outcome::Accepted(Done { notes, ..Done::default() })));
        }
        if let Some(outcome) = self.run_examples(&attempt, evidence).await? {
            return Ok((Reached::Examples, outcome));
        }
        if let Some(line) = self.command {
            let problem = verify::trouble_of(self.job, line, Check::Asked, evidence).await?;
            return Ok((Reached::Tests, problem.map_or(Outcome::Accepted(Done::default()), Outcome::Refused)));
        }
        match self.run_tests(&attempt, evidence).await? {
            Outcome::Accepted(done) if self.is_weak => {
                Ok((Reached::Difference, self.accepted_if_it_differs(&attempt, done, evidence).await?))
            }
            outcome => Ok((Reached::Tests, outcome)),
        }
    }
}
