//! Generates the page of events from the types that are serialised: their names, fields and
//! comments.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use syn::{
    Attribute, Expr, ExprLit, Field, Fields, File, GenericArgument, Ident, Item, Lit, Meta, PathArguments, Type,
};

/// The serialised types by name.
#[derive(Default)]
struct Types(BTreeMap<String, Item>);

impl Types {
    fn add(&mut self, file: &Path) {
        let text = fs::read_to_string(file).expect("a source file");
        let File { items, .. } = syn::parse_file(&text).expect("it is Rust");
        for item in items {
            match &item {
                Item::Struct(one) => self.0.insert(one.ident.to_string(), item),
                Item::Enum(one) => self.0.insert(one.ident.to_string(), item),
                _ => None,
            };
        }
    }
}

/// Tables of all events, and of the types of their fields.
pub fn page(src: &Path) -> String {
    let mut types = Types::default();
    for file in [
        "protocol.rs",
        "protocol/cost.rs",
        "protocol/memory.rs",
        "protocol/step.rs",
        "protocol/telemetry.rs",
        "../crates/base/src/ids.rs",
        "../crates/base/src/units.rs",
    ] {
        types.add(&src.join(file));
    }
    let Some(Item::Enum(events)) = types.0.get("Event") else { panic!("Event is an enum") };
    let mut named = Vec::new();
    let mut page = String::from("| `type` | `data` | |\n|---|---|---|\n");
    for event in &events.variants {
        let fields = match &event.fields {
            Fields::Named(fields) => {
                let told: Vec<String> =
                    fields.named.iter().map(|field| types.field(field, &serde(&event.attrs), &mut named)).collect();
                told.join(", ")
            }
            Fields::Unnamed(fields) => types.told(&fields.unnamed[0].ty, &mut named),
            Fields::Unit => String::new(),
        };
        let name = serde(&event.attrs).remove("rename").expect("every event has a name on the wire");
        page += &format!("| `{name}` | {fields} | {} |\n", comment(&event.attrs));
    }
    let mut at = 0;
    while at < named.len() {
        let section = types.section(&named[at].clone(), &mut named);
        page += &section;
        at += 1;
    }
    page
}

impl Types {
    fn section(&self, name: &str, named: &mut Vec<String>) -> String {
        match &self.0[name] {
            Item::Struct(one) => {
                let mut text = format!("\n### {name}\n\n{}\n\n| field | | |\n|---|---|---|\n", comment(&one.attrs));
                let serde = serde(&one.attrs);
                for field in one.fields.iter().filter(|field| !serde_says(&field.attrs, "skip")) {
                    let told = self.told(&field.ty, named);
                    text += &format!("| `{}` | {told} | {} |\n", wire_name(field, &serde), comment(&field.attrs));
                }
                text
            }
            Item::Enum(one) => {
                let mut text = format!("\n### {name}\n\n{}\n\n", comment(&one.attrs));
                let serde = serde(&one.attrs);
                for variant in &one.variants {
                    let said = comment(&variant.attrs);
                    let said = if said.is_empty() { said } else { format!(": {said}") };
                    text += &format!("- `{}`{said}\n", cased(&variant.ident.to_string(), &serde));
                }
                text
            }
            _ => unreachable!("only structs and enums are kept"),
        }
    }

    fn field(&self, field: &Field, serde: &BTreeMap<String, String>, named: &mut Vec<String>) -> String {
        format!("`{}`: {}", wire_name(field, serde), self.told(&field.ty, named))
    }

    /// The name of a type for readers of JSON; a type with a section of its own is linked and added
    /// to `named`.
    fn told(&self, ty: &Type, named: &mut Vec<String>) -> String {
        match ty {
            Type::Tuple(tuple) => {
                let parts: Vec<String> = tuple.elems.iter().map(|one| self.told(one, named)).collect();
                format!("[{}]", parts.join(", "))
            }
            Type::Path(path) => {
                let last = path.path.segments.last().expect("a type has a name");
                let inner = |at: usize| match &last.arguments {
                    PathArguments::AngleBracketed(all) => match &all.args[at] {
                        GenericArgument::Type(ty) => ty.clone(),
                        _ => panic!("{}: not a type", last.ident),
                    },
                    _ => panic!("{} has no arguments", last.ident),
                };
                match last.ident.to_string().as_str() {
                    "String" => "text".to_owned(),
                    "bool" => "true or false".to_owned(),
                    "u8" | "u16" | "u32" | "u64" | "usize" | "f32" | "f64" => "number".to_owned(),
                    "Bytes" => "number of bytes".to_owned(),
                    "Value" => "any JSON".to_owned(),
                    "Map" => "object".to_owned(),
                    "Option" => format!("{} or null", self.told(&inner(0), named)),
                    "Vec" => format!("list of {}", self.told(&inner(0), named)),
                    name => self.link(name, named),
                }
            }
            _ => panic!("a type that the page cannot tell"),
        }
    }

    fn link(&self, name: &str, named: &mut Vec<String>) -> String {
        match self.0.get(name).unwrap_or_else(|| panic!("{name} is not among the files read")) {
            // A type around one value is serialised as that value.
            Item::Struct(one) if matches!(one.fields, Fields::Unnamed(_)) => {
                self.told(&one.fields.iter().next().expect("one field").ty, named)
            }
            _ => {
                if !named.iter().any(|one| one == name) {
                    named.push(name.to_owned());
                }
                format!("[{name}](#{})", name.to_lowercase())
            }
        }
    }
}

/// The names and values in `#[serde(name = "value")]`.
fn serde(attributes: &[Attribute]) -> BTreeMap<String, String> {
    let mut said = BTreeMap::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        let read = attribute.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().map(Ident::to_string).unwrap_or_default();
            let value = match meta.value() {
                Ok(value) => value.parse::<syn::LitStr>()?.value(),
                Err(_) => String::new(),
            };
            said.insert(name, value);
            Ok(())
        });
        read.expect("serde attributes are names and texts");
    }
    said
}

fn serde_says(attributes: &[Attribute], word: &str) -> bool {
    serde(attributes).contains_key(word)
}

fn wire_name(field: &Field, around: &BTreeMap<String, String>) -> String {
    let own = serde(&field.attrs).remove("rename");
    own.unwrap_or_else(|| cased(&field.ident.as_ref().expect("a named field").to_string(), around))
}

fn cased(name: &str, around: &BTreeMap<String, String>) -> String {
    match around.get("rename_all").map(String::as_str) {
        Some("camelCase") => {
            let mut parts = name.split('_');
            let first = parts.next().unwrap_or_default().to_owned();
            parts.fold(first, |all, part| all + &part[..1].to_uppercase() + &part[1..])
        }
        Some("snake_case") => {
            let parts = name.chars().enumerate().map(|(at, c)| match c.is_uppercase() && at > 0 {
                true => format!("_{}", c.to_lowercase()),
                false => c.to_lowercase().to_string(),
            });
            parts.collect()
        }
        Some("lowercase") => name.to_lowercase(),
        _ => name.to_owned(),
    }
}

/// The doc comment on one line, with links to types as plain names.
fn comment(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    let text = lines.collect::<Vec<_>>().join(" ");
    text.replace("[`", "`").replace("`]", "`").replace('|', "\\|")
}
