//! The cognitive loop of a complex turn: draft, verify, record the failure, look up missing facts,
//! draft again; the best draft is the answer.
//!
//! Code checks a draft first. Models that correct themselves without new facts do not improve, so
//! the model judges only drafts that pass, and each round gets the failures of the previous rounds.

use std::sync::Mutex;

use crate::base::{StepId, lock};
use crate::budget::permit::Priority;
use crate::config::When;
use crate::models::Role;
use crate::protocol::{CognitiveState, Event, Proposal, Verification, VerificationResult};
use crate::request::{Step, Text};
use crate::tools::policy::Policy;

use super::evidence::{Entry, Evidence};
use super::execute::{self, Scene};
use super::plan::Plan;
use super::player::Player;
use super::question::{Form, Question};
use super::synthesize::{self, Brief, Draft, tell};
use super::toolkit::{Toolkit, TurnError};
use super::{Deciding, Host, excerpt, technique};
use crate::language::{grounding, words};

const PROMPT: &str = include_str!("prompts/verify.md");
/// Form of the verifier's reply: score, verdict, one sentence.
const VERDICT: Form = Form {
    grammar: "start: /0\\.[0-9]{2}|1\\.00/ \"\\n\" (\"valid\" | \"needs_refinement\" | \"critical_error\") \"\\n\" /[^\\n]{2,240}/\n",
    tokens_max: 90,
};
/// Maximum number of failures kept for the next prompt, and the maximum length of one, in
/// characters.
const FAILURES_MAX: usize = 4;
const FAILURE_CHARS: usize = 160;
/// The order to condense a failure, and the form of the reply.
const CONDENSE_PROMPT: &str =
    "Say in one short sentence what is wrong with the answer, so that the next one is better.";
const FAILURE: Form = Form { grammar: "start: /[^\n]{2,160}/\n", tokens_max: 60 };
/// Maximum number of evidence lines shown to the judge, and maximum length of lines and calls
/// together, in characters.
const LINES_SHOWN: usize = 30;
pub const EVIDENCE_CHARS: usize = 6_000;
/// Minimum complexity of a complex request, and of one of the most complex ones.
const COMPLEX_FROM: f32 = 3.0;
const HARDEST_FROM: f32 = 6.0;
/// Bytes per token in ordinary prose. An exact count would need a tokenizer and change the score
/// only by hundredths.
const TOKEN_BYTES: f32 = 4.0;
/// Weight of the code check in the score; the rest is the model's opinion.
const EVIDENCE_WEIGHT: f64 = 0.6;

/// Whether the turn's answer goes through the loop.
pub fn applies(brief: Brief<'_>) -> bool {
    match brief.toolkit.cognitive.when {
        When::On => true,
        When::Off => false,
        // Considers only a model that is already available; none is loaded just to find out.
        When::Auto => {
            let at_hand = brief.toolkit.at_hand(brief.toolkit.voice());
            has_complex_request(brief) && at_hand.is_some_and(|model| model.capability().supports_complex_reasoning)
        }
    }
}

fn has_complex_request(brief: Brief<'_>) -> bool {
    let files = brief.plan.steps.iter().map(|step| step.part.paths.len()).sum();
    is_complex(complexity(brief.request, files, brief.plan.steps.len()))
}

/// Whether a request of this complexity is complex.
pub fn is_complex(complexity: f32) -> bool {
    complexity >= COMPLEX_FROM
}

/// The role whose model plans a request of this complexity, if such a model exists.
pub fn role_for(complexity: f32) -> Role {
    match complexity {
        simple if simple < COMPLEX_FROM => Role::Quick,
        complex if complex < HARDEST_FROM => Role::Planner,
        _ => Role::Thinker,
    }
}

/// How hard a request is: `0.3·tokens (thousands) + 0.2·files + 0.5·reasoning steps`. Each step of the plan is a reasoning step,
/// and so is each word that asks for reasoning.
pub fn complexity(request: &Text, files: usize, steps: usize) -> f32 {
    let thousands = request.shown().len() as f32 / TOKEN_BYTES / 1000.0;
    0.3 * thousands + 0.2 * files as f32 + 0.5 * (steps + request.reasons()) as f32
}

/// Whether answers of a model that writes or leads go through the loop: only if the user wants
/// this, because no gain was measured for them.
pub fn is_wanted(toolkit: &Toolkit) -> bool {
    toolkit.cognitive.when == When::On
}

/// The best draft within the allowed rounds, sent to the host in full. `said` is text that a model
/// wrote earlier in the turn. Index results found for the verdicts are added to `evidence`.
pub async fn answer(brief: Brief<'_>, said: Option<&str>, evidence: &mut Evidence) -> Result<String, TurnError> {
    let Brief { toolkit, plan, host, .. } = brief;
    if has_complex_request(brief) {
        let rounds = toolkit.cognitive.max_iterations;
        host.notice(&format!("this is a complex request: expect 30 to 60 seconds, in at most {rounds} rounds"));
    }
    let quiet = Quiet::of(host);
    let steps = plan.steps.iter().map(|step| format!("{}. {}", step.id, step.text)).collect();
    let mut rounds = Rounds::of(toolkit, &quiet, brief.request.shown(), steps);
    let looked_at = evidence.entries().len();
    loop {
        let shown = rounds.shown(evidence);
        let said = said.filter(|_| rounds.state.iterations == 0);
        let draft = Draft { said, past_failures: rounds.past_failures(), looked_at: Some(looked_at) };
        let drafted = synthesize::answer(Brief { host: &quiet, evidence, ..brief }, draft).await?;
        let checked = checked(&drafted, brief.request, plan, evidence);
        if rounds.is_enough(drafted, &shown, checked).await? {
            break;
        }
        look_again(brief, rounds.past_failures(), evidence).await?;
    }
    Ok(tell(host, &rounds.end(quiet.thoughts())))
}

/// The executor's part of a further round: searches the index for the names in the last verdict.
async fn look_again(brief: Brief<'_>, failures: &[String], evidence: &mut Evidence) -> Result<(), TurnError> {
    let Brief { toolkit, plan, request, host, .. } = brief;
    let (Some(context), Some(failure)) = (&toolkit.context, failures.last()) else { return Ok(()) };
    let step = plan.steps.last().map_or(StepId(0), |step| step.id);
    execute::search(Scene { toolkit, context, request, host }, step, format!("{request} {failure}"), evidence).await
}

/// The result of checking a draft with code.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// Share of the draft that evidence supports, 0 to 1.
    pub backed: f64,
    pub wrong: String,
    /// Whether no rewording can improve the draft.
    pub hopeless: bool,
}

/// The rounds of one answer, independent of what writes the drafts.
pub struct Rounds<'a> {
    toolkit: &'a Toolkit,
    host: &'a dyn Host,
    state: CognitiveState,
    /// The best draft, with its score.
    best: (String, f64),
}

impl<'a> Rounds<'a> {
    pub fn of(toolkit: &'a Toolkit, host: &'a dyn Host, request: &str, plan: Vec<String>) -> Rounds<'a> {
        let state = CognitiveState {
            input: request.to_owned(),
            conversation_id: toolkit.conversation.0.clone(),
            plan: Some(plan.join("\n")),
            ..CognitiveState::default()
        };
        Rounds { toolkit, host, state, best: (String::new(), -1.0) }
    }

    /// The faults of the drafts so far, for the prompt of the next draft.
    pub fn past_failures(&self) -> &[String] {
        &self.state.past_failures
    }

    /// Records the calls so far.
    pub fn note(&mut self, evidence: &Evidence) {
        let calls = evidence.entries().iter();
        self.state.steps = calls.map(|entry| format!("{}: {}", entry.tool, entry.summary())).collect();
    }

    /// The evidence in the judge's prompt: the calls, then the lines that match the request.
    pub fn shown(&mut self, evidence: &Evidence) -> String {
        self.note(evidence);
        let lines = excerpt::lines(evidence.entries(), &self.state.input, LINES_SHOWN);
        let all: Vec<String> = self.state.steps.iter().cloned().chain(excerpt::listed(&lines)).collect();
        words::shorten(&all.join("\n"), EVIDENCE_CHARS)
    }

    /// Scores a draft: first by `checked`, the result of the code check, then, if that passes, by
    /// the model, whose prompt contains `shown`. False if another draft is needed.
    pub async fn is_enough(&mut self, draft: String, shown: &str, checked: Checked) -> Result<bool, TurnError> {
        self.state.iterations += 1;
        // The same draft would get the same verdict.
        let same = self.state.draft_answer == draft;
        self.state.draft_answer = draft;
        if same {
            return Ok(true);
        }
        let verdict = self.verdict(shown, checked).await?;
        let (iteration, confidence, critique) = (self.state.iterations, self.state.score, self.state.critique.clone());
        self.host.emit(Event::Verification(Verification { iteration, confidence, verdict, critique }));
        if verdict == VerificationResult::Valid || confidence > self.best.1 {
            self.best = (self.state.draft_answer.clone(), confidence);
        }
        if verdict != VerificationResult::NeedsRefinement || iteration >= self.toolkit.cognitive.max_iterations {
            return Ok(true);
        }
        self.note_failure().await?;
        let past_failures = self.state.past_failures.clone();
        self.host.emit(Event::Refinement { iteration, confidence, past_failures });
        Ok(false)
    }

    /// Ends the loop: sends its state to the host and returns the best draft.
    pub fn end(mut self, thoughts: Vec<String>) -> String {
        self.state.thinking_tokens = thoughts;
        self.host.emit(Event::Cognition(self.state));
        self.best.0
    }

    /// Keeps the failure of this round for later rounds. The judging model condenses a long
    /// failure.
    async fn note_failure(&mut self) -> Result<(), TurnError> {
        let mut failure = words::shorten(&self.state.critique, FAILURE_CHARS);
        if self.state.critique.len() > FAILURE_CHARS {
            let (toolkit, host, judge) = (self.toolkit, self.host, self.judge().await?);
            if judge.capability().supports_complex_reasoning {
                let asked = Question { toolkit, model: &judge, host, phase: "condensing", priority: Priority::Step };
                let condensed = asked.text(CONDENSE_PROMPT, &self.state.critique, FAILURE).await?;
                if !condensed.trim().is_empty() {
                    failure = words::shorten(condensed.trim(), FAILURE_CHARS);
                }
            }
        }
        remember(&mut self.state.past_failures, &failure);
        Ok(())
    }

    /// The model that judges: the verifier if there is one, else the model that words answers.
    async fn judge(&self) -> Result<Player, TurnError> {
        let is_own = self.toolkit.pool.plays(Role::Verifier);
        self.toolkit.model(if is_own { Role::Verifier } else { self.toolkit.voice() }, self.host).await
    }

    async fn verdict(&mut self, shown: &str, checked: Checked) -> Result<VerificationResult, TurnError> {
        let Checked { backed, wrong, hopeless } = checked;
        let (toolkit, host, state) = (self.toolkit, self.host, &mut self.state);
        (state.score, state.critique) = (backed, wrong);
        let threshold = toolkit.cognitive.verification_threshold;
        if backed < threshold {
            return Ok(if hopeless { VerificationResult::CriticalError } else { VerificationResult::NeedsRefinement });
        }
        let model = self.judge().await?;
        let state = &mut self.state;
        if !model.capability().supports_complex_reasoning {
            return Ok(VerificationResult::Valid);
        }
        let asked = Question { toolkit, model: &model, host, phase: "verifying", priority: Priority::Step };
        let look = technique::look(asked, toolkit.cognitive.technique, &prose(&state.draft_answer), shown).await?;
        if !look.against.is_empty() {
            state.score = backed * (1.0 - look.against.len() as f64 / look.asked as f64);
            state.critique = look.against.join("; ");
            return Ok(VerificationResult::NeedsRefinement);
        }
        let text = judged(asked, state, shown, &look.heard).await?;
        // Ignore an unreadable verdict: the draft has passed the code check.
        let Some((opinion, verdict, critique)) = read(&text) else { return Ok(VerificationResult::Valid) };
        state.score = EVIDENCE_WEIGHT * backed + (1.0 - EVIDENCE_WEIGHT) * opinion;
        state.critique = critique;
        Ok(if state.score >= threshold {
            VerificationResult::Valid
        } else if verdict == VerificationResult::Valid {
            VerificationResult::NeedsRefinement
        } else {
            verdict
        })
    }
}

/// The model's verdict on the draft, as text. `heard` is added to the prompt.
async fn judged(asked: Question<'_>, state: &CognitiveState, shown: &str, heard: &str) -> Result<String, TurnError> {
    let past = if state.past_failures.is_empty() { "none".to_owned() } else { state.past_failures.join("; ") };
    let system = PROMPT.trim().replace("{past_failures}", &past);
    let user = format!("Question: {}\nEvidence:\n{shown}\nAnswer: {}{heard}", state.input, state.draft_answer);
    asked.text(&system, &user, VERDICT).await
}

/// The part of the draft that a model wrote, as one line. Lines that begin with `-` or a space come
/// from code.
fn prose(draft: &str) -> String {
    draft.lines().filter(|line| !line.starts_with(['-', ' '])).collect::<Vec<_>>().join(" ")
}

/// The code's score, 0 to 1, and the faults found. The score is the share of supported sentences
/// times the share of completed steps, halved if a question got no answer in words.
fn checked(draft: &str, request: &Text, plan: &Plan, evidence: &Evidence) -> Checked {
    let sources: Vec<&str> = evidence.entries().iter().map(|entry| entry.outcome.text.as_str()).collect();
    let sentences = grounding::sentences(&prose(draft));
    let unbacked: Vec<&String> =
        sentences.iter().filter(|sentence| !grounding::is_grounded(sentence, &sources, request.shown())).collect();
    let grounded = 1.0 - unbacked.len() as f64 / sentences.len().max(1) as f64;
    let is_open = |step: &&Step| !evidence.of(step.id).any(Entry::succeeded);
    let open: Vec<&Step> = plan.steps.iter().filter(is_open).collect();
    let covered = 1.0 - open.len() as f64 / plan.steps.len().max(1) as f64;
    let asked = request.has_question_mark() || !plan.questions.is_empty();
    let answered = if asked && sentences.is_empty() { 0.5 } else { 1.0 };
    let mut wrong: Vec<String> =
        unbacked.iter().map(|sentence| format!("nothing backs: {}", sentence.trim())).collect();
    wrong.extend(open.iter().map(|step| format!("not done: {}", step.text)));
    wrong.extend((answered < 1.0).then(|| "the question is not answered in words".to_owned()));
    let hopeless = !plan.steps.is_empty() && !evidence.entries().iter().any(Entry::succeeded);
    Checked { backed: grounded * covered * answered, wrong: wrong.join("; "), hopeless }
}

/// Reads `0.75\nneeds_refinement\nThe port is missing.`, or these parts anywhere in a text. `None`
/// if score or verdict is missing.
fn read(text: &str) -> Option<(f64, VerificationResult, String)> {
    let score = text.split_whitespace().find_map(|word| {
        let score: f64 = word.trim_matches(|c: char| !c.is_ascii_digit() && c != '.').parse().ok()?;
        (0.0..=1.0).contains(&score).then_some(score)
    })?;
    let verdict = if text.contains("critical_error") {
        VerificationResult::CriticalError
    } else if text.contains("needs_refinement") {
        VerificationResult::NeedsRefinement
    } else if text.contains("valid") {
        VerificationResult::Valid
    } else {
        return None;
    };
    let critique = text.lines().rev().find(|line| line.split_whitespace().count() > 1).unwrap_or("").trim();
    Some((score, verdict, critique.to_owned()))
}

/// Adds a failure that is not yet in the list; a full list drops its oldest entry.
fn remember(failures: &mut Vec<String>, failure: &str) {
    if failure.is_empty() || failures.iter().any(|known| known == failure) {
        return;
    }
    if failures.len() == FAILURES_MAX {
        failures.remove(0);
    }
    failures.push(failure.to_owned());
}

/// A host that passes on everything except the drafts' text, and collects the thinking text.
pub struct Quiet<'a> {
    host: &'a dyn Host,
    thoughts: Mutex<Vec<String>>,
}

impl Quiet<'_> {
    pub fn of(host: &dyn Host) -> Quiet<'_> {
        Quiet { host, thoughts: Mutex::default() }
    }

    pub fn thoughts(&self) -> Vec<String> {
        lock(&self.thoughts).clone()
    }
}

/// Maximum number of pieces of thinking text kept.
const THOUGHTS_MAX: usize = 4_000;

impl Host for Quiet<'_> {
    fn emit(&self, event: Event) {
        if let Event::Thinking { text } = &event {
            let mut thoughts = lock(&self.thoughts);
            if thoughts.len() < THOUGHTS_MAX {
                thoughts.push(text.clone());
            }
        }
        if !matches!(event, Event::Token { .. }) {
            self.host.emit(event);
        }
    }

    fn approve<'a>(&'a self, step: StepId, proposal: &'a Proposal) -> Deciding<'a> {
        self.host.approve(step, proposal)
    }

    fn policy(&self) -> &Policy {
        self.host.policy()
    }

    fn inspects(&self) -> bool {
        self.host.inspects()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_picked_by_complexity() {
        let picked = [0.5, 2.9, 3.0, 5.9, 6.0, 20.0].map(role_for);
        let (quick, planner, thinker) = (Role::Quick, Role::Planner, Role::Thinker);
        assert_eq!(picked, [quick, quick, planner, planner, thinker, thinker]);
    }

    #[test]
    fn complexity_is_the_formula() {
        let close = |score: f32, expected: f32| assert!((score - expected).abs() < 1e-3, "{score}");
        close(complexity(&Text::of("x".repeat(4000)), 2, 3), 0.3 + 0.4 + 1.5);
        close(complexity(&Text::of("why is it slow"), 0, 1), 0.3 * 14.0 / 4000.0 + 1.0);
    }

    #[test]
    fn verdicts_are_read_inside_and_outside_their_form() {
        let check = |text: &str, expected: Option<(f64, VerificationResult)>| {
            assert_eq!(read(text).map(|(score, verdict, _)| (score, verdict)), expected, "{text}");
        };
        check("0.75\nneeds_refinement\nThe port is missing.", Some((0.75, VerificationResult::NeedsRefinement)));
        check("{\"score\": 0.9, \"verdict\": \"valid\"}", Some((0.9, VerificationResult::Valid)));
        check("7 out of 10, valid", None);
        check("It is fine.", None);
    }

    #[test]
    fn each_failure_is_kept_once_and_the_oldest_are_dropped() {
        let mut state = CognitiveState::default();
        for n in [0, 0, 1, 2, 3, 4] {
            remember(&mut state.past_failures, &format!("failure {n}"));
        }
        assert_eq!(state.past_failures, ["failure 1", "failure 2", "failure 3", "failure 4"]);
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<CognitiveState>(&text).unwrap(), state);
        let fields = serde_json::to_value(&state).unwrap();
        assert_eq!(fields.as_object().map(serde_json::Map::len), Some(10));
    }
}
