//! What keeping, recording and confining cost a call: medians of 40 calls on a project of 500 files, in milliseconds.
//! Leaves out models and the first call of a turn, which looks at every file once and is told apart.

use std::sync::Arc;
use std::time::{Duration, Instant};

use monobloc::base::config::{ApproveMode, Commands};
use monobloc::base::{Cancel, ConversationId, StepId};
use monobloc::checkpoint::{About, Turn};
use monobloc::protocol::{Event, Record};
use monobloc::session::Journal;
use monobloc::tools::confine::Root;
use monobloc::tools::policy::Policy;
use monobloc::tools::{Catalog, Context, ToolCall, execute};
use serde_json::{Value, json};

const CALLS: usize = 40;
const FILES: usize = 500;

async fn call(context: &Context, tool: &str, arguments: Value) -> Duration {
    let catalog = Catalog::builtin();
    let call = ToolCall { tool: tool.to_owned(), arguments: arguments.as_object().expect("an object").clone() };
    let approved = Policy::of(ApproveMode::Never).approved(call, catalog.get(tool).expect("a tool")).expect("allowed");
    let from = Instant::now();
    let outcome = execute(approved, context).await;
    let took = from.elapsed();
    assert!(outcome.is_ok(), "{}", outcome.text);
    took
}

/// The first of them, and the median of the rest.
async fn calls(context: &Context, tool: &str, arguments: impl Fn(usize) -> Value) -> (f64, f64) {
    let first = call(context, tool, arguments(0)).await;
    let mut rest = Vec::new();
    for n in 1..=CALLS {
        rest.push(call(context, tool, arguments(n)).await);
    }
    rest.sort();
    (first.as_secs_f64() * 1e3, rest[CALLS / 2].as_secs_f64() * 1e3)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints milliseconds and claims nothing: times depend on the machine"]
async fn what_safety_costs_a_call() {
    let dir = tempfile::tempdir().expect("a folder");
    for n in 0..FILES {
        std::fs::write(dir.path().join(format!("f{n}.txt")), format!("{n}\n").repeat(200)).expect("a file");
    }
    let folder = dir.path().canonicalize().expect("a folder");
    let plain = Context::new(Root::open(&folder).expect("a project"), Cancel::new());
    let kept =
        || Context { turn: Some(Arc::new(Turn::new(&folder, About::default(), Cancel::new()))), ..plain.clone() };
    let free = Context { commands: Arc::new(Commands { confined: false, ..Commands::default() }), ..plain.clone() };
    let run = |_: usize| json!({ "command": "true" });
    let write = |n: usize| json!({ "path": "f1.txt", "content": format!("{n}\n") });
    for (what, context, tool) in [
        ("command, neither confined nor kept", free.clone(), "run_command"),
        ("command, confined", plain.clone(), "run_command"),
        ("command, confined and kept", kept(), "run_command"),
    ] {
        let (first, rest) = calls(&context, tool, run).await;
        println!("{what}: first {first:.1} ms, then {rest:.1} ms");
    }
    for (what, context) in [("write_file", plain.clone()), ("write_file, kept", kept())] {
        let (first, rest) = calls(&context, "write_file", write).await;
        println!("{what}: first {first:.1} ms, then {rest:.1} ms");
    }
    let mut journal = Journal::open(&dir.path().join(".monobloc/journal.ndjson")).expect("a journal");
    let event = || Event::StepExecuting { step: StepId(1), description: "x".repeat(500) };
    let from = Instant::now();
    for _ in 0..1_000 {
        journal.append(&Record::now(&ConversationId("c".to_owned()), event())).expect("written");
    }
    println!("journal: {:.3} ms a record", from.elapsed().as_secs_f64());
}
