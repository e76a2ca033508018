//! `monobloc fit`: prints the memory that models need on a machine, calculated from file headers alone.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::app::{App, FitRequest, instead};
use crate::base::Bytes;
use crate::measure::fit::{Model, Projector, Report};
use crate::models::Role;
use crate::models::manifest::{Candidate, KV_TYPES};

/// Calculate from file headers how much memory models need together, how much context fits, and
/// what would have to be given up
#[derive(Args)]
pub struct Fit {
    /// GGUF files to load together [default: planner, router and embedder]
    files: Vec<PathBuf>,
    /// The machine: cpu, cpu:16GiB, cuda:8GiB, cuda:8GiB+16GiB (card + host memory), vulkan likewise, metal:16GiB [default: this one]
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Tokens per slot, for the given files
    #[arg(long, default_value_t = 8192, value_parser = clap::value_parser!(u32).range(1..))]
    context: u32,
    /// KV cache type, for the given files [default: the model's type in models.toml, else f16, or
    /// q8_0 in a build for an accelerator]
    #[arg(long, value_parser = KV_TYPES)]
    kv_type: Option<String>,
    /// Memory of the program before any model is loaded [default: a built-in figure]
    #[arg(long, value_name = "SIZE")]
    overhead: Option<Bytes>,
    /// Working memory per model [default: computed]
    #[arg(long, value_name = "SIZE")]
    activations: Option<Bytes>,
    /// Use round figures instead of this program's: card-16gb is a 16 GB card with 0.7 GB of
    /// overhead, 1 GB of working memory per model, f16 keys and values, and weights as stored in
    /// the file. Options given with it override its values
    #[arg(long, value_name = "NAME", value_parser = ["card-16gb"], requires = "files")]
    recipe: Option<String>,
    /// List models to download for this machine, and for machines with 4 to 32 GB
    #[arg(long, conflicts_with_all = ["files", "device", "recipe"])]
    suggest: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The recipe `card-16gb`, in billions of bytes, the unit of card makers and tables.
const CARD: (Bytes, Bytes, Bytes) = (Bytes(16_000_000_000), Bytes(700_000_000), Bytes(1_000_000_000));

impl Fit {
    pub fn run(mut self, app: &App) -> Result<()> {
        if self.suggest {
            return suggest(app, self.json);
        }
        let mut app = app.clone();
        if self.recipe.is_some() {
            let (budget, overhead, activations) = CARD;
            app.config.budget.get_or_insert(budget);
            app.config.repack = false;
            self.device.get_or_insert_with(|| "cpu".to_owned());
            self.kv_type.get_or_insert_with(|| "f16".to_owned());
            self.overhead.get_or_insert(overhead);
            self.activations.get_or_insert(activations);
        }
        let request = FitRequest {
            files: self.files,
            device: self.device,
            context: self.context,
            kv_type: self.kv_type,
            overhead: self.overhead,
            activations: self.activations,
        };
        let (report, refused) = app.fit(&request)?;
        if self.json {
            putln!("{}", serde_json::to_string(&report)?);
        } else {
            print(&report);
        }
        refused.map_or(Ok(()), |refused| Err(refused.into()))
    }
}

/// Common amounts of machine memory, in GiB.
const MACHINES: [u64; 5] = [4, 8, 16, 24, 32];

/// The reciprocal of the share reserved for the system and other programs.
const SYSTEM_SHARE: u64 = 8;

fn suggest(app: &App, json: bool) -> Result<()> {
    let (here, models) = app.suggest(None)?;
    let machines = MACHINES.map(Bytes::gib).into_iter().map(|memory| {
        let for_models = memory.saturating_sub(Bytes(memory.0 / SYSTEM_SHARE));
        app.suggest(Some(for_models)).map(|(_, models)| (memory, models))
    });
    let machines: Vec<(Bytes, Vec<Candidate>)> = machines.collect::<Result<_>>()?;
    if json {
        let of = |(memory, models): &(Bytes, Vec<Candidate>)| {
            let of = |one: &Candidate| {
                serde_json::json!({ "name": one.short_name(), "hub": one.hub, "file": one.download_name(), "gb": one.gb,
                    "mark": one.mark, "thinks": one.thinks, "run": one.was_run() })
            };
            serde_json::json!({ "memory_bytes": memory, "models": models.iter().map(of).collect::<Vec<_>>() })
        };
        let machines: Vec<_> = machines.iter().map(of).collect();
        putln!("{}", serde_json::json!({ "here": of(&(here, models)), "machines": machines }));
        return Ok(());
    }
    putln!("this machine, {here} for models:");
    if models.is_empty() {
        putln!("  none of the known models fits; free some memory");
    }
    for one in &models {
        let mark = one.mark.map(|mark| format!(", {mark} of 56 coding tasks")).unwrap_or_default();
        let thinks = if one.thinks { ", thinks" } else { "" };
        let (name, gb) = (one.short_name().unwrap_or_default(), one.gb.unwrap_or_default());
        putln!("  {name}: {gb:.1} GB{mark}{thinks}, {}: `monobloc models pull planner {name}`", one.was_run());
    }
    for (memory, models) in &machines {
        let names = models.iter().map(|one| one.short_name().unwrap_or_default()).collect::<Vec<_>>();
        putln!("{memory}: {}", names.join(", "));
    }
    Ok(())
}

/// Prints the models that a request would use, what each gives up to fit, and the time of a typical
/// turn.
pub(super) fn forecast(app: &App, json: bool) -> Result<()> {
    let (report, refused) = app.fit(&FitRequest::default())?;
    if json {
        putln!("{}", serde_json::to_string(&report)?);
    } else {
        report.servers.iter().for_each(|server| say!("{server}"));
        for model in &report.models {
            putln!("{}: {}, {}", model.role, file_name(model), model.rung);
        }
        let planner = report.models.iter().find(|model| model.role == Role::Planner.to_string());
        planner.into_iter().for_each(|model| putln!("{}", seconds(model)));
    }
    refused.map_or(Ok(()), |refused| Err(refused.into()))
}

/// A line about the time of a typical turn, from speeds measured on this machine.
fn seconds(model: &Model) -> String {
    match &model.forecast {
        Some(of) => format!(
            "  measured here: {:.0} prompt tokens/s, {:.0} tokens/s; with {} tokens of code to read a turn begins to answer after about \
             {:.0} s and has answered after {:.0} s",
            of.prompt_tokens_per_second, of.decode_tokens_per_second, of.prompt_tokens, of.first_token_s, of.answer_s
        ),
        None => "  not measured here yet: ask it something, then this shows how long a turn takes".to_owned(),
    }
}

fn file_name(model: &Model) -> std::borrow::Cow<'_, str> {
    model.file.file_name().unwrap_or_default().to_string_lossy()
}

/// Width of the bar, in characters.
const BAR: u64 = 72;

fn print(report: &Report) {
    putln!("{}", report.device);
    putln!("{}", bar(report));
    putln!("  {}", legend(report).join("  "));
    for model in &report.models {
        print_model(model);
    }
    report.servers.iter().for_each(|server| say!("{server}; it takes no memory here"));
    for name in &report.left_out {
        putln!("{name} is left out: {}", instead(name));
    }
    if let Some(hint) = &report.hint {
        putln!("hint: {hint}");
    }
}

/// Memory by purpose, with the letter for each in the bar.
fn segments(report: &Report) -> [(char, &'static str, Bytes); 7] {
    let sum = |part: fn(&Model) -> Bytes| report.models.iter().map(part).sum::<Bytes>();
    [
        ('W', "weights", sum(|model| model.weights_bytes)),
        ('K', "KV", sum(|model| model.kv_bytes + model.state_bytes_per_slot * model.slots as u64)),
        ('A', "activations", sum(|model| model.compute_bytes)),
        (
            'P',
            "projector",
            sum(|model| model.projector.as_ref().filter(|one| one.has_room).map_or(Bytes::ZERO, |one| one.bytes)),
        ),
        ('O', "overhead", report.overhead_bytes + sum(|model| model.host_bytes)),
        ('E', "embedder", report.embedder_bytes),
        ('R', "re-ranker", report.reranker_bytes),
    ]
}

/// The budget as a bar of letters; `.` means free.
fn bar(report: &Report) -> String {
    let segments = segments(report);
    let all: Bytes = segments.iter().map(|(.., bytes)| *bytes).sum();
    let scale = report.budget_bytes.max(all).0.max(1);
    let mut drawn = String::new();
    let mut end = 0;
    for (letter, _, bytes) in segments {
        end += bytes.0;
        let until = (u128::from(end) * u128::from(BAR) / u128::from(scale)) as usize;
        drawn.extend(std::iter::repeat_n(letter, until.saturating_sub(drawn.len())));
    }
    format!("[{drawn:.<width$}]", width = BAR as usize)
}

fn legend(report: &Report) -> Vec<String> {
    let parts = segments(report).into_iter().filter(|(.., bytes)| *bytes > Bytes::ZERO);
    let mut entries: Vec<String> = parts.map(|(letter, name, bytes)| format!("{letter} {name} {bytes}")).collect();
    entries.push(format!(". free {}", report.free_bytes));
    entries
}

fn print_model(model: &Model) {
    let Model { role, rung, weights_bytes, compute_bytes, host_bytes, kv_bytes, kv_type, slots, context, .. } = model;
    let (state, available) = (model.state_bytes_per_slot, model.available_for_kv_bytes);
    putln!("{role}: {}", file_name(model));
    putln!("  rung: {rung}");
    putln!(
        "  weights {weights_bytes}, state {state} per slot, activations {compute_bytes}, vocabulary and graphs {host_bytes}"
    );
    let (device, host) = (model.memory.device_bytes, model.memory.host_bytes);
    if device > Bytes::ZERO {
        let experts = match model.experts_on_host {
            0 => String::new(),
            layers => format!(", experts of {layers} layers on the CPU"),
        };
        putln!("  device {device}, host {host}: {} layers on the device{experts}", model.gpu_layers);
    }
    let kv = &model.kv_bytes_per_token;
    putln!("  KV a token: f16 {}, q8_0 {}, q4_0 {}", megabytes(kv.f16), megabytes(kv.q8_0), megabytes(kv.q4_0));
    putln!("  KV {kv_bytes} for {slots} × {context} tokens ({kv_type}); {available} available");
    let longest = model.longest_context.iter().map(|(slots, context)| {
        let advice = model.advice.get(slots).copied().unwrap_or_default();
        let plural = if *slots == 1 { "slot" } else { "slots" };
        format!("{slots} {plural} {context} {advice}").trim_end().to_owned()
    });
    putln!("  longest context a slot: {}", longest.collect::<Vec<_>>().join(", "));
    if let Some(Projector { file, bytes, has_room }) = &model.projector {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let room = match has_room {
            true => "kept free until the first picture",
            false => "there is no room for it: raise --budget, or lower image_tokens, to have pictures read",
        };
        putln!("  projector {name}: {bytes}, {room}");
    }
    let (rate, gigabytes) = (model.tokens_per_second, model.bytes_per_token.0 as f64 / 1e9);
    putln!(
        "  predicted: at most {rate:.0} tokens/s = bytes a second of memory over {gigabytes:.2} GB of weights (and half the KV) a \
         token; programs reach 30 to 60 % of it"
    );
    putln!("{}", seconds(model));
}

fn megabytes(bytes: Bytes) -> String {
    format!("{} ({:.3} MB)", bytes, bytes.0 as f64 / 1e6)
}
