//! The command line: parses arguments and runs one command. Each command is a file whose doc comments are its help.

mod add;
pub(in crate::ui) mod ask;
mod audit;
mod bench;
mod browser;
pub(in crate::ui) mod chat;
mod checkpoints;
mod complete;
mod config;
mod connect;
mod context;
#[cfg(feature = "lab")]
mod eval;
mod fit;
mod graph;
mod history;
mod index;
mod lessons;
mod mcp;
mod models;
mod output;
mod probe;
mod search;
mod serve;
mod settings;
#[cfg(feature = "lab")]
mod synth;
mod telemetry;
mod undo;

use anyhow::Result;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use std::fmt::Display;
use std::io::{self, BufReader};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::app::{self, App};
use crate::base::{Cancel, visible};
use crate::config::{Given, Settings, resolve};
use crate::embed::Embedder;
use crate::ui::out::{self, Out};
use crate::ui::{acp, screen};

/// When the program started.
pub(in crate::ui) static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);
/// Time limit for restoring the terminal when a signal ends the program: the terminal may no longer
/// accept output.
const RESTORE_MAX: Duration = Duration::from_secs(1);
/// Exit code after Ctrl-C, as shells expect.
const CANCELLED: i32 = 130;

/// Run an agent with its language models in one process, offline: planner, router, embedder, tools, index and memory
/// budget
#[derive(Parser)]
#[command(name = "monobloc", version, max_term_width = 120)]
struct Cli {
    // Without a command, a terminal gets the full-screen conversation.
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Ask(ask::Ask),
    Plan(ask::Plan),
    Inspect(ask::Inspect),
    Chat(chat::Chat),
    Serve(serve::Serve),
    Connect(connect::Connect),
    Index(index::Index),
    Search(search::Search),
    Graph(graph::Graph),
    Context(context::Context),
    Models(models::Models),
    Complete(complete::Complete),
    #[cfg(feature = "lab")]
    Synth(synth::Synth),
    #[cfg(feature = "lab")]
    Eval(eval::Eval),
    Bench(bench::Bench),
    Fit(fit::Fit),
    Telemetry(telemetry::Telemetry),
    Config(config::Config),
    /// Serve an editor over the Agent Client Protocol (ACP) on standard input and output: Zed,
    /// JetBrains, Neovim and others
    Acp,
    Mcp(mcp::Mcp),
    Lessons(lessons::Lessons),
    Undo(undo::Undo),
    Rewind(undo::Rewind),
    Checkpoints(checkpoints::Checkpoints),
    History(history::History),
    Audit(audit::Audit),
    /// Write a completion script for a shell to standard output
    Completions {
        shell: clap_complete::Shell,
    },
}

impl Command {
    fn runs_models(&self) -> bool {
        use Command::{Acp, Ask, Bench, Chat, Complete, Fit, Inspect, Serve};
        #[cfg(feature = "lab")]
        if matches!(self, Command::Eval(_)) {
            return true;
        }
        matches!(self, Acp | Ask(_) | Inspect(_) | Chat(_) | Serve(_) | Complete(_) | Bench(_) | Fit(_))
    }
}

/// Runs the command line of this process, then ends the process.
pub fn main() -> ! {
    LazyLock::force(&STARTED);
    let matches = arguments().try_get_matches().unwrap_or_else(|error| end_by(&error));
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| end_by(&error));
    start_logging();
    let cancel = Cancel::new();
    let is_trial = matches!(&cli.command, Some(Command::Models(models)) if models.is_trial());
    // An invalid setting must not count as a fault of the file being tried.
    let given = if is_trial { Given::default() } else { settings::given(&matches) };
    let settings = resolve(&given).map_err(anyhow::Error::from);
    let code = match settings.and_then(|settings| run(cli, given, settings, cancel.clone())) {
        Ok(()) => {
            out::flush();
            0
        }
        Err(_) if cancel.is_cancelled() => {
            tell!("monobloc: cancelled");
            CANCELLED
        }
        Err(error) => {
            tell!("monobloc: {}", visible(&told(&error)));
            1
        }
    };
    app::exit(code)
}

/// The command line. Without a terminal to take over, a subcommand is required.
fn arguments() -> clap::Command {
    let command = settings::arguments(Cli::command());
    if screen::fits() { command } else { command.subcommand_required(true).arg_required_else_help(true) }
}

/// Checks that `words`, starting with the program's name, are a valid command line; the error is
/// the message a user would get.
pub fn parse(words: &[String]) -> Result<(), clap::Error> {
    settings::arguments(Cli::command()).try_get_matches_from(words).map(drop)
}

/// Prints help or the version and ends the program; command-line errors go to standard error.
fn end_by(error: &clap::Error) -> ! {
    if error.use_stderr() {
        error.exit();
    }
    let text = error.render();
    if console::colors_enabled() {
        put!("{}", text.ansi())
    } else {
        put!("{text}")
    }
    app::exit(0)
}

/// The embedder; `None` after a note that explains why there is none. Every caller works without
/// it.
fn embedder(app: &App) -> Option<Embedder> {
    or_note(app.embedder(&or_note(app.registry())?))
}

/// The value, or `None` after a note on standard error with the reason.
fn or_note<T, E: Display>(result: Result<T, E>) -> Option<T> {
    if let Err(reason) = &result {
        warn(reason);
    }
    result.ok()
}

/// A progress bar on standard error.
fn bar(look: &str) -> ProgressBar {
    let bar = ProgressBar::new(1);
    if let Ok(style) = ProgressStyle::with_template(look) {
        bar.set_style(style);
    }
    bar
}

/// Prints a note to standard error.
fn warn(note: impl Display) {
    tell!("monobloc: note: {}", visible(&note.to_string()));
}

/// The error's message with its causes, except causes that it already contains.
pub(in crate::ui) fn told(error: &anyhow::Error) -> String {
    let mut message = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string).filter(|cause| !cause.is_empty()) {
        if !message.contains(&cause) {
            message.push_str(&format!(": {cause}"));
        }
    }
    message
}

fn run(cli: Cli, given: Given, settings: Settings, cancel: Cancel) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let app = App::open(settings.config(), cancel)?;
    let app = std::env::current_exe().map_or(app.clone(), |program| app.tried_by(program));
    let command = cli.command.unwrap_or_else(|| Command::Chat(chat::Chat::default()));
    if app.lacks_accelerator() && command.runs_models() {
        tell!("monobloc: note: built for an accelerator, but its driver reports none: models run on the processor");
    }
    // `chat` handles Ctrl-C itself, ending the running request and not the program.
    if !matches!(command, Command::Chat(_)) {
        runtime.spawn(watch_for_interrupt(app.clone()));
    }
    runtime.spawn(watch_for_end(app.clone()));
    runtime.spawn(app.watch());
    let ended = match command {
        Command::Ask(ask) => runtime.block_on(ask.run(&app)),
        Command::Plan(plan) => runtime.block_on(plan.run(&app)),
        Command::Inspect(inspect) => runtime.block_on(inspect.run(&app)),
        Command::Chat(chat) => runtime.block_on(chat.run(&app)),
        Command::Serve(serve) => runtime.block_on(serve.run(&app)),
        Command::Connect(connect) => connect.run(&app),
        Command::Index(index) => index.run(&app),
        Command::Search(search) => search.run(&app),
        Command::Graph(graph) => graph.run(&app),
        Command::Context(context) => context.run(&app),
        Command::Models(models) => runtime.block_on(models.run(&app)),
        Command::Complete(complete) => runtime.block_on(complete.run(&app)),
        #[cfg(feature = "lab")]
        Command::Synth(synth) => synth.run(&app),
        #[cfg(feature = "lab")]
        Command::Eval(eval) => runtime.block_on(eval.run(&app, &settings)),
        Command::Fit(fit) => fit.run(&app),
        Command::Bench(bench) => runtime.block_on(bench.run(&app)),
        Command::Telemetry(telemetry) => telemetry.run(&app),
        Command::Config(config) => config.run(&app, &settings),
        Command::Acp => runtime.block_on(acp::serve(&app, given, BufReader::new(io::stdin()), io::stdout())),
        Command::Mcp(mcp) => runtime.block_on(mcp.run(&app)),
        Command::Lessons(lessons) => lessons.run(&app),
        Command::Undo(undo) => undo.run(&app),
        Command::Rewind(rewind) => rewind.run(&app),
        Command::Checkpoints(checkpoints) => checkpoints.run(&app),
        Command::History(history) => history.run(&app),
        Command::Audit(audit) => runtime.block_on(audit.run(&app)),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut settings::arguments(Cli::command()), "monobloc", &mut Out);
            Ok(())
        }
    };
    app.end();
    // Do not wait for blocked background threads, for example a cancelled load.
    runtime.shutdown_background();
    ended
}

/// Asks on the terminal; anything but yes counts as no.
fn says_yes(question: &str) -> Result<bool> {
    put!("{question} [y]es, [n]o: ");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// The first Ctrl-C cancels; the second ends the process immediately.
async fn watch_for_interrupt(app: App) {
    while tokio::signal::ctrl_c().await.is_ok() {
        if app.cancel.is_cancelled() {
            app.exit(CANCELLED);
        }
        app.cancel.cancel();
    }
}

/// SIGTERM and SIGHUP (a closed terminal) end the program and the commands and servers it started.
async fn watch_for_end(app: App) {
    let Ok(mut terminated) = signal(SignalKind::terminate()) else { return };
    let Ok(mut hung_up) = signal(SignalKind::hangup()) else { return };
    let number = tokio::select! {
        _ = terminated.recv() => SignalKind::terminate(),
        _ = hung_up.recv() => SignalKind::hangup(),
    };
    let _ = timeout(RESTORE_MAX, spawn_blocking(screen::restore)).await;
    app.exit(128 + number.as_raw_value());
}

/// Writes the log to standard error if `MONOBLOC_LOG` is set, for example to `debug`; it includes llama.cpp's log.
fn start_logging() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("MONOBLOC_LOG").unwrap_or_else(|_| "off".into());
    // A turn, step, model call or tool call is a span: when it ends, the log gives its duration.
    let spans = FmtSpan::CLOSE;
    tracing_subscriber::fmt().with_env_filter(filter).with_span_events(spans).with_writer(io::stderr).init();
}
