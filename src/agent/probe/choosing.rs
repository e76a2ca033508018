//! Measures which role chooses MCP tools better, from how many, with what certainty, and whether a
//! grammar helps; the prompt is that of a real step.

use crate::agent::Host;
use crate::agent::budget::Guided;
use crate::agent::call;
use crate::agent::player::Player;
use crate::agent::question::Question;
use crate::agent::toolkit::{Toolkit, TurnError};
use crate::models::Role;
use crate::models::capability::{Choices, Choosing, Measured, SELECTION_MIN, Share, TOOLS_MANY};

use super::cases::{TASKS, Task, tools};

/// A model file with this word in its name was trained to choose tools.
const TRAINED: &str = "router";

/// The role that chooses MCP tools: the router if it was trained for that; else the role with the
/// better measurement, the router on a tie because it costs less. `None` if neither is good at it.
pub async fn chooser(toolkit: &Toolkit, host: &dyn Host) -> Result<Option<Role>, TurnError> {
    if is_trained(toolkit) {
        return Ok(Some(Role::Router));
    }
    let mut best: Option<(Role, f64)> = None;
    for role in roles(toolkit) {
        let rate = choosing(toolkit, role, host).await?.better().all().rate();
        if is_enough(rate) && best.is_none_or(|(_, before)| rate >= before) {
            best = Some((role, rate));
        }
    }
    Ok(best.map(|(role, _)| role))
}

/// Whether a role was measured to choose MCP tools well.
pub async fn chooses_well(toolkit: &Toolkit, role: Role, host: &dyn Host) -> Result<bool, TurnError> {
    Ok(is_enough(choosing(toolkit, role, host).await?.better().all().rate()))
}

fn is_enough(rate: f64) -> bool {
    rate >= SELECTION_MIN
}

fn is_trained(toolkit: &Toolkit) -> bool {
    let file = toolkit.pool.file_of(Role::Router).filter(|_| !toolkit.is_away(Role::Router));
    let name = file.as_deref().and_then(std::path::Path::file_name);
    name.is_some_and(|name| name.to_string_lossy().to_lowercase().contains(TRAINED))
}

/// The planner, then the router, unless the same model plays both.
fn roles(toolkit: &Toolkit) -> Vec<Role> {
    let name = |role| toolkit.fingerprint(role);
    let is_other = name(Role::Router) != name(Role::Planner) || name(Role::Planner).is_none();
    let mut roles = vec![Role::Planner];
    roles.extend(Some(Role::Router).filter(|_| is_other));
    roles
}

/// Number of correct choices by a role's model: the stored measurement, else a new one. Empty for
/// an unknown model.
pub async fn choosing(toolkit: &Toolkit, role: Role, host: &dyn Host) -> Result<Choosing, TurnError> {
    let known = super::remembered(toolkit, role).or_else(|| toolkit.at_hand(role)?.measured().cloned());
    let known = known.unwrap_or_default();
    if known.choosing.is_known() || toolkit.fingerprint(role).is_none() {
        return Ok(known.choosing);
    }
    let model = toolkit.model(role, host).await?;
    if !super::has_time(toolkit, &model) {
        return Ok(Choosing::default());
    }
    host.notice(&format!("measuring once how well {} chooses tools", model.name()));
    let choosing = measure(toolkit, &model, known, host).await?.choosing;
    // An incomplete measurement is not used to compare grammars and roles.
    Ok(if choosing.is_known() { choosing } else { Choosing::default() })
}

/// Asks the tasks that are still open in `found`, each without a grammar and within one, and stores
/// each answer for the model file.
pub(super) async fn measure(
    toolkit: &Toolkit,
    model: &Player,
    mut found: Measured,
    host: &dyn Host,
) -> Result<Measured, TurnError> {
    let asked = Question { toolkit, model, host, phase: super::PHASE, priority: super::PRIORITY };
    while let Some((task, count, constrained)) = next(&found.choosing) {
        if !super::has_time(toolkit, model) {
            super::tell_undecided(model, host);
            break;
        }
        let chosen = call::chosen(asked, task.task, &tools(count), constrained).await?.unwrap_or_default();
        let is_right = chosen.call.is_some_and(|call| task.is_done_by(&call));
        let choices = if constrained { &mut found.choosing.grammar } else { &mut found.choosing.free };
        let share = if count > Guided::TOOLS_FEW { &mut choices.many } else { &mut choices.few };
        share.add(is_right);
        if let Some(sure) = chosen.sure.filter(|_| is_right) {
            choices.margin_min = Some(choices.margin_min.unwrap_or(sure.margin).min(sure.margin));
        }
        super::keep(toolkit, model, &found);
    }
    Ok(found)
}

/// The next task, the number of its tools, and whether to ask it inside a grammar; each task is
/// first asked without one.
fn next(found: &Choosing) -> Option<(&'static Task, usize, bool)> {
    let of = |choices: Choices, count: usize| -> Share {
        if count > Guided::TOOLS_FEW { choices.many } else { choices.few }
    };
    TASKS.iter().filter(|(count, _)| *count <= TOOLS_MANY).find_map(|(count, tasks)| {
        let (free, grammar) = (of(found.free, *count).of, of(found.grammar, *count).of);
        tasks.get(free.min(grammar)).map(|task| (task, *count, free > grammar))
    })
}
