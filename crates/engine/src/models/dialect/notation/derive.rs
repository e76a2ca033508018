//! Derives the notation from a template: renders turns with markers as names, keys and values, and locates the markers.

use serde_json::{Value, json};

use super::shape::Shape;
use super::{Calls, Headers, Marks, Notation, Thoughts, channels, named};

const USER: &str = "USERTEXT";
const WORDS: &str = "WORDSTEXT";
const THOUGHT: &str = "THOUGHTTEXT";
const RESULT: &str = "RESULTTEXT";
pub(super) const NAMES: [&str; 2] = ["toolmarka", "toolmarkb"];
pub(super) const KEYS: [&str; 2] = ["keymarka", "keymarkb"];
pub(super) const TEXT: &str = "valuemark";
pub(super) const NUMBER: &str = "7137";
/// Mistral's templates accept only ids of nine characters.
pub(super) const IDS: [&str; 2] = ["idmark001", "idmark002"];

type Render<'a> = &'a dyn Fn(&Value) -> Option<String>;

/// The text that a template writes after the user's message.
struct Probe<'a> {
    render: Render<'a>,
    /// The generation prompt, with thinking on and off.
    on: String,
    off: String,
    /// An answer without calls.
    words: Option<String>,
}

pub fn derive(source: &str, render: Render<'_>) -> Notation {
    let on = tail(render, &[], true, true).unwrap_or_default();
    let off = tail(render, &[], true, false).unwrap_or_else(|| on.clone());
    let words = tail(render, &[json!({ "role": "assistant", "content": WORDS })], false, true);
    let words = words.filter(|text| text.contains(WORDS));
    let probe = Probe { render, on, off, words };
    let thoughts = probe.thoughts().or_else(|| named::thoughts(source)).map(|thoughts| probe.switched(thoughts));
    let mut notation = Notation { words: probe.around_words(&thoughts), thoughts, ..Notation::default() };
    notation.ends = probe.ends();
    if probe.on.trim_end().ends_with("<|start|>assistant") {
        notation.begun = "<|start|>assistant".to_owned();
        notation.words = Marks::default();
        notation.headers = probe.headers();
    }
    notation.results = probe.results();
    let found = named::find(source).or_else(|| probe.calls(&notation)).or_else(|| named::untold(source));
    notation.calls = found.unwrap_or_default();
    let open = notation.calls.call.open.trim();
    if !open.is_empty() && probe.on.ends_with(open) {
        notation.begun = open.to_owned();
        let inner = std::mem::take(&mut notation.words.open);
        notation.words.open = format!("{}{inner}", notation.begun);
    }
    if !notation.begun.is_empty() {
        for marks in [&mut notation.calls.section, &mut notation.calls.call] {
            marks.open = marks.open.rsplit_once(channels::BODY).map_or(&*marks.open, |(_, own)| own).to_owned();
        }
    }
    named::adjust(source, &mut notation);
    notation
}

/// The text that the template writes after the user's message if these turns follow.
fn tail(render: Render<'_>, turns: &[Value], prompt: bool, thinks: bool) -> Option<String> {
    let parameters = json!({ "type": "object", "required": KEYS, "properties": {
        KEYS[0]: { "type": "string", "description": "A text." }, KEYS[1]: { "type": "integer", "description": "A number." } } });
    let tool = |name: &str| json!({ "type": "function", "function": { "name": name, "description": "A tool.", "parameters": parameters } });
    let mut messages = vec![json!({ "role": "user", "content": USER })];
    messages.extend_from_slice(turns);
    let input = json!({ "messages": messages, "tools": NAMES.map(tool), "add_generation_prompt": prompt,
        "enable_thinking": thinks, "thinking": thinks });
    let text = render(&input)?;
    let start = text.rfind(USER)? + USER.len();
    Some(text[start..].to_owned())
}

/// A turn with one call that has one argument.
fn one_call() -> Value {
    let function = json!({ "name": NAMES[0], "arguments": { KEYS[0]: TEXT } });
    json!({ "role": "assistant", "content": "", "tool_calls": [{ "id": IDS[0], "type": "function", "function": function }] })
}

impl Probe<'_> {
    /// The length of the common prefix of `text` and a generation prompt, counting only complete
    /// marks.
    fn head(&self, text: &str) -> usize {
        [&self.on, &self.off].map(|prompt| whole(common_start(text, prompt)).len()).into_iter().max().unwrap_or(0)
    }

    /// Reads the headers between the generation prompt and the body, for a call and for text, if
    /// the header of a call names the tool.
    fn headers(&self) -> Option<Headers> {
        let header = |text: &str| {
            let own = text.strip_prefix(&self.on)?;
            Some(own[..own.find(channels::BODY)? + channels::BODY.len()].to_owned())
        };
        let call = header(&tail(self.render, &[one_call()], false, true)?)?;
        let (before, after) = call.split_once(NAMES[0])?;
        Some(Headers { call: Marks::new(before, after), words: header(self.words.as_deref()?)? })
    }

    /// The marks around a result that cannot be part of an answer: plain tags may be the subject of
    /// a text, and other turns have marks too.
    fn results(&self) -> Marks {
        let result = json!({ "role": "tool", "name": NAMES[0], "tool_call_id": IDS[0], "content": RESULT });
        let text = tail(self.render, &[one_call(), result], false, true).unwrap_or_default();
        let Some((before, after)) = text.split_once(RESULT) else { return Marks::default() };
        let others = format!("{}{}", self.on, self.words.as_deref().unwrap_or_default());
        let mark = |mark: Option<&str>| {
            let mark = mark.filter(|mark| mark.starts_with("<|") || mark.starts_with("<｜"));
            mark.filter(|mark| !others.contains(mark)).unwrap_or_default().to_owned()
        };
        Marks::new(mark(groups(before).pop()), mark(groups(after).first().copied()))
    }

    fn thoughts(&self) -> Option<Thoughts> {
        // Some templates write thoughts only before a call.
        let call = one_call()["tool_calls"].take();
        let turns = ["reasoning_content", "thinking", "reasoning"].into_iter().flat_map(|key| {
            let words = (json!({ "role": "assistant", "content": WORDS, key: THOUGHT }), WORDS);
            [words, (json!({ "role": "assistant", "content": "", key: THOUGHT, "tool_calls": call }), NAMES[0])]
        });
        let mut rendered = turns.filter_map(|(turn, end)| Some((tail(self.render, &[turn], false, true)?, end)));
        let (text, end) =
            rendered.find(|(text, end)| text.split_once(THOUGHT).is_some_and(|(_, rest)| rest.contains(end)))?;
        let (before, rest) = text.split_once(THOUGHT)?;
        let (between, _) = rest.split_once(end)?;
        let close = groups(between).first()?.to_string();
        let own = &before[self.head(before)..];
        let open = if !own.trim().is_empty() {
            own.trim().to_owned()
        } else if let Some(more) = self.on.strip_prefix(before).filter(|more| !more.trim().is_empty()) {
            more.trim().to_owned()
        } else {
            let mark = *groups(before).last()?;
            before[before.rfind(mark)?..].trim().to_owned()
        };
        Some(Thoughts { open, close, ..Thoughts::default() })
    }

    /// `thoughts` with the effect of the generation prompt on them.
    fn switched(&self, thoughts: Thoughts) -> Thoughts {
        let opened_by_prompt = self.on.trim_end().ends_with(thoughts.open.trim());
        let head = if opened_by_prompt {
            let end = self.on.rfind(thoughts.open.trim()).unwrap_or(0);
            self.on[..end].trim_end()
        } else {
            self.on.trim_end()
        };
        let line = head.lines().next_back().unwrap_or(head);
        let off = self.off.strip_prefix(head).or_else(|| self.off.rsplit_once(line).map(|(_, off)| off));
        let off = off.map(|off| off.strip_prefix('\n').unwrap_or(off).to_owned());
        Thoughts { opened_by_prompt, off: off.filter(|off| self.off != self.on && !off.trim().is_empty()), ..thoughts }
    }

    /// The marks around the text that are not part of the turn.
    fn around_words(&self, thoughts: &Option<Thoughts>) -> Marks {
        let Some((before, after)) = self.words.as_deref().and_then(|words| words.split_once(WORDS)) else {
            return Marks::default();
        };
        let mut own = before[self.head(before)..].to_owned();
        if let Some(thoughts) = thoughts {
            own = own.replace(thoughts.open.trim(), "").replace(thoughts.close.trim(), "");
        }
        let own = own.trim();
        if own.is_empty() {
            return Marks::default();
        }
        Marks::new(own, groups(after).first().copied().filter(|_| own.contains('<')).unwrap_or_default())
    }

    fn ends(&self) -> Vec<String> {
        let after = self.words.as_deref().and_then(|words| words.split_once(WORDS)).map_or("", |(_, after)| after);
        let mut ends: Vec<String> = groups(after).into_iter().map(str::to_owned).collect();
        ends.push("</s>".to_owned());
        ends.dedup();
        ends
    }

    fn calls(&self, notation: &Notation) -> Option<Calls> {
        let one = self.called(&[&[(0, true), (1, false)]], notation)?;
        let two = self.called(&[&[(0, true)], &[(1, false)]], notation);
        let rest = |text: &str| self.words.as_deref().map_or_else(|| text.to_owned(), |words| without_end(text, words));
        Shape { one: rest(&one), two: two.map(|two| rest(&two)), head: one.len().min(self.head(&one)) }.calls()
    }

    /// A turn whose calls have these arguments, in the form of argument objects that the template
    /// accepts.
    fn called(&self, calls: &[&[(usize, bool)]], notation: &Notation) -> Option<String> {
        let written = |as_text: bool| -> Vec<Value> {
            let one = |(index, fields): (usize, &&[(usize, bool)])| {
                let value =
                    |is_text: bool| if is_text { json!(TEXT) } else { json!(NUMBER.parse::<i64>().unwrap_or(0)) };
                let object: serde_json::Map<_, _> =
                    fields.iter().map(|(key, is_text)| (KEYS[*key].to_owned(), value(*is_text))).collect();
                let object = Value::Object(object);
                let arguments = if as_text {
                    json!(object.to_string().replace("\":", "\": ").replace(",\"", ", \""))
                } else {
                    object
                };
                json!({ "id": IDS[index], "type": "function", "function": { "name": NAMES[index], "arguments": arguments } })
            };
            calls.iter().enumerate().map(one).collect()
        };
        let shapes = [(false, json!("")), (true, json!("")), (false, Value::Null), (true, Value::Null)];
        let rendered = shapes.iter().filter_map(|(as_text, content)| {
            let turn = json!({ "role": "assistant", "content": content, "tool_calls": written(*as_text) });
            let text = tail(self.render, &[turn], false, true)?;
            // The model does not write nested text or Python's notation where JSON belongs.
            let is_foreign = text.contains("\\\"") || text.contains(&format!("'{}':", KEYS[0]));
            let all = calls.iter().enumerate().all(|(index, _)| text.contains(NAMES[index])) && text.contains(KEYS[0]);
            all.then_some((is_foreign, text))
        });
        let mut all: Vec<(bool, String)> = rendered.collect();
        all.sort_by_key(|(is_foreign, _)| *is_foreign);
        let (_, text) = all.into_iter().next()?;
        // Remove an empty thought before the call.
        let (start, thoughts) = (self.head(&text), notation.thoughts.as_ref());
        let mut own = text[start..].trim_start();
        for mark in thoughts.iter().flat_map(|thoughts| [thoughts.open.trim(), thoughts.close.trim()]) {
            own = own.strip_prefix(mark).unwrap_or(own).trim_start();
        }
        let own = own.strip_prefix(notation.words.open.trim()).unwrap_or(own);
        let own = own.trim_start().strip_prefix(notation.words.close.trim()).unwrap_or(own);
        Some(format!("{}{own}", &text[..start]))
    }
}

/// The marks in a text, such as `<a>`, `[A]` or `<|a|>word<|b|>`.
pub fn groups(text: &str) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(['<', '[', '`']).map(|found| at + found) {
        let close = match text.as_bytes()[start] {
            b'<' => text[start..].find('>').map(|end| start + end + 1),
            b'[' => text[start..].find(']').map(|end| start + end + 1),
            _ => Some(text.len() - text[start..].trim_start_matches('`').len()),
        };
        // A mark may end with the name or key: `<function=`.
        let mut end = close.unwrap_or(text.len());
        let word = text[end..].find(|c: char| !c.is_alphanumeric() && c != '_').map_or(text.len(), |at| end + at);
        if word > end && text[word..].starts_with("<|") && text[start..].starts_with("<|") {
            end = text[word..].find('>').map_or(text.len(), |at| word + at + 1);
        }
        all.push(text[start..end].trim_end());
        at = end;
    }
    if all.is_empty() && !text.trim().is_empty() {
        all.push(text.trim());
    }
    all
}

pub(super) fn first_group(text: &str) -> &str {
    groups(text).first().copied().unwrap_or_default()
}

pub(super) fn common_start<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b);
    &one[..same.map(|(a, _)| a.len_utf8()).sum()]
}

pub(super) fn common_end<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one.chars().rev().zip(other.chars().rev()).take_while(|(a, b)| a == b);
    &one[one.len() - same.map(|(a, _)| a.len_utf8()).sum::<usize>()..]
}

/// Removes a partial mark at the end.
pub(super) fn whole(text: &str) -> &str {
    let open = |from: char, to: char| text.rfind(from).filter(|at| !text[*at..].contains(to));
    let cut = open('<', '>').into_iter().chain(open('[', ']')).min();
    &text[..cut.unwrap_or(text.len())]
}

/// Removes a partial mark at the start.
pub(super) fn whole_end(text: &str) -> &str {
    match (text.find('>'), text.find('<')) {
        (Some(close), Some(open)) if close < open => &text[close + 1..],
        _ => text,
    }
}

/// `text` without the end of the turn, which is whatever follows the text in `words`.
fn without_end(text: &str, words: &str) -> String {
    let after = words.split_once(WORDS).map_or("", |(_, after)| after);
    let end = whole_end(common_end(text, after));
    // The end of the turn begins after a complete mark.
    let in_mark = text[..text.len() - end.len()].ends_with(char::is_alphanumeric) && end.starts_with("<|");
    let end = end.find('>').filter(|_| in_mark).map_or(end, |at| &end[at + 1..]);
    let end = if end.trim().is_empty() || !end.trim_start().starts_with(['<', '[']) { "" } else { end };
    text[..text.len() - end.len()].to_owned()
}
