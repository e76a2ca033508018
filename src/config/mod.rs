//! The configuration of a run: every setting, with its default.

mod address;
mod bounds;
pub(crate) mod consent;
pub mod file;
pub(crate) mod resolve;
pub(crate) mod rule;
mod secret;
pub(crate) mod server;
pub mod setting;
pub(crate) mod table;
mod turn_time;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use address::{Address, Headers};
pub use bounds::Bounds;
pub use file::{ConfigError, Place};
pub use resolve::{Given, Origin, Settings, resolve};
pub use rule::{Consent, Example, Rule};
pub use secret::Secret;
pub use server::Server;
pub use turn_time::TurnTime;

pub use monobloc_engine::models::{Exact, FlashAttention, SamplingWish, Think};

use crate::base::Bytes;
use monobloc_engine::models::ModelSettings;
pub use monobloc_guarded::sandbox::Commands;

/// Settings of one run, resolved from flags, variables, files and defaults ([`resolve()`]).
#[derive(Clone, Debug)]
pub struct Config {
    /// Folder in which the agent works; tools cannot leave it.
    pub project: PathBuf,
    /// Folder for models; `None` means the user's data directory.
    pub model_dir: Option<PathBuf>,
    /// The `models.toml` to use; `None` means the one in `model_dir`, else the one built into the program.
    pub models_file: Option<PathBuf>,
    /// The server whose model is the planner or router; `None` leaves the choice to models.toml.
    pub planner_url: Option<String>,
    pub router_url: Option<String>,
    /// Open no connection.
    pub offline: bool,
    /// Maximum amount of memory to use; `None` uses whatever is free.
    pub budget: Option<Bytes>,
    /// Inference slots per model, at most 4.
    pub slots: usize,
    /// Context window in tokens per slot, unless models.toml sets it.
    pub context: u32,
    /// Type of the KV cache (`f16`, `q8_0`, `q4_0`), unless models.toml sets it; `None` chooses by model and device.
    pub kv_type: Option<String>,
    pub flash_attention: FlashAttention,
    /// Time that an unused model stays in memory, in seconds, unless models.toml sets it.
    pub keep_alive_s: u64,
    /// Maximum number of model files in memory at once; `None` means as many as fit.
    pub max_loaded: Option<usize>,
    /// Copy weight matrices into the layout that is fastest on the CPU; if false, they stay mapped
    /// from the file and the system can reclaim their memory.
    pub repack: bool,
    pub exact: Exact,
    /// Maximum number of tokens for one picture.
    pub image_tokens: u32,
    /// Maximum number of threads for inference; 0 means one per core.
    pub threads: usize,
    /// Number of tools offered to the router for one step.
    pub tools_offered: usize,
    /// `orchestrator.enabled`: if false, the plain single-model loop replaces plan, execute,
    /// answer.
    pub orchestrate: bool,
    /// A leading model ends with a six-section report.
    pub report: bool,
    /// Maximum number of rounds in the single-model loop; `None` derives it from the model's
    /// capability.
    pub iterations_max: Option<usize>,
    /// Maximum time for a turn.
    pub turn_time: TurnTime,
    /// The limits of a turn besides its time.
    pub bounds: Bounds,
    /// Use lessons from earlier turns and record new ones.
    pub learn: bool,
    pub cognitive: Cognitive,
    /// How much models think; `None` leaves it to models.toml.
    pub think: Option<Think>,
    /// Sampling values set by the user, overriding the model maker's.
    pub sampling: SamplingWish,
    pub approve: ApproveMode,
    pub commands: Commands,
    /// Mask private data in journal and lessons; a masked turn cannot be replayed exactly.
    pub mask_private: bool,
    /// Send placeholders for private data to the servers that fill roles.
    pub mask_prompts: bool,
    /// Also mask personal names and home addresses, as recognised by the router.
    pub mask_names: bool,
    /// The form in which models write tool calls; `None` follows the model's chat template.
    pub tool_call_format: Option<String>,
    pub alternate_screen: AlternateScreen,
    /// Rules about tools, arguments and paths, from every file in effect.
    pub rules: Vec<Rule>,
    /// MCP servers configured by the user.
    pub servers: Vec<Server>,
}

/// How answers are drafted, verified and refined (the cognitive loop).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cognitive {
    pub when: When,
    /// Maximum number of drafts of one answer.
    pub max_iterations: usize,
    /// Score from 0 to 1 at which a draft becomes the answer.
    pub verification_threshold: f64,
    pub technique: Technique,
    pub model: Voice,
    /// Whether models with a thinking mode (`<think>`) think before they answer.
    pub cot: bool,
    /// Whether thinking is shown during generation.
    pub cot_streaming: bool,
    /// Accept tool calls in notations other than the model's own, and calls inside prose.
    pub fallback_parsing: bool,
}

/// The model that writes and judges answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Voice {
    #[default]
    Planner,
    Router,
}

/// The way a draft is verified, if the model can reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Technique {
    /// By a judge alone.
    #[default]
    Plain,
    /// The model first answers questions about the draft without seeing it.
    ChainOfVerification,
    /// A sceptic and an advocate argue before the judge.
    Debate,
    /// By a judge alone; each new draft first considers three methods.
    ThreeMethods,
}

/// When the cognitive loop runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// For complex requests, with models that can reason.
    #[default]
    Auto,
    On,
    Off,
}

/// When the full-screen conversation uses the terminal's alternate buffer instead of the
/// scrollback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlternateScreen {
    /// If the terminal has such a buffer.
    #[default]
    Auto,
    Always,
    Never,
}

/// When the user is asked before a tool runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApproveMode {
    Always,
    #[default]
    OnMutation,
    OnDestructive,
    Never,
}

// The defaults are those in the `SETTINGS` table.

impl Default for Config {
    fn default() -> Config {
        Settings::default().config()
    }
}

impl From<&Config> for ModelSettings {
    fn from(config: &Config) -> ModelSettings {
        ModelSettings {
            model_dir: config.model_dir.clone(),
            models_file: config.models_file.clone(),
            planner_url: config.planner_url.clone(),
            router_url: config.router_url.clone(),
            mask_prompts: config.mask_prompts,
            offline: config.offline,
            context: config.context,
            slots: config.slots,
            kv_type: config.kv_type.clone(),
            flash_attention: config.flash_attention,
            keep_alive_s: config.keep_alive_s,
            think: config.think,
            sampling: config.sampling,
        }
    }
}

impl Default for Cognitive {
    fn default() -> Cognitive {
        Config::default().cognitive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_models_have_the_defaults_of_the_table() {
        assert_eq!(ModelSettings::from(&Config::default()), ModelSettings::default());
    }

    #[test]
    fn commands_are_confined_by_default_as_the_table_says() {
        assert_eq!(Config::default().commands, Commands::default());
    }

    #[test]
    fn models_toml_takes_the_numbers_that_settings_take() {
        for (key, least, most) in SamplingWish::RANGES {
            // A client may set this penalty; there is no setting for it.
            if key != "frequency_penalty" {
                assert_eq!(setting::of_key(key).unwrap().kind, setting::Kind::Number(least, most), "{key}");
            }
        }
    }
}
