//! Decides, before anything is loaded, what models give up so that all of them fit a machine together.
//!
//! Every model starts with the requested settings. While memory is short, the step that frees the
//! most memory per share of speed lost is taken; at the end, steps that turned out unnecessary are
//! undone. Another file is chosen only if no settings make the first one fit with a sufficient
//! context.

pub mod steps;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::machine::{Kind, Machine};
use super::place::{self, Footprint, overrun};
use super::sight::Eye;
use super::{Amount, LoadSettings, Refused};
use crate::base::Bytes;
use crate::models::gguf::Header;

/// A model to be placed.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Its purpose, for example `planner`.
    pub name: String,
    /// Files for this purpose, best first.
    pub candidates: Vec<Candidate>,
    /// Maximum number of layers on the accelerator; `None` means all.
    pub gpu_layers: Option<u32>,
    /// Whether it may be left out because another model can do its work.
    pub optional: bool,
}

/// A file that may be loaded for a purpose.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub header: Arc<Header>,
    /// The desired settings.
    pub wanted: LoadSettings,
    /// The projector beside it, if it is to see.
    pub eye: Option<Eye>,
}

/// A model with settings that fit.
#[derive(Clone, Debug)]
pub struct Placed {
    pub name: String,
    pub header: Arc<Header>,
    pub settings: LoadSettings,
    pub need: Footprint,
    /// The projector beside it, if it is to see.
    pub eye: Option<Eye>,
    /// The memory that is kept free for the projector; zero if there is no room for it.
    pub sight: Amount,
    /// Predicted upper bound of one slot's decoding speed, in tokens per second.
    pub tokens_per_second: f64,
    /// The reduced settings, in words; empty if nothing was reduced.
    pub given_up: Vec<String>,
}

impl Placed {
    /// `as asked`, or the reduced settings.
    pub fn rung(&self) -> String {
        if self.given_up.is_empty() { "as asked".to_owned() } else { self.given_up.join(", ") }
    }
}

/// Models that fit a machine together.
#[derive(Clone, Debug)]
pub struct Fitted {
    pub models: Vec<Placed>,
    /// Optional models that did not fit.
    pub left_out: Vec<String>,
    /// Memory that is still free, on the accelerator if there is one.
    pub free: Bytes,
    /// A change with which the user could make the first candidate fit.
    pub hint: Option<String>,
}

/// Context window, in tokens per slot, that is enough for an agent: the default of the setting
/// `context_tokens`.
pub const CONTEXT_GOOD: u32 = 8192;
/// Maximum number of candidates tried per model; a folder may contain a hundred files.
const CANDIDATES_MAX: usize = 8;

/// Finds settings with which all models fit alongside `fixed` bytes of other data. Optional models
/// are left out before the first model's file is changed, but a smaller file with a context of
/// [`CONTEXT_GOOD`] tokens is preferred to a larger file with less. Projectors have room kept free
/// for them if that costs their models neither speed nor a context of that length. Fails if even
/// the smallest settings do not fit.
pub fn fit(asked: &[Asked], fixed: Amount, machine: &Machine) -> Result<Fitted, Refused> {
    let blind = search(asked, fixed, machine, false);
    let blind = blind.map_err(|least| refused(asked, total(&least, fixed, machine), machine))?;
    let sees = asked.iter().flat_map(|model| &model.candidates).any(|candidate| candidate.eye.is_some());
    let seeing = if sees { search(asked, fixed, machine, true).ok() } else { None };
    Ok(seeing.filter(|seeing| is_worth_sight(seeing, &blind)).unwrap_or(blind))
}

/// Whether models may be loaded as `seeing` instead of as `blind`, so that there is room for
/// projectors: slots and precision of caches are given up, but no model, no speed and no context
/// that an agent needs.
fn is_worth_sight(seeing: &Fitted, blind: &Fitted) -> bool {
    let same = |(seeing, blind): (&Placed, &Placed)| {
        let (now, before) = (&seeing.settings, &blind.settings);
        Arc::ptr_eq(&seeing.header, &blind.header)
            && now.context >= CONTEXT_GOOD.min(before.context)
            && (now.layers_on_host, now.experts_on_host) == (before.layers_on_host, before.experts_on_host)
    };
    seeing.left_out == blind.left_out && seeing.models.iter().zip(&blind.models).all(same)
}

/// The models with the smallest settings, for a refusal: the state in which [`fit`] gave up. Empty
/// if all fit.
pub fn least(asked: &[Asked], fixed: Amount, machine: &Machine) -> Vec<Placed> {
    let least = search(asked, fixed, machine, false).err().unwrap_or_default();
    least.into_iter().map(|model| placed(asked, model, machine)).collect()
}

/// The first choice that fits, with projectors if it `sees`; the error is the choice and settings
/// that exceed the memory least.
fn search(asked: &[Asked], fixed: Amount, machine: &Machine, sees: bool) -> Result<Fitted, Vec<Settled>> {
    let mut least: Option<Vec<Settled>> = None;
    let mut short: Option<(Choice, Vec<Settled>)> = None;
    let missing = |models: &[Settled]| overrun(total(models, fixed, machine), machine);
    for choice in choices(asked) {
        match settle(start(asked, &choice, machine, sees), fixed, machine) {
            Ok(settings) if works(&settings) => return Ok(fitted(asked, &choice, settings, fixed, machine)),
            Ok(settings) => short = short.or(Some((choice, settings))),
            Err(settings) => {
                let less = least.as_ref().is_none_or(|least| missing(&settings) < missing(least));
                least = if less { Some(settings) } else { least };
            }
        }
    }
    match short {
        Some((choice, settings)) => Ok(fitted(asked, &choice, settings, fixed, machine)),
        None => Err(least.unwrap_or_default()),
    }
}

fn total(models: &[Settled], fixed: Amount, machine: &Machine) -> Amount {
    models.iter().fold(fixed, |sum, model| sum + place::need(&model.header, &model.now, machine).all() + model.sight)
}

/// Whether the first model has a context of [`CONTEXT_GOOD`] tokens, or of the requested size if
/// that is smaller.
fn works(models: &[Settled]) -> bool {
    let is_long = |model: &Settled| model.now.context >= CONTEXT_GOOD.min(model.asked.context);
    models.first().is_none_or(is_long)
}

/// For every model, the index of its candidate, or `None` if the model is left out.
type Choice = Vec<Option<usize>>;

/// All choices, best first: for each candidate of the first model, with the best file of every
/// other model, then without optional ones.
fn choices(asked: &[Asked]) -> Vec<Choice> {
    let mut choices = Vec::new();
    let first = asked.first().map_or(0, |model| model.candidates.len().min(CANDIDATES_MAX));
    for candidate in 0..first {
        let with = |others: &dyn Fn(&Asked) -> Option<usize>| -> Choice {
            let rest = asked.iter().skip(1).map(others);
            std::iter::once(Some(candidate)).chain(rest).collect()
        };
        choices.extend([with(&|_| Some(0)), with(&|model| (!model.optional).then_some(0))]);
    }
    choices.dedup();
    choices
}

/// A model of a choice with its requested and its current settings.
#[derive(Clone)]
struct Settled {
    index: usize,
    header: Arc<Header>,
    asked: LoadSettings,
    now: LoadSettings,
    eye: Option<Eye>,
    /// The memory of the projector, if there is to be room for it.
    sight: Amount,
}

/// Takes steps down until everything fits, then steps up while there is room. `Err` holds the
/// smallest settings.
fn settle(mut models: Vec<Settled>, fixed: Amount, machine: &Machine) -> Result<Vec<Settled>, Vec<Settled>> {
    let total = |models: &[Settled]| total(models, fixed, machine);
    let mut missing = overrun(total(&models), machine);
    // Terminates, because every step lowers a finite setting and none raises one.
    while missing > Bytes::ZERO {
        let mut best: Option<(f64, usize, LoadSettings, Bytes)> = None;
        for (index, model) in models.iter().enumerate() {
            for (lower, loss) in steps::down(&model.header, &model.now, machine) {
                let mut changed = models.clone();
                changed[index].now = lower.clone();
                let left = overrun(total(&changed), machine);
                let worth = missing.saturating_sub(left).0 as f64 / loss;
                if left < missing && best.as_ref().is_none_or(|(most, ..)| worth > *most) {
                    best = Some((worth, index, lower, left));
                }
            }
        }
        let Some((_, index, lower, left)) = best else { return Err(models) };
        models[index].now = lower;
        missing = left;
    }
    while let Some((index, higher)) = room_for(&models, &|models| overrun(total(models), machine) == Bytes::ZERO) {
        models[index].now = higher;
    }
    Ok(models)
}

/// The models of a choice with their requested settings.
fn start(asked: &[Asked], choice: &Choice, machine: &Machine, sees: bool) -> Vec<Settled> {
    let mut models = Vec::new();
    for (index, (model, candidate)) in asked.iter().zip(choice).enumerate() {
        let Some(candidate) = candidate.and_then(|number| model.candidates.get(number)) else { continue };
        let Candidate { header, wanted, eye } = candidate.clone();
        let settings = wanted.placed(&header, model.gpu_layers, machine);
        let on_gpu = settings.gpu_layers(&header) > 0;
        let sight = eye.as_ref().filter(|_| sees).map_or_else(Amount::default, |eye| eye.amount(on_gpu, machine));
        models.push(Settled { index, header, asked: settings.clone(), now: settings, eye, sight });
    }
    models
}

/// The first step up that still fits. There are only as many as there were steps down, because each
/// undoes one.
fn room_for(models: &[Settled], fits: &dyn Fn(&[Settled]) -> bool) -> Option<(usize, LoadSettings)> {
    for (index, model) in models.iter().enumerate() {
        for higher in steps::up(&model.now, &model.asked) {
            let mut changed = models.to_vec();
            changed[index].now = higher.clone();
            if fits(&changed) {
                return Some((index, higher));
            }
        }
    }
    None
}

fn fitted(asked: &[Asked], choice: &Choice, settled: Vec<Settled>, fixed: Amount, machine: &Machine) -> Fitted {
    let first = asked.first().and_then(|model| model.candidates.first());
    let models: Vec<Placed> = settled.into_iter().map(|model| placed(asked, model, machine)).collect();
    let left_out = asked.iter().zip(choice).filter(|(_, candidate)| candidate.is_none());
    let all = models.iter().fold(fixed, |sum, model| sum + model.need.all() + model.sight);
    let hint = first.and_then(|Candidate { header, wanted, .. }| {
        let changed = choice.first().is_some_and(|candidate| *candidate != Some(0));
        let alone = place::need(header, wanted, machine);
        if changed { wired_limit_hint(alone.all(), machine) } else { None }
    });
    Fitted {
        left_out: left_out.map(|(model, _)| model.name.clone()).collect(),
        free: machine.main_memory().saturating_sub(machine.main(all)),
        models,
        hint,
    }
}

fn placed(asked: &[Asked], model: Settled, machine: &Machine) -> Placed {
    let asked = &asked[model.index];
    let mut given_up = steps::given_up(&model.header, &model.now, &model.asked, machine);
    if let Some(Candidate { header: wished, .. }) = asked.candidates.first()
        && !Arc::ptr_eq(wished, &model.header)
    {
        let what = if is_same_model(wished, &model.header) { "a smaller quantisation" } else { "a smaller model" };
        given_up.insert(0, format!("{what}: {} instead of {}", model.header.name, wished.name));
    }
    Placed {
        name: asked.name.clone(),
        need: place::need(&model.header, &model.now, machine),
        eye: model.eye,
        sight: model.sight,
        tokens_per_second: place::tokens_per_second(&model.header, &model.now, machine),
        header: model.header,
        settings: model.now,
        given_up,
    }
}

/// Whether both have the same shape, so that they differ only in quantisation.
fn is_same_model(a: &Header, b: &Header) -> bool {
    (&a.architecture, a.layers, a.embedding_length, a.experts)
        == (&b.architecture, b.layers, b.embedding_length, b.experts)
}

/// Memory that macOS itself needs; with less, it starts to swap.
const APPLE_SYSTEM: Bytes = Bytes::mib(2048);

/// A hint to raise macOS's limit on GPU memory, if `need` exceeds it; `None` on other machines.
fn wired_limit_hint(need: Amount, machine: &Machine) -> Option<String> {
    let gpu = machine.accelerator.filter(|gpu| gpu.kind == Kind::Metal)?;
    if need.device <= gpu.free {
        return None;
    }
    let limit = need.device.0.div_ceil(1 << 20);
    let left = gpu.total.saturating_sub(need.host);
    Some(if left >= APPLE_SYSTEM {
        format!("`sudo sysctl iogpu.wired_limit_mb={limit}` makes room for it and leaves {left} for everything else")
    } else {
        format!(
            "`sudo sysctl iogpu.wired_limit_mb={limit}` would let it load but leave {left} for everything else, too little; a quantisation of about 3 bits would fit"
        )
    })
}

fn refused(asked: &[Asked], least: Amount, machine: &Machine) -> Refused {
    let names: Vec<&str> = asked.iter().map(|model| model.name.as_str()).collect();
    let label = format!("{} on the lowest rung", names.join(" + "));
    let device = machine.accelerator.map_or(Bytes::ZERO, |gpu| gpu.total);
    let capacity = Amount { host: machine.host.total, device };
    let hint = wired_limit_hint(least, machine).map(|hint| format!("; {hint}")).unwrap_or_default();
    Refused {
        parts: if machine.accelerator.is_some() { least.to_string() } else { String::new() },
        way_out: format!(
            "{} more are needed: raise --budget, or use a smaller model or quantisation{hint}",
            overrun(least, machine)
        ),
        ..Refused::of(&label, least, machine.capacity(), capacity)
    }
}
