//! `monobloc models probe`: measures which tasks a model performs reliably.

use anyhow::Result;
use clap::Args;

use crate::app::App;
use crate::measure::probe::{self, Probed};
use crate::models::Role;
use crate::models::capability::Share;
use crate::tools::Catalog;

/// Measure which tasks a model performs reliably, as on first use; the results are stored
#[derive(Args)]
pub struct Probe {
    /// The role whose model is measured
    #[arg(default_value = "planner", value_parser = super::models::roles(&["planner", "router", "quick", "thinker", "verifier", "vision"]))]
    role: Role,
    /// Measure again even if a result is stored
    #[arg(long)]
    again: bool,
    #[arg(long)]
    json: bool,
}

impl Probe {
    pub async fn run(self, app: &App) -> Result<()> {
        let toolkit = app.toolkit_for(Catalog::builtin(), app.pool(app.registry()?), None, None, None)?;
        let probed = probe::run(&toolkit, self.role, self.again).await?;
        if self.json {
            putln!("{}", json(&probed));
        } else {
            show(&probed);
        }
        Ok(())
    }
}

fn json(probed: &Probed) -> serde_json::Value {
    serde_json::json!({
        "model": probed.model,
        "capable": probed.said.or_else(|| probed.measured.capable()),
        "said": probed.said,
        "grammar_helps": probed.measured.grammar_helps(),
        "tier": probed.measured.tier(),
        "measured": probed.measured,
    })
}

fn show(Probed { model, said, measured }: &Probed) {
    let line = |what: &str, share: Share| putln!("  {what:<34} {:>2} of {:>2}", share.right, share.of);
    putln!("{model}: {} prompts, {:.1} s", measured.prompts, measured.wall_ms as f64 / 1000.0);
    line("calls in its own notation", measured.format);
    for (offered, share) in &measured.selection {
        line(&format!("right call among {offered} tools"), *share);
    }
    line("no call where none is needed", measured.restraint);
    for (steps, share) in &measured.plans {
        line(&format!("plans of {steps} step{}", if *steps == 1 { "" } else { "s" }), *share);
    }
    line("right calls without a grammar", measured.free());
    line("right calls inside a grammar", measured.grammar);
    for (way, choices) in [("", measured.choosing.free), (", in a grammar", measured.choosing.grammar)] {
        line(&format!("right of 5 of servers{way}"), choices.few);
        line(&format!("right of 15 of servers{way}"), choices.many);
    }
    if measured.writing.of > 0 {
        line("requests and questions read", measured.reading);
        line("changes written", measured.writing);
    }
    let grammar = if measured.grammar_helps() { "on, it helps" } else { "off, it does not help" };
    let (capable, why) = match (said, measured.capable()) {
        (Some(said), _) => (*said, "models.toml says so"),
        (None, Some(measured)) => (measured, "measured"),
        (None, None) => (false, "its answers are inconclusive so far"),
    };
    let verdict = if capable {
        "capable: loops of 12 iterations with every tool"
    } else {
        "weak: steps controlled by code; loops of 3 iterations, index only"
    };
    putln!("  grammar in the free loop: {grammar}\n  {verdict} ({why})");
    if let Some(tier) = measured.tier() {
        putln!("  as planner it {}", tier.name());
    }
}
