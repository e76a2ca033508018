//! Reads a rule over tools, arguments and paths from a configuration file; `tools::policy` applies it.

use serde_json::{Map, Value as Json};
use toml::Spanned;
use toml::de::DeValue;

use super::file::{ConfigError, Place, Source, Value, shown};

/// ```toml
/// [[rules]]
/// tool = "run_command"                          # or a list; `*` and `?` are wildcards
/// arguments = { command = ["cargo test", "cargo check"] }
/// paths = ["src/**"]                            # of every argument that names a file
/// decision = "allow"                            # allow, ask or deny; the strictest rule that matches decides
/// reason = "tests change nothing"
/// network = true                                # of a command: it may use the network
/// matches = [{ command = "cargo test --lib" }]  # checked when the file is read
/// not = [{ command = "cargo publish" }]
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule {
    pub place: Place,
    pub tools: Vec<String>,
    /// Names of arguments, each with the patterns of which its value has to match one.
    pub arguments: Vec<(String, Vec<String>)>,
    pub paths: Vec<String>,
    pub decision: Consent,
    pub reason: String,
    /// A matching command may use the network.
    pub network: bool,
    /// Example calls that the rule must match.
    pub matches: Vec<Example>,
    /// Example calls that the rule must not match.
    pub not: Vec<Example>,
}

/// What a rule decides, ordered by strictness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Consent {
    Allow,
    #[default]
    Ask,
    Deny,
}

/// An example call: its arguments, and `tool` if the rule itself names several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Example {
    pub line: usize,
    pub tool: Option<String>,
    pub arguments: Map<String, Json>,
}

const KEYS: [&str; 8] = ["tool", "arguments", "paths", "decision", "reason", "network", "matches", "not"];
/// Limits on patterns, because they are matched at every call.
const PATTERNS_MAX: usize = 256;
const PATTERN_MAX_BYTES: usize = 1_024;

pub(super) fn read(source: &Source<'_>, value: &Value<'_>) -> Result<Rule, ConfigError> {
    let mut rule = Rule { place: source.place(value.span()), ..Rule::default() };
    let mut decision = None;
    for (name, value) in source.table("rules", value)? {
        match name.get_ref().as_ref() {
            "tool" => rule.tools = patterns(source, "tool", value)?,
            "paths" => rule.paths = patterns(source, "paths", value)?,
            "reason" => rule.reason = source.text("reason", value)?,
            "network" => rule.network = source.switch("network", value)?,
            "arguments" => {
                for (name, value) in source.table("arguments", value)? {
                    rule.arguments.push((name.get_ref().to_string(), patterns(source, name.get_ref(), value)?));
                }
            }
            "decision" => {
                decision = Some(match value.get_ref().as_str() {
                    Some("allow") => Consent::Allow,
                    Some("ask") => Consent::Ask,
                    Some("deny") => Consent::Deny,
                    _ => {
                        let is = shown(value.get_ref());
                        return Err(source
                            .wrong(value.span(), format!("`decision` is {is}; it must be one of allow, ask, deny")));
                    }
                });
            }
            "matches" => rule.matches = examples(source, "matches", value)?,
            "not" => rule.not = examples(source, "not", value)?,
            _ => return Err(source.unknown(name, "a rule", KEYS)),
        }
    }
    let lacks = |why: &str| source.wrong(value.span(), format!("this rule {why}"));
    rule.decision = decision.ok_or_else(|| lacks("has no `decision`; it must be one of allow, ask, deny"))?;
    if rule.tools.is_empty() {
        return Err(lacks("has no `tool`; name one, or write tool = \"*\""));
    }
    if rule.matches.is_empty() {
        return Err(lacks("has no example; write a call that it is for: matches = [{ path = \"src/main.rs\" }], say"));
    }
    Ok(rule)
}

fn patterns(source: &Source<'_>, key: &str, value: &Value<'_>) -> Result<Vec<String>, ConfigError> {
    let all = source.texts(key, value)?;
    let usable = |text: &String| !text.is_empty() && text.len() <= PATTERN_MAX_BYTES;
    if all.len() <= PATTERNS_MAX && !all.is_empty() && all.iter().all(usable) {
        return Ok(all);
    }
    let why = format!("`{key}` takes 1 to {PATTERNS_MAX} patterns of 1 to {PATTERN_MAX_BYTES} bytes");
    Err(source.wrong(value.span(), why))
}

fn examples(source: &Source<'_>, key: &str, value: &Value<'_>) -> Result<Vec<Example>, ConfigError> {
    let Some(all) = value.get_ref().as_array() else {
        return Err(
            source.wrong(value.span(), format!("`{key}` is a list of calls: [{{ path = \"src/main.rs\" }}], say"))
        );
    };
    all.iter()
        .map(|one| {
            let mut example = Example { line: source.place(one.span()).line, ..Example::default() };
            for (name, value) in source.table(key, one)? {
                match (name.get_ref().as_ref(), json(value)) {
                    ("tool", _) => example.tool = Some(source.text("tool", value)?),
                    (name, Some(json)) => drop(example.arguments.insert(name.to_owned(), json)),
                    (name, None) => {
                        return Err(source.wrong(value.span(), format!("`{name}` is no value that a call could have")));
                    }
                }
            }
            Ok(example)
        })
        .collect()
}

/// The value as JSON; `None` for dates.
fn json(value: &Spanned<DeValue<'_>>) -> Option<Json> {
    Some(match value.get_ref() {
        DeValue::String(text) => Json::from(text.as_ref()),
        DeValue::Integer(number) => Json::from(i64::from_str_radix(number.as_str(), number.radix()).ok()?),
        DeValue::Float(number) => Json::from(number.as_str().parse::<f64>().ok()?),
        DeValue::Boolean(flag) => Json::from(*flag),
        DeValue::Datetime(_) => return None,
        DeValue::Array(all) => Json::Array(all.iter().map(json).collect::<Option<_>>()?),
        DeValue::Table(all) => {
            let fields = all.iter().map(|(name, value)| Some((name.get_ref().to_string(), json(value)?)));
            Json::Object(fields.collect::<Option<_>>()?)
        }
    })
}
