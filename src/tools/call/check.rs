//! Checks a parsed call against the tools: repairs unambiguous deviations and refuses everything
//! else.

use std::fmt;

use serde_json::{Map, Value};

use crate::base::near::distance;
use crate::index::words;
use crate::models::dialect::RawCall;
use crate::tools::call::ToolCall;
use crate::tools::call::fit;
use crate::tools::outcome::cut_line;
use crate::tools::spec::{ToolSpec, without_server};

/// A call that fits its tool's schema, with the changes that made it fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    pub call: ToolCall,
    pub repairs: Vec<Repair>,
}

/// One repair. It loses no information except arguments that the tool does not have.
#[derive(Clone, Debug, PartialEq)]
pub enum Repair {
    Tool { from: String, to: String },
    Argument { from: String, to: String },
    Value { argument: String, from: Value, to: Value },
    Dropped { argument: String },
    Default { argument: String, value: Value },
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Repair::Tool { from, to } => write!(f, "tool `{from}` read as `{to}`"),
            Repair::Argument { from, to } => write!(f, "argument `{from}` read as `{to}`"),
            Repair::Value { argument, from, to } => write!(f, "`{argument}`: {from} read as {to}"),
            Repair::Dropped { argument } => write!(f, "argument `{argument}` left out: the tool has no such argument"),
            Repair::Default { argument, value } => write!(f, "`{argument}` left open, so {value}"),
        }
    }
}

/// The reason why a call cannot be used, worded so that a model can correct the call.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallProblem {
    #[error("there is no tool `{name}`{}", nearest.as_ref().map_or(String::new(), |n| format!("; the nearest is `{n}`")))]
    UnknownTool { name: String, nearest: Option<String> },
    #[error("`{tool}` needs the argument `{argument}` ({description})")]
    Missing { tool: String, argument: String, description: String },
    #[error("`{argument}` of `{tool}` is {got}, expected {expected}")]
    WrongValue { tool: String, argument: String, expected: String, got: String },
}

/// Repairs or refuses `call`; every repair is reported.
pub fn check(call: &RawCall, specs: &[ToolSpec]) -> Result<Checked, CallProblem> {
    let mut repairs = Vec::new();
    let spec = find_tool(&call.name, specs)?;
    if spec.name != call.name {
        repairs.push(Repair::Tool { from: call.name.clone(), to: spec.name.clone() });
    }
    let parameters = spec.parameters();
    let given = named(&call.arguments, spec, &mut repairs);
    let mut arguments = Map::new();
    for parameter in &parameters {
        let value = given.get(parameter.name).filter(|value| !value.is_null() || fit::allows_null(parameter.schema));
        match value {
            Some(value) => {
                let fitted = fit::fit(value, parameter.schema).map_err(|expected| {
                    let (tool, argument) = (spec.name.clone(), parameter.name.to_owned());
                    CallProblem::WrongValue { tool, argument, expected, got: cut_line(&value.to_string(), 80) }
                })?;
                if fitted != *value {
                    let argument = parameter.name.to_owned();
                    repairs.push(Repair::Value { argument, from: value.clone(), to: fitted.clone() });
                }
                arguments.insert(parameter.name.to_owned(), fitted);
            }
            None if parameter.required => {
                let (argument, description) = (parameter.name.to_owned(), cut_line(parameter.description(), 120));
                let Some(value) = parameter.default().cloned() else {
                    return Err(CallProblem::Missing { tool: spec.name.clone(), argument, description });
                };
                repairs.push(Repair::Default { argument: argument.clone(), value: value.clone() });
                arguments.insert(argument, value);
            }
            None => {}
        }
    }
    let others = given.iter().filter(|(name, _)| !parameters.iter().any(|parameter| parameter.name == name.as_str()));
    arguments.extend(others.map(|(name, value)| (name.clone(), value.clone())));
    Ok(Checked { call: ToolCall { tool: spec.name.clone(), arguments }, repairs })
}

/// The tool of that name, else the single one whose name differs only in case, separators or the
/// server before it.
fn find_tool<'a>(name: &str, specs: &'a [ToolSpec]) -> Result<&'a ToolSpec, CallProblem> {
    if let Some(spec) = specs.iter().find(|spec| spec.name == name) {
        return Ok(spec);
    }
    for same in [
        |a: &str, b: &str| plain(a) == plain(b),
        |a: &str, b: &str| {
            let (own_a, own_b) = (without_server(a), without_server(b));
            plain(own_a) == plain(own_b) && (own_a == a || own_b == b)
        },
    ] {
        let mut found = specs.iter().filter(|spec| same(&spec.name, name));
        if let (Some(spec), None) = (found.next(), found.next()) {
            return Ok(spec);
        }
    }
    let nearest = specs.iter().map(|spec| (distance(&plain(name), &plain(&spec.name)), spec)).min_by_key(|(d, _)| *d);
    let near = nearest.filter(|(d, spec)| *d <= (spec.name.len() / 3).max(2)).map(|(_, spec)| spec.name.clone());
    Err(CallProblem::UnknownTool { name: cut_line(name, 100), nearest: near })
}

/// The letters and digits of a name in lower case, so that `Read-File`, `readFile` and `read_file`
/// become equal.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(128).collect()
}

/// Groups of argument names with the same meaning.
const SAME: [&[&str]; 9] = [
    &["path", "file", "filename", "file_name", "filepath", "file_path", "dir", "directory", "folder", "dir_path"],
    &["content", "contents", "text", "body", "data"],
    &["pattern", "query", "search", "q", "term", "keyword", "regex_pattern", "glob"],
    &["old", "old_text", "old_string", "old_str", "search_text", "find", "before", "original"],
    &["new", "new_text", "new_string", "new_str", "replacement", "replace", "after", "updated"],
    &["command", "cmd", "command_line", "shell", "script"],
    &["timeout_s", "timeout", "timeout_seconds", "seconds"],
    &["start_line", "start", "from_line", "line_start", "first_line"],
    &["end_line", "end", "to_line", "line_end", "last_line"],
];

/// Renames the arguments to the names of the schema. An unknown name is renamed if exactly one
/// unused parameter matches it, else dropped, unless the schema allows unlisted names.
fn named(given: &Map<String, Value>, spec: &ToolSpec, repairs: &mut Vec<Repair>) -> Map<String, Value> {
    let (parameters, takes_others) = (spec.parameters(), spec.takes_others());
    let known = |name: &str| parameters.iter().any(|parameter| parameter.name == name);
    let mut arguments: Map<String, Value> =
        given.iter().filter(|(name, _)| known(name)).map(|(name, value)| (name.clone(), value.clone())).collect();
    for (name, value) in given.iter().filter(|(name, _)| !known(name)) {
        let free: Vec<&str> =
            parameters.iter().map(|p| p.name).filter(|parameter| !arguments.contains_key(*parameter)).collect();
        match matching_parameter(name, &free) {
            Some(to) => {
                repairs.push(Repair::Argument { from: cut_line(name, 100), to: to.to_owned() });
                arguments.insert(to.to_owned(), value.clone());
            }
            None if takes_others => drop(arguments.insert(name.clone(), value.clone())),
            None => repairs.push(Repair::Dropped { argument: cut_line(name, 100) }),
        }
    }
    arguments
}

/// The only parameter in `free` that an unknown argument name can mean. The first test that any
/// parameter passes decides.
fn matching_parameter<'a>(name: &str, free: &[&'a str]) -> Option<&'a str> {
    let snake = words::parts(name).join("_");
    let group_of = |name: &str| SAME.iter().position(|group| group.contains(&name));
    let tests: [&dyn Fn(&str) -> bool; 3] = [
        &|parameter| plain(parameter) == plain(name),
        &|parameter| {
            let group = group_of(&snake).or_else(|| group_of(&name.to_lowercase()));
            group.is_some() && group == group_of(&words::parts(parameter).join("_"))
        },
        // A typing error such as `contnet` or `patern`.
        &|parameter| {
            parameter.len() >= 4 && distance(&plain(parameter), &plain(name)) <= 1 + usize::from(parameter.len() > 6)
        },
    ];
    for test in tests {
        let mut fitting = free.iter().filter(|parameter| test(parameter));
        match (fitting.next(), fitting.next()) {
            (Some(one), None) => return Some(one),
            (Some(_), Some(_)) => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn specs() -> Vec<ToolSpec> {
        let outside = |name: &str, parameters: Value| {
            let name = name.to_owned();
            ToolSpec { name, parameters, ..ToolSpec::default() }
        };
        let lamp = json!({ "properties": {
            "color": { "type": "string", "enum": ["red", "Warm White"] },
            "rooms": { "type": "array", "items": { "type": "string" } },
            "level": { "type": "number", "minimum": 0, "maximum": 1 },
            "fade": { "type": "boolean", "default": false },
            "hours": { "type": "array", "items": { "type": "integer" } },
            "spot": { "type": "object", "properties": { "x": { "type": "number" } } }
        }, "required": ["color", "fade"] });
        let either = json!({ "anyOf": [{ "properties": { "room": {} } }, { "properties": { "floor": {} } }] });
        let more = [
            outside("lamp.setColor", lamp),
            outside("heater.stop", json!({})),
            outside("lamp.stop", json!({})),
            outside("blinds.move", either),
        ];
        [crate::tools::Catalog::builtin().specs(), &more[..]].concat()
    }

    /// Checks a call. `expected` is the resulting call and the number of repairs, or a part of the
    /// error.
    fn check(name: &str, arguments: Value, expected: &str) {
        let raw = RawCall { name: name.to_owned(), arguments: arguments.as_object().unwrap().clone() };
        let got = match super::check(&raw, &specs()) {
            Ok(Checked { call, repairs }) => {
                format!("{} {} {}", call.tool, Value::Object(call.arguments), repairs.len())
            }
            Err(problem) => problem.to_string(),
        };
        assert!(got.contains(expected), "{got}, expected {expected}");
    }

    #[test]
    fn names_are_repaired_when_only_one_tool_can_be_meant() {
        check("list_dir", json!({ "path": null }), "list_dir {} 0");
        check("ReadFile", json!({ "path": "a" }), r#"read_file {"path":"a"} 1"#);
        check("files.list_dir", json!({}), "list_dir {} 1");
        check("heater_stop", json!({}), "heater.stop {} 1");
        check("stop", json!({}), "there is no tool `stop`");
        check("read_fil", json!({}), "there is no tool `read_fil`; the nearest is `read_file`");
        check("desk.read.it", json!({}), "there is no tool `desk.read.it`");
        check("oven.setColor", json!({ "color": "red" }), "the nearest is `lamp.setColor`");
    }

    #[test]
    fn arguments_are_renamed_dropped_or_missed() {
        check("read_file", json!({ "filename": "a" }), r#"read_file {"path":"a"} 1"#);
        check("read_file", json!({ "Path": "a" }), r#"read_file {"path":"a"} 1"#);
        check("read_file", json!({ "pathh": "a" }), r#"read_file {"path":"a"} 1"#);
        let given = json!({ "file": "a", "old_str": "b", "newString": "c" });
        check("replace_in_file", given, r#"replace_in_file {"path":"a","old":"b","new":"c"} 3"#);
        check("read_file", json!({ "path": "a", "why": 1 }), r#"read_file {"path":"a"} 1"#);
        check("read_file", json!({}), "`read_file` needs the argument `path` (File, relative to the project)");
        check("read_file", json!({ "path": null }), "`read_file` needs the argument `path`");
    }

    #[test]
    fn values_are_repaired_without_loss_or_refused() {
        let lines = |end: Value| json!({ "path": "a", "end_line": end });
        check("read_file", lines(json!(3)), r#"read_file {"path":"a","end_line":3} 0"#);
        check("read_file", lines(json!("3")), r#"read_file {"path":"a","end_line":3} 1"#);
        check("read_file", lines(json!(3.5)), "`end_line` of `read_file` is 3.5, expected integer");
        check("read_file", lines(json!(0)), "`end_line` of `read_file` is 0, expected integer of at least 1");
        check("read_file", json!({ "path": ["a", "b"] }), r#"`path` of `read_file` is ["a","b"], expected string"#);
        check("list_dir", json!({ "recursive": "True" }), r#"list_dir {"recursive":true} 1"#);
        let lamp = |arguments: Value, expected: &str| check("lamp.setColor", arguments, expected);
        let fitted = r#"lamp.setColor {"color":"Warm White","rooms":["hall"],"fade":true} 2"#;
        lamp(json!({ "color": "warm white", "rooms": "hall", "fade": true }), fitted);
        lamp(json!({ "color": "red" }), r#"lamp.setColor {"color":"red","fade":false} 1"#);
        lamp(
            json!({ "color": "blue" }),
            r#"`color` of `lamp.setColor` is "blue", expected one of "red", "Warm White""#,
        );
        let inner = json!({ "color": "red", "fade": true, "hours": ["1", 2], "spot": { "x": "0.5", "y": "1" } });
        lamp(inner, r#"lamp.setColor {"color":"red","fade":true,"hours":[1,2],"spot":{"x":0.5,"y":"1"}} 2"#);
        lamp(
            json!({ "color": "red", "hours": [1, "x"] }),
            r#"`hours` of `lamp.setColor` is [1,"x"], expected array of integer"#,
        );
        lamp(
            json!({ "color": "red", "spot": { "x": "up" } }),
            r#"`spot` of `lamp.setColor` is {"x":"up"}, expected object with `x`: number"#,
        );
        lamp(json!({ "color": "red", "level": 2 }), "`level` of `lamp.setColor` is 2, expected number of at most 1");
    }

    #[test]
    fn arguments_that_a_schema_does_not_list_but_takes_are_kept() {
        check("blinds.move", json!({ "floor": 2 }), r#"blinds.move {"floor":2} 0"#);
    }

    #[test]
    fn every_repair_is_told_in_words() {
        let told = |name: &str, arguments: Value| -> Vec<String> {
            let raw = RawCall { name: name.to_owned(), arguments: arguments.as_object().unwrap().clone() };
            super::check(&raw, &specs()).unwrap().repairs.iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            told("ReadFile", json!({ "filename": "a", "why": 1, "end_line": "3" })),
            [
                "tool `ReadFile` read as `read_file`",
                "argument `filename` read as `path`",
                "argument `why` left out: the tool has no such argument",
                "`end_line`: \"3\" read as 3",
            ]
        );
        assert_eq!(told("lamp.setColor", json!({ "color": "red" })), ["`fade` left open, so false"]);
    }
}
