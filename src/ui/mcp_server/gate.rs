//! Reads the client's lines before the MCP library does, and answers those that the library would silently ignore.
//!
//! JSON-RPC 2.0, 5.1: a line that cannot be parsed is answered with -32700 and one that is not a
//! message with -32600, both with a null id if no id could be read. Without an answer the client
//! would wait forever.

use std::io::BufRead;

use rmcp::model::ClientJsonRpcMessage;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::ui::acp::wire::{self, Incoming};
use crate::ui::cli::chat::input;

/// Maximum number of bytes in transit between client and library.
const ON_THE_WAY: usize = 64 << 10;
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

/// The stream ends that the library uses instead of the client's own.
pub struct Gate {
    pub input: DuplexStream,
    pub output: DuplexStream,
    /// It ends when everything is written.
    pub writer: JoinHandle<()>,
}

/// Stands between the client, which writes `input` and reads `output`, and the library.
pub fn between(
    input: impl BufRead + Send + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    line_bytes_max: usize,
) -> Gate {
    let (mut accepted, library_reads) = duplex(ON_THE_WAY);
    let (library_writes, answers) = duplex(ON_THE_WAY);
    let (refuse, refused) = mpsc::channel(1);
    let mut lines = input::lines(input, line_bytes_max);
    tokio::spawn(async move {
        while let Some(line) = lines.recv().await {
            let refusal = match line {
                Ok(line) if line.trim().is_empty() => continue,
                Ok(line) => match check(&line) {
                    Ok(()) if accepted.write_all(format!("{}\n", line.trim()).as_bytes()).await.is_ok() => continue,
                    Ok(()) => return,
                    Err(refusal) => refusal,
                },
                Err(why) => error(&Value::Null, PARSE_ERROR, &why),
            };
            if refuse.send(refusal.to_string()).await.is_err() {
                return;
            }
        }
    });
    let writer = tokio::spawn(write(answers, refused, output));
    Gate { input: library_reads, output: library_writes, writer }
}

/// Writes the library's lines and the gate's, each line in one piece, until the library has ended
/// or the client stops reading.
async fn write(answers: DuplexStream, mut refused: mpsc::Receiver<String>, mut output: impl AsyncWrite + Unpin) {
    let mut answers = BufReader::new(answers).lines();
    loop {
        let line = tokio::select! {
            line = answers.next_line() => match line {
                Ok(Some(line)) => line,
                _ => return,
            },
            Some(line) = refused.recv() => line,
        };
        let written = output.write_all(format!("{line}\n").as_bytes()).await;
        if written.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

/// Whether the library can read a line; the error is the answer to it.
fn check(line: &str) -> Result<(), Value> {
    let incoming =
        wire::read(line).map_err(|broken| json!({ "jsonrpc": "2.0", "id": broken.id, "error": broken.error }))?;
    let Incoming::Request { id, method, .. } = incoming else { return Ok(()) };
    match serde_json::from_str::<ClientJsonRpcMessage>(line) {
        _ if id.is_null() => Err(error(&id, INVALID_REQUEST, "a request has an id, which must not be null in MCP")),
        Ok(_) => Ok(()),
        Err(why) => Err(error(&id, INVALID_PARAMS, &format!("{method}: {why}"))),
    }
}

fn error(id: &Value, code: i32, why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The id and error code in the answer to a line that is refused.
    fn refused(line: &str) -> Option<(Value, Value)> {
        check(line).err().map(|answer| (answer["id"].clone(), answer["error"]["code"].clone()))
    }

    #[test]
    fn lines_that_the_library_would_pass_over_are_answered() {
        for (line, id, code) in [
            ("nonsense", Value::Null, -32700),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\udead"}}"#, Value::Null, -32700),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} {"#, Value::Null, -32700),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Value::Null, -32600),
            (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, json!("a"), -32600),
            (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":2.5,"method":"ping"}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":3,"method":["ping"]}"#, json!(3), -32600),
        ] {
            assert_eq!(refused(line), Some((id, json!(code))), "{line}");
        }
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), None);
        assert_eq!(refused(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), None);
    }
}
