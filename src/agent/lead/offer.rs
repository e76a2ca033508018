//! The tools offered to a leading model: one list in a fixed order, so that all prompts of a
//! session begin with the same text.

use crate::agent::notation;
use crate::agent::pictures;
use crate::agent::toolkit::Toolkit;
use crate::models::dialect::ToolText;
use crate::protocol::Mode;
use crate::tools::ToolSpec;
use crate::tools::builtin::Builtin;

use super::checklist;

/// The listed tools, the only ones that may be called.
pub struct Offer {
    pub specs: Vec<ToolSpec>,
    pub texts: Vec<ToolText>,
    /// The listed tools, all others, and the call that adds a step to a plan, so that a call of an
    /// unlisted tool is not mistaken for words.
    pub known: Vec<ToolSpec>,
    pub known_texts: Vec<ToolText>,
}

impl Offer {
    /// The built-in tools of the mode, then at most `server_tools` tools of MCP servers that best
    /// fit one of `wishes`.
    pub async fn of(toolkit: &Toolkit, wishes: &[&str], server_tools: usize) -> Offer {
        let may = |spec: &ToolSpec| toolkit.mode == Mode::Agent || !spec.mutates;
        let is_of_index = |spec: &ToolSpec| spec.server == "index";
        let built_in = toolkit.catalog.lead().iter();
        let built_in = built_in.filter(|spec| toolkit.index.is_some() || !is_of_index(spec));
        let sees = pictures::are_seen(toolkit);
        let built_in = built_in.filter(|spec| sees || spec.name != Builtin::DescribeImage.name());
        let mut specs: Vec<ToolSpec> = built_in.filter(|spec| may(spec)).cloned().collect();
        specs.extend(of_servers(toolkit, wishes, server_tools).await.into_iter().filter(|spec| may(spec)));
        let of_catalog = toolkit.catalog.specs().iter().filter(|spec| !specs.iter().any(|one| one.name == spec.name));
        let known: Vec<ToolSpec> = specs.iter().chain(of_catalog).cloned().chain([checklist::add_step()]).collect();
        let texts = |specs: &[ToolSpec]| specs.iter().map(|spec| notation::shown(spec, notation::WHOLE)).collect();
        Offer { texts: texts(&specs), known_texts: texts(&known), specs, known }
    }

    pub fn get(&self, name: &str) -> Option<&ToolSpec> {
        self.specs.iter().find(|spec| spec.name == name)
    }
}

/// The best server tools for each wish in turn, at most `most`, sorted by name.
async fn of_servers(toolkit: &Toolkit, wishes: &[&str], most: usize) -> Vec<ToolSpec> {
    let specs = toolkit.catalog.specs();
    let theirs = specs.iter().filter(|spec| !toolkit.catalog.is_builtin(&spec.name)).count();
    if theirs == 0 {
        return Vec::new();
    }
    let mut lists = Vec::new();
    for wish in wishes {
        let ranked = toolkit.ranked(wish, specs.len()).await;
        let ranked = ranked.into_iter().filter_map(|one| specs.get(one.index));
        lists.push(ranked.filter(|spec| !toolkit.catalog.is_builtin(&spec.name)).collect::<Vec<_>>());
    }
    let mut found: Vec<&ToolSpec> = Vec::new();
    for place in 0..theirs {
        for spec in lists.iter().filter_map(|list| list.get(place)) {
            if found.len() < most && !found.contains(spec) {
                found.push(spec);
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found.into_iter().cloned().collect()
}
