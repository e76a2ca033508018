//! Finds, parameter by parameter, the value that the step says for it.

use jiff::civil::DateTime;
use serde_json::Value;

use super::said::Said;
use super::wants::{self, Want};
use super::{Grounds, amounts, choices, formats, intent, paths, phrases};
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

/// What is on the desk while one call is filled in.
pub(super) struct Desk<'a> {
    grounds: &'a Grounds<'a>,
    said: Said<'a>,
    paths: Vec<(String, Vec<String>)>,
    numbers_used: Vec<usize>,
    /// Names of the required parameters that take a number.
    numeric: Vec<String>,
    persons: usize,
    /// A value was looked for outside the step.
    pub leans: bool,
    pub notes: Vec<String>,
}

impl<'a> Desk<'a> {
    pub fn new(grounds: &'a Grounds<'a>, parameters: &[Parameter]) -> Desk<'a> {
        let said = Said::read(grounds.step, grounds.now);
        let mut paths = paths::assign(parameters, &said.paths);
        let mut notes = Vec::new();
        for text in paths.iter_mut().flat_map(|(_, texts)| texts) {
            *text = paths::resolve(text, grounds, &mut notes);
        }
        let numeric = parameters.iter().filter(|p| matches!(p.kind(), "number" | "integer") && p.required);
        let numeric = numeric.map(|p| p.name.to_owned()).collect();
        let persons = parameters.iter().filter(|p| want(p) == Want::Person).count();
        Desk { grounds, said, paths, numbers_used: Vec::new(), numeric, persons, leans: false, notes }
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
            Want::Query if parameter.kind() != "array" => phrases::query(said).map(text).map(weak),
            Want::Pattern => formats::glob(said)
                .filter(|_| takes_glob(parameter))
                .map(Value::from)
                .map(sure)
                .or_else(|| phrases::query(said).filter(|_| parameter.required).map(text).map(weak)),
            Want::Title if parameter.required || said.after(["called", "titled", "named"]).is_some() => {
                phrases::title(said).map(text).map(weak)
            }
            Want::Question => Some(weak(text(said.text.trim()))),
            Want::Person => self.person(parameter).map(sure),
            Want::Name => phrases::name(said, &name_kinds(parameter))
                .filter(|_| parameter.required || self.keyed_name(parameter))
                .map(text)
                .map(weak),
            Want::Format => self.format(parameter).map(sure),
            Want::From | Want::Until | Want::Day => self.when(parameter, want).map(sure),
            Want::Number => {
                let picked = amounts::pick(parameter, &said.numbers, &self.numbers_used, &self.numeric);
                self.numbers_used.extend(picked.iter().map(|(at, _)| *at));
                picked.map(|(_, value)| value).or_else(|| amounts::length(parameter, &said.dates)).map(sure)
            }
            Want::Flag => choices::flag(said, parameter).map(Value::Bool).map(sure),
            Want::Choice => choices::pick(said, parameter.choices()?).map(sure),
            Want::Command => phrases::command(said).map(text).map(sure),
            Want::Place => self.place(parameter).map(text).map(sure),
            Want::Old => intent::read(said.text, said.text).and_then(|intent| intent.old).map(Value::from).map(sure),
            Want::New => intent::read(said.text, said.text).map(|intent| Value::from(intent.new)).map(sure),
            Want::Other => self.listed(parameter).map(sure),
            Want::Id | Want::Object | Want::Query | Want::Title => None,
        }
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
        self.leans = true;
        // Nothing in the step: what an earlier step found, or the only path of the request.
        if let Some(path) = self.grounds.earlier.iter().rev().flat_map(|earlier| earlier.paths.first()).next() {
            self.notes.push(format!("`{}`: {path}, from an earlier result", parameter.name));
            return Some(Value::from(path.as_str()));
        }
        let request = Said::read(self.grounds.request, self.grounds.now);
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

    fn person(&self, parameter: &Parameter) -> Option<Value> {
        let words = wants::name_words(parameter.name);
        let sender = words.iter().any(|word| matches!(word.as_str(), "from" | "sender" | "author"));
        let copy = words.iter().any(|word| matches!(word.as_str(), "cc" | "bcc"));
        let leads: &[&str] = match () {
            () if sender => &["from", "by"],
            () if copy => &["cc", "bcc", "cc'ing"],
            () => {
                &["to", "with", "for", "invite", "email", "message", "call", "text", "remind", "notify", "tell", "ask"]
            }
        };
        let addresses: Vec<Value> = self.said.emails().map(Value::from).collect();
        if !addresses.is_empty() && !copy && (!sender || self.persons == 1) {
            return if parameter.kind() == "array" {
                Some(Value::Array(addresses))
            } else {
                addresses.into_iter().next()
            };
        }
        self.said.proper(leads, false).map(Value::from)
    }

    fn format(&self, parameter: &Parameter) -> Option<Value> {
        let listed = choices::listed(parameter.description());
        let found = formats::format(&self.said);
        match found {
            Some(extension) if listed.is_empty() || listed.iter().any(|one| one == extension) => {
                let target = wants::name_words(parameter.name)
                    .iter()
                    .any(|word| matches!(word.as_str(), "target" | "output" | "to" | "format"));
                (parameter.required || target || parameter.kind() == "array").then(|| Value::from(extension))
            }
            _ => self.listed(parameter),
        }
    }

    /// A value that the description lists. An optional one must be said in the very word.
    fn listed(&self, parameter: &Parameter) -> Option<Value> {
        let listed = choices::listed(parameter.description());
        let spoken = |value: &Value| {
            value.as_str().is_some_and(|word| self.said.tokens.iter().any(|token| token.low == word.to_lowercase()))
        };
        choices::pick(&self.said, &listed).filter(|value| parameter.required || spoken(value))
    }

    fn when(&self, parameter: &Parameter, want: Want) -> Option<Value> {
        let dates = &self.said.dates;
        let moment = match (want, dates.as_slice()) {
            (_, []) => return None,
            (Want::Until, [one]) if one.ranged => one.to,
            // A day alone is a stretch from its morning to its night, but a lone time has no end that anyone said.
            (Want::Until, [one]) if one.timed => return None,
            (Want::Until, [.., last]) => last.to,
            (Want::Day, [one, ..])
                if one.ranged && !one.timed && one.from < self.grounds.now && one.to > self.grounds.now =>
            {
                self.grounds.now
            }
            (_, [first, ..]) => first.from,
        };
        let timed = dates.iter().any(|when| when.timed);
        Some(Value::from(shown(moment, parameter, timed)))
    }

    fn place(&self, parameter: &Parameter) -> Option<&'a str> {
        let words = wants::name_words(parameter.name);
        let has = |word: &str| words.iter().any(|one| one == word);
        match () {
            () if has("origin") || has("from") || has("departure") => self.said.proper(&["from"], true),
            () if has("destination") || has("to") || has("arrival") => self.said.proper(&["to"], true),
            () => self.said.proper(&["in", "at", "for", "near", "around", "of", "from", "to"], true),
        }
    }

    fn keyed_name(&self, parameter: &Parameter) -> bool {
        name_kinds(parameter)
            .iter()
            .any(|kind| kind != "name" && self.said.tokens.iter().any(|token| token.low == *kind))
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
        let strong = matches!(want, Want::Id | Want::Other | Want::Choice | Want::Name | Want::Content);
        let at = if linked { at + 1 } else { at };
        let token = tokens.get(at).filter(|_| linked || strong)?;
        let text = match token.kind {
            Kind::Opaque => names::unquoted(token),
            Kind::Word if names::number(token.text).is_some() || linked => token.text.trim_start_matches('#'),
            Kind::Word if want == Want::Id && token.text.chars().any(|c| c.is_ascii_digit()) => token.text,
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
        self.leans |= takes;
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

/// The nouns that may stand beside a name: `app` of `app_name`, with their everyday forms.
fn name_kinds(parameter: &Parameter) -> Vec<String> {
    let mut kinds: Vec<String> = wants::name_words(parameter.name).into_iter().filter(|word| word != "name").collect();
    for (short, long) in [("app", "application"), ("application", "app"), ("function", "method"), ("proces", "process")]
    {
        if kinds.iter().any(|kind| kind == short) {
            kinds.push(long.to_owned());
        }
    }
    kinds
}

/// A pattern that the description calls one for file names, or calls nothing in particular.
fn takes_glob(parameter: &Parameter) -> bool {
    let described = parameter.description().to_lowercase();
    described.contains("glob")
        || described.contains("file")
        || described.contains("wildcard")
        || parameter.name.to_lowercase().contains("glob")
}

/// ISO 8601: a date where the parameter wants one or no time was said, else date and time.
fn shown(moment: DateTime, parameter: &Parameter, timed: bool) -> String {
    let format = parameter.schema.get("format").and_then(Value::as_str).unwrap_or("");
    let words = wants::name_words(parameter.name);
    let day_only =
        format == "date" || format.is_empty() && words.iter().any(|word| matches!(word.as_str(), "date" | "day"));
    let with_time = format == "date-time" || timed && !day_only;
    if format == "time" {
        return moment.strftime("%H:%M:%S").to_string();
    }
    if with_time { moment.strftime("%Y-%m-%dT%H:%M:%S").to_string() } else { moment.date().to_string() }
}
