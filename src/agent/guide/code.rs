//! Changes code in a few rounds: the model names the items to write, writes each of them, and gets
//! the findings of the checks in the next prompt.

mod checks;
mod choice;
mod drafts;
mod sample;
mod write;

use std::collections::HashMap;
use std::time::Instant;

use crate::agent::budget::{self, Guided};
use crate::agent::evidence::Evidence;
use crate::agent::player::Player;
use crate::agent::probe;
use crate::agent::toolkit::TurnError;
use crate::context::Pack;
use crate::edit::failures::Report;
use crate::language::words;
use crate::models::Tier;
use crate::models::dialect::Message;
use crate::request::mentions::Mentions;

use super::change::opening;
use super::difference::Programs;
use super::files::{Files, Refusal};
use super::items::{Choices, Item};
use super::verify::{self, Wrong};
use super::{Done, Job, refusal};
use choice::items_of;
pub use sample::sample;

const WRITE: &str = include_str!("../prompts/write.md");
const NAME: &str = "First name the definitions to write.";
/// Maximum number of characters from a check's findings in the next prompt.
const TROUBLE_CHARS: usize = 900;

/// A requested code change.
pub struct Order<'a> {
    pub pack: &'a Pack,
    pub mentions: &'a Mentions,
    /// The task for the model.
    pub task: String,
    /// The command that must pass after the change; without one, the tests that cover the change
    /// are run.
    pub command: Option<&'a str>,
}

/// Has the model write a change, in at most a few rounds, until the checks accept it. The files are
/// written before the project's checks run, and restored if no round succeeds.
pub async fn code(job: Job<'_>, order: Order<'_>, evidence: &mut Evidence) -> Result<Done, TurnError> {
    let mut rounds = match Rounds::begin(job, order, evidence).await? {
        Ok(rounds) => rounds,
        Err(done) => return Ok(done),
    };
    let until = budget::until(job.limits().rounds_time);
    for round in (0..rounds.count).take_while(|round| *round == 0 || Instant::now() < until) {
        match rounds.round(round, until, evidence).await {
            Ok(Outcome::Accepted(more)) => return Ok(rounds.done(more)),
            Ok(Outcome::Refused(problem)) => rounds.refused(round, &problem),
            Ok(Outcome::Final(problem)) => {
                rounds.refused(round, &problem);
                break;
            }
            Ok(Outcome::Asked(question)) => rounds.asked(&question),
            // A change that no check has accepted must not remain.
            Err(error) if !matches!(error, TurnError::Cancelled) => {
                rounds.files.restore(job, evidence).await?;
                return Err(error);
            }
            Err(error) => return Err(error),
        }
    }
    rounds.give_up(evidence).await
}

/// The state that the rounds of a change share.
struct Rounds<'a> {
    job: Job<'a>,
    mentions: &'a Mentions,
    /// The command that must pass.
    command: Option<&'a str>,
    /// Maximum number of rounds.
    count: usize,
    files: Files,
    /// The definitions that the model may still name.
    choices: Choices,
    /// Maximum number of items that the model may name in the first round.
    items_max: usize,
    /// Whether the mistake may be in a list or constant that the named definitions use.
    may_be_data: bool,
    /// The prompt. The model's answers are not added, because a model repeats an answer that is in
    /// the prompt.
    messages: Vec<Message>,
    /// The items of the next round, if already decided.
    next: Option<Given>,
    /// The problem of the previous round.
    trouble: String,
    /// The reports of commands that ran before the change; `None` for a command that passed or
    /// could not be run.
    before: HashMap<String, Option<Report>>,
    /// The round whose change the model was questioned about; that change is kept if no better one
    /// follows.
    doubted: Option<usize>,
    /// Whether the model is small, so that its change may have no effect.
    is_weak: bool,
    /// The programs that try a small model's change.
    programs: Programs,
    /// The problem of the last change, if the result of a call contradicts it but the right result
    /// is unknown. The call comes from the request or from the model.
    contradiction: Option<String>,
}

/// The items to write, and whether the model may name no others.
type Given = (Vec<Item>, bool);

/// A complete draft of one round.
struct Attempt {
    round: usize,
    /// Whether other drafts of the round are still to be judged.
    has_others: bool,
    /// Whether no further draft or round follows.
    is_last: bool,
    pieces: Vec<(Item, String)>,
}

/// The result of a draft; a round has the result of its best draft.
enum Outcome {
    /// The change is kept, with its text, notes and further changes.
    Accepted(Done),
    /// A check found a problem, which is described for the model.
    Refused(String),
    /// Like `Refused`, but another round would not help; the problem is described for the user.
    Final(String),
    /// The change looks unfinished, and the next prompt asks this question about it.
    Asked(String),
}

impl<'a> Rounds<'a> {
    /// Chooses the definitions that may change, runs the examples of the request on the current
    /// code, and writes the prompt. The inner error ends the step because the code already does
    /// what the step asks for.
    async fn begin(
        job: Job<'a>,
        order: Order<'a>,
        evidence: &mut Evidence,
    ) -> Result<Result<Rounds<'a>, Done>, TurnError> {
        let mentions = order.mentions;
        let mut files = Files::of(job, order.pack, mentions);
        let mut choices = choice::offered(&files, &order);
        let known = evidence.entries().len();
        let tried = verify::examples_or_calls(job, &mut files, evidence).await?;
        files.held_before = checks::hold(&evidence.entries()[known..], evidence);
        if let Some(done) = checks::already_so(job, &order, &files) {
            return Ok(Err(done));
        }
        if let Some(wrong) = &tried {
            choice::narrow_to_executed(&mut choices, job, wrong, mentions, &files.asked).await?;
        }
        // If small changes did not repair a mistake, a 1.5B model seldom does so in a third round.
        let is_clear = tried.as_ref().is_some_and(|wrong| !wrong.is_vague);
        let is_weak = probe::tier(job.scene.toolkit, job.scene.host).await? < Tier::Acts;
        files.by_words = is_weak && !is_clear && order.command.is_none() && !files.asked.may_shorten();
        let messages = prompt(job, &job.model().await?, &order, tried.as_ref());
        let rounds = job.scene.toolkit.bounds.rounds;
        Ok(Ok(Rounds {
            job,
            mentions,
            command: order.command,
            count: if is_clear && files.asked.is_report() { rounds.min(Guided::REPORT_ROUNDS) } else { rounds },
            items_max: choice::items_max(mentions, &files.asked),
            may_be_data: choice::may_be_data(&order, &files.asked),
            next: choice::decided(job, &order, &files, &choices),
            messages,
            files,
            choices,
            trouble: String::new(),
            before: HashMap::new(),
            doubted: None,
            is_weak,
            programs: Programs::default(),
            contradiction: None,
        }))
    }

    /// Whether another draft or another round may replace the refused one.
    fn may_try_again(&self, attempt: &Attempt) -> bool {
        attempt.has_others || self.doubted.is_none_or(|at| attempt.round < at + 2 && !attempt.is_last)
    }

    /// Merges the written code into the texts of the files, not yet on disk. `None` if the change
    /// can be tried.
    fn merge(&mut self, attempt: &Attempt) -> Option<Outcome> {
        let taken = self.files.take(self.job, &attempt.pieces, self.mentions);
        // If the model returns to a contradicted change, it will find no other.
        if let (Err(Refusal { unchanged, .. }), Some(problem)) = (&taken, &self.contradiction)
            && !unchanged.is_empty()
        {
            // The model's own example may be wrong, so code that it repeats is tried once more; a
            // call from the request is never wrong.
            let is_original = attempt.pieces.iter().all(|(item, code)| self.files.is_unchanged(item, code));
            let stands_by_it = self.files.given.is_none() && !is_original;
            return (!stands_by_it).then(|| Outcome::Final(problem.clone()));
        }
        match taken {
            Err(Refusal { message, unchanged }) if self.may_try_again(attempt) => {
                self.next = self.after_refusal(&attempt.pieces, &unchanged);
                return Some(Outcome::Refused(message));
            }
            taken => {
                if taken.is_err() || self.files.doubt().is_some() {
                    self.files.take_from_aside();
                }
            }
        }
        let may_ask = self.doubted.is_none() && !self.files.are_written() && !attempt.is_last;
        let question = self.files.doubt().filter(|_| may_ask)?;
        self.ask_for_others(attempt);
        Some(Outcome::Asked(question))
    }

    /// The next items after an answer that could not be merged or changes nothing.
    fn after_refusal(&mut self, pieces: &[(Item, String)], unchanged: &[Item]) -> Option<Given> {
        match unchanged {
            // The mistake may be in a list that the unchanged definition uses.
            [_, ..] if self.may_be_data && self.choices.narrow_to_data_of(pieces) => {
                self.may_be_data = false;
                self.choices.data_of(pieces).map(|item| (vec![item], true))
            }
            [item, ..] => choice::after_unchanged(item, &self.files, &mut self.choices),
            // Code that does not parse or lacks a name must be written again.
            [] if !pieces.is_empty() => Some((items_of(pieces), true)),
            [] => None,
        }
    }

    /// Sets aside a change that looks unfinished, and offers other definitions for the next round.
    fn ask_for_others(&mut self, attempt: &Attempt) {
        self.doubted = Some(attempt.round);
        attempt.pieces.iter().for_each(|(item, _)| self.choices.without(item));
        self.choices.narrow_to_data_of(&attempt.pieces);
        self.next = self.choices.data_of(&attempt.pieces).map(|item| (vec![item], true));
        self.files.set_aside();
    }

    /// Puts a question about the change set aside into the next prompt.
    fn asked(&mut self, question: &str) {
        if let Some(last) = self.messages.last_mut() {
            last.content.push_str(&format!("\n{question}"));
        }
    }

    /// Records the problem of a round and prepares the prompt of the next one.
    fn refused(&mut self, round: usize, problem: &str) {
        self.trouble = words::shorten(problem, TROUBLE_CHARS);
        tracing::debug!(round, trouble = self.trouble.as_str(), "not right yet");
        if self.next.is_none()
            && let Some(last) = self.messages.last_mut()
        {
            last.content.push_str(&format!("\n{}", self.trouble));
        }
    }

    /// The accepted change, together with the results of a check.
    fn done(self, more: Done) -> Done {
        let mut done = Done { said: more.said, tried: more.tried, ..self.files.done(more.notes) };
        done.touched.extend(more.touched);
        done
    }

    /// Restores the files if no round succeeded, and notes the reason.
    async fn give_up(mut self, evidence: &mut Evidence) -> Result<Done, TurnError> {
        let why = refusal::for_user(&self.trouble.lines().take(2).collect::<Vec<_>>().join(" "));
        if !self.files.are_written() {
            return Ok(Done::note(format!("not done: {why}")));
        }
        let taken_back = self.files.restore(self.job, evidence).await?;
        Ok(Done { taken_back, ..Done::note(refusal::not_done(taken_back, &why)) })
    }
}

/// The first prompt: the code, the task, and the current results of the request's examples.
fn prompt(job: Job<'_>, model: &Player, order: &Order<'_>, tried: Option<&Wrong>) -> Vec<Message> {
    let tried = tried.map(|wrong| format!("\nTried as it is now: {}", wrong.said)).unwrap_or_default();
    let mut messages = opening(job, model, WRITE);
    messages.push(Message::user(format!("{}{}{tried}\n\n{NAME}", order.pack.text, order.task)));
    messages
}
