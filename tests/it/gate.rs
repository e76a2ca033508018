//! The tools that a free loop may use for each capability and mode, and how a model's capability is
//! measured.

use std::time::Duration;

use monobloc::agent::probe::{self, Depth, PLANS, TASKS};
use monobloc::agent::{Meter, Toolkit, run_turn};
use monobloc::budget::permit::Priority;
use monobloc::config::TurnTime;
use monobloc::engine::scripted::Script;
use monobloc::models::{Measured, Role};
use monobloc::protocol::{Decision, Event, Given, Mode, Proposal, TurnFinished};
use serde_json::json;

use crate::cli::{Project, Run};
use crate::scripted::{Witness, indexed, toolkit};
use crate::turn::Turn;

/// One call to each kind of tool: write, read, query the index.
const STORY: [&str; 3] = [
    r#"[write_file(path="new.txt", content="x")]"#,
    r#"[read_file(path="src/retry.ts")]"#,
    r#"[index_list_memories()]"#,
];

struct LoopRights {
    finished: TurnFinished,
    replies: usize,
    written: bool,
}

impl LoopRights {
    /// Tools that were run, chosen by the model or by code.
    fn tools(&self) -> Vec<&str> {
        self.finished.steps.iter().map(|step| step.tool.as_str()).collect()
    }
}

/// Runs one turn of the free loop, with an index.
async fn cell(capable: bool, mode: Mode, request: &str, script: Script) -> LoopRights {
    let project = Project::todo();
    let script = if capable { script.writing() } else { script.judged(Some(false)) };
    let plain = toolkit(&project, script, Script::saying(""));
    let toolkit = Toolkit { orchestrate: false, mode, ..indexed(&project, plain) };
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let finished = run_turn(&toolkit, request, &host).await.expect("a turn");
    let misses = host.seen(|event| if let Event::ToolMiss(miss) = event { Some(miss.total_responses) } else { None });
    LoopRights {
        finished,
        replies: misses.last().copied().unwrap_or(0),
        written: project.path().join("new.txt").exists(),
    }
}

/// A model that tries one tool of each kind in turn, as soon as retrieval has added something to
/// its prompt.
fn tries_everything() -> Script {
    Script::saying("There is nothing from the project.")
        .on("lessons yet", "A request is tried 5 times.")
        .on("read_file` is not offered now", STORY[2])
        .on("src/retry.ts, lines 1-", STORY[2])
        .on("`write_file` is not offered now", STORY[1])
        .on("From the project:", STORY[0])
}

const QUESTION: &str = "Where is the pause between two tries defined?";

#[tokio::test]
async fn capable_and_agent_has_every_tool_and_twelve_iterations() {
    let request = "Write the text \"x\" to new.txt";
    let done = cell(true, Mode::Agent, request, tries_everything().on("created new.txt", "x stands in new.txt.")).await;
    assert!(done.written && done.tools().contains(&"write_file"), "{:?}", done.finished);
    // A model that executes something new in every iteration is stopped only after twelve iterations.
    let mut endless = Script::saying("nothing");
    for n in (0..20).rev() {
        let call = format!(r#"[write_file(path="{}.txt", content="x")]"#, n + 1);
        endless = endless.on(&format!("created {n}.txt"), &call);
    }
    let endless = endless.on("From the project:", r#"[write_file(path="0.txt", content="x")]"#);
    let many = "Write x to 0.txt, then run `echo a`, then run `echo b`";
    assert!(cell(true, Mode::Agent, many, endless).await.replies <= 12);
}

#[tokio::test]
async fn capable_and_chat_reads_with_every_tool_that_reads() {
    let done = cell(true, Mode::Chat, QUESTION, tries_everything()).await;
    assert!(!done.written);
    assert_eq!(done.tools(), ["read_file", "index_list_memories"], "{:?}", done.finished);
}

#[tokio::test]
async fn weak_and_agent_becomes_chat_with_the_index_alone() {
    let done = cell(false, Mode::Agent, QUESTION, tries_everything()).await;
    assert!(!done.written && done.replies <= 3, "{} replies", done.replies);
    assert!(done.tools().iter().all(|tool| tool.starts_with("index_")), "{:?}", done.finished);
    // A requested change is not made, and the answer says so.
    let change = cell(false, Mode::Agent, "Write the text \"x\" to new.txt", tries_everything()).await;
    assert!(!change.written && change.finished.answer.contains("not done"), "{:?}", change.finished);
}

#[tokio::test]
async fn weak_and_chat_reads_within_three_iterations() {
    let done = cell(false, Mode::Chat, QUESTION, tries_everything()).await;
    assert!(!done.written && done.replies <= 3, "{} replies", done.replies);
    assert!(done.tools().contains(&"read_file"), "{:?}", done.finished);
}

#[tokio::test]
async fn weak_models_get_the_short_prompt_and_their_reasoning_is_no_answer() {
    let reasons = "<reasoning>The file says so.</reasoning> The pause is 250 ms, as PAUSE_MS in src/retry.ts says.";
    let script = Script::saying("I do not know.").on("Keep it short - 2-3 sentences maximum.", reasons);
    let done = cell(false, Mode::Chat, QUESTION, script).await;
    assert!(
        !done.finished.answer.contains("reasoning") && !done.finished.answer.contains("says so"),
        "{:?}",
        done.finished
    );
    // In chat mode, code looks up information for a weak model.
    assert_eq!(done.tools(), ["index_search"]);
    assert!(done.finished.answer.contains("PAUSE_MS"), "{}", done.finished.answer);
}

/// A model that does everything the probe asks for.
fn obedient() -> Script {
    let mut script = Script::saying("You are welcome.");
    for (count, requests) in PLANS {
        for request in requests {
            let steps: String = (0..count).map(|n| format!("[plan.add_step(description=\"step {n}\")]\n")).collect();
            script = script.on(&format!("user\n{request}<|im_end|>"), &steps);
        }
    }
    for (count, tasks) in &TASKS {
        for task in tasks {
            let tool = probe::tools(*count).into_iter().find(|tool| tool.name == task.tool).expect("the tool");
            let named = tool.parameters["required"].as_array().expect("names").iter().enumerate();
            let value = |at: usize| if at == 0 { json!(task.value) } else { json!("x") };
            let written: Vec<String> =
                named.map(|(at, name)| format!("{}={}", name.as_str().expect("a name"), value(at))).collect();
            script = script.on(task.task, &format!("[{}({})]", task.tool, written.join(", ")));
        }
    }
    script.judged(None)
}

async fn measured(script: Script, depth: Depth) -> Measured {
    let toolkit = toolkit(&Project::todo(), script, Script::saying(""));
    go_on(&toolkit, depth, Measured::default()).await
}

/// The results after one more turn of measuring.
async fn go_on(toolkit: &Toolkit, depth: Depth, found: Measured) -> Measured {
    let host = Witness::new(|_: &Proposal| Decision::Reject);
    let model = toolkit.model(Role::Planner, &host).await.expect("a model");
    probe::measure(toolkit, &model, depth, found, &host).await.expect("a measurement")
}

#[tokio::test]
async fn the_probe_measures_what_a_model_does() {
    let whole = measured(obedient(), Depth::Whole).await;
    assert_eq!((whole.prompts, whole.capable()), (30, Some(true)), "{whole:?}");
    for share in [whole.format, whole.selected(), whole.restraint, whole.planned(), whole.free(), whole.grammar] {
        assert!(share.right == share.of && share.of > 0, "{whole:?}");
    }
    let gate = measured(obedient(), Depth::Gate).await;
    // Ten calls, two pieces of small talk and one plan: no remaining answer can change the verdict.
    assert_eq!((gate.prompts, gate.capable()), (13, Some(true)), "{gate:?}");
    // Prompts of the gate are not sent again.
    let script = obedient();
    let asked = toolkit(&Project::todo(), script, Script::saying(""));
    assert_eq!(go_on(&asked, Depth::Whole, gate).await.prompts, 30);
    assert_eq!(asked.meter.usage().calls.len(), 17);
    // Three replies without a call are enough to classify the model as weak.
    let babble = Script::saying("I would say that it depends.").judged(None);
    let gate = measured(babble, Depth::Gate).await;
    assert_eq!((gate.prompts, gate.capable()), (3, Some(false)), "{gate:?}");
}

#[tokio::test]
async fn a_slow_machine_comes_to_the_verdict_of_a_fast_one() {
    let mut slow = obedient();
    slow.row_time = Duration::from_micros(20);
    let plain = toolkit(&Project::todo(), slow, Script::saying(""));
    let fast = measured(obedient(), Depth::Gate).await;
    // A turn with almost no time sends one prompt, and the next turn continues after it.
    let mut found = Measured::default();
    for turn in 1..=fast.prompts {
        assert_eq!(found.capable(), None, "{turn}");
        let hurried =
            Toolkit { time: TurnTime::Most(Duration::from_millis(1)), meter: Meter::start(), ..plain.clone() };
        found = go_on(&hurried, Depth::Gate, found).await;
        assert_eq!(found.prompts, turn);
    }
    assert_eq!(Measured { wall_ms: fast.wall_ms, ..found }, fast);
}

/// Every prompt of the gate begins like the previous one: system message and tools are processed
/// only once.
#[tokio::test]
async fn the_prompts_of_the_gate_read_their_tools_once() {
    let toolkit = toolkit(&Project::todo(), obedient(), Script::saying(""));
    go_on(&toolkit, Depth::Gate, Measured::default()).await;
    let calls = toolkit.meter.usage().calls;
    let (all, cached) =
        calls.iter().fold((0, 0), |(all, cached), call| (all + call.prompt_tokens, cached + call.cached_tokens));
    let longest = calls.iter().map(|call| call.prompt_tokens).max().expect("a call");
    assert!(all - cached < 2 * longest && all > 4 * longest, "{} of {all} read, {longest} the longest", all - cached);
}

#[tokio::test]
async fn the_command_measures_all_that_first_uses_measure_and_nothing_twice() {
    let probed = |script: Script| async move {
        let toolkit = toolkit(&Project::todo(), script, Script::saying(""));
        let host = Witness::new(|_: &Proposal| Decision::Reject);
        let all = probe::whole(&toolkit, Role::Planner, false, &host).await.expect("a measurement");
        (all, toolkit.meter.usage().calls.len())
    };
    let (all, calls) = probed(obedient()).await;
    assert!(all.prompts == 30 && all.choosing.is_known() && all.tier().is_some(), "{all:?}");
    assert!(calls > 30 + all.choosing.free.all().of + all.choosing.grammar.all().of, "{calls}");
    // Choosing, reading and writing have been measured.
    let (all, calls) = probed(obedient().writing()).await;
    assert_eq!((all.prompts, calls, all.writing.of), (30, 30, 3), "{all:?}");
}

#[tokio::test]
async fn a_measurement_is_work_in_the_background() {
    let mut script = Script::saying("I would say that it depends.").judged(None);
    script.row_time = Duration::from_millis(1);
    let toolkit = toolkit(&Project::todo(), script, Script::saying(""));
    let host = Witness::new(|_: &Proposal| Decision::Reject);
    let model = toolkit.model(Role::Planner, &host).await.expect("a model");
    let seen = async {
        loop {
            tokio::time::sleep(Duration::from_millis(5)).await;
            let planner = toolkit.pool.resident(Role::Planner).expect("a model");
            if let Some(busy) = planner.engine.slots().into_iter().flatten().next() {
                return busy.priority;
            }
        }
    };
    tokio::select! {
        priority = seen => assert_eq!(priority, Priority::Background),
        done = probe::measure(&toolkit, &model, Depth::Gate, Measured::default(), &host) => panic!("{done:?} was not seen at work"),
    }
}

#[tokio::test]
async fn a_grammar_is_not_used_where_it_does_not_improve_calls() {
    // It never writes a call, not even inside the grammar, so the grammar does not help.
    let whole = measured(Script::saying("Sure!").judged(None), Depth::Whole).await;
    assert!(!whole.grammar_helps(), "{whole:?}");
    assert!(!measured(obedient(), Depth::Whole).await.grammar_helps(), "it needs none");
}

#[tokio::test]
async fn the_single_model_loop_measures_an_unknown_model() {
    let project = Project::todo();
    let script = Script::saying("I would say that it depends.").judged(None);
    let toolkit = Toolkit { orchestrate: false, ..toolkit(&project, script, Script::saying("")) };
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let finished = run_turn(&toolkit, "Write the text \"x\" to new.txt", &host).await.expect("a turn");
    let phases: Vec<&str> = finished.usage.calls.iter().map(|call| call.phase.as_str()).collect();
    assert_eq!(phases.iter().filter(|phase| **phase == "measuring the model").count(), 3, "{phases:?}");
    let notices = host.notices();
    assert!(notices.iter().any(|notice| notice.contains("too weak to act without a plan")), "{notices:?}");
}

#[tokio::test]
async fn a_question_is_answered_from_a_context_file() {
    let script = Script::saying("The harbour has 14 berths.");
    let plain = toolkit(&Project::todo(), script, Script::saying(""));
    let given = vec![Given { name: "harbour.md".into(), text: "# Harbour\nThe harbour has 14 berths.\n".into() }];
    let toolkit = Toolkit { orchestrate: false, given, ..plain };
    let host = Witness::new(|_: &Proposal| Decision::Reject);
    let finished = run_turn(&toolkit, "How many berths does the harbour have?", &host).await.expect("a turn");
    assert!(finished.answer.contains("harbour.md:2") && finished.answer.contains("14 berths"), "{}", finished.answer);
    assert!(finished.steps.iter().all(|step| step.tool != "context"), "{:?}", finished.steps);
}

#[test]
fn the_small_model_answers_in_chat_mode_from_a_context_file() {
    let project = Project::todo();
    let before = project.files();
    let file = project.beside("harbour.md");
    std::fs::write(&file, "# Harbour\nThe harbour has 14 berths.\n").expect("a file");
    // The capability is configured, so the model need not be measured.
    let models = project.beside("models.toml");
    std::fs::write(&models, "[planner]\ncapability = \"weak\"\n").expect("a file");
    let [file, models] = [&file, &models].map(|path| path.to_str().expect("a plain path"));
    let flags = ["--mode", "chat", "--context", file, "--models-file", models, "--tools-offered", "2"];
    let turn = Turn::of(&project, "How many berths does the harbour have?", &flags);
    assert!(turn.answer().contains("14 berths"), "{}", turn.answer());
    let phases = turn.finished()["usage"]["calls"].to_string();
    assert!(!phases.contains("measuring the model") && turn.data("telemetry.tool_miss").len() <= 4, "{phases}");
    assert_eq!(project.files(), before);
    let missing = Run::new(&project, &["ask", "Why?", "--context", "nowhere.md"]).end();
    assert!(missing.code == Some(1) && missing.err.contains("nowhere.md"), "{missing:?}");
}
