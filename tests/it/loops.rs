//! The single-model loop with scripted models that misbehave: every case ends with a useful result and is counted.

use monobloc::agent::{Toolkit, run_turn};
use monobloc::base::StepId;
use monobloc::config::{ApproveMode, Cognitive};
use monobloc::engine::scripted::Script;
use monobloc::protocol::{
    Decision, Detection, Event, Proposal, Recovery, Remedy, Repeat, Stall, StepReport, StepState, StepStatus, ToolMiss,
    TurnFinished,
};
use serde_json::json;

use crate::cli::Project;
use crate::scripted::{Witness, indexed, silent, toolkit};

const CHANGE: &str = "In src/retry.ts change the maximum number of attempts from 5 to 3";
/// A sentence that occurs only in the loop's recovery text.
const RECOVERY: &str = "Do NOT call more read-only tools. Proceed with execution now.";
const NUDGE: &str = "Context gathering complete. Now proceed with execution using write_file or replace_in_file.";

/// A turn of the single-model loop, and its events.
struct Seen {
    finished: TurnFinished,
    reports: Vec<StepReport>,
    detections: Vec<Detection>,
    recoveries: Vec<Recovery>,
    miss: ToolMiss,
    repeat: Repeat,
}

impl Seen {
    async fn of(project: &Project, planner: Script, request: &str) -> Seen {
        let plain = toolkit(project, planner.writing(), Script::saying(""));
        // Code needs the index to find what it must change.
        let plain = if request == CHANGE { indexed(project, plain) } else { plain };
        let toolkit = Toolkit { orchestrate: false, ..plain };
        let host = Witness::new(|_: &Proposal| Decision::Approve);
        let finished = run_turn(&toolkit, request, &host).await.expect("a turn");
        let last = |events: Vec<(ToolMiss, Repeat)>| events.into_iter().last().expect("telemetry");
        let misses = host.seen(|event| if let Event::ToolMiss(miss) = event { Some(*miss) } else { None });
        let repeats = host.seen(|event| if let Event::Repeat(repeat) = event { Some(*repeat) } else { None });
        let (miss, repeat) = last(misses.into_iter().zip(repeats).collect());
        Seen {
            finished,
            reports: host.reports(),
            detections: host.seen(|event| if let Event::Detection(one) = event { Some(*one) } else { None }),
            recoveries: host.seen(|event| if let Event::Recovery(one) = event { Some(*one) } else { None }),
            miss,
            repeat,
        }
    }

    fn stalls(&self) -> Vec<(Stall, Remedy)> {
        self.detections.iter().map(|one| (one.stall, one.remedy)).collect()
    }

    fn tools(&self) -> Vec<&str> {
        self.reports.iter().map(|report| report.tool.as_str()).collect()
    }

    /// The largest number of consecutive read-only calls.
    fn reading(&self) -> usize {
        let runs = self.reports.split(|report| report.executing).map(<[StepReport]>::len);
        runs.max().unwrap_or(0)
    }
}

const NEW_FILE: &str = "Create src/TodoList.tsx with the text \"export const TodoList = 1;\"";

/// A model that reads something different every time and writes only after the recovery text.
fn explorer() -> Script {
    Script::saying(r#"[list_dir(path="src")]"#)
        .on("created src/TodoList.tsx", "The list stands in src/TodoList.tsx.")
        .on(RECOVERY, r#"[write_file(path="src/TodoList.tsx", content="export const TodoList = 1;")]"#)
        .on("@vitejs/plugin-react", r#"[read_file(path="index.html")]"#)
        .on("ENTRY_LENGTH_MAX", r#"[read_file(path="package.json")]"#)
        .on("main.tsx", r#"[read_file(path="src/store.ts")]"#)
}

#[tokio::test]
async fn harness_read_only_loop_detection() {
    let seen = Seen::of(&Project::of("react"), explorer(), NEW_FILE).await;
    let detected = seen.detections.iter().find(|one| one.remedy == Remedy::ExecutingToolsOnly).expect("a detection");
    assert_eq!((detected.iteration, detected.stall), (3, Stall::ReadOnlyLoop));
    assert_eq!(seen.reading(), 3);
}

#[tokio::test]
async fn harness_read_only_loop_recovery() {
    let project = Project::of("react");
    let seen = Seen::of(&project, explorer(), NEW_FILE).await;
    assert_eq!(seen.tools(), ["list_dir", "read_file", "read_file", "write_file"], "executed within five calls");
    assert!(project.text("src/TodoList.tsx").contains("TodoList = 1"));
    let recovery = Recovery { iteration: 4, stall: Stall::ReadOnlyLoop, recovered: true };
    assert_eq!(seen.recoveries, [recovery]);
    assert_eq!((seen.miss.textual_tool_call_patterns, seen.repeat.repeat_rate), (0, 0.0));
    assert!(seen.finished.answer.contains("created src/TodoList.tsx"), "{}", seen.finished.answer);
}

#[tokio::test]
async fn harness_execution_transition_nudge() {
    // This model already reacts to the first hint.
    let planner = Script::saying(r#"[list_dir(path="src")]"#)
        .on("created src/TodoList.tsx", "The list stands in src/TodoList.tsx.")
        .on(NUDGE, r#"[write_file(path="src/TodoList.tsx", content="export const TodoList = 1;")]"#)
        .on("main.tsx", r#"[read_file(path="src/store.ts")]"#);
    let seen = Seen::of(&Project::of("react"), planner, NEW_FILE).await;
    assert_eq!(seen.stalls(), [(Stall::ReadOnlyLoop, Remedy::Nudge)]);
    assert_eq!((seen.detections[0].iteration, seen.tools().len()), (2, 3));
}

#[tokio::test]
async fn production_parity_react_todo_then_ssr_followup() {
    let project = Project::of("react");
    let todo = "Create src/TodoList.tsx and change src/App.tsx so that it shows the list";
    let list = r#"export function TodoList({ all }: { all: string[] }) { return <ul>{all.map((one) => <li>{one}</li>)}</ul>; }"#;
    let write = format!("[write_file(path=\"src/TodoList.tsx\", content={})]", json!(list));
    let planner = Script::saying("[index_list_memories()]")
        .on("changed src/App.tsx", "src/App.tsx shows the list of src/TodoList.tsx.")
        .on(
            "created src/TodoList.tsx",
            r#"[replace_in_file(path="src/App.tsx", old="Nothing here yet", new="<TodoList all={store.all()} /> Entries")]"#,
        )
        .on(NUDGE, &write)
        .on("lessons", r#"[read_file(path="src/App.tsx")]"#);
    let seen = Seen::of(&project, planner, todo).await;
    assert!(project.text("src/App.tsx").contains("<TodoList"), "{:?}", seen.finished);
    assert!(seen.reading() <= 3 && seen.finished.answer.contains("src/TodoList.tsx"), "{:?}", seen.finished);

    // The follow-up request: the model reads lessons and files again and again and changes nothing.
    let ssr = "Refactor the app to server side rendering: create src/entry-server.tsx, then change src/main.tsx so \
               that it hydrates";
    let server = r#"import { renderToString } from "react-dom/server"; import { App } from "./App"; export const render = () => renderToString(<App />);"#;
    let write = format!("[write_file(path=\"src/entry-server.tsx\", content={})]", json!(server));
    let planner = Script::saying("[index_list_memories()]")
        .on("changed src/main.tsx", "src/entry-server.tsx renders and src/main.tsx hydrates.")
        .on(
            "created src/entry-server.tsx",
            r#"[replace_in_file(path="src/main.tsx", old="createRoot(document.getElementById(\"root\")!).render(<App />)", new="hydrateRoot(document.getElementById(\"root\")!, <App />)")]"#,
        )
        .on(RECOVERY, &write)
        .on("TodoList.tsx", "[index_list_memories()]")
        .on("lessons", r#"[find_files(pattern="*.tsx")]"#);
    let seen = Seen::of(&project, planner, ssr).await;
    assert!(
        project.text("src/entry-server.tsx").contains("renderToString"),
        "{:?} {:?}",
        seen.finished,
        seen.detections
    );
    assert!(project.text("src/main.tsx").contains("hydrateRoot(document"));
    assert!(seen.stalls().contains(&(Stall::SameBatch, Remedy::ExecutingToolsOnly)), "{:?}", seen.detections);
    assert!(seen.reading() <= 3, "{:?}", seen.tools());
    assert_eq!(seen.repeat.deduplicated_tool_calls, 1);
    assert!(seen.finished.steps.iter().all(|step| step.status != StepStatus::Rejected));
}

#[tokio::test]
async fn a_model_that_deflects_is_asked_once_and_then_the_work_is_done() {
    let project = Project::todo();
    let planner =
        Script::saying("As a language model I cannot reach your files. You could open src/retry.ts yourself.");
    let seen = Seen::of(&project, planner, CHANGE).await;
    // The second reply has the same text.
    assert_eq!(
        seen.stalls(),
        [(Stall::Deflection, Remedy::ExecutingToolsOnly), (Stall::SameText, Remedy::CodeOwnedSteps)]
    );
    assert!(project.text("src/retry.ts").contains("MAX_ATTEMPTS = 3;"), "{:?}", seen.finished);
    assert!(seen.finished.answer.contains("changed src/retry.ts"), "{}", seen.finished.answer);
    assert_eq!((seen.miss.total_responses, seen.repeat.repeated_content), (2, 1));
}

#[tokio::test]
async fn a_question_that_is_deflected_is_answered_from_the_file() {
    let planner = Script::saying("You can find that in the documentation.")
        .on("one short sentence", "A request is tried 5 times.")
        .on("Evidence:", "A request is tried 5 times.");
    let request = "Read src/retry.ts and tell me how many times a request is tried";
    let seen = Seen::of(&Project::todo(), planner, request).await;
    assert_eq!(seen.tools(), ["read_file"]);
    assert!(seen.finished.answer.contains("tried 5 times"), "{}", seen.finished.answer);
}

#[tokio::test]
async fn a_model_that_goes_on_after_the_work_is_done_is_stopped() {
    let project = Project::todo();
    let call = r#"[replace_in_file(path="src/retry.ts", old="MAX_ATTEMPTS = 5", new="MAX_ATTEMPTS = 3")]"#;
    let seen = Seen::of(&project, Script::saying(call), CHANGE).await;
    assert_eq!(seen.tools(), ["replace_in_file"]);
    assert_eq!(seen.stalls(), [(Stall::SameBatch, Remedy::Synthesis)]);
    assert_eq!((seen.miss.total_responses, seen.repeat.deduplicated_tool_calls), (2, 1));
    assert!(seen.finished.answer.contains("changed src/retry.ts"), "{}", seen.finished.answer);
}

#[tokio::test]
async fn a_false_claim_of_a_change_is_not_reported_and_the_change_is_made() {
    let project = Project::todo();
    let planner = Script::saying("Done! It is 3 in src/retry.ts now, and 7 in src/pull.ts.")
        .on(RECOVERY, "I have already changed src/pull.ts to 7.")
        .on("src/retry.ts, lines 1-", r#"The value is 5 now."#);
    let planner = planner.on("tools", r#"[read_file(path="src/retry.ts")]"#);
    let seen = Seen::of(&project, planner, CHANGE).await;
    assert!(seen.stalls().iter().any(|(stall, _)| *stall == Stall::NothingExecuted), "{:?}", seen.detections);
    assert!(project.text("src/retry.ts").contains("MAX_ATTEMPTS = 3;"));
    assert!(!seen.finished.answer.contains("pull.ts"), "{}", seen.finished.answer);
}

#[tokio::test]
async fn a_model_that_stays_with_one_kind_of_tool_leaves_no_part_undone() {
    let planner = Script::saying(r#"[read_file(path="src/retry.ts")]"#)
        .on("TITLE_LENGTH_MAX", r#"[read_file(path="config.toml")]"#)
        .on("MAX_ATTEMPTS", r#"[read_file(path="src/todo.ts")]"#);
    let request = "Read src/retry.ts, read src/todo.ts, then run the command `echo hello`";
    let seen = Seen::of(&Project::todo(), planner, request).await;
    assert_eq!(seen.tools(), ["read_file", "read_file", "read_file", "run_command"]);
    assert!(seen.stalls().contains(&(Stall::ReadOnlyLoop, Remedy::CodeOwnedSteps)), "{:?}", seen.detections);
    assert!(seen.finished.answer.contains("hello"), "{}", seen.finished.answer);
}

#[tokio::test]
async fn unknown_tools_are_refused_with_the_nearest_name_and_the_work_is_done() {
    let project = Project::todo();
    let planner = Script::saying(r#"[open_editor(file="src/retry.ts")]"#);
    let seen = Seen::of(&project, planner, CHANGE).await;
    assert_eq!(seen.stalls(), [(Stall::NoUsableCall, Remedy::CodeOwnedSteps)]);
    assert_eq!(seen.miss.total_responses, 2);
    assert!(project.text("src/retry.ts").contains("MAX_ATTEMPTS = 3;"));

    // A model that misspells a tool gets the right name and continues.
    let planner = Script::saying(r#"[reed_fille(path="src/todo.ts")]"#)
        .on("TITLE_LENGTH_MAX = 120", "A title has 120 letters.")
        .on("the nearest is `read_file`", r#"[read_file(path="src/todo.ts")]"#);
    let seen = Seen::of(&Project::todo(), planner, "How long may a title in src/todo.ts be?").await;
    assert_eq!(seen.tools(), ["read_file"]);
    assert!(seen.finished.answer.contains("120"), "{}", seen.finished.answer);
}

#[tokio::test]
async fn a_call_written_as_text_is_carried_out_and_counted() {
    let planner = Script::saying("tool_calls: {\"name\": \"read_file\", \"arguments\": {\"path\": \"src/todo.ts\"}}")
        .on("TITLE_LENGTH_MAX = 120", "A title has 120 letters.");
    let seen = Seen::of(&Project::todo(), planner, "How long may a title in src/todo.ts be?").await;
    assert_eq!(seen.tools(), ["read_file"]);
    assert_eq!(seen.miss.textual_tool_call_patterns, 1);

    // A call that cannot be parsed is requested again, with an example.
    let planner = Script::saying("<tool_call>read todo, please</tool_call>")
        .on("TITLE_LENGTH_MAX = 120", "A title has 120 letters.")
        .on("could not be read as a tool call", r#"[read_file(path="src/todo.ts")]"#);
    let seen = Seen::of(&Project::todo(), planner, "How long may a title in src/todo.ts be?").await;
    assert_eq!(seen.stalls(), [(Stall::UnreadableCall, Remedy::AskedAgain)]);
    assert_eq!((seen.tools(), seen.recoveries[0].recovered), (vec!["read_file"], true));
}

#[tokio::test]
async fn the_loop_counters_have_their_documented_json_form() {
    let planner =
        Script::saying(r#"[read_file(path="src/todo.ts")]"#).on("TITLE_LENGTH_MAX = 120", "A title has 120 letters.");
    let seen = Seen::of(&Project::todo(), planner, "How long may a title in src/todo.ts be?").await;
    let written = |event: Event| serde_json::to_value(event).expect("an event");
    assert_eq!(
        written(Event::ToolMiss(seen.miss)),
        json!({"type": "telemetry.tool_miss", "data": {"totalResponses": 2, "responsesWithToolCalls": 1,
            "responsesWithoutToolCalls": 1, "textualToolCallPatterns": 0, "missRate": 0.5}})
    );
    assert_eq!(
        written(Event::Repeat(seen.repeat)),
        json!({"type": "telemetry.repeat", "data": {"totalToolCalls": 1, "deduplicatedToolCalls": 0,
            "repeatedBatches": 0, "repeatedContent": 0, "repeatRate": 0.0}})
    );
}

/// The states of `step`, in order.
fn states(host: &Witness<impl Fn(&Proposal) -> Decision + Send + Sync>, step: usize) -> Vec<StepState> {
    host.seen(|event| match event {
        Event::StepState { step: StepId(of), state } if *of == step => Some(*state),
        _ => None,
    })
}

#[tokio::test]
async fn a_step_goes_through_its_states_in_order() {
    use StepState::{AwaitingApproval, Complete, Deciding, Executing, FailedToExecute, Thinking};
    let stories: [(&str, &[StepState]); 2] = [
        ("Read src/missing.ts", &[Thinking, Deciding, Executing, FailedToExecute]),
        (CHANGE, &[Thinking, Deciding, AwaitingApproval, Executing, Complete]),
    ];
    for (request, story) in stories {
        let project = Project::todo();
        let toolkit = indexed(&project, silent(&project));
        let host = Witness::new(|_: &Proposal| Decision::Approve);
        run_turn(&toolkit, request, &host).await.expect("a turn");
        assert_eq!(states(&host, 1), story);
    }
}

/// A turn in an indexed project, with models that generate no text and a user who rejects every call.
async fn turn(request: &str) -> (TurnFinished, Witness<impl Fn(&Proposal) -> Decision + Send + Sync>) {
    let project = Project::todo();
    let host = Witness::new(|_: &Proposal| Decision::Reject);
    let finished = run_turn(&indexed(&project, silent(&project)), request, &host).await.expect("a turn");
    (finished, host)
}

#[tokio::test]
async fn a_missing_file_is_reported_with_the_most_similar_path() {
    for wrong in ["lib/retry.ts", "src/retr.ts"] {
        let (finished, _) = turn(&format!("Read {wrong}")).await;
        assert_eq!(finished.steps.iter().map(|step| step.status).collect::<Vec<_>>(), [StepStatus::Failed]);
        assert!(finished.answer.contains("`src/retry.ts` may be meant"), "{}", finished.answer);
    }
}

#[tokio::test]
async fn a_missing_file_without_a_similar_path_is_not_guessed_and_no_step_uses_it() {
    let project = Project::todo();
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let request = "Read src/missing.ts and src/todo.ts, then copy them to src/copy.ts";
    let finished = run_turn(&indexed(&project, silent(&project)), request, &host).await.expect("a turn");
    let (failed, others): (Vec<_>, Vec<_>) =
        finished.steps.iter().partition(|step| step.arguments["path"] == "src/missing.ts");
    assert_eq!(failed.iter().map(|step| step.status).collect::<Vec<_>>(), [StepStatus::Failed]);
    assert!(others.iter().all(|step| step.arguments["path"] == "src/todo.ts"), "{others:?}");
    assert!(others.iter().all(|step| !step.executing), "{others:?}");
}

#[tokio::test]
async fn a_path_that_may_not_be_read_is_not_called_missing() {
    let project = Project::todo();
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let finished = run_turn(&indexed(&project, silent(&project)), "Read ../retry.ts", &host).await.expect("a turn");
    assert!(finished.steps.iter().all(|step| step.status == StepStatus::Failed), "{:?}", finished.steps);
    assert!(host.notices().iter().all(|notice| !notice.contains("does not exist")), "{:?}", host.notices());
}

#[tokio::test]
async fn a_rejected_call_is_not_tried_another_way() {
    let project = Project::todo();
    let host = Witness::new(|_: &Proposal| Decision::Reject).under(ApproveMode::Always);
    let toolkit = indexed(&project, silent(&project));
    let finished = run_turn(&toolkit, "Read src/retr.ts", &host).await.expect("a turn");
    let ended: Vec<_> = finished.steps.iter().map(|step| step.status).collect();
    assert_eq!(ended, [StepStatus::Rejected]);
}

#[tokio::test]
async fn a_folder_name_in_a_request_is_a_path() {
    for (request, tool, arguments) in [
        ("What is in src?", "list_dir", json!({ "path": "src/" })),
        ("List src", "list_dir", json!({ "path": "src/" })),
        ("How many files are in the src folder?", "list_dir", json!({ "path": "src/" })),
        ("Look for attempt in src", "search_text", json!({ "pattern": "attempt", "path": "src/" })),
    ] {
        let (finished, _) = turn(request).await;
        let calls: Vec<_> = finished.steps.iter().map(|step| (step.tool.as_str(), json!(step.arguments))).collect();
        assert_eq!(calls, [(tool, arguments)], "{request}");
    }
}

#[tokio::test]
async fn calls_in_other_notations_count_unless_disabled() {
    let planner = || {
        let call = r#"{"name": "read_file", "arguments": {"path": "src/retry.ts"}}"#;
        Script::saying(call).on("MAX_ATTEMPTS = 5", "A request is tried 5 times.")
    };
    for (fallback_parsing, expected) in [(true, 1), (false, 0)] {
        let project = Project::todo();
        let plain = toolkit(&project, planner(), Script::saying(""));
        let cognitive = Cognitive { fallback_parsing, ..plain.cognitive };
        let toolkit = Toolkit { orchestrate: false, cognitive, ..plain };
        let host = Witness::new(|_: &Proposal| Decision::Reject);
        run_turn(&toolkit, "How many times is a request tried?", &host).await.expect("a turn");
        let textual = host.seen(|event| if let Event::ToolMiss(miss) = event { Some(*miss) } else { None });
        let textual = textual.iter().map(|miss| miss.textual_tool_call_patterns).max();
        assert_eq!(textual, Some(expected), "{fallback_parsing}");
    }
}
