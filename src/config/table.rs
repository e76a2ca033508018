//! Lists all settings of the program.

use monobloc_engine::models::{KV_TYPES, dialect::FORMATS};

use super::setting::Kind::{Choice, Count, Number, Path, Paths, Share, Size, Switch, Thinking, Url};
use super::setting::Setting;
use super::setting::Trust::{Free, Lower, Never, NotInFiles, Stricter};

pub const APPROVE: [&str; 4] = ["never", "on-destructive", "on-mutation", "always"];
pub const COGNITIVE: [&str; 3] = ["auto", "on", "off"];
pub const TECHNIQUES: [&str; 4] = ["plain", "chain-of-verification", "debate", "three-methods"];
pub const VOICES: [&str; 2] = ["planner", "router"];
/// Values of [`Exact`](super::Exact).
pub const EXACT: [&str; 3] = ["auto", "on", "off"];
pub const FLASH_ATTENTION: [&str; 3] = ["auto", "on", "off"];

/// Turns each row into a [`Setting`]: key, variable, flag, kind, default, rights of a project's
/// file, and a description.
macro_rules! settings {
    ($($key:literal, $variable:literal, $flag:literal, $kind:expr, $default:expr, $project:expr, $about:literal;)*) => {
        [$(Setting {
            key: $key,
            variable: $variable,
            flag: $flag,
            kind: $kind,
            default: $default,
            about: $about,
            project: $project,
        }),*]
    };
}

/// Every setting and its default, in the order of the help and documentation.
pub const SETTINGS: [Setting; 58] = settings! {
    "project", "MONOBLOC_PROJECT", "project", Path, Some("."), NotInFiles,
        "Folder to work on; tools cannot leave it";
    "config", "MONOBLOC_CONFIG", "config", Path, None, NotInFiles,
        "User configuration file [default: the one that `monobloc config path` prints]";
    "model_dir", "MONOBLOC_MODEL_DIR", "model-dir", Path, None, Never,
        "Folder with GGUF files and an embedding model [default: the user's data directory]";
    "models_file", "MONOBLOC_MODELS_FILE", "models-file", Path, None, Never,
        "models.toml to use [default: the one in the model folder, else the one built in]";
    "planner_url", "MONOBLOC_PLANNER_URL", "planner-url", Url, None, Never,
        "OpenAI-compatible server whose model plays the planner, for example http://HOST:PORT/v1; it receives requests, code and \
         results of tools";
    "router_url", "MONOBLOC_ROUTER_URL", "router-url", Url, None, Never,
        "OpenAI-compatible server whose model plays the router";
    "offline", "MONOBLOC_OFFLINE", "offline", Switch, Some("false"), Stricter,
        "Open no connection to any server, whatever models.toml and other settings say";
    "budget", "MONOBLOC_BUDGET", "budget", Size, None, Lower,
        "Maximum memory to use, for example 8GiB [default: what is free]";
    "profile", "MONOBLOC_PROFILE", "profile", Choice(&["standard", "lite"]), Some("standard"), Stricter,
        "lite: one conversation per model and at most 4 GB in total, for a small machine that runs other programs too";
    "parallel", "MONOBLOC_NUM_PARALLEL", "parallel", Count(1, 16), Some("2"), Lower,
        "Conversations a model holds at once, 1 to 16";
    "context_tokens", "MONOBLOC_CONTEXT_TOKENS", "context-tokens", Count(512, 1_048_576), Some("8192"), Lower,
        "Tokens in one conversation of a model, unless models.toml says otherwise";
    "kv_cache_type", "MONOBLOC_KV_CACHE_TYPE", "kv-cache-type", Choice(&KV_TYPES), None, Never,
        "Type of cached keys and values, unless models.toml says otherwise [default: f16, q8_0 for LFM2 and on a GPU]";
    "flash_attention", "MONOBLOC_FLASH_ATTENTION", "flash-attention", Choice(&FLASH_ATTENTION), Some("auto"), Never,
        "Whether attention is computed by flash kernels: auto does so except for f16 keys and values on a processor, \
         where two products are faster; off rules out q8_0 and q4_0, which need them";
    "keep_alive_s", "MONOBLOC_KEEP_ALIVE_S", "keep-alive", Count(0, 31 * 24 * 3_600), Some("300"), Free,
        "Seconds that an unused model stays in memory, unless models.toml says otherwise; 0: until another needs the \
         memory";
    "max_loaded", "MONOBLOC_MAX_LOADED_MODELS", "max-loaded", Count(1, 255), None, Lower,
        "Models in memory at once; the least recently used one is unloaded first [default: as many as fit]";
    "repack", "MONOBLOC_NO_REPACK", "no-repack", Switch, Some("true"), Free,
        "Use matrices as stored in the file: slower on a CPU, but the system can reclaim their memory";
    "exact", "MONOBLOC_EXACT", "exact", Choice(&EXACT), Some("auto"), Never,
        "Whether every bit of an answer is independent of other answers, at the same time or earlier: auto means on for a \
         processor, and off for a GPU, where answers computed together come several times as fast";
    "image_tokens", "MONOBLOC_IMAGE_TOKENS", "image-tokens", Count(16, 16_384), Some("1024"), Lower,
        "Maximum number of tokens for a picture; a larger one is scaled down first. Determines the memory of a projector";
    "threads", "MONOBLOC_THREADS", "threads", Count(0, 1_024), Some("0"), Never,
        "Maximum number of threads for inference; 0 means every core. Calls use fewer while other programs use the cores";
    "tools_offered", "MONOBLOC_TOOLS_OFFERED", "tools-offered", Count(1, 1_000), Some("15"), Free,
        "Server tools offered to the model for one step";
    "orchestrator.enabled", "MONOBLOC_NO_ORCHESTRATOR", "no-orchestrator", Switch, Some("true"), Free,
        "Use the plain single-model loop instead of plan, execute, answer";
    "max_iterations", "MONOBLOC_MAX_ITERATIONS", "max-iterations", Count(1, 100), None, Lower,
        "Rounds of the single-model loop [default: 12 for a capable model, 3 for a small one]";
    "turn_time_s", "MONOBLOC_TURN_TIME_S", "turn-time", Count(0, 7 * 24 * 3_600), None, Free,
        "Seconds after which a turn starts no further round and says what is left, 0 for no limit; prompts and answers are \
         kept so short that a slow machine begins a change within a minute of it [default: no limit; the minute holds \
         where somebody waits, at a terminal, in an editor or on the page]";
    "pack_tokens", "MONOBLOC_PACK_TOKENS", "pack-tokens", Count(200, 1_000_000), None, Free,
        "Tokens of the project's code that a model is shown for one step, as far as its slot has room \
         [default: as many as the model reads in time]";
    "change_rounds", "MONOBLOC_CHANGE_ROUNDS", "change-rounds", Count(1, 20), Some("4"), Lower,
        "Attempts at one code change; each is shown the fault of the previous one";
    "max_transitions", "MONOBLOC_MAX_TRANSITIONS", "max-transitions", Count(4, 1_000), None, Lower,
        "Transitions of a turn: stages, and rounds of a model that calls tools; a plan's steps come on top; after that it answers from what it has \
         [default: 64 for a capable model, 8 for a small one]";
    "report", "MONOBLOC_REPORT", "report", Switch, Some("false"), Free,
        "A model that leads ends with a report of six sections: analysis, research, plan, reflection, actions, delivery; \
         the next request tells it which ones its last report lacked";
    "lessons.enabled", "MONOBLOC_NO_LESSONS", "no-lessons", Switch, Some("true"), Free,
        "Neither use lessons from earlier turns nor record new ones";
    "cognitive", "MONOBLOC_COGNITIVE", "cognitive", Choice(&COGNITIVE), Some("auto"), Free,
        "Draft, verify and refine answers: auto does it for complex requests on models that can reason";
    "cognitive_technique", "MONOBLOC_COGNITIVE_TECHNIQUE", "cognitive-technique", Choice(&TECHNIQUES), Some("plain"), Free,
        "How a draft is checked a second time: by questions answered without it, by two personas, or by three methods";
    "cognitive_model", "MONOBLOC_COGNITIVE_MODEL", "cognitive-model", Choice(&VOICES), Some("planner"), Free,
        "The model that writes answers and judges them";
    "enable_cot", "MONOBLOC_ENABLE_COT", "no-cot", Switch, Some("true"), Free,
        "Make models that think before they answer (<think>) answer at once";
    "enable_cot_streaming", "MONOBLOC_ENABLE_COT_STREAMING", "no-cot-streaming", Switch, Some("true"), Free,
        "Do not show what models think as they generate it";
    "fallback_parsing", "MONOBLOC_FALLBACK_PARSING", "no-fallback-parsing", Switch, Some("true"), Free,
        "Accept calls only in the notation of the model's template";
    "max_cognitive_iterations", "MONOBLOC_MAX_COGNITIVE_ITERATIONS", "max-cognitive-iterations", Count(1, 20), Some("5"), Lower,
        "Maximum number of drafts of one answer";
    "verification_threshold", "MONOBLOC_VERIFICATION_THRESHOLD", "verification-threshold", Share, Some("0.85"), Free,
        "Certainty at which a draft becomes the answer: a fraction like 0.85, or a percentage like 85";
    "think", "MONOBLOC_THINK", "think", Thinking, None, Free,
        "Tokens that a model may think before an answer, then it has to answer; off: it answers at once, auto: as time \
         and context allow [default: as models.toml says, else auto]";
    "temperature", "MONOBLOC_TEMPERATURE", "temperature", Number(0.0, 10.0), None, Free,
        "Temperature at which free text is sampled; 0 takes the most likely token. Calls, plans and code in a grammar are \
         never drawn [default: the model maker's, else 0]";
    "top_k", "MONOBLOC_TOP_K", "top-k", Count(0, 1_000_000), None, Free,
        "Sample from this many of the most likely tokens; 0 for all [default: the model maker's, else 40]";
    "top_p", "MONOBLOC_TOP_P", "top-p", Number(0.001, 1.0), None, Free,
        "Sample from the fewest most likely tokens whose probabilities reach this sum; 1 for all [default: as the model's \
         maker says, else 0.95]";
    "min_p", "MONOBLOC_MIN_P", "min-p", Number(0.0, 1.0), None, Free,
        "Sample from tokens at least this share as likely as the most likely one; 0 for all [default: as the model's maker \
         says, else 0.05]";
    "repetition_penalty", "MONOBLOC_REPETITION_PENALTY", "repetition-penalty", Number(0.001, 10.0), None, Free,
        "Divides the logits of the last 64 generated tokens; 1 is off [default: the model maker's, else 1]";
    "presence_penalty", "MONOBLOC_PRESENCE_PENALTY", "presence-penalty", Number(-10.0, 10.0), None, Free,
        "Subtracted from the logits of the last 64 generated tokens; 0 is off [default: the model maker's, \
         else 0]";
    "seed", "MONOBLOC_SEED", "seed", Count(0, i64::MAX as u64), None, Free,
        "Seed for sampling: with the same one a run can be repeated [default: 0; serve takes a new one for each \
         request]";
    "approve", "MONOBLOC_APPROVE", "approve", Choice(&APPROVE), Some("on-mutation"), Stricter,
        "When to ask before a tool runs";
    "command_confined", "MONOBLOC_COMMANDS_UNCONFINED", "commands-unconfined", Switch, Some("true"), Never,
        "Do not confine commands; you are then asked about each of them, regardless of rules";
    "command_network", "MONOBLOC_COMMAND_NETWORK", "command-network", Switch, Some("false"), Never,
        "Let every command use the network and sockets of other programs; a rule can allow it for some";
    "command_reads", "MONOBLOC_COMMAND_READS", "command-reads", Paths, None, Never,
        "More files and folders that commands may read, with `:` between them [default: the project, programs and \
         tool chains]";
    "command_writes", "MONOBLOC_COMMAND_WRITES", "command-writes", Paths, None, Never,
        "More files and folders that commands may change [default: the project]; undo does not cover them";
    "command_memory", "MONOBLOC_COMMAND_MEMORY", "command-memory", Size, Some("8589934592"), Lower,
        "Maximum memory for each process of a command or of a confined MCP server";
    "command_file_size", "MONOBLOC_COMMAND_FILE_SIZE", "command-file-size", Size, Some("4294967296"), Lower,
        "Largest file that a command, or a confined MCP server, may write";
    "command_processes", "MONOBLOC_COMMAND_PROCESSES", "command-processes", Count(8, 100_000), Some("1024"), Lower,
        "Processes and threads that a confined command or MCP server may have at once; of the administrator, \
         processes, counted 20 times a second";
    "command_timeout_s", "MONOBLOC_COMMAND_TIMEOUT_S", "command-timeout", Count(1, 600), Some("60"), Lower,
        "Seconds that a command may run, unless its call sets another limit";
    "mask_private", "MONOBLOC_MASK_PRIVATE", "mask-private", Switch, Some("false"), Never,
        "Write addresses, phone, card and account numbers and keys into journal and lessons as [email], [phone], …";
    "mask_prompts", "MONOBLOC_MASK_PROMPTS", "mask-prompts", Switch, Some("false"), Never,
        "Send placeholders for addresses, phone, card and account numbers and keys to servers that play roles, and put them \
         back into their answers";
    "mask_names", "MONOBLOC_MASK_NAMES", "mask-names", Switch, Some("false"), Never,
        "Mask what --mask-private does, and what the router takes for names of persons and home addresses; takes \
         seconds a request";
    "tool_call_format", "MONOBLOC_TOOL_CALL_FORMAT", "tool-call-format", Choice(&FORMATS), None, Free,
        "How models write calls [default: as the model's template does]";
    "alternate_screen", "MONOBLOC_ALTERNATE_SCREEN", "alternate-screen", Choice(&["auto", "always", "never"]), Some("auto"), Free,
        "Whether the full-screen conversation draws into the terminal's alternate buffer: auto does where there is \
         one, never leaves the scrollback in reach";
};
