//! Reads replies of many model families by their chat templates: calls, text and thoughts, both complete and split anywhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Report;
use crate::measure::jsonl;
use crate::models::dialect::ToolText;
use crate::models::dialect::notation::{Notation, Piece};
use crate::models::dialect::template::Template;

/// A reply and the tools that were offered.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    pub id: String,
    pub family: String,
    pub text: String,
    #[serde(default)]
    pub tools: Vec<Tool>,
    /// Whether the prompt ends inside a thought.
    #[serde(default)]
    pub thinking_opened_by_prompt: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Tool {
    name: String,
    #[serde(default)]
    description: String,
    parameters: Value,
}

#[derive(Clone, Debug, Deserialize)]
struct Family {
    #[serde(default)]
    template: String,
    #[serde(default)]
    bos: String,
}

pub fn read(file: &Path) -> Result<Vec<Case>> {
    jsonl::read(file, r#"{"id", "family", "text", "tools"}"#)
}

/// The parsed content of a reply.
#[derive(Clone, Debug, Default, PartialEq)]
struct Reading {
    calls: Vec<Value>,
    content: String,
    thinking: String,
}

/// Reads every case of a family whose template is in `folder`, which also contains `families.json`.
pub fn run(folder: &Path, cases: &[Case], report: &mut Report) -> Result<Value> {
    let file = folder.join("families.json");
    let text = fs::read_to_string(&file).with_context(|| format!("{} cannot be read", file.display()))?;
    let families: BTreeMap<String, Family> = serde_json::from_str(&text)
        .with_context(|| format!("{} is not an object of families with `template` and `bos`", file.display()))?;
    let mut notations: BTreeMap<&str, Option<Notation>> = BTreeMap::new();
    let (mut read, mut left_out, mut calls, mut differing) = (0, 0, 0, 0);
    for case in cases {
        let family = families.get(&case.family);
        let notation = notations.entry(&case.family).or_insert_with(|| {
            let notation = family.and_then(|family| notation(folder, family));
            if let Some(notation) = &notation {
                report.say(|| format!("{}: {notation:?}", case.family));
            }
            notation
        });
        let Some(notation) = notation else {
            left_out += 1;
            continue;
        };
        let tools: Vec<ToolText> = case.tools.iter().map(shown).collect();
        // Prompts of this template end inside a thought, whatever the case states; the engine
        // detects that at the prompt's end.
        let opened = case.thinking_opened_by_prompt || notation.begins_in_thought();
        let whole = feed(notation, &tools, opened, [case.text.as_str()]);
        let characters = case.text.char_indices().map(|(at, c)| &case.text[at..at + c.len_utf8()]);
        let single_differs = feed(notation, &tools, opened, characters) != whole;
        let cuts: Vec<usize> = case.text.char_indices().map(|(at, _)| at).skip(1).collect();
        let halves = |cut: &usize| [&case.text[..*cut], &case.text[*cut..]];
        let cut_differs = cuts.iter().filter(|cut| feed(notation, &tools, opened, halves(cut)) != whole).count();
        let reopened = notation
            .thoughts
            .as_ref()
            .filter(|_| opened)
            .map(|thoughts| feed(notation, &tools, false, [thoughts.open.as_str(), &case.text]).written());
        read += 1;
        calls += whole.calls.len();
        differing += usize::from(single_differs || cut_differs > 0);
        report
            .write(&json!({ "id": case.id, "whole": whole.written(), "cuts": cuts.len(), "cut_differs": cut_differs,
            "single_differs": single_differs, "loop": { "calls": whole.calls }, "reopened": reopened }))?;
    }
    let missing = notations.values().filter(|one| one.is_none()).count();
    Ok(json!({ "read": read, "calls": calls, "differ_when_cut": differing, "without_template": left_out,
        "families": notations.len(), "families_without_template": missing }))
}

/// The notation of a family; `None` if its template is missing or does not compile.
fn notation(folder: &Path, family: &Family) -> Option<Notation> {
    let source = Some(&family.template).filter(|name| !name.is_empty())?;
    let source = fs::read_to_string(folder.join(source)).ok()?;
    let template = Template::compile(&source).ok()?;
    Some(Notation::derive(&source, &|input| {
        let mut input = input.clone();
        input["bos_token"] = json!(family.bos);
        input["eos_token"] = json!("");
        template.render(&input).ok()
    }))
}

fn shown(tool: &Tool) -> ToolText {
    let (name, description) = (tool.name.clone(), tool.description.clone());
    ToolText { name, description, parameters: tool.parameters.clone() }
}

fn feed<'t>(
    notation: &Notation,
    tools: &[ToolText],
    opened: bool,
    parts: impl IntoIterator<Item = &'t str>,
) -> Reading {
    let mut reader = notation.reader(tools, opened);
    let mut pieces: Vec<Piece> = parts.into_iter().flat_map(|part| reader.push(part)).collect();
    pieces.extend(reader.finish());
    let mut reading = Reading::default();
    for piece in pieces {
        match piece {
            Piece::Content(text) => reading.content.push_str(&text),
            Piece::Thinking(text) => reading.thinking.push_str(&text),
            // A client does not receive calls to tools that it did not offer.
            Piece::Call { call, .. } if tools.iter().any(|tool| tool.name == call.name) => {
                reading.calls.push(json!({ "name": call.name, "arguments": call.arguments }));
            }
            Piece::Call { .. } => {}
        }
    }
    reading
}

impl Reading {
    fn written(&self) -> Value {
        json!({ "calls": self.calls, "content": self.content, "thinking": self.thinking })
    }
}
