//! Calls in braces with bare keys: `call:f{path:<|"|>a<|"|>,n:1}`, as in Gemma 4 and FunctionGemma.

use serde_json::{Map, Value};

use super::super::{RawCall, ToolText};
use super::cursor::{Cursor, Read, Stop};
use super::tagged::is_name;
use super::values;

const DEPTH_MAX: usize = 24;

struct Braces<'a> {
    quote: &'a str,
    close: &'a str,
    is_exact: bool,
}

/// A call after its opening mark, without its closing mark, and whether it follows the notation
/// exactly.
pub fn call(cursor: &mut Cursor<'_>, quote: &str, close: &str, tools: &[ToolText]) -> Read<(RawCall, bool)> {
    let (end, _) = match cursor.find(&["{"]) {
        Err(Stop::More) if cursor.rest().len() > 400 => return Err(Stop::Not),
        found => found?,
    };
    let name = cursor.until(end).trim();
    if !is_name(name) {
        return Err(Stop::Not);
    }
    cursor.at = end;
    let mut braces = Braces { quote, close, is_exact: true };
    let mut arguments = braces.object(cursor, 0)?;
    if !braces.is_exact {
        for (key, value) in &mut arguments {
            if let Value::String(text) = value {
                *value = values::typed(text, values::schema(tools, name, key));
            }
        }
    }
    Ok((RawCall { name: name.to_owned(), arguments }, braces.is_exact))
}

impl Braces<'_> {
    fn object(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Read<Map<String, Value>> {
        cursor.expect("{")?;
        let mut fields = Map::new();
        while !cursor.eat("}")? {
            let key = self.key(cursor)?;
            let value = self.value(cursor, depth, true)?;
            fields.insert(key, value);
            if !cursor.eat(",")? && cursor.peek()? != Some('}') {
                // The brace is missing.
                let is_over = depth == 0 && { *cursor }.eat(self.close)?;
                if !is_over {
                    return Err(Stop::Not);
                }
                self.is_exact = false;
                break;
            }
        }
        Ok(fields)
    }

    fn key(&self, cursor: &mut Cursor<'_>) -> Read<String> {
        let is_quoted = cursor.eat(self.quote)? || cursor.eat("\"")?;
        let (end, _) = match cursor.find(&[":"]) {
            Err(Stop::More) if cursor.rest().len() > 400 => return Err(Stop::Not),
            found => found?,
        };
        let key = cursor.until(end).trim();
        let key = if is_quoted { key.trim_end_matches(self.quote).trim_end_matches('"') } else { key };
        if key.is_empty() || key.contains(['{', '}', '\n']) {
            return Err(Stop::Not);
        }
        cursor.at = end + 1;
        Ok(key.to_owned())
    }

    fn value(&mut self, cursor: &mut Cursor<'_>, depth: usize, in_object: bool) -> Read<Value> {
        if depth > DEPTH_MAX {
            return Err(Stop::Not);
        }
        if cursor.eat(self.quote)? {
            return match cursor.find(&[self.quote]) {
                Ok((end, _)) => {
                    let text = cursor.until(end).to_owned();
                    cursor.at = end + self.quote.len();
                    Ok(Value::String(text))
                }
                Err(Stop::Not) => self.unclosed(cursor),
                Err(more) => Err(more),
            };
        }
        let start = *cursor;
        match cursor.peek()? {
            Some('{') => self.object(cursor, depth + 1).map(Value::Object),
            Some('[') => {
                cursor.expect("[")?;
                let mut items = Vec::new();
                while !cursor.eat("]")? {
                    items.push(self.value(cursor, depth + 1, false)?);
                    if !cursor.eat(",")? && cursor.peek()? != Some(']') {
                        return Err(Stop::Not);
                    }
                }
                Ok(Value::Array(items))
            }
            _ => {
                *cursor = start;
                self.bare(cursor, in_object)
            }
        }
    }

    /// A number or another word; a string without its marks extends to the next key or the end of
    /// the call.
    fn bare(&mut self, cursor: &mut Cursor<'_>, in_object: bool) -> Read<Value> {
        let rest = cursor.rest();
        for (at, c) in rest.char_indices() {
            let after = Cursor { at: cursor.at + at, ..*cursor };
            let is_end = match c {
                '}' | ']' | ',' if values::plain(&rest[..at]).is_some_and(|value| !value.is_string()) => true,
                ',' if in_object => self.is_key(after)?,
                ',' | ']' => !in_object,
                '}' => {
                    let mut probe = Cursor { at: after.at + 1, ..after };
                    in_object
                        && (probe.is_at_end() && probe.last
                            || probe.eat(self.close)?
                            || matches!(probe.peek()?, None | Some(',' | '}')))
                }
                _ if !self.close.is_empty() && rest[at..].starts_with(&self.close[..1]) => { after }.eat(self.close)?,
                _ => false,
            };
            if is_end {
                cursor.at += at;
                let text = &rest[..at];
                return Ok(values::plain(text).unwrap_or_else(|| {
                    self.is_exact = false;
                    Value::String(text.to_owned())
                }));
            }
        }
        Err(cursor.end())
    }

    /// Whether `,key:` comes next.
    fn is_key(&self, mut cursor: Cursor<'_>) -> Read<bool> {
        cursor.expect(",")?;
        cursor.skip_blank();
        let rest = cursor.rest();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
        match end {
            Some(end) => Ok(end > 0 && rest[end..].starts_with(':')),
            None if cursor.last => Ok(false),
            None => Err(Stop::More),
        }
    }

    /// A string without its closing mark, which extends to the end of the call.
    fn unclosed(&mut self, cursor: &mut Cursor<'_>) -> Read<Value> {
        self.is_exact = false;
        let rest = cursor.rest();
        let end = if self.close.is_empty() { rest.len() } else { rest.rfind(self.close).ok_or(Stop::Not)? };
        let text = rest[..end].strip_suffix('}').unwrap_or(&rest[..end]);
        cursor.at += text.len();
        Ok(Value::String(text.to_owned()))
    }
}
