//! Several tools fit a step as well: the user is asked which is meant, and where nobody can be asked it is said.

use std::sync::Arc;

use monobloc::engine::scripted::Script;
use monobloc::orchestrate::{Toolkit, run_turn};
use monobloc::protocol::{Decision, Proposal};
use monobloc::tools::{Catalog, Prefilter, ToolSpec};
use serde_json::json;

use crate::cli::Project;
use crate::scripted::{Witness, toolkit};

/// Two tools that do the same in other words, and nothing else to choose from.
fn twins(project: &Project) -> Toolkit {
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: "Water the plants in a bed of the garden".to_owned(),
        server: String::new(),
        server_description: String::new(),
        mutates: false,
        destructive: false,
        parameters: json!({"type": "object", "properties": {}}),
    };
    let catalog = Catalog::described(vec![tool("garden.water"), tool("greenhouse.water")]).expect("a catalogue");
    let prefilter = Arc::new(Prefilter::new(catalog.specs(), None));
    Toolkit { catalog: Arc::new(catalog), prefilter, ..toolkit(project, Script::saying("Done."), Script::saying("")) }
}

const REQUEST: &str = "Water the plants in the bed";

async fn told(chosen: Option<usize>) -> (Vec<String>, Vec<String>, String) {
    let host = Witness::new(|_: &Proposal| Decision::Approve).choosing(chosen);
    run_turn(&twins(&Project::todo()), REQUEST, &host).await.expect("a turn");
    let notices = host.notices();
    let asked = host.doubts().iter().flat_map(|doubt| doubt.candidates.iter().map(|one| one.tool.clone())).collect();
    (asked, notices, host.reports()[0].tool.clone())
}

#[tokio::test]
async fn the_user_says_which_of_two_tools_is_meant() {
    let (asked, notices, used) = told(Some(1)).await;
    assert_eq!(asked.len(), 2, "asked once");
    assert_eq!(used, asked[1]);
    assert!(notices.iter().all(|notice| !notice.contains("is taken")), "{notices:?}");
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_choice_and_the_others_are_named() {
    let (asked, notices, used) = told(None).await;
    assert_eq!(used, asked[0]);
    let said = format!("s1: `{}` is taken, though `{}` would fit about as well", asked[0], asked[1]);
    assert!(notices.contains(&said), "{notices:?}");
}
