//! Turns with scripted models: consent, failures, the single-model loop, answers, waiting and cancelling.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use monobloc::agent::{Deciding, Host, Meter, Notes, Remotes, Toolkit, TurnError, Way, run_turn};
use monobloc::base::{Cancel, ConversationId, StepId};
use monobloc::budget::permit::Permit;
use monobloc::config::{ApproveMode, Bounds, Cognitive, TurnTime};
use monobloc::engine::Request;
use monobloc::engine::pool::Pool;
use monobloc::engine::scripted::Script;
use monobloc::index::Index;
use monobloc::models::Role;
use monobloc::models::dialect::{self, Message};
use monobloc::protocol::{Decision, Event, Mode, Proposal, StepReport, StepStatus, TurnFinished};
use monobloc::tools::confine::Root;
use monobloc::tools::policy::Policy;
use monobloc::tools::{Catalog, Context, Prefilter};
use serde_json::{Map, Value, json};

use crate::cli::Project;
use crate::clock::Sleeper;

const CHANGE: &str = "In src/retry.ts change the maximum number of attempts from 5 to 3";

/// A host that records events and answers proposals with `decide`.
pub struct Witness<F> {
    events: Mutex<Vec<Event>>,
    policy: Policy,
    decide: F,
    inspects: bool,
}

impl<F: Fn(&Proposal) -> Decision + Send + Sync> Witness<F> {
    pub fn new(decide: F) -> Witness<F> {
        let policy = Policy::of(ApproveMode::OnMutation);
        Witness { events: Mutex::default(), policy, decide, inspects: false }
    }

    /// Like this one, with the approval mode `mode`.
    pub fn under(self, mode: ApproveMode) -> Witness<F> {
        Witness { policy: Policy::of(mode), ..self }
    }

    /// Like this one, for a user who is asked after every stage.
    pub fn inspecting(self) -> Witness<F> {
        Witness { inspects: true, ..self.under(ApproveMode::Always) }
    }

    /// The values that `pick` returns for the events.
    pub fn seen<T>(&self, pick: impl FnMut(&Event) -> Option<T>) -> Vec<T> {
        self.events.lock().expect("nobody panics").iter().filter_map(pick).collect()
    }

    pub fn notices(&self) -> Vec<String> {
        self.seen(|event| if let Event::Notice { text } = event { Some(text.clone()) } else { None })
    }

    pub fn reports(&self) -> Vec<StepReport> {
        self.seen(|event| if let Event::StepCompleted(report) = event { Some(report.clone()) } else { None })
    }
}

impl<F: Fn(&Proposal) -> Decision + Send + Sync> Host for Witness<F> {
    fn emit(&self, event: Event) {
        self.events.lock().expect("nobody panics").push(event);
    }

    fn approve<'a>(&'a self, _: StepId, proposal: &'a Proposal) -> Deciding<'a> {
        let decision = (self.decide)(proposal);
        Box::pin(async move { decision })
    }

    fn policy(&self) -> &Policy {
        &self.policy
    }

    fn inspects(&self) -> bool {
        self.inspects
    }
}

fn never_asked(proposal: &Proposal) -> Decision {
    panic!("nobody was to be asked: {proposal:?}")
}

pub fn toolkit(project: &Project, planner: Script, router: Script) -> Toolkit {
    toolkit_in(&project.path(), planner, router)
}

pub fn toolkit_in(project: &Path, planner: Script, router: Script) -> Toolkit {
    let dialect = dialect::by_name("chatml").expect("a dialect");
    let pool = Pool::scripted(vec![(Role::Planner, planner), (Role::Router, router)], dialect).expect("a pool");
    let (catalog, cancel) = (Catalog::builtin(), Cancel::new());
    let root = Root::open(project).expect("a project");
    Toolkit {
        picked: Role::Planner,
        pool,
        embedder: None,
        prefilter: Arc::new(Prefilter::new(catalog.specs(), None)),
        catalog: Arc::new(catalog),
        index: None,
        context: Some(Context::new(root, cancel.clone())),
        tools_offered: 15,
        orchestrate: true,
        report: false,
        iterations_max: None,
        time: TurnTime::default(),
        bounds: Bounds::default(),
        mode: Mode::Agent,
        cognitive: Cognitive::default(),
        think: None,
        given: Vec::new(),
        conversation: ConversationId::fresh(),
        earlier: Vec::new(),
        cancel,
        meter: Meter::start(),
        remotes: Remotes::default(),
        notes: Notes::default(),
        way: Way::default(),
    }
}

/// The same toolkit with an index of the project.
pub fn indexed(project: &Project, plain: Toolkit) -> Toolkit {
    indexed_in(&project.path(), plain)
}

pub fn indexed_in(project: &Path, plain: Toolkit) -> Toolkit {
    let index = Index::open(project).expect("an index");
    index.refresh_lexical(&mut |_| (), &Cancel::new()).expect("a refresh");
    let index = Some(Arc::new(index));
    let context = plain.context.clone().map(|context| Context { index: index.clone(), ..context });
    Toolkit { index, context, ..plain }
}

/// A toolkit whose planner and router generate no text.
pub fn silent(project: &Project) -> Toolkit {
    toolkit(project, Script::saying("It is as it is."), Script::saying(""))
}

/// The same model, which takes `row_ms` for every token that it reads or writes.
fn slow(mut script: Script, row_ms: u64) -> Script {
    script.row_time = Duration::from_millis(row_ms);
    script
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

/// Runs the change with this decision; returns the report of its one call and the whole turn.
async fn decided(project: &Project, decision: Decision) -> (StepReport, TurnFinished) {
    let host = Witness::new(move |_: &Proposal| decision.clone());
    let finished = run_turn(&indexed(project, silent(project)), CHANGE, &host).await.expect("a turn");
    let reports = host.reports();
    assert_eq!(reports, finished.steps);
    let asked = host.seen(|event| matches!(event, Event::ApprovalRequested { .. }).then_some(()));
    assert_eq!((reports.len(), asked.len()), (1, 1), "{reports:?}");
    (reports[0].clone(), finished)
}

/// Code reads what to remove only from its clause, and removes it only if it is unambiguous.
#[tokio::test]
async fn a_removal_is_carried_out_or_refused_by_code() {
    let file = "// TODO: one\nimport foo from './foo.js';\nimport bar from './bar.js';\n";
    for (request, expected, message) in [
        ("Line 1 is done. Delete line 1 from src/b.ts", &file[13..], ""),
        ("Remove the line \"import foo\" from src/b.ts", &[&file[..13], &file[41..]].concat(), ""),
        ("Remove from src/b.ts line 3", &file[..41], ""),
        ("Remove \"foo\" from src/b.ts", file, "`foo` occurs 2 times"),
        ("Remove the import of foo.js from src/b.ts", &[&file[..13], &file[41..]].concat(), ""),
        ("Remove the line about bananas from src/b.ts", file, "0 lines match"),
        ("Remove the last import from src/b.ts", file, "give its line numbers"),
    ] {
        let project = Project::todo();
        std::fs::write(project.path().join("src/b.ts"), file).expect("a file");
        let host = Witness::new(|_: &Proposal| Decision::Approve);
        run_turn(&indexed(&project, silent(&project)), request, &host).await.expect("a turn");
        assert_eq!(project.text("src/b.ts"), expected, "{request}");
        let notices = host.notices();
        assert!(message.is_empty() || notices.iter().any(|notice| notice.contains(message)), "{notices:?}");
    }
}

/// Without a model that writes, a file is created only with text quoted in the request, and no file
/// is replaced.
#[tokio::test]
async fn without_a_writing_model_only_quoted_text_is_written() {
    for (request, path, expected) in [
        ("Write hello to a.md", "a.md", None),
        ("Save the answer in notes.md", "notes.md", None),
        ("Create notes.md: one, two", "notes.md", None),
        ("Read src/todo.ts, then copy it to copy.md", "copy.md", None),
        ("Create notes.md with the text \"x\"", "notes.md", Some("x")),
        ("Create there.md with the text \"x\"", "there.md", Some("as it is\n")),
    ] {
        let project = Project::todo();
        std::fs::write(project.path().join("there.md"), "as it is\n").expect("a file");
        let host = Witness::new(|_: &Proposal| Decision::Approve);
        run_turn(&indexed(&project, silent(&project)), request, &host).await.expect("a turn");
        let found = std::fs::read_to_string(project.path().join(path)).ok();
        assert_eq!(found.as_deref(), expected, "{request}: {:?}", host.notices());
    }
}

/// A rename with both names needs no model.
#[tokio::test]
async fn a_rename_that_is_spelled_out_is_made_by_code() {
    let project = Project::todo();
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let request = "Rename MAX_ATTEMPTS to ATTEMPTS_MAX everywhere";
    run_turn(&indexed(&project, silent(&project)), request, &host).await.expect("a turn");
    let text = project.text("src/retry.ts");
    assert!(text.contains("ATTEMPTS_MAX = 5") && !text.contains("MAX_ATTEMPTS"), "{text} {:?}", host.notices());
}

/// Likewise, code moves one definition; if it cannot be moved, the step is refused and nothing is
/// changed.
#[tokio::test]
async fn a_definition_moves_with_its_imports_by_code() {
    let project = Project::todo();
    let text = "import { MAX_ATTEMPTS } from './retry';\n\nexport const twice = () => MAX_ATTEMPTS * 2;\n\nexport const once = () => 1;\n";
    std::fs::write(project.path().join("src/wait.ts"), text).expect("a file");
    std::fs::write(project.path().join("src/use.ts"), "import { twice } from './wait';\n\ntwice();\nconst once = 2;\n")
        .expect("a file");
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let request = "Move `twice` from src/wait.ts to src/net/twice.ts";
    run_turn(&indexed(&project, silent(&project)), request, &host).await.expect("a turn");
    let moved = "import { MAX_ATTEMPTS } from '../retry';\n\nexport const twice = () => MAX_ATTEMPTS * 2;\n";
    assert_eq!(project.text("src/net/twice.ts"), moved, "{:?}", host.notices());
    assert_eq!(project.text("src/wait.ts"), "export const once = () => 1;\n");
    assert_eq!(project.text("src/use.ts"), "import { twice } from './net/twice';\n\ntwice();\nconst once = 2;\n");
    let request = "Move the constant once from src/wait.ts to src/use.ts";
    let finished = run_turn(&indexed(&project, silent(&project)), request, &host).await.expect("a turn");
    let told = format!("{} {:?}", finished.answer, host.notices());
    assert!(told.contains("`once` already has a meaning in src/use.ts, line 4"), "{told}");
    assert_eq!(project.text("src/wait.ts"), "export const once = () => 1;\n");
}

#[tokio::test]
async fn an_approved_call_runs_as_it_was_shown() {
    let project = Project::todo();
    let (report, finished) = decided(&project, Decision::Approve).await;
    assert_eq!(report.status, StepStatus::Succeeded);
    assert!(project.text("src/retry.ts").contains("MAX_ATTEMPTS = 3;"));
    assert!(finished.answer.contains("changed src/retry.ts"), "{}", finished.answer);
}

#[tokio::test]
async fn a_rejected_call_does_not_run_and_is_reported_as_rejected() {
    let project = Project::todo();
    let before = project.files();
    let (report, finished) = decided(&project, Decision::Reject).await;
    assert_eq!((report.status, report.diff), (StepStatus::Rejected, None));
    assert_eq!(project.files(), before);
    assert!(finished.answer.contains("not done"), "{}", finished.answer);
}

#[tokio::test]
async fn modified_arguments_are_the_ones_that_run_and_are_recorded() {
    let project = Project::todo();
    let other = json!({ "path": "src/retry.ts", "old": "MAX_ATTEMPTS = 5", "new": "MAX_ATTEMPTS = 4" });
    let (report, _) = decided(&project, Decision::Modify(object(other.clone()))).await;
    assert_eq!((report.status, report.arguments), (StepStatus::Succeeded, other));
    assert!(project.text("src/retry.ts").contains("MAX_ATTEMPTS = 4;"));
}

#[tokio::test]
async fn modified_arguments_are_checked_like_any_others() {
    let project = Project::todo();
    let outside = project.beside("outside.ts");
    std::fs::write(&outside, "MAX_ATTEMPTS = 5").expect("a file");
    let before = project.files();
    for (modified, complaint) in [
        (json!({ "path": "src/retry.ts", "old": "5" }), "new"),
        (json!({ "path": "../outside.ts", "old": "5", "new": "4" }), "outside the project"),
        (json!({ "path": outside, "old": "5", "new": "4" }), "outside the project"),
    ] {
        let (report, finished) = decided(&project, Decision::Modify(object(modified))).await;
        assert_eq!(report.status, StepStatus::Failed, "{report:?}");
        assert!(report.summary.contains(complaint) && finished.answer.contains("failed"), "{report:?}");
    }
    assert_eq!(project.files(), before);
    assert_eq!(std::fs::read_to_string(&outside).expect("a file"), "MAX_ATTEMPTS = 5");
}

#[tokio::test]
async fn a_claim_after_a_tool_error_is_not_in_the_answer() {
    let project = Project::todo();
    let toolkit = toolkit(&project, Script::saying("src/missing.ts tries 7 times."), Script::saying(""));
    let host = Witness::new(never_asked);
    let request = "Read src/missing.ts and tell me how many times it tries";
    let finished = run_turn(&toolkit, request, &host).await.expect("a turn");
    assert!(host.reports().iter().all(|report| report.status == StepStatus::Failed), "{:?}", host.reports());
    assert!(finished.answer.contains("failed") && !finished.answer.contains('7'), "{}", finished.answer);
}

#[tokio::test]
async fn a_number_without_evidence_is_left_out_of_the_answer() {
    let project = Project::todo();
    let draft = "A request is tried 5 times. After 250 ms it is tried 9 more times.";
    let toolkit = toolkit(&project, Script::saying(draft), Script::saying(""));
    let request = "Read src/retry.ts and tell me how many times a request is tried";
    let finished = run_turn(&toolkit, request, &Witness::new(never_asked)).await.expect("a turn");
    assert!(finished.answer.contains("A request is tried 5 times."), "{}", finished.answer);
    assert!(!finished.answer.contains("9 more"), "{}", finished.answer);
}

#[tokio::test]
async fn the_single_model_loop_knows_plan_and_evidence_and_repeats_no_call() {
    let project = Project::todo();
    let request = "Read src/retry.ts, read src/missing.ts, then copy it to src/copy.ts";
    let again = r#"[read_file(path="src/retry.ts")]"#;
    // The script calls a tool only if the prompt contains the evidence of the first step and the
    // open steps, and only once.
    let planner = Script::saying("I know nothing.")
        .writing()
        .on("<|im_start|>tool", "The file has been read.")
        .on("(done)\ns2. Read src/missing.ts\ns3. Copy it to src/copy.ts\nStill open: ", again);
    let host = Witness::new(|_: &Proposal| Decision::Reject);
    let finished = run_turn(&toolkit(&project, planner, Script::saying("")), request, &host).await.expect("a turn");
    let fallbacks = host.seen(|event| matches!(event, Event::Fallback { .. }).then_some(()));
    assert_eq!(fallbacks.len(), 1);
    let reads =
        |steps: &[StepReport]| steps.iter().filter(|step| step.arguments == json!({ "path": "src/retry.ts" })).count();
    assert_eq!(reads(&finished.steps), 1, "the evidence has it once: {:?}", finished.steps);
    assert_eq!(reads(&host.reports()), 2, "the loop asked for it again");
    assert!(host.reports().last().is_some_and(|report| report.summary.starts_with("the same as e1")));
    let repeats = host.seen(|event| if let Event::Repeat(repeat) = event { Some(*repeat) } else { None });
    assert_eq!(repeats.last().map(|repeat| repeat.deduplicated_tool_calls), Some(1));
    assert!(
        finished.answer.contains("failed: read_file") && finished.answer.contains("not done"),
        "{}",
        finished.answer
    );
}

/// The transitions for the steps of a plan are not limited; the limit is for those that a model
/// causes.
#[tokio::test]
async fn a_weak_model_carries_out_a_plan_of_more_steps_than_it_has_transitions() {
    let project = Project::todo();
    let names: Vec<String> = (1..=12).map(|at| format!("memo{at}.md")).collect();
    let orders = names.iter().map(|name| format!("Create {name} with the text \"for {}\".", name.len()));
    let request = orders.collect::<Vec<_>>().join(" ");
    let planner = Script::saying("It is as it is.").judged(Some(false));
    let bounds = Bounds { transitions: Some(4), ..Bounds::default() };
    let toolkit = Toolkit { bounds, ..indexed(&project, toolkit(&project, planner, Script::saying(""))) };
    run_turn(&toolkit, &request, &Witness::new(|_: &Proposal| Decision::Approve)).await.expect("a turn");
    for name in names {
        assert_eq!(project.text(&name), format!("for {}", name.len()));
    }
}

#[tokio::test]
async fn the_plain_loop_calls_tools_until_it_answers() {
    let project = Project::todo();
    let planner =
        Script::saying("[read_file(path=\"src/todo.ts\")]").on("TITLE_LENGTH_MAX = 120", "A title has 120 letters.");
    let toolkit = Toolkit { orchestrate: false, ..toolkit(&project, planner, Script::saying("")) };
    let host = Witness::new(never_asked);
    let finished = run_turn(&toolkit, "How long may a title be?", &host).await.expect("a turn");
    assert_eq!(finished.steps.len(), 1);
    assert!(finished.answer.contains("120"), "{}", finished.answer);
    assert!(host.seen(|event| matches!(event, Event::PlanCreated { .. }).then_some(())).is_empty());
}

#[tokio::test]
async fn a_loop_without_end_is_stopped() {
    let project = Project::todo();
    let toolkit = toolkit(&project, Script::saying("[read_file(path=\"src/todo.ts\")]"), Script::saying(""));
    let toolkit = Toolkit { orchestrate: false, ..toolkit };
    let host = Witness::new(never_asked);
    let finished = run_turn(&toolkit, "How long may a title be?", &host).await.expect("a turn");
    assert_eq!(finished.steps.len(), 1, "the same call is run once");
    assert!(host.reports().len() <= 12, "{} rounds", host.reports().len());
    let rounds = |host: &Witness<_>| {
        let misses =
            host.seen(|event| if let Event::ToolMiss(miss) = event { Some(miss.total_responses) } else { None });
        misses.last().copied().expect("a count")
    };
    assert!(rounds(&host) > 1);
    let (toolkit, host) = (Toolkit { iterations_max: Some(1), ..toolkit }, Witness::new(never_asked));
    run_turn(&toolkit, "How long may a title be?", &host).await.expect("a turn");
    assert_eq!(rounds(&host), 1);
}

#[tokio::test]
async fn a_cancelled_turn_ends_at_once() {
    let slow = slow(Script::saying("Hello."), 20);
    let toolkit = toolkit(&Project::todo(), slow, Script::saying(""));
    let cancel = toolkit.cancel.clone();
    let turn = tokio::spawn(async move { run_turn(&toolkit, "Hello", &Witness::new(never_asked)).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    let (sleeper, from) = (Sleeper::start(), Instant::now());
    cancel.cancel();
    let ended = turn.await.expect("no panic");
    let (wall, late) = (from.elapsed(), sleeper.overslept().most);
    assert!(matches!(ended, Err(TurnError::Cancelled)), "{ended:?}");
    assert!(wall < Duration::from_millis(250) + late, "it took {wall:?}, of which {late:?} are the machine's");
}

#[tokio::test]
async fn a_short_request_does_not_wait_for_a_long_one() {
    // Numbered words, because repetitive text would be stopped.
    let long: String = (0..70).map(|n| format!("word {n} ")).collect();
    let script = Script::saying("short").on("LONG", &long);
    let engine = slow(script, 4).engine(Permit::new()).expect("an engine");
    let ask = |text: &str| {
        let prompt = dialect::by_name("chatml").expect("a dialect").render(&[Message::user(text)]);
        engine.generate(Request::new(engine.tokenize(&prompt), 1000)).expect("accepted").collect()
    };
    let (long_one, short_one) = (tokio::spawn(ask("LONG")), tokio::spawn(ask("hello")));
    assert_eq!(short_one.await.expect("no panic").expect("a text").text, "short");
    assert!(!long_one.is_finished(), "the short one was queued behind the long one");
    assert_eq!(long_one.await.expect("no panic").expect("a text").text, long);
}

/// How much earlier one of two requests is sent, so that it is served first.
const HEAD_START: Duration = Duration::from_millis(100);

#[tokio::test]
async fn a_waiting_turn_gets_a_sign_of_life_every_second() {
    let mut slow = slow(Script::saying("Hello to you."), 10);
    slow.slots = 1;
    let toolkit = toolkit(&Project::todo(), slow, Script::saying(""));
    let turn = |toolkit: Toolkit| async move {
        let host = Witness::new(never_asked);
        run_turn(&toolkit, "Hello", &host).await.expect("a turn");
        host
    };
    let sleeper = Sleeper::start();
    let (first, second) = tokio::join!(turn(toolkit.clone()), async {
        tokio::time::sleep(HEAD_START).await;
        turn(toolkit.clone()).await
    });
    let late_ms = sleeper.overslept().most.as_millis() as u64;
    let pulses = |event: &Event| {
        if let Event::Pulse { phase, waited_ms } = event { Some((phase.clone(), *waited_ms)) } else { None }
    };
    let queued = |event: &Event| if let Event::QueueUpdate { position, .. } = event { Some(*position) } else { None };
    let beats = first.seen(pulses);
    let in_time = 900..1600 + late_ms;
    assert!(beats.first().is_some_and(|(phase, ms)| phase == "answering" && in_time.contains(ms)), "{beats:?}");
    assert_eq!(second.seen(queued).first(), Some(&1));
    assert!(first.seen(queued).is_empty());
}
