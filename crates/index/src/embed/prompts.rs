//! The words that a model wants before a text, by its purpose, from `config_sentence_transformers.json`.

use std::path::Path;

use serde_json::Value;

use super::error::EmbedError;
use super::files::{damaged, unsupported};

/// For which purpose a text is embedded. Many models were trained with other words before a query
/// than before what it is to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Query,
    /// A text that queries are to find.
    Document,
    /// A text whose purpose only the caller has: it gets the model's default prompt, if there is one.
    Plain,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Prompts {
    query: String,
    document: String,
    plain: String,
}

impl Prompts {
    /// Reads the content of `file`, which looks like
    /// `{"prompts": {"query": "query: ", "document": "passage: "}, "default_prompt_name": null}`.
    pub fn read(file: &Path, value: &Value) -> Result<Prompts, EmbedError> {
        let prompts = &value["prompts"];
        if !(prompts.is_object() || prompts.is_null()) {
            return Err(unsupported(file, "prompts", prompts, "an object of texts"));
        }
        let named = |name: &str| match &prompts[name] {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text.clone())),
            other => Err(unsupported(file, &format!("prompts.{name}"), other, "a text")),
        };
        let plain = match &value["default_prompt_name"] {
            Value::Null => String::new(),
            Value::String(name) => named(name)?.ok_or_else(|| {
                damaged(file, format!("`default_prompt_name` is {name:?}, which is not in `prompts`"))
            })?,
            other => return Err(unsupported(file, "default_prompt_name", other, "the name of a prompt")),
        };
        // The names that sentence-transformers' `encode_query` and `encode_document` look for.
        let first = |names: &[&str]| -> Result<String, EmbedError> {
            for name in names {
                if let Some(prompt) = named(name)? {
                    return Ok(prompt);
                }
            }
            Ok(plain.clone())
        };
        Ok(Prompts { query: first(&["query"])?, document: first(&["document", "passage", "corpus"])?, plain })
    }

    pub fn of(&self, purpose: Purpose) -> &str {
        match purpose {
            Purpose::Query => &self.query,
            Purpose::Document => &self.document,
            Purpose::Plain => &self.plain,
        }
    }

    /// The three prompts, which may be empty.
    pub fn all(&self) -> [&str; 3] {
        [&self.query, &self.document, &self.plain]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn queries_documents_and_plain_texts_have_prompts_of_their_own() {
        let check = |value: Value, expected: [&str; 3]| {
            let prompts = Prompts::read(Path::new("c.json"), &value).unwrap();
            assert_eq!(prompts.all(), expected, "{value}");
        };
        check(json!({}), ["", "", ""]);
        check(json!({"prompts": {"query": "q: ", "passage": "p: "}, "default_prompt_name": null}), ["q: ", "p: ", ""]);
        check(json!({"prompts": {"query": "q: ", "document": ""}, "default_prompt_name": "query"}), ["q: ", "", "q: "]);
        check(json!({"prompts": {"other": "o: "}, "default_prompt_name": "other"}), ["o: ", "o: ", "o: "]);
    }

    #[test]
    fn a_prompt_that_is_no_text_or_missing_is_named() {
        let check = |value: Value, expected: &str| {
            let error = Prompts::read(Path::new("c.json"), &value).unwrap_err().to_string();
            assert!(error.contains("c.json") && error.contains(expected), "{error}");
        };
        check(json!({"prompts": ["a"]}), "`prompts` is [\"a\"]");
        check(json!({"prompts": {"query": 3}}), "`prompts.query` is 3");
        check(json!({"prompts": {}, "default_prompt_name": "query"}), "\"query\", which is not in `prompts`");
    }
}
