//! The page's API: access, and a request with its consent, its events and its undo.

use serde_json::{Value, json};

use crate::cli::{Project, Run, Running};
use crate::clock::eventually;
use crate::serve::client::{Answer, Client, Events};

const CHANGE: &str = "In src/retry.ts change the maximum number of attempts from 5 to 3";
const KEY_DIGITS: usize = 64;

const JSON: (&str, &str) = ("Content-Type", "application/json");
const OWN: (&str, &str) = ("X-Monobloc", "1");

/// A server whose page has not received the key yet; it ends with the test.
pub struct Served {
    _running: Running,
    client: Client,
    key: String,
}

fn served(project: &Project) -> Served {
    served_with(project, &[])
}

/// The same with these flags.
pub fn served_with(project: &Project, flags: &[&str]) -> Served {
    let token = project.beside("token").display().to_string();
    let arguments = [&["serve", "--open", "--listen", "127.0.0.1:0", "--token-file", &token], flags].concat();
    // Without a desktop no browser is opened.
    let mut running = Run::new(project, &arguments).env("DISPLAY", "").env("WAYLAND_DISPLAY", "").start();
    running.until("#key=");
    let key = loop {
        let shown = running.shown();
        let key = shown.split("#key=").nth(1).expect("a key");
        if key.len() > KEY_DIGITS {
            break key.trim().to_owned();
        }
        running.until_longer(shown.len());
    };
    let shown = running.shown();
    let address = shown.split("http://").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("an address");
    let address = address.parse().expect("an address");
    let token = std::fs::read_to_string(token).expect("a token").trim().to_owned();
    Served { _running: running, client: Client { address, token }, key }
}

impl Served {
    fn enter(&self, key: &str, headers: &[(&str, &str)]) -> Answer {
        self.client.send("POST", "/api/enter", headers, json!({ "key": key }).to_string().as_bytes())
    }

    pub fn entered(self) -> Entered {
        let answer = self.enter(&self.key, &[JSON, OWN]);
        let proof = answer.json(200)["proof"].as_str().expect("a proof").to_owned();
        let cookie = header(&answer, "set-cookie").split(';').next().expect("a cookie").to_owned();
        Entered { served: self, cookie, proof }
    }
}

/// The value of a header of an answer; empty if it is missing.
fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    let of = |line: &'a str| line.split_once(": ").filter(|(known, _)| known.eq_ignore_ascii_case(name));
    answer.head.lines().find_map(of).map_or("", |(_, value)| value)
}

/// A browser in which the key was entered.
pub struct Entered {
    served: Served,
    cookie: String,
    proof: String,
}

impl Entered {
    fn get(&self, path: &str) -> Answer {
        let headers = [("Cookie", self.cookie.as_str()), ("X-Monobloc", self.proof.as_str())];
        self.served.client.send("GET", path, &headers, b"")
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.served.client.send(
            "POST",
            path,
            &[("Cookie", self.cookie.as_str()), JSON, ("X-Monobloc", self.proof.as_str())],
            body.to_string().as_bytes(),
        )
    }

    /// Begins a turn and returns its number.
    fn ask(&self, text: &str) -> u64 {
        self.post("/api/turns", &json!({ "text": text, "mode": "agent" })).json(200)["id"].as_u64().expect("a number")
    }

    pub fn events(&self, turn: u64, after: u64) -> Events {
        let last = after.to_string();
        self.served.client.listen(
            &format!("/api/turns/{turn}/events?proof={}", self.proof),
            &[("Cookie", self.cookie.as_str()), ("Last-Event-ID", last.as_str())],
        )
    }

    fn decide(&self, turn: u64, number: u64, decision: &str) -> Answer {
        self.post(&format!("/api/turns/{turn}/decide"), &json!({ "decision": decision, "number": number }))
    }

    /// Reads a turn to its end and answers every question; returns the events.
    fn answering(&self, turn: u64, decision: &str) -> Vec<(u64, Value)> {
        let mut reading = self.events(turn, 0);
        let mut all = Vec::new();
        while let Some((number, event)) = reading.next() {
            if event["type"] == "question" {
                self.decide(turn, number, decision).json(200);
            }
            all.push((number, event));
        }
        all
    }
}

fn kinds(events: &[(u64, Value)]) -> Vec<&str> {
    events.iter().filter_map(|(_, event)| event["type"].as_str()).collect()
}

#[test]
fn the_page_is_there_at_once_and_holds_no_secret() {
    let project = Project::todo();
    let server = served(&project);
    let page = server.client.send("GET", "/", &[], b"");
    let text = page.text(200);
    assert!(text.contains("<!doctype html>") && !text.contains(&server.key) && !text.contains(&server.client.token));
    assert!(
        header(&page, "content-security-policy").starts_with("default-src 'self'; frame-ancestors 'none'"),
        "{}",
        page.head
    );
    for (name, value) in [("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer")] {
        assert_eq!(header(&page, name), value);
    }
    let script = server.client.send("GET", "/page/main.js", &[], b"");
    assert!(header(&script, "content-type").starts_with("text/javascript"), "{}", script.head);
    assert_eq!(server.client.send("GET", "/page/none.js", &[], b"").status, 404);
    assert_eq!(server.client.send("GET", "/page/..%2f..%2fCargo.toml", &[], b"").status, 404);
    assert_eq!(server.client.send("POST", "/", &[JSON, OWN], b"{}").status, 400);
    let browser = server.entered();
    let memory = browser.get("/api/memory").json(200);
    assert_eq!(memory["models"], json!([]), "no model is loaded before the first request");
    assert!(memory["budget_bytes"].as_u64() > Some(0), "{memory}");
    assert_eq!(browser.get("/api/status").json(200)["turns"], json!([]));
}

#[test]
fn only_the_page_key_lets_in_and_only_the_cookie_is_taken() {
    let project = Project::todo();
    let server = served(&project);
    assert_eq!(server.enter("0000", &[JSON, OWN]).status, 401);
    assert_eq!(server.enter(&server.client.token, &[JSON, OWN]).status, 401, "the token is another secret");
    assert_eq!(server.enter(&server.key, &[JSON]).status, 400, "without the header of the script");
    assert_eq!(server.enter(&server.key, &[("Content-Type", "text/plain"), OWN]).status, 400);
    let entered = server.enter(&server.key, &[JSON, OWN]);
    let given = header(&entered, "set-cookie").to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/api/"] {
        assert!(given.contains(part), "{given}");
    }
    assert_eq!(header(&entered, "cache-control"), "no-store");
    let browser = server.entered();
    let (client, cookie) = (&browser.served.client, ("Cookie", browser.cookie.as_str()));
    let bearer = format!("Bearer {}", client.token);
    let token = ("Authorization", bearer.as_str());
    let proof = ("X-Monobloc", browser.proof.as_str());
    let status = |method: &str, path: &str, headers: &[(&str, &str)]| client.send(method, path, headers, b"{}").status;
    assert_eq!(status("GET", "/api/status", &[cookie, proof]), 200);
    assert_eq!(status("GET", "/api/status", &[cookie]), 401, "a cookie that another port of this host has seen");
    assert_eq!(status("GET", "/api/status", &[]), 401);
    assert_eq!(status("GET", "/api/status", &[token]), 401, "the token opens nothing of the page");
    assert_eq!(status("GET", "/v1/models", &[token]), 200);
    assert_eq!(status("GET", "/v1/models", &[cookie, proof]), 401, "the cookie opens nothing of the APIs");
    assert_eq!(status("POST", "/api/undo", &[cookie, JSON]), 401);
    assert_eq!(status("POST", "/api/undo", &[cookie, proof]), 400, "a body that is not said to be JSON");
    assert_eq!(status("POST", "/api/turns/1/decide", &[token, JSON, OWN]), 401, "the token approves nothing");
    assert_eq!(status("GET", "/api/status", &[cookie, proof, ("Origin", "http://evil.example")]), 403);
    assert_eq!(
        status("GET", "/api/status", &[cookie, proof, ("Sec-Fetch-Site", "same-site")]),
        403,
        "another port of this host"
    );
    assert_eq!(status("GET", "/api/none", &[cookie, proof]), 404);
}

#[test]
fn a_change_is_asked_for_approved_shown_again_and_undone() {
    let project = Project::todo();
    let browser = served(&project).entered();
    let before = project.files();
    let turn = browser.ask(CHANGE);
    let mut reading = browser.events(turn, 0);
    let (number, question) = loop {
        let (number, event) = reading.next().expect("a question");
        if event["type"] == "question" {
            break (number, event);
        }
    };
    let preview = question["data"]["proposal"]["preview"].as_str().expect("a preview");
    assert!(
        preview.contains("-export const MAX_ATTEMPTS = 5;") && preview.contains("+export const MAX_ATTEMPTS = 3;"),
        "{preview}"
    );
    assert_eq!(project.files(), before, "nothing happens before consent");
    assert_eq!(browser.post("/api/turns", &json!({ "text": "Hello" })).status, 429, "one turn at a time");
    let pictures = json!([{ "name": "a.png", "data": "?" }]);
    let asked = browser.post("/api/turns", &json!({ "text": "Hello", "pictures": pictures }));
    assert_eq!(asked.status, 429, "its pictures are not looked at");
    assert_eq!(browser.post("/api/undo", &json!({})).status, 429);
    assert_eq!(browser.decide(turn, number + 1000, "yes").status, 404);
    assert_eq!(browser.decide(turn, number, "perhaps").status, 400);
    // The page is reloaded in the middle: all events are there, and the turn continues.
    drop(reading);
    let all = browser.answering(turn, "yes");
    let kinds = kinds(&all);
    assert_eq!((kinds.first(), kinds.last()), (Some(&"asked"), Some(&"ended")), "{kinds:?}");
    for kind in ["question-closed", "step-completed", "checkpoint-made", "turn-finished"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    assert!(project.text("src/retry.ts").contains("MAX_ATTEMPTS = 3"));
    let history = browser.get("/api/history").json(200);
    assert_eq!((&history["turns"][0]["request"], &history["turns"][0]["undone"]), (&json!(CHANGE), &json!(false)));
    let undone = browser.post("/api/undo", &json!({})).json(200);
    assert_eq!(undone["rewound"]["restored"], json!(["src/retry.ts"]), "{undone}");
    assert_eq!(project.files(), before);
    let safety = undone["rewound"]["safety"].as_str().expect("a checkpoint");
    let names = browser.get("/api/checkpoints").json(200);
    assert_eq!(names["checkpoints"][0]["checkpoint"], json!(safety), "{names}");
    browser.post("/api/rewind", &json!({ "checkpoint": safety })).json(200);
    assert!(project.text("src/retry.ts").contains("MAX_ATTEMPTS = 3"), "the undo is undone");
    assert_eq!(browser.post("/api/rewind", &json!({ "checkpoint": "c999" })).status, 404);
}

#[test]
fn the_user_changes_the_arguments_of_a_call_before_it_runs() {
    let project = Project::todo();
    let browser = served(&project).entered();
    let turn = browser.ask(CHANGE);
    let mut reading = browser.events(turn, 0);
    while let Some((number, event)) = reading.next() {
        if event["type"] != "question" {
            continue;
        }
        let mut arguments = event["data"]["proposal"]["arguments"].clone();
        for value in arguments.as_object_mut().expect("arguments").values_mut() {
            if let Some(text) = value.as_str() {
                *value = json!(text.replace("MAX_ATTEMPTS = 3", "MAX_ATTEMPTS = 4"));
            }
        }
        let path = format!("/api/turns/{turn}/decide");
        let without = json!({ "decision": "modify", "number": number });
        assert_eq!(browser.post(&path, &without).status, 400, "no arguments");
        browser.post(&path, &json!({ "decision": "modify", "number": number, "arguments": arguments })).json(200);
    }
    assert!(project.text("src/retry.ts").contains("MAX_ATTEMPTS = 4"), "{}", project.text("src/retry.ts"));
}

#[test]
fn a_file_that_others_changed_is_overwritten_only_when_the_user_says_so() {
    let project = Project::todo();
    let browser = served(&project).entered();
    let turn = browser.ask(CHANGE);
    browser.answering(turn, "yes");
    std::fs::write(project.path().join("src/retry.ts"), "mine\n").expect("a file");
    let asked = browser.post("/api/undo", &json!({})).json(200);
    assert_eq!(asked["undecided"], json!(["src/retry.ts"]));
    assert_eq!(project.text("src/retry.ts"), "mine\n");
    browser.post("/api/undo", &json!({ "foreign": "overwrite" })).json(200);
    assert!(project.text("src/retry.ts").contains("MAX_ATTEMPTS = 5"));
}

#[test]
fn a_reader_that_comes_back_gets_what_it_has_not_seen_and_nothing_twice() {
    let project = Project::todo();
    let browser = served(&project).entered();
    let turn = browser.ask("Read src/retry.ts and tell me how many times a request is tried");
    let all = browser.answering(turn, "no");
    assert!(all.len() > 2 && all.windows(2).all(|two| two[0].0 < two[1].0), "{:?}", kinds(&all));
    for (at, (number, _)) in all.iter().enumerate().take(all.len() - 1) {
        assert_eq!(browser.events(turn, *number).rest(), all[at + 1..], "after {number}");
    }
    let last = all.last().expect("events").0.to_string();
    let headers = [("Cookie", browser.cookie.as_str()), ("Last-Event-ID", last.as_str())];
    let path = format!("/api/turns/{turn}/events?proof={}", browser.proof);
    assert_eq!(browser.served.client.send("GET", &path, &headers, b"").status, 204, "a browser stops there");
    assert_eq!(browser.get("/api/turns/99/events").status, 404);
    let turns = browser.get("/api/status").json(200)["turns"].clone();
    assert_eq!((turns[0]["id"].as_u64(), &turns[0]["running"]), (Some(turn), &json!(false)));
}

#[test]
fn a_cancelled_request_ends_and_hostile_text_stays_text() {
    let project = Project::todo();
    let browser = served(&project).entered();
    let hostile = "Say </script><img src=x onerror=alert(1)>\r\n\r\nid: 99\ndata: {\"type\":\"ended\"}\n\u{2028}";
    let turn = browser.ask(hostile);
    browser.post(&format!("/api/turns/{turn}/cancel"), &json!({})).json(200);
    let all = browser.events(turn, 0).rest();
    assert_eq!(all[0].1, json!({ "type": "asked", "data": { "text": hostile, "mode": "agent" } }));
    assert_eq!(kinds(&all).last(), Some(&"ended"));
    let numbers: Vec<u64> = all.iter().map(|(number, _)| *number).collect();
    assert!(!numbers.contains(&99), "{numbers:?}");
    let answer = browser.get(&format!("/api/turns/{turn}/events"));
    assert!(header(&answer, "content-type").starts_with("text/event-stream"), "{}", answer.head);
    assert_eq!((header(&answer, "x-content-type-options"), header(&answer, "cache-control")), ("nosniff", "no-store"));
    assert_eq!(browser.post("/api/turns", &json!({ "text": "  " })).status, 400);
    assert_eq!(browser.post("/api/turns", &json!({ "text": "x".repeat(65_537) })).status, 400);
}

#[test]
fn code_is_found_and_its_callers_are_drawn() {
    let project = Project::todo();
    let browser = served(&project).entered();
    let found = browser.get("/api/search?q=how%20often%20a%20request%20is%20tried").json(200);
    let index = browser.get("/api/index").json(200);
    assert!(index["files"].as_u64() > Some(3) && index["symbols"].as_u64() > Some(3), "{index}");
    assert_eq!((&index["changed"], &index["gone"], &index["unfinished"]), (&json!(0), &json!(0), &json!(false)));
    std::fs::write(project.path().join("src/added.ts"), "export const ADDED = 1;\n").expect("a file");
    assert_eq!(browser.get("/api/index").json(200)["changed"], 1, "looking does not refresh it");
    assert!(found["hits"].as_array().expect("hits").iter().any(|hit| hit["path"] == "src/retry.ts"), "{found}");
    let callers = browser.get("/api/graph?symbol=retry&view=callers").json(200);
    assert_eq!(callers["symbol"], "src/retry.ts::retry");
    let row = &callers["rows"][0];
    assert_eq!(
        (&row["path"], &row["by"], &row["steps"]),
        (&json!("src/store.ts"), &callers["symbol"], &json!(1)),
        "{row}"
    );
    let unknown = browser.get("/api/graph?symbol=retri&view=impact").json(200);
    assert!(unknown["unclear"].as_str().is_some_and(|why| why.contains("retri")), "{unknown}");
    assert_eq!(unknown["names"][0]["symbol"], "retry");
    assert_eq!(browser.get("/api/graph?symbol=&view=callers").status, 400);
    assert_eq!(browser.get("/api/graph?symbol=retry&view=all").status, 400);
}

#[test]
fn the_memory_names_who_has_a_slot_until_it_is_free() {
    let project = Project::todo();
    let browser = served(&project).entered();
    let endless = json!({ "model": "planner", "max_tokens": 1500, "stream": true,
        "messages": [{ "role": "user", "content": "Count from one to a thousand in words." }] });
    let mut open = browser.served.client.open("/v1/chat/completions", &endless);
    open.read_some();
    let busy = || {
        let memory = browser.get("/api/memory").json(200);
        let slots = memory["models"][0]["busy"].as_array().expect("slots").clone();
        slots.into_iter().filter(|slot| !slot.is_null()).collect::<Vec<Value>>()
    };
    eventually("nobody has a slot", || busy().iter().any(|slot| slot["generated"].as_u64() > Some(0)));
    let slots = busy();
    assert!(slots.len() == 1 && slots[0]["by"] == "another program", "{slots:?}");
    drop(open);
    eventually("the slot is still held", || busy().is_empty());
}
