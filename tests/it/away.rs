//! Turns whose planner is played by a server: consent, what is sent, who answered, and what happens when the server goes away.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::cli::{Ended, Project, Run};

/// A server of one model that answers by rules: the first whose text occurs in the last message gives the reply.
struct Server {
    url: String,
    asked: Arc<Mutex<Vec<Value>>>,
    connections: Arc<AtomicUsize>,
    /// After so many chats it closes every connection without a word.
    lives: Arc<AtomicUsize>,
}

impl Server {
    fn saying(rules: &'static [(&'static str, &'static str)]) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let (asked, connections, lives) = (Arc::default(), Arc::default(), Arc::new(AtomicUsize::new(usize::MAX)));
        let server = Server { url, asked, connections, lives };
        let (asked, connections, lives) = (server.asked.clone(), server.connections.clone(), server.lives.clone());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                connections.fetch_add(1, Ordering::SeqCst);
                let (asked, lives) = (asked.clone(), lives.clone());
                thread::spawn(move || answer(stream, rules, &asked, &lives));
            }
        });
        server
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    fn asked(&self) -> Vec<Value> {
        self.asked.lock().expect("no panic").clone()
    }
}

fn answer(mut stream: TcpStream, rules: &[(&str, &str)], asked: &Mutex<Vec<Value>>, lives: &AtomicUsize) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).ok()?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    if lives.load(Ordering::SeqCst) == 0 {
        return None;
    }
    let head = |kind: &str| format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n");
    if first.contains("/models ") {
        let list = json!({ "object": "list", "data": [{ "id": "boxed", "object": "model", "max_model_len": 16_000 }] });
        return stream.write_all(format!("{}{list}", head("application/json")).as_bytes()).ok();
    }
    if !first.contains("/chat/completions ") {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").ok();
    }
    lives.fetch_sub(1, Ordering::SeqCst);
    let body: Value = serde_json::from_slice(&body).ok()?;
    let last = body["messages"].as_array()?.last()?["content"].as_str().unwrap_or_default().to_owned();
    asked.lock().ok()?.push(body);
    let reply = rules.iter().find(|(pattern, _)| last.contains(pattern)).map_or("Hello.", |(_, reply)| *reply);
    let piece = json!({ "choices": [{ "index": 0, "delta": { "content": reply }, "finish_reason": null }] });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 50, "completion_tokens": 9 } });
    let events = format!("data: {piece}\n\ndata: {end}\n\ndata: {usage}\n\ndata: [DONE]\n\n");
    stream.write_all(format!("{}{events}", head("text/event-stream")).as_bytes()).ok()
}

/// Asks with a planner of this server; `consents` says whether the user has consented to it.
fn ask(project: &Project, server: &Server, consents: bool, arguments: &[&str]) -> Ended {
    let models = project.beside("roles.toml");
    let table = format!("[planner]\nurl = \"{}\"\ntier = \"writes\"\ncapability = \"capable\"\n", server.url);
    std::fs::write(&models, table).expect("a file");
    if consents {
        let folder = project.folder("config/monobloc");
        std::fs::write(folder.join("servers"), format!("{}\n", server.url)).expect("a file");
    }
    let models = models.display().to_string();
    let all: Vec<&str> = [&["ask", "--json", "--models-file", &models], arguments].concat();
    Run::new(project, &all).end()
}

/// Nothing that a test waits for is beyond the local planner, which is SmolLM2 here.
const GREETING: &str = "Hello, how are you?";
const RULES: &[(&str, &str)] = &[("how are you", "All is well in the box.")];

#[test]
fn nothing_is_sent_without_consent_and_nothing_offline() {
    let (project, server) = (Project::todo(), Server::saying(RULES));
    let ended = ask(&project, &server, false, &[GREETING]);
    assert_eq!(server.connections(), 0, "{ended:#?}");
    assert!(ended.out.contains(&server.url), "it says what was not asked: {ended:#?}");
    let ended = ask(&project, &server, true, &["--offline", GREETING]);
    assert_eq!(server.connections(), 0, "{ended:#?}");
    assert_ne!(ended.code, Some(0));
    assert!(ended.err.contains(&server.url), "{ended:#?}");
}

#[test]
fn the_planner_of_a_server_answers_and_is_named() {
    let (project, server) = (Project::todo(), Server::saying(RULES));
    let ended = ask(&project, &server, true, &[GREETING]).succeeded();
    let last = ended.lines().pop().expect("a line");
    let finished = &last["data"];
    assert_eq!(finished["answer"].as_str().map(str::trim), Some("All is well in the box."), "{finished}");
    let host = server.url.trim_start_matches("http://").trim_end_matches("/v1");
    let call = &finished["usage"]["calls"][0];
    assert_eq!(call["model"], json!(format!("boxed at {host}")));
    assert_eq!((&call["prompt_tokens"], &call["generated_tokens"]), (&json!(50), &json!(9)));
    let asked = server.asked();
    let body = asked.last().expect("a request");
    assert_eq!((&body["model"], &body["stream"]), (&json!("boxed"), &json!(true)));
    assert!(body["temperature"].is_number(), "{body}");
    // The server is probed once.
    let before = server.asked().len();
    ask(&project, &server, true, &[GREETING]).succeeded();
    assert_eq!(server.asked().len(), before + 1);
}

#[test]
fn code_that_a_server_writes_goes_through_the_same_checks() {
    const RULES: &[(&str, &str)] = &[
        ("Write the file NOTES.md", "Here it is.\n````\n# Notes\n\nNothing yet.\n````"),
        ("NOTES.md", "edit: create NOTES.md that says there is nothing yet"),
    ];
    let (project, server) = (Project::todo(), Server::saying(RULES));
    let ended = ask(&project, &server, true, &["--approve", "never", "Create NOTES.md that says there is nothing yet"]);
    let ended = ended.succeeded();
    assert_eq!(project.text("NOTES.md"), "# Notes\n\nNothing yet.\n", "{ended:#?}");
}

#[test]
fn when_the_server_goes_away_the_model_here_goes_on_and_says_so() {
    let (project, server) = (Project::todo(), Server::saying(RULES));
    ask(&project, &server, true, &[GREETING]).succeeded();
    server.lives.store(0, Ordering::SeqCst);
    let ended = ask(&project, &server, true, &[GREETING]).succeeded();
    assert!(ended.out.contains("plays the planner instead") && ended.out.contains(&server.url), "{ended:#?}");
    let last = ended.lines().pop().expect("a line");
    assert!(last["data"]["answer"].as_str().is_some_and(|answer| !answer.is_empty()), "{last}");
}
