//! Lends models by role: loads one when it is first needed, and gives up idle ones when memory is short.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::handle::{Engine, EngineError};
use super::llama::{KvFormat, LlamaError, Loading, Shape, Weights};
use super::prefix::{Fingerprint, PrefixStore};
use super::sharing::Verdicts;
use crate::base::Bytes;
use crate::budget::permit::Permit;
use crate::budget::{self, Estimate, Lease, Ledger, Refused, Reservation, Wanted, estimate};
use crate::models::dialect::{self, Dialect};
use crate::models::gguf::Header;
use crate::models::{ModelCapability, ModelSpec, ModelsError, Registry, Role};

use super::scripted::Script;

/// A model on loan, with all that a caller needs to speak to it. Cheap to clone; hold it for one call, not longer.
#[derive(Clone)]
pub struct Leased {
    pub engine: Engine,
    pub dialect: Arc<dyn Dialect>,
    pub capability: ModelCapability,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum PoolError {
    #[error(transparent)]
    Models(#[from] ModelsError),
    #[error(transparent)]
    Memory(#[from] Refused),
    #[error(transparent)]
    Llama(#[from] LlamaError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("kv_type = \"{0}\" in models.toml is not known; write f16, q8_0 or q4_0")]
    KvType(String),
    #[error("no model plays {0} here")]
    Absent(Role),
}

#[derive(Clone, Debug)]
pub struct PoolOptions {
    pub threads: usize,
    /// Slots a model when models.toml does not ask for fewer.
    pub slots: usize,
    pub tool_call_format: Option<String>,
    pub memory: EngineMemory,
}

/// What engines remember beyond their own life.
#[derive(Clone, Debug, Default)]
pub struct EngineMemory {
    /// Copies of sequences that left their slots.
    pub prefixes: Option<PrefixStore>,
    /// Folder of what is known of each model on this machine.
    pub verdicts: Option<PathBuf>,
}

/// Handle to all models of a run. Clones share it.
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Inner>,
}

struct Inner {
    /// Without one, only what is resident from the start can be leased.
    registry: Option<Registry>,
    ledger: Ledger,
    permit: Permit,
    options: PoolOptions,
    resident: Mutex<Resident>,
    /// One load at a time: what a second one may use depends on what the first takes.
    loading: Mutex<()>,
}

#[derive(Default)]
struct Resident {
    roles: HashMap<Role, Leased>,
    /// Contexts by file and shape, so that two roles with the same settings share one.
    engines: HashMap<(PathBuf, Shape), Leased>,
    /// Weights by file; gone when the last context of them is.
    weights: HashMap<PathBuf, Weak<Held>>,
}

/// Weights and the right to their memory; the weights are freed first.
struct Held {
    weights: Weights,
    _lease: Lease,
}

impl Pool {
    pub fn new(registry: Registry, ledger: Ledger, permit: Permit, options: PoolOptions) -> Pool {
        let inner = Inner {
            registry: Some(registry),
            ledger,
            permit,
            options,
            resident: Mutex::default(),
            loading: Mutex::default(),
        };
        Pool { inner: Arc::new(inner) }
    }

    /// A pool without roles: see [`Pool::open_alone`].
    pub fn alone(ledger: Ledger, permit: Permit, threads: usize, memory: EngineMemory) -> Pool {
        let options = PoolOptions { threads, slots: usize::MAX, tool_call_format: None, memory };
        let (resident, loading) = (Mutex::default(), Mutex::default());
        Pool { inner: Arc::new(Inner { registry: None, ledger, permit, options, resident, loading }) }
    }

    /// A pool of scripted models, for tests of behaviour.
    pub fn scripted(scripts: Vec<(Role, Script)>, dialect: Arc<dyn Dialect>) -> Result<Pool, EngineError> {
        let permit = Permit::new();
        let mut roles = HashMap::new();
        for (role, script) in scripts {
            let capability = ModelCapability::capable(script.context);
            let engine = script.engine(permit.clone())?;
            roles.insert(role, Leased { engine, dialect: dialect.clone(), capability });
        }
        let memory = EngineMemory::default();
        let options = PoolOptions { threads: 1, slots: 2, tool_call_format: None, memory };
        let resident = Mutex::new(Resident { roles, ..Resident::default() });
        let ledger = Ledger::new(Bytes::ZERO);
        let inner = Inner { registry: None, ledger, permit, options, resident, loading: Mutex::default() };
        Ok(Pool { inner: Arc::new(inner) })
    }

    /// The model of `role` if it is loaded.
    pub fn resident(&self, role: Role) -> Option<Leased> {
        self.inner.resident().roles.get(&role).cloned()
    }

    /// The model of `role`, loaded if it is not yet. Blocks for as long as the load takes. `progress` is told the file
    /// and the share that is read, and ends the load by answering false.
    pub fn lease(
        &self,
        role: Role,
        progress: impl FnMut(&str, f32) -> bool + Send + 'static,
    ) -> Result<Leased, PoolError> {
        let inner = &self.inner;
        let _loading = inner.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leased) = self.resident(role) {
            return Ok(leased);
        }
        let registry = inner.registry.as_ref().ok_or(PoolError::Absent(role))?;
        let spec = registry.get(role)?;
        let leased = match inner.load(spec, progress) {
            // A router that does not fit beside the planner is played by it.
            Err(error @ PoolError::Memory(_)) if role == Role::Router => {
                let planner = self.resident(Role::Planner).ok_or(error)?;
                tracing::warn!("the router does not fit beside the planner, which plays both");
                planner
            }
            loaded => loaded?,
        };
        inner.resident().roles.insert(role, leased.clone());
        Ok(leased)
    }

    /// How [`Pool::open_alone`] would load `spec`: what an estimate of its memory is made from.
    pub fn wanted(&self, spec: &ModelSpec) -> Result<Wanted, PoolError> {
        Ok(wanted(spec, &self.inner.shape(spec)?))
    }

    /// A model file on its own, for benchmarks and checks: `slots` and `context` as given, nothing shared.
    pub fn open_alone(
        &self,
        spec: &ModelSpec,
        progress: impl FnMut(&str, f32) -> bool + Send + 'static,
    ) -> Result<Leased, PoolError> {
        self.inner.load(spec, progress)
    }
}

impl Inner {
    fn resident(&self) -> std::sync::MutexGuard<'_, Resident> {
        self.resident.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn load(
        &self,
        spec: &ModelSpec,
        mut progress: impl FnMut(&str, f32) -> bool + Send + 'static,
    ) -> Result<Leased, PoolError> {
        let shape = self.shape(spec)?;
        let key = (spec.path.clone(), shape);
        if let Some(leased) = self.resident().engines.get(&key) {
            return Ok(leased.clone());
        }
        let wanted = wanted(spec, &shape);
        let loaded = self.resident().weights.get(&spec.path).and_then(Weak::upgrade);
        let (held, for_context) = match loaded {
            Some(held) => (held, Estimate::of(&spec.header, &wanted).of_context()),
            None => {
                // All of it must fit before any of it is taken; the parts are then booked apart, because weights
                // outlive a context. Nobody else loads meanwhile.
                let (whole, needed) = self.admit(spec, &wanted)?;
                drop(whole);
                let for_weights = needed.of_weights();
                let reservation = self.ledger.reserve(&format!("{} weights", spec.role), for_weights)?;
                let name = spec.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let loading = Loading { gpu_layers: spec.gpu_layers.unwrap_or(u32::MAX), repack: wanted.repack };
                let weights = Weights::load(&spec.path, loading, |share| progress(&name, share))?;
                if wanted.repack {
                    super::llama::mapping::give_back(&spec.path, &estimate::copied_ranges(&spec.header));
                }
                let held = Held { weights, _lease: reservation.commit(for_weights) };
                (Arc::new(held), needed.of_context())
            }
        };
        let context_memory = self.ledger.reserve(&format!("{} context", spec.role), for_context)?.commit(for_context);
        self.resident().weights.insert(spec.path.clone(), Arc::downgrade(&held));
        let engine = self.start(spec, shape, held, context_memory)?;
        let leased = Leased {
            engine,
            dialect: dialect::choose(&spec.header, &spec.dialect, self.options.tool_call_format.as_deref()),
            capability: ModelCapability::of(&spec.header, shape.context),
        };
        self.resident().engines.insert(key, leased.clone());
        Ok(leased)
    }

    /// Memory for a whole model; models that nobody uses are given up for it.
    fn admit(&self, spec: &ModelSpec, wanted: &Wanted) -> Result<(Reservation, Estimate), Refused> {
        budget::admit(&self.ledger, spec, wanted).or_else(|refused| {
            if let Some(prefixes) = &self.options.memory.prefixes {
                prefixes.make_room(refused.needed);
            }
            let mut resident = self.resident();
            resident.engines.clear();
            // A role's own handle is the last one when no call is running.
            resident.roles.retain(|_, leased| leased.engine.handles() > 1);
            drop(resident);
            budget::admit(&self.ledger, spec, wanted)
        })
    }

    fn shape(&self, spec: &ModelSpec) -> Result<Shape, PoolError> {
        let kv = KvFormat::by_name(&spec.kv_type).ok_or_else(|| PoolError::KvType(spec.kv_type.clone()))?;
        let context = (spec.context as usize).min(trained(&spec.header));
        let threads = self.options.threads;
        let slots = spec.slots.min(self.options.slots).max(1);
        Ok(Shape { slots, context, kv, threads, chunk: chunk_rows(&spec.header, threads) })
    }

    /// The thread that owns a context. What it holds is freed in this order: context, weights, memory.
    fn start(&self, spec: &ModelSpec, shape: Shape, held: Arc<Held>, memory: Lease) -> Result<Engine, PoolError> {
        let name = spec.header.name.clone();
        let vocabulary = Arc::new(HeldVocabulary(held.clone()));
        let beyond = self.options.memory.clone();
        let fingerprint = Fingerprint::of(&spec.path, &shape, "").ok();
        Ok(Engine::spawn(&name, vocabulary, self.permit.clone(), move |mut inbox| {
            if let Some(fingerprint) = fingerprint {
                let file = beyond.verdicts.map(|folder| folder.join(format!("{}.json", fingerprint.as_str())));
                inbox.verdicts = file.map_or_else(Verdicts::default, Verdicts::open);
                inbox.prefixes = beyond.prefixes.map(|store| store.of(fingerprint));
            }
            let decoder = held.weights.context(&shape).map_err(|error| error.to_string())?;
            let served = inbox.serve(decoder, &held.weights);
            drop(held);
            drop(memory);
            served
        })?)
    }
}

/// What `shape` asks of memory.
fn wanted(spec: &ModelSpec, shape: &Shape) -> Wanted {
    Wanted {
        context: shape.context as u32,
        slots: shape.slots,
        kv_type: spec.kv_type.clone(),
        rows: shape.rows() as u32,
        outputs: shape.outputs() as u32,
        repack: spec.gpu_layers == Some(0) || !cfg!(any(feature = "cuda", feature = "metal")),
        marks: if spec.header.recurrent_layers() > 0 { super::llama::MARKS_MAX as u32 } else { 0 },
        swa_full: true,
    }
}

/// Positions a model was trained on; 0 in a header means it does not say.
fn trained(header: &Header) -> usize {
    match header.context_train as usize {
        0 => usize::MAX,
        trained => trained,
    }
}

/// Operations a core does in a second on quantised weights in small chunks. Measured on two slow virtual cores: 135M at
/// 170 and 1.2B at 42 prompt tokens a second are 23 and 49 billion a core; good cores do three times as much.
const OPERATIONS_PER_CORE: f64 = 30e9;
/// Time one prefill chunk should take; a cancelled prompt stops after one chunk. At the least size the 24B takes longer.
const CHUNK_SECONDS: f64 = 0.2;
const CHUNK_ROWS_MIN: usize = 8;
const CHUNK_ROWS_MAX: usize = 256;

/// Rows of a prefill call: a power of two from the model's size and the number of cores alone, never from a stopwatch,
/// because the size of chunks shows in the last bits of the logits and a run must give the same tokens as the one before.
pub fn chunk_rows(header: &Header, threads: usize) -> usize {
    let operations_a_row = 2.0 * active_parameters(header) as f64;
    let rows = CHUNK_SECONDS * OPERATIONS_PER_CORE * threads.max(1) as f64 / operations_a_row.max(1.0);
    let power = (rows.max(1.0) as usize).next_power_of_two() / 2;
    power.clamp(CHUNK_ROWS_MIN, CHUNK_ROWS_MAX)
}

/// Parameters that one token passes through: of the experts only those that are used.
fn active_parameters(header: &Header) -> u64 {
    let experts: u64 =
        header.tensors.iter().filter(|tensor| tensor.name.contains("_exps")).map(|tensor| tensor.parameters()).sum();
    let share = match (header.experts_used, header.experts) {
        (used, all) if all > 0 => experts * u64::from(used) / u64::from(all),
        _ => experts,
    };
    header.parameters - experts + share
}

/// The tokens of weights that live as long as someone can read them.
struct HeldVocabulary(Arc<Held>);

impl super::decoder::Vocabulary for HeldVocabulary {
    fn size(&self) -> usize {
        self.0.weights.size()
    }

    fn tokenize(&self, prompt: &crate::models::dialect::Prompt) -> Vec<super::decoder::Token> {
        self.0.weights.tokenize(prompt)
    }

    fn bytes(&self, token: super::decoder::Token) -> &[u8] {
        self.0.weights.bytes(token)
    }

    fn control(&self, token: super::decoder::Token) -> Option<&[u8]> {
        self.0.weights.control(token)
    }

    fn is_end(&self, token: super::decoder::Token) -> bool {
        self.0.weights.is_end(token)
    }
}
