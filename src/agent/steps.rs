//! Carries out the steps of a plan, by the model if it was measured as able to write, else by code.
//! Reports appear in the order of the plan.

use futures_util::StreamExt;

use crate::base::StepId;
use crate::context::{Stretch, text_of};
use crate::index::Index;
use crate::models::Role;
use crate::protocol::{Event, PlanStatus, PlanView, StepState};
use crate::request::{Kind, Step};

use super::Host;
use super::claims::{self, Facts};
use super::evidence::{Entry, Evidence};
use super::execute::{self, Scene};
use super::graph::Transitions;
use super::guide::{self, Done, Job, Named};
use super::inspect::{self, Stage};
use super::lessons::Memory;
use super::plan::Plan;
use super::referred;
use super::side_by_side::{self, Lane, Lanes};
use super::toolkit::TurnError;

/// The result of carrying out the steps.
#[derive(Default)]
pub struct Ran {
    /// The plan with the status of its steps.
    pub record: PlanView,
    /// The steps that ended, successfully or not.
    pub ended: Vec<StepId>,
    /// The text shown to the user for each step that the model carried out.
    pub said: String,
    /// Steps that code could not carry out, each with the reason.
    pub stuck: Vec<String>,
    /// Steps that were understood but cannot be carried out, each with the reason.
    pub refused: Vec<(StepId, String)>,
    /// Names of changed definitions that no check has proved to work.
    untested: Vec<String>,
}

/// Carries out every step whose needed steps succeeded. In a plan made by the model, a step that
/// describes, tests or builds on an undone one is not carried out. If an error ends the steps,
/// `ran` contains the results so far. Each step uses one transition of the turn; once none is left,
/// no further step begins.
pub async fn run(
    scene: Scene<'_>,
    plan: &Plan,
    evidence: &mut Evidence,
    ran: &mut Ran,
    transitions: &mut Transitions,
) -> Result<(), TurnError> {
    let memory = Memory::of(scene.toolkit, plan, evidence).await;
    let ended = each(scene, plan, evidence, ran, memory.as_ref(), transitions).await;
    // Calls that worked before an error are also stored as lessons.
    if let Some(memory) = memory {
        let states = &ran.record.steps;
        let is_done = |step: &Step| states.iter().any(|one| one.id == step.id && one.status == PlanStatus::Completed);
        memory.learn(scene.toolkit, evidence, is_done).await;
    }
    ended
}

async fn each(
    scene: Scene<'_>,
    plan: &Plan,
    evidence: &mut Evidence,
    ran: &mut Ran,
    memory: Option<&Memory<'_>>,
    transitions: &mut Transitions,
) -> Result<(), TurnError> {
    let mut going = Going { scene, plan, ran, touched: Vec::new(), undone: Vec::new(), unsure: Vec::new() };
    let mut left = plan.steps.as_slice();
    while !left.is_empty() {
        let group = side_by_side::group(scene, plan, left, &going.undone);
        if transitions.left() < group.len() || !group.iter().all(|_| transitions.spend()) {
            going.ran.stuck.push("the turn has used all its transitions (max_transitions)".to_owned());
            break;
        }
        left = &left[group.len()..];
        let index = scene.toolkit.index.as_deref().filter(|_| plan.by_model);
        match (index, group) {
            (Some(index), [_, _, ..]) => going.together(group, index, evidence).await?,
            _ => {
                for step in group {
                    going.one(step, index, evidence, memory).await?;
                }
            }
        }
    }
    let Going { ran, undone, unsure, .. } = going;
    let mut lines = Vec::new();
    if !ran.untested.is_empty() {
        lines.push(claims::untested(&ran.untested));
    }
    if plan.by_model && plan.steps.len() > 1 {
        lines.extend(claims::together(plan.steps.len(), &undone, &unsure));
    }
    if !lines.is_empty() {
        ran.tell(scene, &Done::default(), Facts { lines, ..Facts::default() });
    }
    Ok(())
}

/// A plan in progress.
struct Going<'a> {
    scene: Scene<'a>,
    plan: &'a Plan,
    ran: &'a mut Ran,
    /// The definitions changed so far.
    touched: Vec<Stretch>,
    /// Steps that should have changed or run something but did not.
    undone: Vec<&'a Step>,
    /// Questions without a certain answer.
    unsure: Vec<&'a Step>,
}

impl<'a> Going<'a> {
    /// Carries out one step, with the results of earlier ones that it refers to.
    async fn one(
        &mut self,
        step: &'a Step,
        index: Option<&Index>,
        evidence: &mut Evidence,
        memory: Option<&Memory<'_>>,
    ) -> Result<(), TurnError> {
        let scene = self.scene;
        let whole = referred::with_results(step, self.plan, evidence);
        if !self.begins(step, whole.text.shown(), evidence) {
            return Ok(());
        }
        let before = evidence.entries().len();
        let skips = step.id.to_string();
        let stage = Stage { step: step.id, name: "step", skips: Some(&skips) };
        let inspected = inspect::stage(scene.toolkit, scene.host, stage, || inspect::step(&whole)).await;
        let done = match (inspected, index) {
            (Err(why), _) => Err(why),
            (Ok(()), Some(index)) => {
                let of_several = self.plan.steps.len() > 1;
                let tests_follow = self.plan.steps.iter().any(|later| later.id > step.id && later.tests(step));
                let lesson = memory.and_then(|memory| memory.of_same(step));
                let (touched, named) = (&self.touched, &Named::default());
                let step = &whole;
                let job = Job { scene, index, step, of_several, tests_follow, lesson, touched, writes: true, named };
                guide::carry_out(job, evidence).await
            }
            (Ok(()), None) => execute::step(scene, &whole, evidence).await,
        };
        self.ends(step, done, before, evidence)
    }

    /// Carries out read-only steps concurrently.
    async fn together(&mut self, steps: &'a [Step], index: &Index, evidence: &mut Evidence) -> Result<(), TurnError> {
        let scene = self.scene;
        let model = scene.toolkit.model(Role::Planner, scene.host).await?;
        let lanes = Lanes::of(scene.host, steps.len());
        let hosts: Vec<Lane<'_>> = (0..steps.len()).map(|at| Lane { lanes: &lanes, at }).collect();
        let touched = self.touched.clone();
        let named: Vec<Named> = steps.iter().map(|_| Named::default()).collect();
        let job = |((step, named), host): ((&'a Step, _), _)| {
            let scene = Scene { host, ..scene };
            let (of_several, tests_follow, lesson) = (true, false, None);
            Job { scene, index, step, of_several, tests_follow, lesson, touched: &touched, writes: true, named }
        };
        let hosts = hosts.iter().map(|host| host as &dyn Host);
        let jobs = steps.iter().zip(&named).zip(hosts).map(job).collect();
        let known = evidence.entries().len();
        let mut running = side_by_side::run(jobs, evidence, side_by_side::places(&model));
        for (at, step) in steps.iter().enumerate() {
            // The steps of a group depend on no undone step, so each can begin.
            self.begins(step, step.text.shown(), evidence);
            let before = evidence.entries().len();
            lanes.open(at, before - known);
            let Some((done, own)) = running.next().await else { continue };
            evidence.join(own, known);
            self.ends(step, done, before, evidence)?;
        }
        Ok(())
    }

    /// Reports that a step begins; false if it must not be carried out because a step that it needs
    /// did not succeed.
    fn begins(&mut self, step: &'a Step, text: &str, evidence: &Evidence) -> bool {
        let (scene, plan) = (self.scene, self.plan);
        if !step.needs.iter().all(|need| succeeded(evidence, *need)) {
            self.ran.stuck.push(format!("{}: a step it needs did not succeed", step.text));
            self.ran.mark(scene, step.id, PlanStatus::Failed);
            return false;
        }
        self.ran.mark(scene, step.id, PlanStatus::InProgress);
        scene.host.emit(Event::StepExecuting { step: step.id, description: text.to_owned() });
        if let Some(needed) = self.undone.iter().find(|earlier| step.builds_on(earlier)).filter(|_| plan.by_model) {
            scene.host.emit(Event::StepState { step: step.id, state: StepState::FailedToExecute });
            let note = format!("not done: {} was not done, and this builds on it", needed.id);
            self.ran.tell(scene, &Done::note(note), Facts::default());
            self.undone.push(step);
            self.ran.ended.push(step.id);
            self.ran.mark(scene, step.id, PlanStatus::Failed);
            return false;
        }
        scene.host.emit(Event::StepState { step: step.id, state: StepState::Thinking });
        true
    }

    /// Reports how a step ended; `before` is the number of evidence entries when it began.
    fn ends(
        &mut self,
        step: &'a Step,
        done: Result<Done, TurnError>,
        before: usize,
        evidence: &Evidence,
    ) -> Result<(), TurnError> {
        let (scene, plan, ran) = (self.scene, self.plan, &mut *self.ran);
        let state = |state| scene.host.emit(Event::StepState { step: step.id, state });
        let calls = &evidence.entries()[before..];
        let done = match done {
            Ok(done) => done,
            Err(TurnError::Skipped) => Done { is_refused: true, ..Done::note("not done: skipped by you") },
            Err(error) => {
                state(StepState::FailedToThink);
                ran.mark(scene, step.id, PlanStatus::Failed);
                if plan.by_model {
                    let facts = claims::of(step, calls, evidence, is_as_before(calls));
                    ran.tell(scene, &Done::default(), facts);
                }
                return Err(error);
            }
        };
        ran.ended.push(step.id);
        let mut is_done = done.notes.is_empty() && !done.failed;
        state(match (is_done, !calls.is_empty()) {
            (true, _) => StepState::Complete,
            (false, true) => StepState::FailedToExecute,
            (false, false) => StepState::FailedToThink,
        });
        if plan.by_model {
            let mut facts = claims::of(step, calls, evidence, done.taken_back);
            if !facts.tests.is_empty() && !facts.ran_tests && step.kind == Kind::Edit {
                facts.lines.push(claims::not_run(&facts.tests));
            }
            facts.lines.extend(done.tried.iter().map(|tried| format!("- {tried}")));
            if is_undone(step, &done, &facts, calls) {
                self.undone.push(step);
                is_done = false;
            } else if done.is_unsure {
                self.unsure.push(step);
            }
            ran.note_untested(scene, &done, &facts);
            ran.tell(scene, &done, facts);
        } else if !done.notes.is_empty() {
            let reason = done.notes.join("; ");
            scene.host.notice(&format!("{}: {reason}", step.id));
            if done.is_refused {
                ran.refused.push((step.id, reason));
            } else {
                ran.stuck.push(format!("{}: {reason}", step.text));
            }
        }
        ran.mark(scene, step.id, if is_done { PlanStatus::Completed } else { PlanStatus::Failed });
        self.touched.extend(done.touched);
        Ok(())
    }
}

/// Whether every file that these calls changed has its original content again.
fn is_as_before(calls: &[Entry]) -> bool {
    let changes: Vec<_> = calls.iter().flat_map(|call| &call.outcome.changes).collect();
    !changes.is_empty()
        && changes.iter().all(|one| {
            let last = changes.iter().rfind(|other| other.path == one.path);
            let first = changes.iter().find(|other| other.path == one.path);
            first.map(|first| &first.old) == last.map(|last| &last.new)
        })
}

/// Whether a step that should have changed or run something failed to do so with these `calls`.
fn is_undone(step: &Step, done: &Done, facts: &Facts, calls: &[Entry]) -> bool {
    let refused = done.failed || done.is_refused || done.notes.iter().any(|note| note.starts_with("not done"));
    match step.kind {
        Kind::Ask => done.failed,
        Kind::Run => calls.iter().all(|call| call.status.is_refused()),
        Kind::Fix => refused,
        Kind::Edit | Kind::Rename | Kind::Move => refused || facts.lines.is_empty() && done.said.is_empty(),
    }
}

impl Ran {
    /// The result before any step of the plan has run.
    pub fn of(record: PlanView) -> Ran {
        Ran { record, ..Ran::default() }
    }

    /// Sets the status of a step in the plan's record; emits an event unless the step has just
    /// begun.
    fn mark(&mut self, scene: Scene<'_>, step: StepId, status: PlanStatus) {
        self.record.steps.iter_mut().filter(|one| one.id == step).for_each(|one| one.status = status);
        let all = |of: PlanStatus| self.record.steps.iter().all(|one| one.status == of);
        let is_over =
            self.record.steps.iter().all(|one| matches!(one.status, PlanStatus::Completed | PlanStatus::Failed));
        self.record.status = match is_over {
            true if all(PlanStatus::Completed) => PlanStatus::Completed,
            true => PlanStatus::Failed,
            false => PlanStatus::InProgress,
        };
        if status != PlanStatus::InProgress {
            scene.host.emit(Event::PlanUpdated { plan: self.record.clone() });
        }
    }

    /// Records which changed definitions no check has proved to work. New tests that pass cover the
    /// definitions whose names they contain.
    fn note_untested(&mut self, scene: Scene<'_>, done: &Done, facts: &Facts) {
        if facts.is_shown {
            let tests: Vec<String> = facts.tests.iter().filter_map(|path| text_of(scene.context, path)).collect();
            self.untested.retain(|name| !tests.iter().any(|text| text.contains(last_of(name))));
            return;
        }
        let changed = done.touched.iter().filter(|one| facts.code.contains(&one.path) && !one.name.is_empty());
        for one in changed {
            if !self.untested.contains(&one.name) {
                self.untested.push(one.name.clone());
            }
        }
    }

    /// Shows the user what a step did, after the step's own text.
    fn tell(&mut self, scene: Scene<'_>, done: &Done, facts: Facts) {
        let mut facts = facts.lines;
        facts.extend(done.notes.iter().map(|note| format!("- {note}")));
        let gap = if self.said.is_empty() { "" } else { "\n" };
        self.said.push_str(&format!("{gap}{}", done.said));
        if !facts.is_empty() {
            let gap = if done.said.is_empty() || done.said.ends_with('\n') { "" } else { "\n" };
            let facts = format!("{gap}{}\n", facts.join("\n"));
            scene.host.emit(Event::Token { text: facts.clone() });
            self.said.push_str(&facts);
        }
    }
}

/// The name of a member without the names of its containers.
fn last_of(name: &str) -> &str {
    name.rsplit(['.', ':']).next().unwrap_or(name)
}

/// Whether every call of a step, or a substitute for it, succeeded. False for a step without
/// evidence: it was stuck.
fn succeeded(evidence: &Evidence, step: StepId) -> bool {
    let mut calls = evidence.of(step).peekable();
    calls.peek().is_some() && calls.all(|call| evidence.is_settled(call))
}
