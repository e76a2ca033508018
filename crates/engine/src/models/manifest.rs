//! Reads `models.toml`, which assigns models and their settings to roles.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::capability::Tier;
use super::dialect::DIALECTS;
use super::endpoint::{Endpoint, Key, SILENCE_S};
use super::gguf::Header;
pub use super::settings::KV_TYPES;
use super::{ModelsError, Pooling, Role, scan};
use super::{SamplingWish, Think};
use crate::base::Bytes;

/// The built-in file, which explains the format.
pub const SHIPPED: &str = include_str!("../../models.toml");

/// Default type of the KV cache. On a CPU, f16 reads prompts of 512 tokens 17 to 22 % faster than
/// q8_0, and prompts of 2,000 tokens 65 to 70 % faster (Qwen 2.5 0.5B and 1.5B, SmolLM2); if memory
/// is short, `budget::ladder` falls back to q8_0 first. An accelerator reads q8_0 as fast as f16,
/// in half the memory.
const KV_TYPE: &str = if crate::base::ACCELERATED { "q8_0" } else { "f16" };

/// Values of `capability`, which replaces measuring a model.
pub const CAPABILITIES: [&str; 2] = ["capable", "weak"];

/// A month. To keep a model forever, set 0.
const KEEP_ALIVE_MAX_S: u64 = 31 * 24 * 3600;

/// One `models.toml`.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    roles: BTreeMap<Role, RoleTable>,
    /// Path of the file; `None` for the built-in one.
    pub path: Option<PathBuf>,
}

/// One role's table as written in the file; `None` means the default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleTable {
    file: Option<String>,
    hub: Option<String>,
    sha256: Option<String>,
    #[serde(default)]
    models: Vec<Candidate>,
    /// The server whose model takes the role.
    url: Option<String>,
    /// The model's name on the server.
    model: Option<String>,
    key_file: Option<PathBuf>,
    key_env: Option<String>,
    timeout_silence_s: Option<u64>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    pub dialect: Option<String>,
    /// Context window in tokens per slot.
    pub context: Option<u32>,
    pub slots: Option<usize>,
    pub kv_type: Option<String>,
    pub gpu_layers: Option<u32>,
    pub keep_alive_s: Option<u64>,
    #[serde(default)]
    pub pinned: bool,
    /// `reads`, `writes` or `acts`; overrides the probe.
    pub tier: Option<Tier>,
    /// `capable` or `weak`; overrides the probe.
    pub capability: Option<String>,
    /// How much the model thinks.
    pub think: Option<Think>,
    /// How to sample free text; omitted values are the maker's.
    #[serde(default)]
    pub sampling: SamplingWish,
    /// LoRA adapters, all applied at once.
    #[serde(default)]
    pub lora: Vec<LoraTable>,
    /// How to pool the token vectors of a text, for a GGUF embedder.
    pub pooling: Option<Pooling>,
    /// The words before a text, for a GGUF embedder.
    pub prompts: Option<PromptTable>,
}

/// The words that an embedder expects before a text, by the text's purpose, as written in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PromptTable {
    pub query: String,
    pub document: String,
    /// Put before texts whose purpose is unknown, such as those sent to `/v1/embeddings`.
    pub plain: String,
}

/// One LoRA adapter as written in the file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoraTable {
    pub file: PathBuf,
    /// Scale factor of its change to the weights; 0 leaves the model unchanged.
    #[serde(default = "whole")]
    pub scale: f32,
}

fn whole() -> f32 {
    1.0
}

/// A model that may take a role.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// Name or pattern of a file (for the embedder, of a folder).
    pub file: String,
    /// `owner/repository` on the hub.
    pub hub: Option<String>,
    /// The file to pull, if `file` is a pattern.
    pub pull: Option<String>,
    /// 64 hexadecimal digits.
    pub sha256: Option<String>,
    /// Type of the KV cache for this model, unless a setting overrides it.
    pub kv_type: Option<String>,
    /// The tier measured by the probe.
    pub tier: Option<Tier>,
    /// Size of the file to pull, in billions of bytes.
    pub gb: Option<f64>,
    /// Number of coding tasks with hidden tests solved, out of 56; models.toml states the source.
    pub mark: Option<u32>,
    /// Whether it thinks by default before answering.
    #[serde(default)]
    pub thinks: bool,
    /// Whether monobloc was tried with it: `here` with the real file, `shape` with random weights.
    pub run: Option<String>,
    /// Used only if no other candidate is present; the largest available chat model is then chosen.
    #[serde(default)]
    pub fallback: bool,
    /// The user's own models.toml names it, so a missing file is an error.
    #[serde(skip)]
    pub required: bool,
}

/// Memory needed in addition to the file: keys and values of two slots of 8,192 tokens, working
/// memory, router and embedder.
const BESIDE: f64 = 1.5e9;

/// Maximum number of suggestions for one machine.
const SUGGESTED: usize = 4;

impl Candidate {
    /// Whether this is the model of `header`, judging by the file name or the name in the header.
    pub fn is(&self, header: &Header) -> bool {
        let file = header.path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        scan::matches(&self.file, &file)
            || scan::matches(&self.file, &format!("{}.gguf", header.name.replace(' ', "-")))
    }

    /// Its name for `models pull planner NAME`: the name of the repository.
    pub fn short_name(&self) -> Option<&str> {
        self.hub.as_deref()?.rsplit('/').next().map(|name| name.strip_suffix("-GGUF").unwrap_or(name))
    }

    /// Whether it was run, in words.
    pub fn was_run(&self) -> &'static str {
        match self.run.as_deref() {
            Some("here") => "run here",
            Some("shape") => "shape run here",
            _ => "not run",
        }
    }

    /// The exact file to download; `None` if only a pattern is known.
    pub fn download_name(&self) -> Option<&str> {
        self.pull.as_deref().or_else(|| (!self.file.contains(['*', '?'])).then_some(self.file.as_str()))
    }
}

impl Manifest {
    /// Reads the file at `path`; roles without candidates get those of the built-in file. With
    /// `None`, reads only the built-in file.
    pub fn read(path: Option<&Path>) -> Result<Manifest, ModelsError> {
        let shipped = Manifest::parse(SHIPPED, Path::new("the models.toml built into monobloc"))?;
        let Some(path) = path else { return Ok(shipped) };
        let fail = |why: String| ModelsError::Manifest { path: path.to_owned(), why };
        let text = fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
        let mut own = Manifest::parse(&text, path)?;
        own.path = Some(path.to_owned());
        for (role, table) in shipped.roles {
            let own = own.roles.entry(role).or_default();
            if own.models.is_empty() {
                own.models = table.models;
            }
        }
        Ok(own)
    }

    fn parse(text: &str, path: &Path) -> Result<Manifest, ModelsError> {
        let fail = |why: String| ModelsError::Manifest { path: path.to_owned(), why };
        let mut roles: BTreeMap<Role, RoleTable> = toml::from_str(text).map_err(|error| fail(error.to_string()))?;
        for (role, table) in &mut roles {
            table.settle().map_err(|why| fail(format!("[{role}] {why}")))?;
            if *role == Role::Reranker && table.url.is_some() {
                return Err(fail(format!(
                    "[{role}] has `url`, but only a GGUF file can score hits; name it as `file`"
                )));
            }
            let of_file = [("pooling", table.pooling.is_some()), ("prompts", table.prompts.is_some())];
            if let Some((key, _)) = of_file.iter().find(|(_, is_set)| *is_set && *role != Role::Embedder) {
                return Err(fail(format!("[{role}] has `{key}`, which only [embedder] accepts; leave it out")));
            }
            if let Some((key, _)) = of_file.iter().find(|(_, is_set)| *is_set && table.url.is_some()) {
                return Err(fail(format!(
                    "[{role}] has `{key}` and `url`, but the server decides that; leave one out"
                )));
            }
        }
        Ok(Manifest { roles, path: None })
    }

    /// The table of a role; an empty one if the file has none.
    pub fn table(&self, role: Role) -> RoleTable {
        self.roles.get(&role).cloned().unwrap_or_default()
    }

    /// The candidates for any role that match the file named `name`.
    fn matching(&self, name: &str) -> impl Iterator<Item = &Candidate> {
        self.roles.values().flat_map(|table| &table.models).filter(move |one| scan::matches(&one.file, name))
    }

    /// Type of the KV cache for the file named `name`: that of the first matching candidate for any
    /// role, or else the default.
    pub fn kv_type(&self, name: &str) -> String {
        let said = self.matching(name).find_map(|candidate| candidate.kv_type.clone());
        said.unwrap_or_else(|| KV_TYPE.to_owned())
    }

    /// The tier of the file named `name`, if a matching candidate has one, in this manifest or else
    /// in the built-in one.
    pub fn tier(&self, name: &str) -> Option<Tier> {
        let of = |manifest: &Manifest| manifest.matching(name).find_map(|candidate| candidate.tier);
        of(self).or_else(|| of(&Manifest::parse(SHIPPED, Path::new("models.toml")).ok()?))
    }

    /// The best planners that can be pulled and fit into `memory`, best first.
    pub fn suggest(&self, memory: Bytes) -> Vec<Candidate> {
        let fits = |one: &Candidate| one.gb.is_some_and(|gb| gb * 1e9 + BESIDE <= memory.0 as f64) && one.hub.is_some();
        self.candidates(Role::Planner).into_iter().filter(fits).take(SUGGESTED).collect()
    }

    /// The server whose model takes a role: the one at `url` if an option sets it, otherwise the
    /// one in the role's table.
    pub fn endpoint(&self, role: Role, url: Option<&str>) -> Result<Option<Endpoint>, ModelsError> {
        let path = self.path.clone().unwrap_or_else(|| PathBuf::from("models.toml"));
        let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
        let fail = |why: String| ModelsError::Manifest { path, why: format!("[{role}] {why}") };
        let by_table = self.table(role).endpoint(&folder).map_err(fail)?;
        let Some(url) = url else { return Ok(by_table) };
        let named = Endpoint::new(url).map_err(|why| ModelsError::Url { role, why })?;
        // A server's key is never sent to another server.
        Ok(Some(by_table.filter(|table| table.url() == named.url()).unwrap_or(named)))
    }

    /// Candidates of a role, best first.
    pub fn candidates(&self, role: Role) -> Vec<Candidate> {
        self.table(role).models
    }
}

impl RoleTable {
    /// The server of the table; paths are relative to `folder`.
    fn endpoint(&self, folder: &Path) -> Result<Option<Endpoint>, String> {
        let beside = [
            ("model", self.model.is_some()),
            ("key_file", self.key_file.is_some()),
            ("key_env", self.key_env.is_some()),
            ("timeout_silence_s", self.timeout_silence_s.is_some()),
            ("headers", !self.headers.is_empty()),
        ];
        let Some(url) = &self.url else {
            let stray = beside.iter().find(|(_, is_set)| *is_set);
            return stray.map_or(Ok(None), |(key, _)| Err(format!("has `{key}` without `url`; name the server too")));
        };
        let mut endpoint = Endpoint::new(url).map_err(|why| format!("has a url that {why}"))?;
        endpoint.key = match (&self.key_file, &self.key_env) {
            (Some(_), Some(_)) => return Err("has key_file and key_env; leave one out".to_owned()),
            (Some(file), None) => Key::File(at_home(file).unwrap_or_else(|| folder.join(file))),
            (None, Some(name)) => Key::Variable(name.clone()),
            (None, None) => Key::None,
        };
        endpoint.model = self.model.clone();
        endpoint.context = self.context.map(|context| context as usize);
        within("timeout_silence_s", self.timeout_silence_s, SILENCE_S)?;
        endpoint.silence = self.timeout_silence_s.map_or(endpoint.silence, std::time::Duration::from_secs);
        for (name, value) in &self.headers {
            endpoint.set_header(name, value)?;
        }
        Ok(Some(endpoint))
    }

    /// The table for the model file that replaces the role's server: settings of the server's model
    /// do not apply to it.
    pub fn of_file(self) -> RoleTable {
        if self.url.is_none() { self } else { RoleTable { tier: None, capability: None, context: None, ..self } }
    }

    /// Checks the values, and turns `file` and `hub` of the table itself into its only, required candidate.
    fn settle(&mut self) -> Result<(), String> {
        if let Some(file) = self.file.take() {
            let (hub, sha256) = (self.hub.take(), self.sha256.take());
            self.models = vec![Candidate { file, hub, sha256, required: true, ..Candidate::default() }];
        } else if self.hub.is_some() || self.sha256.is_some() {
            return Err("has `hub` or `sha256` without `file`; name the file too".into());
        }
        for candidate in &mut self.models {
            if let Some(sha256) = &mut candidate.sha256 {
                sha256.make_ascii_lowercase();
                if sha256.len() != 64 || !sha256.chars().all(|c| c.is_ascii_hexdigit()) {
                    return Err(format!("has sha256 = \"{sha256}\", which is not 64 hexadecimal digits"));
                }
            }
            one_of("kv_type", candidate.kv_type.as_deref(), &KV_TYPES)?;
            one_of("run", candidate.run.as_deref(), &["here", "shape"])?;
            if let Some(gb) = candidate.gb.filter(|gb| !(0.0..10_000.0).contains(gb)) {
                return Err(format!("has gb = {gb}; write the size of the file in billions of bytes"));
            }
            if candidate.hub.as_deref().is_some_and(|hub| hub.split('/').filter(|part| !part.is_empty()).count() != 2) {
                return Err("has a `hub` that is not of the form owner/repository".into());
            }
        }
        self.endpoint(Path::new(""))?;
        one_of("dialect", self.dialect.as_deref(), &DIALECTS)?;
        one_of("capability", self.capability.as_deref(), &CAPABILITIES)?;
        one_of("kv_type", self.kv_type.as_deref(), &KV_TYPES)?;
        within("context", self.context.map(u64::from), 256..=1 << 20)?;
        within("slots", self.slots.map(|slots| slots as u64), 1..=16)?;
        within("keep_alive_s", self.keep_alive_s, 0..=KEEP_ALIVE_MAX_S)?;
        in_range(self.sampling)?;
        match self.lora.iter().find(|lora| !lora.scale.is_finite()) {
            Some(lora) => {
                Err(format!("has a lora scale of {} for {}; write a finite number", lora.scale, lora.file.display()))
            }
            None => Ok(()),
        }
    }
}

/// The file that a path beginning with `~/` refers to.
fn at_home(path: &Path) -> Option<PathBuf> {
    Some(std::env::home_dir()?.join(path.strip_prefix("~").ok()?))
}

/// Checks the values of a `sampling` table.
fn in_range(sampling: SamplingWish) -> Result<(), String> {
    let SamplingWish { temperature, top_p, min_p, repetition_penalty, frequency_penalty, presence_penalty, .. } =
        sampling;
    let given = [temperature, top_p, min_p, repetition_penalty, frequency_penalty, presence_penalty];
    for ((key, least, most), value) in SamplingWish::RANGES.into_iter().zip(given) {
        if let Some(value) = value.filter(|value| !(least..=most).contains(value)) {
            return Err(format!("has sampling = {{ {key} = {value} }}; write a number from {least} to {most}"));
        }
    }
    Ok(())
}

fn one_of(key: &str, value: Option<&str>, allowed: &[&str]) -> Result<(), String> {
    match value {
        Some(value) if !allowed.contains(&value) => {
            Err(format!("has {key} = \"{value}\"; write one of {}", allowed.join(", ")))
        }
        _ => Ok(()),
    }
}

fn within(key: &str, value: Option<u64>, allowed: std::ops::RangeInclusive<u64>) -> Result<(), String> {
    match value {
        Some(value) if !allowed.contains(&value) => {
            Err(format!("has {key} = {value}; it must be from {} to {}", allowed.start(), allowed.end()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let said = Manifest::parse(text, Path::new("models.toml")).unwrap_err().to_string();
        assert!(said.starts_with("models.toml") && said.contains(expected), "`{said}` does not say `{expected}`");
    }

    #[test]
    fn the_shipped_planners_go_from_the_best_known_to_the_small_default() {
        let planner = Manifest::read(None).unwrap().candidates(Role::Planner);
        let marks: Vec<u32> = planner.iter().filter_map(|candidate| candidate.mark).collect();
        assert!(marks.is_sorted_by(|a, b| a >= b), "{marks:?}");
        assert!(planner[planner.len() - 1].fallback);
        for candidate in planner.iter().filter(|candidate| candidate.hub.is_some()) {
            assert!(candidate.download_name().is_some() && candidate.gb.is_some(), "{}", candidate.file);
        }
    }

    #[test]
    fn a_machine_is_offered_the_best_that_it_can_hold() {
        let shipped = Manifest::read(None).unwrap();
        let best = |gib: u64| {
            let all = shipped.suggest(Bytes::gib(gib));
            assert!(all.len() <= SUGGESTED);
            all.first().and_then(Candidate::short_name).map(str::to_owned)
        };
        assert_eq!(best(1), None);
        assert_eq!(best(2).as_deref(), Some("SmolLM2-135M-Instruct"));
        assert_eq!(best(4).as_deref(), Some("Qwen3.5-2B"));
        assert_eq!(best(8).as_deref(), Some("gemma-4-E4B-it"));
        assert_eq!(best(16).as_deref(), Some("LFM2-24B-A2B"));
        assert_eq!(best(32).as_deref(), Some("gemma-4-26B-A4B-it"));
    }

    #[test]
    fn a_wrong_value_is_named_with_its_role_and_key() {
        check("[reranker]\nurl = \"http://a/v1\"", "[reranker] has `url`, but only a GGUF file can score hits");
        check("[draft]\nfile = \"a\"", "`draft`");
        check("[planner]\nfile = \"a\"\nslots = 17", "[planner] has slots = 17; it must be from 1 to 16");
        check("[planner]\ndialect = \"klingon\"", "write one of auto, lfm2");
        check("[router]\nkv_type = \"q3\"", "write one of f16");
        check("[planner]\ncapability = \"clever\"", "write one of capable, weak");
        check("[router]\ncontext = 8", "[router] has context = 8");
        check("[planner]\nfile = \"a\"\nsha256 = \"12\"", "not 64 hexadecimal digits");
        check("[planner]\nhub = \"a/b\"", "name the file too");
        check("[planner]\nfile = \"a\"\nhub = \"a\"", "owner/repository");
        check("[planner]\nlora = [{ file = \"a\", scale = nan }]", "[planner] has a lora scale of NaN for a");
        check("[planner]\nlora = [{ scale = 1.0 }]", "missing field `file`");
        check("[planner]\nsampling = { temperature = -1 }", "temperature = -1 }; write a number from 0 to 10");
        check("[planner]\nthink = \"much\"", "must be off, auto or a number of tokens");
        check("[planner]\nsampling = { heat = 1 }", "unknown field `heat`");
        check(
            "[planner]\nkeep_alive_s = 9999999",
            "[planner] has keep_alive_s = 9999999; it must be from 0 to 2678400",
        );
        check("[planner]\nmodel = \"a\"", "[planner] has `model` without `url`; name the server too");
        check("[planner]\nurl = \"box\"", "[planner] has a url that is not a URL");
        check("[planner]\nurl = \"http://a\"\nkey_file = \"k\"\nkey_env = \"K\"", "leave one out");
        check(
            "[planner]\nurl = \"http://a\"\ntimeout_silence_s = 0",
            "has timeout_silence_s = 0; it must be from 1 to 86400",
        );
        check("[planner]\nurl = \"http://a\"\nheaders = { Host = \"b\" }", "sets the header Host");
        check("[router]\npooling = \"mean\"", "[router] has `pooling`, which only [embedder] accepts");
        check("[embedder]\nurl = \"http://a\"\nprompts = { query = \"q: \" }", "`prompts` and `url`");
        check("[embedder]\npooling = \"max\"", "unknown variant `max`");
        check("[planner", "models.toml");
    }

    #[test]
    fn an_option_names_another_server_without_the_key_of_the_first() {
        let text = "[planner]\nurl = \"http://a\"\nkey_env = \"K\"\nmodel = \"m\"\ncontext = 4096";
        let manifest = Manifest::parse(text, Path::new("models.toml")).unwrap();
        let endpoint = |url| manifest.endpoint(Role::Planner, url).unwrap().unwrap();
        let by_table = endpoint(None);
        assert_eq!(
            (by_table.url(), by_table.model.as_deref(), by_table.context),
            ("http://a/v1", Some("m"), Some(4096))
        );
        assert_eq!(endpoint(Some("http://a/v1/")), by_table);
        assert_eq!(endpoint(Some("http://b")), Endpoint::new("http://b").unwrap());
        assert!(manifest.endpoint(Role::Router, None).unwrap().is_none());
    }

    #[test]
    fn a_role_left_out_keeps_the_shipped_candidates() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("models.toml");
        fs::write(&path, "[planner]\nfile = \"mine.gguf\"\n[router]\nslots = 1").unwrap();
        let manifest = Manifest::read(Some(&path)).unwrap();
        assert_eq!(manifest.candidates(Role::Planner).len(), 1);
        assert!(manifest.candidates(Role::Planner)[0].required);
        assert!(manifest.candidates(Role::Router).len() > 1);
        assert_eq!(manifest.table(Role::Router).slots, Some(1));
        assert!(!manifest.candidates(Role::Embedder).is_empty());
    }
}
