//! Assigns model files to roles: by models.toml first, then by file names and headers.

mod by_name;
mod resolve;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::gguf::{self, GgufError, Header};
use super::manifest::{Candidate, Manifest};
use super::projector::Beside;
use super::{
    Adapter, Endpoint, ModelSettings, ModelsError, Pooling, PromptTable, Ranking, Role, SamplingWish, Think, Tier,
};
use super::{digest, places, scan, stores};
use crate::base::Bytes;

/// The models of one run: the files in the model folder and the choice for each role. Reads only
/// headers; loads nothing.
#[derive(Clone, Debug)]
pub struct Registry {
    /// The model folder of this run.
    pub dir: PathBuf,
    /// All GGUF files in the model folder, sorted by path.
    pub files: Vec<Found>,
    planner: Resolved,
    router: Resolved,
    /// The roles that models.toml adds.
    extra: Vec<(Role, Resolved)>,
    embedder: Option<EmbedderSpec>,
    /// `None` unless models.toml sets one.
    reranker: Option<Result<RerankerSpec, ModelsError>>,
    /// The embedder folders in the model folder.
    embedder_folders: Vec<PathBuf>,
    /// The places that were searched for an embedder, for the message when there is none.
    pub embedder_looked: Vec<PathBuf>,
    /// Messages about files that were skipped.
    pub notes: Vec<String>,
    /// A message if another planner replaced the first choice.
    pub replaced: Option<String>,
    /// The roles taken by servers.
    endpoints: Vec<(Role, Endpoint)>,
    manifest: Manifest,
    /// Model settings for values not set in models.toml.
    config: ModelSettings,
    places: Places,
}

/// Places outside the model folder; tests replace them.
#[derive(Clone, Debug)]
struct Places {
    user_dir: PathBuf,
    hub_cache: PathBuf,
    sha256_memory: PathBuf,
    stores: Vec<(&'static str, PathBuf)>,
}

impl Places {
    fn of_this_user() -> Places {
        Places {
            user_dir: places::model_dir(),
            hub_cache: places::hub_cache_dir(),
            sha256_memory: places::sha256_memory(),
            stores: stores::of_this_user(),
        }
    }
}

/// One GGUF file in the model folder, readable or not.
#[derive(Clone, Debug)]
pub struct Found {
    pub path: PathBuf,
    /// The display name: Ollama's name, or else the path relative to its folder.
    pub name: String,
    /// The program that manages the file, if the file is in another program's folder.
    pub from: Option<&'static str>,
    pub header: Result<Arc<Header>, Arc<GgufError>>,
}

/// A text model with the settings of its role.
#[derive(Clone, Debug)]
pub struct ModelSpec {
    pub role: Role,
    pub path: PathBuf,
    pub header: Arc<Header>,
    /// `auto` or a name of `dialect::DIALECTS`.
    pub dialect: String,
    /// Context window in tokens per slot.
    pub context: u32,
    pub slots: usize,
    pub kv_type: String,
    /// Number of layers on the GPU; `None` means as many as fit.
    pub gpu_layers: Option<u32>,
    /// How long an idle model stays in memory; zero means until another model needs the memory.
    pub keep_alive: Duration,
    /// Never evicted from memory.
    pub pinned: bool,
    /// `capability` in models.toml.
    pub capable: Option<bool>,
    /// `tier` in models.toml.
    pub tier: Option<Tier>,
    /// How much it thinks.
    pub think: Think,
    /// How to sample its free text, from settings and models.toml; unset values are the maker's.
    pub sampling: SamplingWish,
    /// LoRA adapters, all applied at once.
    pub lora: Vec<Adapter>,
    /// The checksum required by models.toml.
    pub sha256: Option<String>,
    /// The matching projector in the model's folder, with which it sees pictures, and projectors
    /// that do not fit.
    pub beside: Beside,
}

/// The preferences for a role's model, from the settings and models.toml; they apply to any model
/// in that role.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoleWishes {
    pub capable: Option<bool>,
    pub tier: Option<Tier>,
    pub think: Think,
    pub sampling: SamplingWish,
}

/// An embedding model.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbedderSpec {
    /// A folder, or a GGUF file.
    pub path: PathBuf,
    /// The folder's or file's name; Ollama's name for a file in its store.
    pub name: String,
    /// The folder's safetensors files, sorted, or the file.
    pub weights: Vec<PathBuf>,
    pub wishes: EmbedderWishes,
}

/// A model that scores hits of a search.
#[derive(Clone, Debug)]
pub struct RerankerSpec {
    pub path: PathBuf,
    pub header: Arc<Header>,
    pub ranking: Ranking,
    /// The checksum required by models.toml.
    pub sha256: Option<String>,
}

/// The settings of models.toml for an embedder that is a GGUF file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmbedderWishes {
    /// Overrides the pooling in its header.
    pub pooling: Option<Pooling>,
    /// Overrides the prompts of its family.
    pub prompts: Option<PromptTable>,
    /// The checksum that the file must have.
    pub sha256: Option<String>,
}

#[derive(Clone, Debug)]
struct Resolved {
    spec: Result<ModelSpec, ModelsError>,
    checksum: OnceLock<Result<(), ModelsError>>,
}

/// Reads the models.toml that `config` specifies, or else the one in `dir`, or else the built-in
/// one.
fn manifest(config: &ModelSettings, dir: &Path) -> Result<Manifest, ModelsError> {
    let in_dir = dir.join("models.toml");
    let path = config.models_file.clone().map(absolute).or_else(|| in_dir.is_file().then_some(in_dir));
    Manifest::read(path.as_deref())
}

/// Whether models.toml sets a model for a role that has none by default. Looks at no model file.
pub fn sets(settings: impl Into<ModelSettings>, role: Role) -> bool {
    let config = settings.into();
    let dir = model_folder(&config, places::model_dir());
    manifest(&config, &dir).is_ok_and(|manifest| !manifest.candidates(role).is_empty())
}

/// The model folder of this run, else `usual`.
fn model_folder(config: &ModelSettings, usual: PathBuf) -> PathBuf {
    absolute(config.model_dir.clone().unwrap_or(usual))
}

/// The absolute path, so that the parent folder of a bare name is known and messages state a
/// location.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// Type of the KV cache for the model in `file`: that of its role, if it has one.
pub fn kv_type(settings: impl Into<ModelSettings>, file: &Path) -> Result<String, ModelsError> {
    let config = &settings.into();
    if let Ok(registry) = Registry::open_at(config, Places::of_this_user())
        && let Some(spec) = registry.settled().find(|spec| spec.path == file)
    {
        return Ok(spec.kv_type.clone());
    }
    let dir = model_folder(config, places::model_dir());
    Ok(resolve::kv_type(&manifest(config, &dir)?, config, file))
}

impl Registry {
    /// Scans the model folder and chooses a model for every role. A role without a model is an
    /// error only in [`Registry::get`].
    pub fn open(settings: impl Into<ModelSettings>) -> Result<Registry, ModelsError> {
        Registry::open_at(&settings.into(), Places::of_this_user())
    }

    fn open_at(config: &ModelSettings, places: Places) -> Result<Registry, ModelsError> {
        let dir = model_folder(config, places.user_dir.clone());
        let manifest = manifest(config, &dir)?;
        let mut endpoints = Vec::new();
        for role in Role::ALL {
            let url = match role {
                Role::Planner => &config.planner_url,
                Role::Router => &config.router_url,
                _ => &None,
            };
            let Some(mut endpoint) = manifest.endpoint(role, url.as_deref())? else { continue };
            endpoint.mask = config.mask_prompts;
            endpoints.push((role, endpoint));
        }
        let seen = match scan::scan(&dir) {
            Ok(seen) => seen,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if config.model_dir.is_some() {
                    return Err(ModelsError::NoFolder { path: dir });
                }
                scan::Scan::default()
            }
            Err(error) => return Err(ModelsError::Folder { path: dir, why: error.to_string() }),
        };
        let mut notes = Vec::new();
        let mut note_cut = |dir: &Path, seen: &scan::Scan| {
            if seen.is_cut {
                let dir = dir.display();
                notes.push(format!(
                    "{dir} has too many entries, and some were not examined; name a folder with --model-dir"
                ));
            }
        };
        note_cut(&dir, &seen);
        let mut files = found_in(&dir, &seen, stores::kept_by(&dir));
        // If the user specified no folder, models downloaded by other programs are also offered.
        let others = if config.model_dir.is_none() { places.stores.clone() } else { Vec::new() };
        for (from, folder) in others {
            let mut there = scan::scan(&folder).unwrap_or_default();
            note_cut(&folder, &there);
            // A file that an earlier folder links to has already been found there.
            let known: HashSet<PathBuf> = files.iter().filter_map(|file| file.path.canonicalize().ok()).collect();
            let is_new = |path: &Path| path.canonicalize().is_ok_and(|real| !known.contains(&real));
            there.ggufs.retain(|path| is_new(path));
            there.ollama.retain(|(_, path)| is_new(path));
            files.extend(found_in(&folder, &there, Some(from)));
        }
        let resolver = resolve::Resolver { config, dir: &dir, places: &places, manifest: &manifest, files: &files };
        let planner = resolver.planner();
        let router = resolver.router(planner.as_ref().ok());
        let (embedder, embedder_looked) = resolver.embedder(&seen.embedders);
        let reranker = resolver.reranker();
        let extra: Vec<(Role, Result<ModelSpec, ModelsError>)> =
            Role::EXTRA.into_iter().filter_map(|role| Some((role, resolver.extra(role)?))).collect();
        let chosen = [&planner, &router].into_iter().chain(extra.iter().map(|(_, spec)| spec));
        let in_use: Vec<&Path> = chosen.flatten().map(|spec| spec.path.as_path()).collect();
        for broken in files.iter().filter(|file| !in_use.contains(&file.path.as_path())) {
            if let Err(error) = &broken.header {
                notes.push(format!("skipped: {error}"));
            }
        }
        let resolved = |spec| Resolved { spec, checksum: OnceLock::new() };
        let (planner, router) = (resolved(planner), resolved(router));
        let extra = extra.into_iter().map(|(role, spec)| (role, resolved(spec))).collect();
        Ok(Registry {
            dir,
            files,
            planner,
            router,
            extra,
            embedder,
            reranker,
            embedder_folders: seen.embedders,
            embedder_looked,
            notes,
            replaced: None,
            endpoints,
            manifest,
            config: config.clone(),
            places,
        })
    }

    /// The model of a text role, after verifying its checksum if models.toml has one. The first
    /// call may hash the file.
    pub fn get(&self, role: Role) -> Result<&ModelSpec, ModelsError> {
        let spec = self.chosen(role)?;
        self.resolved(role)
            .checksum
            .get_or_init(|| check_sha256(spec.role, &spec.path, spec.sha256.as_deref(), &self.places.sha256_memory))
            .clone()?;
        Ok(spec)
    }

    /// The same without verifying its checksum.
    pub fn chosen(&self, role: Role) -> Result<&ModelSpec, ModelsError> {
        self.resolved(role).spec.as_ref().map_err(ModelsError::clone)
    }

    fn resolved(&self, role: Role) -> &Resolved {
        match role {
            Role::Planner => &self.planner,
            Role::Router => &self.router,
            Role::Embedder => {
                panic!("the embedder is requested with Registry::embedder; this is a bug in the caller")
            }
            Role::Reranker => {
                panic!("the re-ranker is asked for as Registry::reranker; this is a bug in the caller")
            }
            // The planner does the work of a role that was left out.
            Role::Quick | Role::Thinker | Role::Verifier | Role::Vision => self.extra(role).unwrap_or(&self.planner),
        }
    }

    fn extra(&self, role: Role) -> Option<&Resolved> {
        self.extra.iter().find(|(of, _)| *of == role).map(|(_, resolved)| resolved)
    }

    /// Whether a role has its own model, here or on a server.
    pub fn plays(&self, role: Role) -> bool {
        let is_away = self.endpoints.iter().any(|(of, _)| *of == role);
        match role {
            Role::Reranker => self.reranker.is_some(),
            _ => is_away || !Role::EXTRA.contains(&role) || self.extra(role).is_some(),
        }
    }

    /// The server whose model takes a role, if models.toml or an option specifies one; an error if
    /// connections are not allowed.
    pub fn endpoint(&self, role: Role) -> Result<Option<&Endpoint>, ModelsError> {
        let endpoint = self.endpoints.iter().find(|(of, _)| *of == role).map(|(_, endpoint)| endpoint);
        match endpoint {
            Some(endpoint) if self.config.offline => Err(ModelsError::Offline { role, url: endpoint.url().to_owned() }),
            endpoint => Ok(endpoint),
        }
    }

    /// The roles taken by servers, one per line.
    pub fn servers(&self) -> Vec<String> {
        let line = |(role, endpoint): &(Role, Endpoint)| {
            let model = endpoint.model.iter().map(|model| format!("{model} at ")).collect::<String>();
            let state = if self.config.offline { " (not asked, because --offline is on)" } else { "" };
            format!("{role}: {model}{}{state}", endpoint.url())
        };
        self.endpoints.iter().map(line).collect()
    }

    /// The preferences for a role's model, from the settings and models.toml; they apply to any
    /// model in that role.
    pub fn wishes(&self, role: Role) -> RoleWishes {
        let table = self.manifest.table(role);
        let capable = table.capability.map(|said| said == "capable");
        RoleWishes {
            capable,
            tier: table.tier.or((capable == Some(false)).then_some(Tier::Reads)),
            think: self.config.think.or(table.think).unwrap_or_default(),
            sampling: self.config.sampling.or(table.sampling),
        }
    }

    /// Whether the user's models.toml names the file of a role.
    pub fn is_named(&self, role: Role) -> bool {
        self.manifest.candidates(role).iter().any(|candidate| candidate.required)
    }

    /// Makes another file the planner, because the first choice does not fit into `memory`.
    pub fn plan_with(&mut self, header: &Arc<Header>, memory: Bytes) -> Result<(), ModelsError> {
        let choice = resolve::Choice { path: header.path.clone(), header: header.clone(), sha256: None };
        let spec = resolve::settled(Role::Planner, choice, &self.manifest, &self.config, &self.dir, &self.files)?;
        if let Ok(first) = &self.planner.spec {
            self.replaced = Some(format!(
                "{} plans: {} does not fit into {memory} with the other models (`monobloc fit` has the figures)",
                name_of(&header.path),
                name_of(&first.path)
            ));
        }
        self.planner = Resolved { spec: Ok(spec), checksum: OnceLock::new() };
        Ok(())
    }

    /// A model file by its path, its name or a unique part of its name, with the settings of the
    /// role `like`.
    pub fn named(&self, name: &str, like: Role) -> Result<ModelSpec, ModelsError> {
        let path = self.path_of(name)?;
        if self.settled().any(|spec| spec.path == path && spec.role == like) {
            return self.get(like).cloned();
        }
        let header = gguf::inspect(&path).map_err(|error| ModelsError::Broken(Arc::new(error), like))?;
        let choice = resolve::Choice { path, header: Arc::new(header), sha256: None };
        resolve::settled(like, choice, &self.manifest, &self.config, &self.dir, &self.files)
    }

    /// The models of the text roles, without verifying checksums.
    fn settled(&self) -> impl Iterator<Item = &ModelSpec> {
        let extra = self.extra.iter().map(|(_, resolved)| resolved);
        [&self.planner, &self.router].into_iter().chain(extra).filter_map(|role| role.spec.as_ref().ok())
    }

    /// The embedding model; without one, search uses only words and the graph.
    pub fn embedder(&self) -> Option<&EmbedderSpec> {
        self.embedder.as_ref()
    }

    /// Every embedder that was found, the nearest first. Reads headers of files in the user's
    /// folder.
    pub fn embedders(&self) -> Vec<EmbedderSpec> {
        let Registry { config, dir, places, manifest, files, .. } = self;
        resolve::Resolver { config, dir, places, manifest, files }.embedders(&self.embedder_folders)
    }

    /// Makes another one of [`Registry::embedders`] the embedder.
    pub fn embed_with(&mut self, spec: EmbedderSpec) {
        self.embedder = Some(spec);
    }

    /// The model that scores hits of a search, after verifying its checksum if models.toml has one;
    /// `None` if models.toml names none.
    pub fn reranker(&self) -> Result<Option<&RerankerSpec>, ModelsError> {
        let Some(spec) = &self.reranker else { return Ok(None) };
        let spec = spec.as_ref().map_err(ModelsError::clone)?;
        check_sha256(Role::Reranker, &spec.path, spec.sha256.as_deref(), &self.places.sha256_memory)?;
        Ok(Some(spec))
    }

    /// The rank of a model among the planners in models.toml, best first; unknown ones and
    /// fallbacks come last.
    pub fn rank(&self, header: &Header) -> usize {
        let known = self.manifest.candidates(Role::Planner).into_iter().filter(|candidate| !candidate.fallback);
        known.enumerate().find(|(_, candidate)| candidate.is(header)).map_or(usize::MAX, |(place, _)| place)
    }

    /// The best planners that can be pulled and fit into `memory`.
    pub fn suggest(&self, memory: Bytes) -> Vec<Candidate> {
        self.manifest.suggest(memory)
    }

    /// Candidates of a role, best first; `models pull` fetches them.
    pub fn candidates(&self, role: Role) -> Vec<Candidate> {
        self.manifest.candidates(role)
    }
}

/// The models of one folder, each with its header.
fn found_in(dir: &Path, seen: &scan::Scan, from: Option<&'static str>) -> Vec<Found> {
    let found = |path: PathBuf, name: String, from| {
        let header = gguf::inspect(&path).map(Arc::new).map_err(Arc::new);
        Found { path, name, from, header }
    };
    let plain = whole_models(seen.ggufs.clone()).into_iter().map(|path| {
        let name = path.strip_prefix(dir).unwrap_or(&path).display().to_string();
        found(path, name, from)
    });
    let ollama = seen.ollama.iter().map(|(name, path)| found(path.clone(), name.clone(), Some("Ollama")));
    plain.chain(ollama).collect()
}

/// One file per split model: the first part that exists.
fn whole_models(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut seen = HashSet::new();
    let stands = |path: &PathBuf| gguf::Numbered::of(path).is_none_or(|part| seen.insert(part.of_model()));
    files.into_iter().filter(stands).collect()
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn check_sha256(role: Role, path: &Path, wanted: Option<&str>, memory: &Path) -> Result<(), ModelsError> {
    let Some(wanted) = wanted else { return Ok(()) };
    let path = path.to_owned();
    match digest::sha256(&path, memory) {
        Ok(found) if found == wanted => Ok(()),
        Ok(found) => Err(ModelsError::Checksum { role, path, found, wanted: wanted.to_owned() }),
        Err(error) => Err(ModelsError::Unreadable { role, path, why: error.to_string() }),
    }
}

#[cfg(test)]
mod tests;
