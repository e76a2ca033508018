//! Calculates how much memory models take on a machine, how much context fits, and how fast they are (`monobloc fit`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::base::Bytes;
use crate::budget::estimate::PROCESS;
use crate::budget::ladder::{self, Asked, CONTEXT_GOOD, Candidate, Fitted, Placed};
use crate::budget::machine::Machine;
use crate::budget::place::{self, overrun};
use crate::budget::{Amount, Estimate, LoadSettings, Refused, cache};
use crate::models::gguf::Header;
use crate::models::speed::Speed;
use crate::models::{Registry, Role, architectures, digest};

/// Memory used by anything other than the models.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    pub embedder: Bytes,
    pub reranker: Bytes,
    /// Memory of the program before any model is loaded, instead of [`PROCESS`].
    pub overhead: Option<Bytes>,
    /// Working memory of each model, instead of the computed value.
    pub activations: Option<Bytes>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub device: String,
    pub budget_bytes: Bytes,
    pub overhead_bytes: Bytes,
    pub embedder_bytes: Bytes,
    pub reranker_bytes: Bytes,
    pub models: Vec<Model>,
    /// Roles filled by servers, which need no memory here.
    pub servers: Vec<String>,
    /// The rest of the budget with all models loaded.
    pub free_bytes: Bytes,
    /// Optional models that did not fit; the work is done without them.
    pub left_out: Vec<String>,
    pub hint: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Model {
    #[serde(serialize_with = "crate::base::lossy")]
    pub file: PathBuf,
    pub role: String,
    pub weights_bytes: Bytes,
    pub kv_bytes_per_token: KvPrices,
    pub state_bytes_per_slot: Bytes,
    /// Working memory: activations and logits.
    pub compute_bytes: Bytes,
    /// Vocabulary, compute graphs, metadata of KV cells.
    pub host_bytes: Bytes,
    /// By number of slots: the maximum tokens per slot.
    pub longest_context: BTreeMap<u8, u32>,
    /// By number of slots: `recommended`, `risky` or an empty text.
    pub advice: BTreeMap<u8, &'static str>,
    /// `as asked`, what was given up to fit, or `does not fit`.
    pub rung: String,
    /// Memory that the budget leaves for this model's KV cache with all other models loaded.
    pub available_for_kv_bytes: Bytes,
    pub kv_bytes: Bytes,
    pub context: u32,
    pub slots: usize,
    pub kv_type: String,
    pub gpu_layers: u32,
    /// Number of layers whose experts are on the CPU; layers without experts do not count.
    pub experts_on_host: u32,
    pub memory: Memory,
    /// The projector beside the model, if this model is to look at pictures.
    pub projector: Option<Projector>,
    /// Predicted upper bound of the decode rate with one slot.
    pub tokens_per_second: f64,
    pub bytes_per_token: Bytes,
    /// Based on speeds measured in earlier turns on this machine; `None` before the first.
    pub forecast: Option<Forecast>,
}

/// The typical turn of a forecast: uncached prompt tokens, and tokens of the answer.
const TURN_PROMPT: usize = 1_200;
const TURN_ANSWER: usize = 60;

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Forecast {
    pub prompt_tokens_per_second: f64,
    pub decode_tokens_per_second: f64,
    pub prompt_tokens: usize,
    pub answer_tokens: usize,
    pub first_token_s: f64,
    pub answer_s: f64,
}

impl From<Speed> for Forecast {
    fn from(speed: Speed) -> Forecast {
        let (first_token_s, answer_s) = speed.seconds(TURN_PROMPT, TURN_ANSWER);
        Forecast {
            prompt_tokens_per_second: speed.prompt,
            decode_tokens_per_second: speed.decode,
            prompt_tokens: TURN_PROMPT,
            answer_tokens: TURN_ANSWER,
            first_token_s,
            answer_s,
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Memory {
    pub host_bytes: Bytes,
    pub device_bytes: Bytes,
}

/// The file with which a model sees. It is loaded for the first picture.
#[derive(Clone, Debug, Serialize)]
pub struct Projector {
    #[serde(serialize_with = "crate::base::lossy")]
    pub file: PathBuf,
    /// Weights, working memory for the largest picture, and the picture.
    pub bytes: Bytes,
    /// Whether that memory is kept free for it; otherwise it is loaded only if enough is left then.
    pub has_room: bool,
}

impl Projector {
    fn of(placed: &Placed, machine: &Machine) -> Option<Projector> {
        let eye = placed.eye.as_ref()?;
        let amount = eye.amount(placed.settings.gpu_layers(&placed.header) > 0, machine);
        let (file, has_room) = (eye.projector.path.clone(), placed.sight != Amount::default());
        Some(Projector { file, bytes: machine.total(amount), has_room })
    }
}

/// Bytes of KV cache per token, by type.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct KvPrices {
    pub f16: Bytes,
    pub q8_0: Bytes,
    pub q4_0: Bytes,
}

impl Report {
    /// Adds forecasts from the speeds that turns on this machine have stored in `folder`.
    pub fn forecast(&mut self, folder: &Path) {
        for model in &mut self.models {
            let known = digest::fingerprint(&model.file).ok().and_then(|name| Speed::remembered(folder, &name));
            model.forecast = known.map(Into::into);
        }
    }
}

/// Numbers of slots for which the longest context is reported.
const SLOTS: [u8; 3] = [1, 2, 4];

/// Places the models of `asked` on `machine`. If they do not fit, the report shows them as
/// requested, with the refusal.
pub fn report(asked: &[Asked], given: &Given, machine: &Machine) -> (Report, Option<Refused>) {
    let fixed = given.embedder + given.reranker + given.overhead.unwrap_or(PROCESS);
    let (fitted, refused) = match ladder::fit(asked, fixed.into(), machine) {
        Ok(fitted) => (fitted, None),
        Err(refused) => (as_asked(asked, machine), Some(refused)),
    };
    let sights = fitted.models.iter().fold(Amount::default(), |sum, model| sum + model.sight);
    let needs: Vec<Amount> =
        fitted.models.iter().map(|model| adjusted(&model.header, &model.settings, given, machine)).collect();
    let models = fitted.models.iter().enumerate().map(|(index, model)| {
        let others = needs.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, need)| *need);
        let others = others.fold(sights + fixed.into(), |sum: Amount, need| sum + need);
        self::model(model, others, given, machine, refused.as_ref())
    });
    let report = Report {
        device: machine.to_string(),
        budget_bytes: machine.main_memory(),
        overhead_bytes: given.overhead.unwrap_or(PROCESS),
        embedder_bytes: given.embedder,
        reranker_bytes: given.reranker,
        models: models.collect(),
        servers: Vec::new(),
        free_bytes: fitted.free,
        left_out: fitted.left_out,
        hint: fitted.hint,
    };
    (report, refused)
}

/// The first candidate of each model with its requested settings, whether or not they fit.
fn as_asked(asked: &[Asked], machine: &Machine) -> Fitted {
    let models = asked.iter().filter_map(|model| {
        let Candidate { header, wanted, eye } = model.candidates.first()?.clone();
        let settings = wanted.placed(&header, model.gpu_layers, machine);
        Some(Placed {
            name: model.name.clone(),
            need: place::need(&header, &settings, machine),
            eye,
            sight: Amount::default(),
            tokens_per_second: place::tokens_per_second(&header, &settings, machine),
            header,
            settings,
            given_up: Vec::new(),
        })
    });
    Fitted { models: models.collect(), left_out: Vec::new(), free: Bytes::ZERO, hint: None }
}

fn model(placed: &Placed, others: Amount, given: &Given, machine: &Machine, refused: Option<&Refused>) -> Model {
    let (header, settings) = (&placed.header, &placed.settings);
    let estimate = Estimate::of(header, settings);
    let longest: BTreeMap<u8, u32> = SLOTS
        .into_iter()
        .map(|slots| (slots, longest_context(header, settings, slots, given, others, machine)))
        .collect();
    let empty = LoadSettings { context: 0, ..settings.clone() };
    let without = others + adjusted(header, &empty, given, machine);
    let need = adjusted(header, settings, given, machine);
    Model {
        file: header.path.clone(),
        role: placed.name.clone(),
        weights_bytes: header.tensor_bytes(),
        kv_bytes_per_token: KvPrices {
            f16: cache::kv_per_token(header, "f16"),
            q8_0: cache::kv_per_token(header, "q8_0"),
            q4_0: cache::kv_per_token(header, "q4_0"),
        },
        state_bytes_per_slot: cache::state(header),
        compute_bytes: given.activations.unwrap_or(estimate.compute + estimate.output),
        host_bytes: if given.activations.is_some() { Bytes::ZERO } else { estimate.host },
        advice: advice(&longest),
        longest_context: longest,
        rung: refused.map_or_else(|| placed.rung(), |_| "does not fit".to_owned()),
        available_for_kv_bytes: machine.main_memory().saturating_sub(machine.main(without)),
        kv_bytes: estimate.kv,
        context: settings.context,
        slots: settings.slots,
        kv_type: settings.kv_type.clone(),
        gpu_layers: settings.gpu_layers(header),
        experts_on_host: place::experts_moved(header, settings),
        projector: Projector::of(placed, machine),
        memory: Memory { host_bytes: machine.total(need).saturating_sub(need.device), device_bytes: need.device },
        tokens_per_second: placed.tokens_per_second,
        bytes_per_token: place::bytes_per_token(header),
        forecast: None,
    }
}

/// The memory of one model, with the working memory of `given` if it has one.
fn adjusted(header: &Header, settings: &LoadSettings, given: &Given, machine: &Machine) -> Amount {
    let need = place::need(header, settings, machine).all();
    let Some(activations) = given.activations else { return need };
    let estimate = Estimate::of(header, settings);
    if machine.accelerator.is_some() && settings.gpu_layers(header) > 0 {
        let (own, given) = (machine.amount(Bytes::ZERO, estimate.compute), machine.amount(Bytes::ZERO, activations));
        need.saturating_sub(own) + given
    } else {
        let own = estimate.compute + estimate.output + estimate.host;
        Amount { host: need.host.saturating_sub(own) + activations, ..need }
    }
}

/// Maximum number of tokens per slot that fit: a multiple of [`cache::CELL_STEP`], at most the
/// model's trained length, or 0.
fn longest_context(
    header: &Header,
    settings: &LoadSettings,
    slots: u8,
    given: &Given,
    others: Amount,
    machine: &Machine,
) -> u32 {
    let step = cache::CELL_STEP as u32;
    let fits = |steps: u32| {
        let slots = usize::from(slots);
        let outputs = settings.outputs.max(slots as u32);
        let longer = LoadSettings { context: steps * step, slots, outputs, ..settings.clone() };
        let need = adjusted(header, &longer, given, machine);
        overrun(others + need, machine) == Bytes::ZERO
    };
    // A file without a trained length: a million tokens are more than any machine here can hold.
    let trained = if header.context_train == 0 { 1 << 20 } else { header.context_train };
    let (mut good, mut bad) = (0, trained.div_ceil(step) + 1);
    // Binary search: at most 32 rounds.
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if fits(middle) { good = middle } else { bad = middle }
    }
    (good * step).min(trained)
}

/// Recommends the largest number of slots that still leaves each a good context; less context is
/// risky.
fn advice(longest: &BTreeMap<u8, u32>) -> BTreeMap<u8, &'static str> {
    let most = longest.iter().filter(|(_, context)| **context >= CONTEXT_GOOD).map(|(slots, _)| *slots).max();
    let word = |slots: u8, context: u32| match context {
        _ if Some(slots) == most => "recommended",
        context if context < CONTEXT_GOOD => "risky",
        _ => "",
    };
    longest.iter().map(|(&slots, &context)| (slots, word(slots, context))).collect()
}

/// Smaller chat models in the folder that could take `role`: other quantisations of its model
/// first, then other models, by their rank in models.toml and from large to small.
pub fn alternatives(registry: &Registry, role: Role) -> Vec<Arc<Header>> {
    let Ok(spec) = registry.get(role) else { return Vec::new() };
    let own = &spec.header;
    let same = |header: &Header| {
        (&header.architecture, header.layers, header.embedding_length)
            == (&own.architecture, own.layers, own.embedding_length)
    };
    let headers = registry.files.iter().filter_map(|file| file.header.as_ref().ok());
    let mut found: Vec<Arc<Header>> = headers
        .filter(|header| header.path != own.path)
        .filter(|header| header.is_chat() && architectures::can_generate(&header.architecture).is_ok())
        .filter(|header| header.tensor_bytes() < own.tensor_bytes())
        .cloned()
        .collect();
    found.sort_by_key(|header| (!same(header), registry.rank(header), std::cmp::Reverse(header.tensor_bytes())));
    found
}
