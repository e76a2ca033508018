//! Renders chat templates with given conversations, so that the texts can be compared with the output of Jinja2.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Report;
use crate::measure::jsonl;
use crate::models::dialect::template::Template;

/// The input of a template.
#[derive(Clone, Debug, Deserialize)]
pub struct Conversation {
    pub id: String,
    /// `messages`, `tools`, `add_generation_prompt`, `bos_token`, …
    pub input: Value,
}

pub fn read(file: &Path) -> Result<Vec<Conversation>> {
    jsonl::read(file, r#"{"id", "input": {"messages", …}}"#)
}

/// Renders every `.jinja` file in `folder` with every conversation, and reports the text or error
/// of each.
pub fn run(folder: &Path, conversations: &[Conversation], report: &mut Report) -> Result<Value> {
    let cannot = || format!("{} cannot be read", folder.display());
    let entries = fs::read_dir(folder).with_context(cannot)?.collect::<Result<Vec<_>, _>>().with_context(cannot)?;
    let mut files: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "jinja"));
    files.sort();
    let (mut rendered, mut refused) = (0, 0);
    for file in &files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let source = fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
        let template = Template::compile(&source);
        for conversation in conversations {
            let text = template.as_ref().map_err(ToString::to_string);
            let text = text.and_then(|template| template.render(&conversation.input).map_err(|why| why.to_string()));
            let (key, value) = match text {
                Ok(text) => {
                    rendered += 1;
                    ("text", text)
                }
                Err(why) => {
                    refused += 1;
                    report.say(|| format!("{name}, {}: {why}", conversation.id));
                    ("error", why)
                }
            };
            report.write(&json!({ "template": name, "conversation": conversation.id, key: value }))?;
        }
    }
    Ok(json!({ "templates": files.len(), "rendered": rendered, "refused": refused }))
}
