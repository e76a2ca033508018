//! Two requests to the real small model: a React todo list, then its move to server-side rendering.

use crate::cli::{Project, Run};
use crate::turn::{kind, text};

const TODO: &str = "Create src/TodoList.tsx with the text \"export const TodoList = () => null;\" and change \"Nothing here yet\" to \"Your list\" in src/App.tsx";
const SSR: &str = "Refactor the app to server side rendering: create src/entry-server.tsx with the text \"export const render = () => null;\", then replace createRoot with hydrateRoot in src/main.tsx";
/// Maximum number of calls before anything is executed, and of consecutive reads.
const CALLS_TO_EXECUTION: usize = 5;
const READING_MAX: usize = 3;

#[test]
fn a_react_todo_and_its_move_to_server_side_rendering_are_done_in_one_conversation() {
    let project = Project::of("react");
    let input = format!("{TODO}\n{SSR}\n").into_bytes();
    let ended = Run::new(&project, &["chat", "--json", "--yes"]).input(input).end().succeeded();
    let events = ended.lines();
    let failed: Vec<_> = events.iter().filter(|event| kind(event) == "turn-failed").collect();
    assert!(failed.is_empty(), "{failed:?}");
    let turns: Vec<_> = events.iter().filter(|event| kind(event) == "turn-finished").collect();
    assert_eq!(turns.len(), 2);
    for turn in &turns {
        let steps = turn["data"]["steps"].as_array().expect("steps");
        assert!(steps.iter().all(|step| step["status"] == "succeeded"), "{steps:?}");
        let executing: Vec<bool> = steps.iter().map(|step| step["executing"] == true).collect();
        let first = executing.iter().position(|executing| *executing).expect("something was executed");
        assert!(first < CALLS_TO_EXECUTION, "{steps:?}");
        assert!(executing.split(|executing| *executing).all(|reads| reads.len() <= READING_MAX), "{steps:?}");
        assert!(!text(&turn["data"]["answer"]).contains("not done"), "{turn}");
    }
    assert!(project.text("src/TodoList.tsx").contains("TodoList = ()"));
    assert!(project.text("src/App.tsx").contains("Your list"));
    assert!(project.text("src/entry-server.tsx").contains("render = ()"));
    let main = project.text("src/main.tsx");
    assert!(main.contains("import { hydrateRoot }") && !main.contains("createRoot"), "{main}");
    // No free loop ran, so there are no loop statistics.
    assert!(events.iter().all(|event| !kind(event).starts_with("telemetry.")), "a free loop ran");
}
