//! Decides how a turn continues after a model error, and words what stays undone if it cannot
//! continue.

use crate::base::StepId;
use crate::engine::pool::PoolError;
use crate::models::Role;
use crate::request::Step;

use super::toolkit::{Toolkit, TurnError};

/// How the planner's role is filled in a turn. Each model error moves on to the next way, so a turn
/// continues after at most two errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// By the planner's own model, with its whole context.
    #[default]
    Whole,
    /// By the same model, with half of its context.
    Shorter,
    /// By the router's model, with half of its context.
    OtherModel,
}

impl Way {
    /// The way to continue after this error. `None` if no other way helps: the turn was cancelled,
    /// or the user has to decide or to change a setting.
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

    /// How many tokens of a model's `context` are used.
    pub fn of_context(self, context: usize) -> usize {
        if self == Way::Whole { context } else { context / 2 }
    }

    /// How the turn continues, for the user.
    pub fn said(self) -> &'static str {
        match self {
            Way::Whole => "the planner goes on",
            Way::Shorter => "the planner continues with half of its context",
            Way::OtherModel => "the model of the router goes on",
        }
    }
}

/// Whether the router has a different model than the planner.
pub fn has_other(toolkit: &Toolkit) -> bool {
    let place = |role| (toolkit.pool.endpoint(role).ok().flatten(), toolkit.pool.file_of(role));
    let (planner, router) = (place(Role::Planner), place(Role::Router));
    match router {
        (None, None) => planner == router && toolkit.pool.resident(Role::Router).is_some(),
        _ => planner != router,
    }
}

/// The end of the answer of a turn that no model can finish: what is not done, why, and what the
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
    lines.push(format!("- the turn is not complete: {error}"));
    lines.push(
        "- `/retry` in a conversation asks again; what is not done can be asked for by itself, or done by hand"
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
