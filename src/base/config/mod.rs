//! What the program was told: every setting once, with its default and the reason for it.

pub mod consent;
pub mod file;
pub mod resolve;
pub mod rule;
pub mod server;
pub mod setting;
pub mod table;

use std::path::PathBuf;

pub use file::{ConfigError, Place};
pub use resolve::{Given, Origin, Settings, resolve};
pub use rule::{Consent, Example, Rule};
pub use server::Server;

use crate::base::Bytes;

/// Settings of one run, after flags, variables, files and defaults have been put together ([`resolve`]).
#[derive(Clone, Debug)]
pub struct Config {
    /// Folder the agent works on; tools cannot leave it.
    pub project: PathBuf,
    /// Where models are looked for; `None` means the user's data directory.
    pub model_dir: Option<PathBuf>,
    /// `models.toml` given by hand; else the one in `model_dir`, else the one shipped in the program.
    pub models_file: Option<PathBuf>,
    /// Most memory that may be used; `None` asks the machine.
    pub budget: Option<Bytes>,
    /// Inference slots a model, 2 by default, at most 4 (seed 003: NUM_PARALLEL 2).
    pub slots: usize,
    /// Tokens a slot, where models.toml does not say (seed 003: 8192).
    pub context: u32,
    /// Where models.toml does not say (KV_CACHE_TYPE); `None` leaves it to the model.
    pub kv_type: Option<String>,
    /// Idle seconds before a model may be dropped, where models.toml does not say.
    pub keep_alive_s: u64,
    /// Model files in memory at once; `None` leaves it to the memory (MAX_LOADED_MODELS).
    pub max_loaded: Option<usize>,
    /// Copy matrices into the order that the CPU code likes best; without, their memory can be taken back by the system.
    pub repack: bool,
    /// Most threads for inference; 0 means every core.
    pub threads: usize,
    /// Tools offered to the router for one step (seed 001: 15).
    pub tools_offered: usize,
    /// `orchestrator.enabled`: false gives the plain single-model loop (seed 001).
    pub orchestrate: bool,
    /// Rounds of the single-model loop; `None` leaves it to the model.
    pub iterations_max: Option<usize>,
    /// Use and write down what works.
    pub learn: bool,
    pub cognitive: Cognitive,
    pub approve: ApproveMode,
    pub commands: Commands,
    /// What is private is masked before it is written down; what was masked cannot be replayed to the letter.
    pub mask_private: bool,
    /// And names of persons and home addresses, as the router tells them.
    pub mask_names: bool,
    /// `tool_call_format`: `None` follows the model's template.
    pub tool_call_format: Option<String>,
    /// Rules over tools, arguments and paths, of every file that counts.
    pub rules: Vec<Rule>,
    /// MCP servers the user configured.
    pub servers: Vec<Server>,
}

/// What commands may do beyond the project, and how much of the machine they may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    /// The system holds them to all this; without, each is asked about.
    pub confined: bool,
    /// Sockets, of the internet and of other programs.
    pub network: bool,
    pub reads: Vec<PathBuf>,
    pub writes: Vec<PathBuf>,
    /// Of one process.
    pub memory: Bytes,
    pub file_size: Bytes,
    /// Processes and threads of one command.
    pub processes: u64,
    pub timeout_s: usize,
}

impl Default for Commands {
    fn default() -> Commands {
        Commands {
            confined: true,
            network: false,
            reads: Vec::new(),
            writes: Vec::new(),
            memory: Bytes(8 << 30),
            file_size: Bytes(4 << 30),
            processes: 1_024,
            timeout_s: 60,
        }
    }
}

/// How answers are drafted, verified and refined (seed 003: CognitiveConfig).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cognitive {
    pub when: When,
    pub max_iterations: usize,
    /// 0 to 1.
    pub verification_threshold: f64,
    pub technique: Technique,
    pub model: Voice,
    /// Models that mark their thoughts may think before they answer.
    pub cot: bool,
    /// Thoughts are shown while they come.
    pub cot_streaming: bool,
    /// Calls in other notations than the model's own, and in prose, count.
    pub fallback_parsing: bool,
}

/// Who words answers and judges them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Voice {
    #[default]
    Planner,
    Router,
}

/// How a draft is looked at twice (seed 003), where the model can reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Technique {
    /// The judge alone.
    #[default]
    Plain,
    /// Questions about the draft are answered without it.
    ChainOfVerification,
    /// A sceptic and an advocate speak before the judge.
    Debate,
    /// Each new draft begins with three methods.
    ThreeMethods,
}

/// When the cognitive loop runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// For complex requests, on models that can reason.
    #[default]
    Auto,
    On,
    Off,
}

impl Default for Cognitive {
    fn default() -> Cognitive {
        Cognitive {
            when: When::Auto,
            max_iterations: 5,
            verification_threshold: 0.85,
            technique: Technique::Plain,
            model: Voice::Planner,
            cot: true,
            cot_streaming: true,
            fallback_parsing: true,
        }
    }
}

/// How much of a machine the program means to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Beside other programs on a small machine: one slot a model, at most 4 GB in all (seed 002).
    Lite,
    #[default]
    Standard,
}

impl Profile {
    /// Most memory of the whole process; `None` asks the machine.
    pub fn budget(self, asked: Option<Bytes>) -> Option<Bytes> {
        const LITE: Bytes = Bytes(4_000_000_000);
        match self {
            Profile::Lite => Some(asked.map_or(LITE, |asked| asked.min(LITE))),
            Profile::Standard => asked,
        }
    }

    /// Slots a model.
    pub fn slots(self, asked: usize) -> usize {
        if self == Profile::Lite { 1 } else { asked }
    }
}

/// When the user is asked before a tool runs (seed 002).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApproveMode {
    Always,
    #[default]
    OnMutation,
    OnDestructive,
    Never,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            project: PathBuf::from("."),
            model_dir: None,
            models_file: None,
            budget: None,
            slots: 2,
            context: 8_192,
            kv_type: None,
            keep_alive_s: 300,
            max_loaded: None,
            repack: true,
            threads: 0,
            tools_offered: 15,
            orchestrate: true,
            iterations_max: None,
            learn: true,
            cognitive: Cognitive::default(),
            approve: ApproveMode::OnMutation,
            commands: Commands::default(),
            mask_private: false,
            mask_names: false,
            tool_call_format: None,
            rules: Vec::new(),
            servers: Vec::new(),
        }
    }
}
