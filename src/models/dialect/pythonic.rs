//! Writes and reads calls like Python's: `[read_file(path="a.rs", lines=[1, 2]), list_dir()]`.
//!
//! Only named arguments are accepted. Values may be Python's or JSON's, see [`super::literal`].

use serde_json::{Map, Value};

use super::chat::RawCall;
use super::literal::Reader;

/// The text between the parentheses of `name(a="x", n=1)`, with strings as in JSON, which are valid in Python too.
pub fn arguments(arguments: &Map<String, Value>) -> String {
    let arguments: Vec<String> = arguments.iter().map(|(key, value)| format!("{key}={}", literal(value))).collect();
    arguments.join(", ")
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| format!("{}: {}", Value::from(key.as_str()), literal(value));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// Maximum number of brackets in a text that are tried as the start of calls; a model's reply has far fewer.
const STARTS_MAX: usize = 256;

/// Every bracketed list of calls anywhere in `text`, in order. Brackets with anything else are skipped, but one that begins
/// like a call and is not a whole list ends the reading: the rest may be the inside of a call that was cut.
pub fn scan(text: &str) -> Vec<RawCall> {
    let mut calls = Vec::new();
    let mut at = 0;
    for _ in 0..STARTS_MAX {
        let Some(start) = text[at..].find('[').map(|found| at + found) else { break };
        at = match list(&text[start..]) {
            Some((found, length)) => {
                calls.extend(found);
                start + length
            }
            None if begins_call(&text[start + 1..]) => break,
            None => start + 1,
        };
    }
    calls
}

/// The calls in `tool_code` blocks, each at the beginning of a line and within `print(…)` or not. A line that begins like a
/// call and is not a whole one ends the reading.
pub fn fenced(text: &str) -> Vec<RawCall> {
    const FENCE: &str = "```";
    let mut calls = Vec::new();
    let mut reader = Reader::new(text);
    for _ in 0..STARTS_MAX {
        let Some(open) = reader.rest().find("```tool_code") else { break };
        reader.at += open + "```tool_code".len();
        while reader.fuel > 0 && !reader.rest().is_empty() {
            reader.skip_blank();
            if reader.rest().starts_with(FENCE) {
                reader.at += FENCE.len();
                break;
            }
            let printed = reader.rest().starts_with("print(");
            reader.at += if printed { "print(".len() } else { 0 };
            if !begins_call(reader.rest()) {
                reader.at += reader.rest().find('\n').unwrap_or(reader.rest().len());
                continue;
            }
            let Some(found) = call(&mut reader) else { return calls };
            if printed && opened(&mut reader, ')').is_none() {
                return calls;
            }
            calls.push(found);
            reader.skip_blank();
            reader.eat(',');
        }
    }
    calls
}

/// Whether `text` begins with a name and an opening parenthesis.
fn begins_call(text: &str) -> bool {
    let mut reader = Reader::new(text);
    identifier(&mut reader, "_-./:").is_some() && opened(&mut reader, '(').is_some()
}

/// The list of calls at the very beginning of `text`, and its length in bytes; `None` if there is none.
pub fn list(text: &str) -> Option<(Vec<RawCall>, usize)> {
    let mut reader = Reader::new(text);
    opened(&mut reader, '[')?;
    let found = reader.separated(']', call)?;
    (!found.is_empty()).then_some((found, reader.at))
}

fn opened(reader: &mut Reader<'_>, mark: char) -> Option<()> {
    reader.skip_blank();
    reader.eat(mark).then_some(())
}

fn call(reader: &mut Reader<'_>) -> Option<RawCall> {
    let name = identifier(reader, "_-./:")?;
    opened(reader, '(')?;
    let pairs = reader.separated(')', |reader| {
        let key = identifier(reader, "_-")?;
        opened(reader, '=')?;
        Some((key, reader.value()?))
    })?;
    let count = pairs.len();
    let arguments: Map<String, Value> = pairs.into_iter().collect();
    (arguments.len() == count).then_some(RawCall { name, arguments })
}

/// A word of letters, digits and some `marks`.
fn identifier(reader: &mut Reader<'_>, marks: &str) -> Option<String> {
    reader.skip_blank();
    let word = reader.word_with(marks);
    word.starts_with(|c: char| c.is_alphabetic() || c == '_').then(|| word.to_owned())
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &str) {
        let read: Vec<String> =
            scan(text).iter().map(|call| format!("{} {}", call.name, Value::Object(call.arguments.clone()))).collect();
        assert_eq!(read.join("; "), expected, "{text}");
    }

    #[test]
    fn calls_are_read() {
        check("[special_function(arg1=1)]", r#"special_function {"arg1":1}"#);
        check("[get_time(city=\"XYZCITY\")]", r#"get_time {"city":"XYZCITY"}"#);
        check("[toggle(enabled=True)]", r#"toggle {"enabled":true}"#);
        check("[fs.list_dir()]", "fs.list_dir {}");
        check("[a(x='1'), b(y=-2.5e3,),]", r#"a {"x":"1"}; b {"y":-2500.0}"#);
        check("[f(a=[1, [2, {}]], b={'k': None, \"l\": null})]", r#"f {"a":[1,[2,{}]],"b":{"k":null,"l":null}}"#);
        check(r#"Sure: [f(t="a]b)\"c\"\n\u00e9\ud83d\ude00")] ok"#, r#"f {"t":"a]b)\"c\"\né😀"}"#);
        check("[f(a=1)] then [g(b=false)]", r#"f {"a":1}; g {"b":false}"#);
        check("[ f ( a = 1 ) ]", r#"f {"a":1}"#);
    }

    #[test]
    fn brackets_without_calls_are_skipped() {
        check("[1, 2, 3] and a[i] and [link](url)", "");
        check("[f(1)]", "");
        check("[f(a=1, a=2)]", "");
        check("[f(a=b)]", "");
        check("[f(a=\"open)]", "");
        check("[f(a=1)", "");
        check("[]", "");
        check("see [here [f(a=1)]]", r#"f {"a":1}"#);
        check(&format!("[f(a={}{})]", "[".repeat(100), "]".repeat(100)), "");
    }

    /// Any JSON value a call may carry.
    pub fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e300f64..1e300).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec((any::<String>(), inner), 0..4)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    pub fn arguments() -> impl Strategy<Value = Map<String, Value>> {
        proptest::collection::vec(("[a-z_][a-z0-9_]{0,8}", value()), 0..5).prop_map(|all| all.into_iter().collect())
    }

    proptest! {
        #[test]
        fn a_written_call_is_read_back(name in "[a-z][a-z0-9_]{0,8}(\\.[a-z][a-z0-9_]{0,8})?", arguments in arguments()) {
            let text = format!("[{name}({})]", super::arguments(&arguments));
            prop_assert_eq!(scan(&text), vec![RawCall { name, arguments }]);
        }

        #[test]
        fn no_text_causes_a_panic(text in "[\\[\\](){}a-c=,'\"\\\\u0-9 é😀.-]{0,80}|.{0,80}") {
            scan(&text);
        }
    }
}
