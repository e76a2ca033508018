//! The cognitive loop with scripted models: drafts are judged and rewritten up to a limit.

use monobloc::agent::{Meter, Toolkit, plan_turn, run_turn};
use monobloc::config::{Cognitive, Technique, Voice, When};
use monobloc::engine::scripted::Script;
use monobloc::protocol::{CognitiveState, Decision, Event, Exchange, Proposal, Verification, VerificationResult};

use crate::cli::Project;
use crate::scripted::{Witness, indexed, toolkit};

const REQUEST: &str = "Read src/retry.ts and tell me how many times a request is tried";

/// A model that writes a vague draft until its prompt names the mistake; as the judge it asks for
/// the number of tries.
fn writer() -> Script {
    Script::saying("A request is tried again.")
        .on("Answer: A request is tried 5 times.", "0.95\nvalid\nIt says how many times.")
        .on("Judge the answer", "0.20\nneeds_refinement\nThe number of tries is missing.")
        .on("failed because: The number of tries is missing.", "<think>So 5 it is.</think>A request is tried 5 times.")
}

struct Seen {
    answer: String,
    verified: Vec<Verification>,
    failures: Vec<Vec<String>>,
    state: Option<CognitiveState>,
}

async fn turn(script: Script, config: Cognitive) -> Seen {
    turn_of(script, Script::saying(""), config).await
}

async fn turn_of(planner: Script, router: Script, config: Cognitive) -> Seen {
    let project = Project::todo();
    let plain = toolkit(&project, planner, router);
    let (seen, streamed) = seen(Toolkit { cognitive: config, ..plain }, REQUEST).await;
    assert_eq!(streamed, seen.answer, "the answer is sent out once");
    seen
}

/// A turn with an index, in which the planner acts according to its measured abilities.
async fn turn_by(planner: Script, config: Cognitive) -> Seen {
    let project = Project::todo();
    let plain = indexed(&project, toolkit(&project, planner, Script::saying("")));
    seen(Toolkit { cognitive: config, ..plain }, "How often is a request tried, and why?").await.0
}

/// The result of a turn, and the text that was sent while it ran.
async fn seen(toolkit: Toolkit, request: &str) -> (Seen, String) {
    let host = Witness::new(|_: &Proposal| Decision::Reject);
    let finished = run_turn(&toolkit, request, &host).await.expect("a turn");
    let streamed = host.seen(|event| if let Event::Token { text } = event { Some(text.clone()) } else { None });
    let seen = Seen {
        answer: finished.answer,
        verified: host.seen(|event| if let Event::Verification(one) = event { Some(one.clone()) } else { None }),
        state: host.seen(|event| if let Event::Cognition(one) = event { Some(one.clone()) } else { None }).pop(),
        failures: host.seen(|event| match event {
            Event::Refinement { past_failures, .. } => Some(past_failures.clone()),
            _ => None,
        }),
    };
    (seen, streamed.concat())
}

fn on() -> Cognitive {
    Cognitive { when: When::On, ..Cognitive::default() }
}

#[tokio::test]
async fn a_draft_is_written_again_until_it_is_good_enough() {
    let seen = turn(writer(), on()).await;
    let verdicts: Vec<_> = seen.verified.iter().map(|one| (one.iteration, one.verdict)).collect();
    assert_eq!(verdicts, [(1, VerificationResult::NeedsRefinement), (2, VerificationResult::Valid)]);
    assert!(seen.verified[0].confidence < 0.85 && seen.verified[1].confidence >= 0.85, "{:?}", seen.verified);
    assert_eq!(seen.failures, [vec!["The number of tries is missing.".to_owned()]]);
    assert!(seen.answer.starts_with("A request is tried 5 times."), "{}", seen.answer);
    let state = seen.state.expect("the state at the end");
    assert!(!state.conversation_id.is_empty() && state.plan.is_some() && state.steps.len() == 1, "{state:?}");
    assert_eq!((state.input.as_str(), state.iterations), (REQUEST, 2));
    assert_eq!(state.past_failures, ["The number of tries is missing."]);
    assert!(state.draft_answer.starts_with("A request is tried 5 times.") && state.score >= 0.85, "{state:?}");
    assert_eq!(state.thinking_tokens.concat(), "So 5 it is.");
}

#[tokio::test]
async fn off_changes_nothing_and_auto_leaves_simple_requests_alone() {
    for when in [When::Off, When::Auto] {
        let seen = turn(writer(), Cognitive { when, ..Cognitive::default() }).await;
        assert!(seen.verified.is_empty() && seen.answer.starts_with("A request is tried again."), "{}", seen.answer);
    }
}

#[tokio::test]
async fn the_router_writes_and_judges_if_configured() {
    let mute = || Script::saying("");
    let seen = turn_of(mute(), writer(), Cognitive { model: Voice::Router, ..on() }).await;
    assert!(seen.answer.starts_with("A request is tried 5 times."), "{}", seen.answer);
    assert_eq!(seen.verified.len(), 2, "{:?}", seen.verified);
    let seen = turn_of(mute(), writer(), on()).await;
    assert!(!seen.answer.contains("5 times."), "{}", seen.answer);
}

#[tokio::test]
async fn a_model_that_marks_its_thoughts_can_be_told_not_to_think() {
    let script = || {
        let at_once = "<think>\n\n</think>\n\n";
        let mut thoughtful = Script::saying("<think>Five, I think.</think>A request is tried 5 times.")
            .on("Judge the answer", "0.95\nvalid\nIt says how many times.")
            .on(at_once, "A request is tried 5 times.");
        thoughtful.thoughtful = true;
        thoughtful
    };
    for (cot, thoughts) in [(true, "Five, I think."), (false, "")] {
        let seen = turn(script(), Cognitive { cot, ..on() }).await;
        assert!(seen.answer.starts_with("A request is tried 5 times."), "{cot}: {}", seen.answer);
        assert_eq!(seen.state.expect("the state at the end").thinking_tokens.concat(), thoughts, "{cot}");
    }
}

#[tokio::test]
async fn the_best_draft_is_the_answer_when_no_draft_is_good_enough() {
    // Every round fails for a different reason, so every draft differs; the draft with 5 gets the
    // best score.
    let mut script = Script::saying("A request is tried again.");
    for n in 1..=6 {
        let (draft, score) = (format!("A request is tried {n} times over."), if n == 5 { "0.60" } else { "0.10" });
        script = script.on(&format!("Answer: {draft}"), &format!("{score}\nneeds_refinement\nround {n} failed."));
    }
    script = script.on("Judge the answer", "0.05\nneeds_refinement\nround 0 failed.");
    script = script.on("round 0 failed.", "A request is tried 5 times over.");
    let seen = turn(script, Cognitive { max_iterations: 3, ..on() }).await;
    assert!(seen.verified.len() <= 3, "{:?}", seen.verified);
    assert!(seen.answer.starts_with("A request is tried 5 times over."), "{} {:?}", seen.answer, seen.verified);
}

fn by(technique: Technique) -> Cognitive {
    Cognitive { technique, ..on() }
}

#[tokio::test]
async fn chain_of_verification_answers_its_questions_without_the_draft() {
    let script = Script::saying("A request is tried again.")
        .on("Write up to three short questions", "How many times is a request tried?\n")
        .on("Question: How many times is a request tried?", "It is tried 5 times.")
        .on("Judge the answer", "0.95\nvalid\nIt says how many times.")
        .on("The evidence says: It is tried 5 times.", "A request is tried 5 times.");
    let seen = turn(script, by(Technique::ChainOfVerification)).await;
    assert!(seen.failures[0][0].contains("The evidence says: It is tried 5 times."), "{:?}", seen.failures);
    assert!(seen.answer.starts_with("A request is tried 5 times."), "{}", seen.answer);
    assert_eq!(seen.verified.last().map(|one| one.verdict), Some(VerificationResult::Valid));
}

#[tokio::test]
async fn the_judge_sees_the_debate() {
    let script = Script::saying("A request is tried again.")
        .on("You are a sceptic", "It leaves out the number.")
        .on("You are an advocate", "The first line is about tries.")
        .on("Answer: A request is tried 5 times.", "0.95\nvalid\nIt is said.")
        .on(
            "A sceptic says: It leaves out the number.\nAn advocate says:",
            "0.30\nneeds_refinement\nThe sceptic is right.",
        )
        .on("failed because: The sceptic is right.", "A request is tried 5 times.");
    let seen = turn(script, by(Technique::Debate)).await;
    assert!(seen.answer.starts_with("A request is tried 5 times."), "{} {:?}", seen.answer, seen.verified);
}

#[tokio::test]
async fn the_three_methods_technique_is_used_to_rewrite_a_draft() {
    let script = || {
        Script::saying("A request is tried again.")
            .on("Answer: A request is tried 5 times.", "0.95\nvalid\nIt says how many times.")
            .on("Judge the answer", "0.20\nneeds_refinement\nThe number of tries is missing.")
            .on("Think of three methods to answer", "A request is tried 5 times.")
    };
    let seen = turn(script(), by(Technique::ThreeMethods)).await;
    assert!(seen.answer.starts_with("A request is tried 5 times."), "{}", seen.answer);
    assert!(!turn(script(), on()).await.answer.contains("5 times"), "nobody else is told to");
}

#[tokio::test]
async fn a_draft_without_evidence_is_never_accepted() {
    let lies = Script::saying("A request is tried 9 times.").on("Judge the answer", "1.00\nvalid\nAll is fine.");
    let seen = turn(lies, on()).await;
    assert!(!seen.answer.contains("9 times"), "{}", seen.answer);
    assert!(seen.verified.iter().all(|one| one.verdict != VerificationResult::Valid), "{:?}", seen.verified);
}

#[tokio::test]
async fn a_draft_with_an_objection_is_not_the_answer_even_with_a_higher_score() {
    let questions = "How many times is a request tried?\nWhich file says so?\nWhat is tried there?\n";
    let script = || {
        Script::saying("A request is tried again.")
            .on("Write up to three short questions", questions)
            .on("Question: How many times is a request tried?", "It is tried 5 times.")
            .on("Question: Which file says so?", "unknown")
            .on("Question: What is tried there?", "unknown")
            .on("Judge the answer", "0.10\nvalid\nIt says how many times.")
            .on("The evidence says: It is tried 5 times.", "A request is tried 5 times.")
    };
    // One objection out of three leaves a score of two thirds, which this threshold alone would
    // accept.
    let config = Cognitive { verification_threshold: 0.6, ..by(Technique::ChainOfVerification) };
    let seen = turn(script(), config).await;
    let verdicts: Vec<_> = seen.verified.iter().map(|one| one.verdict).collect();
    assert_eq!(verdicts, [VerificationResult::NeedsRefinement, VerificationResult::Valid], "{:?}", seen.verified);
    assert!(seen.verified[0].confidence > seen.verified[1].confidence, "{:?}", seen.verified);
    assert!(seen.answer.starts_with("A request is tried 5 times."), "{}", seen.answer);
}

/// Reads one file before its first answer; once that is judged, another before the second.
fn leader() -> Script {
    Script::saying(r#"[read_file(path="src/retry.ts")]"#)
        .on("Answer: A request is tried 5 times.", "0.95\nvalid\nIt says how often.")
        .on("Judge the answer", "0.20\nneeds_refinement\nThe number of tries is missing.")
        .on("README.md, lines", "A request is tried 5 times.")
        .on("not good enough", r#"[read_file(path="README.md")]"#)
        .on("MAX_ATTEMPTS = 5;", "A request is tried again.")
        .acting()
}

#[tokio::test]
async fn a_leading_model_works_on_after_a_verdict_that_its_answer_is_not_good_enough() {
    let seen = turn_by(leader(), on()).await;
    let verdicts: Vec<_> = seen.verified.iter().map(|one| (one.iteration, one.verdict)).collect();
    assert_eq!(verdicts, [(1, VerificationResult::NeedsRefinement), (2, VerificationResult::Valid)], "{}", seen.answer);
    assert!(seen.answer.contains("A request is tried 5 times."), "{}", seen.answer);
    let state = seen.state.expect("the state at the end");
    let is_run_again = state.steps.iter().any(|step| step.contains("README.md"));
    assert!(is_run_again && state.iterations == 2, "{state:?}");
    assert_eq!(seen.failures, [["The number of tries is missing."]]);
    for when in [When::Off, When::Auto] {
        let seen = turn_by(leader(), Cognitive { when, ..Cognitive::default() }).await;
        assert!(seen.verified.is_empty() && seen.answer.starts_with("A request is tried again."), "{}", seen.answer);
    }
}

#[tokio::test]
async fn an_answer_of_a_writing_model_is_judged_by_the_code_shown_and_by_a_model() {
    let script = || {
        Script::saying("It is tried again.")
            .on("Request: ", "ask: How often is a request tried, and why?")
            .on("Answer: `MAX_ATTEMPTS` is 5.", "0.95\nvalid\nIt says how often.")
            .on("Judge the answer", "0.20\nneeds_refinement\nThe number of tries is missing.")
            .on("Earlier attempts failed because:", "`MAX_ATTEMPTS` is 5.")
            .writing()
    };
    let seen = turn_by(script(), on()).await;
    let verdicts: Vec<_> = seen.verified.iter().map(|one| one.verdict).collect();
    assert_eq!(verdicts, [VerificationResult::NeedsRefinement, VerificationResult::Valid], "{:?}", seen.verified);
    assert!(seen.answer.starts_with("`MAX_ATTEMPTS` is 5."), "{}", seen.answer);
    assert!(seen.verified[1].confidence >= 0.85 && seen.state.is_some());
    let seen = turn_by(script(), Cognitive::default()).await;
    assert!(seen.verified.is_empty() && seen.answer.contains("It is tried again."), "{}", seen.answer);
}

#[tokio::test]
async fn what_a_verdict_misses_is_searched_for_before_the_next_draft() {
    let project = Project::todo();
    let calls = async |config: Cognitive| {
        let plain = indexed(&project, toolkit(&project, writer(), Script::saying("")));
        let (seen, _) = seen(Toolkit { cognitive: config, ..plain }, REQUEST).await;
        (seen.verified.len(), seen.state.map(|state| state.steps).unwrap_or_default())
    };
    let (rounds, steps) = calls(on()).await;
    assert_eq!(rounds, 2, "{steps:?}");
    assert!(steps.len() == 2 && steps[1].starts_with("index_search"), "{steps:?}");
    assert_eq!(calls(Cognitive { max_iterations: 1, ..on() }).await.1.len(), 1, "no search without a further draft");
}

#[tokio::test]
async fn a_writing_model_is_shown_the_code_that_a_verdict_names() {
    let project = Project::todo();
    // The file has more text about tries than a model is shown at once; another file has nothing to
    // do with them.
    let tries = |n: usize| {
        format!("/** How often request {n} is tried. */\nexport function tries{n}() {{\n  return {n};\n}}\n\n")
    };
    std::fs::write(project.path().join("src/tries.ts"), (0..400).map(tries).collect::<String>()).expect("a file");
    let parts: String = (0..200).map(|n| format!("export function part{n}() {{\n  return {n};\n}}\n\n")).collect();
    let mail = format!("{parts}export const SUBJECT_LENGTH = 78;\n\n{}", parts.replace("part", "piece"));
    std::fs::write(project.path().join("src/mail.ts"), mail).expect("a file");
    let request = "How often is a request tried in src/retry.ts, and why?";
    let planner = Script::saying("`MAX_ATTEMPTS` is 5.")
        .on("Request: ", &format!("ask: {request}"))
        .on("Answer: `SUBJECT_LENGTH` is 78.", "0.95\nvalid\nIt says so.")
        .on("Judge the answer", "0.20\nneeds_refinement\n`SUBJECT_LENGTH` is missing.")
        .on("SUBJECT_LENGTH = 78", "`SUBJECT_LENGTH` is 78.")
        .writing();
    let plain = indexed(&project, toolkit(&project, planner, Script::saying("")));
    let toolkit = Toolkit { cognitive: on(), ..plain };
    let (seen, _) = seen(toolkit, request).await;
    let verdicts: Vec<_> = seen.verified.iter().map(|one| one.verdict).collect();
    assert_eq!(verdicts, [VerificationResult::NeedsRefinement, VerificationResult::Valid], "{}", seen.answer);
    assert!(seen.answer.contains("`SUBJECT_LENGTH` is 78."), "{}", seen.answer);
}

#[tokio::test]
async fn the_planner_reads_what_failed_before() {
    let project = Project::todo();
    // Rules cannot read this request.
    let request = "first tell me what src/retry.ts does, then say what src/todo.ts does and how a.py does it";
    let plain = indexed(&project, toolkit(&project, Script::saying("ask: ").writing(), Script::saying("")));
    let answer = "- not done: nobody may read src/retry.ts".to_owned();
    let read = async |earlier: Vec<Exchange>| {
        // Each run counts its own calls.
        let toolkit = Toolkit { earlier, meter: Meter::start(), ..plain.clone() };
        plan_turn(&toolkit, request, &Witness::new(|_: &Proposal| Decision::Reject)).await.expect("a plan");
        let calls = toolkit.meter.usage().calls.into_iter().filter(|call| call.phase == "reading the request");
        calls.map(|call| call.prompt_tokens).sum::<usize>()
    };
    let (alone, after) =
        (read(Vec::new()).await, read(vec![Exchange { request: "Read it".into(), answer: answer.clone() }]).await);
    // The scripted model has a token for each byte.
    assert!(alone > 0 && after >= alone + answer.len(), "{alone} {after}");
}

#[tokio::test]
async fn a_long_failure_is_condensed_by_the_model_that_judges() {
    let question = "How many times, counted from the very first one to the last one of all, is a request tried?";
    let known = "It is tried 5 times, as the line about the limit of all tries says.";
    let script = Script::saying("A request is tried again.")
        .on("Say in one short sentence what is wrong", "No number is said.")
        .on("Write up to three short questions", &format!("{question}\n"))
        .on(&format!("Question: {question}"), known)
        .on("Judge the answer", "0.95\nvalid\nIt says how many times.")
        .on("failed because: No number is said.", "A request is tried 5 times.");
    let seen = turn(script, by(Technique::ChainOfVerification)).await;
    assert_eq!(seen.failures, [["No number is said."]]);
    assert!(seen.answer.starts_with("A request is tried 5 times."), "{}", seen.answer);
}

#[tokio::test]
async fn a_second_look_is_taken_at_the_answer_of_a_leading_model() {
    let script = Script::saying(r#"[read_file(path="src/retry.ts")]"#)
        .on("Write up to three short questions", "How many times is a request tried?\n")
        .on("Answer the question from the evidence alone", "It is tried 5 times.")
        .on("Judge the answer", "0.95\nvalid\nIt says how often.")
        .on("The evidence says: It is tried 5 times.", "A request is tried 5 times.")
        .on("MAX_ATTEMPTS = 5;", "A request is tried again.")
        .acting();
    let seen = turn_by(script, by(Technique::ChainOfVerification)).await;
    assert!(seen.failures[0][0].contains("The evidence says: It is tried 5 times."), "{:?}", seen.failures);
    assert!(seen.answer.contains("A request is tried 5 times."), "{}", seen.answer);
    assert_eq!(seen.verified.last().map(|one| one.verdict), Some(VerificationResult::Valid));
}
