//! Loads the planner in a folder and shows that the ledger holds the predicted memory.
//!
//! `cargo run --release -p monobloc-engine --example load -- --model-dir DIR`

mod common;

fn main() -> common::Outcome<()> {
    let (settings, _) = common::arguments()?;
    let pool = common::pool(settings, common::ledger())?;
    let forecast = pool.estimate_memory("planner")?;
    println!("{}: {} of {} free ({})", forecast.file, forecast.needed, forecast.free, forecast.parts);
    let active = pool.load("planner", Box::new(|_, _| true))?;
    println!("loaded: {active}, {} slots of {} tokens", active.slots, active.context);
    for entry in pool.ledger().entries() {
        println!("reserved: {} {}", entry.label, entry.bytes.host);
    }
    println!("unloaded: {} given back", pool.unload("planner")?);
    Ok(())
}
