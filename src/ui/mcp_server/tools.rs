//! The tools on offer, and the parsing of their calls.

use std::borrow::Cow;

use rmcp::model::{Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::protocol::Mode;
use crate::ui::cli::ask::check;
use crate::ui::lookup::graph::{self, KINDS, Kind, Question};

/// Maximum number of hits, lines and tokens that a call may request: they become part of a model's
/// context.
const LIMIT_MAX: usize = 200;
const TOKENS_MAX: u32 = 100_000;
const TOKENS_DEFAULT: u32 = 4_000;
const HITS_DEFAULT: usize = 10;
const LINES_DEFAULT: usize = 100;
/// Time limit for answering calls, because some clients abort them after 60 s.
const WAIT_MAX_S: u64 = 45;
/// The prefix of the graph tools' names.
const GRAPH: &str = "graph_";

/// A call as written: the tool's name and arguments.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Call {
    Search {
        query: String,
        limit: Option<usize>,
    },
    Context {
        question: String,
        tokens: Option<u32>,
    },
    IndexStatus {},
    /// A request, and the number of seconds after which its handle is returned.
    Ask {
        request: String,
        #[serde(default)]
        mode: Mode,
        wait_s: Option<u64>,
    },
    /// Waits for the request with this handle, for up to the same time.
    AskResult {
        handle: String,
        wait_s: Option<u64>,
    },
    /// A question to the graph, and the maximum number of lines in the answer.
    #[serde(skip)]
    Graph(Question, usize),
}

pub fn hits(limit: Option<usize>) -> usize {
    limit.unwrap_or(HITS_DEFAULT).clamp(1, LIMIT_MAX)
}

pub fn tokens(tokens: Option<u32>) -> u32 {
    tokens.unwrap_or(TOKENS_DEFAULT).clamp(1, TOKENS_MAX)
}

pub fn wait(seconds: Option<u64>) -> u64 {
    seconds.unwrap_or(WAIT_MAX_S).min(WAIT_MAX_S)
}

pub fn all() -> Vec<Tool> {
    let search = json!({
        "query": text("A question in plain words, or names"),
        "limit": number("Maximum number of hits", HITS_DEFAULT, LIMIT_MAX),
    });
    let context = json!({
        "question": text("A question in plain words, or names"),
        "tokens": number("Maximum tokens of code", TOKENS_DEFAULT as usize, TOKENS_MAX as usize),
    });
    let wait = json!({ "type": "integer", "minimum": 0, "maximum": WAIT_MAX_S, "default": WAIT_MAX_S,
        "description": "Seconds to wait for the end; then the answer is a handle for ask_result" });
    let ask = json!({
        "request": text("What to do, in plain words"),
        "mode": { "type": "string", "enum": ["agent", "chat"], "default": "agent",
            "description": "agent: plan, act, answer; chat: look things up and answer, change nothing" },
        "wait_s": wait,
    });
    let handle = json!({ "handle": text("The handle that `ask` has given"), "wait_s": wait });
    let mut tools = vec![
        reading("search", "Find the code of the project that answers a question or defines a name", search, &["query"]),
        reading(
            "context",
            "The code that answers a question, within a token budget: bodies of the best hits, else signatures or names",
            context,
            &["question"],
        ),
        reading("index_status", "What the index covers, and which files have changed since", json!({}), &[]),
    ];
    tools.extend(KINDS.map(graph_tool));
    let about = "Hand a whole request to the agent: it plans, runs tools, asks for consent before it changes something, and answers. \
        If that takes long, the answer is a handle for ask_result";
    let asking = ToolAnnotations::new().read_only(false).destructive(true).open_world(false);
    tools.push(tool("ask", about, ask, &["request"]).with_annotations(asking));
    tools.push(reading("ask_result", "Wait for a request that `ask` gave a handle for", handle, &["handle"]));
    tools
}

fn graph_tool((kind, name, about): (Kind, &'static str, &'static str)) -> Tool {
    let symbol = text("A name, Container.name, path::name, path:line, or the path of a file");
    let limit = number("Most lines", LINES_DEFAULT, LIMIT_MAX);
    let depth =
        json!({ "type": "integer", "minimum": 1, "maximum": 20, "description": "Maximum number of steps to follow" });
    let name = format!("{GRAPH}{name}");
    match kind {
        Kind::Path => {
            let properties = json!({ "from": symbol, "to": symbol, "depth": depth, "limit": limit });
            reading(name, about, properties, &["from", "to"])
        }
        Kind::Callers | Kind::Callees | Kind::Impact => {
            reading(name, about, json!({ "symbol": symbol, "depth": depth, "limit": limit }), &["symbol"])
        }
        _ => reading(name, about, json!({ "symbol": symbol, "limit": limit }), &["symbol"]),
    }
}

fn text(about: &str) -> Value {
    json!({ "type": "string", "description": about })
}

fn number(about: &str, default: usize, most: usize) -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": most, "default": default, "description": about })
}

fn reading(name: impl Into<Cow<'static, str>>, about: &'static str, properties: Value, required: &[&str]) -> Tool {
    let hints = ToolAnnotations::new().read_only(true).idempotent(true).open_world(false);
    tool(name, about, properties, required).with_annotations(hints)
}

fn tool(name: impl Into<Cow<'static, str>>, about: &'static str, properties: Value, required: &[&str]) -> Tool {
    let schema =
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    Tool::new(name, about, schema.as_object().cloned().unwrap_or_default())
}

/// The arguments of a question to the graph; a path leads `from` one symbol `to` another.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Symbol {
    #[serde(alias = "from")]
    symbol: String,
    to: Option<String>,
    depth: Option<u8>,
    limit: Option<usize>,
}

/// Parses a call to the tool `name`; the error explains what is wrong with the arguments.
pub fn read(name: &str, arguments: Value) -> Result<Call, String> {
    if let Some(what) = name.strip_prefix(GRAPH).and_then(graph::kind) {
        let Symbol { symbol, to, depth, limit } = serde_json::from_value(arguments).map_err(|why| why.to_string())?;
        if to.is_some() != (what == Kind::Path) {
            return Err("`to` is where a path ends: graph_path needs it, and no other tool takes it".to_owned());
        }
        let question = Question { what, symbol, to: to.unwrap_or_default(), depth };
        return Ok(Call::Graph(question, limit.unwrap_or(LINES_DEFAULT).clamp(1, LIMIT_MAX)));
    }
    let call = Value::Object(Map::from_iter([(name.to_owned(), arguments)]));
    let call: Call = serde_json::from_value(call).map_err(|why| why.to_string())?;
    if let Call::Ask { request, .. } = &call {
        check(request).map_err(|why| why.to_string())?;
    }
    Ok(call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_with_its_defaults_and_bounds() {
        let call = read("search", json!({ "query": "q", "limit": 9_999 }));
        assert_eq!(call, Ok(Call::Search { query: "q".to_owned(), limit: Some(9_999) }));
        assert_eq!([hits(Some(9_999)), hits(Some(0)), hits(None)], [LIMIT_MAX, 1, HITS_DEFAULT]);
        let call = read("graph_path", json!({ "from": "a", "to": "b" }));
        let path = Question { what: Kind::Path, symbol: "a".to_owned(), to: "b".to_owned(), depth: None };
        assert_eq!(call, Ok(Call::Graph(path, LINES_DEFAULT)));
    }

    #[test]
    fn a_wrong_call_says_what_is_wrong() {
        let check = |name: &str, arguments: Value, part: &str| {
            let why = read(name, arguments).expect_err("it is wrong");
            assert!(why.contains(part), "{name}: {why}");
        };
        check("search", json!({}), "missing field `query`");
        check("index_status", json!({ "all": true }), "unknown field `all`");
        check("graph_path", json!({ "from": "a" }), "graph_path needs it");
        check("ask", json!({ "request": " " }), "the request is empty");
        check("ask", json!({ "request": "x", "mode": "yolo" }), "yolo");
    }
}
