//! Decides which file plays which role: what models.toml says first, then what names and headers say.

mod resolve;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::gguf::{self, GgufError, Header};
use super::manifest::{Candidate, Manifest};
use super::{ModelsError, Role, digest, places, scan};
use crate::base::Config;

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
        let resolver = resolve::Resolver { config, dir: &dir, places: &places, manifest: &manifest, files: &files };
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

#[cfg(test)]
mod tests;
