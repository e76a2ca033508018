//! Finds, parameter by parameter, the value that the step says for it.

use serde_json::Value;

use super::said::Said;
use super::wants::{self, Want};
use super::{Grounds, intent, paths, phrases};
use crate::orchestrate::decompose::scan::Kind;
use crate::orchestrate::decompose::{names, verbs, words};
use crate::tools::spec::Parameter;

/// A value found by code. A sure one beats what a model proposed.
#[derive(Debug)]
pub(super) struct Derived {
    pub value: Value,
    pub sure: bool,
}

/// The type of the values: of the items, for a list.
fn item_kind<'a>(parameter: &Parameter<'a>) -> &'a str {
    match parameter.kind() {
        "array" => parameter
            .schema
            .get("items")
            .and_then(|items| items.get("type"))
            .and_then(Value::as_str)
            .unwrap_or("string"),
        kind => kind,
    }
}

pub(super) fn want(parameter: &Parameter) -> Want {
    wants::want(parameter, item_kind(parameter))
}

pub(super) fn is_path(parameter: &Parameter) -> bool {
    item_kind(parameter) == "string" && matches!(want(parameter), Want::Path | Want::Destination)
}

/// A parameter whose value may be the step as it stands.
pub(super) fn takes_whole_step(parameter: &Parameter) -> bool {
    matches!(want(parameter), Want::Question)
}

/// Finds the values of one call, parameter by parameter.
pub(super) struct Finder<'a> {
    grounds: &'a Grounds<'a>,
    said: Said<'a>,
    paths: Vec<(String, Vec<String>)>,
    /// Numbers of the step that are given to a parameter.
    numbers_used: usize,
    /// How many required parameters take a number.
    numeric: usize,
    /// A value was looked for outside the step.
    pub notes: Vec<String>,
}

impl<'a> Finder<'a> {
    pub fn new(grounds: &'a Grounds<'a>, parameters: &[Parameter]) -> Finder<'a> {
        let said = Said::read(grounds.step);
        let mut paths = paths::assign(parameters, &said.paths);
        let mut notes = Vec::new();
        for text in paths.iter_mut().flat_map(|(_, texts)| texts) {
            *text = paths::resolve(text, grounds, &mut notes);
        }
        let numeric = parameters.iter().filter(|p| want(p) == Want::Number && p.required).count();
        Finder { grounds, said, paths, numbers_used: 0, numeric, notes }
    }

    pub fn derive(&mut self, parameter: &Parameter) -> Option<Derived> {
        let want = want(parameter);
        let found = self
            .find(parameter, want)
            .or_else(|| self.keyed(parameter, want).map(sure))
            .or_else(|| self.earlier(parameter, want))?;
        let list = parameter.kind() == "array" && !found.value.is_array();
        Some(if list { Derived { value: Value::Array(vec![found.value]), ..found } } else { found })
    }

    fn find(&mut self, parameter: &Parameter, want: Want) -> Option<Derived> {
        let said = &self.said;
        let text = |text: &str| Value::from(text);
        match want {
            Want::Path | Want::Destination => self.path(parameter).map(sure),
            Want::Url => said.urls().next().map(text).map(sure),
            Want::Content => phrases::content(said, parameter.required).map(text).map(sure),
            Want::Query => self.quoted().map(text).map(sure),
            Want::Question => Some(weak(text(said.text.trim()))),
            Want::Number => self.number(parameter).map(sure),
            Want::Choice => chosen(said, parameter.choices()?).map(sure),
            Want::Command => phrases::command(said).map(text).map(sure),
            Want::Old => intent::read(said.text, said.text).and_then(|intent| intent.old).map(Value::from).map(sure),
            Want::New => intent::read(said.text, said.text).map(|intent| Value::from(intent.new)).map(sure),
            Want::Other => None,
        }
    }

    /// The only quotation that is no path.
    fn quoted(&self) -> Option<&'a str> {
        let mut free = self.said.quotes().map(|(_, text)| text).filter(|text| !names::is_path(text));
        free.next().filter(|_| free.next().is_none())
    }

    /// As many numbers as required parameters for them go in order.
    fn number(&mut self, parameter: &Parameter) -> Option<Value> {
        if !parameter.required || self.said.numbers.len() != self.numeric {
            return None;
        }
        let value = *self.said.numbers.get(self.numbers_used)?;
        self.numbers_used += 1;
        let bound = |name: &str| parameter.schema.get(name).and_then(Value::as_f64);
        let fits = bound("minimum").is_none_or(|least| least <= value)
            && bound("maximum").is_none_or(|most| value <= most)
            && (parameter.kind() != "integer" || value.fract() == 0.0);
        fits.then(|| number(value))
    }

    fn path(&mut self, parameter: &Parameter) -> Option<Value> {
        if let Some((_, texts)) = self.paths.iter().find(|(name, _)| name == parameter.name) {
            let list: Vec<Value> = texts.iter().map(|text| Value::from(text.as_str())).collect();
            return if parameter.kind() == "array" { Some(Value::Array(list)) } else { list.into_iter().next() };
        }
        if want(parameter) == Want::Destination {
            return None;
        }
        if !parameter.required {
            return self.folder_by_name().map(Value::from);
        }
        // Nothing in the step: what an earlier step found, or the only path of the request.
        if let Some(path) = self.grounds.earlier.iter().rev().flat_map(|earlier| earlier.paths.first()).next() {
            self.notes.push(format!("`{}`: {path}, from an earlier result", parameter.name));
            return Some(Value::from(path.as_str()));
        }
        let request = Said::read(self.grounds.request);
        let mut texts: Vec<&str> = request.paths.iter().map(|path| path.text.as_str()).collect();
        texts.dedup();
        match texts.as_slice() {
            [only] => Some(Value::from(paths::resolve(only, self.grounds, &mut self.notes))),
            _ => None,
        }
    }

    /// A folder at the top of the project that a step without paths names by a bare word: `in src`.
    fn folder_by_name(&self) -> Option<&'a str> {
        let find = self.grounds.project_files.filter(|_| self.said.paths.is_empty())?;
        let led = |at: usize| matches!(self.said.low(at - 1), "in" | "inside" | "within" | "under" | "below" | "of");
        let words = (1..self.said.tokens.len()).filter(|&at| led(at)).filter_map(|at| self.said.span(at, at + 1));
        let names = words.filter(|word| word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-')));
        names.into_iter().find(|name| !find(&format!("{name}/**")).is_empty())
    }

    /// `NAME is VALUE`, `NAME: VALUE`, `NAME=VALUE` with the parameter's own name.
    fn keyed(&self, parameter: &Parameter, want: Want) -> Option<Value> {
        let low = parameter.name.to_lowercase();
        let spaced = low.replace(['_', '-'], " ");
        let tokens = &self.said.tokens;
        if let Some(value) = tokens
            .iter()
            .find_map(|token| {
                token
                    .text
                    .split_once('=')
                    .filter(|(name, _)| name.trim_start_matches('-').to_lowercase() == low)
                    .map(|(_, value)| value)
            })
            .filter(|value| !value.is_empty())
        {
            return super::typed(parameter.kind(), &Value::from(value));
        }
        let at = self.said.after([low.as_str(), spaced.as_str()])?;
        let linked = (matches!(self.said.low(at), "is" | "to" | "of" | "as" | "=") || tokens[at].kind == Kind::Colon)
            && verbs::class(self.said.low(at + 1)).is_none();
        let strong = matches!(want, Want::Other | Want::Choice | Want::Content);
        let at = if linked { at + 1 } else { at };
        let token = tokens.get(at).filter(|_| linked || strong)?;
        let text = match token.kind {
            Kind::Opaque => names::unquoted(token),
            Kind::Word if names::number(token.text).is_some() || linked => token.text.trim_start_matches('#'),
            Kind::Word if want == Want::Other && token.text.chars().any(|c| c.is_ascii_digit()) => token.text,
            _ => return None,
        };
        let general = words::is_determiner(&token.low)
            || words::is_preposition(&token.low)
            || words::is_object_pronoun(&token.low);
        super::typed(parameter.kind(), &Value::from(text)).filter(|_| !general)
    }

    /// The text an earlier step found, for a required text that nothing else was said for.
    fn earlier(&mut self, parameter: &Parameter, want: Want) -> Option<Derived> {
        let described = format!("{} {}", parameter.name, parameter.description()).to_lowercase();
        let texty =
            ["text", "content", "transcript", "body", "markdown", "input"].iter().any(|word| described.contains(word));
        let takes = parameter.kind() == "string"
            && parameter.required
            && texty
            && matches!(want, Want::Content | Want::Query | Want::Other);
        let last =
            self.grounds.earlier.iter().rev().find(|earlier| !earlier.text.trim().is_empty()).filter(|_| takes)?;
        self.notes.push(format!("`{}`: what {} found", parameter.name, last.tool));
        Some(weak(Value::from(last.text.as_str())))
    }
}

fn sure(value: Value) -> Derived {
    Derived { value, sure: true }
}

fn weak(value: Value) -> Derived {
    Derived { value, sure: false }
}

/// The allowed value that a step names in its own words, if it names one alone.
fn chosen(said: &Said, choices: &[Value]) -> Option<Value> {
    let is_said = |choice: &&Value| {
        let shown = choice.as_str().map_or_else(|| choice.to_string(), str::to_lowercase);
        said.tokens.iter().any(|token| token.low == shown)
    };
    let mut named = choices.iter().filter(is_said);
    named.next().cloned().filter(|_| named.next().is_none())
}

/// A whole number as one: 2, not 2.0.
pub(super) fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 { Value::from(value as i64) } else { Value::from(value) }
}
