//! `monobloc chat`: commands load and unload models, requests are queued, and commands are answered
//! in the meantime.

use serde_json::{Value, json};

use crate::cli::{Ended, Project, Run, Running};
use crate::turn::{kind, text};

const QUESTION: &str = "Read src/retry.ts and tell me how many times a request is tried";
const STORY: &str = "Hello! Tell me a story";

/// A conversation whose events are read one by one.
struct Talk {
    running: Running,
    read: usize,
}

impl Talk {
    fn new(project: &Project, flags: &[&str]) -> Talk {
        Talk { running: Run::new(project, &[&["chat", "--json"], flags].concat()).talk(), read: 0 }
    }

    /// The next event of one of these types; other events before it are skipped.
    fn next(&mut self, types: &[&str]) -> Value {
        loop {
            self.running.until_longer(self.read);
            let shown = self.running.shown();
            while let Some(end) = shown[self.read..].find('\n') {
                let line = &shown[self.read..self.read + end];
                self.read += end + 1;
                let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
                if types.contains(&kind(&event)) {
                    return event;
                }
            }
        }
    }

    /// Writes a line and returns the data of the event that answers it.
    fn ask(&mut self, line: &str, kinds: &[&str]) -> Value {
        self.running.say(line);
        self.next(kinds)["data"].take()
    }

    /// Writes a command that changes the models in memory, then returns `file roles` for each model
    /// in memory.
    fn change(&mut self, line: &str) -> Vec<String> {
        models(&self.ask(line, &["models-changed", "turn-failed"])["memory"])
    }

    fn refused(&mut self, line: &str) -> String {
        text(&self.ask(line, &["models-changed", "turn-failed"])["error"]).to_owned()
    }

    fn end(mut self) -> Ended {
        self.running.hang_up();
        self.running.end()
    }
}

fn models(memory: &Value) -> Vec<String> {
    let rows = memory["models"].as_array().unwrap_or_else(|| panic!("no models: {memory}"));
    let roles = |row: &Value| row["roles"].as_array().expect("roles").iter().map(text).collect::<Vec<_>>().join("+");
    rows.iter().map(|row| format!("{} {}", text(&row["file"]), roles(row)).trim().to_owned()).collect()
}

const SMOLLM: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";
const GEMMA: &str = "gemma-3-270m.Q4_K_M.gguf";

#[test]
fn models_are_loaded_used_swapped_and_unloaded_in_one_conversation() {
    let project = Project::todo();
    let mut talk = Talk::new(&project, &[]);
    let files = talk.ask("/models", &["models"]);
    let needs = |name: &str| {
        let all = files["files"].as_array().expect("files");
        let file = all.iter().find(|file| file["file"] == name).unwrap_or_else(|| panic!("no {name}: {files}"));
        file["needs_bytes"].as_u64().expect("bytes")
    };
    assert_eq!(talk.change("/load planner"), [format!("{SMOLLM} planner")]);
    talk.running.say(QUESTION);
    let finished = talk.next(&["turn-finished", "turn-failed"]);
    assert!(text(&finished["data"]["answer"]).contains('5'), "{finished}");

    let memory = talk.ask("/ps", &["memory"]);
    let planner = &memory["models"][0];
    assert_eq!(planner["bytes"].as_u64(), Some(needs(SMOLLM)), "what was foretold is what is held");
    assert_eq!((planner["idle_s"].is_u64(), &planner["pinned"]), (true, &json!(false)));
    let parts: u64 = planner["parts"].as_array().expect("parts").iter().filter_map(|part| part[1].as_u64()).sum();
    assert_eq!(Some(parts), planner["bytes"].as_u64());

    let gemma = talk.change("/swap planner gemma-3-270m");
    assert!(gemma.len() == 1 && gemma[0].starts_with(&format!("{GEMMA} planner")), "{gemma:?}");
    let back = talk.change("/swap planner SmolLM2");
    assert!(back.len() == 1 && back[0].starts_with(&format!("{SMOLLM} planner")), "{back:?}");
    talk.change("/pin planner");
    assert!(talk.refused("/unload planner").contains("is pinned"));
    talk.change("/unpin planner");
    assert_eq!(talk.change("/unload planner"), Vec::<String>::new());
    let memory = talk.ask("/ps", &["memory"]);
    let others: u64 = memory["others"].as_array().expect("others").iter().filter_map(|one| one[1].as_u64()).sum();
    assert_eq!(memory["free_bytes"].as_u64(), memory["budget_bytes"].as_u64().map(|budget| budget - others));

    assert!(talk.refused("/load nothing").contains(SMOLLM), "the error names what there is");
    assert!(talk.refused("/unload nothing").contains("nothing is not loaded"));
    assert!(talk.refused("/swap planner").contains("/swap OLD NEW"));
    assert!(talk.refused("/remove planner").contains("the commands are /models, /load"));
    let ended = talk.end().succeeded();
    let conversations: Vec<Value> =
        ended.lines().iter().filter_map(|event| event.get("conversationId").cloned()).collect();
    assert!(conversations.iter().all(|one| *one == conversations[0]), "one conversation");
}

#[test]
fn a_command_is_answered_while_a_request_runs_and_a_second_request_waits() {
    let project = Project::todo();
    let mut talk = Talk::new(&project, &[]);
    for line in [STORY, "/ps", "List the files in src"] {
        talk.running.say(line);
    }
    let ended = talk.end().succeeded();
    let events = ended.lines();
    let at = |wanted: &dyn Fn(&Value) -> bool| events.iter().position(wanted).unwrap_or_else(|| panic!("{ended:?}"));
    let first_end = at(&|event| kind(event) == "turn-finished");
    assert!(at(&|event| kind(event) == "memory") < first_end);
    let queued = at(&|event| kind(event) == "notice" && text(&event["data"]["text"]).contains("(#1): List the files"));
    assert!(queued < first_end);
    let last = events.last().expect("an event");
    assert!(kind(last) == "turn-finished" && text(&last["data"]["answer"]).contains("src/todo.ts"), "{last}");
}

#[test]
fn ctrl_c_ends_the_request_and_then_the_conversation() {
    let project = Project::todo();
    let mut talk = Talk::new(&project, &[]);
    talk.running.say(STORY);
    talk.next(&["token"]);
    talk.running.interrupt();
    let failed = talk.next(&["turn-failed", "turn-finished"]);
    assert_eq!(failed["data"], json!({ "error": "cancelled" }));
    talk.running.say("List the files in src");
    assert_eq!(kind(&talk.next(&["turn-failed", "turn-finished"])), "turn-finished");
    assert_eq!(models(&talk.ask("/ps", &["memory"])).len(), 1, "the model stayed");
    talk.running.interrupt();
    let ended = talk.running.end();
    assert_eq!((ended.code, ended.signal), (Some(130), None), "{ended:#?}");
}

#[test]
fn a_model_that_does_not_fit_is_refused_with_numbers_and_the_conversation_continues() {
    let project = Project::todo();
    let mut talk = Talk::new(&project, &["--budget", "140MiB"]);
    let refused = talk.refused("/load planner");
    assert!(
        refused.contains("planner with ") && refused.contains(" needs ") && refused.contains("of 140.0 MiB are free"),
        "{refused}"
    );
    assert!(refused.contains("In memory: index"), "{refused}");
    talk.running.say(QUESTION);
    // The refused model is the planner or the router; both are the same file here.
    assert!(text(&talk.next(&["turn-failed"])["data"]["error"]).contains(" needs "));
    assert_eq!(models(&talk.ask("/ps", &["memory"])), Vec::<String>::new());
    talk.end().succeeded();
}

#[test]
fn without_json_chat_prints_text_and_stops_at_exit() {
    let project = Project::todo();
    let ended = Run::new(&project, &["chat"]).input(b"/help\n\n/ps\n/exit\n/models\n".to_vec()).end().succeeded();
    assert!(ended.out.contains("/swap OLD NEW") && ended.out.contains("no model is loaded"), "{}", ended.out);
    assert!(ended.out.contains("are free") && !ended.out.contains("Q4_1"), "nothing after /exit: {}", ended.out);
}

#[test]
fn a_change_is_undone_within_the_conversation() {
    let project = Project::todo();
    let before = project.text("src/retry.ts");
    let mut talk = Talk::new(&project, &["--yes"]);
    assert!(text(&talk.ask("/undo", &["rewound", "turn-failed"])["error"]).contains("nothing to undo"));
    talk.ask("In src/retry.ts change MAX_ATTEMPTS from 5 to 7", &["turn-finished"]);
    assert!(project.text("src/retry.ts").contains('7'));
    let listed = talk.ask("/checkpoints", &["checkpoints"]);
    let checkpoint = text(&listed["checkpoints"][0]["checkpoint"]).to_owned();
    // A file that was changed outside monobloc is not overwritten without `force`.
    std::fs::write(project.path().join("src/retry.ts"), "mine").expect("a file");
    let refused = talk.ask("/undo", &["rewound", "turn-failed"]);
    assert!(text(&refused["error"]).contains("`/undo force`"), "{refused}");
    assert_eq!(project.text("src/retry.ts"), "mine");
    let rewound = talk.ask(&format!("/rewind {checkpoint} force"), &["rewound", "turn-failed"]);
    assert_eq!((text(&rewound["checkpoint"]), project.text("src/retry.ts")), (checkpoint.as_str(), before));
    talk.end().succeeded();
}

#[test]
fn a_conversation_continues_in_another_process() {
    let project = Project::todo();
    let recalled =
        |talk: &mut Talk| text(&talk.ask("What did I just say to you?", &["turn-finished"])["answer"]).to_owned();
    let mut talk = Talk::new(&project, &["--continue"]);
    assert!(text(&talk.next(&["turn-failed"])["data"]["error"]).contains("no conversation 1"));
    talk.ask(STORY, &["turn-finished"]);
    talk.end().succeeded();
    let mut talk = Talk::new(&project, &["--continue"]);
    assert!(text(&talk.next(&["notice"])["data"]["text"]).contains(STORY));
    assert!(recalled(&mut talk).contains("Tell me a story"));
    talk.end().succeeded();
    let mut talk = Talk::new(&project, &[]);
    let listed = talk.ask("/resume", &["conversations"]);
    let listed: Vec<&str> =
        listed["conversations"].as_array().expect("a list").iter().map(|one| text(&one["first"])).collect();
    assert_eq!(listed, [STORY]);
    let why = talk.ask("/resume 2", &["turn-failed"]);
    assert!(text(&why["error"]).contains("/resume lists all 1"));
    talk.end().succeeded();
}

#[test]
fn the_last_request_is_asked_again() {
    let project = Project::todo();
    let mut talk = Talk::new(&project, &[]);
    let ends = ["turn-finished", "turn-failed"];
    assert!(text(&talk.ask("/retry", &ends)["error"]).contains("nothing was asked"));
    let first = talk.ask("List the files in src", &ends);
    let again = talk.ask("/retry", &ends);
    assert_eq!((text(&first["request"]), text(&again["request"])), ("List the files in src", "List the files in src"));
    talk.end();
}
