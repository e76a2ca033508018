//! Reads `--model-dir DIR` and other arguments, and opens a pool of models; shared by all examples.

use std::error::Error;
use std::path::PathBuf;

use monobloc_engine::base::Bytes;
use monobloc_engine::budget::Ledger;
use monobloc_engine::budget::machine::Machine;
use monobloc_engine::budget::permit::Permit;
use monobloc_engine::engine::pool::{Pool, PoolOptions};
use monobloc_engine::models::{ModelSettings, Registry};

pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// The model folder and the remaining arguments.
pub fn arguments() -> Outcome<(ModelSettings, Vec<String>)> {
    let mut settings = ModelSettings { context: 2_048, ..ModelSettings::default() };
    let (mut words, mut all) = (Vec::new(), std::env::args().skip(1));
    while let Some(one) = all.next() {
        if one == "--model-dir" {
            settings.model_dir = Some(PathBuf::from(all.next().ok_or("--model-dir needs a folder")?));
        } else {
            words.push(one);
        }
    }
    Ok((settings, words))
}

/// The ledger of the memory that is free on this machine.
#[allow(dead_code, reason = "not every example loads models")]
pub fn ledger() -> Ledger {
    Ledger::of(Machine::here().unwrap_or_else(|| Machine::of(Bytes::gib(4))))
}

/// The models of a folder on one ledger, each loaded on first use.
#[allow(dead_code, reason = "not every example loads models")]
pub fn pool(settings: ModelSettings, ledger: Ledger) -> Outcome<Pool> {
    let options = PoolOptions {
        threads: std::thread::available_parallelism()?.get(),
        slots: settings.slots,
        repack: true,
        ..PoolOptions::default()
    };
    Ok(Pool::new(Registry::open(settings)?, ledger, Permit::new(), options))
}
