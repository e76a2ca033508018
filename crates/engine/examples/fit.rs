//! Prints the memory that each model in a folder takes, and what must be given up on a machine of a given size.
//!
//! `cargo run --release -p monobloc-engine --example fit -- --model-dir DIR 2GiB`

mod common;

use std::sync::Arc;

use monobloc_engine::base::Bytes;
use monobloc_engine::budget::ladder::{Asked, Candidate, fit};
use monobloc_engine::budget::machine::Machine;
use monobloc_engine::budget::{Amount, Estimate, LoadSettings};
use monobloc_engine::models::Registry;

fn main() -> common::Outcome<()> {
    let (settings, words) = common::arguments()?;
    let memory = words.first().map_or(Ok(Bytes::gib(2)), |text| text.parse())?;
    let machine = Machine::of(memory);
    for file in &Registry::open(settings)?.files {
        let Ok(header) = &file.header else { continue };
        let wanted = LoadSettings {
            context: 8_192,
            slots: 2,
            kv_type: "f16".to_owned(),
            rows: 512,
            outputs: 2,
            repack: true,
            ..LoadSettings::default()
        };
        println!("{}: {} as asked", file.name, Estimate::of(header, &wanted).total());
        let asked = Asked {
            name: file.name.clone(),
            candidates: vec![Candidate { header: Arc::clone(header), wanted, eye: None }],
            gpu_layers: None,
            optional: false,
        };
        match fit(&[asked], Amount::default(), &machine) {
            Ok(fitted) => fitted.models.iter().for_each(|one| println!("  in {memory}: {}", one.rung())),
            Err(refused) => println!("  in {memory}: {refused}"),
        }
    }
    Ok(())
}
