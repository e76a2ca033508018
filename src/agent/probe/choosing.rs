//! Measures by the question that a step asks which role chooses tools of servers better, among how many, how sure, and whether a grammar helps it.

use std::time::{Duration, Instant};

use crate::agent::Host;
use crate::agent::budget::Guided;
use crate::agent::call;
use crate::agent::player::Player;
use crate::agent::question::Question;
use crate::agent::toolkit::{Toolkit, TurnError};
use crate::models::Role;
use crate::models::capability::{Choosing, SELECTION_MIN};

use super::cases::{TASKS, tools};

/// Time after which nothing more is asked of one model.
const TIME: Duration = Duration::from_secs(60);
/// A file whose name has this word was trained to choose tools.
const TRAINED: &str = "router";

/// The role that chooses tools of servers: the router if it was trained for that; else whichever was measured to do it better, on a tie the
/// router, which costs less. `None` if neither does it well.
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

/// Whether a role was measured to choose tools of servers well.
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

/// The planner, then the router unless the same model plays both.
fn roles(toolkit: &Toolkit) -> Vec<Role> {
    let name = |role| toolkit.fingerprint(role);
    let is_other = name(Role::Router) != name(Role::Planner) || name(Role::Planner).is_none();
    let mut roles = vec![Role::Planner];
    roles.extend(Some(Role::Router).filter(|_| is_other));
    roles
}

/// How many choices of a role's model were right: as measured before, else as measured now. Nothing for a model that is not known.
pub async fn choosing(toolkit: &Toolkit, role: Role, host: &dyn Host) -> Result<Choosing, TurnError> {
    let known = super::remembered(toolkit, role).or_else(|| toolkit.at_hand(role)?.measured().cloned());
    match known.map(|known| known.choosing).filter(|choosing| choosing.is_known()) {
        Some(choosing) => Ok(choosing),
        None if toolkit.fingerprint(role).is_none() => Ok(Choosing::default()),
        None => {
            let model = toolkit.model(role, host).await?;
            host.notice(&format!("measuring how well {} chooses tools, once", model.name()));
            measure(toolkit, &model, host).await
        }
    }
}

/// Measures it and keeps the result for the model file.
pub(super) async fn measure(toolkit: &Toolkit, model: &Player, host: &dyn Host) -> Result<Choosing, TurnError> {
    let (choosing, cut) = asked(toolkit, model, host).await?;
    super::keep(toolkit, model, host, cut, |all| all.choosing = choosing);
    Ok(choosing)
}

/// Asks the tasks with few tools and with many, one at least, each without a grammar and inside one; and whether time cut it.
async fn asked(toolkit: &Toolkit, model: &Player, host: &dyn Host) -> Result<(Choosing, bool), TurnError> {
    let (mut found, until) = (Choosing::default(), Instant::now() + TIME);
    let asked = Question { toolkit, model, host, phase: super::PHASE, priority: super::PRIORITY };
    for (count, tasks) in TASKS.iter().filter(|(count, _)| *count <= Guided::TOOLS_MANY) {
        let tools = tools(*count);
        for task in tasks {
            if found.is_known() && Instant::now() >= until {
                return Ok((found, true));
            }
            for (choices, constrained) in [(&mut found.free, false), (&mut found.grammar, true)] {
                let chosen = call::chosen(asked, task.task, &tools, constrained).await?.unwrap_or_default();
                let is_right = chosen.call.is_some_and(|call| task.is_done_by(&call));
                let share = if *count > Guided::TOOLS_FEW { &mut choices.many } else { &mut choices.few };
                share.add(is_right);
                if let Some(sure) = chosen.sure.filter(|_| is_right) {
                    let least = choices.margin_min.unwrap_or(sure.margin);
                    choices.margin_min = Some(least.min(sure.margin));
                }
            }
        }
    }
    Ok((found, false))
}
