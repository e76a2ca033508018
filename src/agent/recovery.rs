//! Decides how a turn continues after a model error, and states what remains undone if it cannot
//! continue.

use crate::base::StepId;
use crate::engine::pool::PoolError;
use crate::models::Role;
use crate::request::Step;

use super::toolkit::{Toolkit, TurnError};

/// How the planner's role is filled in a turn. Each model error selects the next way, so a turn
/// continues after at most two errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// By the planner's own model, with its full context.
    #[default]
    Whole,
    /// By the same model, with half of its context.
    Shorter,
    /// By the router's model, with half of its context.
    OtherModel,
}

impl Way {
    /// The way to continue after this error. `None` if no other way helps: the turn was cancelled,
    /// or the user has to decide or change a setting.
    pub fn after(self, error: &TurnError, has_other: bool) -> Option<Way> {
        let is_of_model = match error {
            TurnError::Cancelled
            | TurnError::Skipped
            | TurnError::NotSent { .. }
            | TurnError::NotFetched(_)
            | TurnError::Lost(_) => return None,
            TurnError::Pool(
                PoolError::Models(_) | PoolError::KvType(_) | PoolError::NeedsFlash(_) | PoolError::Absent(_),
            ) => return None,
            // A model that cannot be loaded or reached is not asked again.
            TurnError::Pool(_) => false,
            TurnError::Remote(error) => !error.is_gone(),
            TurnError::Engine(_) => true,
        };
        let other = (has_other && self < Way::OtherModel).then_some(Way::OtherModel);
        if is_of_model && self < Way::Shorter { Some(Way::Shorter) } else { other }
    }

    /// The role whose model fills `role`.
    pub fn plays(self, role: Role) -> Role {
        if self == Way::OtherModel && role == Role::Planner { Role::Router } else { role }
    }

    /// Number of tokens of a model's `context` to use.
    pub fn of_context(self, context: usize) -> usize {
        if self == Way::Whole { context } else { context / 2 }
    }

    /// A description for the user of how the turn continues.
    pub fn said(self) -> &'static str {
        match self {
            Way::Whole => "the planner continues",
            Way::Shorter => "the planner continues with half of its context",
            Way::OtherModel => "the router's model continues",
        }
    }
}

/// Whether the router and the planner have different models.
pub fn has_other(toolkit: &Toolkit) -> bool {
    let place = |role| (toolkit.pool.endpoint(role).ok().flatten(), toolkit.pool.file_of(role));
    let (planner, router) = (place(Role::Planner), place(Role::Router));
    match router {
        (None, None) => planner == router && toolkit.pool.resident(Role::Router).is_some(),
        _ => planner != router,
    }
}

/// The end of the answer of a turn that no model can finish: what was not done, why, and what the
/// user can do.
pub fn left_undone<'a>(
    open: impl Iterator<Item = &'a Step>,
    refused: &[(StepId, String)],
    error: &TurnError,
) -> String {
    let mut lines: Vec<String> = Vec::new();
    for step in open {
        match refused.iter().find(|(id, _)| *id == step.id) {
            Some((_, why)) => lines.push(format!("- {why}")),
            None => lines.push(format!("- not done: {}", step.text)),
        }
    }
    lines.push(format!("- the turn is incomplete: {error}"));
    lines.push(
        "- `/retry` in a conversation asks again; the undone parts can be requested separately, or done by hand"
            .to_owned(),
    );
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EngineError;

    #[test]
    fn an_error_goes_one_way_further_until_none_is_left() {
        let broken = TurnError::Engine(EngineError::Interrupted { reason: "a row".to_owned() });
        let full = TurnError::Pool(PoolError::InUse("a.gguf".to_owned()));
        assert_eq!(Way::Whole.after(&broken, true), Some(Way::Shorter));
        assert_eq!(Way::Shorter.after(&broken, true), Some(Way::OtherModel));
        assert_eq!(Way::Shorter.after(&broken, false), None);
        assert_eq!(Way::OtherModel.after(&broken, true), None);
        assert_eq!(Way::Whole.after(&full, true), Some(Way::OtherModel));
        assert_eq!(Way::Whole.after(&full, false), None);
        assert_eq!(Way::Whole.after(&TurnError::Cancelled, true), None);
    }
}
