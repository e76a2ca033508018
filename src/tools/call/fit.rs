//! Converts an argument's value to fit its JSON schema if that loses nothing.

use serde_json::{Map, Number, Value};

/// Returns the value itself or an equivalent one: `"3"` → `3`, `"true"` → `true`, `3` → `"3"`, `3`
/// → `[3]`, also inside lists and objects. The error states what was expected.
pub fn fit(value: &Value, schema: &Map<String, Value>) -> Result<Value, String> {
    if value.is_null() && allows_null(schema) {
        return Ok(Value::Null);
    }
    let value = &in_alternatives(value, schema)?;
    let kinds = kinds(schema);
    let fitted = if kinds.is_empty() || kinds.iter().any(|kind| is_of(value, kind)) {
        value.clone()
    } else {
        let converted = kinds.iter().find_map(|kind| converted(value, kind));
        converted.ok_or_else(|| kinds.join(" or "))?
    };
    let fitted = in_choices(inside(fitted, schema)?, schema)?;
    in_range(&fitted, schema)?;
    Ok(fitted)
}

/// Fits the value to every schema of `allOf` and to one of `anyOf` or `oneOf`: unchanged if one of
/// these accepts it, else converted for the first one that can accept it.
fn in_alternatives(value: &Value, schema: &Map<String, Value>) -> Result<Value, String> {
    let schemas =
        |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    let mut fitted = value.clone();
    for part in schemas("allOf") {
        fitted = fit(&fitted, part)?;
    }
    let tried: Vec<Result<Value, String>> =
        schemas("anyOf").chain(schemas("oneOf")).map(|alternative| fit(&fitted, alternative)).collect();
    if tried.is_empty() || tried.iter().flatten().any(|one| *one == fitted) {
        return Ok(fitted);
    }
    match tried.iter().flatten().next() {
        Some(converted) => Ok(converted.clone()),
        None => Err(tried.into_iter().filter_map(Result::err).collect::<Vec<_>>().join(" or ")),
    }
}

/// A list with fitted elements, or an object with fitted fields; any other value is returned
/// unchanged. The recursion is as deep as the schema.
fn inside(value: Value, schema: &Map<String, Value>) -> Result<Value, String> {
    let part = |name: &str| schema.get(name).and_then(Value::as_object);
    match (value, part("items"), part("properties")) {
        (Value::Array(all), Some(items), _) => {
            let one = |one: &Value| fit(one, items).map_err(|expected| format!("array of {expected}"));
            all.iter().map(one).collect::<Result<Vec<Value>, String>>().map(Value::Array)
        }
        (Value::Object(mut fields), _, Some(properties)) => {
            // A null field stays null.
            for (name, field) in fields.iter_mut().filter(|(_, field)| !field.is_null()) {
                let Some(schema) = properties.get(name).and_then(Value::as_object) else { continue };
                *field = fit(field, schema).map_err(|expected| format!("object with `{name}`: {expected}"))?;
            }
            Ok(Value::Object(fields))
        }
        (value, ..) => Ok(value),
    }
}

pub fn allows_null(schema: &Map<String, Value>) -> bool {
    let alternatives = ["anyOf", "oneOf"].iter().filter_map(|key| schema.get(*key)?.as_array()).flatten();
    kinds(schema).contains(&"null")
        || schema.get("nullable") == Some(&Value::Bool(true))
        || alternatives.filter_map(Value::as_object).any(allows_null)
}

/// The types that a schema names; empty if it allows any type.
fn kinds(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn converted(value: &Value, kind: &str) -> Option<Value> {
    match (kind, value) {
        ("integer", Value::Number(n)) => whole(n),
        ("integer", Value::String(text)) => text.trim().parse::<i64>().ok().map(Value::from),
        ("number", Value::String(text)) => number(text.trim()),
        ("boolean", Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" => Some(Value::Bool(true)),
            "false" | "no" => Some(Value::Bool(false)),
            _ => None,
        },
        ("string", Value::Number(_) | Value::Bool(_)) => Some(Value::String(value.to_string())),
        ("string", Value::Array(all)) if all.len() == 1 && all[0].is_string() => Some(all[0].clone()),
        ("array" | "object", Value::String(text)) if text.trim_start().starts_with(['[', '{']) => {
            serde_json::from_str(text).ok().filter(|inner| is_of(inner, kind))
        }
        ("array", Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Object(_)) => {
            Some(Value::Array(vec![value.clone()]))
        }
        _ => None,
    }
}

/// `3.0` is 3.
fn whole(number: &Number) -> Option<Value> {
    let float = number.as_f64()?;
    (float.fract() == 0.0 && float.abs() < 9e15).then(|| Value::from(float as i64))
}

fn number(text: &str) -> Option<Value> {
    match text.parse::<i64>() {
        Ok(whole) => Some(Value::from(whole)),
        Err(_) => text.parse::<f64>().ok().and_then(Number::from_f64).map(Value::Number),
    }
}

/// The allowed value that equals `value`, else the single one that differs only in case, `-`, `_`
/// and spaces.
fn in_choices(value: Value, schema: &Map<String, Value>) -> Result<Value, String> {
    let only = schema.get("const").map(std::slice::from_ref);
    let all = only.or_else(|| schema.get("enum").and_then(Value::as_array).map(Vec::as_slice));
    let Some(choices) = all.filter(|all| !all.contains(&value)) else { return Ok(value) };
    let plain = |value: &Value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>()
    };
    let wanted = plain(&value);
    let mut same = choices.iter().filter(|choice| !wanted.is_empty() && plain(choice) == wanted);
    match (same.next(), same.next()) {
        (Some(one), None) => Ok(one.clone()),
        _ => {
            let choices: Vec<String> = choices.iter().take(20).map(Value::to_string).collect();
            Err(format!("one of {}", choices.join(", ")))
        }
    }
}

fn in_range(value: &Value, schema: &Map<String, Value>) -> Result<(), String> {
    let Some(number) = value.as_f64() else { return Ok(()) };
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let kind = kinds(schema).first().copied().unwrap_or("number");
    match (bound("minimum"), bound("maximum")) {
        (Some(least), _) if number < least => Err(format!("{kind} of at least {least}")),
        (_, Some(most)) if number > most => Err(format!("{kind} of at most {most}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(value: Value, schema: Value, expected: Result<Value, &str>) {
        let found = fit(&value, schema.as_object().unwrap());
        assert_eq!(found, expected.map_err(str::to_owned), "{value} {schema}");
    }

    #[test]
    fn a_value_fits_one_of_several_schemas() {
        let optional = || json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }], "default": null });
        check(json!(3), optional(), Ok(json!(3)));
        check(json!("3"), optional(), Ok(json!(3)));
        check(Value::Null, optional(), Ok(Value::Null));
        check(json!("three"), optional(), Err("integer or null"));
        check(json!("a"), json!({ "oneOf": [{ "type": "integer" }, { "type": "string" }] }), Ok(json!("a")));
        check(json!("7"), json!({ "allOf": [{ "type": "integer" }, { "maximum": 9 }] }), Ok(json!(7)));
        check(Value::Null, json!({ "type": "string", "nullable": true }), Ok(Value::Null));
        check(json!("Circle"), json!({ "const": "circle" }), Ok(json!("circle")));
        check(json!("square"), json!({ "const": "circle" }), Err("one of \"circle\""));
    }
}
