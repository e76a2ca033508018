//! Chooses which tools the single-model loop offers, and finds the steps of a plan that are not done yet.

use crate::models::dialect::ToolText;
use crate::tools::{Ranked, ToolSpec};

use super::super::evidence::Evidence;
use super::super::gate::{Access, LoopRights};
use super::super::notation;
use super::super::plan::{Plan, PlannedStep};
use super::super::toolkit::Toolkit;
use super::watch::Offer;
use crate::request::{Kind, kind};

/// Longest description of a tool in the list, in characters.
const DESCRIPTION_CHARS: usize = 200;
/// Most tools listed to a weak model, which a long list confuses.
const WEAK_OFFERED_MAX: usize = 5;
/// Fewest executing tools offered for a request that changes something: create, change, run.
const EXECUTING_MIN: usize = 3;

/// The catalogue, ranked by how well each tool fits a request.
pub struct RankedTools {
    ranked: Vec<Ranked>,
    most: usize,
    changes: bool,
    access: Access,
}

impl RankedTools {
    pub fn of(
        toolkit: &Toolkit,
        request: &str,
        vector: Option<&[f32]>,
        changes: bool,
        cell: LoopRights,
    ) -> RankedTools {
        let ranked = toolkit.prefilter.select(request, vector, toolkit.catalog.specs().len());
        let most = if cell.short { toolkit.tools_offered.min(WEAK_OFFERED_MAX) } else { toolkit.tools_offered };
        RankedTools { ranked, most, changes, access: cell.access }
    }

    /// Whether a call of this tool may run now, listed or not.
    pub fn allows(&self, spec: &ToolSpec, offer: &Offer) -> bool {
        let fits = match offer {
            Offer::All => true,
            Offer::Executing => spec.mutates,
            Offer::Without(server) => spec.server != *server,
        };
        fits && self.access.allows(spec)
    }

    /// The tools listed now, best first.
    pub fn offered<'a>(&self, toolkit: &'a Toolkit, offer: &Offer) -> Vec<&'a ToolSpec> {
        let all: Vec<&ToolSpec> =
            self.ranked.iter().filter_map(|ranked| toolkit.catalog.specs().get(ranked.index)).collect();
        let mut offered: Vec<&ToolSpec> = all.into_iter().filter(|spec| self.allows(spec, offer)).collect();
        let rest = offered.split_off(self.most.min(offered.len()));
        let executing = offered.iter().filter(|spec| spec.mutates).count();
        if self.changes {
            let more = rest.into_iter().filter(|spec| spec.mutates);
            offered.extend(more.take(EXECUTING_MIN.saturating_sub(executing)));
        }
        offered
    }
}

pub fn texts(offered: &[&ToolSpec]) -> Vec<ToolText> {
    offered.iter().map(|spec| notation::shown(spec, DESCRIPTION_CHARS)).collect()
}

/// Whether a step asks for a change or a command.
pub fn executes(step: &PlannedStep) -> bool {
    kind::of(std::slice::from_ref(&step.part)) != Kind::Ask
}

/// Steps that are not done: without a successful call or, if they change or run something, without a successful executing call.
pub fn open<'a>(plan: &'a Plan, evidence: &Evidence) -> Vec<&'a PlannedStep> {
    let covered = |step: &PlannedStep| {
        evidence.of(step.id).any(|entry| entry.succeeded() && (entry.executing || !executes(step)))
    };
    plan.steps.iter().filter(|step| !covered(step)).collect()
}

/// The server of the tool that fits a step best.
pub fn server_for<'a>(toolkit: &'a Toolkit, step: &PlannedStep) -> Option<&'a str> {
    let best = toolkit.prefilter.select(&step.text(), None, 1).first()?.index;
    toolkit.catalog.specs().get(best).map(|spec| spec.server.as_str())
}
