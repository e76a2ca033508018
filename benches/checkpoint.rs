//! Measures what checkpoints, the journal and confinement add to a tool call, on projects of three sizes.
//!
//! Runs the same calls with and without a checkpoint and reports the space taken. Left out: models, consent and the
//! index. The speed of this machine's disk matters most, because each checkpoint waits until it is on disk.
//!
//! Run it: `cargo bench --bench checkpoint`

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use monobloc::base::{Cancel, ConversationId};
use monobloc::checkpoint::{About, Turn};
use monobloc::config::{ApproveMode, Commands};
use monobloc::protocol::{Event, Record};
use monobloc::session::Journal;
use monobloc::tools::confine::Root;
use monobloc::tools::{Catalog, Context, ToolCall, execute, policy::Policy, sandbox};
use serde_json::{Value, json};

const ROUNDS: usize = 20;

/// Milliseconds of one call, the median of [`ROUNDS`]. With `whole`, every call is its own turn.
async fn call(project: &Path, tool: &str, arguments: impl Fn(usize) -> Value, checkpoint: bool, whole: bool) -> f64 {
    let catalog = Catalog::builtin();
    let turn = || Arc::new(Turn::new(project, About::default(), Cancel::new()));
    let mut one = turn();
    let mut times: Vec<f64> = Vec::new();
    for round in 0..ROUNDS {
        if whole {
            one = turn();
        }
        let mut context = Context::new(Root::open(project).expect("a folder"), Cancel::new());
        context.turn = checkpoint.then(|| one.clone());
        let wanted = ToolCall {
            tool: tool.to_owned(),
            arguments: arguments(round + usize::from(checkpoint)).as_object().cloned().unwrap_or_default(),
        };
        let spec = catalog.get(tool).expect("a tool");
        let approved = Policy::of(ApproveMode::Never).approved(wanted, spec).expect("allowed");
        let from = Instant::now();
        let outcome = execute(approved, &context).await;
        if whole {
            one.finish().expect("a summary");
        }
        times.push(from.elapsed().as_secs_f64() * 1e3);
        assert!(outcome.is_ok(), "{outcome:?}");
    }
    one.finish().expect("a summary");
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

/// Milliseconds of a command that does nothing, the median of [`ROUNDS`]: unconfined, and confined.
async fn confinement() -> [f64; 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let catalog = Catalog::builtin();
    let mut medians = [0.0; 2];
    for (median, confined) in medians.iter_mut().zip([false, true]) {
        let mut context = Context::new(Root::open(folder.path()).expect("a folder"), Cancel::new());
        context.commands = Arc::new(Commands { confined, ..Commands::default() });
        let mut times: Vec<f64> = Vec::new();
        for _ in 0..ROUNDS {
            let arguments = json!({ "command": "true" }).as_object().cloned().unwrap_or_default();
            let wanted = ToolCall { tool: "run_command".to_owned(), arguments };
            let spec = catalog.get("run_command").expect("a tool");
            let approved = Policy::of(ApproveMode::Never).approved(wanted, spec).expect("allowed");
            let from = Instant::now();
            assert!(execute(approved, &context).await.is_ok());
            times.push(from.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        *median = times[ROUNDS / 2];
    }
    medians
}

#[tokio::main]
async fn main() {
    if let Some(missing) = sandbox::missing() {
        println!("not confined: {missing}");
    }
    let [free, confined] = confinement().await;
    println!("a command that does nothing: {free:.1} ms, confined {confined:.1} ms");
    println!(
        "files   first command ms (KiB kept)   write_file: bare, first of a turn, next   command: bare, first, next"
    );
    for files in [100usize, 1_000, 10_000] {
        let folder = tempfile::tempdir().expect("a folder");
        let project = folder.path().canonicalize().expect("a folder");
        for n in 0..files {
            let path = project.join(format!("d{}/f{n}.rs", n / 100));
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, format!("// {n}\n").repeat(400)).expect("a file");
        }
        let write = |round: usize| json!({ "path": "d0/f0.rs", "content": format!("// {round}\n").repeat(400) });
        let run = |round: usize| json!({ "command": format!("echo {round} > d0/f1.rs") });
        let first = Turn::new(&project, About::default(), Cancel::new());
        let from = Instant::now();
        first.begin("run_command", &monobloc::checkpoint::Reach::Everything, &|| Ok(Vec::new())).expect("a checkpoint");
        first.finish().expect("a summary");
        let first = from.elapsed().as_secs_f64() * 1e3;
        let database = project.join(".monobloc/checkpoints.db");
        let size = || std::fs::metadata(&database).map_or(0, |about| about.len()) / 1024;
        let kept = size();
        let mut row = vec![format!("{files:>6}  {first:>9.0} ({kept})        ")];
        for (tool, arguments) in [("write_file", &write as &dyn Fn(usize) -> Value), ("run_command", &run)] {
            for (checkpoint, whole) in [(false, false), (true, true), (true, false)] {
                row.push(format!("{:>9.1}", call(&project, tool, arguments, checkpoint, whole).await));
            }
        }
        println!("{}   and {} KiB for {} changes", row.join(" "), size() - kept, ROUNDS * 4);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut journal = Journal::open(&folder.path().join("journal.ndjson")).expect("a journal");
    let record = Record::now(&ConversationId::fresh(), Event::Notice { text: "x".repeat(500) });
    let from = Instant::now();
    for _ in 0..1_000 {
        journal.append(&record).expect("a record");
    }
    println!("journal: {:.3} ms a record", from.elapsed().as_secs_f64());
}
