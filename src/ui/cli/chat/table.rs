//! Formats tables for `monobloc chat`: models in memory, model files, conversations, and offers of
//! MCP servers.

use crate::protocol::{Memory, ModelFile, ModelRow, ServerRow};
use crate::session::Conversation;
use crate::tools::mcp::offers::Offers;

/// Number of characters of a conversation's first request that are shown.
const FIRST_CHARS: usize = 70;

/// The table of `/ps`: models and other holders of memory.
pub fn memory(memory: &Memory) -> String {
    let mut rows = vec![["role", "file", "slots × context", "KV", "bytes", "idle", ""].map(str::to_owned)];
    rows.extend(memory.models.iter().map(row));
    let mut lines = Vec::new();
    if !memory.models.is_empty() {
        let mut table = aligned(&rows).into_iter();
        lines.extend(table.next());
        for (line, model) in table.zip(&memory.models) {
            lines.push(line);
            lines.push(format!("    {}", parts(model)));
        }
    }
    lines.extend(memory.others.iter().map(|(label, bytes)| format!("{label}: {bytes}")));
    lines.extend(memory.servers.iter().map(ServerRow::told));
    if let Some(loading) = &memory.loading {
        lines.push(format!("loading {}: {:.0} %", loading.file, loading.share * 100.0));
    }
    if memory.models.is_empty() && memory.loading.is_none() && memory.servers.is_empty() {
        lines.push("no model is loaded; a request loads what it needs; /load NAME loads a model now".into());
    }
    lines.push(format!("{} of {} are free", memory.free_bytes, memory.budget_bytes));
    lines.join("\n")
}

fn row(model: &ModelRow) -> [String; 7] {
    let idle = model.idle_s.map_or("in use".to_owned(), |seconds| format!("{seconds} s"));
    let notes: Vec<String> = model.pinned.then(|| "pinned".to_owned()).into_iter().chain(model.rung.clone()).collect();
    [
        if model.roles.is_empty() { "-".into() } else { model.roles.join("+") },
        model.file.clone(),
        format!("{} × {}", model.slots, model.context),
        model.kv_type.clone(),
        model.bytes.to_string(),
        idle,
        notes.join(", "),
    ]
}

fn parts(model: &ModelRow) -> String {
    let mut parts: Vec<String> = model.parts.iter().map(|(part, bytes)| format!("{part} {bytes}")).collect();
    if model.shares_weights {
        parts.push("weights shared with the same file's row above".into());
    }
    if !model.lora.is_empty() {
        parts.push(format!("LoRA {}", model.lora.join(", ")));
    }
    parts.join(", ")
}

/// The table of `/resume`: conversations that can be continued.
pub fn talks(talks: &[Conversation]) -> String {
    let shown = |(place, talk): (usize, &Conversation)| {
        let first: String = talk.first.lines().next().unwrap_or_default().chars().take(FIRST_CHARS).collect();
        format!("{:>3}  {}  {} requests: {first}", place + 1, talk.time, talk.requests)
    };
    match talks {
        [] => "there is no earlier conversation".to_owned(),
        talks => talks.iter().enumerate().map(shown).collect::<Vec<_>>().join("\n"),
    }
}

/// The table of `/models`: model files and the memory each needs.
pub fn files(files: &[ModelFile]) -> String {
    let rows: Vec<[String; 3]> = files
        .iter()
        .map(|file| {
            let needs = match file.needs_bytes {
                Some(_) if file.loaded => "loaded".to_owned(),
                Some(bytes) => format!("needs {bytes} ({})", file.detail),
                None => file.detail.clone(),
            };
            let roles = if file.roles.is_empty() { "-".to_owned() } else { file.roles.join("+") };
            [roles, file.file.clone(), needs]
        })
        .collect();
    if rows.is_empty() { "no model file was found".to_owned() } else { aligned(&rows).join("\n") }
}

/// The table of `/mcp`: resources and prompts with their names in requests, and the reasons some
/// are missing.
pub fn offers(offers: &Offers) -> String {
    let resources = offers.resources.iter().map(|one| [one.written(), one.about.clone()]);
    let prompts = offers.prompts.iter().map(|one| [one.form(), one.about.clone()]);
    let rows: Vec<[String; 2]> = resources.chain(prompts).collect();
    let none =
        "no server offers a resource or prompt; `monobloc mcp list` shows the servers and their tools".to_owned();
    let lines = if rows.is_empty() { vec![none] } else { aligned(&rows) };
    lines.into_iter().chain(offers.notes.clone()).collect::<Vec<_>>().join("\n")
}

/// The rows as lines, with columns as wide as their widest cell.
fn aligned<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["role", "file"], ["planner+router", "ö.gguf"]].map(|row| row.map(str::to_owned));
        assert_eq!(aligned(&rows), ["role            file", "planner+router  ö.gguf"]);
    }
}
