//! A small HTTP client with one request per connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Maximum time to wait for an answer.
const WAIT_MAX: Duration = Duration::from_secs(120);

#[derive(Clone)]
pub struct Client {
    pub address: SocketAddr,
    pub token: String,
}

/// A complete answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

/// A connection whose answer is not read to its end; dropping it closes the connection.
pub struct Open(TcpStream);

impl Open {
    /// Waits until the text received since the last call contains all of these.
    pub fn until(&mut self, wanted: &[&str]) {
        let mut text = String::new();
        let mut block = [0; 4096];
        while !wanted.iter().all(|one| text.contains(one)) {
            let read = self.0.read(&mut block).expect("an answer");
            assert!(read > 0, "it ended: {text}");
            text.push_str(&String::from_utf8_lossy(&block[..read]));
        }
    }

    /// Waits for a piece of the answer's body.
    pub fn read_some(&mut self) {
        let mut text = String::new();
        let mut block = [0; 4096];
        while !text.contains("\"content\":\"") || text.matches("data: ").count() < 3 {
            let read = self.0.read(&mut block).expect("an answer");
            assert!(read > 0, "it ended: {text}");
            text.push_str(&String::from_utf8_lossy(&block[..read]));
        }
    }
}

/// Server-sent events, read as they arrive. Dropping it closes the connection.
pub struct Events {
    stream: TcpStream,
    /// Bytes that have not been split into lines yet.
    bytes: Vec<u8>,
    number: Option<u64>,
}

impl Events {
    /// The next event that has a number, with that number; `None` at the end.
    pub fn next(&mut self) -> Option<(u64, Value)> {
        loop {
            let line = self.line()?;
            // Heads and chunk lengths are on separate lines.
            if let Some(number) = line.strip_prefix("id: ") {
                self.number = number.parse().ok();
            } else if let Some(data) = line.strip_prefix("data: ")
                && let Some(number) = self.number.take()
            {
                return Some((number, serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"))));
            }
        }
    }

    /// All events up to and including the last one.
    pub fn rest(mut self) -> Vec<(u64, Value)> {
        std::iter::from_fn(|| self.next()).collect()
    }

    fn line(&mut self) -> Option<String> {
        let mut block = [0; 4096];
        loop {
            if let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..=end).collect();
                return Some(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            let read = self.stream.read(&mut block).expect("an event");
            if read == 0 {
                return None;
            }
            self.bytes.extend_from_slice(&block[..read]);
        }
    }
}

impl Client {
    pub fn get(&self, path: &str) -> Answer {
        self.exchange(&self.head("GET", path, "", 0), b"")
    }

    /// Like `get`, with `header` in place of the header of that name.
    pub fn get_with(&self, path: &str, header: &str) -> Answer {
        self.exchange(&self.head("GET", path, header, 0), b"")
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_bytes(path, &serde_json::to_vec(body).expect("JSON"))
    }

    pub fn post_bytes(&self, path: &str, body: &[u8]) -> Answer {
        self.exchange(&self.head("POST", path, "", body.len()), body)
    }

    /// A connection on which only these bytes are sent.
    pub fn begin(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(bytes).expect("it listens");
        stream
    }

    pub fn open(&self, path: &str, body: &Value) -> Open {
        let body = serde_json::to_vec(body).expect("JSON");
        Open(self.begin(&[self.head("POST", path, "", body.len()).as_bytes(), body.as_slice()].concat()))
    }

    /// Sends a request with these headers and no others except the host.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.exchange(&self.plain_head(method, path, headers, body.len()), body)
    }

    /// Begins to read server-sent events.
    pub fn listen(&self, path: &str, headers: &[(&str, &str)]) -> Events {
        let stream = self.begin(self.plain_head("GET", path, headers, 0).as_bytes());
        Events { stream, bytes: Vec::new(), number: None }
    }

    fn plain_head(&self, method: &str, path: &str, headers: &[(&str, &str)], length: usize) -> String {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let (host, close) = (self.address, "Connection: close\r\n\r\n");
        format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Length: {length}\r\n{close}")
    }

    /// Sends bytes and closes the connection.
    pub fn send_and_leave(&self, bytes: &[u8]) {
        drop(self.begin(bytes));
    }

    /// The head of a request with the token; `instead` replaces the header of the same name.
    pub fn head(&self, method: &str, path: &str, instead: &str, length: usize) -> String {
        let host = if instead.starts_with("Host:") { String::new() } else { format!("Host: {}\r\n", self.address) };
        let instead = if instead.is_empty() { String::new() } else { format!("{instead}\r\n") };
        format!(
            "{method} {path} HTTP/1.1\r\n{host}{instead}Authorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n",
            self.token
        )
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(WAIT_MAX)).expect("a limit");
        stream
    }

    fn exchange(&self, head: &str, body: &[u8]) -> Answer {
        let mut stream = self.begin(head.as_bytes());
        stream.write_all(body).expect("it listens");
        let mut all = Vec::new();
        stream.read_to_end(&mut all).expect("an answer");
        let end = all.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8_lossy(&all[..end]).into_owned();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let body = if chunked { unchunked(&all[end + 4..]) } else { all[end + 4..].to_vec() };
        Answer { status, head, body }
    }
}

/// The content of a chunked body.
fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let length = usize::from_str_radix(&String::from_utf8_lossy(&rest[..end]), 16).expect("a length");
        let from = end + 2;
        body.extend_from_slice(&rest[from..from + length]);
        rest = &rest[(from + length + 2).min(rest.len())..];
        if length == 0 {
            break;
        }
    }
    body
}

impl Answer {
    pub fn text(&self, status: u16) -> String {
        let text = String::from_utf8_lossy(&self.body).into_owned();
        assert_eq!(self.status, status, "{text}");
        text
    }

    pub fn json(&self, status: u16) -> Value {
        let text = self.text(status);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// The data of every server-sent event except `[DONE]`.
    pub fn events(&self) -> Vec<Value> {
        let text = self.text(200);
        let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
        data.map(|data| serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"))).collect()
    }
}
