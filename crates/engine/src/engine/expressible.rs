//! Removes from a JSON schema what a grammar cannot enforce: annotations, formats, non-local
//! constraints.
//!
//! The keys of a schema are constraints and annotations. `format`, `title`, `examples` and keys
//! that no draft defines are annotations (JSON Schema 2020-12, validation, 7.2.1). Constraints such
//! as `not`, `if` or `uniqueItems` cannot be enforced during generation; the text then meets the
//! other constraints, and a note lists the dropped ones.

use serde_json::{Map, Value, json};

use super::grammar;

/// JSON Schema constraints that grammars here do not enforce.
const NOT_KEPT: [&str; 14] = [
    "not",
    "if",
    "then",
    "else",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const TYPES: [&str; 7] = ["null", "boolean", "number", "integer", "string", "array", "object"];
/// Largest length or number of elements that is enforced; above it, a value may have any length.
const COUNTED_MAX: u64 = 2_000;

/// A schema that a grammar can enforce.
#[derive(Clone, Debug, PartialEq)]
pub struct Expressible {
    pub schema: Value,
    /// The parts of the schema that are not enforced, each with its place.
    pub notes: Vec<String>,
}

/// The part of `schema` that a grammar can enforce. References must have the form `#/$defs/NAME`.
/// The error says why nothing can be generated from it.
pub fn expressible(schema: &Value) -> Result<Expressible, String> {
    let mut notes = Vec::new();
    let mut kept = keep(schema, "", &mut notes);
    if let (Some(stored), Some(fields)) = (schema.get("$defs").and_then(Value::as_object), kept.as_object_mut()) {
        let mut all = Map::new();
        for (name, one) in stored {
            let one =
                if leads_back(stored, name) { json!({}) } else { keep(one, &format!(".$defs.{name}"), &mut notes) };
            all.insert(name.clone(), one);
        }
        fields.insert("$defs".to_owned(), Value::Object(all));
    }
    match grammar::compiles(&kept) {
        Ok(()) => Ok(Expressible { schema: kept, notes }),
        Err(_) => relaxed(kept, notes),
    }
}

/// Does the same for the arguments of a call, which must be an object; allows any object if nothing
/// else can be enforced.
pub fn arguments(schema: &Value) -> Expressible {
    let mut schema = schema.clone();
    if let Value::Object(fields) = &mut schema {
        // A list of types, or no type, would allow a call whose arguments are not an object.
        fields.insert("type".to_owned(), "object".into());
    }
    close(&mut schema);
    expressible(&schema).unwrap_or_else(|why| Expressible { schema: json!({ "type": "object" }), notes: vec![why] })
}

/// Closes objects that list their properties without stating whether others are allowed, because
/// small models tend to add some. Parts and alternatives stay open: closing one would forbid the
/// properties of the others.
fn close(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    if ["allOf", "anyOf", "oneOf", "$ref", "patternProperties"].iter().any(|key| fields.contains_key(*key)) {
        return;
    }
    if let Some(items) = fields.get_mut("items") {
        close(items);
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties").filter(|all| **all != json!({})) {
        properties.values_mut().for_each(close);
        fields.entry("additionalProperties").or_insert(Value::Bool(false));
    }
}

/// Whether `name` in `stored` is a reference that leads back to itself and therefore has no
/// meaning.
fn leads_back(stored: &Map<String, Value>, name: &str) -> bool {
    let mut at = name;
    for _ in 0..=stored.len() {
        let next = stored.get(at).filter(|one| one.as_object().is_some_and(|fields| fields.len() == 1));
        match next.and_then(|one| one["$ref"].as_str()).and_then(|to| to.strip_prefix("#/$defs/")) {
            Some(to) if to == name => return true,
            Some(to) => at = to,
            None => return false,
        }
    }
    true
}

fn keep(schema: &Value, place: &str, notes: &mut Vec<String>) -> Value {
    let fields = match schema {
        Value::Object(fields) => fields,
        Value::Bool(allowed) => return Value::Bool(*allowed),
        _ => return json!({}),
    };
    let mut kept = Map::new();
    // A second list of alternatives, such as `oneOf` next to `anyOf`.
    let mut beside = None;
    for (key, value) in fields {
        if NOT_KEPT.contains(&key.as_str()) && *value != false {
            notes.push(format!("`{key}`{} cannot be enforced by a grammar", at(place)));
            continue;
        }
        // A grammar cannot ensure that only one of them holds.
        let name = if key == "oneOf" { "anyOf" } else { key };
        match kept_value(name, value, place, notes) {
            Some(Some(value)) if name == "anyOf" && kept.contains_key(name) => beside = Some(value),
            Some(Some(value)) => drop(kept.insert(name.to_owned(), value)),
            Some(None) => notes.push(format!("`{key}`{} has an invalid value", at(place))),
            None => {}
        }
    }
    if let Some(value) = beside
        && let Value::Array(all) = kept.entry("allOf").or_insert(json!([]))
    {
        all.push(json!({ "anyOf": value }));
    }
    closed_without_names(&mut kept);
    if fields.get("nullable") == Some(&Value::Bool(true)) { or_null(kept) } else { Value::Object(kept) }
}

/// The part of a key's value that is enforced; the inner `None` if its type is wrong, the outer one
/// if the key is an annotation.
fn kept_value(key: &str, value: &Value, place: &str, notes: &mut Vec<String>) -> Option<Option<Value>> {
    let below = |name: &str| format!("{place}.{name}");
    let valid = |is_valid: bool| is_valid.then(|| value.clone());
    let count =
        || value.as_u64().or_else(|| value.as_f64().filter(|n| *n >= 0.0 && n.fract() == 0.0).map(|n| n as u64));
    let kept = match key {
        "type" => types(value),
        "enum" => valid(value.as_array().is_some_and(|all| !all.is_empty())),
        "const" => valid(true),
        "$ref" => valid(value.as_str().is_some_and(|to| to.starts_with("#/$defs/"))),
        "items" if !value.is_array() => Some(keep(value, &below(key), notes)),
        "anyOf" | "allOf" | "prefixItems" | "items" => {
            let all = value.as_array().filter(|all| !all.is_empty());
            all.map(|all| all.iter().map(|one| keep(one, place, notes)).collect())
        }
        "additionalItems" | "additionalProperties" => Some(keep(value, &below(key), notes)),
        "properties" | "patternProperties" => {
            let one = |(name, one): (&String, &Value)| (name.clone(), keep(one, &below(name), notes));
            value.as_object().map(|all| all.iter().map(one).collect())
        }
        "required" => value.as_array().map(|all| all.iter().filter(|one| one.is_string()).cloned().collect()),
        "minLength" | "minItems" | "minProperties" => count().map(|count| count.min(COUNTED_MAX).into()),
        "maxLength" | "maxItems" | "maxProperties" if count().is_some_and(|count| count > COUNTED_MAX) => return None,
        "maxLength" | "maxItems" | "maxProperties" => count().map(Value::from),
        "minimum" | "maximum" => valid(value.is_number()),
        "exclusiveMinimum" | "exclusiveMaximum" => valid(value.is_number() || value.is_boolean()),
        "multipleOf" => valid(value.as_f64().is_some_and(|one| one > 0.0)),
        "pattern" => {
            let compiles = |pattern| grammar::compiles(&json!({ "type": "string", "pattern": pattern })).is_ok();
            valid(value.as_str().is_some_and(compiles))
        }
        _ => return None,
    };
    Some(kept)
}

/// The valid JSON Schema type names in `value`.
fn types(value: &Value) -> Option<Value> {
    let known = |one: &Value| one.as_str().is_some_and(|name| TYPES.contains(&name));
    match value {
        Value::Array(all) => {
            let all: Vec<Value> = all.iter().filter(|one| known(one)).cloned().collect();
            Some(Value::Array(all)).filter(|all| *all != json!([]))
        }
        one => Some(one.clone()).filter(known),
    }
}

/// Drops required properties that a closed object does not define; it could never be generated.
fn closed_without_names(kept: &mut Map<String, Value>) {
    if kept.get("additionalProperties") != Some(&Value::Bool(false)) || kept.contains_key("patternProperties") {
        return;
    }
    let names: Vec<String> =
        kept.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.clone()).collect();
    if let Some(Value::Array(required)) = kept.get_mut("required") {
        required.retain(|one| one.as_str().is_some_and(|one| names.iter().any(|name| name == one)));
    }
}

/// The schema or `null`, which is the meaning of `nullable` in OpenAPI 3.0.
fn or_null(mut kept: Map<String, Value>) -> Value {
    if kept.is_empty() {
        return json!({});
    }
    let is_plain = !["anyOf", "allOf", "$ref", "const"].iter().any(|key| kept.contains_key(*key));
    match kept.get("type").cloned() {
        Some(Value::String(one)) if is_plain => {
            kept.insert("type".to_owned(), json!([one, "null"]));
            if let Some(Value::Array(choices)) = kept.get_mut("enum") {
                choices.push(Value::Null);
            }
            Value::Object(kept)
        }
        _ => json!({ "anyOf": [kept, { "type": "null" }] }),
    }
}

fn at(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(" of `{}`", place.trim_start_matches('.')) }
}

/// The schema in which properties that no grammar can be made for may be anything; the notes list
/// each of them.
fn relaxed(mut kept: Value, mut notes: Vec<String>) -> Result<Expressible, String> {
    let stored = kept.get("$defs").cloned();
    if let Some(properties) = kept.get_mut("properties").and_then(Value::as_object_mut) {
        for (name, one) in properties {
            let mut alone = json!({ "type": "object", "properties": { name.as_str(): &*one }, "required": [name] });
            if let Some(stored) = &stored {
                alone["$defs"] = stored.clone();
            }
            if let Err(why) = grammar::compiles(&alone) {
                notes.push(format!("`{name}` may be anything, because no grammar can be made from its schema: {why}"));
                *one = json!({});
            }
        }
    }
    grammar::compiles(&kept).map_err(|why| format!("no grammar can be made from the schema: {why}"))?;
    Ok(Expressible { schema: kept, notes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: Value, expected: Value, notes: usize) {
        let found = expressible(&schema).expect("a grammar");
        assert_eq!((&found.schema, found.notes.len()), (&expected, notes), "{schema}: {:?}", found.notes);
    }

    #[test]
    fn annotations_are_not_constraints() {
        for format in ["semver", "json-pointer", "int64", "phone", "date", "e-mail"] {
            check(json!({ "type": "string", "format": format }), json!({ "type": "string" }), 0);
        }
        let told = json!({ "type": "integer", "title": "Age", "examples": [3], "default": 1, "deprecated": true,
                           "contentEncoding": "base64", "x-order": 2, "discriminator": { "propertyName": "k" },
                           "x-guidance": { "lenient": 1 } });
        check(told, json!({ "type": "integer" }), 0);
    }

    #[test]
    fn what_no_grammar_keeps_is_left_out_and_named() {
        let schema = json!({ "type": "object", "properties": {
            "tags": { "type": "array", "items": { "type": "string" }, "uniqueItems": true },
            "name": { "type": "string", "pattern": "^(?!admin)\\w+$" },
        }, "not": { "required": ["x"] }, "required": ["tags"] });
        let found = expressible(&schema).unwrap();
        let expected = json!({ "type": "object", "properties": {
            "tags": { "type": "array", "items": { "type": "string" } }, "name": { "type": "string" },
        }, "required": ["tags"] });
        assert_eq!(found.schema, expected);
        assert_eq!(found.notes[0], "`uniqueItems` of `tags` cannot be enforced by a grammar");
        assert!(found.notes[1].starts_with("`pattern` of `name`") && found.notes[2].starts_with("`not` cannot"));
    }

    #[test]
    fn the_forms_of_generators_are_kept() {
        check(json!({ "type": "string", "nullable": true }), json!({ "type": ["string", "null"] }), 0);
        let optional = json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }], "default": null, "title": "N" });
        check(optional, json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] }), 0);
        let one = json!({ "oneOf": [{ "const": "a" }, { "type": "string" }] });
        check(one, json!({ "anyOf": [{ "const": "a" }, { "type": "string" }] }), 0);
        let both =
            json!({ "anyOf": [{ "const": "a" }], "oneOf": [{ "type": "string" }], "allOf": [{ "minLength": 1 }] });
        let all = json!([{ "minLength": 1 }, { "anyOf": [{ "type": "string" }] }]);
        check(both, json!({ "anyOf": [{ "const": "a" }], "allOf": all }), 0);
        let tree = json!({ "type": "object", "properties": { "next": { "$ref": "#/$defs/part1" } },
                           "$defs": { "part1": { "anyOf": [{ "type": "null" }, { "$ref": "#/$defs/part1" }] } } });
        check(tree.clone(), tree, 0);
        check(json!({ "type": "string", "maxLength": 1_000_000 }), json!({ "type": "string" }), 0);
    }

    #[test]
    fn a_wrong_value_of_a_key_harms_nothing_else() {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string", "minLength": "größer als drei" },
            "b": { "type": "file" }, "c": { "enum": [] }, "d": "text" } });
        let expected =
            json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": {}, "c": {}, "d": {} } });
        check(schema, expected, 3);
        check(
            json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/a" } } }),
            json!({ "$ref": "#/$defs/a", "$defs": { "a": {} } }),
            0,
        );
    }

    #[test]
    fn a_property_that_nothing_satisfies_is_freed_and_a_whole_schema_is_an_error() {
        let never = json!({ "allOf": [{ "type": "string" }, { "type": "integer" }] });
        let schema =
            json!({ "type": "object", "properties": { "a": never, "b": { "type": "null" } }, "required": ["a"] });
        let found = expressible(&schema).unwrap();
        assert_eq!(found.schema["properties"], json!({ "a": {}, "b": { "type": "null" } }));
        assert!(found.notes[0].starts_with("`a` may be anything"), "{:?}", found.notes);
        assert!(expressible(&never).is_err());
        assert_eq!(arguments(&never).schema, json!({ "type": "object" }));
    }

    #[test]
    fn a_call_has_no_arguments_that_the_tool_does_not_list() {
        let place = json!({ "type": "object", "properties": { "town": { "type": "string" } } });
        let closed = arguments(&json!({ "properties": { "at": place, "more": { "allOf": [place] } } })).schema;
        assert_eq!(
            (&closed["additionalProperties"], &closed["properties"]["at"]["additionalProperties"]),
            (&json!(false), &json!(false))
        );
        assert_eq!(closed["properties"]["more"]["allOf"][0]["additionalProperties"], Value::Null);
        let open = json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": true });
        assert_eq!(arguments(&open).schema["additionalProperties"], json!(true));
    }
}
