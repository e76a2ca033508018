//! Loads one model step by step: requirements, room, weights, context, engine.
//!
//! Nothing is allocated before its memory is reserved. Callers must hold the lock `changing`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::evict::{Holder, Room};
use super::fitting::FittedSettings;
use super::release::choose;
use super::resident::{Entry, Key, Loading, Model, file_name};
use super::weights::{Held, Spoken};
use super::{Inner, PoolError};
use crate::base::stamp::Stamp;
use crate::base::{Bytes, OrBug};
use crate::budget::place::{self, Footprint};
use crate::budget::{Amount, Estimate, Lease, LoadSettings, Refused, Reservation, repack};
use crate::engine::Manner;
use crate::engine::decoder::Sharing;
use crate::engine::handle::Engine;
use crate::engine::llama::{Loading as Reading, Shape, Weights};
use crate::engine::prefix::Fingerprint;
use crate::engine::sharing::Verdicts;
use crate::models::speed::Speed;
use crate::models::thinking::last_words;
use crate::models::{Measured, ModelCapability, ModelSpec, Role, dialect, digest};

/// Receives the file name and the share read so far, from 0 to 1; returns false to cancel the load.
pub type Progress = Box<dyn FnMut(&str, f32) -> bool + Send>;

/// Shortest recommended context, in tokens.
const SHORT_CONTEXT: u32 = 2048;

/// The requirements of a load, known before it begins.
pub(super) struct Need {
    pub key: Key,
    pub estimate: Estimate,
    /// The weights, if they are already in memory; only a context is needed then.
    pub there: Option<Arc<Held>>,
    pub adapters: Bytes,
    /// Memory of weights and context, on host and accelerator.
    takes: Footprint,
    /// The model as requested.
    spec: ModelSpec,
    settings: LoadSettings,
    /// The settings reduced to make it fit, in words.
    rung: Option<String>,
}

/// The reserved memory of one load.
struct Admitted {
    /// `None` if the weights are already in memory.
    weights: Option<Reservation>,
    context: Reservation,
    adapters: Option<Reservation>,
}

impl Need {
    /// The memory that a load takes in addition to what is already in memory.
    pub fn amount(&self) -> Amount {
        let weights = if self.there.is_some() { Amount::default() } else { self.takes.weights };
        weights + self.takes.context + self.adapters.into()
    }

    /// The role whose settings apply.
    pub fn role(&self) -> Role {
        self.spec.role
    }

    /// The components of that memory as text, for example `weights 98.0 MiB, KV 85.0 MiB`.
    pub fn told(&self) -> String {
        let there = |part: &str| self.there.is_some() && part.ends_with("weights");
        let parts = self.estimate.parts().into_iter().chain([("adapters", self.adapters)]);
        let parts = parts.filter(|(part, bytes)| *bytes > Bytes::ZERO && !there(part));
        parts.map(|(part, bytes)| format!("{part} {bytes}")).collect::<Vec<_>>().join(", ")
    }

    /// A holder that keeps the weights reused by this load, so that they are not expected to be
    /// freed when another context of the file is unloaded.
    pub fn anchor(&self) -> Option<Holder<'_>> {
        let (context, weights) = (Amount::default(), self.takes.weights);
        let anchor = Holder { file: &self.key.path, context, weights, idle: None, kept: true };
        self.there.is_some().then_some(anchor)
    }
}

impl Inner {
    /// The current requirements for loading `spec`.
    pub(super) fn need(&self, spec: &ModelSpec) -> Result<Need, PoolError> {
        let FittedSettings { shape, mut settings, rung } = self.standing(spec)?;
        let lora = spec.lora.iter().map(|adapter| (adapter.path.clone(), adapter.scale)).collect();
        let there = self.resident().weights(&spec.path);
        if let Some(held) = &there {
            let LoadSettings { repack, layers_on_host, experts_on_host, .. } = held.settings;
            settings = LoadSettings { repack, layers_on_host, experts_on_host, ..settings };
        }
        Ok(Need {
            key: Key { path: spec.path.clone(), shape, lora },
            estimate: Estimate::of(&spec.header, &settings),
            takes: place::need(&spec.header, &settings, &self.ledger.machine()),
            there,
            adapters: spec.lora.iter().map(|adapter| adapter.bytes).sum(),
            spec: spec.clone(),
            settings,
            rung,
        })
    }

    /// Loads a model unless it is in memory, unloading idle ones to make room.
    pub(super) fn load(self: &Arc<Inner>, need: Need, mut progress: Progress) -> Result<Key, PoolError> {
        if let Some(there) = self.resident().entries.iter_mut().find(|entry| entry.key == need.key) {
            there.kept_as(&need.spec);
            return Ok(need.key);
        }
        self.make_room(&need)?;
        let admitted = self.admit(&need)?;
        let name = file_name(&need.key.path);
        self.resident().loading = Some(Loading { file: name.clone(), share: 0.0 });
        let inner = self.clone();
        let report = Box::new(move |_: &str, share| {
            if let Some(loading) = &mut inner.resident().loading {
                loading.share = share;
            }
            progress(&name, share)
        });
        let loaded = self.load_admitted(need, admitted, report);
        self.resident().loading = None;
        let entry = loaded?;
        let key = entry.key.clone();
        self.resident().entries.push(entry);
        self.keep_an_eye();
        Ok(key)
    }

    /// Unloads idle models if this load needs their memory or places and unloading them suffices.
    /// Fails if a place is missing.
    fn make_room(&self, need: &Need) -> Result<(), PoolError> {
        self.released(Vec::new(), Some(need))?;
        // Copies of sequences are dropped first: they are the cheapest to recompute.
        if let Some(prefixes) = &self.options.memory.prefixes {
            prefixes.make_room(need.amount().host);
        }
        let places = self.missing_places(need, self.resident().files());
        let wanted = Room { bytes: need.amount().saturating_sub(self.ledger.free()), files: places };
        let a_place = Room { bytes: Amount::default(), ..wanted };
        let role = need.role();
        if self.give_up(wanted, role, Some(need))? || choose(&self.resident(), a_place, role, Some(need)).is_some() {
            // If memory is still short, the reservation fails with the reason.
            return Ok(());
        }
        let (model, max) = (file_name(&need.key.path), self.options.max_loaded.unwrap_or(0));
        Err(PoolError::Full { model, max, loaded: self.resident().told() })
    }

    /// How many of the `files` in memory must be unloaded to make a place for this load's file.
    pub(super) fn missing_places(&self, need: &Need, files: usize) -> usize {
        match self.options.max_loaded {
            Some(max) if need.there.is_none() => (files + 1).saturating_sub(max),
            _ => 0,
        }
    }

    /// Reserves all memory of the load before any of it is allocated. The parts have separate
    /// entries, because weights outlive a context.
    fn admit(&self, need: &Need) -> Result<Admitted, PoolError> {
        let refused = |refused| {
            let given_up = need.rung.as_ref().map_or_else(String::new, |rung| format!(" with {rung}"));
            let (label, way_out) = (self.known_as(need) + &given_up, self.way_out(need));
            self.no_room(need, Refused { label, way_out, ..refused })
        };
        let Footprint { weights, context } = need.takes;
        let reserve = |part, bytes: Amount| self.ledger.reserve(&label(need, part), bytes).map_err(refused);
        let adapters = (need.adapters > Bytes::ZERO).then(|| reserve("adapters", need.adapters.into())).transpose()?;
        let (weights, context) = if need.there.is_some() {
            (None, reserve("context", context)?)
        } else {
            let whole = reserve("model", need.takes.all())?;
            (Some(whole.split(&label(need, "weights"), weights)), whole.split(&label(need, "context"), context))
        };
        Ok(Admitted { weights, context, adapters })
    }

    /// Advice after a refusal: the mildest reduction of settings with which the model would fit, or
    /// else a smaller model.
    fn way_out(&self, need: &Need) -> String {
        let one_slot = LoadSettings { slots: 1, ..need.settings.clone() };
        let short = LoadSettings { context: one_slot.context.min(SHORT_CONTEXT), ..one_slot.clone() };
        let words = format!("set slots = 1 and context = {}", short.context);
        let fits = |settings: &LoadSettings| {
            let takes = place::need(&need.spec.header, settings, &self.ledger.machine());
            let weights = if need.there.is_some() { Amount::default() } else { takes.weights };
            (weights + takes.context + need.adapters.into()).fits(self.ledger.free())
        };
        let milder = [(one_slot, "set slots = 1".to_owned()), (short, words)];
        let found = milder.into_iter().find(|(settings, _)| *settings != need.settings && fits(settings));
        let words = found.map_or_else(|| "choose a smaller model".to_owned(), |(_, words)| words);
        format!("raise --budget, or {words} for [{}] in models.toml", need.role())
    }

    /// Loads weights and context, and starts the engine.
    fn load_admitted(
        self: &Arc<Inner>,
        need: Need,
        admitted: Admitted,
        progress: Progress,
    ) -> Result<Entry, PoolError> {
        let held = match (need.there.clone(), admitted.weights) {
            (None, Some(reserved)) => self.weights(&need, reserved, progress)?,
            (there, _) => there.or_bug("weights that are not loaded were reserved"),
        };
        let released = Arc::new(());
        let context_gone = Arc::downgrade(&released);
        let adapters = admitted.adapters.map(|reserved| reserved.commit(need.adapters));
        let leases = adapters.into_iter().chain([admitted.context.commit(need.takes.context)]).collect();
        let (header, format) = (&need.spec.header, self.options.tool_call_format.as_deref());
        let dialect = dialect::choose(header, &need.spec.dialect, format);
        let vocabulary = Spoken::new(held.clone(), dialect.clone());
        let engine = self.start(&need, vocabulary, leases, released)?;
        let known = self.options.memory.capabilities.as_ref().and_then(|folder| {
            let fingerprint = digest::fingerprint(&need.key.path).ok()?;
            Some((Measured::remembered(folder, &fingerprint), Speed::remembered(folder, &fingerprint)))
        });
        let (measured, speed) = known.unwrap_or_default();
        let (spec, context) = (need.spec, need.key.shape.context);
        Ok(Entry {
            model: Arc::new(Model {
                engine,
                dialect,
                capability: ModelCapability::of(spec.capable, measured.as_ref(), &spec.header, context),
                said: spec.capable.is_some(),
                measured,
                manner: Manner::of(&spec),
                think: spec.think,
                last_words: last_words(&spec.header),
                speed,
                parameters: spec.header.parameters,
                rung: need.rung,
                used: Mutex::new(Instant::now()),
            }),
            roles: Vec::new(),
            pinned: spec.pinned,
            spec,
            settings: need.settings,
            need: need.takes,
            estimate: need.estimate,
            adapters: need.adapters,
            held: Arc::downgrade(&held),
            key: need.key,
            context_gone,
            weights_gone: Arc::downgrade(&held.released),
        })
    }

    /// Reads the weights from the file into the `reserved` memory.
    fn weights(&self, need: &Need, reserved: Reservation, mut progress: Progress) -> Result<Arc<Held>, PoolError> {
        let (header, settings) = (&need.spec.header, &need.settings);
        let reading = Reading {
            gpu_layers: settings.gpu_layers(header),
            experts_on_host: settings.experts_on_host,
            repack: settings.repack,
            mapped: !(settings.repack && repack::copies(header)) || header.file_bytes >= MAPPED_FROM,
        };
        if let Some(trial) = &self.options.trial {
            trial.run(header, &mut || progress("", 0.0))?;
        }
        let weights = Weights::load(header, reading, |share| progress("", share))?;
        let _lease = reserved.commit(need.takes.weights);
        let (settings, projector, released) = (settings.clone(), Mutex::default(), Arc::new(()));
        Ok(Arc::new(Held { weights, settings, projector, _lease, released }))
    }

    /// Starts the thread that owns the context. It frees context, weights and memory in this order,
    /// then drops `released`.
    fn start(
        &self,
        need: &Need,
        vocabulary: Spoken,
        leases: Vec<Lease>,
        released: Arc<()>,
    ) -> Result<Engine, PoolError> {
        let name = need.spec.header.name.clone();
        let shape: Shape = need.key.shape;
        let vocabulary = Arc::new(vocabulary);
        let spoken = vocabulary.clone();
        let lora = need.key.lora.clone();
        let memory = self.options.memory.clone();
        let calls = if spoken.held.weights.sharing(shape.exact) == Sharing::Wanted { "shared" } else { "" };
        let extra = format!("{} {} {calls}", placement(&spoken.held.settings), adapters_of(&lora));
        let fingerprint = Fingerprint::of(&need.key.path, &shape, &extra).ok();
        let permit = if need.settings.is_on_accelerator() { &self.accelerator } else { &self.permit };
        Ok(Engine::spawn(&name, vocabulary, permit.clone(), move |mut inbox| {
            if let Some(fingerprint) = fingerprint {
                let on = |what: &str| {
                    let name = format!("{}{what}.json", fingerprint.as_str());
                    memory.verdicts.as_ref().map_or_else(Verdicts::default, |folder| Verdicts::open(folder.join(name)))
                };
                (inbox.verdicts, inbox.splits) = (on("-runs"), on("-splits"));
                inbox.prefixes = memory.prefixes.map(|store| store.of(fingerprint));
            }
            let spares = inbox.prefixes.as_ref().map(|prefixes| prefixes.spares());
            let weights = &spoken.held.weights;
            let served = weights
                .context_with(&shape, &lora)
                .map_err(|error| error.to_string())
                .and_then(|decoder| inbox.serve(decoder.with_spares(spares), &*spoken));
            drop(spoken);
            drop(leases);
            drop(released);
            served
        })?)
    }
}

/// Files of at least this size are mapped although their matrices are copied: the 24B model then
/// loads in 11 s instead of 25 from the file cache, and in 21 to 33 s instead of 34 to 36 from
/// disk. Few blocks are held in addition to the copies.
const MAPPED_FROM: Bytes = Bytes::gib(4);

/// The placement of the weights, for a fingerprint: a different placement or layout changes the
/// last bits.
fn placement(settings: &LoadSettings) -> String {
    let LoadSettings { repack, layers_on_host, experts_on_host, .. } = settings;
    format!("repack={repack} host={layers_on_host},{experts_on_host}")
}

/// The adapters, for a fingerprint, with their file stamps, so that a changed file counts as a
/// different adapter.
fn adapters_of(lora: &[(PathBuf, f32)]) -> String {
    let one = |(path, scale): &(PathBuf, f32)| {
        let stamp = std::fs::metadata(path).map(|about| Stamp::of(&about));
        format!("{} {scale} {stamp:?}", path.display())
    };
    lora.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// Labels of a model's ledger entries, after the file name.
pub(super) const PARTS: [&str; 3] = ["weights", "context", "adapters"];

/// The label of a ledger entry, for example `m.gguf weights`.
fn label(need: &Need, part: &str) -> String {
    format!("{} {part}", file_name(&need.key.path))
}
