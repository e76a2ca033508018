//! Reports with six sections, for users who want them: missing sections are reported at once and
//! supplied with the next request, without additional model calls.

use monobloc::agent::{Toolkit, run_turn};
use monobloc::engine::scripted::Script;
use monobloc::protocol::{Decision, Exchange, Proposal};

use crate::cli::{Project, Run};
use crate::scripted::{Witness, indexed, toolkit};

const QUESTION: &str = "How often is a request tried?";

/// A report with these sections.
fn report(sections: &[&str]) -> String {
    sections.iter().map(|name| format!("## {name}\nSaid.\n")).collect()
}

/// The answer after `earlier`, and the number of model calls.
async fn answered(wanted: bool, earlier: Vec<Exchange>) -> (String, usize) {
    let whole = report(&["Reflection", "Analysis", "Research", "Plan", "Reflection", "Actions", "Delivery"]);
    let project = Project::todo();
    let planner = Script::saying("Five times.")
        .on("before lacked Reflection:", &whole)
        .on("a report with these six headings", &report(&["Analysis", "Research", "Plan", "Actions", "Delivery"]))
        .acting();
    let plain = indexed(&project, toolkit(&project, planner, Script::saying("")));
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let finished = run_turn(&Toolkit { report: wanted, earlier, ..plain }, QUESTION, &host).await.expect("a turn");
    (finished.answer, finished.usage.model_calls)
}

#[tokio::test]
async fn a_section_that_a_report_lacks_is_said_and_asked_for_with_the_next_request() {
    let (first, calls) = answered(true, Vec::new()).await;
    assert!(first.contains("## Delivery") && first.contains("- the report lacks Reflection;"), "{first}");
    assert_eq!(calls, 1, "what is missing costs no call");
    let earlier = Exchange { request: QUESTION.to_owned(), answer: first };
    let (second, calls) = answered(true, vec![earlier]).await;
    assert!(second.starts_with("## Reflection") && !second.contains("the report lacks"), "{second}");
    assert_eq!(calls, 1);
    let (plain, _) = answered(false, Vec::new()).await;
    assert!(plain.starts_with("Five times.") && !plain.contains("lacks"), "{plain}");
}

#[test]
fn a_flag_and_a_setting_ask_for_reports() {
    let shown = Run::new(&Project::todo(), &["config", "show", "--report"]).end().succeeded().out;
    let line = shown.lines().find(|line| line.trim_start().starts_with("report ")).unwrap_or_default();
    assert!(line.contains("true") && line.contains("--report"), "{shown}");
}
