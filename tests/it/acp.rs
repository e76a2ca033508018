//! `monobloc acp` as an editor uses it: the Agent Client Protocol, line by line.

use std::fs;

use serde_json::{Value, json};

use crate::boxed;
use crate::cli::{Ended, Project, Run, Running};
use crate::mcp::far::Far;
use crate::turn::text;

const QUESTION: &str = "Read src/retry.ts and tell me how many times a request is tried";
const CHANGE: &str = "In src/retry.ts change the maximum number of attempts from 5 to 3";
const STORY: &str = "Hello! Tell me a story";

/// An editor that runs the program and answers its questions in one way.
struct Editor {
    running: Running,
    read: usize,
    calls: u64,
    /// The option chosen when the program asks for consent.
    decision: &'static str,
    /// All notifications and requests from the program so far.
    heard: Vec<Value>,
}

impl Editor {
    fn new(project: &Project, flags: &[&str]) -> Editor {
        let mut running = Run::new(project, &[&["acp"], flags].concat()).talk();
        running.say("");
        let mut editor = Editor { running, read: 0, calls: 0, decision: "reject-once", heard: Vec::new() };
        let said = editor.call("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }));
        assert_eq!(said["protocolVersion"], 1, "{said}");
        assert_eq!(said["agentCapabilities"]["loadSession"], true, "{said}");
        assert_eq!(said["agentCapabilities"]["promptCapabilities"]["embeddedContext"], true, "{said}");
        editor
    }

    /// A new session in the project's folder.
    fn open(&mut self, project: &Project) -> String {
        let said = self.call("session/new", json!({ "cwd": project.path(), "mcpServers": [] }));
        assert_eq!(said["modes"]["currentModeId"], "agent", "{said}");
        assert_eq!(said["configOptions"][0]["currentValue"], "agent", "{said}");
        text(&said["sessionId"]).to_owned()
    }

    fn send(&mut self, method: &str, params: Value) -> u64 {
        self.calls += 1;
        let call = json!({ "jsonrpc": "2.0", "id": self.calls, "method": method, "params": params });
        self.running.say(&call.to_string());
        self.calls
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.running.say(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// The next message of the program.
    fn next(&mut self) -> Value {
        loop {
            let shown = self.running.shown();
            if let Some(end) = shown[self.read..].find('\n') {
                let line = &shown[self.read..self.read + end];
                self.read += end + 1;
                return serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            }
            self.running.until_longer(shown.len());
        }
    }

    /// Waits for the answer to `id`; records and answers the messages that come before it.
    fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next();
            assert_eq!(message["jsonrpc"], "2.0", "{message}");
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.hear(message);
        }
    }

    fn hear(&mut self, message: Value) {
        if message["method"] == "session/request_permission" {
            let outcome = json!({ "outcome": { "outcome": "selected", "optionId": self.decision } });
            self.running.say(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": outcome }).to_string());
        }
        self.heard.push(message);
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let mut answer = self.answer(id);
        assert!(answer.get("result").is_some(), "{method}: {answer}");
        answer["result"].take()
    }

    /// Code and message of the error returned by the call.
    fn refused(&mut self, method: &str, params: Value) -> (i64, String) {
        let id = self.send(method, params);
        let answer = self.answer(id);
        (answer["error"]["code"].as_i64().expect("a code"), text(&answer["error"]["message"]).to_owned())
    }

    /// Sends a prompt and returns the reason why the turn stopped.
    fn prompt(&mut self, session: &str, request: &str) -> String {
        self.heard.clear();
        let said = self.call("session/prompt", prompt(session, request));
        text(&said["stopReason"]).to_owned()
    }

    /// The updates of one kind.
    fn updates(&self, kind: &str) -> Vec<&Value> {
        let updates = self.heard.iter().filter(|heard| heard["method"] == "session/update");
        updates.map(|heard| &heard["params"]["update"]).filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// The pieces of one kind of text, joined.
    fn said(&self, kind: &str) -> String {
        self.updates(kind).iter().map(|update| text(&update["content"]["text"])).collect()
    }

    /// The part of a turn's work that a client shows: the latest plan, and title, kind, places and
    /// end of each call.
    fn work(&self) -> (Value, Vec<Value>) {
        let plan = self.updates("plan").last().map(|plan| plan["entries"].clone()).unwrap_or_default();
        let ends = self.updates("tool_call_update");
        let call = |call: &&Value| {
            let end = ends.iter().rfind(|end| end["toolCallId"] == call["toolCallId"]);
            json!([call["title"], call["kind"], call["locations"], end.map_or(&call["status"], |end| &end["status"])])
        };
        (plan, self.updates("tool_call").iter().map(call).collect())
    }

    fn end(mut self) -> Ended {
        self.running.hang_up();
        let ended = self.running.end().succeeded();
        assert!(ended.lines().iter().all(|line| line["jsonrpc"] == "2.0"), "{}", ended.out);
        ended
    }
}

fn prompt(session: &str, request: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": request }] })
}

#[test]
fn a_question_gets_a_plan_a_call_with_its_place_and_an_answer() {
    let project = Project::todo();
    let mut editor = Editor::new(&project, &[]);
    let session = editor.open(&project);
    assert_eq!(editor.prompt(&session, QUESTION), "end_turn");
    let plans = editor.updates("plan");
    let statuses: Vec<&str> = plans.iter().map(|plan| text(&plan["entries"][0]["status"])).collect();
    assert_eq!((statuses.first(), statuses.last()), (Some(&"pending"), Some(&"completed")), "{plans:?}");
    let call = editor.updates("tool_call")[0];
    let path = project.path().canonicalize().expect("a folder").join("src/retry.ts");
    assert_eq!((text(&call["kind"]), &call["locations"][0]["path"]), ("read", &json!(path)));
    let ended = editor.updates("tool_call_update").last().map(|update| text(&update["status"]).to_owned());
    assert_eq!(ended.as_deref(), Some("completed"));
    assert!(editor.said("agent_message_chunk").contains('5'), "{:?}", editor.heard);
    editor.end();
}

#[test]
fn a_change_is_asked_with_its_full_texts_and_a_later_process_loads_the_conversation() {
    let project = Project::todo();
    let before = project.text("src/retry.ts");
    let mut editor = Editor::new(&project, &[]);
    let session = editor.open(&project);
    assert_eq!(editor.prompt(&session, CHANGE), "end_turn");
    assert_eq!(project.text("src/retry.ts"), before, "it was rejected");
    let failed = editor.updates("tool_call_update");
    assert_eq!(failed.last().map(|update| text(&update["status"])), Some("failed"));
    let refused = editor.work();
    assert_eq!(refused.0[0]["status"], "pending", "nothing was done: {refused:?}");
    assert!(text(&refused.0[0]["content"]).ends_with(" (refused)"), "{refused:?}");

    editor.decision = "allow-once";
    assert_eq!(editor.prompt(&session, CHANGE), "end_turn");
    let after = project.text("src/retry.ts");
    assert_ne!(after, before);
    let asked = editor.heard.iter().find(|heard| heard["method"] == "session/request_permission");
    let call = &asked.expect("a question")["params"]["toolCall"];
    let path = project.path().canonicalize().expect("a folder").join("src/retry.ts");
    let diff = json!([{ "type": "diff", "path": path, "oldText": before, "newText": after }]);
    assert_eq!((text(&call["title"]), &call["content"]), ("Edit src/retry.ts", &diff));
    let done = editor.updates("tool_call_update").into_iter().find(|update| update["status"] == "completed");
    let done = done.expect("a result");
    assert_eq!((&done["content"], &done["toolCallId"]), (&diff, &call["toolCallId"]));
    let made = editor.work();
    let journal = project.text(".monobloc/journal.ndjson");
    assert!(!journal.contains("oldText") && journal.len() < 40_000, "the journal stays small: {}", journal.len());
    editor.end();

    let mut editor = Editor::new(&project, &[]);
    let list = editor.call("session/list", json!({ "cwd": project.path() }));
    assert_eq!(text(&list["sessions"][0]["sessionId"]), session, "{list}");
    let load = json!({ "sessionId": session, "cwd": project.path(), "mcpServers": [] });
    editor.call("session/load", load);
    assert_eq!(editor.said("user_message_chunk"), [CHANGE, CHANGE].concat());
    let (plan, calls) = editor.work();
    assert_eq!((plan, calls), (made.0, [refused.1, made.1].concat()), "the same work is told again");
    let mut diffs = editor.updates("tool_call_update").into_iter().map(|update| &update["content"][0]);
    let diff = diffs.rfind(|content| content["type"] == "diff").expect("a diff");
    assert_eq!(diff["path"], json!(path));
    assert!(text(&diff["oldText"]).contains('5') && before.contains(text(&diff["oldText"])), "{diff}");
    assert!(text(&diff["newText"]).contains('3') && after.contains(text(&diff["newText"])), "{diff}");
    let told: Vec<&Value> = editor.heard.iter().map(|heard| &heard["params"]["update"]["sessionUpdate"]).collect();
    assert_eq!(
        (told.first(), told.last()),
        (Some(&&json!("user_message_chunk")), Some(&&json!("agent_message_chunk")))
    );
    editor.heard.clear();
    assert_eq!(editor.prompt(&session, "What did I ask first?"), "end_turn");
    assert!(editor.said("agent_message_chunk").contains("src/retry.ts"), "{:?}", editor.heard);
    let unknown = json!({ "sessionId": "c0", "cwd": project.path(), "mcpServers": [] });
    let (code, why) = editor.refused("session/load", unknown);
    assert!(code == -32002 && why.contains("has no conversation `c0`"), "{code} {why}");
    editor.end();
}

#[test]
fn one_session_too_many_closes_the_one_that_was_idle_longest_and_it_can_be_loaded_again() {
    let project = Project::todo();
    let mut editor = Editor::new(&project, &[]);
    let first = editor.open(&project);
    assert_eq!(editor.prompt(&first, QUESTION), "end_turn");
    let others: Vec<String> = (1..32).map(|_| editor.open(&project)).collect();
    let last = editor.open(&project);
    let (code, why) = editor.refused("session/prompt", prompt(&first, QUESTION));
    assert!(code == -32602 && why.contains("session/load opens one"), "{code} {why}");
    editor.heard.clear();
    editor.call("session/load", json!({ "sessionId": first, "cwd": project.path(), "mcpServers": [] }));
    assert_eq!(editor.said("user_message_chunk"), QUESTION);
    let (_, why) = editor.refused("session/set_mode", json!({ "sessionId": others[0], "modeId": "chat" }));
    assert!(why.contains("there is no session"), "the next one made room for it: {why}");
    for open in [&first, &others[1], &last] {
        editor.call("session/set_mode", json!({ "sessionId": open, "modeId": "chat" }));
    }
    editor.end();
}

#[test]
fn a_prompt_is_cancelled_and_the_session_goes_on() {
    let project = Project::todo();
    let mut editor = Editor::new(&project, &[]);
    let session = editor.open(&project);
    // No turn is running yet, so this has no effect.
    editor.tell("session/cancel", json!({ "sessionId": session }));
    let id = editor.send("session/prompt", prompt(&session, STORY));
    let (code, why) = editor.refused("session/prompt", prompt(&session, QUESTION));
    assert!(code == -32600 && why.contains("is running a prompt"), "{code} {why}");
    let picture = json!([{ "type": "image", "data": "?", "mimeType": "image/png" }]);
    let (_, why) = editor.refused("session/prompt", json!({ "sessionId": session, "prompt": picture }));
    assert!(why.contains("is running a prompt"), "its picture is not looked at: {why}");
    while editor.updates("agent_message_chunk").is_empty() {
        let message = editor.next();
        editor.hear(message);
    }
    editor.tell("session/cancel", json!({ "sessionId": session }));
    assert_eq!(editor.answer(id)["result"]["stopReason"], "cancelled");
    // Cancelled while the prompt is being opened, before it generates text.
    let id = editor.send("session/prompt", prompt(&session, STORY));
    editor.tell("session/cancel", json!({ "sessionId": session }));
    assert_eq!(editor.answer(id)["result"]["stopReason"], "cancelled");
    assert_eq!(editor.prompt(&session, QUESTION), "end_turn");
    // The end of the input ends a running prompt.
    editor.send("session/prompt", prompt(&session, STORY));
    editor.end();
}

#[test]
fn a_question_that_is_cancelled_rejects_the_call() {
    let project = Project::todo();
    let before = project.text("src/retry.ts");
    let mut editor = Editor::new(&project, &[]);
    let session = editor.open(&project);
    let id = editor.send("session/prompt", prompt(&session, CHANGE));
    loop {
        let message = editor.next();
        if message["method"] == "session/request_permission" {
            break;
        }
    }
    editor.tell("session/cancel", json!({ "sessionId": session }));
    assert_eq!(editor.answer(id)["result"]["stopReason"], "cancelled");
    assert_eq!(project.text("src/retry.ts"), before);
    editor.end();
}

#[test]
fn the_mode_is_set_in_either_form_and_a_chat_changes_nothing() {
    let project = Project::todo();
    let before = project.files();
    let mut editor = Editor::new(&project, &[]);
    let session = editor.open(&project);
    editor.decision = "allow-once";
    editor.call("session/set_mode", json!({ "sessionId": session, "modeId": "chat" }));
    assert_eq!(editor.prompt(&session, CHANGE), "end_turn");
    assert_eq!(project.files(), before, "chat changes nothing");
    let option = json!({ "sessionId": session, "configId": "mode", "value": "agent" });
    let said = editor.call("session/set_config_option", option);
    assert_eq!(said["configOptions"][0]["currentValue"], "agent", "{said}");
    let (code, why) = editor.refused("session/set_mode", json!({ "sessionId": session, "modeId": "yolo" }));
    assert!(code == -32602 && why.contains("`yolo` is not a mode"), "{code} {why}");
    editor.end();
}

#[test]
fn a_wrong_message_is_answered_with_what_is_wrong_and_the_next_one_is_read() {
    let project = Project::todo();
    let mut editor = Editor::new(&project, &[]);
    let check = |editor: &mut Editor, method: &str, params: Value, code: i64, part: &str| {
        let refused = editor.refused(method, params);
        assert!(refused.0 == code && refused.1.contains(part), "{method}: {refused:?}");
    };
    check(&mut editor, "session/fly", json!({}), -32601, "`session/fly`");
    check(&mut editor, "session/new", json!({}), -32602, "missing field `cwd`");
    let relative = json!({ "cwd": "src", "mcpServers": [] });
    check(&mut editor, "session/new", relative, -32602, "cwd `src` is not an absolute path");
    let missing = json!({ "cwd": "/no/such", "mcpServers": [] });
    check(&mut editor, "session/new", missing, -32602, "cwd `/no/such`");
    check(&mut editor, "session/prompt", prompt("c0", "x"), -32602, "there is no session `c0`");
    let session = editor.open(&project);
    let image = json!({ "sessionId": session, "prompt": [{ "type": "image", "data": "", "mimeType": "image/png" }] });
    check(&mut editor, "session/prompt", image, -32602, "prompt[0]: picture 1 is not a PNG");
    editor.running.say("{");
    let broken = editor.next();
    assert_eq!((&broken["id"], &broken["error"]["code"]), (&Value::Null, &json!(-32700)));
    editor.running.say(&format!("\"{}\"", "x".repeat(17 << 20)));
    let long = editor.next();
    assert!(long["error"]["code"] == -32700 && text(&long["error"]["message"]).contains("16777216 bytes"), "{long}");
    let second = editor.open(&project);
    assert_ne!(second, session, "several sessions at once");
    editor.end();
}

#[test]
fn servers_of_the_editor_are_started_for_the_session() {
    let project = Project::todo();
    let trace = project.path().join("trace");
    let program = std::env::current_exe().expect("this program");
    let args = ["--exact", "mcp::server::serve", "--ignored", "--nocapture"];
    let near = Far::new("");
    fs::write(project.folder("config/monobloc").join("servers"), format!("mcp {}\n", near.url)).expect("a consent");
    let mut editor = Editor::new(&project, &[]);
    let servers = json!([
        { "name": "notes", "command": program, "args": args,
            "env": [{ "name": crate::mcp::server::TRACE, "value": trace }] },
        { "name": "missing", "command": "no-such-server", "args": [], "env": [] },
        { "type": "http", "name": "far", "url": "https://example.org/mcp", "headers": [] },
        { "type": "http", "name": "near", "url": near.url, "headers": [{ "name": "X-Key", "value": "sesame" }] },
    ]);
    let said = editor.call("session/new", json!({ "cwd": project.path(), "mcpServers": servers }));
    let session = text(&said["sessionId"]).to_owned();
    assert!(!trace.exists() && near.log().is_empty(), "nothing is started before the first prompt");
    assert_eq!(editor.prompt(&session, QUESTION), "end_turn");
    let notes = editor.said("agent_thought_chunk");
    assert!(notes.contains("`missing` is not available"), "{notes}");
    assert!(notes.contains("`monobloc mcp allow https://example.org/mcp` shows what"), "{notes}");
    assert!(fs::read_to_string(&trace).expect("a trace").contains("start"));
    assert!(!notes.contains("`notes`") && !notes.contains("`near`"), "{notes}");
    let first = json!(editor.heard).to_string();
    assert_eq!(editor.prompt(&session, "/near:where the blue lamp"), "end_turn");
    let asked = editor.said("agent_thought_chunk");
    assert!(
        asked.contains("the request is the prompt /near:where:") && asked.contains("Say where the blue lamp"),
        "{asked}"
    );
    let both = first + &json!(editor.heard).to_string();
    assert!(both.contains("available_commands_update") && both.contains("\"near:where\""), "{both}");
    assert!(near.count("key=sesame") > 0 && !both.contains("sesame"), "{:#?}", near.log());
    editor.end();
}

#[test]
fn links_and_embedded_texts_are_read() {
    let project = Project::todo();
    let mut editor = Editor::new(&project, &[]);
    let session = editor.open(&project);
    let uri = format!("file://{}", project.path().join("src/retry.ts").display());
    let blocks = json!([
        { "type": "text", "text": "Read" },
        { "type": "resource_link", "name": "retry.ts", "uri": uri },
        { "type": "text", "text": "and tell me how many times a request is tried" },
    ]);
    let said = editor.call("session/prompt", json!({ "sessionId": session, "prompt": blocks }));
    assert_eq!(said["stopReason"], "end_turn");
    assert!(editor.said("agent_message_chunk").contains('5'), "{:?}", editor.heard);
    editor.end();
}

#[test]
fn a_planner_of_a_server_answers_the_editor_after_consent() {
    let (project, (server, _)) = (Project::todo(), crate::away::saying(&[("how are you", "All is well in the box.")]));
    let models = boxed::roles(&project, "planner", &server.url(), crate::away::WRITES, false);
    let mut editor = Editor::new(&project, &["--models-file", &models]);
    let session = editor.open(&project);
    editor.decision = "allow-once";
    assert_eq!(server.connections(), 0);
    assert_eq!(editor.prompt(&session, "Hello, how are you?"), "end_turn");
    let asked = editor.heard.iter().find(|heard| heard["method"] == "session/request_permission");
    assert!(asked.is_some_and(|asked| asked.to_string().contains(&server.url())), "{:#?}", editor.heard);
    assert!(editor.said("agent_message_chunk").contains("All is well in the box."), "{:#?}", editor.heard);
}
