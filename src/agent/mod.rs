//! Runs a turn: splits a request into parts and steps, makes the tool calls, writes the answer.
//!
//! Code decides the structure; models write the text.

pub(crate) mod budget;
pub(crate) mod call;
mod claims;
pub(crate) mod cognitive;
pub(crate) mod consent;
mod conversation;
pub(crate) mod evidence;
pub(crate) mod excerpt;
pub(crate) mod execute;
mod forecast;
pub(crate) mod free_loop;
mod graph;
pub(crate) mod guide;
mod inspect;
pub(crate) mod lead;
mod lessons;
pub(crate) mod notation;
mod of_servers;
mod offered;
mod pictures;
pub(crate) mod plan;
pub(crate) mod player;
pub mod private_names;
pub mod probe;
pub(crate) mod question;
mod recovery;
mod referred;
mod side_by_side;
mod spelled;
mod steps;
pub(crate) mod sure;
pub(crate) mod synthesize;
mod talk;
mod technique;
pub(crate) mod toolkit;
mod whole;

use std::future::Future;
use std::pin::Pin;

use crate::base::StepId;
use crate::models::speed::Speed;
use crate::models::{Role, digest};
use crate::protocol::{Decision, Event, Proposal, TurnFinished, Usage};
use crate::tools::policy::Policy;

use crate::language::clauses::Part;
use crate::request::named::Names;
use crate::request::{Text, folders};
pub use budget::{judged, judging};
use evidence::Evidence;
pub use lead::Notes;
pub use of_servers::fetched;
pub use pictures::read as read_pictures;
pub use player::Remotes;
pub use recovery::Way;
pub use toolkit::{Meter, Toolkit, TurnError};

/// The user's decision on a proposed tool call, to be awaited.
pub type Deciding<'a> = Pin<Box<dyn Future<Output = Decision> + Send + 'a>>;

/// The calls that a turn may make to the layer above: emitting events and asking for consent,
/// nothing else.
pub trait Host: Send + Sync {
    fn emit(&self, event: Event);

    /// Asks the user; a host that cannot ask gives the reason.
    fn approve<'a>(&'a self, step: StepId, proposal: &'a Proposal) -> Deciding<'a>;

    /// Decides which calls are allowed, denied or subject to the user's consent.
    fn policy(&self) -> &Policy;

    /// Whether the turn pauses for the user after every stage.
    fn inspects(&self) -> bool {
        false
    }
}

impl dyn Host + '_ {
    pub fn notice(&self, text: &str) {
        self.emit(Event::Notice { text: text.to_owned() });
    }
}

/// Splits a request into parts, never inside a file name. If a plain word names a project folder,
/// the folder becomes a path of its part.
pub fn parts(toolkit: &Toolkit, request: &Text) -> Vec<Part> {
    let Some(context) = &toolkit.context else { return request.parts() };
    let mut parts = names(toolkit, request).parts();
    folders::named(&mut parts, &context.root);
    parts
}

/// The project files named in a text.
fn names<'t>(toolkit: &Toolkit, text: &'t Text) -> Names<'t> {
    let known = toolkit.index.as_deref().and_then(|index| index.paths().ok()).unwrap_or_default();
    Names::of(text, toolkit.context.as_ref().map(|context| &context.root), &known)
}

/// Emits the plan of a turn without running it.
pub async fn plan_turn(toolkit: &Toolkit, request: &str, host: &dyn Host) -> Result<(), TurnError> {
    let request = &Text::of(request);
    let parts = parts(toolkit, request);
    let toolkit = &picked(toolkit, request, &parts);
    let plan = plan::make(toolkit, request, &parts, host).await?;
    plan.show(toolkit, host);
    Ok(())
}

/// The toolkit with the model that plans a request: the quick one for a simple request, the thinker
/// for the hardest ones, if such models exist.
fn picked(toolkit: &Toolkit, request: &Text, parts: &[Part]) -> Toolkit {
    let files = parts.iter().map(|part| part.paths.len()).sum();
    let wanted = cognitive::role_for(cognitive::complexity(request, files, parts.len()));
    let picked = Some(wanted).filter(|role| toolkit.pool.plays(*role)).unwrap_or(Role::Planner);
    Toolkit { picked, ..toolkit.clone() }
}

/// Runs one turn: plan, execute, answer. If a phase cannot continue, the single-model loop
/// continues with its plan and evidence.
#[tracing::instrument(skip_all, fields(conversation = %toolkit.conversation))]
pub async fn run_turn(toolkit: &Toolkit, request: &str, host: &dyn Host) -> Result<TurnFinished, TurnError> {
    let mut evidence = Evidence::default();
    for given in &toolkit.given {
        evidence.take_in(given);
    }
    let request = &Text::of(request);
    let state = graph::State::of(toolkit, request, evidence);
    let toolkit = &picked(toolkit, request, &state.parts);
    let ended = state.run(toolkit, host).await?;
    let (evidence, answer) = (ended.evidence, ended.response.unwrap_or_default());
    let calls = evidence.entries().iter().filter(|entry| entry.tool != evidence::GIVEN);
    let steps: Vec<_> = calls.map(evidence::Entry::report).collect();
    inspect::stage(toolkit, host, inspect::of_turn("answer"), || inspect::calls(steps.iter())).await?;
    let mut usage = toolkit.meter.usage();
    usage.budget.seconds_meant = forecast::meant(toolkit, &steps, usage.model_calls);
    remember_speed(toolkit, &usage);
    tell_servers(toolkit, &usage, host);
    Ok(TurnFinished { request: request.to_string(), answer, steps, usage })
}

/// Reports which servers were asked.
fn tell_servers(toolkit: &Toolkit, usage: &Usage, host: &dyn Host) {
    for role in Role::TEXT {
        let Some(player) = toolkit.at_hand(role).filter(|player| player.here().is_none()) else { continue };
        let calls =
            usage.calls.iter().filter(|call| call.role == role.to_string() && call.model == player.name()).count();
        if calls > 0 {
            let times = if calls == 1 { "once".to_owned() } else { format!("{calls} times") };
            host.notice(&format!("{role}: {} was asked {times}", player.name()));
        }
    }
}

/// Stores each model's reading and writing speed in this turn, for the forecasts of `monobloc fit`.
fn remember_speed(toolkit: &Toolkit, usage: &Usage) {
    let Some(folder) = toolkit.pool.capabilities() else { return };
    for role in Role::TEXT.into_iter().filter(|role| !toolkit.is_away(*role)) {
        let calls = || usage.calls.iter().filter(|call| call.role == role.to_string());
        let read = calls().map(|call| call.prompt_tokens.saturating_sub(call.cached_tokens)).sum();
        // Calls that used guessed tokens (prompt lookup) are left out: they decode faster than usual.
        let plain = || calls().filter(|call| call.guessed_tokens == 0);
        let written = plain().map(|call| call.generated_tokens).sum();
        let read_ms = calls().map(|call| call.prompt_ms).sum();
        let written_ms = plain().map(|call| call.decode_ms).sum();
        let Some(speed) = Speed::of((read, read_ms), (written, written_ms)) else { continue };
        let Some(file) = toolkit.pool.file_of(role) else { continue };
        let kept = digest::fingerprint(&file).and_then(|fingerprint| speed.remember(folder, &fingerprint));
        if let Err(error) = kept {
            tracing::warn!(%error, "the speed of a model could not be stored");
        }
    }
}
