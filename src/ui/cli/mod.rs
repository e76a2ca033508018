//! The command line: one file a command; its help is its doc comment.

mod ask;
mod bench;
mod chat;
mod complete;
mod eval;
mod fit;
mod graph;
mod index;
mod models;
mod output;
mod sampling;
mod search;
mod synth;
mod telemetry;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::app::App;
use crate::base::config::{ApproveMode, Profile};
use crate::base::{Bytes, Cancel, Config};

/// Ends with this code when the user pressed Ctrl-C, as shells expect.
const CANCELLED: u8 = 130;

/// Runs a whole agent in one process, offline: planner, router and embedder, tools, index and memory budget.
#[derive(Parser)]
#[command(name = "monobloc", version, max_term_width = 120)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Ask(ask::Ask),
    Plan(ask::Plan),
    Chat(chat::Chat),
    Index(index::Index),
    Search(search::Search),
    Graph(graph::Graph),
    Models(models::Models),
    Complete(complete::Complete),
    Synth(synth::Synth),
    Eval(eval::Eval),
    Bench(bench::Bench),
    Fit(fit::Fit),
    Telemetry(telemetry::Telemetry),
    /// Write a completion script for a shell to standard output
    Completions {
        shell: clap_complete::Shell,
    },
}

/// Settings that every command understands.
#[derive(Args, Clone)]
#[command(next_help_heading = "Settings")]
struct Global {
    /// Folder to work on; tools cannot leave it
    #[arg(long, global = true, value_name = "DIR", default_value = ".", env = "MONOBLOC_PROJECT")]
    project: PathBuf,
    /// Folder with GGUF files and an embedding model [default: the user's data directory]
    #[arg(long, global = true, value_name = "DIR", env = "MONOBLOC_MODEL_DIR")]
    model_dir: Option<PathBuf>,
    /// models.toml to use [default: the one in the model folder, else the one built in]
    #[arg(long, global = true, value_name = "FILE", env = "MONOBLOC_MODELS_FILE")]
    models_file: Option<PathBuf>,
    /// Most memory to use, 8GiB say [default: what is free]
    #[arg(long, global = true, value_name = "SIZE", env = "MONOBLOC_BUDGET")]
    budget: Option<Bytes>,
    /// lite: one conversation a model and at most 4 GB in all, beside other programs on a small machine
    #[arg(long, global = true, value_name = "NAME", default_value = "standard", env = "MONOBLOC_PROFILE")]
    profile: ProfileName,
    /// Conversations a model holds at once, 1 to 4
    #[arg(long = "parallel", global = true, value_name = "N", default_value_t = 2, env = "MONOBLOC_NUM_PARALLEL",
          value_parser = clap::value_parser!(u8).range(1..=4))]
    parallel: u8,
    /// Models in memory at once; the longest unused one goes first [default: as many as fit]
    #[arg(long, global = true, value_name = "N", env = "MONOBLOC_MAX_LOADED_MODELS",
          value_parser = clap::value_parser!(u8).range(1..))]
    max_loaded: Option<u8>,
    /// Use matrices as they lie in the file: slower on a CPU, but the system can take their memory back
    #[arg(long, global = true, env = "MONOBLOC_NO_REPACK")]
    no_repack: bool,
    /// Threads for inference; 0 means every core
    #[arg(long, global = true, value_name = "N", default_value_t = 0, env = "MONOBLOC_THREADS")]
    threads: usize,
    /// Tools offered to the router for one step
    #[arg(long, global = true, value_name = "K", default_value_t = 15, env = "MONOBLOC_TOOLS_OFFERED")]
    tools_offered: usize,
    /// Use the plain single-model loop instead of plan, execute, answer
    #[arg(long, global = true, env = "MONOBLOC_NO_ORCHESTRATOR")]
    no_orchestrator: bool,
    /// When to ask before a tool runs
    #[arg(long, global = true, value_name = "WHEN", default_value = "on-mutation", env = "MONOBLOC_APPROVE")]
    approve: Approve,
    /// How models write calls [default: as the model's template does]
    #[arg(long, global = true, value_name = "FORMAT", env = "MONOBLOC_TOOL_CALL_FORMAT",
          value_parser = ["native_json", "pythonic", "bracket"])]
    tool_call_format: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ProfileName {
    Lite,
    Standard,
}

#[derive(Clone, Copy, ValueEnum)]
enum Approve {
    Always,
    OnMutation,
    OnDestructive,
    Never,
}

impl Global {
    fn config(self) -> Config {
        let profile = match self.profile {
            ProfileName::Lite => Profile::Lite,
            ProfileName::Standard => Profile::Standard,
        };
        Config {
            project: self.project,
            model_dir: self.model_dir,
            models_file: self.models_file,
            budget: profile.budget(self.budget),
            slots: profile.slots(usize::from(self.parallel)),
            max_loaded: self.max_loaded.map(usize::from),
            repack: !self.no_repack,
            threads: self.threads,
            tools_offered: self.tools_offered.max(1),
            orchestrate: !self.no_orchestrator,
            approve: match self.approve {
                Approve::Always => ApproveMode::Always,
                Approve::OnMutation => ApproveMode::OnMutation,
                Approve::OnDestructive => ApproveMode::OnDestructive,
                Approve::Never => ApproveMode::Never,
            },
            tool_call_format: self.tool_call_format,
        }
    }
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    start_logging();
    let cancel = Cancel::new();
    match run(cli, cancel.clone()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) if cancel.is_cancelled() => {
            eprintln!("monobloc: cancelled");
            ExitCode::from(CANCELLED)
        }
        Err(error) => {
            eprintln!("monobloc: {}", told(&error));
            ExitCode::FAILURE
        }
    }
}

/// The error with its causes; one that is told already is not told again.
fn told(error: &anyhow::Error) -> String {
    let mut told = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string).filter(|cause| !cause.is_empty()) {
        if !told.contains(&cause) {
            told.push_str(&format!(": {cause}"));
        }
    }
    told
}

fn run(cli: Cli, cancel: Cancel) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    // In a conversation Ctrl-C ends a request, not the program.
    if !matches!(cli.command, Command::Chat(_)) {
        runtime.spawn(watch_for_interrupt(cancel.clone()));
    }
    let app = App::open(cli.global.config(), cancel);
    runtime.spawn(app.watch());
    let ended = match cli.command {
        Command::Ask(ask) => runtime.block_on(ask.run(&app)),
        Command::Plan(plan) => runtime.block_on(plan.run(&app)),
        Command::Chat(chat) => runtime.block_on(chat.run(&app)),
        Command::Index(index) => index.run(&app),
        Command::Search(search) => search.run(&app),
        Command::Graph(graph) => graph.run(&app),
        Command::Models(models) => models.run(&app),
        Command::Complete(complete) => runtime.block_on(complete.run(&app)),
        Command::Synth(synth) => synth.run(&app),
        Command::Eval(eval) => runtime.block_on(eval.run(&app)),
        Command::Fit(fit) => fit.run(&app),
        Command::Bench(bench) => runtime.block_on(bench.run(&app)),
        Command::Telemetry(telemetry) => telemetry.run(&app),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "monobloc", &mut std::io::stdout());
            Ok(())
        }
    };
    // A blocked background thread (a load that was cancelled, say) must not hold the process.
    runtime.shutdown_background();
    ended
}

/// The first Ctrl-C cancels; the second ends the process at once.
async fn watch_for_interrupt(cancel: Cancel) {
    while tokio::signal::ctrl_c().await.is_ok() {
        if cancel.is_cancelled() {
            std::process::exit(i32::from(CANCELLED));
        }
        cancel.cancel();
    }
}

/// `MONOBLOC_LOG=debug` shows the program's log, llama.cpp's included, on standard error.
fn start_logging() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("MONOBLOC_LOG").unwrap_or_else(|_| "off".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}
