//! The prompts that a model expects before a text, by purpose.

use std::path::Path;

use serde_json::Value;

use super::error::EmbedError;
use super::files::{damaged, unsupported};
use crate::models::PromptTable;
use crate::models::gguf::Header;

/// The purpose for which a text is embedded. Many models were trained with different prompts for
/// queries and for the texts to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Query,
    /// A text for queries to find.
    Document,
    /// A text for an unstated purpose: it gets the model's default prompt, if there is one.
    Plain,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Prompts {
    query: String,
    document: String,
    plain: String,
}

/// Prompts published by the makers of model families, for GGUF files, whose headers have none: the
/// parts of a name, and the prompts for a query and a document. The first family whose parts are
/// all in the name applies.
const FAMILIES: [(&[&str], &str, &str); 12] = [
    (&["nomic-embed-text"], "search_query: ", "search_document: "),
    (&["nomic-embed-code"], "Represent this query for searching relevant code: ", ""),
    (&["coderankembed"], "Represent this query for searching relevant code: ", ""),
    (&["embeddinggemma"], "task: search result | query: ", "title: none | text: "),
    (
        &["qwen3-embedding"],
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
        "",
    ),
    (&["arctic-embed", "v2.0"], "query: ", ""),
    (&["arctic-embed"], PASSAGES, ""),
    (&["mxbai-embed"], PASSAGES, ""),
    (&["bge-", "-en"], PASSAGES, ""),
    (&["e5-small"], "query: ", "passage: "),
    (&["e5-base"], "query: ", "passage: "),
    (&["e5-large"], "query: ", "passage: "),
];
const PASSAGES: &str = "Represent this sentence for searching relevant passages: ";
/// Models of a family whose prompt is a task from the user instead.
const TOLD_A_TASK: &str = "instruct";

impl Prompts {
    /// The prompts from `[embedder] prompts` in models.toml.
    pub fn of_table(table: &PromptTable) -> Prompts {
        let PromptTable { query, document, plain } = table.clone();
        Prompts { query, document, plain }
    }

    /// The prompts of the model's family, recognised by the name in the header or of the file; none
    /// for other models.
    pub fn of_family(header: &Header) -> Prompts {
        let file = header.path.file_name().unwrap_or_default().to_string_lossy();
        let names = [header.name.as_str(), &*file].map(|name| name.to_lowercase().replace([' ', '_'], "-"));
        let is_in = |parts: &[&str]| names.iter().any(|name| parts.iter().all(|part| name.contains(part)));
        let found = FAMILIES.iter().find(|(parts, ..)| is_in(parts)).filter(|_| !is_in(&[TOLD_A_TASK]));
        found.map_or_else(Prompts::default, |(_, query, document)| Prompts {
            query: (*query).to_owned(),
            document: (*document).to_owned(),
            plain: String::new(),
        })
    }

    /// Reads the content of `file`, `config_sentence_transformers.json`, which looks like
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
    use crate::models::gguf::inspect;
    use crate::models::gguf::write::HeaderWriter;

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
    fn a_gguf_gets_the_prompts_of_its_family() {
        let dir = tempfile::tempdir().unwrap();
        let check = |name: &str, file: &str, expected: [&str; 2]| {
            let path = dir.path().join(file);
            std::fs::write(&path, HeaderWriter::new("bert").text("general.name", name).finish()).unwrap();
            let prompts = Prompts::of_family(&inspect(&path).unwrap());
            assert_eq!([prompts.of(Purpose::Query), prompts.of(Purpose::Document)], expected, "{name} {file}");
            assert_eq!(prompts.of(Purpose::Plain), "");
        };
        let nomic = ["search_query: ", "search_document: "];
        check("nomic-embed-text-v1.5", "sha256-970a", nomic);
        check("Nomic Embed Text V2 MoE", "m.gguf", nomic);
        check("model", "nomic-embed-text-v1.5.Q8_0.gguf", nomic);
        check("Multilingual E5 Large", "m.gguf", ["query: ", "passage: "]);
        check("multilingual-e5-large-instruct", "m.gguf", ["", ""]);
        check("Bge Small En v1.5", "m.gguf", [PASSAGES, ""]);
        check("bge-m3", "m.gguf", ["", ""]);
        check("snowflake-arctic-embed-l-v2.0", "m.gguf", ["query: ", ""]);
        check("snowflake-arctic-embed-s", "m.gguf", [PASSAGES, ""]);
        check("all-MiniLM-L6-v2", "m.gguf", ["", ""]);
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
