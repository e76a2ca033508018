//! `eval plans`: how often requests with several parts become the right steps with the right tools.

use std::time::Instant;

use anyhow::Result;
use serde_json::{Value, json};

use super::{Case, RejectingHost, Report, percentile, tools};
use crate::agent::guide::read;
use crate::agent::question::Question;
use crate::agent::{self, Toolkit, call, plan};
use crate::budget::permit::Priority;
use crate::models::Role;
use crate::request::{Step, Text, steps};

/// A request with at least this many steps that is planned as one step counts as collapsed.
const COLLAPSE_FROM: usize = 4;
/// Maximum number of tokens that the planner may generate for one request.
const READING_TOKENS: usize = 400;
#[derive(Default)]
struct Counts {
    cases: usize,
    exact: usize,
    under: usize,
    over: usize,
    collapsed: usize,
    chain_exact: usize,
    chain_complete: usize,
}

/// Divides requests as `ask` does, or with `planner_only` using only the planner model.
pub async fn run(toolkit: &Toolkit, cases: &[Case], planner_only: bool, report: &mut Report) -> Result<Value> {
    let mut counts = Counts::default();
    let mut ms = Vec::new();
    for case in cases {
        let chain = case.chain.as_deref().unwrap_or_default();
        let toolkit = &case.toolkit(toolkit).await?;
        let from = Instant::now();
        let planned = if planner_only {
            planned(toolkit, &case.prompt).await?
        } else {
            let request = Text::of(&case.prompt);
            let parts = agent::parts(toolkit, &request);
            plan::of(toolkit, &request, &parts, &RejectingHost::default()).await?.steps
        };
        let mut steps: Vec<(String, Option<String>)> = Vec::new();
        for step in planned {
            let needed = step.needs.iter().filter_map(|id| steps.get(id.0.checked_sub(1)?)?.1.as_deref());
            let made_by: Vec<&str> = needed.collect();
            let ranked = toolkit.ranked(step.text.shown(), toolkit.tools_offered).await;
            let ranked = call::going_on(ranked, toolkit.catalog.specs(), &made_by);
            let tool = tools::by_form(toolkit, &step.part, &ranked, f32::NEG_INFINITY).tool;
            steps.push((step.text.to_string(), tool));
        }
        ms.push(from.elapsed().as_secs_f64() * 1000.0);
        let tools: Vec<&str> = steps.iter().filter_map(|(_, tool)| tool.as_deref()).collect();
        counts.add(chain, steps.len(), &tools);
        if steps.len() != chain.len() || tools != chain {
            report.say(|| {
                let (id, made, prompt) = (&case.id, steps.len(), &case.prompt);
                format!("{id}: {made} of {} steps: {tools:?}, expected {chain:?}: {prompt}", chain.len())
            });
        }
        let shown: Vec<Value> =
            steps.iter().map(|(description, tool)| json!({ "description": description, "tool": tool })).collect();
        report.write(&json!({ "id": case.id, "steps": shown }))?;
    }
    Ok(json!({
        "cases": counts.cases, "steps_exact": counts.exact, "under": counts.under, "over": counts.over,
        "collapsed": counts.collapsed, "chain_exact": counts.chain_exact, "chain_complete": counts.chain_complete,
        "ms_p50": percentile(&mut ms, 0.5).round(),
    }))
}

/// The steps that the planner model finds in a request, with the grammar for reading requests.
async fn planned(toolkit: &Toolkit, request: &str) -> Result<Vec<Step>> {
    let request = Text::of(request).on_one_line();
    let host = &RejectingHost::default();
    let planner = toolkit.model(Role::Planner, host).await?;
    let asked = Question { toolkit, model: &planner, host, phase: read::PHASE, priority: Priority::Step };
    let reading = read::reading(asked, &request, &[], READING_TOKENS).await?.text;
    let steps = steps::read(&reading).into_iter().zip(1..);
    Ok(steps.map(|((kind, text), number)| Step::of(number, kind, text)).collect())
}

impl Counts {
    fn add(&mut self, chain: &[String], steps: usize, tools: &[&str]) {
        self.cases += 1;
        match steps.cmp(&chain.len()) {
            std::cmp::Ordering::Equal => self.exact += 1,
            std::cmp::Ordering::Less => self.under += 1,
            std::cmp::Ordering::Greater => self.over += 1,
        }
        self.collapsed += usize::from(chain.len() >= COLLAPSE_FROM && steps <= 1);
        self.chain_exact += usize::from(tools == chain);
        let mut rest = tools.iter();
        self.chain_complete += usize::from(chain.iter().all(|wanted| rest.any(|tool| tool == wanted)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_steps_leave_a_chain_complete_but_not_exact() {
        let mut counts = Counts::default();
        counts.add(&["a".into(), "b".into()], 3, &["a", "x", "b"]);
        assert_eq!((counts.over, counts.chain_exact, counts.chain_complete), (1, 0, 1));
        counts.add(&["a".into(), "b".into()], 2, &["b", "a"]);
        assert_eq!((counts.exact, counts.chain_complete), (1, 1));
    }
}
