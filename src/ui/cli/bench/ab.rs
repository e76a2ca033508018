//! `monobloc bench ab`: compares the single-model loop with the orchestrator on three requests.

use anyhow::Result;
use clap::Args;

use crate::app::App;
use crate::measure::bench::ab::{self, CASES, Run};

/// Run three requests of 1, 2 and 5 steps through the single-model loop and through the orchestrator
#[derive(Args)]
pub struct Ab {
    /// Print the figures as one JSON object on the last line
    #[arg(long)]
    json: bool,
}

impl Ab {
    pub async fn run(self, app: &App) -> Result<()> {
        // Both ways share the models, so that neither pays for loading them.
        let (pool, embedder) = (app.pool(app.registry()?), super::super::embedder(app));
        let mut runs = Vec::new();
        for orchestrated in [false, true] {
            for case in &CASES {
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
            println!("{}", serde_json::json!({ "runs": runs }));
            return Ok(());
        }
        println!("{:<18} {:>6} {:>10} {:>8} {:>8} {:>8}", "way", "steps", "wall", "calls", "wasted", "tools");
        for run in &runs {
            line(run);
        }
        for orchestrated in [false, true] {
            sum(&runs, orchestrated);
        }
        Ok(())
    }
}

fn way(orchestrated: bool) -> &'static str {
    if orchestrated { "orchestrator" } else { "single-model loop" }
}

fn line(run: &Run) {
    let (wall, done) = (run.wall_ms as f64 / 1000.0, format!("{}/{}", run.tools_done, run.tools));
    println!(
        "{:<18} {:>6} {:>8.1} s {:>8} {:>8} {:>8}  {}",
        way(run.orchestrated),
        run.tools,
        wall,
        run.model_calls,
        run.wasted_calls,
        done,
        run.called.join(" ")
    );
}

fn sum(runs: &[Run], orchestrated: bool) {
    let of: Vec<&Run> = runs.iter().filter(|run| run.orchestrated == orchestrated).collect();
    let wall = of.iter().map(|run| run.wall_ms).sum::<u64>() as f64 / 1000.0;
    let total = |count: fn(&Run) -> usize| of.iter().map(|run| count(run)).sum::<usize>();
    println!(
        "{}: {wall:.1} s, {} of {} model calls wasted, {} of {} tools done",
        way(orchestrated),
        total(|run| run.wasted_calls),
        total(|run| run.model_calls),
        total(|run| run.tools_done),
        total(|run| run.tools)
    );
}
