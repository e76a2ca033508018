//! Chooses each role's model: specified in models.toml, a built-in candidate, by size or name, or in the hub's cache.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::{EmbedderSpec, EmbedderWishes, Found, ModelSpec, Places, RerankerSpec, name_of, whole_models};
use crate::models::gguf::{self, Header, Kind};
use crate::models::manifest::{Candidate, Manifest};
use crate::models::{Adapter, ModelsError, Pooling, Ranking, Role, Tier, architectures, projector, scan};
use crate::models::{FlashAttention, ModelSettings};

/// Everything the choice depends on.
pub(super) struct Resolver<'a> {
    pub config: &'a ModelSettings,
    pub dir: &'a Path,
    pub places: &'a Places,
    pub manifest: &'a Manifest,
    pub files: &'a [Found],
}

/// A file chosen for a role, with the checksum that its candidate requires.
pub(super) struct Choice {
    pub path: PathBuf,
    pub header: Arc<Header>,
    pub sha256: Option<String>,
}

impl Resolver<'_> {
    pub fn planner(&self) -> Result<ModelSpec, ModelsError> {
        self.chosen(Role::Planner, || self.preferred(Role::Planner))
    }

    pub fn router(&self, planner: Option<&ModelSpec>) -> Result<ModelSpec, ModelsError> {
        self.chosen(Role::Router, || {
            self.preferred(Role::Router)
                .or_else(|| self.small_beside(planner))
                .or_else(|| planner.map(|spec| choice_of(&spec.header, spec.sha256.clone())))
        })
    }

    /// The model of a role that exists only if models.toml sets it; `None` if it is not set, or if
    /// none of the listed files is present.
    pub fn extra(&self, role: Role) -> Option<Result<ModelSpec, ModelsError>> {
        let choice = self.named(role).transpose().or_else(|| self.preferred(role).map(Ok))?;
        Some(choice.and_then(|choice| settled(role, choice, self.manifest, self.config, self.dir, self.files)))
    }

    /// The file specified by the user, or else the one found by `first`, or else the largest model
    /// present.
    fn chosen(&self, role: Role, first: impl Fn() -> Option<Choice>) -> Result<ModelSpec, ModelsError> {
        let choice = match self.named(role)? {
            Some(choice) => choice,
            None => first()
                .or_else(|| self.biggest(role))
                .or_else(|| self.cached(role, true))
                .ok_or_else(|| self.nothing(role))?,
        };
        settled(role, choice, self.manifest, self.config, self.dir, self.files)
    }

    /// The file that the user's models.toml specifies for the role; an error if it is missing or
    /// unusable.
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

    /// The first candidate that is not a fallback, from the model folder; also from the hub's cache
    /// if the user specified no folder.
    fn preferred(&self, role: Role) -> Option<Choice> {
        let candidates = self.manifest.candidates(role);
        let here = candidates.iter().filter(|candidate| !candidate.fallback).find_map(|candidate| {
            let header = self.usable().find(|header| candidate.is(header))?;
            Some(choice_of(header, candidate.sha256.clone()))
        });
        here.or_else(|| self.config.model_dir.is_none().then(|| self.cached(role, false)).flatten())
    }

    fn cached(&self, role: Role, fallback_too: bool) -> Option<Choice> {
        let candidates = self.manifest.candidates(role);
        candidates
            .iter()
            .filter(|candidate| fallback_too || !candidate.fallback)
            .find_map(|candidate| self.cached_as(role, candidate))
    }

    fn cached_as(&self, role: Role, candidate: &Candidate) -> Option<Choice> {
        let header = gguf::inspect(&self.in_cache(candidate)?).ok()?;
        usable(role, &header).ok()?;
        Some(choice_of(&Arc::new(header), candidate.sha256.clone()))
    }

    fn in_cache(&self, candidate: &Candidate) -> Option<PathBuf> {
        scan::in_hub_cache(&self.places.hub_cache, candidate.hub.as_deref()?, candidate.download_name()?)
    }

    /// Headers of the models in the folder that can generate text.
    fn usable(&self) -> impl Iterator<Item = &Arc<Header>> {
        let readable = self.files.iter().filter_map(|file| file.header.as_ref().ok());
        readable.filter(|header| header.kind.writes_text() && architectures::can_generate(&header.architecture).is_ok())
    }

    /// The chat model with the most parameters; a base model only if there is no other. If the user
    /// specified no folder, fallbacks in the hub's cache are included, so that a downloaded one is
    /// preferred to a smaller one in the folder.
    fn biggest(&self, role: Role) -> Option<Choice> {
        let everywhere = self.config.model_dir.is_none();
        let fallbacks = self.manifest.candidates(role).into_iter().filter(|one| everywhere && one.fallback);
        let pulled = fallbacks.filter_map(|candidate| self.cached_as(role, &candidate));
        let here = self.usable().map(|header| choice_of(header, None));
        pulled.chain(here).max_by_key(|choice| (choice.header.is_chat(), choice.header.parameters))
    }

    /// The smallest chat model whose name contains "router", "tool" or "1.2b", or else the smallest
    /// one if it is far smaller than the planner. Fallback planners are excluded: SmolLM2 chooses
    /// tools worse than the planner does.
    fn small_beside(&self, planner: Option<&ModelSpec>) -> Option<Choice> {
        let fallbacks: Vec<Candidate> =
            self.manifest.candidates(Role::Planner).into_iter().filter(|candidate| candidate.fallback).collect();
        let is_fallback = |header: &Header| fallbacks.iter().any(|candidate| candidate.is(header));
        let chat = || self.usable().filter(|header| header.is_chat() && !is_fallback(header));
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

    /// The error for a role without a model: the flaw of the first unusable file, or else the
    /// places searched.
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

    /// The model that scores hits of a search: the file that models.toml names, or the first of its
    /// list that is here.
    pub fn reranker(&self) -> Option<Result<RerankerSpec, ModelsError>> {
        let role = Role::Reranker;
        let candidates = self.manifest.candidates(role);
        let beside_manifest = self.manifest.path.as_deref().and_then(Path::parent).unwrap_or(self.dir);
        let files = self.files.iter().map(|file| (file.name.clone(), file.path.clone())).collect();
        let here = Place { folders: Vec::new(), files };
        let find = |candidate: &Candidate| {
            let direct = [beside_manifest, self.dir].map(|folder| folder.join(&candidate.file));
            let direct = direct.into_iter().find(|path| path.is_file());
            direct.or_else(|| here.called(candidate)).or_else(|| self.in_cache(candidate))
        };
        let Some((path, candidate)) = candidates.iter().find_map(|candidate| Some((find(candidate)?, candidate)))
        else {
            let named = candidates.iter().find(|candidate| candidate.required)?;
            let looked = vec![beside_manifest.to_owned(), self.dir.to_owned(), self.places.hub_cache.clone()];
            return Some(Err(ModelsError::NamedFileMissing { role, file: named.file.clone(), looked }));
        };
        let spec =
            gguf::inspect(&path).map_err(|error| ModelsError::Broken(Arc::new(error), role)).and_then(|header| {
                let ranking = Ranking::of(&header);
                let ranking = ranking.map_err(|why| ModelsError::Unfit { role, path: path.clone(), why })?;
                Ok(RerankerSpec { path, header: Arc::new(header), ranking, sha256: candidate.sha256.clone() })
            });
        Some(spec)
    }

    /// The embedding model: the one that models.toml names; else the first candidate that is in any
    /// of the places; else the first embedder in them, folders before GGUF files. Also the places,
    /// for the message when there is none. `here`: the embedder folders of the model folder.
    pub fn embedder(&self, here: &[PathBuf]) -> (Option<EmbedderSpec>, Vec<PathBuf>) {
        let candidates = self.manifest.candidates(Role::Embedder);
        let only_named = candidates.iter().any(|candidate| candidate.required);
        let (places, far) = self.embedder_places(here);
        let candidate = |candidate: &Candidate| {
            let direct = Some(self.dir.join(&candidate.file)).filter(|path| scan::is_embedder(path));
            direct
                .or_else(|| places.iter().find_map(|place| place.called(candidate)))
                .or_else(|| self.embedder_in_cache(candidate))
                .or_else(|| far.called(candidate))
        };
        let path = self
            .named_embedder(&candidates)
            .or_else(|| candidates.iter().find_map(candidate))
            .or_else(|| places.iter().chain([&far]).flat_map(|place| self.embedders_in(place)).find(|_| !only_named));
        let own = std::iter::once(self.dir.to_owned()).chain(scan::above(self.dir));
        let mut looked: Vec<PathBuf> =
            own.chain([self.places.user_dir.clone(), self.places.hub_cache.clone()]).collect();
        looked.dedup();
        (path.map(|path| self.embedder_spec(path)), looked)
    }

    /// Every embedder that can be used without a word in models.toml, the nearest first, each file
    /// once.
    pub fn embedders(&self, here: &[PathBuf]) -> Vec<EmbedderSpec> {
        let (places, far) = self.embedder_places(here);
        let cached = self.manifest.candidates(Role::Embedder).into_iter();
        let cached = cached.filter_map(|candidate| self.embedder_in_cache(&candidate));
        let found = places.iter().flat_map(|place| self.embedders_in(place)).chain(cached);
        let mut seen = HashSet::new();
        let found = found.chain(self.embedders_in(&far)).filter(|path| seen.insert(path.canonicalize().ok()));
        found.map(|path| self.embedder_spec(path)).collect()
    }

    /// Where embedders are looked for: the model folder, the folders next to it and the user's
    /// folder; and other programs' stores, which come last.
    fn embedder_places(&self, here: &[PathBuf]) -> ([Place; 3], Place) {
        let named = |file: &Found| (file.name.clone(), file.path.clone());
        let (near, far): (Vec<&Found>, Vec<&Found>) =
            self.files.iter().partition(|file| file.path.starts_with(self.dir));
        let near = Place { folders: here.to_owned(), files: near.into_iter().map(named).collect() };
        let far = Place { folders: Vec::new(), files: far.into_iter().map(named).collect() };
        let beside = Place { folders: scan::beside(self.dir), files: Vec::new() };
        let user = if self.dir == self.places.user_dir {
            Place::default()
        } else {
            let there = scan::scan(&self.places.user_dir).unwrap_or_default();
            let plain = whole_models(there.ggufs).into_iter().map(|path| (name_of(&path), path));
            Place { folders: there.embedders, files: plain.chain(there.ollama).collect() }
        };
        ([near, beside, user], far)
    }

    /// The embedders in a place. Reads headers of files.
    fn embedders_in<'a>(&'a self, place: &'a Place) -> impl Iterator<Item = PathBuf> + 'a {
        let embeds = |path: &&PathBuf| match self.files.iter().find(|file| file.path == **path) {
            Some(file) => file.header.as_ref().is_ok_and(|header| Pooling::of(header, None).is_ok()),
            None => gguf::inspect(path).is_ok_and(|header| Pooling::of(&header, None).is_ok()),
        };
        place.folders.iter().chain(place.files.iter().map(|(_, path)| path).filter(embeds)).cloned()
    }

    fn embedder_spec(&self, path: PathBuf) -> EmbedderSpec {
        let table = self.manifest.table(Role::Embedder);
        let candidates = self.manifest.candidates(Role::Embedder);
        let named = candidates.iter().find(|candidate| candidate.required);
        let sha256 = named.and_then(|candidate| candidate.sha256.clone());
        let found = self.files.iter().find(|file| file.path == path && file.from == Some("Ollama"));
        EmbedderSpec {
            name: found.map_or_else(|| name_of(&path), |file| file.name.clone()),
            weights: if path.is_file() { vec![path.clone()] } else { scan::weights(&path) },
            wishes: EmbedderWishes { pooling: table.pooling, prompts: table.prompts, sha256 },
            path,
        }
    }

    /// The GGUF file that models.toml specifies by path, whatever it contains: its flaws are
    /// reported when it is opened.
    fn named_embedder(&self, candidates: &[Candidate]) -> Option<PathBuf> {
        let named = candidates.iter().find(|candidate| candidate.required)?;
        let beside_manifest = self.manifest.path.as_deref().and_then(Path::parent).unwrap_or(self.dir);
        [beside_manifest, self.dir].map(|folder| folder.join(&named.file)).into_iter().find(|path| path.is_file())
    }

    fn embedder_in_cache(&self, candidate: &Candidate) -> Option<PathBuf> {
        let config = scan::in_hub_cache(&self.places.hub_cache, candidate.hub.as_deref()?, "config.json")?;
        config.parent().filter(|dir| scan::is_embedder(dir)).map(Path::to_owned)
    }
}

/// What may be an embedder in a place: folders, and GGUF files with the names to show.
#[derive(Default)]
struct Place {
    folders: Vec<PathBuf>,
    files: Vec<(String, PathBuf)>,
}

impl Place {
    /// The folder or file of the candidate, whatever a file contains: by its own name or by
    /// Ollama's name for it.
    fn called(&self, candidate: &Candidate) -> Option<PathBuf> {
        let fits = |name: &str| scan::matches(&candidate.file, name);
        let is_called = |(name, path): &&(String, PathBuf)| {
            fits(&name_of(path)) || fits(name) || name.strip_suffix(":latest").is_some_and(fits)
        };
        let folder = self.folders.iter().find(|folder| fits(&name_of(folder)));
        folder.or_else(|| self.files.iter().find(is_called).map(|(_, path)| path)).cloned()
    }
}

/// Type of the KV cache for `file` if its role sets none: from the user's setting, or else from its
/// candidate in models.toml.
pub(super) fn kv_type(manifest: &Manifest, config: &ModelSettings, file: &Path) -> String {
    // Without flash attention, only f16 can be read.
    let by_default = || match config.flash_attention {
        FlashAttention::Off => "f16".to_owned(),
        FlashAttention::Auto | FlashAttention::On => manifest.kv_type(&name_of(file)),
    };
    config.kv_type.clone().unwrap_or_else(by_default)
}

/// The chosen file with the settings of `role`; fails if it cannot generate text or an adapter does
/// not fit.
pub(super) fn settled(
    role: Role,
    choice: Choice,
    manifest: &Manifest,
    config: &ModelSettings,
    dir: &Path,
    files: &[Found],
) -> Result<ModelSpec, ModelsError> {
    usable(role, &choice.header)?;
    let table = manifest.table(role).of_file();
    let places = [manifest.path.as_deref().and_then(Path::parent).unwrap_or(dir), dir];
    let lora = table.lora.iter().map(|lora| Adapter::open(role, lora, &choice.header, &places));
    let kv_type = table.kv_type.unwrap_or_else(|| kv_type(manifest, config, &choice.path));
    let capable = table.capability.map(|said| said == "capable");
    // A model declared weak in models.toml must not write changes.
    let tier = table.tier.or((capable == Some(false)).then_some(Tier::Reads));
    let tier = tier.or_else(|| manifest.tier(&name_of(&choice.path)));
    Ok(ModelSpec {
        role,
        beside: projector::beside(&choice.header, files),
        lora: lora.collect::<Result<_, _>>()?,
        path: choice.path,
        header: choice.header,
        dialect: table.dialect.unwrap_or_else(|| "auto".into()),
        context: table.context.unwrap_or(config.context),
        slots: table.slots.unwrap_or(config.slots),
        kv_type,
        gpu_layers: table.gpu_layers,
        keep_alive: Duration::from_secs(table.keep_alive_s.unwrap_or(config.keep_alive_s)),
        pinned: table.pinned,
        capable,
        tier,
        think: config.think.or(table.think).unwrap_or_default(),
        sampling: config.sampling.or(table.sampling),
        sha256: choice.sha256,
    })
}

/// How many times smaller than the planner a model must be to be worth loading as router.
const SMALLER: u64 = 4;

fn choice_of(header: &Arc<Header>, sha256: Option<String>) -> Choice {
    Choice { path: header.path.clone(), header: header.clone(), sha256 }
}

fn usable(role: Role, header: &Header) -> Result<(), ModelsError> {
    match header.kind {
        Kind::Chat | Kind::Base => {}
        Kind::Adapter => return Err(ModelsError::OnlyAdapter { role, path: header.path.clone() }),
        kind => return Err(ModelsError::NoText { role, path: header.path.clone(), kind: kind.name() }),
    }
    architectures::can_generate(&header.architecture).map_err(|why| ModelsError::Architecture {
        role,
        path: header.path.clone(),
        architecture: header.architecture.clone(),
        why,
    })
}
