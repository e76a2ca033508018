//! Makes a JSON schema self-contained by replacing references with the schemas that they refer to,
//! so that it can be embedded in another text.
//!
//! `{"properties": {"at": {"$ref": "#/$defs/Place"}}, "$defs": {"Place": {…}}}` becomes
//! `{"properties": {"at": {…}}}`. A recursive schema stays a reference, `#/$defs/NAME` from the
//! root. A reference without a target allows any value.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::spec;

/// Maximum number of JSON values that replace references. Further references stay, since a schema
/// could grow without bounds.
const INLINED_MAX: usize = 4_000;
/// Keys whose values are data and not schemas.
pub const DATA: [&str; 5] = ["enum", "const", "default", "examples", "example"];
/// Keys whose values map names to schemas; these names are not JSON Schema keywords.
const BY_NAME: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];
/// Keys whose schemas are used only through references.
const STORES: [&str; 2] = ["$defs", "definitions"];
/// Keys that name a schema.
const NAMING: [&str; 5] = ["$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$schema"];
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// Annotations: those next to a reference replace the annotations of the schema that it refers to.
const TELLING: [&str; 9] =
    ["description", "title", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "nullable"];

/// `schema` without external references, and with the type names of JSON Schema.
pub fn standalone(mut schema: Value) -> Value {
    spec::standardize(&mut schema);
    let short = Resolver::of(&schema, INLINED_MAX).whole();
    // If the result would nest too deeply, references stay references.
    if spec::depth(&short) <= spec::SCHEMA_MAX_DEPTH { short } else { Resolver::of(&schema, 0).whole() }
}

struct Resolver<'s> {
    root: &'s Value,
    /// The base address that applies inside each object.
    bases: HashMap<*const Value, String>,
    /// The schemas with an address or an anchor: `https://a.example/b`, `https://a.example/b#c`.
    named: HashMap<String, &'s Value>,
    /// The targets that are being inserted, outermost first.
    open: Vec<*const Value>,
    /// The names of targets that stay references.
    names: HashMap<*const Value, String>,
    waiting: Vec<&'s Value>,
    left: usize,
}

impl<'s> Resolver<'s> {
    fn of(root: &'s Value, left: usize) -> Resolver<'s> {
        let (bases, named, names) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut resolver = Resolver { root, bases, named, open: Vec::new(), names, waiting: Vec::new(), left };
        resolver.note(root, "");
        resolver.named.insert(String::new(), root);
        resolver
    }

    /// Records the addresses in `value` and below.
    fn note(&mut self, value: &'s Value, base: &str) {
        match value {
            Value::Object(fields) => {
                let own = fields.get("$id").and_then(Value::as_str).map(|id| joined(base, id.trim_end_matches('#')));
                let base = own.as_deref().unwrap_or(base);
                if own.is_some() {
                    self.named.insert(base.to_owned(), value);
                }
                for anchor in ["$anchor", "$dynamicAnchor"].iter().filter_map(|key| fields.get(*key)?.as_str()) {
                    self.named.insert(format!("{base}#{anchor}"), value);
                }
                self.bases.insert(std::ptr::from_ref(value), base.to_owned());
                for (_, inner) in fields.iter().filter(|(key, _)| !DATA.contains(&key.as_str())) {
                    self.note(inner, base);
                }
            }
            Value::Array(all) => all.iter().for_each(|inner| self.note(inner, base)),
            _ => {}
        }
    }

    /// The schema that `reference`, found in `from`, refers to.
    fn target(&self, from: &'s Value, reference: &str) -> Option<&'s Value> {
        let base = self.bases.get(&std::ptr::from_ref(from)).map_or("", String::as_str);
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let address = if address.is_empty() { base.to_owned() } else { joined(base, address) };
        let document = self.named.get(&address).copied();
        let fragment = unescaped(fragment);
        if fragment.is_empty() {
            return document;
        }
        if !fragment.starts_with('/') {
            return self.named.get(&format!("{address}#{fragment}")).copied();
        }
        // Generators write pointers that start at the root of the whole document, even across
        // addresses.
        document.and_then(|document| document.pointer(&fragment)).or_else(|| self.root.pointer(&fragment))
    }

    fn whole(mut self) -> Value {
        // The parameters of a tool are read at the root, so a root that is only a reference is
        // always followed.
        let start = if self.left == 0 { self.followed() } else { self.root };
        self.open = vec![std::ptr::from_ref(start)];
        let mut whole = self.schema(start);
        let mut stored = Map::new();
        while let Some(target) = self.waiting.pop() {
            self.open = vec![std::ptr::from_ref(target)];
            let written = self.schema(target);
            stored.insert(self.names[&std::ptr::from_ref(target)].clone(), written);
        }
        if let (Value::Object(fields), false) = (&mut whole, stored.is_empty()) {
            fields.insert("$defs".to_owned(), Value::Object(stored));
        }
        whole
    }

    /// The schema at the end of the root's chain of references.
    fn followed(&self) -> &'s Value {
        let (mut at, mut seen) = (self.root, Vec::new());
        while let Some(next) = reference(at).and_then(|reference| self.target(at, reference)) {
            if seen.contains(&std::ptr::from_ref(next)) {
                break;
            }
            seen.push(std::ptr::from_ref(next));
            at = next;
        }
        at
    }

    fn schema(&mut self, value: &'s Value) -> Value {
        self.left = self.left.saturating_sub(1);
        let fields = match value {
            Value::Object(fields) => fields,
            Value::Array(all) => return all.iter().map(|one| self.schema(one)).collect(),
            plain => return plain.clone(),
        };
        let mut written = Map::new();
        for (key, inner) in fields {
            let key = key.as_str();
            let is_store = STORES.contains(&key) && inner.is_object();
            if is_store || NAMING.contains(&key) || (REFERENCES.contains(&key) && inner.is_string()) {
                continue;
            }
            let inner = match inner {
                Value::Object(named) if BY_NAME.contains(&key) => {
                    named.iter().map(|(name, one)| (name.clone(), self.schema(one))).collect()
                }
                data if DATA.contains(&key) => data.clone(),
                schema => self.schema(schema),
            };
            written.insert(key.to_owned(), inner);
        }
        if let Some(target) = reference(value).and_then(|reference| self.target(value, reference)) {
            let inner = self.put_in(target);
            return beside(written, inner);
        }
        merged(written)
    }

    /// The schema at `target`, or a reference to it if it contains itself or [`INLINED_MAX`] is
    /// reached.
    fn put_in(&mut self, target: &'s Value) -> Value {
        let place = std::ptr::from_ref(target);
        if self.left > 0 && !self.open.contains(&place) {
            self.open.push(place);
            let written = self.schema(target);
            self.open.pop();
            return written;
        }
        if !self.names.contains_key(&place) {
            self.names.insert(place, format!("part{}", self.names.len() + 1));
            self.waiting.push(target);
        }
        serde_json::json!({ "$ref": format!("#/$defs/{}", self.names[&place]) })
    }
}

/// The schema `inner`, merged with the keys next to the reference to it.
fn beside(mut written: Map<String, Value>, inner: Value) -> Value {
    if written.is_empty() {
        return inner;
    }
    match inner {
        Value::Object(mut fields) if written.keys().all(|key| TELLING.contains(&key.as_str())) => {
            fields.extend(written);
            Value::Object(fields)
        }
        inner => {
            let mut all = vec![inner];
            if let Some(Value::Array(others)) = written.remove("allOf") {
                all.extend(others);
            }
            written.insert("allOf".to_owned(), Value::Array(all));
            merged(written)
        }
    }
}

/// Merges the parts of `allOf` into the schema, unless two values of a key may conflict.
fn merged(schema: Map<String, Value>) -> Value {
    let Some(Value::Array(all)) = schema.get("allOf") else { return Value::Object(schema) };
    let mut whole = schema.clone();
    whole.remove("allOf");
    for one in all {
        let Some(part) = one.as_object() else { return Value::Object(schema) };
        for (key, value) in part {
            let Some(there) = whole.get_mut(key) else {
                whole.insert(key.clone(), value.clone());
                continue;
            };
            if !joins(key, there, value) {
                return Value::Object(schema);
            }
        }
    }
    // A part that forbids other properties conflicts with those of the other parts, so `allOf` must
    // stay.
    let is_closed = |part: &Value| part.get("additionalProperties").is_some_and(|others| others != true);
    if all.len() > 1 && all.iter().any(is_closed) { Value::Object(schema) } else { Value::Object(whole) }
}

/// Adds `value` of another part to the existing value of the key; false if they may conflict.
fn joins(key: &str, there: &mut Value, value: &Value) -> bool {
    if *there == *value || TELLING.contains(&key) {
        return true;
    }
    match (key, there, value) {
        ("properties", Value::Object(there), Value::Object(more)) => {
            let same = more.iter().all(|(name, one)| there.get(name).is_none_or(|known| known == one));
            there.extend(more.clone());
            same
        }
        ("required", Value::Array(there), Value::Array(more)) => {
            let new: Vec<Value> = more.iter().filter(|name| !there.contains(name)).cloned().collect();
            there.extend(new);
            true
        }
        _ => false,
    }
}

fn reference(schema: &Value) -> Option<&str> {
    REFERENCES.iter().find_map(|key| schema.get(*key)?.as_str())
}

/// Resolves `address` relative to `base` (RFC 3986, 5.2, without dots).
fn joined(base: &str, address: &str) -> String {
    if address.contains("://") || address.starts_with("urn:") || base.is_empty() {
        return address.to_owned();
    }
    let start = base.find("://").map_or(0, |at| at + 3);
    let folder = if address.starts_with('/') {
        &base[..base[start..].find('/').map_or(base.len(), |at| start + at)]
    } else {
        &base[..base[start..].rfind('/').map_or(base.len(), |at| start + at + 1)]
    };
    format!("{folder}{address}")
}

/// A fragment with its percent escapes decoded: `%24defs` becomes `$defs`.
fn unescaped(fragment: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = fragment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| fragment.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: Value, expected: Value) {
        let written = schema.to_string();
        assert_eq!(standalone(schema), expected, "{written}");
    }

    #[test]
    fn a_reference_becomes_what_it_leads_to_wherever_it_was_stored() {
        let color = || json!({ "enum": ["red", "blue"] });
        let painted = |schema: Value| json!({ "type": "object", "properties": { "color": schema } });
        let with = |reference: &str, store: &str| {
            let mut schema = painted(json!({ "$ref": reference }));
            schema[store] = json!({ "Hue": color(), "a/b": color(), "ü": color() });
            schema
        };
        check(with("#/$defs/Hue", "$defs"), painted(color()));
        check(with("#/definitions/Hue", "definitions"), painted(color()));
        check(with("#/$defs/a~1b", "$defs"), painted(color()));
        check(with("#/%24defs/%C3%BC", "$defs"), painted(color()));
        let mut schema = painted(color());
        schema["properties"]["other"] = json!({ "$ref": "#/properties/color" });
        let mut expected = painted(color());
        expected["properties"]["other"] = color();
        check(schema, expected);
    }

    #[test]
    fn anchors_and_addresses_are_followed() {
        let named = |reference: &str, stored: Value| {
            json!({ "$id": "https://a.example/tools/paint", "properties": { "to": { "$ref": reference } },
                    "$defs": { "x": stored } })
        };
        let expected = || json!({ "properties": { "to": { "type": "integer" } } });
        check(named("#deep", json!({ "$anchor": "deep", "type": "integer" })), expected());
        check(named("layer", json!({ "$id": "layer", "type": "integer" })), expected());
        check(named("/tools/layer", json!({ "$id": "https://a.example/tools/layer", "type": "integer" })), expected());
        let away = json!({ "properties": { "to": { "$ref": "https://b.example/x", "description": "Where." } } });
        check(away, json!({ "properties": { "to": { "description": "Where." } } }));
    }

    #[test]
    fn a_schema_that_is_part_of_itself_stays_a_reference_from_the_root() {
        let tree = json!({ "$ref": "#/definitions/Node", "definitions": { "Node": {
            "type": "object", "properties": { "next": { "$ref": "#/definitions/Node" } } } } });
        let node = json!({ "type": "object", "properties": { "next": { "$ref": "#/$defs/part1" } } });
        let mut expected = node.clone();
        expected["$defs"] = json!({ "part1": node });
        check(tree, expected);
        let own = json!({ "type": "array", "items": { "$ref": "#" } });
        let inner = json!({ "type": "array", "items": { "$ref": "#/$defs/part1" } });
        check(own, json!({ "type": "array", "items": { "$ref": "#/$defs/part1" }, "$defs": { "part1": inner } }));
    }

    #[test]
    fn keys_beside_a_reference_are_kept() {
        let schema = |beside: Value| {
            let mut at = json!({ "$ref": "#/$defs/P" });
            at.as_object_mut().unwrap().extend(beside.as_object().unwrap().clone());
            json!({ "properties": { "at": at }, "$defs": { "P": { "type": "string", "description": "A place." } } })
        };
        let at = |expected: Value| json!({ "properties": { "at": expected } });
        check(schema(json!({ "description": "Here." })), at(json!({ "type": "string", "description": "Here." })));
        let bounded = at(json!({ "maxLength": 3, "type": "string", "description": "A place." }));
        check(schema(json!({ "maxLength": 3 })), bounded);
    }

    #[test]
    fn parts_of_an_all_of_become_one_schema() {
        let parts = json!({ "allOf": [
            { "type": "object", "properties": { "a": {} }, "required": ["a"] },
            { "type": "object", "properties": { "b": {} }, "required": ["b"] },
        ] });
        let expected = json!({ "type": "object", "properties": { "a": {}, "b": {} }, "required": ["a", "b"] });
        check(parts, expected);
        let apart = json!({ "allOf": [{ "type": "string" }, { "type": "integer" }] });
        check(apart.clone(), apart);
    }

    #[test]
    fn a_property_may_have_the_name_of_a_key() {
        let plain = json!({ "properties": { "$ref": { "type": "string" }, "definitions": { "type": "object" },
                                            "$id": { "type": "string" } },
                            "default": { "$ref": "#/nowhere" } });
        check(plain.clone(), plain);
    }

    #[test]
    fn a_schema_that_would_grow_without_bounds_stays_short() {
        let mut stored = Map::new();
        for level in 0..30 {
            let next = json!({ "$ref": format!("#/$defs/l{}", level + 1) });
            stored.insert(format!("l{level}"), json!({ "properties": { "a": next, "b": next } }));
        }
        stored.insert("l30".to_owned(), json!({ "type": "string" }));
        let whole = standalone(json!({ "$ref": "#/$defs/l0", "$defs": stored }));
        assert!(whole.to_string().len() < 64 << 10, "{} bytes", whole.to_string().len());
    }
}
