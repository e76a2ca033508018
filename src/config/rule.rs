//! Reads a rule about tools, arguments and paths from a configuration file; `tools::policy` applies it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value as Json};
use toml::Spanned;

use super::file::{ConfigError, Place, Source, Texts, Value};

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
    /// Argument names, each with patterns of which at least one must match its value.
    pub arguments: Vec<(String, Vec<String>)>,
    pub paths: Vec<String>,
    pub decision: Consent,
    pub reason: String,
    /// Whether a matching command may use the network.
    pub network: bool,
    /// Example calls that the rule must match.
    pub matches: Vec<Example>,
    /// Example calls that the rule must not match.
    pub not: Vec<Example>,
}

/// A rule's decision, ordered by strictness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Consent {
    Allow,
    #[default]
    Ask,
    Deny,
}

/// An example call: its arguments, and `tool` if the rule names several tools.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Example {
    pub line: usize,
    pub tool: Option<String>,
    pub arguments: Map<String, Json>,
}

/// Limits for patterns, which are matched on every call.
const PATTERNS_MAX: usize = 256;
const PATTERN_MAX_BYTES: usize = 1_024;

/// A rule as written in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    tool: Texts,
    #[serde(default)]
    arguments: BTreeMap<String, Texts>,
    paths: Option<Texts>,
    decision: Consent,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    network: bool,
    #[serde(default)]
    matches: Vec<Spanned<Call>>,
    #[serde(default)]
    not: Vec<Spanned<Call>>,
}

/// An example call as written in the file.
#[derive(Deserialize)]
struct Call {
    tool: Option<String>,
    #[serde(flatten)]
    arguments: Map<String, Json>,
}

pub(super) fn read(source: &Source<'_>, value: &Value<'_>) -> Result<Rule, ConfigError> {
    let table: Table = source.typed(value)?;
    let wrong = |why: String| source.wrong(value.span(), why);
    if table.matches.is_empty() {
        let way = "add a call that it matches, such as matches = [{ path = \"src/main.rs\" }]";
        return Err(wrong(format!("this rule has no example; {way}")));
    }
    let patterns = |key: &str, texts: Texts| {
        let all = Vec::from(texts);
        let is_usable = |text: &String| !text.is_empty() && text.len() <= PATTERN_MAX_BYTES;
        if all.len() <= PATTERNS_MAX && !all.is_empty() && all.iter().all(is_usable) {
            return Ok(all);
        }
        Err(wrong(format!("`{key}` takes 1 to {PATTERNS_MAX} patterns of 1 to {PATTERN_MAX_BYTES} bytes")))
    };
    let argument = |(name, texts): (String, Texts)| patterns(&name, texts).map(|patterns| (name.clone(), patterns));
    let example = |one: Spanned<Call>| {
        let line = source.place(one.span()).line;
        let Call { tool, arguments } = one.into_inner();
        Example { line, tool, arguments }
    };
    Ok(Rule {
        place: source.place(value.span()),
        tools: patterns("tool", table.tool)?,
        arguments: table.arguments.into_iter().map(argument).collect::<Result<_, _>>()?,
        paths: table.paths.map(|paths| patterns("paths", paths)).transpose()?.unwrap_or_default(),
        decision: table.decision,
        reason: table.reason,
        network: table.network,
        matches: table.matches.into_iter().map(example).collect(),
        not: table.not.into_iter().map(example).collect(),
    })
}
