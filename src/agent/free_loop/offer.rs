//! Decides which tools the single-model loop may call and which are listed, and finds the open
//! steps of a plan.

use crate::agent::evidence::Evidence;
use crate::agent::notation;
use crate::agent::plan::Plan;
use crate::agent::toolkit::Toolkit;
use crate::models::dialect::ToolText;
use crate::protocol::Mode;
use crate::request::{Kind, Step};
use crate::tools::{Ranked, ToolSpec};

use super::watch::Offer;

/// Maximum length of a tool description in the list, in characters.
const DESCRIPTION_CHARS: usize = 200;
/// Maximum number of tools listed to a weak model, which a long list would confuse.
const WEAK_OFFERED_MAX: usize = 5;
/// Minimum number of executing tools offered for a request that changes something: create, change,
/// run.
const EXECUTING_MIN: usize = 3;

/// Which tools the loop may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    All,
    /// Tools that change nothing.
    Reading,
    /// Search tools of the project index.
    Index,
}

/// The rights of the loop for one combination of capability and mode. Retrieval is always on. Steps
/// that code carries out are not restricted: they run with any model.
#[derive(Clone, Copy, Debug)]
pub struct LoopRights {
    pub mode: Mode,
    access: Access,
    /// Whether to use the short system prompt: a little reasoning, then the answer.
    pub short: bool,
}

/// A weak model works in chat mode, regardless of the requested mode.
pub fn rights(capable: bool, asked: Mode) -> LoopRights {
    match (capable, asked) {
        (true, Mode::Agent) => LoopRights { mode: Mode::Agent, access: Access::All, short: false },
        (true, Mode::Chat) => LoopRights { mode: Mode::Chat, access: Access::Reading, short: false },
        (false, Mode::Agent) => LoopRights { mode: Mode::Chat, access: Access::Index, short: true },
        (false, Mode::Chat) => LoopRights { mode: Mode::Chat, access: Access::Reading, short: true },
    }
}

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
        rights: LoopRights,
    ) -> RankedTools {
        let ranked = toolkit.prefilter.select(request, vector, toolkit.catalog.specs().len());
        let most = if rights.short { toolkit.tools_offered.min(WEAK_OFFERED_MAX) } else { toolkit.tools_offered };
        RankedTools { ranked, most, changes, access: rights.access }
    }

    /// Whether a call of this tool may run now, even if the tool is not listed.
    pub fn allows(&self, spec: &ToolSpec, offer: &Offer) -> bool {
        let fits = match offer {
            Offer::All => true,
            Offer::Executing => spec.mutates,
            Offer::Without(server) => spec.server != *server,
        };
        fits && match self.access {
            Access::All => true,
            Access::Reading => !spec.mutates,
            Access::Index => !spec.mutates && spec.name.starts_with("index_"),
        }
    }

    /// The tools listed now, best first.
    pub fn offered<'a>(&self, toolkit: &'a Toolkit, offer: &Offer) -> Vec<&'a ToolSpec> {
        let all = self.ranked.iter().filter_map(|ranked| toolkit.catalog.specs().get(ranked.index));
        let mut offered: Vec<&ToolSpec> = all.filter(|spec| self.allows(spec, offer)).collect();
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
pub fn executes(step: &Step) -> bool {
    step.kind != Kind::Ask
}

/// Steps that are not done: those without a successful call or, if they change or run something,
/// without a successful executing call.
pub fn open<'a>(plan: &'a Plan, evidence: &Evidence) -> Vec<&'a Step> {
    let covered =
        |step: &Step| evidence.of(step.id).any(|entry| entry.succeeded() && (entry.executing || !executes(step)));
    plan.steps.iter().filter(|step| !covered(step)).collect()
}

/// The server of the tool that best fits a step.
pub fn server_for<'a>(toolkit: &'a Toolkit, step: &Step) -> Option<&'a str> {
    let best = toolkit.prefilter.select(step.text.shown(), None, 1).first()?.index;
    toolkit.catalog.specs().get(best).map(|spec| spec.server.as_str())
}
