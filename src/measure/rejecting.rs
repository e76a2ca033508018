//! The host of a measurement, which rejects every call.

use std::sync::Mutex;

use crate::agent::{Deciding, Host};
use crate::base::{StepId, lock};
use crate::protocol::{Decision, Event, Proposal, ToolChoice};
use crate::tools::policy::Policy;

/// Host of a measurement: records the choices of tools, drops all other events and rejects every
/// call.
#[derive(Default)]
pub struct RejectingHost {
    policy: Policy,
    choices: Mutex<Vec<ToolChoice>>,
}

impl RejectingHost {
    #[cfg(feature = "lab")]
    pub fn choices(&self) -> Vec<ToolChoice> {
        lock(&self.choices).clone()
    }
}

impl Host for RejectingHost {
    fn emit(&self, event: Event) {
        if let Event::ToolChosen(choice) = event {
            lock(&self.choices).push(choice);
        }
    }

    fn approve<'a>(&'a self, _: StepId, _: &'a Proposal) -> Deciding<'a> {
        Box::pin(async { Decision::Reject })
    }

    fn policy(&self) -> &Policy {
        &self.policy
    }
}
