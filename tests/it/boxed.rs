//! A server with one model, simulated by a test: the requests that it received, and its answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use monobloc::models::Endpoint;
use serde_json::{Value, json};

use crate::cli::Project;

/// A request as the server received it.
#[derive(Clone, Debug)]
pub struct Got {
    pub path: String,
    pub head: String,
    pub body: Value,
}

/// The server's behaviour for one request; the connection is closed when the function returns.
pub type Plays = dyn Fn(&Got, &mut TcpStream) -> std::io::Result<()> + Send + Sync;

pub struct Server {
    pub endpoint: Endpoint,
    pub got: Arc<Mutex<Vec<Got>>>,
    /// Number of connections so far.
    pub connections: Arc<AtomicUsize>,
}

/// A server with one model that answers chats with `plays`.
pub fn server(
    owner: &'static str,
    plays: impl Fn(&Got, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut endpoint = Endpoint::new(&format!("http://{}", listener.local_addr().expect("an address"))).expect("a URL");
    endpoint.silence = Duration::from_secs(1);
    let (got, plays): (Arc<Mutex<Vec<Got>>>, Arc<Plays>) = (Arc::default(), Arc::new(plays));
    let (log, connections) = (got.clone(), Arc::<AtomicUsize>::default());
    let count = connections.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::SeqCst);
            let (plays, log) = (plays.clone(), log.clone());
            thread::spawn(move || {
                let mut stream = stream;
                let Some(request) = request(&mut stream) else { return };
                log.lock().expect("no panic").push(request.clone());
                let listed = json!({ "data": [{ "id": "m", "owned_by": owner, "max_model_len": 4096 }] });
                // It fails if the client hangs up early, which is fine.
                let _ = match request.path.as_str() {
                    "/v1/models" => whole(&mut stream, "200 OK", &listed.to_string()),
                    _ => plays(&request, &mut stream),
                };
                let _ = stream.shutdown(Shutdown::Both);
            });
        }
    });
    Server { endpoint, got, connections }
}

pub fn request(stream: impl Read) -> Option<Got> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let path = head.split_whitespace().nth(1)?.to_owned();
    Some(Got { path, head, body: serde_json::from_slice(&body).unwrap_or_default() })
}

pub fn whole(stream: &mut TcpStream, status: &str, body: &str) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

pub fn begin(stream: &mut TcpStream) -> std::io::Result<()> {
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
}

pub fn event(stream: &mut TcpStream, value: &Value) -> std::io::Result<()> {
    write!(stream, "data: {value}\n\n")
}

pub fn words(text: &str) -> Value {
    json!({ "choices": [{ "delta": { "content": text } }] })
}

pub fn end(reason: &str) -> Value {
    json!({ "choices": [{ "delta": {}, "finish_reason": reason }] })
}

/// Writes these events to the stream, followed by its end marker.
pub fn told(stream: &mut TcpStream, events: &[Value]) -> std::io::Result<()> {
    begin(stream)?;
    events.iter().try_for_each(|one| event(stream, one))?;
    write!(stream, "data: [DONE]\n\n")
}

impl Server {
    /// The base URL of its API.
    pub fn url(&self) -> String {
        self.endpoint.url().to_owned()
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The bodies of all chats so far.
    pub fn chats(&self) -> Vec<Value> {
        let got = self.got.lock().expect("no panic");
        got.iter().filter(|one| one.path.ends_with("/chat/completions")).map(|one| one.body.clone()).collect()
    }
}

/// A models.toml next to the project in which a server plays `role`; `consents`: whether the user
/// has consented to it.
pub fn roles(project: &Project, role: &str, url: &str, more: &str, consents: bool) -> String {
    let models = project.beside("roles.toml");
    std::fs::write(&models, format!("[{role}]\nurl = \"{url}\"\n{more}\n")).expect("a file");
    if consents {
        let folder = project.folder("config/monobloc");
        std::fs::write(folder.join("servers"), format!("{url}\n")).expect("a file");
    }
    models.display().to_string()
}
