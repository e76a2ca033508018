//! Reads the lines of a JSON-RPC 2.0 connection: requests, notifications, and answers to our own requests.
//!
//! ```json
//! {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/project", "mcpServers": []}}
//! {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "c0"}}
//! {"jsonrpc": "2.0", "id": 7, "result": {"outcome": {"outcome": "cancelled"}}}
//! ```

use agent_client_protocol_schema::v1::{Error, ErrorCode};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Maximum length of a line to read. An embedded file of several megabytes fits, but an endless
/// stream cannot fill the memory.
pub const LINE_BYTES_MAX: usize = 16 << 20;

#[derive(Debug, PartialEq)]
pub enum Incoming {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// The answer to our request `id`.
    Answer {
        id: u64,
        result: Result<Value, Value>,
    },
    /// An answer with an id that we never sent; nothing waits for it.
    Stray,
}

/// A line that is not a message: the error is returned to the client under `id`, which is null if
/// none could be read.
#[derive(Debug)]
pub struct Broken {
    pub id: Value,
    pub error: Error,
}

fn broken(id: Value, code: ErrorCode, why: impl Into<String>) -> Box<Broken> {
    Box::new(Broken { id, error: error(code, why) })
}

pub fn read(line: &str) -> Result<Incoming, Box<Broken>> {
    let parsed = serde_json::from_str::<Value>(line);
    let value =
        parsed.map_err(|why| broken(Value::Null, ErrorCode::ParseError, format!("the line is not JSON: {why}")))?;
    let Value::Object(mut message) = value else {
        let why = "a message is one JSON object; batches are not accepted; send one message per line";
        return Err(broken(Value::Null, ErrorCode::InvalidRequest, why));
    };
    let id = message.remove("id");
    let wrong = |id: Option<Value>| {
        let why = "the message is not a request, notification or answer of JSON-RPC 2.0";
        Err(broken(id.unwrap_or_default(), ErrorCode::InvalidRequest, why))
    };
    if message.get("jsonrpc") != Some(&Value::from("2.0")) {
        return wrong(id);
    }
    let params = message.remove("params").unwrap_or_default();
    match (message.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) if is_id(&id) => Ok(Incoming::Request { id, method, params }),
        (Some(Value::String(method)), None) => Ok(Incoming::Notification { method, params }),
        (Some(Value::String(_)), Some(_)) => wrong(None),
        (None, Some(id)) => match (id.as_u64(), message.remove("result"), message.remove("error")) {
            (Some(id), Some(result), _) => Ok(Incoming::Answer { id, result: Ok(result) }),
            (Some(id), None, Some(error)) => Ok(Incoming::Answer { id, result: Err(error) }),
            (None, Some(_), _) | (None, _, Some(_)) => Ok(Incoming::Stray),
            (_, None, None) => wrong(Some(id)),
        },
        (_, id) => wrong(id),
    }
}

/// JSON-RPC 2.0, 4: an id has no fractional part.
fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64() || id.is_null()
}

/// The parameters of `method`; the error mentions both and the fault.
pub fn params<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, Error> {
    // Some clients omit parameters that are all optional.
    let params = if params.is_null() { Value::Object(serde_json::Map::new()) } else { params };
    serde_json::from_value(params).map_err(|why| invalid(format!("{method}: {why}")))
}

pub fn invalid(message: impl Into<String>) -> Error {
    error(ErrorCode::InvalidParams, message)
}

pub fn error(code: ErrorCode, message: impl Into<String>) -> Error {
    Error::new(code.into(), message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(line: &str, expected: Result<Incoming, (Value, i32)>) {
        let read = read(line).map_err(|broken| (broken.id, i32::from(broken.error.code)));
        assert_eq!(read, expected, "{line}");
    }

    #[test]
    fn requests_notifications_and_answers_are_told_apart() {
        let (id, method, params) = (json!(1), "m".to_owned(), json!({ "a": 1 }));
        let request = r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}"#;
        check(request, Ok(Incoming::Request { id, method: method.clone(), params }));
        let notification = Incoming::Notification { method, params: Value::Null };
        check(r#"{"jsonrpc":"2.0","method":"m"}"#, Ok(notification));
        check(r#"{"jsonrpc":"2.0","id":3,"result":null}"#, Ok(Incoming::Answer { id: 3, result: Ok(Value::Null) }));
        check(r#"{"jsonrpc":"2.0","id":3,"error":{}}"#, Ok(Incoming::Answer { id: 3, result: Err(json!({})) }));
        check(r#"{"jsonrpc":"2.0","id":"x","result":1}"#, Ok(Incoming::Stray));
    }

    #[test]
    fn a_broken_message_is_answered_with_the_code_for_it() {
        check("{", Err((Value::Null, -32700)));
        check("[]", Err((Value::Null, -32600)));
        check(r#"{"id":5,"method":"m"}"#, Err((json!(5), -32600)));
        check(r#"{"jsonrpc":"2.0","id":5,"method":7}"#, Err((json!(5), -32600)));
        check(r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#, Err((Value::Null, -32600)));
        check(r#"{"jsonrpc":"2.0","id":0.5,"method":"m"}"#, Err((Value::Null, -32600)));
        check(r#"{"jsonrpc":"2.0","id":5}"#, Err((json!(5), -32600)));
        check(r#"{"jsonrpc":"2.0"}"#, Err((Value::Null, -32600)));
    }
}
