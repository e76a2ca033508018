//! Writes the first messages to a leading model: its role, the project's instructions, the request,
//! and the code that the index finds for it.

use std::path::{Component, Path};

use super::checklist::Checklist;
use super::{earlier, report};
use crate::agent::budget::{Budget, bytes};
use crate::agent::evidence::{Evidence, GIVEN};
use crate::agent::execute::Scene;
use crate::agent::player::Player;
use crate::agent::toolkit::TurnError;
use crate::base::StepId;
use crate::context::text_of;
use crate::edit::testing::{self, Task};
use crate::language::clauses::Part;
use crate::language::words;
use crate::models::dialect::Message;
use crate::protocol::{Event, Mode};
use crate::retrieve;
use crate::tools::{Context, sandbox};

const AGENT: &str = include_str!("../prompts/lead.md");
const CHAT: &str = include_str!("../prompts/lead_chat.md");
/// The instruction to plan a large task in two levels.
const STAGES: &str = "\n\nThis task is large. Before you change anything, set its stages with `plan`, an item each. When you begin a stage, add its \
                      steps to the list, each with the text of the stage as its `stage`.";
/// Files with instructions for agents; in each folder, only the first existing one is used.
const INSTRUCTIONS: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// Maximum number of changed files listed.
const CHANGED_SHOWN: usize = 12;

/// The input of an opening, in addition to its scene.
pub struct Given<'a> {
    pub parts: &'a [Part],
    pub checklist: &'a Checklist,
    /// Whether the task is planned in two levels.
    pub is_large: bool,
    pub evidence: &'a Evidence,
    /// Number of earlier results, before those that are shown in full.
    pub known: usize,
    /// The parts of the request that code tried and could not do; empty if nothing was tried.
    pub trouble: &'a str,
    /// Calls that succeeded for similar earlier requests; may be empty.
    pub lessons: &'a str,
    pub vector: Option<&'a [f32]>,
}

/// The first messages. The system message is the same for every request of a session.
pub async fn messages(
    scene: Scene<'_>,
    model: &Player,
    budget: &Budget,
    given: Given<'_>,
) -> Result<Vec<Message>, TurnError> {
    let count = |text: &str| model.count(text);
    let fitted = |name: &str, text: &str, tokens: usize| {
        let shown = lines_within(text, tokens, &count);
        if shown.len() < text.trim().len() {
            scene.host.notice(&format!("{name} is too long to show to the model at once: its end is left out"));
        }
        shown
    };
    let (root, nested) = instructions(scene.context, given.parts);
    let mut system = about(scene, budget);
    // The root folder's share does not depend on the request, so that system messages remain the
    // same.
    let mut left = budget.instructions / 3;
    if let Some((path, text)) = root {
        let text = fitted(&path, &text, budget.instructions - left);
        system.push_str(&of_project(&path, &text));
    }
    let request = scene.request.shown();
    let mut user = words::shorten(request, bytes(budget.request, request, count));
    if user.len() < request.len() {
        let cut = format!("the request was cut: {} of its {} bytes are read", user.len(), request.len());
        scene.host.notice(&format!("{cut}; put the rest into a file and name it"));
        user.push_str(&format!("\n[{cut}]"));
    }
    for (path, text) in nested {
        let text = fitted(&path, &text, left);
        left = left.saturating_sub(count(&text));
        user.push_str(&of_project(&path, &text));
    }
    if !given.checklist.text().is_empty() {
        user.push_str(&format!("\n\nChecklist:\n{}", given.checklist.text().trim_end()));
    }
    if given.is_large {
        user.push_str(STAGES);
    }
    if !given.trouble.is_empty() {
        user.push_str(&format!("\n\nNot done so far: {}", given.trouble));
    }
    user.push_str(given.lessons);
    let entries = given.evidence.entries();
    let each = budget.result / entries.len().saturating_sub(given.known).max(1);
    for (at, entry) in entries.iter().enumerate() {
        let shown = match entry.tool == GIVEN {
            true => fitted(&entry.summary(), &entry.outcome.text, budget.request),
            false if at >= given.known => words::shorten(&entry.outcome.text, bytes(each, &entry.outcome.text, count)),
            false => entry.summary(),
        };
        user.push_str(&format!("\n[{}] {}: {shown}", entry.id, entry.tool));
    }
    if let Some(state) = git(scene.context).await {
        user.push_str(&format!("\n\nGit: {state}"));
    }
    if scene.toolkit.mode == Mode::Agent {
        let root = scene.context.root.path();
        let tests = testing::of(root).ready(root, Task::Test);
        user.push_str(
            &tests.map_or_else(
                |why| format!("\n\nTests: none can run here: {why}"),
                |line| format!("\n\nTests: `{line}`"),
            ),
        );
    }
    if scene.toolkit.report {
        user.push_str(&report::form(&scene.toolkit.earlier));
    }
    if let Some(code) = found(scene, budget, &given, &count) {
        user.push_str(&format!("\n\nFrom the index of the project, what fits the request best:\n{code}"));
    }
    let mut messages = vec![Message::system(system)];
    messages.extend(earlier::messages(scene, model, budget).await?);
    messages.push(Message::user(user));
    Ok(messages)
}

/// The system prompt: the model's role and its way of working.
fn about(Scene { toolkit, context, .. }: Scene<'_>, budget: &Budget) -> String {
    let text = if toolkit.mode == Mode::Chat { CHAT } else { AGENT };
    let project = context.root.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let platform = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    let date = jiff::Zoned::now().strftime("%Y-%m-%d").to_string();
    let text = text.replace("{project}", &project).replace("{platform}", &platform).replace("{date}", &date);
    let text = text.replace("{reply}", &budget.reply.to_string()).trim_end().to_owned();
    if toolkit.mode == Mode::Chat || sandbox::unconfined(&context.commands).is_some() {
        return text;
    }
    let bounds = sandbox::bounds("the project", "programs and tool chains", context.commands.network);
    format!(
        "{text}\n\nEvery command is confined: {bounds}. Its temporary files are in $TMPDIR, not in /tmp, and gone after it."
    )
}

fn of_project(path: &str, text: &str) -> String {
    format!(
        "\n\nInstructions of the project, from its file {path}; they are not the user's words:\n{text}\nEnd of {path}."
    )
}

/// A file's path and text.
type Written = (String, String);

/// The instructions in the root folder, and those in the folders of files that the request names,
/// nearest first.
fn instructions(context: &Context, parts: &[Part]) -> (Option<Written>, Vec<Written>) {
    let of = |folder: &Path| {
        let all = INSTRUCTIONS.iter().map(|name| folder.join(name).to_string_lossy().into_owned());
        let mut there = all.filter_map(|path| text_of(context, &path).map(|text| (path, text)));
        there.find(|(_, text)| !text.trim().is_empty())
    };
    let mut nested: Vec<Written> = Vec::new();
    for path in parts.iter().flat_map(|part| &part.paths).map(Path::new) {
        let is_inside = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        for folder in path.ancestors().skip(1).filter(|folder| is_inside && !folder.as_os_str().is_empty()) {
            nested.extend(of(folder).filter(|found| !nested.contains(found)));
        }
    }
    (of(Path::new("")), nested)
}

/// The first lines of a text that fit into `tokens`, followed by a note about the rest.
fn lines_within(text: &str, tokens: usize, count: &dyn Fn(&str) -> usize) -> String {
    let text = text.trim();
    if count(text) <= tokens {
        return text.to_owned();
    }
    let all: Vec<&str> = text.lines().collect();
    let fits = |lines: &usize| count(&all[..*lines].join("\n")) <= tokens;
    let (mut low, mut high) = (0, all.len());
    while low + 1 < high {
        let middle = usize::midpoint(low, high);
        if fits(&middle) { low = middle } else { high = middle }
    }
    if low == 0 {
        return format!("[none of its {} lines is short enough to be shown; read the file]", all.len());
    }
    format!("{}\n[lines 1–{low} of {}; read the file for the rest]", all[..low].join("\n"), all.len())
}

/// The code that the index finds for the request.
fn found(scene: Scene<'_>, budget: &Budget, given: &Given<'_>, count: &dyn Fn(&str) -> usize) -> Option<String> {
    let index = scene.toolkit.index.as_ref()?;
    let cancel = &scene.toolkit.cancel;
    let found = retrieve::known(index, scene.request.shown(), given.vector, budget.hits, cancel).ok()?;
    let pack = retrieve::pack(&found.hits, budget.pack, count);
    if pack.items.is_empty() {
        return None;
    }
    let places = pack.items.iter().map(|item| format!("{}:{}-{}", item.path, item.start, item.end)).collect();
    scene.host.emit(Event::ContextShown { step: StepId(0), places, tokens: pack.tokens });
    Some(pack.text())
}

/// The branch and the changed files in one line; `None` outside repositories.
async fn git(context: &Context) -> Option<String> {
    let status = crate::tools::command::git_status(context).await?;
    let mut lines = status.lines();
    let branch = lines.next()?.trim_start_matches("## ").to_owned();
    let changed: Vec<&str> = lines.map(str::trim).collect();
    let shown = changed.iter().take(CHANGED_SHOWN).copied().collect::<Vec<_>>().join(", ");
    let more = changed.len().saturating_sub(CHANGED_SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(if changed.is_empty() {
        format!("branch {branch}, nothing changed")
    } else {
        format!("branch {branch}, changed: {shown}{more}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_cut_after_a_whole_line_and_say_so() {
        let text = "one two\nthree four\nfive six\n";
        let count = |text: &str| text.split_whitespace().count();
        assert_eq!(lines_within(text, 6, &count), "one two\nthree four\nfive six");
        assert_eq!(lines_within(text, 5, &count), "one two\nthree four\n[lines 1–2 of 3; read the file for the rest]");
        assert_eq!(
            lines_within("a b c", 1, &count),
            "[none of its 1 lines is short enough to be shown; read the file]"
        );
    }
}
