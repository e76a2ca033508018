//! Runs the checks of a written change: the examples in the request, the tests that cover it, and
//! calls written by the model.

use crate::agent::budget::Guided;
use crate::agent::evidence::{Check, Entry, Evidence};
use crate::agent::guide::difference::{self, Shown};
use crate::agent::guide::files::Files;
use crate::agent::guide::refusal::{TRIED, UNSEEN};
use crate::agent::guide::{Done, Job, copy, repair, verify};
use crate::agent::toolkit::TurnError;
use crate::edit::examples::Example;

use super::choice::{self, items_of};
use super::{Attempt, Order, Outcome, Rounds};

/// Whether the examples in the request ran among `calls` and passed.
pub(super) fn hold(calls: &[Entry], evidence: &Evidence) -> bool {
    calls.iter().any(|call| call.succeeded() && evidence.check(call.id) == Some(Check::Examples))
}

/// The answer to a step that only states the results of some calls, if the code already returns
/// them: there is nothing to change, and any change would be a guess.
pub(super) fn already_so(job: Job<'_>, order: &Order<'_>, files: &Files) -> Option<Done> {
    let (asked, mentions) = (&job.step.text, order.mentions);
    let all = asked.examples(&files.new_names, &|name| !files.had(name));
    let first = all.first().filter(|_| files.held_before && order.command.is_none())?;
    let is_of_calls = asked.is_report() || asked.begins_with(&first.call);
    let asks_for_more = mentions.adds || !mentions.asked_for.is_empty();
    if !is_of_calls || asks_for_more || asked.speaks_of_what_is_right() {
        return None;
    }
    // Examples that use functions in other files were not run.
    let place = files.place_of(&first.name);
    if !all.iter().all(|one| files.place_of(&one.name) == place) {
        return None;
    }
    let told = |one: &Example| {
        let gives = if one.is_wrong { "does not give" } else { "gives" };
        format!("`{}` currently {gives} {}", one.call, one.expected)
    };
    let told: Vec<String> = all.iter().map(told).collect();
    Some(Done::refused(&format!("{}; name a call with a wrong result", told.join(", "))))
}

impl Rounds<'_> {
    /// Runs the examples and calls in the request; if an example fails in the first round, small
    /// changes are tried. `None` if no problem is found.
    pub(super) async fn run_examples(
        &mut self,
        attempt: &Attempt,
        evidence: &mut Evidence,
    ) -> Result<Option<Outcome>, TurnError> {
        let wrong = verify::examples_or_calls(self.job, &mut self.files, evidence).await?;
        let Some(wrong) = wrong else { return Ok(None) };
        // For a reported mistake, small changes have already been tried.
        let may_mend = attempt.round == 0 && !self.files.asked.is_report() && !wrong.is_vague;
        if may_mend
            && let Some(mended) =
                repair::examples(self.job, &wrong, None, self.job.limits().trials_time, evidence).await?
        {
            return Ok(Some(Outcome::Accepted(Done { said: String::new(), ..mended })));
        }
        let items = choice::named_in(items_of(&attempt.pieces), &wrong.said);
        self.next = Some((items, true));
        let still = if wrong.is_vague { "this is still so: " } else { "" };
        let problem = format!("{TRIED}{still}{}", wrong.said);
        Ok(Some(if wrong.is_vague { self.contradicted(problem) } else { Outcome::Refused(problem) }))
    }

    /// Refuses a change that a call contradicts without showing the right result. The model may
    /// rewrite it once.
    fn contradicted(&mut self, problem: String) -> Outcome {
        match self.contradiction.replace(problem.clone()) {
            None => Outcome::Refused(problem),
            Some(_) => Outcome::Final(problem),
        }
    }

    /// Runs the tests that cover the change. It is accepted if they pass, if no more tests fail
    /// than before, or if a check only expects the old behaviour that the request changes.
    pub(super) async fn run_tests(&mut self, attempt: &Attempt, evidence: &mut Evidence) -> Result<Outcome, TurnError> {
        let job = self.job;
        let accepted = |said: String, note: Option<String>| {
            Ok(Outcome::Accepted(Done { said, notes: note.into_iter().collect(), ..Done::default() }))
        };
        let ran = verify::failing(job, &self.files.changed(), &self.files.names(), evidence).await?;
        let Some((ran, trouble)) = ran.and_then(|ran| ran.trouble().map(|trouble| (ran, trouble))) else {
            return accepted(String::new(), None);
        };
        if ran.of_new && self.files.only_tests {
            // A new test that fails proves nothing and must not remain.
            self.next = Some((items_of(&attempt.pieces), true));
            return Ok(Outcome::Refused(trouble));
        }
        if !self.before.contains_key(&ran.line) {
            let failed = copy::failing_before(job, &ran.line, Guided::CHECK_TIME, self.files.as_they_were()).await?;
            self.before.insert(ran.line.clone(), failed);
        }
        if self.before[&ran.line].as_ref().is_some_and(|before| ran.report.is_no_worse_than(before)) {
            return accepted(format!("`{}` fails as it did before.\n", ran.line), None);
        }
        if self.files.is_wanted(&trouble) {
            let first = trouble.lines().take(2).collect::<Vec<_>>().join(" ");
            return accepted(String::new(), Some(format!("changed; a check expects the old behaviour: {first}")));
        }
        self.next = Some((items_of(&attempt.pieces), true));
        Ok(Outcome::Refused(trouble))
    }

    /// Refuses a small model's change that makes no difference or fails, and, once, a change that
    /// contradicts the model's own example.
    pub(super) async fn accepted_if_it_differs(
        &mut self,
        attempt: &Attempt,
        done: Done,
        evidence: &mut Evidence,
    ) -> Result<Outcome, TurnError> {
        let shown = difference::shown(self.job, &self.files, &self.messages, &mut self.programs, evidence).await?;
        self.next = Some((items_of(&attempt.pieces), true));
        Ok(match shown {
            Shown::Nothing => Outcome::Accepted(done),
            Shown::Difference(tried) | Shown::Unloaded(tried) => Outcome::Accepted(Done { tried: vec![tried], ..done }),
            Shown::Objection(problem) => Outcome::Refused(problem),
            // The model wrote the same code again: its example may be wrong, so the user sees both.
            Shown::Contradiction(said) if self.contradiction.is_some() => {
                Outcome::Accepted(Done { tried: vec![format!("tried: {said}")], ..done })
            }
            Shown::Contradiction(said) => self.contradicted(format!("{TRIED}{said}")),
            // Rewriting the change would not make its effect visible.
            Shown::Unseen => Outcome::Final(format!("{TRIED}{UNSEEN}")),
        })
    }
}
