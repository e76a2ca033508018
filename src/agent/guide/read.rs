//! Has the model split a request into steps if rules cannot: each step has a kind and its words
//! from the request.

use crate::agent::budget::{Guided, Pace};
use crate::agent::player::{Form, Output};
use crate::agent::question::Question;
use crate::agent::toolkit::{Toolkit, TurnError};
use crate::agent::{Host, conversation, whole};
use crate::budget::permit::Priority;
use crate::models::Role;
use crate::models::dialect::Message;
use crate::protocol::Exchange;
use crate::request::{Step, Text, steps};

const PROMPT: &str = include_str!("../prompts/read.md");
/// Name of this phase in events and in the cost report.
pub const PHASE: &str = "reading the request";
/// Maximum length, in bytes, of a request that the model reads: the grammar contains the words of
/// the request, and many words make it slow. A longer request is split into its clauses.
const REQUEST_BYTES_MAX: usize = 2_000;

/// The steps of a request, each with the files that it names. The clause rules add steps that the
/// model left out.
pub async fn steps(toolkit: &Toolkit, request: &Text, host: &dyn Host) -> Result<Vec<Step>, TurnError> {
    let names = crate::agent::names(toolkit, request);
    let mut steps = match names.steps_by_rules() {
        Some(steps) => steps,
        None => by_model(toolkit, request, host).await?,
    };
    names.restore_steps(&mut steps);
    Ok(steps)
}

/// Has the model read the steps; a request that is too long for that is split into its clauses.
async fn by_model(toolkit: &Toolkit, request: &Text, host: &dyn Host) -> Result<Vec<Step>, TurnError> {
    let request = request.on_one_line();
    if request.shown().len() > REQUEST_BYTES_MAX {
        // This omits no part of the request.
        return Ok(request.steps(Vec::new()));
    }
    let planner = toolkit.model(Role::Planner, host).await?;
    let asked = Question { toolkit, model: &planner, host, phase: PHASE, priority: Priority::Step };
    let limits = Guided::of(Pace::of(toolkit, &planner));
    let output = reading(asked, &request, &toolkit.earlier, limits.steps).await?;
    // The last line of an incomplete reading may be part of a step, which could then order
    // something else.
    let text = if whole::why_cut(&output).is_none() { &output.text } else { whole::lines(&output.text) };
    Ok(request.steps(steps::read(text)))
}

/// Has the model split `request` into steps, with at most `tokens` tokens.
pub async fn reading(
    asked: Question<'_>,
    request: &Text,
    earlier: &[Exchange],
    tokens: usize,
) -> Result<Output, TurnError> {
    // The part that is the same for every request comes first, so that it is processed only once.
    let mut messages = vec![Message::system(PROMPT.trim().to_owned())];
    messages.extend(conversation::messages(earlier, asked.model));
    messages.push(Message::user(format!("Request: {request}")));
    asked.output(&messages, tokens, Form::Lines(steps::KINDS, steps::grammar(request))).await
}
