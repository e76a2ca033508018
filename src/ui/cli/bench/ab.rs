//! `monobloc bench ab`: compares the single-model loop with the orchestrator on three requests.

use anyhow::Result;
use clap::Args;

use crate::app::App;
use crate::measure::bench::ab::{self, CASES, Run};

/// Run three requests, with 1, 2 and 5 steps, through the single-model loop and the orchestrator
#[derive(Args)]
pub struct Ab {
    /// Print the figures as one JSON object on the last line
    #[arg(long)]
    json: bool,
    /// Run only this one of the three requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    request: Option<u8>,
}

impl Ab {
    pub async fn run(self, app: &App) -> Result<()> {
        // Both modes share the models, so that neither pays for loading.
        let (pool, embedder) = (app.pool(app.registry()?), super::super::embedder(app));
        let mut runs = Vec::new();
        let numbered = CASES.iter().zip(1..);
        let cases: Vec<_> = numbered
            .filter(|(_, number)| self.request.is_none_or(|only| only == *number))
            .map(|(case, _)| case)
            .collect();
        for orchestrated in [false, true] {
            for case in &cases {
                let folder = tempfile::tempdir()?;
                ab::project(folder.path())?;
                let app = app.on(folder.path());
                let index = app.index()?;
                app.refresh_for_turn(&index, embedder.as_ref(), &mut |_| ())?;
                let toolkit = app.toolkit(pool.clone(), embedder.clone(), Some(index.into()))?;
                if runs.is_empty() {
                    ab::warm(&toolkit).await?;
                }
                runs.push(ab::run(&toolkit, case, orchestrated).await?);
            }
        }
        if self.json {
            putln!("{}", serde_json::json!({ "runs": runs }));
            return Ok(());
        }
        let (alone, orchestrated) = runs.split_at(cases.len());
        print("single-model loop", alone);
        print("orchestrator", orchestrated);
        Ok(())
    }
}

/// One line per run, then their sum.
fn print(way: &str, runs: &[Run]) {
    let line = |what: &str, runs: &[Run]| {
        let wall = runs.iter().map(|run| run.wall_ms).sum::<u64>() as f64 / 1000.0;
        let sum = |count: fn(&Run) -> usize| runs.iter().map(count).sum::<usize>();
        let (calls, wasted) = (sum(|run| run.model_calls), sum(|run| run.wasted_calls));
        let (done, tools) = (sum(|run| run.tools_done), sum(|run| run.tools));
        let (read, written) = (sum(|run| run.prompt_tokens), sum(|run| run.generated_tokens));
        putln!(
            "{way}: {wall:.1} s, {wasted} of {calls} model calls wasted, {read} tokens read and {written} written, {done} of {tools} tools done{what}"
        );
    };
    for run in runs {
        line(&format!(": {}", run.called.join(" ")), std::slice::from_ref(run));
    }
    line(" in all", runs);
}
