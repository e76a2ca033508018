//! Loads two models on one ledger if both fit: the planner, and a second file specified by part of its name.
//!
//! `cargo run --release -p monobloc-engine --example two_models -- --model-dir DIR [NAME]`; without
//! a name the smallest file is the second. If the folder has only one file, it is refused, with the
//! arithmetic, on a ledger of half its size.

mod common;

use monobloc_engine::base::Bytes;
use monobloc_engine::budget::Ledger;
use monobloc_engine::models::Registry;

fn main() -> common::Outcome<()> {
    let (settings, words) = common::arguments()?;
    let registry = Registry::open(settings.clone())?;
    let headers =
        registry.files.iter().filter_map(|file| Some((file.name.clone(), file.header.as_ref().ok()?.parameters)));
    let smallest = headers.min_by_key(|(_, parameters)| *parameters).map(|(name, _)| name);
    let second = words.into_iter().next().or(smallest).ok_or("the folder has no model")?;

    let ledger = common::ledger();
    let pool = common::pool(settings.clone(), ledger.clone())?;
    for name in ["planner", second.as_str()] {
        println!("{}", pool.load(name, Box::new(|_, _| true))?);
    }
    println!("{} promised, {} free", ledger.promised().host, ledger.free().host);

    // A ledger that is too small refuses before anything is allocated, and states how much is
    // missing.
    let needed = pool.estimate_memory(&second)?;
    pool.unload(&second)?;
    let needed = needed.needed.max(pool.estimate_memory(&second)?.needed);
    let small = common::pool(settings, Ledger::new(Bytes(needed.0 / 2)))?;
    match small.load(&second, Box::new(|_, _| true)) {
        Ok(active) => println!("loaded with less: {active}"),
        Err(refused) => println!("refused: {refused}"),
    }
    Ok(())
}
