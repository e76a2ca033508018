//! The display of a tool call: its title, kind, places and content.

use std::path::Path;

use agent_client_protocol_schema::v1::{
    ContentBlock, Diff, TextContent, ToolCallContent, ToolCallLocation, ToolCallUpdateFields, ToolKind,
};
use serde_json::{Map, Value};

use crate::protocol::{FileChange, Proposal, StepReport, StepStatus};
use crate::tools::builtin::Builtin;
use crate::tools::outcome::cut_line;

/// Maximum length of a title, in characters. Before consent, a command is shown in full, because a
/// truncated one cannot be judged.
const TITLE_CHARS: usize = 120;
const COMMAND_CHARS: usize = 4_000;
/// Maximum number of places per call: a call names at most two, a report a few more.
const PLACES_MAX: usize = 8;

/// Title, kind, places and arguments of a call in `project`.
pub fn described(tool: &str, arguments: &Map<String, Value>, project: &Path) -> ToolCallUpdateFields {
    let (title, kind) = title(tool, arguments);
    ToolCallUpdateFields::new()
        .title(title)
        .kind(kind)
        .locations(places(arguments, project))
        .raw_input(Value::Object(arguments.clone()))
}

/// The content of a call that is waiting for consent: the change, or for other calls the reason for
/// asking.
pub fn proposed(proposal: &Proposal, project: &Path) -> Vec<ToolCallContent> {
    if proposal.changes.is_empty() {
        return vec![text(&format!("{}\n\n{}", fenced(&proposal.preview), proposal.reason))];
    }
    let diffs = proposal.changes.iter().map(|change| diff(change, project));
    // For a change to several files, the reason also covers what the diffs do not show.
    let reason = proposal.arguments.contains_key(FILES).then(|| text(&proposal.reason));
    reason.into_iter().chain(diffs).collect()
}

/// The argument with the paths of files that change together.
const FILES: &str = "files";

/// The result of a call: the change or the text found.
pub fn result(report: &StepReport, project: &Path) -> Vec<ToolCallContent> {
    if report.status == StepStatus::Succeeded && !report.changes.is_empty() {
        return report.changes.iter().map(|change| diff(change, project)).collect();
    }
    let said = if report.output.is_empty() { &report.summary } else { &report.output };
    vec![text(&fenced(said))]
}

/// The display of calls to each built-in tool: the kind, and the title with arguments in braces.
const CALLS: [(Builtin, ToolKind, &str); 24] = [
    (Builtin::RunCommand, ToolKind::Execute, "{command}"),
    (Builtin::ReadFile, ToolKind::Read, "Read {path}"),
    (Builtin::IndexReadFile, ToolKind::Read, "Read {path}"),
    (Builtin::ListDir, ToolKind::Read, "List {path}"),
    (Builtin::WriteFile, ToolKind::Edit, "Write {path}"),
    (Builtin::ReplaceInFile, ToolKind::Edit, "Edit {path}"),
    (Builtin::DeleteFile, ToolKind::Delete, "Delete {path}"),
    (Builtin::MoveFile, ToolKind::Move, "Move {source} to {destination}"),
    (Builtin::FindFiles, ToolKind::Search, "Find files {pattern}"),
    (Builtin::SearchText, ToolKind::Search, "Search for {pattern}"),
    (Builtin::IndexSearch, ToolKind::Search, "Search: {question}"),
    (Builtin::IndexSearchText, ToolKind::Search, "Search for {names}"),
    (Builtin::IndexFindFiles, ToolKind::Search, "Find {symbol}"),
    (Builtin::IndexCallers, ToolKind::Search, "Callers of {symbol}"),
    (Builtin::IndexCallees, ToolKind::Search, "Callees of {symbol}"),
    (Builtin::IndexImports, ToolKind::Search, "Imports of {path}"),
    (Builtin::IndexDependents, ToolKind::Search, "Dependents of {path}"),
    (Builtin::IndexImpact, ToolKind::Search, "Impact of {symbol}"),
    (Builtin::IndexListMemories, ToolKind::Read, "Lessons learned here"),
    (Builtin::Outline, ToolKind::Read, "Outline of {path}"),
    (Builtin::DescribeImage, ToolKind::Read, "Look at {path}"),
    (Builtin::Graph, ToolKind::Search, "{relation} of {name}"),
    (Builtin::Edit, ToolKind::Edit, "Edit {path}"),
    (Builtin::Plan, ToolKind::Think, "Plan"),
];

fn title(tool: &str, arguments: &Map<String, Value>) -> (String, ToolKind) {
    let Some((builtin, kind, form)) = CALLS.iter().find(|(builtin, ..)| builtin.name() == tool) else {
        return (cut_line(&format!("{tool} {}", Value::Object(arguments.clone())), TITLE_CHARS), ToolKind::Other);
    };
    // Without a path the project's folder is listed.
    let unsaid = if *builtin == Builtin::ListDir { "." } else { "" };
    let files: Vec<&str> = files(arguments).collect();
    let files = files.join(", ");
    let said = |name: &str| {
        let said = arguments.get(name).and_then(Value::as_str);
        let together = Some(files.as_str()).filter(|_| name == "path");
        said.or(together).filter(|said| !said.is_empty()).unwrap_or(unsaid)
    };
    let mut pieces = form.split(['{', '}']);
    let mut title = pieces.next().unwrap_or_default().to_owned();
    while let Some(name) = pieces.next() {
        title += &said(name).replace('\n', " ⏎ ");
        title += pieces.next().unwrap_or_default();
    }
    let most = if *builtin == Builtin::RunCommand { COMMAND_CHARS } else { TITLE_CHARS };
    (cut_line(title.trim_end(), most), *kind)
}

/// The files that change together.
fn files(arguments: &Map<String, Value>) -> impl Iterator<Item = &str> {
    arguments.get(FILES).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// The files named in the arguments, so an editor can open them.
fn places(arguments: &Map<String, Value>, project: &Path) -> Vec<ToolCallLocation> {
    let line = arguments.get("start_line").and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok());
    let named = ["path", "source", "destination"].into_iter().filter_map(|name| arguments.get(name)?.as_str());
    named
        .chain(files(arguments))
        .take(PLACES_MAX)
        .map(|path| ToolCallLocation::new(project.join(path)).line(line))
        .collect()
}

fn diff(change: &FileChange, project: &Path) -> ToolCallContent {
    // The protocol has no deletions, so an empty new text is sent.
    let new = change.new.as_deref().unwrap_or_default();
    Diff::new(project.join(&change.path), new).old_text(change.old.as_deref().map(str::to_owned)).into()
}

fn text(text: &str) -> ToolCallContent {
    ContentBlock::Text(TextContent::new(text)).into()
}

/// The text as a fenced Markdown block, which displays it unchanged.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(tool: &str, arguments: Value, expected: Value) {
        let arguments = arguments.as_object().expect("an object");
        let mut shown = serde_json::to_value(described(tool, arguments, Path::new("/p"))).expect("it can be written");
        shown.as_object_mut().expect("an object").remove("rawInput");
        assert_eq!(shown, expected, "{tool}");
    }

    #[test]
    fn a_call_says_what_it_does_and_where() {
        check(
            "read_file",
            json!({ "path": "a", "start_line": 3 }),
            json!({ "kind": "read", "title": "Read a", "locations": [{ "path": "/p/a", "line": 3 }] }),
        );
        check("list_dir", json!({}), json!({ "kind": "read", "title": "List .", "locations": [] }));
        let command = format!("echo {}", "x".repeat(1_000));
        check(
            "run_command",
            json!({ "command": command }),
            json!({ "kind": "execute", "title": command, "locations": [] }),
        );
        check(
            "files.read",
            json!({ "at": 1 }),
            json!({ "kind": "other", "title": "files.read {\"at\":1}", "locations": [] }),
        );
    }

    #[test]
    fn a_text_with_a_fence_gets_a_longer_one() {
        assert_eq!(fenced("a\n"), "```\na\n```");
        assert_eq!(fenced("```\na\n```"), "````\n```\na\n```\n````");
    }
}
