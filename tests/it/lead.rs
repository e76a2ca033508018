//! Turns that a capable model leads, with scripted models: its input, the calls that run, the text
//! for the user, and the end of a turn without progress.

use std::sync::atomic::{AtomicUsize, Ordering};

use monobloc::agent::{Toolkit, run_turn};
use monobloc::config::{Bounds, TurnTime};
use monobloc::engine::pool::Pool;
use monobloc::engine::scripted::Script;
use monobloc::models::{Role, dialect};
use monobloc::protocol::{Decision, Event, Exchange, Mode, Proposal, StepReport, StepStatus};
use serde_json::{Value, json};

use crate::cli::Project;
use crate::scripted::{Witness, indexed, toolkit};

/// A finished turn.
struct Seen {
    answer: String,
    /// The text that was shown to the user while the turn ran.
    told: String,
    reports: Vec<StepReport>,
    notices: Vec<String>,
    plans: usize,
    calls: usize,
    prompt_tokens: Vec<usize>,
}

async fn seen(toolkit: &Toolkit, request: &str, decide: impl Fn(&Proposal) -> Decision + Send + Sync) -> Seen {
    let host = Witness::new(decide);
    let finished = run_turn(toolkit, request, &host).await.expect("a turn");
    let told = host.seen(|event| if let Event::Token { text } = event { Some(text.clone()) } else { None });
    let plans = host.seen(|event| matches!(event, Event::PlanCreated { .. }).then_some(())).len();
    Seen {
        answer: finished.answer,
        told: told.concat(),
        reports: host.reports(),
        notices: host.notices(),
        plans,
        calls: finished.usage.model_calls,
        prompt_tokens: finished.usage.calls.iter().map(|call| call.prompt_tokens).collect(),
    }
}

async fn run(project: &Project, planner: Script, request: &str) -> Seen {
    let toolkit = indexed(project, toolkit(project, planner.acting(), Script::saying("")));
    seen(&toolkit, request, |_| Decision::Approve).await
}

fn tools(seen: &Seen) -> Vec<&str> {
    seen.reports.iter().map(|report| report.tool.as_str()).collect()
}

const READ: &str = r#"[read_file(path="src/retry.ts")]"#;
const EDIT: &str = r#"[edit(path="src/retry.ts", edits=[{"old": "MAX_ATTEMPTS = 5", "new": "MAX_ATTEMPTS = 7"}])]"#;

#[tokio::test]
async fn the_last_words_reach_the_user_whole_and_what_nothing_showed_is_marked() {
    let words = "Requests are tried again in three places, and that is all there is to say.\n\n\
                 1. The limit is `MAX_ATTEMPTS`.\n2. Nothing was run, because nothing had to be.\n\n\
                 `neverSeenAnywhere` of src/nowhere.ts is another matter, with its 4711 lines.";
    let planner = Script::saying(READ).on("MAX_ATTEMPTS = 5;", words);
    let seen = run(&Project::todo(), planner, "Why are requests tried again, and where is that decided?").await;
    assert!(seen.answer.starts_with(words), "{}", seen.answer);
    assert!(seen.told.contains(words));
    let line = seen.answer.lines().find(|line| line.starts_with("- not seen in any result")).expect("a line");
    for mark in ["neverSeenAnywhere", "src/nowhere.ts", "4711"] {
        assert!(line.contains(mark), "{line}");
    }
    assert!(!line.contains("MAX_ATTEMPTS"), "{line}");
}

/// The rounds of a model that leads are transitions of the turn.
#[tokio::test]
async fn a_model_that_leads_and_does_not_end_is_stopped_by_the_transitions_of_the_turn() {
    let project = Project::todo();
    let write = |n: usize| format!(r#"[write_file(path="{n}.txt", content="x")]"#);
    let endless = (0..20)
        .rev()
        .fold(Script::saying(&write(0)), |script, n| script.on(&format!("created {n}.txt"), &write(n + 1)));
    let plain = indexed(&project, toolkit(&project, endless.acting(), Script::saying("")));
    let toolkit = Toolkit { bounds: Bounds { transitions: Some(6), ..Bounds::default() }, ..plain };
    let seen = seen(&toolkit, "Write many files", |_| Decision::Approve).await;
    // Two of them are the nodes.
    assert_eq!(tools(&seen).len(), 4, "{:?}", seen.reports);
    assert!(seen.answer.contains("its 4 rounds are used up"), "{}", seen.answer);
}

#[tokio::test]
async fn an_answer_that_was_cut_is_gone_on_with_and_stays_one_text() {
    let long: String = ('a'..='z')
        .map(|n| format!("The sentence that is called {n}{n} says something else than the others. "))
        .collect();
    let (first, rest) = long.split_at(1_000);
    let planner = Script::saying(&long).on("Go on exactly where it ends", rest);
    let seen = run(&Project::todo(), planner, "Explain at length what this project is for").await;
    assert!(seen.answer.starts_with(long.trim_end()), "{first}|{}", seen.answer);
    assert_eq!(seen.calls, 2 + rest.len() / 1_000, "{}", seen.answer);
}

#[tokio::test]
async fn a_call_in_a_reply_that_was_cut_is_not_run_and_the_model_writes_in_parts() {
    let project = Project::todo();
    let long: String = (0..400).map(|n| format!("line {n}\\n")).collect();
    let planner = Script::saying(&format!(r#"[write_file(path="notes.md", content="{long}")]"#))
        .on("created notes.md", "The notes are begun.")
        .on("cut at 1000 tokens", r#"[write_file(path="notes.md", content="line 0\n")]"#);
    let seen = run(&project, planner, "Write many notes into notes.md").await;
    assert_eq!(project.text("notes.md"), "line 0\n");
    assert_eq!(tools(&seen), ["write_file"]);
    assert!(seen.notices.iter().any(|notice| notice.contains("cut at 1000 tokens")), "{:?}", seen.notices);
    assert!(seen.answer.starts_with("The notes are begun."), "{}", seen.answer);
}

#[tokio::test]
async fn a_long_file_is_read_in_parts_and_each_part_says_how_the_next_is_got() {
    let project = Project::todo();
    let lines: String = (1..=200).map(|n| format!("the line with the number {n} is like the others\n")).collect();
    std::fs::write(project.path().join("long.txt"), lines).expect("a file");
    // The index does not contain the file, so the opening does not show any of it.
    std::fs::write(project.path().join(".gitignore"), "long.txt\n").expect("a file");
    let mut planner = Script::saying(r#"[read_file(path="long.txt")]"#).on("number 200", "I have read all of it.");
    for next in (2..200).rev() {
        let call = format!(r#"[read_file(path="long.txt", start_line={next})]"#);
        planner = planner.on(&format!("start_line = {next} continues"), &call);
    }
    planner.context = 30_000;
    let seen = run(&project, planner, "Read long.txt from its beginning to its end").await;
    assert!(seen.answer.starts_with("I have read all of it."), "{}", seen.answer);
    assert!((3..=4).contains(&seen.reports.len()), "an eighth of the context each: {}", seen.reports.len());
}

#[tokio::test]
async fn a_change_that_nothing_here_can_check_is_told_as_unchecked_and_no_check_is_asked_for() {
    let project = Project::todo();
    let manifest = r#"{"scripts": {"test": "vitest run"}, "devDependencies": {"vitest": "^3"}}"#;
    std::fs::write(project.path().join("package.json"), manifest).expect("a file");
    let planner = Script::saying(EDIT).on("changed src/retry.ts", "The limit is 7 now.");
    let seen = run(&project, planner, "Requests should be tried more often").await;
    let line = "- not checked after the last change: `npm test` cannot run here: ";
    assert!(seen.answer.contains(line) && !seen.answer.contains("needs work"), "{}", seen.answer);
    assert_eq!(seen.calls, 2);
}

#[tokio::test]
async fn calls_that_read_run_side_by_side_and_their_results_come_in_order() {
    let project = Project::todo();
    let calls = r#"[read_file(path="src/retry.ts"), read_file(path="no/such.ts"), find_files(path="src")]"#;
    let planner = Script::saying(calls).on("Failed: ", "I have looked.");
    let seen = run(&project, planner, "Look around").await;
    assert_eq!(tools(&seen), ["read_file", "read_file", "find_files"]);
    let statuses: Vec<StepStatus> = seen.reports.iter().map(|report| report.status).collect();
    assert_eq!(statuses, [StepStatus::Succeeded, StepStatus::Failed, StepStatus::Succeeded]);
}

#[tokio::test]
async fn the_checklist_begins_with_the_parts_of_the_request_and_the_model_changes_it() {
    let request = "Set MAX_ATTEMPTS in src/retry.ts to 7, explain it in docs.md and write why in CHANGES.md";
    let plan = json!([{"text": "Set it", "state": "done"}, {"text": "Explain it", "state": "dropped"}]);
    let planner = Script::saying(EDIT)
        .on("0 open, 1 done, 1 dropped", "It is set; there was nothing to explain.")
        .on("changed src/retry.ts", &format!("[plan(items={plan})]"));
    let seen = run(&Project::todo(), planner, request).await;
    assert_eq!(seen.plans, 2);
    assert!(seen.answer.contains("- dropped: Explain it"), "{}", seen.answer);
    assert!(!seen.answer.contains("still open"), "{}", seen.answer);
}

#[tokio::test]
async fn a_plan_in_brackets_becomes_the_checklist_and_is_carried_out() {
    let plan =
        "[plan.add_step(description=\"Raise the limit in src/retry.ts\")]\n[plan.add_step(description=\"Tell of it\")]";
    let done =
        json!([{"text": "Raise the limit in src/retry.ts", "state": "done"}, {"text": "Tell of it", "state": "done"}]);
    for before in ["", "This is what I am going to do:\n"] {
        let project = Project::todo();
        let planner = Script::saying(&format!("{before}{plan}"))
            .on("0 open, 2 done, 0 dropped", "The limit is 7.")
            .on("changed src/retry.ts", &format!("[plan(items={done})]"))
            .on("The plan is set: 2 open, 0 done, 0 dropped", EDIT);
        let seen = run(&project, planner, "Requests should be tried more often").await;
        assert!(project.text("src/retry.ts").contains("MAX_ATTEMPTS = 7"), "{}", seen.answer);
        assert_eq!((seen.plans, tools(&seen)), (1, vec!["edit"]));
        assert!(!seen.told.contains("plan.add_step") && !seen.answer.contains("still open"), "{}", seen.told);
    }
}

#[tokio::test]
async fn a_large_task_is_planned_in_stages_and_the_steps_of_the_one_that_begins() {
    let plan = |state: &str| {
        let steps = json!([
            {"text": "The limit", "state": state}, {"text": "The documents", "state": "dropped"},
            {"text": "Raise it in src/retry.ts", "state": state, "stage": "The limit"},
        ]);
        format!("[plan(items={steps})]")
    };
    let planner = || {
        Script::saying("It is a small task.")
            .on("0 open, 2 done, 1 dropped", "The limit is 7.")
            .on("changed src/retry.ts", &plan("done"))
            .on("2 open, 0 done, 1 dropped", EDIT)
            .on("This task is large", &plan("open"))
    };
    let parts = ["src/retry.ts", "docs.md", "CHANGES.md", "config.toml", "src/store.ts", "src/main.ts"];
    let request: String = parts.iter().map(|path| format!("- Adapt {path} to seven tries\n")).collect();
    let project = Project::todo();
    let large = run(&project, planner(), &request).await;
    assert_eq!(tools(&large), ["edit"], "{}", large.answer);
    // The call belongs to the step and not to its stage.
    assert_eq!(large.reports[0].step.0, parts.len() + 3);
    assert!(large.answer.starts_with("The limit is 7.") && !large.answer.contains("still open"), "{}", large.answer);
    let small = run(&project, planner(), "Requests should be tried more often").await;
    assert!(small.answer.starts_with("It is a small task."), "{}", small.answer);
}

#[tokio::test]
async fn a_model_that_only_plans_is_told_so_and_then_stopped() {
    let seen =
        run(&Project::todo(), Script::saying("[plan.add_step(description=\"Think\")]"), "Improve this project").await;
    assert!(seen.answer.contains("stopped"), "{}", seen.answer);
    assert!(seen.plans == 1 && seen.calls <= 6, "{} {}", seen.plans, seen.calls);
}

#[tokio::test]
async fn words_beside_the_last_mark_on_the_checklist_are_the_answer() {
    let request = "Set MAX_ATTEMPTS in src/retry.ts to 7 and explain it in docs.md";
    let plan = json!([{"text": "Set it", "state": "done"}, {"text": "Explain it", "state": "dropped"}]);
    let words = "It is 7, and docs.md has it.";
    // This notation allows words before a call.
    let call = |name: &str, arguments: Value| {
        format!("<tool_call>\n{}\n</tool_call>", json!({ "name": name, "arguments": arguments }))
    };
    let edits = json!([{ "old": "MAX_ATTEMPTS = 5", "new": "MAX_ATTEMPTS = 7" }]);
    let edit = call("edit", json!({ "path": "src/retry.ts", "edits": edits }));
    let last = format!("{words}\n{}", call("plan", json!({ "items": plan })));
    let planner = Script::saying(&edit).on("changed src/retry.ts", &last).acting();
    let dialect = dialect::by_name("hermes").expect("a dialect");
    let scripts = vec![(Role::Planner, planner), (Role::Router, Script::saying(""))];
    let project = Project::todo();
    let plain = toolkit(&project, Script::saying(""), Script::saying(""));
    let toolkit = Toolkit { pool: Pool::scripted(scripts, dialect).expect("a pool"), ..plain };
    let seen = seen(&indexed(&project, toolkit), request, |_| Decision::Approve).await;
    assert!(seen.answer.starts_with(words), "{}", seen.answer);
    assert_eq!(seen.calls, 2 + 1, "the change was not run, which is asked for once: {}", seen.answer);
}

#[tokio::test]
async fn what_is_open_or_unchecked_is_asked_for_once_and_then_said() {
    let project = Project::todo();
    let planner = Script::saying(EDIT)
        .on("Before this ends", "That is how it is.")
        .on("changed src/retry.ts", "The limit is 7 now, as you wished.");
    let seen =
        run(&project, planner, "Change how often requests are tried in src/retry.ts and document it in README.md")
            .await;
    assert!(seen.answer.starts_with("The limit is 7 now, as you wished.\n\nThat is how it is."), "{}", seen.answer);
    assert!(seen.answer.contains("- changed src/retry.ts"), "{}", seen.answer);
    assert!(seen.answer.contains("- needs work: still open") && seen.answer.contains("README.md"), "{}", seen.answer);
    assert_eq!(seen.calls, 3);
}

#[tokio::test]
async fn a_model_that_repeats_a_call_is_told_and_then_stopped_with_what_was_done() {
    let project = Project::todo();
    let seen = run(&project, Script::saying(READ), "Why are requests tried again?").await;
    assert_eq!(seen.reports.len(), 5, "{:?}", tools(&seen));
    assert!(seen.answer.contains("- needs work: stopped, because the same call of `read_file`"), "{}", seen.answer);
    let seen = run(&project, Script::saying(EDIT), "Requests should be tried more often").await;
    assert!(project.text("src/retry.ts").contains("MAX_ATTEMPTS = 7"));
    assert!(seen.answer.contains("- changed src/retry.ts") && seen.answer.contains("stopped"), "{}", seen.answer);
    assert!(seen.calls <= 8, "{}", seen.calls);
}

#[tokio::test]
async fn a_user_who_says_no_to_everything_is_left_alone_after_a_while() {
    let project = Project::todo();
    let before = project.files();
    let toolkit = indexed(&project, toolkit(&project, Script::saying(EDIT).acting(), Script::saying("")));
    let asked = AtomicUsize::new(0);
    let seen = seen(&toolkit, "Requests should be tried more often", |_| {
        asked.fetch_add(1, Ordering::SeqCst);
        Decision::Reject
    })
    .await;
    assert_eq!(project.files(), before);
    assert!(asked.load(Ordering::SeqCst) <= 5);
    assert!(seen.answer.contains("you said no") && seen.answer.contains("stopped"), "{}", seen.answer);
}

#[tokio::test]
async fn chat_mode_has_tools_that_read_and_no_others() {
    let project = Project::todo();
    let planner = Script::saying(EDIT).on("there is no tool `edit`", "I would set it to 7.");
    let plain = indexed(&project, toolkit(&project, planner.acting(), Script::saying("")));
    let toolkit = Toolkit { mode: Mode::Chat, ..plain };
    let before = project.files();
    let seen = seen(&toolkit, "Requests should be tried more often", |_| Decision::Approve).await;
    assert_eq!(project.files(), before);
    assert!(seen.answer.starts_with("I would set it to 7."), "{}", seen.answer);
    assert!(seen.reports.is_empty(), "{:?}", tools(&seen));
}

#[tokio::test]
async fn the_instructions_of_the_project_stand_in_the_opening_within_a_bound() {
    let project = Project::todo();
    let long: String = (0..4_000).map(|n| format!("Rule {n}: keep it plain.\n")).collect();
    std::fs::write(project.path().join("AGENTS.md"), format!("Prefer zebras.\n{long}Mention okapis.\n"))
        .expect("a file");
    std::fs::write(project.path().join("src/AGENTS.md"), "In here prefer gnus.\n").expect("a file");
    let planner = Script::saying("Nothing was shown.")
        .on("Mention okapis", "All of it was shown.")
        .on("Prefer zebras.", "It was shown.");
    let seen = run(&project, planner, "What do you make of this project?").await;
    assert!(seen.answer.starts_with("It was shown."), "{}", seen.answer);
    let planner = Script::saying("Nothing.").on("In here prefer gnus.", "The nearer one too.");
    let seen = run(&project, planner, "What do you make of src/retry.ts, seen as a whole?").await;
    assert!(seen.answer.starts_with("The nearer one too."), "{}", seen.answer);
}

#[tokio::test]
async fn a_conversation_that_outgrows_the_context_is_condensed_and_goes_on() {
    let project = Project::todo();
    let mut planner = Script::saying(r#"[read_file(path="long/0.txt")]"#);
    for number in (0..12).rev() {
        let filler = format!("These are words of file {number}, and there are many of them.\n").repeat(30);
        let folder = project.path().join("long");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join(format!("{number}.txt")), format!("a file\nmark-{number}-end\n{filler}"))
            .expect("a file");
        let next = number + 1;
        let reply =
            if next < 12 { format!("[read_file(path=\"long/{next}.txt\")]") } else { "All is read.".to_owned() };
        planner = planner.on(&format!("mark-{number}-end"), &reply);
    }
    planner.context = 24_000;
    let seen = run(&project, planner, "Read all of the long files, one after the other").await;
    assert!(seen.answer.starts_with("All is read."), "{}", seen.answer);
    assert_eq!(seen.reports.len(), 12);
    assert!(seen.notices.iter().any(|notice| notice.contains("condensed")), "{:?}", seen.notices);
    assert!(seen.prompt_tokens.iter().all(|tokens| tokens + 1_000 <= 24_000), "{:?}", seen.prompt_tokens);
}

#[tokio::test]
async fn the_model_writes_notes_before_its_conversation_goes_and_works_on_from_them() {
    let project = Project::todo();
    let folder = project.path().join("long");
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut planner = Script::saying(r#"[read_file(path="long/0.txt")]"#)
        .on("NOTED-3-FILES", "The notes were in front of me, and file 3 with them.")
        .on("about to outgrow your context", "NOTED-3-FILES: the first ones are alike.");
    for number in (0..6).rev() {
        let filler = format!("These are words of file {number}, and there are many of them.\n").repeat(42);
        std::fs::write(folder.join(format!("{number}.txt")), format!("mark-{number}-end\n{filler}")).expect("a file");
        planner = planner.on(&format!("mark-{number}-end"), &format!(r#"[read_file(path="long/{}.txt")]"#, number + 1));
    }
    planner.context = 24_000;
    let seen = run(&project, planner, "Read all of the long files, one after the other").await;
    assert!(seen.answer.starts_with("The notes were in front of me"), "{}", seen.answer);
    assert!(seen.notices.iter().any(|notice| notice.contains("by the model's own notes")), "{:?}", seen.notices);
    assert!(seen.prompt_tokens.iter().all(|tokens| *tokens <= 24_000), "{:?}", seen.prompt_tokens);
}

#[tokio::test]
async fn a_conversation_that_outgrows_its_share_is_read_as_the_notes_of_the_model() {
    let project = Project::todo();
    let planner = Script::saying("I know nothing of it.")
        .on("Your notes on the conversation before this:\nThe code word is OKAPI", "It was OKAPI.")
        .on("beginning of a conversation between a user and you", "The code word is OKAPI.");
    let long = |n: usize| Exchange { request: format!("Question {n}"), answer: "Many words. ".repeat(200) };
    let plain = indexed(&project, toolkit(&project, planner.acting(), Script::saying("")));
    let toolkit = Toolkit { earlier: (0..9).map(long).collect(), ..plain };
    let first = seen(&toolkit, "What was the code word in all this?", |_| Decision::Approve).await;
    assert!(first.answer.starts_with("It was OKAPI."), "{}", first.answer);
    assert!(first.notices.iter().any(|notice| notice.contains("the model's own notes")), "{:?}", first.notices);
    // The next turn reads the same notes and requests no others.
    let turn = Exchange { request: "What was the code word in all this?".to_owned(), answer: first.answer };
    let toolkit = Toolkit { earlier: toolkit.earlier.iter().cloned().chain([turn]).collect(), ..toolkit };
    let second = seen(&toolkit, "And what was it once more, please say it?", |_| Decision::Approve).await;
    assert!(second.answer.starts_with("It was OKAPI."), "{}", second.answer);
    assert_eq!((first.calls, second.calls), (2, 1 + first.calls), "the meter counts on: {:?}", second.notices);
}

#[tokio::test]
async fn a_turn_ends_when_its_time_is_over_and_says_so() {
    let project = Project::todo();
    let mut planner = Script::saying(r#"[find_files(path="src")]"#);
    planner.row_time = std::time::Duration::from_micros(200);
    let toolkit = indexed(&project, toolkit(&project, planner.acting(), Script::saying("")));
    let toolkit = Toolkit { time: TurnTime::of(Some(1)), ..toolkit };
    let seen = seen(&toolkit, "Look around", |_| Decision::Approve).await;
    assert!(seen.answer.contains("its time limit of 1 s is reached (turn_time_s)"), "{}", seen.answer);
    assert!(seen.calls <= 3, "{}", seen.calls);
}

#[tokio::test]
async fn replies_that_are_of_no_use_end_with_a_clear_answer() {
    let many: Vec<String> = (0..30).map(|n| format!(r#"read_file(path="{n}")"#)).collect();
    let many = format!("[{}]", many.join(", "));
    for (reply, expected) in [
        ("", "the model gave no answer, 2 times in a row"),
        ("[make_coffee(cups=2)]", "only tools that are not listed"),
        ("[read_file(cups=2)]", "with wrong arguments, 4 times in a row"),
        (many.as_str(), "the same call of `read_file`"),
    ] {
        let planner = Script::saying(reply);
        let seen = run(&Project::todo(), planner, "Why are requests tried again?").await;
        assert!(seen.answer.contains(expected), "{reply}: {}", seen.answer);
        assert!(seen.calls <= 5, "{}", seen.calls);
    }
}

#[tokio::test]
async fn a_model_that_only_thinks_has_answered_nothing() {
    let mut planner = Script::saying("<think>Hm. This is hard.</think>\n");
    planner.thoughtful = true;
    let seen = run(&Project::todo(), planner, "Why are requests tried again?").await;
    assert!(seen.answer.contains("the model gave no answer, 2 times in a row"), "{}", seen.answer);
}

#[tokio::test]
async fn of_two_hundred_calls_at_once_the_first_are_run_and_the_rest_is_told() {
    let project = Project::todo();
    let calls: Vec<String> = (0..200).map(|n| format!(r#"write_file(path="n{n}.md", content="{n}\n")"#)).collect();
    let planner = Script::saying(&format!("[{}]", calls.join(", "))).on("created n0.md", "That is all.");
    let toolkit = indexed(&project, toolkit(&project, planner.acting(), Script::saying("")));
    let toolkit = Toolkit { time: TurnTime::Unlimited, ..toolkit };
    let seen = seen(&toolkit, "Write notes", |_| Decision::Approve).await;
    assert!(project.path().join("n23.md").exists() && !project.path().join("n24.md").exists());
    assert!(
        seen.notices.iter().any(|notice| notice.contains("the first 24 calls of a reply are run")),
        "{:?}",
        seen.notices
    );
    assert!(seen.answer.starts_with("That is all."), "{}", seen.answer);
}

#[tokio::test]
async fn a_line_that_is_changed_to_and_fro_ends_the_turn() {
    let project = Project::todo();
    let change = |from: u8, to: u8| {
        format!(
            r#"edit(path="src/retry.ts", edits=[{{"old": "MAX_ATTEMPTS = {from}", "new": "MAX_ATTEMPTS = {to}"}}])"#
        )
    };
    let seen =
        run(&project, Script::saying(&format!("[{}, {}]", change(5, 6), change(6, 5))), "Tune the attempts").await;
    assert!(seen.answer.contains("stopped, because the same call of `edit`"), "{}", seen.answer);
    assert!(seen.calls <= 5 && seen.reports.len() <= 10, "{} calls, {:?}", seen.calls, tools(&seen));
    assert!(project.text("src/retry.ts").contains("MAX_ATTEMPTS = 5"));
}

#[tokio::test]
async fn a_claimed_run_that_never_was_is_marked() {
    let words = "The limit is 7 now, and all tests pass.";
    let planner = Script::saying(EDIT).on("changed src/retry.ts", words);
    let seen = run(&Project::todo(), planner, "Requests should be tried more often").await;
    assert!(seen.answer.starts_with(words), "{}", seen.answer);
    assert!(seen.answer.contains(&format!("so nothing supports this: {words}")), "{}", seen.answer);
}

#[tokio::test]
async fn results_of_a_hundred_megabytes_are_bounded() {
    let project = Project::todo();
    let fill = r#"[run_command(command="yes a-line-of-many | head -c 100000000 > big.txt; ls big.txt")]"#;
    let planner = Script::saying(fill)
        .on("lines left out", "It is long, and I have seen its beginning.")
        .on("ls big.txt", r#"[run_command(command="cat big.txt"), read_file(path="big.txt")]"#);
    let seen = run(&project, planner, "Make a big file and look at it").await;
    assert!(seen.answer.starts_with("It is long"), "{}", seen.answer);
    assert_eq!(tools(&seen), ["run_command", "run_command", "read_file"]);
    assert!(seen.prompt_tokens.iter().all(|tokens| *tokens < 40_000), "{:?}", seen.prompt_tokens);
}

#[tokio::test]
async fn what_a_request_spells_out_needs_no_model() {
    let project = Project::todo();
    let planner = Script::saying("I was asked.");
    let request = "In src/retry.ts change the maximum number of attempts from 5 to 3";
    let seen = run(&project, planner, request).await;
    assert!(project.text("src/retry.ts").contains("MAX_ATTEMPTS = 3"));
    assert_eq!(seen.calls, 0, "{}", seen.answer);
    // The parts that code cannot carry out are given to the model.
    let planner = Script::saying(EDIT).on("changed src/retry.ts", "It was 3, and is 7 now.");
    std::fs::write(project.path().join("src/retry.ts"), "export const MAX_ATTEMPTS = 5;\n").expect("a file");
    let seen = run(&project, planner, "In src/retry.ts change the maximum number of attempts from 41 to 7").await;
    assert!(project.text("src/retry.ts").contains("MAX_ATTEMPTS = 7"), "{}", seen.answer);
}
