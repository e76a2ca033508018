//! `monobloc synth`: writes model files with the shape of real models and random weights.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use crate::app::App;
use crate::models::Role;
use crate::synth::{self, Quant, Recipe, Shape};

/// Write a GGUF with a known model's exact shape and random weights, to measure memory and time without the real
/// weights
#[derive(Args)]
pub struct Synth {
    /// lfm2-24b-a2b, qwen3.6-35b-a3b, gemma-4-e4b, tiny-qwen35, … (an unknown name lists all)
    #[arg(long)]
    shape: String,
    /// q4_0, q8_0, or ternary: tq1_0, tq2_0 (rows whose length is not a multiple of 256 then get
    /// q4_0)
    #[arg(long, default_value = "q4_0")]
    quant: String,
    /// A GGUF file to copy the vocabulary from, as far as it fits [default: the planner]
    #[arg(long, value_name = "FILE")]
    vocabulary: Option<PathBuf>,
    /// Number of vocabulary entries [default: the model's own number; 65,536 for tiny shapes]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(512..=1_000_000))]
    tokens: Option<u64>,
    /// Omit the weights (a sparse file that takes no disk space), for commands that read only the
    /// header
    #[arg(long)]
    hollow: bool,
    /// Also write a small projector with random weights next to FILE (mmproj-FILE): the model then
    /// accepts pictures, but its output about them is meaningless
    #[arg(long)]
    sees: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// The file to write
    file: PathBuf,
}

impl Synth {
    pub fn run(self, app: &App) -> Result<()> {
        let shape = self.shape.parse::<Shape>()?;
        let quant = self.quant.parse::<Quant>()?;
        let vocabulary_of = match self.vocabulary {
            Some(file) => file,
            None => app.registry()?.get(Role::Planner)?.path.clone(),
        };
        let recipe = Recipe { shape, quant, vocabulary_of, tokens: self.tokens, hollow: self.hollow };
        let bar = super::bar("{bar:30} {bytes}/{total_bytes} {bytes_per_sec}");
        let written = synth::write(
            &recipe,
            &self.file,
            &mut |done, total| {
                bar.set_length(total);
                bar.set_position(done);
            },
            &app.cancel,
        )?;
        bar.finish_and_clear();
        let projector = match self.sees {
            true => Some(synth::write_projector(&self.file, &recipe, &app.cancel)?),
            false => None,
        };
        if self.json {
            let mut said = json!({ "file": self.file, "bytes": written.0 });
            if let Some((path, bytes)) = projector {
                said["projector"] = json!({ "file": path, "bytes": bytes.0 });
            }
            putln!("{said}");
            return Ok(());
        }
        let what = if self.hollow { "without weights" } else { "random weights: its text means nothing" };
        say!("{}: {written}, {what}", self.file.display());
        if let Some((path, bytes)) = projector {
            say!("{}: {bytes}, its projector; what it sees means nothing", path.display());
        }
        Ok(())
    }
}
