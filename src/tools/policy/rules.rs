//! Compiles the user's rules. A rule must pass its own examples before it takes effect.

use std::path::Path;

use serde_json::Value;

use crate::base::Hidden;
use crate::config::{Consent, Place, Rule};
use crate::tools::builtin::Builtin;
use crate::tools::call::ToolCall;
use crate::tools::policy::pattern::{Pattern, Sense};
use crate::tools::policy::places::{self, Named};
use crate::tools::shell::{self, Line};

/// Tools that reveal the contents of files.
const READING: [&str; 6] =
    ["read_file", "describe_image", "search_text", "index_read_file", "index_search", "index_search_text"];

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct RuleError {
    pub place: Place,
    pub why: String,
}

#[derive(Clone, Debug, Default)]
pub struct Rules(Vec<Compiled>);

#[derive(Clone, Debug)]
struct Compiled {
    rule: Rule,
    tools: Vec<Pattern>,
    arguments: Vec<(String, Vec<Pattern>)>,
    paths: Vec<Pattern>,
}

/// A call in the form that rules match.
struct Asked<'c> {
    call: &'c ToolCall,
    /// Used to resolve links.
    project: Option<&'c Path>,
    files: Vec<Named>,
    /// The line of `run_command`, as written and parsed.
    line: Option<(&'c str, Line)>,
}

impl<'c> Asked<'c> {
    fn of(call: &'c ToolCall, project: Option<&'c Path>) -> Asked<'c> {
        let text = || call.arguments.get("command").and_then(Value::as_str).unwrap_or_default();
        let line = (call.tool == "run_command").then(text).map(|text| (text, shell::parse(text)));
        Asked { call, project, files: places::of(call, project), line }
    }
}

impl Rules {
    /// Compiles the rules. The error names the rule, and the example that it fails.
    pub fn compile(rules: &[Rule]) -> Result<Rules, RuleError> {
        rules.iter().map(Compiled::new).collect::<Result<_, _>>().map(Rules)
    }

    /// The strictest decision of the matching rules, and its reason. `project` is used to resolve
    /// links.
    pub fn decide(&self, call: &ToolCall, project: Option<&Path>) -> Option<(Consent, String)> {
        if self.0.is_empty() {
            return None;
        }
        let asked = Asked::of(call, project);
        let matching = self.0.iter().filter(|one| one.matches(&asked));
        // If several rules are equally strict, the first one counts, so that later rules do not
        // affect the reason.
        let strictest = matching.reduce(|best, one| if one.rule.decision > best.rule.decision { one } else { best })?;
        let rule = &strictest.rule;
        let reason = if rule.reason.is_empty() { String::new() } else { format!(" ({})", rule.reason) };
        Some((rule.decision, format!("the rule at {}{reason}", rule.place)))
    }

    /// The files of the project that no tool may read: those that a rule denies to any tool that
    /// reads text.
    pub fn hidden(&self, project: &Path) -> Hidden {
        let reads = |one: &&Compiled| READING.iter().any(|tool| one.tools.iter().any(|pattern| pattern.matches(tool)));
        let denies = |one: &&Compiled| one.rule.decision == Consent::Deny && one.arguments.is_empty();
        let denying: Vec<Compiled> =
            self.0.iter().filter(|one| denies(one) && !one.paths.is_empty()).filter(reads).cloned().collect();
        if denying.is_empty() {
            return Hidden::default();
        }
        let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
        Hidden::by(move |path| denying.iter().any(|one| one.covers(path, Some(&project))))
    }

    /// Whether a rule that allows or asks grants network access to every part of a command.
    pub fn grants_network(&self, call: &ToolCall) -> bool {
        let asked = Asked::of(call, None);
        self.0.iter().any(|one| one.rule.network && one.matches_as(&asked, Sense::All))
    }
}

impl Compiled {
    fn new(rule: &Rule) -> Result<Compiled, RuleError> {
        let wrong = |why: String| RuleError { place: rule.place.clone(), why };
        let texts = |all: &[String]| all.iter().map(|one| Pattern::text(one)).collect::<Result<Vec<_>, _>>();
        let compiled = Compiled {
            tools: texts(&rule.tools).map_err(wrong)?,
            arguments: rule
                .arguments
                .iter()
                .map(|(name, all)| Ok((name.clone(), texts(all)?)))
                .collect::<Result<_, _>>()
                .map_err(wrong)?,
            paths: rule.paths.iter().map(|one| Pattern::path(one)).collect::<Result<_, _>>().map_err(wrong)?,
            rule: rule.clone(),
        };
        if rule.network && (rule.decision == Consent::Deny || rule.tools != ["run_command"]) {
            return Err(wrong("`network` is only valid in a rule for `run_command` that allows or asks".to_owned()));
        }
        let allows_commands = rule.decision == Consent::Allow && rule.tools.iter().any(|tool| tool == "run_command");
        if (allows_commands || rule.network) && !rule.paths.is_empty() {
            return Err(wrong("paths do not limit a command; use arguments = { command = \"…\" }".to_owned()));
        }
        compiled.check_examples()?;
        Ok(compiled)
    }

    fn check_examples(&self) -> Result<(), RuleError> {
        let examples = [(true, &self.rule.matches), (false, &self.rule.not)];
        for (expected, example) in examples.iter().flat_map(|(expected, all)| all.iter().map(|one| (*expected, one))) {
            let wrong = |why: String| RuleError { place: Place { line: example.line, ..self.rule.place.clone() }, why };
            let plain = |tool: &&String| !tool.contains(['*', '?', '[', '{']);
            let own = self.rule.tools.first().filter(plain).filter(|_| self.rule.tools.len() == 1);
            let Some(tool) = example.tool.as_ref().or(own) else {
                return Err(wrong("this example needs a `tool`, because its rule is for several".to_owned()));
            };
            let call = ToolCall { tool: tool.clone(), arguments: example.arguments.clone() };
            if self.matches(&Asked::of(&call, None)) != expected {
                let shown = Value::Object(call.arguments);
                let line = self.rule.place.line;
                return Err(wrong(if expected {
                    format!("the rule on line {line} does not match its example {tool} {shown}")
                } else {
                    format!("the rule on line {line} matches {tool} {shown}, which it must not")
                }));
            }
        }
        Ok(())
    }

    fn matches(&self, asked: &Asked<'_>) -> bool {
        self.matches_as(asked, if self.rule.decision == Consent::Allow { Sense::All } else { Sense::Any })
    }

    fn matches_as(&self, asked: &Asked<'_>, sense: Sense) -> bool {
        let parts = Builtin::by_name(&asked.call.tool).map_or(&[][..], Builtin::parts);
        let is_named = |tool: &Pattern| tool.matches(&asked.call.tool) || parts.iter().any(|part| tool.matches(part));
        self.tools.iter().any(is_named)
            && self.arguments.iter().all(|(name, patterns)| argument(asked, name, patterns, sense))
            && (self.paths.is_empty() || self.paths_match(asked, sense))
    }

    fn paths_match(&self, asked: &Asked<'_>, sense: Sense) -> bool {
        let within = |path: &str| self.paths.iter().any(|pattern| pattern.matches(path));
        let covered = |one: &Named| self.covers(&one.said, asked.project) || self.covers(&one.real, asked.project);
        let files = &asked.files;
        match (sense, &asked.line) {
            (Sense::All, Some(_)) => false,
            (Sense::All, None) => !files.is_empty() && files.iter().all(|one| within(&one.said) && within(&one.real)),
            (Sense::Any, None) => files.iter().any(covered),
            (Sense::Any, Some((text, line))) => {
                let touched = places::of_line(text, line);
                let mut begun = touched.begun.iter().filter(|start| !start.is_empty());
                touched.known.iter().any(|text| covered(&places::named(text, asked.project)))
                    || begun.any(|start| self.may_cover_below(start, asked.project))
            }
        }
    }

    /// Whether the rule may cover a path that begins with `start` and continues with unknown text.
    fn may_cover_below(&self, start: &str, project: Option<&Path>) -> bool {
        let whole = project.map(|project| project.join(start).to_string_lossy().into_owned());
        let starts = [Some(start), whole.as_deref()];
        self.paths.iter().any(|pattern| starts.iter().flatten().any(|start| pattern.may_cover_below(start)))
    }

    /// Whether the rule covers a path of the project or a folder above it.
    fn covers(&self, path: &str, project: Option<&Path>) -> bool {
        let whole = project.map(|project| project.join(path).to_string_lossy().into_owned());
        self.paths.iter().any(|pattern| {
            pattern.covers(path) || (pattern.is_absolute() && whole.as_deref().is_some_and(|path| pattern.covers(path)))
        })
    }
}

/// Whether one of the patterns matches the argument. For a list, every item (`All`) or at least one
/// (`Any`) must match.
fn argument(asked: &Asked<'_>, name: &str, patterns: &[Pattern], sense: Sense) -> bool {
    let Some(value) = asked.call.arguments.get(name) else { return false };
    if let ("command", Some((text, line))) = (name, &asked.line) {
        return patterns.iter().any(|pattern| pattern.matches_command(text, line, sense));
    }
    let one = |value: &Value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        patterns.iter().any(|pattern| pattern.matches(&text))
    };
    match (value, sense) {
        (Value::Array(all), Sense::All) => !all.is_empty() && all.iter().all(one),
        (Value::Array(all), Sense::Any) => all.iter().any(one),
        _ => one(value),
    }
}
