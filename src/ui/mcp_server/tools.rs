//! The tools that are offered, and the reading of a call to one of them.

use rmcp::model::{Tool, ToolAnnotations};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::protocol::{Ask, Mode};
use crate::ui::cli::ask::checked;

/// Most hits, lines and tokens that a call may ask for: they end in the context of a model.
const LIMIT_MAX: usize = 200;
const TOKENS_MAX: u32 = 100_000;
const TOKENS_DEFAULT: u32 = 4_000;
const HITS_DEFAULT: usize = 10;
const LINES_DEFAULT: usize = 100;
/// A call is answered within this time, because some clients end one after 60 s.
const WAIT_MAX_S: u64 = 45;

/// A call that can be carried out.
#[derive(Debug, PartialEq)]
pub enum Call {
    LookUp(LookUp),
    /// A request, and the seconds until its handle is the answer.
    Ask(Ask, u64),
    /// Wait for the request with this handle, as long.
    Result(String, u64),
}

/// A question to the index.
#[derive(Debug, PartialEq)]
pub enum LookUp {
    Search { query: String, limit: usize },
    Context { question: String, tokens: u32 },
    Graph { what: Graph, symbol: String, to: String, depth: Option<u8>, limit: usize },
    Status,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Graph {
    Definition,
    Callers,
    Callees,
    Imports,
    Dependents,
    Impact,
    Path,
}

/// Why a call cannot be carried out.
#[derive(Debug, PartialEq)]
pub enum Wrong {
    Tool,
    Arguments(String),
}

/// Name and description of the graph's tools.
const GRAPH: [(Graph, &str, &str); 7] = [
    (
        Graph::Definition,
        "graph_definition",
        "Where a symbol is defined: path, lines and kind of each definition of that name",
    ),
    (Graph::Callers, "graph_callers", "Who calls a function or method, with the line and confidence of each call"),
    (Graph::Callees, "graph_callees", "What a function or method calls"),
    (Graph::Imports, "graph_imports", "What a file, or the file of a symbol, imports"),
    (Graph::Dependents, "graph_dependents", "Which files import a file or a symbol"),
    (
        Graph::Impact,
        "graph_impact",
        "What a change of a symbol may break: all that calls, uses, extends or imports it, directly or not",
    ),
    (Graph::Path, "graph_path", "The shortest path of calls, uses and imports from one symbol to another"),
];

/// Every tool with its schema.
pub fn all() -> Vec<Tool> {
    let search = json!({
        "query": text("A question in plain words, or names"),
        "limit": number("Most hits", HITS_DEFAULT, LIMIT_MAX),
    });
    let context = json!({
        "question": text("A question in plain words, or names"),
        "tokens": number("Most tokens of code", TOKENS_DEFAULT as usize, TOKENS_MAX as usize),
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
    tools.extend(GRAPH.iter().map(graph_tool));
    let about = "Hand a whole request to the agent: it plans, runs tools, asks for consent before it changes something, and answers. \
        If that takes long, the answer is a handle for ask_result";
    let asking = ToolAnnotations::new().read_only(false).destructive(true).open_world(false);
    tools.push(tool("ask", about, ask, &["request"]).with_annotations(asking));
    tools.push(reading("ask_result", "Wait for a request that `ask` gave a handle for", handle, &["handle"]));
    tools
}

fn graph_tool((what, name, about): &(Graph, &'static str, &'static str)) -> Tool {
    let symbol = text("A name, Container.name, path::name, path:line, or the path of a file");
    let limit = number("Most lines", LINES_DEFAULT, LIMIT_MAX);
    let depth = json!({ "type": "integer", "minimum": 1, "maximum": 20, "description": "Most steps to follow" });
    match what {
        Graph::Path => {
            let properties = json!({ "from": symbol, "to": symbol, "depth": depth, "limit": limit });
            reading(name, about, properties, &["from", "to"])
        }
        Graph::Callers | Graph::Callees | Graph::Impact => {
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

fn reading(name: &'static str, about: &'static str, properties: Value, required: &[&str]) -> Tool {
    let hints = ToolAnnotations::new().read_only(true).idempotent(true).open_world(false);
    tool(name, about, properties, required).with_annotations(hints)
}

fn tool(name: &'static str, about: &'static str, properties: Value, required: &[&str]) -> Tool {
    let schema =
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    Tool::new(name, about, schema.as_object().cloned().unwrap_or_default())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    query: String,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Context {
    question: String,
    tokens: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Symbol {
    symbol: String,
    depth: Option<u8>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Path {
    from: String,
    to: String,
    depth: Option<u8>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    request: String,
    #[serde(default)]
    mode: Mode,
    wait_s: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Handle {
    handle: String,
    wait_s: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Reads the call of `name`.
pub fn read(name: &str, arguments: Value) -> Result<Call, Wrong> {
    fn of<T: DeserializeOwned>(arguments: Value) -> Result<T, Wrong> {
        serde_json::from_value(arguments).map_err(|why| Wrong::Arguments(why.to_string()))
    }
    let wait = |seconds: Option<u64>| seconds.unwrap_or(WAIT_MAX_S).min(WAIT_MAX_S);
    let lines = |limit: Option<usize>| limit.unwrap_or(LINES_DEFAULT).clamp(1, LIMIT_MAX);
    if let Some((what, ..)) = GRAPH.iter().find(|(_, tool, _)| *tool == name) {
        let (symbol, to, depth, limit) = match what {
            Graph::Path => of::<Path>(arguments).map(|it| (it.from, it.to, it.depth, it.limit))?,
            _ => of::<Symbol>(arguments).map(|it| (it.symbol, String::new(), it.depth, it.limit))?,
        };
        return Ok(Call::LookUp(LookUp::Graph { what: *what, symbol, to, depth, limit: lines(limit) }));
    }
    Ok(match name {
        "search" => {
            let Search { query, limit } = of(arguments)?;
            Call::LookUp(LookUp::Search { query, limit: limit.unwrap_or(HITS_DEFAULT).clamp(1, LIMIT_MAX) })
        }
        "context" => {
            let Context { question, tokens } = of(arguments)?;
            Call::LookUp(LookUp::Context { question, tokens: tokens.unwrap_or(TOKENS_DEFAULT).clamp(1, TOKENS_MAX) })
        }
        "index_status" => of::<Nothing>(arguments).map(|Nothing {}| Call::LookUp(LookUp::Status))?,
        "ask" => {
            let Request { request, mode, wait_s } = of(arguments)?;
            let text = checked(request).map_err(|why| Wrong::Arguments(why.to_string()))?;
            Call::Ask(Ask { text, mode, given: Vec::new() }, wait(wait_s))
        }
        "ask_result" => {
            let Handle { handle, wait_s } = of(arguments)?;
            Call::Result(handle, wait(wait_s))
        }
        _ => return Err(Wrong::Tool),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_with_its_defaults_and_bounds() {
        let call = read("search", json!({ "query": "q", "limit": 9_999 }));
        assert_eq!(call, Ok(Call::LookUp(LookUp::Search { query: "q".to_owned(), limit: LIMIT_MAX })));
        let call = read("graph_path", json!({ "from": "a", "to": "b" }));
        let (what, depth, limit) = (Graph::Path, None, LINES_DEFAULT);
        let expected = LookUp::Graph { what, symbol: "a".to_owned(), to: "b".to_owned(), depth, limit };
        assert_eq!(call, Ok(Call::LookUp(expected)));
    }

    #[test]
    fn a_wrong_call_says_what_is_wrong() {
        let why = |name: &str, arguments: Value| match read(name, arguments) {
            Err(Wrong::Arguments(why)) => why,
            other => panic!("{other:?}"),
        };
        assert!(why("search", json!({})).contains("missing field `query`"));
        assert!(why("index_status", json!({ "all": true })).contains("unknown field `all`"));
        assert!(why("ask", json!({ "request": " " })).contains("the request is empty"));
        assert!(why("ask", json!({ "request": "x", "mode": "yolo" })).contains("yolo"));
        assert_eq!(read("rm", json!({})), Err(Wrong::Tool));
    }

    #[test]
    fn every_tool_that_only_reads_says_so() {
        for tool in all() {
            let reads = tool.annotations.as_ref().and_then(|hints| hints.read_only_hint);
            assert_eq!(reads, Some(tool.name != "ask"), "{}", tool.name);
        }
    }
}
