//! Resolves every setting from flags, variables, files and defaults, in this order of precedence, with its origin.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::de::value::Error as NoChoice;
use serde::de::{DeserializeOwned, IntoDeserializer};

use super::file::{self, ConfigError, Place, Said};
use super::setting::{SETTINGS, Setting, Trust, of_key};
use super::{Bounds, Cognitive, Commands, Config, Consent, Rule, SamplingWish, Server, Think, TurnTime, consent};
use crate::base::near::nearest;
use crate::base::{Bytes, Hidden};

/// The inputs of a run, before any file is read.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Flags as typed, by the setting's key.
    pub flags: BTreeMap<&'static str, OsString>,
    /// Environment variables that begin with `MONOBLOC_`.
    pub variables: BTreeMap<String, OsString>,
    /// The user's configuration file, unless a flag or variable names a different one.
    pub user_file: PathBuf,
    /// The file that stores consent to projects' files.
    pub consents: PathBuf,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    UserFile(Place),
    ProjectFile(Place),
    Variable,
    Flag,
}

/// A setting and its value.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub setting: &'static Setting,
    /// `None` if the machine or a model decides. Only a path can contain non-UTF-8 bytes.
    pub value: Option<OsString>,
    pub origin: Origin,
}

impl Resolved {
    fn by_default(setting: &'static Setting) -> Resolved {
        Resolved { setting, value: setting.default.map(OsString::from), origin: Origin::Default }
    }
}

/// All settings, rules and servers of a run, with their origins.
#[derive(Clone, Debug)]
pub struct Settings {
    pub values: Vec<Resolved>,
    pub rules: Vec<Rule>,
    pub servers: Vec<Server>,
    pub user_file: PathBuf,
    pub project_file: PathBuf,
    /// Whether the project has a file and the user has consented to it.
    pub consented: bool,
    /// Entries in the project's file that are ignored without consent, for messages.
    pub left_out: Vec<String>,
    /// Messages about variables that resemble settings but are not.
    pub unknown_variables: Vec<String>,
}

/// Variables of this program that are not settings.
const OTHER_VARIABLES: [&str; 4] = ["MONOBLOC_LOG", "MONOBLOC_TEST_MODELS", "MONOBLOC_BENCH_FILES", "MONOBLOC_TOKEN"];

/// The configuration file of a project.
pub fn project_file(project: &Path) -> PathBuf {
    project.join(".monobloc").join("config.toml")
}

/// Reads the user's and the project's files and resolves all settings. Fails on the first invalid
/// flag, variable or file entry.
pub fn resolve(given: &Given) -> Result<Settings, ConfigError> {
    let files = Files::read(given)?;
    let mut left_out = Vec::new();
    let mut values = Vec::new();
    for setting in &SETTINGS {
        let held = files.value(setting, &mut left_out);
        values.push(given.value(setting)?.unwrap_or(held));
    }
    let Files { user, own, user_file, project_file, consented } = files;
    let rules = rules(user.rules, own.rules, consented, &mut left_out);
    let servers = servers(user.servers, own.servers, consented, &mut left_out)?;
    let unknown_variables = given.variables.keys().filter(|name| !known(name)).map(|name| unknown(name)).collect();
    Ok(Settings { values, rules, servers, user_file, project_file, consented, left_out, unknown_variables })
}

impl Given {
    /// A setting's value from a flag, else from an environment variable.
    fn value(&self, setting: &'static Setting) -> Result<Option<Resolved>, ConfigError> {
        if let Some(text) = self.flags.get(setting.key) {
            let read = setting.read_flag(text);
            let wrong = |expected| ConfigError::Flag {
                flag: setting.flag.to_owned(),
                value: setting.kind.show(text),
                expected,
            };
            return Ok(Some(Resolved { setting, value: Some(read.map_err(wrong)?), origin: Origin::Flag }));
        }
        let Some(text) = self.variables.get(setting.variable).filter(|text| !text.is_empty()) else { return Ok(None) };
        let wrong = |expected| ConfigError::Variable {
            variable: setting.variable.to_owned(),
            value: setting.kind.show(text),
            expected,
        };
        let value = setting.read_variable(text).map_err(wrong)?;
        Ok(Some(Resolved { setting, value: Some(value), origin: Origin::Variable }))
    }

    /// A setting's path from a flag or environment variable, else `default`.
    fn path(&self, key: &str, default: &Path) -> Result<PathBuf, ConfigError> {
        let resolved = of_key(key).map(|setting| self.value(setting)).transpose()?.flatten();
        Ok(resolved.and_then(|one| one.value).map_or(default.to_owned(), PathBuf::from))
    }
}

/// The two configuration files of a run.
struct Files {
    user: Said,
    /// The settings of the project's own file.
    own: Said,
    user_file: PathBuf,
    project_file: PathBuf,
    consented: bool,
}

impl Files {
    fn read(given: &Given) -> Result<Files, ConfigError> {
        let (project, user_file) = (given.path("project", Path::new("."))?, given.path("config", &given.user_file)?);
        let project_file = project_file(&project);
        let user = match file::text(&user_file)? {
            Some(text) => file::read(&user_file, &text)?,
            None if user_file != given.user_file => {
                let why = "it does not exist; give another with --config".to_owned();
                return Err(ConfigError::Unreadable { file: user_file.display().to_string(), why });
            }
            None => Said::default(),
        };
        // If a project folder cannot be opened, that is reported when it is used.
        let text = if project.read_dir().is_ok() { file::text(&project_file)? } else { None };
        let consented = text.as_deref().is_some_and(|text| consent::given(&given.consents, &project, text));
        let own = text.map(|text| file::read(&project_file, &text)).transpose()?.unwrap_or_default();
        Ok(Files { user, own, user_file, project_file, consented })
    }

    /// A setting's value from the files, else its default. Adds an entry that is ignored without
    /// consent to `left_out`.
    fn value(&self, setting: &'static Setting, left_out: &mut Vec<String>) -> Resolved {
        let mut held = Resolved::by_default(setting);
        if let Some((value, line)) = self.user.settings.get(setting.key) {
            let place = Place { file: self.user_file.clone(), line: *line };
            held = Resolved { setting, value: Some(value.clone()), origin: Origin::UserFile(place) };
        }
        if let Some((value, line)) = self.own.settings.get(setting.key) {
            let place = Place { file: self.project_file.clone(), line: *line };
            if self.consented
                || setting.may_replace(held.value.as_deref().and_then(OsStr::to_str), &value.to_string_lossy())
            {
                held = Resolved { setting, value: Some(value.clone()), origin: Origin::ProjectFile(place) };
            } else {
                let reason = why_left_out(setting);
                left_out.push(format!("{place}: {} = {}{reason}", setting.key, setting.kind.show(value)));
            }
        }
        held
    }
}

/// The user's rules, then the project's; without consent, only project rules that allow nothing
/// more.
fn rules(user: Vec<Rule>, own: Vec<Rule>, consented: bool, left_out: &mut Vec<String>) -> Vec<Rule> {
    let mut rules = user;
    for rule in own {
        if consented || (rule.decision > Consent::Allow && !rule.network) {
            rules.push(rule);
        } else {
            left_out.push(format!("{}: a rule that allows {}", rule.place, rule.tools.join(", ")));
        }
    }
    rules
}

/// The user's servers, then with consent the project's; fails if two have the same name.
fn servers(
    user: Vec<Server>,
    own: Vec<Server>,
    consented: bool,
    left_out: &mut Vec<String>,
) -> Result<Vec<Server>, ConfigError> {
    let mut servers = user;
    for server in own {
        let twice = servers.iter().find(|other| other.name == server.name);
        match (consented, twice) {
            (true, None) => servers.push(server),
            (true, Some(other)) => {
                let why = format!("[mcp.{}] is already in {}; give it another name", server.name, other.place);
                return Err(ConfigError::Wrong { place: server.place, why });
            }
            (false, _) => left_out.push(format!("{}: the server [mcp.{}]", server.place, server.name)),
        }
    }
    Ok(servers)
}

/// The reason a value in a project's file is ignored, as the end of a message.
fn why_left_out(setting: &Setting) -> &'static str {
    match setting.project {
        Trust::Lower => " (it would not lower it)",
        Trust::Stricter => " (it would not be stricter)",
        _ => "",
    }
}

fn known(name: &str) -> bool {
    OTHER_VARIABLES.contains(&name) || SETTINGS.iter().any(|setting| setting.variable == name)
}

fn unknown(name: &str) -> String {
    match nearest(name, SETTINGS.iter().map(|setting| setting.variable)) {
        Some(near) => format!("{name} is not a setting; the nearest is {near}"),
        None => format!("{name} is not a setting"),
    }
}

/// Every setting at its default, with no rules or servers.
impl Default for Settings {
    fn default() -> Settings {
        Settings {
            values: SETTINGS.iter().map(Resolved::by_default).collect(),
            rules: Vec::new(),
            servers: Vec::new(),
            user_file: PathBuf::new(),
            project_file: PathBuf::new(),
            consented: false,
            left_out: Vec::new(),
            unknown_variables: Vec::new(),
        }
    }
}

impl Settings {
    /// The value of a setting other than a path.
    fn value(&self, key: &str) -> Option<&str> {
        self.path(key)?.to_str()
    }

    fn path(&self, key: &str) -> Option<&OsStr> {
        self.values.iter().find(|one| one.setting.key == key)?.value.as_deref()
    }

    fn number<N: FromStr>(&self, key: &str) -> Option<N> {
        self.value(key)?.parse().ok()
    }

    /// The value of a numeric setting that has a default.
    fn count<N: FromStr>(&self, key: &str) -> N {
        self.number(key).unwrap_or_else(|| panic!("{key} has no number; this is a bug in SETTINGS"))
    }

    /// The value of a multiple-choice setting, by the names of the enum's variants.
    fn choice<T: DeserializeOwned + Default>(&self, key: &str) -> T {
        let read = |text: &str| T::deserialize(IntoDeserializer::<NoChoice>::into_deserializer(text)).ok();
        self.value(key).and_then(read).unwrap_or_default()
    }

    fn commands(&self) -> Commands {
        let paths = |key: &str| std::env::split_paths(self.path(key).unwrap_or_default()).collect::<Vec<PathBuf>>();
        let named = |key: &str| paths(key).into_iter().filter(|path| !path.as_os_str().is_empty()).collect();
        Commands {
            confined: self.value("command_confined") != Some("false"),
            network: self.value("command_network") == Some("true"),
            reads: named("command_reads"),
            writes: named("command_writes"),
            memory: Bytes(self.count("command_memory")),
            file_size: Bytes(self.count("command_file_size")),
            processes: self.count("command_processes"),
            timeout_s: self.count("command_timeout_s"),
            hidden: Hidden::default(),
        }
    }

    fn cognitive(&self) -> Cognitive {
        Cognitive {
            when: self.choice("cognitive"),
            technique: self.choice("cognitive_technique"),
            model: self.choice("cognitive_model"),
            cot: self.value("enable_cot") != Some("false"),
            cot_streaming: self.value("enable_cot_streaming") != Some("false"),
            fallback_parsing: self.value("fallback_parsing") != Some("false"),
            max_iterations: self.count("max_cognitive_iterations"),
            verification_threshold: self.count("verification_threshold"),
        }
    }

    /// Without `enable_cot`, models answer immediately.
    fn think(&self) -> Option<Think> {
        if self.value("enable_cot") == Some("false") { Some(Think::Off) } else { self.number("think") }
    }

    fn sampling(&self) -> SamplingWish {
        SamplingWish {
            temperature: self.number("temperature"),
            top_k: self.number("top_k"),
            top_p: self.number("top_p"),
            min_p: self.number("min_p"),
            repetition_penalty: self.number("repetition_penalty"),
            frequency_penalty: None,
            presence_penalty: self.number("presence_penalty"),
            seed: self.number("seed"),
        }
    }

    /// The settings as typed values.
    pub fn config(&self) -> Config {
        let path = |key: &str| self.path(key).map(PathBuf::from);
        // For a small machine shared with other programs: one slot per model, and at most 4 GB in
        // total.
        const LITE: Bytes = Bytes(4_000_000_000);
        let is_lite = self.value("profile") == Some("lite");
        let budget = self.number("budget").map(Bytes);
        Config {
            project: path("project").unwrap_or_default(),
            model_dir: path("model_dir"),
            models_file: path("models_file"),
            planner_url: self.value("planner_url").map(str::to_owned),
            router_url: self.value("router_url").map(str::to_owned),
            offline: self.value("offline") == Some("true"),
            budget: if is_lite { Some(budget.map_or(LITE, |asked| asked.min(LITE))) } else { budget },
            slots: if is_lite { 1 } else { self.count("parallel") },
            context: self.count("context_tokens"),
            kv_type: self.value("kv_cache_type").map(str::to_owned),
            flash_attention: self.choice("flash_attention"),
            keep_alive_s: self.count("keep_alive_s"),
            max_loaded: self.number("max_loaded"),
            repack: self.value("repack") != Some("false"),
            exact: self.choice("exact"),
            image_tokens: self.count("image_tokens"),
            threads: self.count("threads"),
            tools_offered: self.count("tools_offered"),
            orchestrate: self.value("orchestrator.enabled") != Some("false"),
            report: self.value("report") == Some("true"),
            iterations_max: self.number("max_iterations"),
            turn_time: TurnTime::of(self.number("turn_time_s")),
            bounds: Bounds {
                pack: self.number("pack_tokens"),
                rounds: self.count("change_rounds"),
                transitions: self.number("max_transitions"),
            },
            learn: self.value("lessons.enabled") != Some("false"),
            cognitive: self.cognitive(),
            think: self.think(),
            sampling: self.sampling(),
            approve: self.choice("approve"),
            commands: self.commands(),
            mask_private: self.value("mask_private") == Some("true"),
            mask_prompts: self.value("mask_prompts") == Some("true"),
            mask_names: self.value("mask_names") == Some("true"),
            tool_call_format: self.value("tool_call_format").map(str::to_owned),
            alternate_screen: self.choice("alternate_screen"),
            rules: self.rules.clone(),
            servers: self.servers.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
