//! Derives the notation of calls from the positions of names, keys and values in rendered turns.

use serde_json::Value;

use super::derive::{IDS, KEYS, NAMES, NUMBER, TEXT, common_end, common_start, first_group, groups, whole, whole_end};
use super::{Calls, Form, Keys, Marks, Named, Tagged, channels};

/// Turns with one and two calls, without the end of the turn; `head`: length of the part of the
/// first turn that the prompt writes.
pub struct Shape {
    pub one: String,
    pub two: Option<String>,
    pub head: usize,
}

impl Shape {
    pub fn calls(&self) -> Option<Calls> {
        let name = self.one[..self.one.find(KEYS[0])?].rfind(NAMES[0])?;
        self.json(name).or_else(|| {
            let open = &self.one[name + NAMES[0].len()..];
            if open.starts_with('(') {
                Some(self.python(name))
            } else if open.starts_with('{') && !open.starts_with("{\"") {
                self.braces(name)
            } else {
                self.named(name).or_else(|| self.tagged(name))
            }
        })
    }

    /// The text before position `at` in the turn with one call, without the prompt.
    fn before(&self, at: usize) -> &str {
        let before = &self.one[self.head.min(at)..at];
        before.rsplit_once(channels::BODY).map_or(before, |(_, own)| own)
    }

    fn json(&self, name: usize) -> Option<Calls> {
        let (start, end, value) = json_with(&self.one, 0, NAMES[0]).filter(|(start, ..)| *start < name)?;
        let list = value.is_array();
        let call = value.as_array().and_then(|all| all.first()).unwrap_or(&value).as_object()?;
        let key_of =
            |wanted: &dyn Fn(&Value) -> bool| call.iter().find(|(_, one)| wanted(one)).map(|(key, _)| key.clone());
        let keys = key_of(&|one| one == NAMES[0]).and_then(|name| {
            let arguments = key_of(&|one| one.to_string().contains(KEYS[0]))?;
            Some(Keys { name, arguments })
        });
        let two = self.two.as_deref().and_then(|two| {
            let (start, end, _) = json_with(two, 0, NAMES[0])?;
            let (next, last, _) = json_with(two, end, NAMES[1])?;
            Some((&two[..start], &two[end..next], &two[last..]))
        });
        let section = match two {
            Some((before, between, after)) if !list => {
                let close = whole(common_start(between, after));
                let open = whole_end(common_end(before, &between[close.len()..]));
                // More than the end of the prompt precedes the first call.
                let own = self.before(start);
                Marks::new(if open.trim().len() >= own.trim().len() { own } else { open }, close)
            }
            _ => Marks::new(self.before(start), first_group(&self.one[end..])),
        };
        Some(Calls { section, call: Marks::default(), form: Form::Json { keys, list } })
    }

    fn python(&self, name: usize) -> Calls {
        let before = self.before(name);
        let (open, list) = before.strip_suffix('[').map_or((before, false), |open| (open, true));
        let after = self.one.rfind(NUMBER).map_or("", |at| &self.one[at + NUMBER.len()..]);
        let close = after.trim_start_matches(['"', '\'']).trim_start_matches(')').trim_start_matches(']');
        Calls { section: Marks::new(open, first_group(close)), call: Marks::default(), form: Form::Python { list } }
    }

    fn braces(&self, name: usize) -> Option<Calls> {
        let quote = self.one.split_once(KEYS[0])?.1.split_once(TEXT)?.0.strip_prefix(':')?;
        let after = &self.one[self.one.rfind('}')? + 1..];
        let call = Marks::new(self.before(name), first_group(after));
        let form = Form::Braces { quote: quote.to_owned() };
        Some(Calls { section: Marks::default(), call, form })
    }

    /// The name, then JSON.
    fn named(&self, name: usize) -> Option<Calls> {
        let (start, end, _) = json_with(&self.one, name + NAMES[0].len(), KEYS[0])?;
        let between = self.one[name + NAMES[0].len()..start].to_owned();
        let (id, mark) = match between.split_once(IDS[0]) {
            Some((id, mark)) => (id.to_owned(), mark.to_owned()),
            None => (String::new(), between.clone()),
        };
        let cut = mark.find(['<', '[']).filter(|at| mark[..*at].ends_with(|c: char| c.is_ascii_digit()));
        let (suffix, mark) = mark.split_at(cut.unwrap_or(0));
        let two = self.two.as_deref().and_then(|two| {
            let (_, end, _) = json_with(two, 0, KEYS[0])?;
            let next = end + two[end..].find(NAMES[1])?;
            let (_, last, _) = json_with(two, next, KEYS[1])?;
            Some((&two[end..next], &two[last..]))
        });
        let (section, mut call) = self.split(&self.one[..name], &self.one[end..], two);
        let prefix = call.open.rfind(['>', ']']).map_or(0, |at| at + 1);
        let prefix = call.open.split_off(prefix).trim().to_owned();
        // A prefix that makes up the entire mark does not count as a word before the name.
        let prefix = if call.open.trim().is_empty() {
            call.open.push_str(&prefix);
            String::new()
        } else {
            prefix
        };
        let (suffix, mark) = (suffix.to_owned(), mark.to_owned());
        let form = Form::Named(Named { prefix, suffix, id: id.trim().to_owned(), mark });
        Some(Calls { section, call, form })
    }

    /// The marks of the section and of a call, found from the text before, after and between the
    /// calls.
    fn split(&self, before: &str, after: &str, two: Option<(&str, &str)>) -> (Marks, Marks) {
        let own = self.before(before.len());
        let Some((between, last)) = two else {
            return (Marks::default(), Marks::new(own, groups(after).concat()));
        };
        let close = whole(common_start(between, last));
        let open = whole_end(common_end(before, &between[close.len()..]));
        let section_open = own.strip_suffix(open.trim_start()).unwrap_or("");
        let section_close = if section_open.trim().is_empty() { "" } else { &last[close.len()..] };
        let section = Marks::new(section_open, first_group(section_close));
        (section, Marks::new(open, close))
    }

    fn tagged(&self, name: usize) -> Option<Calls> {
        let one = KEYS.iter().fold(self.one.clone(), |text, key| text.replace(key, "\u{1}"));
        let parts: Vec<&str> = one[name + NAMES[0].len()..].split('\u{1}').collect();
        // The mark that closes a value may repeat its key.
        let twice = parts.len() == 5;
        let (first, text_part, after_text, number_part) = match (parts.as_slice(), twice) {
            ([first, text, number], false) => (*first, *text, "", *number),
            ([first, text, between, number, _], true) => (*first, *text, *between, *number),
            _ => return None,
        };
        let (text, between) = text_part.split_once(TEXT)?;
        let (other, after) = number_part.split_once(NUMBER)?;
        let (close, key) = if twice {
            let key = whole_end(common_end(first, after_text));
            (format!("{between}\u{1}{}", &after_text[..after_text.len() - key.len()]), key)
        } else {
            let close = whole(common_start(between, after));
            let key = whole_end(common_end(first, &between[close.len()..]));
            // Whitespace before a key that occurs in only some calls is not part of a mark.
            (close.to_owned(), key)
        };
        let name_end = first[..first.len() - key.len()].to_owned();
        let rest = if twice { number_tail(&one, &close) } else { after.get(close.len()..).unwrap_or("") };
        let two =
            self.two.as_deref().map(|two| KEYS.iter().fold(two.to_owned(), |text, key| text.replace(key, "\u{1}")));
        let two = two.as_deref().and_then(|two| {
            let end = two.find(TEXT)? + TEXT.len();
            let end = end
                + two[end..].find(groups(&close.replace('\u{1}', "k")).first().map_or("", |_| close.trim()))?
                + close.trim().len();
            let next = end + two[end..].rfind(NAMES[1])?;
            let last = next + two[next..].rfind(NUMBER)? + NUMBER.len();
            let last = last + two[last..].find(close.trim())? + close.trim().len();
            Some((&two[end..next], &two[last..], numbered(two, &name_end)))
        });
        let name_end = two.as_ref().and_then(|(_, _, numbered)| numbered.clone()).unwrap_or(name_end);
        let (mut section, mut call) = self.split(&one[..name], rest, two.map(|(between, last, _)| (between, last)));
        let (open, closes) = (groups(&call.open), groups(&call.close));
        if section.open.trim().is_empty() && open.len() >= 2 && closes.len() >= 2 {
            let inner = (open[open.len() - 1].to_owned(), closes[0].to_owned());
            let at = call.open.rfind(open[open.len() - 1]).unwrap_or(0);
            let end = call.close.find(closes[0]).unwrap_or(0) + closes[0].len();
            section = Marks::new(&call.open[..at], &call.close[end..]);
            call = Marks::new(inner.0, inner.1);
        }
        let form =
            Tagged { name_end, key: key.to_owned(), text: text.to_owned(), other: other.to_owned(), close, raw: None };
        Some(Calls { section, call, form: Form::Tagged(form) })
    }
}

/// The text after the last value and its closing mark, which repeats the key.
fn number_tail<'a>(one: &'a str, close: &str) -> &'a str {
    let after = one.rfind(NUMBER).map_or("", |at| &one[at + NUMBER.len()..]);
    after.strip_prefix(close).unwrap_or("")
}

/// `name_end` with a placeholder for a number, if the second call has a different number there.
fn numbered(two: &str, name_end: &str) -> Option<String> {
    let digit = name_end.find(|c: char| c.is_ascii_digit())?;
    let (head, tail) = (&name_end[..digit], name_end[digit..].trim_start_matches(|c: char| c.is_ascii_digit()));
    let second = &two[two.rfind(NAMES[1])? + NAMES[1].len()..];
    let number = second.strip_prefix(head)?;
    number.starts_with(|c: char| c.is_ascii_digit()).then(|| format!("{head}\u{2}{tail}"))
}

/// The first JSON value at or after `from` that contains `marker`.
fn json_with(text: &str, from: usize, marker: &str) -> Option<(usize, usize, Value)> {
    let starts = text[from..].match_indices(['{', '[']).map(|(at, _)| from + at);
    starts.take(64).find_map(|start| {
        let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let value = stream.next()?.ok()?;
        let end = start + stream.byte_offset();
        text[start..end].contains(marker).then_some((start, end, value))
    })
}
