//! Decides which file plays which role: what models.toml says first, then what names and headers say.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::base::Config;

use super::gguf::{self, GgufError, Header};
use super::manifest::{Candidate, Manifest};
use super::{ModelsError, Role, architectures, digest, places, scan};

/// Everything known about the models of one run. Reads headers and folders only; loads nothing.
#[derive(Debug)]
pub struct Registry {
    dir: PathBuf,
    files: Vec<Found>,
    planner: Resolved,
    router: Resolved,
    embedder: Option<EmbedderSpec>,
    embedder_looked: Vec<PathBuf>,
    notes: Vec<String>,
    manifest: Manifest,
    sha256_memory: PathBuf,
}

/// Folders outside the model folder that matter.
struct Places {
    user_dir: PathBuf,
    hub_cache: PathBuf,
    sha256_memory: PathBuf,
}

impl Places {
    fn of_this_user() -> Places {
        Places {
            user_dir: places::model_dir(),
            hub_cache: places::hub_cache_dir(),
            sha256_memory: places::sha256_memory(),
        }
    }
}

/// One GGUF file of the model folder, readable or not.
#[derive(Clone, Debug)]
pub struct Found {
    pub path: PathBuf,
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
    /// Tokens a slot.
    pub context: u32,
    pub slots: usize,
    pub kv_type: String,
    /// Layers on the GPU; `None` means as many as fit.
    pub gpu_layers: Option<u32>,
    /// How long an idle model stays in memory.
    pub keep_alive: Duration,
    /// What models.toml wants the file to hash to.
    pub sha256: Option<String>,
}

/// A folder with an embedding model.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbedderSpec {
    pub path: PathBuf,
    /// Its safetensors files, sorted.
    pub weights: Vec<PathBuf>,
}

#[derive(Debug)]
struct Resolved {
    spec: Result<ModelSpec, ModelsError>,
    checksum: OnceLock<Result<(), ModelsError>>,
}

/// Tokens a slot unless models.toml says otherwise (seed 003).
const CONTEXT_DEFAULT: u32 = 8192;
/// Idle seconds before a model may be dropped.
const KEEP_ALIVE_DEFAULT_S: u64 = 300;

impl Registry {
    /// Looks through the model folder and settles every role. A role without a model is an error only in [`Registry::get`].
    pub fn open(config: &Config) -> Result<Registry, ModelsError> {
        Registry::open_at(config, Places::of_this_user())
    }

    fn open_at(config: &Config, places: Places) -> Result<Registry, ModelsError> {
        let dir = config.model_dir.clone().unwrap_or_else(|| places.user_dir.clone());
        let in_dir = dir.join("models.toml");
        let manifest_path = config.models_file.clone().or_else(|| in_dir.is_file().then_some(in_dir));
        let manifest = Manifest::read(manifest_path.as_deref())?;
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
        let files: Vec<Found> = seen.ggufs.iter().filter_map(|path| found(path, &mut notes)).collect();
        let resolver = Resolver { config, dir: &dir, places: &places, manifest: &manifest, files: &files };
        let planner = resolver.planner();
        let router = resolver.router(planner.as_ref().ok());
        let (embedder, embedder_looked) = resolver.embedder(&seen.embedders);
        let in_use: Vec<&Path> = [&planner, &router].into_iter().flatten().map(|spec| spec.path.as_path()).collect();
        for broken in files.iter().filter(|file| !in_use.contains(&file.path.as_path())) {
            if let Err(error) = &broken.header {
                notes.push(format!("skipped: {error}"));
            }
        }
        let resolved = |spec| Resolved { spec, checksum: OnceLock::new() };
        let (planner, router) = (resolved(planner), resolved(router));
        let sha256_memory = places.sha256_memory;
        Ok(Registry { dir, files, planner, router, embedder, embedder_looked, notes, manifest, sha256_memory })
    }

    /// The model of a text role, its checksum compared where models.toml gives one. The first call may hash the file.
    pub fn get(&self, role: Role) -> Result<&ModelSpec, ModelsError> {
        let resolved = match role {
            Role::Planner => &self.planner,
            Role::Router => &self.router,
            Role::Embedder => {
                panic!("the embedder is a folder, asked for as Registry::embedder; this is a bug in the caller")
            }
        };
        let spec = resolved.spec.as_ref().map_err(ModelsError::clone)?;
        resolved.checksum.get_or_init(|| check_sha256(spec, &self.sha256_memory)).clone()?;
        Ok(spec)
    }

    /// The embedding folder; without one, search works by words and graph alone.
    pub fn embedder(&self) -> Option<&EmbedderSpec> {
        self.embedder.as_ref()
    }

    /// Every place where an embedder was looked for, for the message that says there is none.
    pub fn embedder_looked(&self) -> &[PathBuf] {
        &self.embedder_looked
    }

    /// The model folder of this run.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Every GGUF of the model folder, sorted by path.
    pub fn files(&self) -> &[Found] {
        &self.files
    }

    /// What was passed over, and why.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Candidates of a role, best first: what `models pull` can fetch.
    pub fn candidates(&self, role: Role) -> Vec<Candidate> {
        self.manifest.candidates(role)
    }
}

fn found(path: &Path, notes: &mut Vec<String>) -> Option<Found> {
    if is_part(path) {
        notes.push(format!("skipped: {} is one part of a split model; join the parts first", path.display()));
        return None;
    }
    Some(Found { path: path.to_owned(), header: gguf::inspect(path).map(Arc::new).map_err(Arc::new) })
}

/// `name-00001-of-00003.gguf`, as llama-gguf-split writes them.
fn is_part(path: &Path) -> bool {
    scan::matches("*-?????-of-?????.gguf", &name_of(path))
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn check_sha256(spec: &ModelSpec, memory: &Path) -> Result<(), ModelsError> {
    let Some(wanted) = &spec.sha256 else { return Ok(()) };
    let (role, path) = (spec.role, spec.path.clone());
    match digest::sha256(&path, memory) {
        Ok(found) if found == *wanted => Ok(()),
        Ok(found) => Err(ModelsError::Checksum { role, path, found, wanted: wanted.clone() }),
        Err(error) => Err(ModelsError::Unreadable { role, path, why: error.to_string() }),
    }
}

/// Everything the choice depends on.
struct Resolver<'a> {
    config: &'a Config,
    dir: &'a Path,
    places: &'a Places,
    manifest: &'a Manifest,
    files: &'a [Found],
}

/// A file that a role may take, with the checksum its candidate asks for.
struct Choice {
    path: PathBuf,
    header: Arc<Header>,
    sha256: Option<String>,
}

impl Resolver<'_> {
    fn planner(&self) -> Result<ModelSpec, ModelsError> {
        let role = Role::Planner;
        let choice = match self.named(role)? {
            Some(choice) => choice,
            None => self
                .preferred(role)
                .or_else(|| self.biggest())
                .or_else(|| self.cached(role, true))
                .ok_or_else(|| self.nothing(role))?,
        };
        Ok(self.spec(role, choice))
    }

    fn router(&self, planner: Option<&ModelSpec>) -> Result<ModelSpec, ModelsError> {
        let role = Role::Router;
        let choice = match self.named(role)? {
            Some(choice) => choice,
            None => self
                .preferred(role)
                .or_else(|| self.small_beside(planner))
                .or_else(|| planner.map(|spec| choice_of(&spec.header, spec.sha256.clone())))
                .or_else(|| self.biggest())
                .or_else(|| self.cached(role, true))
                .ok_or_else(|| self.nothing(role))?,
        };
        Ok(self.spec(role, choice))
    }

    /// What the user's models.toml names for the role. It has to be there and be usable.
    fn named(&self, role: Role) -> Result<Option<Choice>, ModelsError> {
        let candidates = self.manifest.candidates(role);
        let Some(candidate) = candidates.iter().find(|candidate| candidate.required) else { return Ok(None) };
        let beside_manifest = self.manifest.path.as_deref().and_then(Path::parent).unwrap_or(self.dir);
        let direct = [beside_manifest.join(&candidate.file), self.dir.join(&candidate.file)];
        let by_name = self.files.iter().find(|file| scan::matches(&candidate.file, &name_of(&file.path)));
        let path = direct
            .iter()
            .find(|path| path.is_file())
            .cloned()
            .or_else(|| by_name.map(|file| file.path.clone()))
            .or_else(|| self.in_cache(candidate));
        let Some(path) = path else {
            let looked = vec![beside_manifest.to_owned(), self.dir.to_owned(), self.places.hub_cache.clone()];
            return Err(ModelsError::NamedFileMissing { role, file: candidate.file.clone(), looked });
        };
        let header = gguf::inspect(&path).map_err(|error| ModelsError::Broken(Arc::new(error), role))?;
        usable(role, &header)?;
        Ok(Some(choice_of(&Arc::new(header), candidate.sha256.clone())))
    }

    /// The first candidate whose file is here; the hub's cache counts where the user named no folder.
    fn preferred(&self, role: Role) -> Option<Choice> {
        let candidates = self.manifest.candidates(role);
        let here = candidates.iter().filter(|candidate| !candidate.fallback).find_map(|candidate| {
            let header = self.usable().find(|header| scan::matches(&candidate.file, &name_of(&header.path)))?;
            Some(choice_of(header, candidate.sha256.clone()))
        });
        here.or_else(|| self.config.model_dir.is_none().then(|| self.cached(role, false)).flatten())
    }

    fn cached(&self, role: Role, fallback_too: bool) -> Option<Choice> {
        let candidates = self.manifest.candidates(role);
        candidates.iter().filter(|candidate| fallback_too || !candidate.fallback).find_map(|candidate| {
            let header = gguf::inspect(&self.in_cache(candidate)?).ok()?;
            usable(role, &header).ok()?;
            Some(choice_of(&Arc::new(header), candidate.sha256.clone()))
        })
    }

    fn in_cache(&self, candidate: &Candidate) -> Option<PathBuf> {
        scan::in_hub_cache(&self.places.hub_cache, candidate.hub.as_deref()?, candidate.download_name()?)
    }

    /// Headers of the folder that can generate text.
    fn usable(&self) -> impl Iterator<Item = &Arc<Header>> {
        let readable = self.files.iter().filter_map(|file| file.header.as_ref().ok());
        readable.filter(|header| architectures::can_generate(&header.architecture).is_ok())
    }

    /// The chat model with most parameters; a base model only where there is no other.
    fn biggest(&self) -> Option<Choice> {
        let biggest = self.usable().max_by_key(|header| (header.is_chat(), header.parameters))?;
        Some(choice_of(biggest, None))
    }

    /// A chat model that is called a router, else the smallest one if it is far smaller than the planner.
    fn small_beside(&self, planner: Option<&ModelSpec>) -> Option<Choice> {
        let chat = || self.usable().filter(|header| header.is_chat());
        let named = chat()
            .filter(|header| {
                let name = name_of(&header.path).to_lowercase();
                ["router", "tool", "1.2b"].iter().any(|word| name.contains(word))
            })
            .min_by_key(|header| header.parameters);
        let far_smaller = |header: &&Arc<Header>| {
            planner.is_some_and(|planner| header.parameters.saturating_mul(SMALLER) <= planner.header.parameters)
        };
        let small = named.or_else(|| chat().min_by_key(|header| header.parameters).filter(far_smaller))?;
        Some(choice_of(small, None))
    }

    /// The error for a role that nothing can play: the flaw of the only files there are, or where was looked.
    fn nothing(&self, role: Role) -> ModelsError {
        let unusable = self.files.iter().find_map(|file| match &file.header {
            Err(error) => Some(ModelsError::Broken(error.clone(), role)),
            Ok(header) => usable(role, header).err(),
        });
        unusable.unwrap_or_else(|| {
            let notes = if self.dir.is_dir() { " (no GGUF file there)" } else { " (no such folder)" };
            let looked = vec![self.places.hub_cache.clone(), self.dir.to_owned()];
            ModelsError::NoModel { role, looked, notes: notes.into() }
        })
    }

    fn spec(&self, role: Role, choice: Choice) -> ModelSpec {
        let table = self.manifest.table(role);
        ModelSpec {
            role,
            path: choice.path,
            header: choice.header,
            dialect: table.dialect.unwrap_or_else(|| "auto".into()),
            context: table.context.unwrap_or(CONTEXT_DEFAULT),
            slots: table.slots.unwrap_or(self.config.slots),
            kv_type: table.kv_type.unwrap_or_else(|| "q8_0".into()),
            gpu_layers: table.gpu_layers,
            keep_alive: Duration::from_secs(table.keep_alive_s.unwrap_or(KEEP_ALIVE_DEFAULT_S)),
            sha256: choice.sha256,
        }
    }

    /// In the model folder, beside it, in the user's own, in the hub's cache; and the places, in that order.
    fn embedder(&self, here: &[PathBuf]) -> (Option<EmbedderSpec>, Vec<PathBuf>) {
        let candidates = self.manifest.candidates(Role::Embedder);
        let best = |folders: &[PathBuf]| -> Option<PathBuf> {
            let named = candidates.iter().find_map(|candidate| {
                let direct = Some(self.dir.join(&candidate.file)).filter(|path| scan::is_embedder(path));
                direct.or_else(|| folders.iter().find(|dir| scan::matches(&candidate.file, &name_of(dir))).cloned())
            });
            let only_named = candidates.iter().any(|candidate| candidate.required);
            named.or_else(|| folders.first().filter(|_| !only_named).cloned())
        };
        let parent = self.dir.parent().map_or_else(|| self.dir.join(".."), Path::to_owned);
        let looked = vec![self.dir.to_owned(), parent, self.places.user_dir.clone(), self.places.hub_cache.clone()];
        let folder = best(here)
            .or_else(|| best(&scan::beside(self.dir)))
            .or_else(|| best(&scan::scan(&self.places.user_dir).unwrap_or_default().embedders))
            .or_else(|| candidates.iter().find_map(|candidate| self.embedder_in_cache(candidate)));
        let spec = folder.map(|path| EmbedderSpec { weights: scan::weights(&path), path });
        (spec, looked)
    }

    fn embedder_in_cache(&self, candidate: &Candidate) -> Option<PathBuf> {
        let config = scan::in_hub_cache(&self.places.hub_cache, candidate.hub.as_deref()?, "config.json")?;
        config.parent().filter(|dir| scan::is_embedder(dir)).map(Path::to_owned)
    }
}

/// A model this many times smaller than the planner is worth loading beside it.
const SMALLER: u64 = 4;

fn choice_of(header: &Arc<Header>, sha256: Option<String>) -> Choice {
    Choice { path: header.path.clone(), header: header.clone(), sha256 }
}

fn usable(role: Role, header: &Header) -> Result<(), ModelsError> {
    architectures::can_generate(&header.architecture).map_err(|why| ModelsError::Architecture {
        role,
        path: header.path.clone(),
        architecture: header.architecture.clone(),
        why,
    })
}

#[cfg(test)]
mod tests;
