//! Spellings of a changed YAML file, not yet checked.

use std::ops::Range;

use serde_json::Value;

use super::tree::{Kind, Node, Style};
use crate::base::is_listed;
use crate::keyed::{Change, Keys};

/// Plain words that some YAML readers interpret as a boolean or as null.
const RESERVED: &str = "true false yes no on off y n null ~";
/// Indentation of a new block, in spaces.
const INDENT: &str = "  ";

/// The file after a change, in each possible spelling, the most natural first.
pub fn spellings(text: &str, tree: &Node, change: &Change) -> Vec<String> {
    let file = File { text, tree };
    match change {
        Change::Set(keys, value) if tree.below(keys).is_some() => file.set(keys, value),
        Change::Set(keys, value) => file.new_entry(keys, value.clone()),
        Change::Add(keys, value) if tree.below(keys).is_some() => file.longer(keys, value),
        Change::Add(keys, value) => file.new_entry(keys, Value::Array(vec![value.clone()])),
        Change::Drop(keys, value) => file.shorter(keys, value),
        Change::Remove(keys) => file.without(keys),
    }
}

/// The bytes of an element or an entry.
type Place = Range<usize>;

#[derive(Clone, Copy)]
struct File<'f> {
    text: &'f str,
    tree: &'f Node,
}

impl<'f> File<'f> {
    fn with(self, start: usize, end: usize, new: &str) -> String {
        format!("{}{new}{}", &self.text[..start], &self.text[end..])
    }

    /// The first byte of the line that contains `at`.
    fn line(self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |end| end + 1)
    }

    /// The end of the line that contains `at`, without its line ending.
    fn line_end(self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |end| at + end)
    }

    /// As many spaces as the line has characters before `at`; at most 100.
    fn before(self, at: usize) -> &'static str {
        let width = self.text[self.line(at)..at].chars().count();
        indent(width)
    }

    fn is_flow(self, node: &Node) -> bool {
        self.text[node.at.start..].starts_with(['[', '{'])
    }

    fn set(self, keys: &Keys, value: &Value) -> Vec<String> {
        let Some(old) = self.tree.below(keys) else { return Vec::new() };
        let style = if let Kind::Scalar(_, style) = old.kind { style } else { Style::Plain };
        let behind = |mark: &[char]| {
            let key = self.key(keys)?.at.end;
            self.text[key..].find(mark).map(|at| key + at)
        };
        let (start, lead) = match style {
            // The position of a block covers only its lines; its mark is replaced too.
            Style::Block => (behind(&['|', '>']).unwrap_or(old.at.start), ""),
            // `key:` without a value.
            _ if old.at.is_empty() => (behind(&[':']).map_or(old.at.start, |colon| colon + 1), " "),
            _ => (old.at.start, ""),
        };
        let end = old.at.end.max(start);
        let mut all = Vec::new();
        if let Value::String(new) = value {
            // A boolean, mode or date, which other readers do not interpret as text, keeps its
            // type.
            all.extend(old.is_open().then(|| new.clone()));
            all.extend((style == Style::Block && new.contains('\n')).then(|| self.lines(start, end, new)));
        }
        all.extend(written(value, style));
        all.iter().map(|new| self.with(start, end, &format!("{lead}{new}"))).collect()
    }

    /// The block from `start` to `end` with new lines but the same mark and margin.
    fn lines(self, start: usize, end: usize, new: &str) -> String {
        let mark = self.line_end(start);
        // A block without lines ends before the end of its mark's line.
        let first = self.text[mark..end.max(mark)].lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let margin = indent(first.len() - first.trim_start().len());
        let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("\n{margin}{line}") };
        format!("{}{}", &self.text[start..mark], new.lines().map(line).collect::<String>())
    }

    /// The key of the entry at `keys`.
    fn key(self, keys: &Keys) -> Option<&'f Node> {
        let (last, outer) = keys.split_last()?;
        let outer = self.tree.below(outer)?;
        let Kind::Map(entries) = &outer.kind else { return None };
        entries.get(outer.entry(last)?).map(|(key, _)| key)
    }

    /// A new entry at the end of the innermost object that exists.
    fn new_entry(self, keys: &Keys, value: Value) -> Vec<String> {
        let there = (0..keys.len()).rev().find_map(|depth| Some((depth, self.tree.below(&keys[..depth])?)));
        let Some((depth, outer)) = there else { return Vec::new() };
        let Kind::Map(entries) = &outer.kind else { return Vec::new() };
        let value =
            keys[depth + 1..].iter().rev().fold(value, |inner, key| [(key.clone(), inner)].into_iter().collect());
        let key = words(&keys[depth]);
        let Some((first, (name, last))) = entries.first().zip(entries.last()) else {
            let entry = |new: &String| self.with(outer.at.start, outer.at.end, &format!("{{ {key}: {new} }}"));
            return written(&value, Style::Plain).iter().map(entry).collect();
        };
        let end = last.at.end.max(name.at.end);
        if self.is_flow(outer) {
            let between = self.between(outer, &first.0);
            return written(&value, Style::Plain)
                .iter()
                .map(|new| self.with(end, end, &format!(",{between}{key}: {new}")))
                .collect();
        }
        let margin = self.before(first.0.at.start);
        let end = self.line_end(end);
        let blocks = match &value {
            Value::Object(_) => vec![block(&value, &format!("{margin}{INDENT}"))],
            value => written(value, Style::Plain).iter().map(|new| format!(" {new}")).collect(),
        };
        blocks.iter().map(|new| self.with(end, end, &format!("\n{margin}{key}:{new}"))).collect()
    }

    /// The white space before each element of a bracketed list or object.
    fn between(self, outer: &Node, first: &Node) -> String {
        let lead = &self.text[outer.at.start + 1..first.at.start];
        if lead.contains('\n') { format!("\n{}", self.before(first.at.start)) } else { " ".to_owned() }
    }

    fn longer(self, keys: &Keys, value: &Value) -> Vec<String> {
        let Some(list) = self.tree.below(keys) else { return Vec::new() };
        let Kind::List(all) = &list.kind else { return Vec::new() };
        let (Some(first), Some(last)) = (all.first(), all.last()) else {
            let filled = |new: &String| self.with(list.at.start, list.at.end, &format!("[{new}]"));
            return written(value, Style::Plain).iter().map(filled).collect();
        };
        let style = if let Kind::Scalar(_, style) = last.kind { style } else { Style::Plain };
        let (end, lead) = if self.is_flow(list) {
            (last.at.end, format!(",{}", self.between(list, first)))
        } else {
            let Some(dash) = self.dash(first) else { return Vec::new() };
            (self.line_end(last.at.end), format!("\n{}- ", self.before(dash)))
        };
        written(value, style).iter().map(|new| self.with(end, end, &format!("{lead}{new}"))).collect()
    }

    /// The dash before an element of a list with one element per line.
    fn dash(self, element: &Node) -> Option<usize> {
        let line = self.line(element.at.start);
        self.text[line..element.at.start].rfind('-').map(|dash| line + dash)
    }

    fn shorter(self, keys: &Keys, value: &Value) -> Vec<String> {
        let Some(list) = self.tree.below(keys) else { return Vec::new() };
        let Kind::List(all) = &list.kind else { return Vec::new() };
        let Some(index) = all.iter().position(|one| one.value() == *value) else { return Vec::new() };
        if all.len() == 1 {
            return vec![self.with(list.at.start, list.at.end, "[]")];
        }
        if self.is_flow(list) {
            let place = |at: usize| all.get(at).map(|one| one.at.clone());
            return self.without_in_brackets(place(index), index.checked_sub(1).and_then(place), place(index + 1));
        }
        self.dash(&all[index]).map(|dash| self.without_lines(dash, all[index].at.end)).into_iter().collect()
    }

    /// The file without one of several bracketed elements and without the comma next to it.
    fn without_in_brackets(self, one: Option<Place>, before: Option<Place>, next: Option<Place>) -> Vec<String> {
        match (one, before, next) {
            (Some(one), _, Some(next)) => self.up_to(one, next.start).into_iter().collect(),
            (Some(one), Some(before), None) => vec![self.with(before.end, one.end, "")],
            _ => Vec::new(),
        }
    }

    /// The file without an element, up to the next one. `None` if the next one has a comment above
    /// it.
    fn up_to(self, element: Place, next: usize) -> Option<String> {
        let own_line = self.line_end(element.end).min(next);
        (!self.text[own_line..next].contains('#')).then(|| self.with(element.start, next, ""))
    }

    /// The file without the lines from that of `start` to that of `end`.
    fn without_lines(self, start: usize, end: usize) -> String {
        let end = self.line_end(end);
        self.with(self.line(start), (end + 1).min(self.text.len()), "")
    }

    fn without(self, keys: &Keys) -> Vec<String> {
        let Some((last, outer)) = keys.split_last() else { return Vec::new() };
        let Some(object) = self.tree.below(outer) else { return Vec::new() };
        let (Kind::Map(entries), Some(index)) = (&object.kind, object.entry(last)) else { return Vec::new() };
        let place = |at: usize| entries.get(at).map(|(key, value)| key.at.start..value.at.end.max(key.at.end));
        let Some(entry) = place(index) else { return Vec::new() };
        if self.is_flow(object) {
            if entries.len() == 1 {
                return vec![self.with(object.at.start, object.at.end, "{}")];
            }
            return self.without_in_brackets(Some(entry), index.checked_sub(1).and_then(place), place(index + 1));
        }
        let is_first_of_line = self.text[self.line(entry.start)..entry.start].trim().is_empty();
        let mut all: Vec<String> = match place(index + 1) {
            Some(next) if !is_first_of_line => self.up_to(entry, next.start).into_iter().collect(),
            _ => vec![self.without_lines(entry.start, entry.end)],
        };
        if entries.len() == 1 {
            all.extend(self.without(&outer.to_vec()));
        }
        all
    }
}

/// `width` spaces.
fn indent(width: usize) -> &'static str {
    const SPACES: &str =
        "                                                                                                    ";
    &SPACES[..width.min(SPACES.len())]
}

/// The ways to write a value on one line; those in `style` first.
fn written(value: &Value, style: Style) -> Vec<String> {
    let Value::String(text) = value else { return vec![flow(value)] };
    let single = || format!("'{}'", text.replace('\'', "''"));
    let mut all = Vec::new();
    match style {
        Style::Single => all.push(single()),
        Style::Double => {}
        Style::Plain | Style::Block => all.extend(is_plain(text).then(|| text.clone())),
    }
    all.push(value.to_string());
    all
}

/// Whether the beginning of an unquoted word shows that every reader interprets it as text.
pub(super) fn is_plain(text: &str) -> bool {
    let is_odd = |first: char| first.is_ascii_digit() || matches!(first, '-' | '+' | '.' | ' ');
    !text.is_empty() && !text.starts_with(is_odd) && !text.ends_with(' ') && !is_listed(RESERVED, &text.to_lowercase())
}

/// A text without quotes, unless some reader needs them.
fn words(text: &str) -> String {
    let is_simple = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | '/' | '@');
    if is_plain(text) && text.chars().all(is_simple) && !text.starts_with('@') {
        text.to_owned()
    } else {
        Value::String(text.to_owned()).to_string()
    }
}

/// A value on one line.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => words(text),
        Value::Array(all) => format!("[{}]", all.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(entries) if entries.is_empty() => "{}".to_owned(),
        Value::Object(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(key, value)| format!("{}: {}", words(key), flow(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        value => value.to_string(),
    }
}

/// The entries of an object, one per line, after its key.
fn block(value: &Value, margin: &str) -> String {
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            let line = |(key, value): (&String, &Value)| {
                format!("\n{margin}{}:{}", words(key), block(value, &format!("{margin}{INDENT}")))
            };
            entries.iter().map(line).collect()
        }
        value => format!(" {}", flow(value)),
    }
}
