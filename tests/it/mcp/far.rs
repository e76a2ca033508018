//! An MCP server at a URL, in this process: well-behaved, or faulty in one way.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// The requests that the server received, one per line:
/// `POST tools/call session=s1 version=2025-06-18 key=- last=-`.
pub type Log = Arc<Mutex<Vec<String>>>;

pub struct Far {
    pub url: String,
    log: Log,
    served: Served,
}

/// A router that answers on its own thread until this is dropped.
pub struct Served {
    pub address: SocketAddr,
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Clone)]
pub struct Behaviour {
    mode: String,
    log: Log,
    sessions: Arc<Mutex<usize>>,
    /// The number of the last call.
    called: Arc<Mutex<Value>>,
}

impl Behaviour {
    /// `mode` may have an argument after a blank.
    pub fn new(mode: &str, log: Log) -> Behaviour {
        Behaviour { mode: mode.to_owned(), log, sessions: Arc::default(), called: Arc::default() }
    }
}

impl Served {
    pub fn at(address: &str, router: axum::Router) -> Served {
        let listener = TcpListener::bind(address).expect("a port");
        listener.set_nonblocking(true).expect("a listener");
        let (address, stop) = (listener.local_addr().expect("an address"), Arc::new(Notify::new()));
        let ended = stop.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                tokio::select! {
                    served = axum::serve(listener, router) => served.expect("a server"),
                    () = ended.notified() => {}
                }
            });
        });
        Served { address, stop, thread: Some(thread) }
    }

    /// Closes every connection and the port.
    pub fn stop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic");
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Far {
    /// A server on its own thread. `mode` may have an argument after a space.
    pub fn new(mode: &str) -> Far {
        Far::at("127.0.0.1:0", mode)
    }

    /// Like `new`, but at this address.
    pub fn at(address: &str, mode: &str) -> Far {
        let log = Log::default();
        let router = axum::Router::new().fallback(serve).with_state(Behaviour::new(mode, log.clone()));
        let served = Served::at(address, router);
        Far { url: format!("http://{}/mcp", served.address), log, served }
    }

    pub fn log(&self) -> Vec<String> {
        self.log.lock().expect("no panic").clone()
    }

    pub fn count(&self, part: &str) -> usize {
        self.log().iter().filter(|line| line.contains(part)).count()
    }

    /// Closes every connection and the port.
    pub fn stop(&mut self) {
        self.served.stop();
    }
}

pub async fn serve(State(state): State<Behaviour>, method: Method, headers: HeaderMap, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let asked = request["method"].as_str().unwrap_or("-").to_owned();
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("-").to_owned();
    let (session, last) = (header("mcp-session-id"), header("last-event-id"));
    let (version, key) = (header("mcp-protocol-version"), header("x-key"));
    let line = format!("{method} {asked} session={session} version={version} key={key} last={last}");
    state.log.lock().expect("no panic").push(line);
    let mode = state.mode.as_str();
    match (method, mode) {
        (_, "locked") => return (401, [("www-authenticate", "Bearer")], "no").answer(),
        (_, "html") => return (200, [("content-type", "text/html")], "<html>Welcome</html>").answer(),
        (Method::DELETE, _) => return (204, [("x-a", "b")], "").answer(),
        (Method::GET, _) if last == "7" => {
            let result = json!({ "content": [{ "type": "text", "text": "the rest" }] });
            let answer = event(&state.called.lock().expect("no panic"), &result);
            return flowing(stream::iter([Ok::<_, Infallible>(answer)]).boxed());
        }
        (Method::GET, _) => return (405, [("allow", "POST")], "").answer(),
        _ => {}
    }
    if let Some(to) = mode.strip_prefix("redirects ") {
        return (307, [("location", to)], "").answer();
    }
    match asked.as_str() {
        "initialize" => initialized(&state, &request),
        _ if forgotten(mode, &asked, &session) => (404, [("x-a", "b")], "").answer(),
        "tools/list" => reply(mode, &request["id"], &json!({ "tools": [tool("echo"), tool("wait")] })),
        "tools/call" => called(&state, &request),
        "resources/list" | "resources/templates/list" | "prompts/list" => reply(mode, &request["id"], &listed(&asked)),
        "resources/read" => read(mode, &request),
        "prompts/get" => {
            let text = format!("Say where {} hangs.", request["params"]["arguments"]["lamp"].as_str().unwrap_or("?"));
            let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
            reply(mode, &request["id"], &json!({ "messages": [message] }))
        }
        _ if request.get("id").is_some() => reply(mode, &request["id"], &json!({})),
        _ => (202, [("x-a", "b")], "").answer(),
    }
}

fn initialized(state: &Behaviour, request: &Value) -> Response {
    let mut sessions = state.sessions.lock().expect("no panic");
    *sessions += 1;
    let result = json!({
        "protocolVersion": request["params"]["protocolVersion"],
        "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
        "serverInfo": { "name": "far", "version": "1" },
    });
    let mut response = reply(&state.mode, &request["id"], &result);
    if state.mode != "keeps no session" {
        let name = format!("s{sessions}").parse().expect("a value");
        response.headers_mut().insert("mcp-session-id", name);
    }
    response
}

/// Whether the server has dropped the session.
fn forgotten(mode: &str, asked: &str, session: &str) -> bool {
    asked == "tools/call" && (mode == "forgets" && session == "s1" || mode == "forgets always")
}

/// Resources and prompts, including one of each whose name cannot be written in a request.
fn listed(asked: &str) -> Value {
    let resource = |uri: &str| json!({ "uri": uri, "name": "monday", "description": "what was said\non Monday" });
    let argument = json!({ "name": "lamp", "required": true });
    let prompt = |name: &str| json!({ "name": name, "title": "where a lamp hangs", "arguments": [argument] });
    match asked {
        "resources/list" => json!({ "resources": [resource("memo://monday"), resource("memo://a b")] }),
        "prompts/list" => json!({ "prompts": [prompt("where"), prompt("a b")] }),
        _ => json!({ "resourceTemplates": [{ "uriTemplate": "memo://{day}", "name": "a day" }] }),
    }
}

fn read(mode: &str, request: &Value) -> Response {
    let uri = &request["params"]["uri"];
    let contents = match uri.as_str() {
        Some("memo://monday") => json!([{ "uri": uri, "text": "The ship sails soon.\nIt carries 40 lamps.\n" }]),
        Some("memo://photo") => json!([{ "uri": uri, "mimeType": "image/png", "blob": "AAAA" }]),
        Some("memo://square") => {
            let data = crate::pictures::base64(&crate::pictures::png(64, [9, 9, 200]));
            json!([{ "uri": uri, "mimeType": "image/png", "blob": data }])
        }
        Some("memo://long") => json!([{ "uri": uri, "text": "x".repeat(300_000) }]),
        _ => {
            let error = json!({ "code": -32002, "message": "no such memo" });
            let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "error": error }).to_string();
            return (200, [("content-type", "application/json")], answer.as_str()).answer();
        }
    };
    reply(mode, &request["id"], &json!({ "contents": contents }))
}

fn tool(name: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
    json!({ "name": name, "description": "Says it back", "inputSchema": schema })
}

fn called(state: &Behaviour, request: &Value) -> Response {
    let (params, id) = (&request["params"], &request["id"]);
    state.log.lock().expect("no panic").push(format!("did {}", params["name"]));
    *state.called.lock().expect("no panic") = id.clone();
    let text = params["arguments"]["text"].as_str().unwrap_or_default();
    let result = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    match state.mode.as_str() {
        _ if params["name"] == "wait" => flowing(stream::pending().boxed()),
        "stalls" => flowing(stream::pending().boxed()),
        "sends 50 MB" => reply("", id, &result(&"x".repeat(50_000_000))),
        "sends an event without an end" => {
            flowing(stream::repeat(Bytes::from("x".repeat(65_536))).map(Ok::<_, Infallible>).boxed())
        }
        "floods" => {
            let notice = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
            flowing(
                stream::repeat(Bytes::from(format!("data: {notice}\n\n").repeat(500))).map(Ok::<_, Infallible>).boxed(),
            )
        }
        "is cut" => flowing(stream::iter([Ok::<_, Infallible>(Bytes::from("id: 7\ndata:\n\n"))]).boxed()),
        "is cut for good" => flowing(stream::iter([Ok::<_, Infallible>(Bytes::from(": begun\n\n"))]).boxed()),
        "tells of progress" => {
            let token = &params["_meta"]["progressToken"];
            let told = json!({ "jsonrpc": "2.0", "method": "notifications/progress",
                "params": { "progressToken": token, "progress": 1 } });
            let steps = vec![Bytes::from(format!("data: {told}\n\n")); 4];
            let all = steps.into_iter().chain([event(id, &result("at last"))]);
            let slow = stream::iter(all).then(|piece| async move {
                tokio::time::sleep(Duration::from_millis(600)).await;
                Ok::<_, Infallible>(piece)
            });
            flowing(slow.boxed())
        }
        "breaks down" => {
            let error = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32603, "message": "out of paper" } });
            (500, [("content-type", "application/json")], error.to_string().as_str()).answer()
        }
        "is busy" => (503, [("retry-after", "30")], "").answer(),
        mode => reply(mode, id, &result(text)),
    }
}

fn event(id: &Value, result: &Value) -> Bytes {
    Bytes::from(format!("data: {}\n\n", json!({ "jsonrpc": "2.0", "id": id, "result": result })))
}

/// An answer of one JSON text, or of a stream that begins with a notification.
fn reply(mode: &str, id: &Value, result: &Value) -> Response {
    if mode != "streams" {
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
        return (200, [("content-type", "application/json")], answer.as_str()).answer();
    }
    let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress",
        "params": { "progressToken": 1, "progress": 0.5 } });
    let events = [Bytes::from(format!(": begun\n\ndata: {progress}\n\n")), event(id, result)];
    flowing(stream::iter(events.map(Ok::<_, Infallible>)).boxed())
}

fn flowing(events: stream::BoxStream<'static, Result<Bytes, Infallible>>) -> Response {
    // Each piece is sent separately, so that a flood does not keep this thread from other work.
    let paced = events.then(|piece| async move {
        tokio::time::sleep(Duration::from_micros(10)).await;
        piece
    });
    ([("content-type", "text/event-stream")], Body::from_stream(paced)).into_response()
}

/// An answer made of a numeric status, one header and a text.
pub trait Answer {
    fn answer(self) -> Response;
}

impl Answer for (u16, [(&'static str, &str); 1], &str) {
    fn answer(self) -> Response {
        let (status, [(name, value)], text) = self;
        let mut response = text.to_owned().into_response();
        *response.status_mut() = status.try_into().expect("a status");
        response.headers_mut().insert(name, value.parse().expect("a value"));
        response
    }
}
