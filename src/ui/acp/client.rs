//! The client at the other end of the connection: sends messages from any task, and returns answers to the callers.

use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use agent_client_protocol_schema::v1::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::base::{Cancel, lock};

/// Maximum number of lines waiting to be written; beyond it, writers wait for the client to read.
const LINES_MAX: usize = 256;
/// Time limit for writing the last lines when the connection ends.
const LAST_LINES_MAX: Duration = Duration::from_secs(2);

/// A handle to the client. Clones share one client; the writer ends when the last is dropped.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    lines: mpsc::Sender<String>,
    /// The caller waiting for each of our requests.
    waiting: Mutex<HashMap<u64, oneshot::Sender<Result<Value, Value>>>>,
    requests: AtomicU64,
    /// Whether the client can ask its user to fill in a form.
    takes_forms: AtomicBool,
}

/// The writing thread.
pub struct Writer(oneshot::Receiver<()>);

impl Client {
    /// A client that reads `output`. `gone` is set when it stops reading.
    pub fn reading(mut output: impl Write + Send + 'static, gone: Cancel) -> (Client, Writer) {
        let (lines, mut queue) = mpsc::channel::<String>(LINES_MAX);
        let (done, written) = oneshot::channel();
        thread::spawn(move || {
            while let Some(mut line) = queue.blocking_recv() {
                line.push('\n');
                if output.write_all(line.as_bytes()).and_then(|()| output.flush()).is_err() {
                    gone.cancel();
                    break;
                }
            }
            // Possibly nothing waits for it.
            let _ = done.send(());
        });
        (
            Client(Arc::new(Inner {
                lines,
                waiting: Mutex::default(),
                requests: AtomicU64::new(0),
                takes_forms: AtomicBool::new(false),
            })),
            Writer(written),
        )
    }

    /// Records whether the client can ask its user to fill in a form.
    pub fn set_takes_forms(&self, takes: bool) {
        self.0.takes_forms.store(takes, Ordering::Relaxed);
    }

    pub fn takes_forms(&self) -> bool {
        self.0.takes_forms.load(Ordering::Relaxed)
    }

    async fn send(&self, message: &Value) {
        // This fails if the client is gone; the connection then ends on its own.
        let _ = self.0.lines.send(message.to_string()).await;
    }

    pub async fn answer<T: Serialize>(&self, id: &Value, result: Result<T, Error>) {
        let told = result.and_then(|result| serde_json::to_value(result).map_err(Error::into_internal_error));
        let message = match told {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
        };
        self.send(&message).await;
    }

    pub async fn notify<T: Serialize>(&self, method: &str, params: &T) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// Sends a request and waits indefinitely, because people give the answer. Dropping the future
    /// abandons the request.
    pub async fn ask<T: Serialize, R: DeserializeOwned>(&self, method: &str, params: &T) -> Result<R, String> {
        let id = self.0.requests.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        {
            let mut waiting = lock(&self.0.waiting);
            // Requests whose callers are gone are removed.
            waiting.retain(|_, sender| !sender.is_closed());
            waiting.insert(id, sender);
        }
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        match answer.await {
            Ok(Ok(result)) => serde_json::from_value(result).map_err(|why| format!("the answer to {method}: {why}")),
            Ok(Err(error)) => Err(format!("the client refuses {method}: {error}")),
            Err(_) => Err(format!("the client did not answer {method}")),
        }
    }

    /// Passes the client's answer to our request `id` to the caller; drops it if no caller is
    /// waiting.
    pub fn answered(&self, id: u64, result: Result<Value, Value>) {
        if let Some(waiting) = lock(&self.0.waiting).remove(&id) {
            // The caller may have given up just now.
            let _ = waiting.send(result);
        }
    }
}

impl Writer {
    /// Waits until everything is written, but at most two seconds: a client that does not read
    /// cannot delay the end.
    pub async fn end(self) {
        let _ = tokio::time::timeout(LAST_LINES_MAX, self.0).await;
    }
}
