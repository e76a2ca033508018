//! Fills in the arguments of a call with what the step, the user or an earlier result said. Pure, no model.
//!
//! Code finds what is unmistakable (paths, quotations, numbers, allowed values); what a model proposed stays only where it was said,
//! is one of the allowed values or the default. What nothing was said for is left out, or reported as missing.

mod edit;
mod grounded;
mod intent;
mod object;
mod paths;
mod phrases;
mod places;
mod removal;
mod said;
mod values;
mod wants;

#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::{Map, Value};

pub use edit::{Edit, settle_edit};
pub use removal::{removes, settle_removal};

use crate::tools::ToolSpec;
use crate::tools::spec::Parameter;
use grounded::Ground;
use values::Finder;

/// What an earlier step found.
#[derive(Clone, Debug, Default)]
pub struct Earlier {
    pub tool: String,
    pub text: String,
    pub paths: Vec<String>,
}

/// Existing paths of a project that match a fragment, best first.
pub type ProjectFiles<'a> = dyn Fn(&str) -> Vec<String> + 'a;

/// All that an argument may stand on.
#[derive(Clone, Copy)]
pub struct Grounds<'a> {
    pub step: &'a str,
    /// The whole request of the user.
    pub request: &'a str,
    /// Oldest first.
    pub earlier: &'a [Earlier],
    /// Existing paths of the project that match a fragment, best first.
    pub project_files: Option<&'a ProjectFiles<'a>>,
}

impl fmt::Debug for Grounds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grounds")
            .field("step", &self.step)
            .field("request", &self.request)
            .field("earlier", &self.earlier.len())
            .finish_non_exhaustive()
    }
}

/// Whether `text` asks to see what a command says, as `show the git log` does.
pub fn shows_command(text: &str) -> bool {
    phrases::shown(&said::Said::read(text)).is_some()
}

/// Arguments that stand on something.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settled {
    pub arguments: Map<String, Value>,
    /// Required parameters for which nothing was said.
    pub missing: Vec<String>,
    /// A value was looked for outside the step, in earlier results or the request.
    /// What was chosen or dropped and why, for people.
    pub notes: Vec<String>,
}

/// The arguments of a call of `spec` for this step. `proposed` is what a model wrote, if one was asked.
pub fn settle(spec: &ToolSpec, grounds: &Grounds, proposed: Option<&Map<String, Value>>) -> Settled {
    let parameters = spec.parameters();
    let mut finder = Finder::new(grounds, &parameters);
    let said = grounds.earlier.iter().flat_map(|one| one.paths.iter().map(String::as_str).chain([one.text.as_str()]));
    let ground = Ground::new([grounds.step, grounds.request].into_iter().chain(said));
    let mut settled = Settled::default();
    for parameter in &parameters {
        let derived = finder.derive(parameter);
        let offered = proposed.and_then(|all| all.get(parameter.name)).filter(|value| !value.is_null());
        let kept = offered.and_then(|value| keep(parameter, value, &ground, grounds));
        let chosen = match (derived, kept) {
            (Some(derived), Some(kept)) => Some(if derived.sure { derived.value } else { kept }),
            (Some(derived), None) => Some(derived.value),
            (None, kept) => kept,
        };
        if let Some(value) = offered.filter(|value| chosen.as_ref() != Some(value)) {
            settled.notes.push(dropped(parameter.name, value, chosen.as_ref()));
        }
        match chosen.or_else(|| parameter.default().filter(|_| parameter.required).cloned()) {
            Some(value) => {
                settled.arguments.insert(parameter.name.to_owned(), value);
            }
            None if parameter.required => settled.missing.push(parameter.name.to_owned()),
            None => {}
        }
    }
    let known = |name: &String| parameters.iter().any(|parameter| parameter.name == name);
    for name in proposed.into_iter().flat_map(Map::keys).filter(|name| !known(name)) {
        settled.notes.push(format!("`{name}` is no parameter of {}", spec.name));
    }
    settled.notes.extend(finder.notes);
    settled
}

fn dropped(name: &str, value: &Value, chosen: Option<&Value>) -> String {
    /// Characters of a dropped value that are worth showing.
    const SHOWN_MAX: usize = 60;
    let shown: String = value.to_string().chars().take(SHOWN_MAX).collect();
    match chosen {
        Some(_) => format!("`{name}`: {shown} gave way to what was said"),
        None => format!("`{name}`: {shown} was dropped, nobody said it"),
    }
}

/// The proposed value in the type the schema wants, if it stands on something.
fn keep(parameter: &Parameter, value: &Value, ground: &Ground, grounds: &Grounds) -> Option<Value> {
    let value = typed(parameter.kind(), value)?;
    if let Some(choices) = parameter.choices() {
        let allowed = choices.contains(&value);
        return (allowed && (parameter.required || ground.holds(&value))).then_some(value);
    }
    if parameter.default() == Some(&value) {
        return parameter.required.then_some(value);
    }
    match &value {
        Value::Bool(_) => parameter.required.then_some(value),
        Value::String(text) if values::is_path(parameter) => {
            let exists = grounds.project_files.is_some_and(|find| find(text).iter().any(|path| path == text));
            (exists || ground.holds(&value)).then_some(value)
        }
        Value::String(text) if text.trim() == grounds.step.trim() && !values::takes_whole_step(parameter) => None,
        _ => ground.holds(&value).then_some(value),
    }
}

/// `value` as the schema's type: a number written as a string becomes one, a lone string a list of one.
fn typed(kind: &str, value: &Value) -> Option<Value> {
    match (kind, value) {
        ("string", Value::String(_))
        | ("boolean", Value::Bool(_))
        | ("array", Value::Array(_))
        | ("object", Value::Object(_)) => Some(value.clone()),
        ("string", Value::Number(number)) => Some(Value::String(number.to_string())),
        ("number", Value::Number(_)) => Some(value.clone()),
        ("integer", Value::Number(number)) => {
            number.as_f64().filter(|n| n.fract() == 0.0).map(|n| Value::from(n as i64))
        }
        ("integer", Value::String(text)) => text.trim().parse::<i64>().ok().map(Value::from),
        ("number", Value::String(text)) => text.trim().parse::<f64>().ok().map(values::number),
        ("boolean", Value::String(text)) => text.trim().to_lowercase().parse::<bool>().ok().map(Value::Bool),
        ("array", Value::String(_)) => Some(Value::Array(vec![value.clone()])),
        _ => None,
    }
}
