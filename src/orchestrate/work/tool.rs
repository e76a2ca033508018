//! Calls a tool of an MCP server if a step asks for one: retrieval ranks the tools, the model writes the call.

use crate::orchestrate::call;
use crate::orchestrate::evidence::Evidence;
use crate::orchestrate::execute;
use crate::orchestrate::toolkit::TurnError;
use crate::tools::Ranked;

use super::{Done, Job};
use crate::request::{Kind, Step};

/// Has the model call a tool of a server for `step`. `None` if none is meant, so that built-in tools carry out the step.
pub async fn call(job: Job<'_>, step: &Step, evidence: &mut Evidence) -> Result<Option<Done>, TurnError> {
    let toolkit = job.scene.toolkit;
    let specs = toolkit.catalog.specs();
    let is_of_a_server = |one: &Ranked| specs.get(one.index).is_some_and(|spec| toolkit.is_of_server(spec));
    if !matches!(step.kind, Kind::Ask | Kind::Edit | Kind::Run) || !specs.iter().any(|spec| toolkit.is_of_server(spec))
    {
        return Ok(None);
    }
    let mut ranked = toolkit.ranked(&step.text, specs.len()).await;
    // If a built-in tool fits best, no server is asked.
    if !ranked.first().is_some_and(|best| is_of_a_server(best) && best.fits > 0.0) {
        return Ok(None);
    }
    ranked.retain(is_of_a_server);
    let Some(called) = call::called(toolkit, &step.text, &ranked, job.scene.host).await? else { return Ok(None) };
    let Some(spec) = toolkit.catalog.get(&called.tool) else { return Ok(None) };
    execute::perform(job.scene, step.id, called, spec, evidence).await?;
    Ok(Some(Done::default()))
}
