//! Runs two prompts at once in two slots: each produces the same tokens as on its own.
//!
//! `cargo run --release -p monobloc-engine --example slots -- --model-dir DIR`

mod common;

use monobloc_engine::models::Role;
use monobloc_engine::models::dialect::Prompt;

#[tokio::main]
async fn main() -> common::Outcome<()> {
    let (settings, _) = common::arguments()?;
    let pool = common::pool(settings, common::ledger())?;
    let engine = pool.lease(Role::Planner, |_, _| true)?.engine.clone();
    let requests = ["The river runs", "Once upon a time"].map(|text| engine.request(&Prompt::default().text(text), 24));
    let mut alone = Vec::new();
    for request in &requests {
        alone.push(engine.generate(request.clone())?.collect().await?);
    }
    // Both streams are open before either is read.
    let streams = requests.into_iter().map(|request| engine.generate(request)).collect::<Result<Vec<_>, _>>()?;
    for (stream, alone) in streams.into_iter().zip(alone) {
        let together = stream.collect().await?;
        println!(
            "{:?}: {}",
            together.text,
            if together.tokens == alone.tokens { "the same tokens" } else { "other tokens" }
        );
    }
    Ok(())
}
