//! Clients that must not harm the server: random requests, clients that never read, heads and
//! bodies that never end.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use monobloc::engine::scripted::Script;
use serde_json::json;

use super::client::Client;
use super::inside::{Inside, counting};
use super::kept::Kept;
use super::{ask, with};
use crate::cli::Project;

const REQUESTS: usize = 1000;
const CHAT: &str = "/v1/chat/completions";

const METHODS: [&str; 9] = ["POST", "POST", "POST", "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "FROB"];
/// A path with a valid body.
const PATHS: [(&str, &str); 16] = [
    (CHAT, r#"{"model":"planner","max_tokens":2,"messages":[{"role":"user","content":"Hi"}]}"#),
    (
        CHAT,
        r#"{"stream":true,"max_tokens":2,"messages":[{"role":"user","content":"Hi"}],"logprobs":true,"stop":["u"]}"#,
    ),
    ("/v1/completions", r#"{"prompt":"Hi","max_tokens":2,"logprobs":2,"stop":["\n"]}"#),
    ("/v1/embeddings", r#"{"input":["a","b"],"encoding_format":"base64"}"#),
    ("/v1/responses", r#"{"model":"planner","input":"Hi","max_output_tokens":2,"stream":true}"#),
    ("/v1/messages", r#"{"model":"planner","max_tokens":2,"messages":[{"role":"user","content":"Hi"}]}"#),
    ("/v1/messages/count_tokens", r#"{"model":"planner","messages":[{"role":"user","content":"Hi"}]}"#),
    ("/v1/models", ""),
    ("/v1/models/planner", ""),
    ("/props", ""),
    ("/health", ""),
    ("/metrics", ""),
    ("/", ""),
    ("/page/main.js", ""),
    ("/api/enter", r#"{"key":"0"}"#),
    ("/api/turns", r#"{"text":"Hi","mode":"agent"}"#),
];
const ENDINGS: [&str; 7] = ["/", "?q=%00", "/../..", "%2e%2e%2f", "?proof=", "//", "/\u{fc}"];
const NAMES: [&str; 13] = [
    "Origin",
    "Host",
    "Cookie",
    "X-Monobloc",
    "Authorization",
    "X-Api-Key",
    "Content-Type",
    "Accept",
    "Expect",
    "Connection",
    "Upgrade",
    "Last-Event-ID",
    "Sec-Fetch-Site",
];
const VALUES: [&str; 10] = [
    "",
    "null",
    "100-continue",
    "close",
    "keep-alive, Upgrade",
    "websocket",
    "http://evil.example",
    "18446744073709551616",
    "Bearer ",
    "application/json",
];

fn one<T: Copy>(random: &mut Rng, all: &[T]) -> T {
    all[random.usize(..all.len())]
}

fn header(random: &mut Rng) -> Vec<u8> {
    let value = if random.bool() {
        one(random, &VALUES).as_bytes().to_vec()
    } else {
        // Sometimes contains a byte that is not allowed in a header.
        (0..random.usize(..40)).map(|_| random.u8(0x1e..)).collect()
    };
    let name = one(random, &NAMES);
    [name.as_bytes(), &b": "[..], value.as_slice(), &b"\r\n"[..]].concat()
}

fn damaged(random: &mut Rng, body: &str) -> Vec<u8> {
    let mut body = body.as_bytes().to_vec();
    for _ in 0..random.usize(..4) {
        let at = random.usize(..=body.len());
        match random.u8(..3) {
            0 => body.truncate(at),
            1 => body.insert(at, random.u8(..)),
            _ => body.iter_mut().skip(at).take(1).for_each(|byte| *byte = random.u8(..)),
        }
    }
    body
}

/// A request whose end the server can determine; everything else about it may be wrong.
fn request(client: &Client, random: &mut Rng, method: &str) -> Vec<u8> {
    let (path, body) = one(random, &PATHS);
    let ending = if random.u8(..8) == 0 { one(random, &ENDINGS) } else { "" };
    let body = damaged(random, body);
    let mut bytes = format!("{method} {path}{ending} HTTP/1.1\r\n").into_bytes();
    for (name, value) in [
        ("Host", client.address.to_string()),
        ("Authorization", format!("Bearer {}", client.token)),
        ("Content-Type", "application/json".to_owned()),
    ] {
        // The majority of requests are valid, because those that are refused at once test little.
        if random.u8(..16) > 0 {
            bytes.extend(format!("{name}: {value}\r\n").into_bytes());
        }
    }
    // Sometimes more than a head may contain.
    let more = if random.u8(..50) == 0 { 150 } else { random.usize(..2) };
    bytes.extend((0..more).flat_map(|_| header(random)));
    bytes.extend(format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes());
    bytes.extend(body);
    bytes
}

#[test]
fn a_thousand_random_requests_are_answered_and_none_is_the_servers_fault() {
    let project = Project::todo();
    let server = Inside::new(&project, Script::saying("Blue."));
    let mut random = Rng::with_seed(7);
    let mut kept = Kept::new(&server.client);
    let mut right = 0;
    for number in 0..REQUESTS {
        let method = one(&mut random, &METHODS);
        let request = request(&server.client, &mut random, method);
        let answer = kept.exchange(&request, method == "HEAD");
        let told = || format!("{number}: {} to {}", answer.status, String::from_utf8_lossy(&request));
        assert!((200..500).contains(&answer.status), "{}", told());
        right += usize::from(answer.status == 200);
    }
    assert!(right > REQUESTS / 50, "{right} requests were answered, so this has tried little but the door");
    let answer = server.client.post(CHAT, &ask("Hi", 16)).json(200);
    assert_eq!(answer["choices"][0]["message"]["content"], "Blue.");
}

/// With the maximum number of connections, each held by a client that does not continue.
#[test]
fn clients_that_never_read_or_never_finish_keep_nobody_out() {
    let project = Project::todo();
    let mut script = Script::saying(&counting(9_000)).on("Name a colour.", "Blue.");
    script.row_time = Duration::from_millis(1);
    let server = Inside::new(&project, script);
    let client = &server.client;
    // With log probabilities a token takes a few kilobytes, so the connection to the client soon
    // fills up.
    let endless = with(with(ask("Count.", 50_000), "stream", json!(true)), "logprobs", json!(true));
    let endless = with(endless, "top_logprobs", json!(20));
    let unread: Vec<_> = (0..8).map(|_| client.open(CHAT, &endless)).collect();
    let head = client.head("POST", CHAT, "", 100);
    let unfinished: Vec<TcpStream> = (0..8).map(|_| client.begin(format!("{head}{{").as_bytes())).collect();
    let mut dribbling: Vec<TcpStream> = (0..48).map(|_| client.begin(b"")).collect();
    let answered = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // Sent byte by byte, it takes longer than is allowed for a head.
            for byte in client.head("GET", "/health", "", 0).bytes() {
                if answered.load(Ordering::SeqCst) {
                    return;
                }
                // This fails once the server has closed the connections.
                dribbling.iter_mut().for_each(|stream| drop(stream.write_all(&[byte])));
                thread::sleep(Duration::from_millis(150));
            }
        });
        client.get("/health").json(200);
        answered.store(true, Ordering::SeqCst);
    });
    drop((unread, unfinished));
    let answer = client.post(CHAT, &ask("Name a colour.", 16)).json(200);
    assert_eq!(answer["choices"][0]["message"]["content"], "Blue.");
}
