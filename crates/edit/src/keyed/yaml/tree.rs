//! A YAML document as a tree of its values and their positions.

use std::collections::HashSet;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

use super::write::is_plain;

/// Maximum depth of a document.
const DEPTH_MAX: usize = 100;

/// A value and its bytes in the text. Those of a block end with its last line of content.
#[derive(Debug)]
pub struct Node {
    pub at: Range<usize>,
    pub kind: Kind,
}

#[derive(Debug)]
pub enum Kind {
    Scalar(String, Style),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

/// The notation of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    Single,
    Double,
    /// On several lines, after `|` or `>`.
    Block,
}

/// The value of a file with one document. `None` for several documents, for text that is not YAML,
/// for keys that are not text or occur twice, and for anchors and tags, whose meaning is defined
/// elsewhere.
pub fn read(text: &str) -> Option<Node> {
    let bytes: Vec<usize> = text.char_indices().map(|(byte, _)| byte).chain([text.len()]).collect();
    let mut open: Vec<Open> = Vec::new();
    let mut found = None;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.ok()?;
        let at = *bytes.get(span.start.index())?..*bytes.get(span.end.index())?;
        let node = match event {
            Event::Scalar(value, style, 0, None) => {
                let style = match style {
                    ScalarStyle::Plain => Style::Plain,
                    ScalarStyle::SingleQuoted => Style::Single,
                    ScalarStyle::DoubleQuoted => Style::Double,
                    ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
                };
                let end = at.start + text.get(at.clone())?.trim_end().len();
                Node { at: at.start..end, kind: Kind::Scalar(value.into_owned(), style) }
            }
            Event::SequenceStart(0, None) => {
                open.push(Open { start: at.start, is_map: false, nodes: Vec::new() });
                continue;
            }
            Event::MappingStart(0, None) => {
                open.push(Open { start: at.start, is_map: true, nodes: Vec::new() });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop()?.closed(text, at.end)?,
            Event::Alias(_) | Event::Scalar(..) | Event::SequenceStart(..) | Event::MappingStart(..) => return None,
            _ => continue,
        };
        match open.last_mut() {
            Some(outer) => outer.nodes.push(node),
            None if found.is_some() => return None,
            None => found = Some(node),
        }
        if open.len() > DEPTH_MAX {
            return None;
        }
    }
    found
}

/// The line and message of the first syntax error.
pub fn fault(text: &str) -> Option<(usize, String)> {
    let error = Parser::new_from_str(text).find_map(Result::err)?;
    Some((error.marker().line(), error.info().to_owned()))
}

/// A list or object whose end has not been read yet.
struct Open {
    start: usize,
    is_map: bool,
    /// The elements; for an object, its keys and values alternately.
    nodes: Vec<Node>,
}

impl Open {
    fn closed(self, text: &str, end: usize) -> Option<Node> {
        let is_flow = text[self.start..].starts_with(['[', '{']) && text[..end].ends_with([']', '}']);
        let last = self.nodes.last().map_or(self.start, |node| node.at.end);
        let end = if is_flow { end } else { last.max(self.nodes.iter().map(|node| node.at.end).max().unwrap_or(last)) };
        let kind = if self.is_map {
            let mut entries: Vec<(Node, Node)> = Vec::new();
            let mut names = HashSet::new();
            let mut nodes = self.nodes.into_iter();
            while let (Some(key), Some(value)) = (nodes.next(), nodes.next()) {
                if !names.insert(key.text()?.to_owned()) {
                    return None;
                }
                entries.push((key, value));
            }
            Kind::Map(entries)
        } else {
            Kind::List(self.nodes)
        };
        Some(Node { at: self.start..end, kind })
    }
}

impl Node {
    /// The text of a text scalar.
    fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar(text, style) if *style != Style::Plain || of_plain(text).is_string() => Some(text),
            _ => None,
        }
    }

    /// Whether other YAML readers may interpret this unquoted scalar as something other than text.
    pub fn is_open(&self) -> bool {
        matches!(&self.kind, Kind::Scalar(text, Style::Plain) if !is_plain(text))
    }

    pub fn value(&self) -> Value {
        match &self.kind {
            Kind::Scalar(text, Style::Plain) => of_plain(text),
            Kind::Scalar(text, _) => Value::String(text.clone()),
            Kind::List(all) => all.iter().map(Node::value).collect(),
            Kind::Map(entries) => {
                let entry = |(key, value): &(Node, Node)| Some((key.text()?.to_owned(), value.value()));
                Value::Object(entries.iter().filter_map(entry).collect::<Map<_, _>>())
            }
        }
    }

    /// The position of the entry with the key `key`.
    pub fn entry(&self, key: &str) -> Option<usize> {
        let Kind::Map(entries) = &self.kind else { return None };
        entries.iter().position(|(name, _)| name.text() == Some(key))
    }

    /// The node below `keys`; keys into a list are indices.
    pub fn below(&self, keys: &[String]) -> Option<&Node> {
        keys.iter().try_fold(self, |node, key| match &node.kind {
            Kind::List(all) => all.get(key.parse::<usize>().ok()?),
            Kind::Map(entries) => entries.get(node.entry(key)?).map(|(_, value)| value),
            Kind::Scalar(..) => None,
        })
    }
}

/// The value of a plain scalar. Numbers that JSON writes differently count as text, which does not
/// affect comparisons of two files.
fn of_plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" => Value::Null,
        _ => match serde_json::from_str::<Value>(text) {
            Ok(value) if value.is_number() || value.is_boolean() => value,
            _ => Value::String(text.to_owned()),
        },
    }
}
