//! Writes the messages of the single-model loop: system message, opening, and corrections if the
//! loop makes no progress.

use crate::base::StepId;
use crate::models::dialect::{Message, Speaker, ToolText};
use crate::protocol::{Remedy, Stall};
use crate::retrieve;

use crate::agent::budget::Weak;
use crate::agent::evidence::{Evidence, GIVEN};
use crate::agent::plan::Plan;
use crate::agent::player::Player;
use crate::agent::toolkit::Toolkit;
use crate::language::words;
use crate::request::Step;

const SYSTEM: &str = include_str!("../prompts/solo.md");
const SHORT: &str = include_str!("../prompts/short.md");
/// For requests that change something.
const PHASES: &str = include_str!("../prompts/phases.md");
const RECOVERY: &str = include_str!("../prompts/recovery.md");
const NUDGE: &str = "Context gathering complete. Now proceed with execution using write_file or replace_in_file.";
const NUDGE_QUESTION: &str = "Context gathering complete. Now answer the question from what was found.";
/// Added to a result after two consecutive iterations in which the model only read.
pub const HINT: &str = "You've gathered context. Consider proceeding to execution.";
/// The advice to the model after a call that was cut off.
pub const IN_PARTS: &str =
    "Write less in one reply: a long file in parts, its beginning with write_file and the rest with replace_in_file.";
/// Maximum length, in characters, of a message cut to make room for later ones.
const STUB_CHARS: usize = 160;

/// The system message; `short` selects the version for weak models, which a long message would
/// confuse.
pub fn system(changes: bool, short: bool) -> String {
    let more = match (short, changes) {
        (true, _) => SHORT.trim(),
        (false, true) => PHASES.trim(),
        (false, false) => "",
    };
    format!("{}\n{more}", SYSTEM.trim()).trim_end().to_owned()
}

/// `text` without its `<reasoning>` blocks; the content of each is passed to `take`.
pub fn without_reasoning(text: &str, mut take: impl FnMut(&str)) -> String {
    let mut answer = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<reasoning>") {
        answer.push_str(before);
        let (thought, after) = after.split_once("</reasoning>").unwrap_or((after, ""));
        take(thought.trim());
        rest = after;
    }
    answer.push_str(rest);
    answer.trim().to_owned()
}

/// The first user message: the request, the plan, the open steps, and the results so far. The
/// results after the first `known` ones are the newest, and are shown in full.
pub fn opening(
    request: &str,
    plan: &Plan,
    (evidence, known): (&Evidence, usize),
    trouble: &str,
    limits: &Weak,
) -> String {
    let mut text = words::shorten(request, limits.request_bytes);
    if !plan.steps.is_empty() && !trouble.is_empty() {
        text.push_str("\n\nPlan:");
        for step in &plan.steps {
            let done = evidence.of(step.id).any(|entry| entry.succeeded());
            text.push_str(&format!("\n{}. {}{}", step.id, step.text, if done { " (done)" } else { "" }));
        }
        text.push_str(&format!("\nStill open: {}", words::shorten(trouble, 600)));
    }
    let entries = evidence.entries();
    let each_bytes = limits.result_bytes / entries.len().saturating_sub(known).max(1);
    for (at, entry) in entries.iter().enumerate() {
        let shown = match entry.tool == GIVEN {
            true => words::shorten(&entry.outcome.text, limits.given_bytes),
            false if at >= known => words::shorten(&entry.outcome.text, each_bytes),
            false => entry.summary(),
        };
        text.push_str(&format!("\n[{}] {}: {shown}", entry.id, entry.tool));
    }
    text
}

/// Code that matches the request, packed into the tokens that a slot can spare; `None` if none is
/// found.
pub fn background(
    toolkit: &Toolkit,
    model: &Player,
    request: &str,
    vector: Option<&[f32]>,
    limits: &Weak,
) -> Option<String> {
    let index = toolkit.index.as_ref()?;
    let found = retrieve::known(index, request, vector, limits.hits, &toolkit.cancel).ok()?;
    let pack = retrieve::pack(&found.hits, limits.background, &|text| model.count(text));
    (!pack.items.is_empty()).then(|| pack.text())
}

/// The message to a stalled model with its next task.
pub fn correction(stall: Stall, remedy: Remedy, changes: bool, open: &[&Step], example: &str, most: usize) -> String {
    let mut text = match (remedy, stall) {
        (Remedy::Nudge, _) if changes => NUDGE.to_owned(),
        (Remedy::Nudge, _) => NUDGE_QUESTION.to_owned(),
        (Remedy::ExecutingToolsOnly, Stall::Deflection | Stall::NothingExecuted | Stall::OpenSteps) => {
            format!("A request is not carried out by describing it: it is not done yet.\n\n{}", RECOVERY.trim())
        }
        (Remedy::ExecutingToolsOnly, _) => RECOVERY.trim().to_owned(),
        (Remedy::OtherToolsOnly, _) => {
            "A part of the request needs other tools than those used so far. Use one of the tools listed now."
                .to_owned()
        }
        (_, Stall::UnreadableCall) => {
            format!("That could not be read as a tool call. Write it exactly like this: {example}")
        }
        (_, Stall::SameText) => {
            format!("You are repeating yourself. Call one tool, like this: {example}. Or answer in one sentence.")
        }
        _ => format!(
            "Look at the project before you say anything about it. Call one of the listed tools now, like this: {example}"
        ),
    };
    if remedy != Remedy::Nudge && !open.is_empty() {
        let open: Vec<String> =
            open.iter().take(most).map(|step| format!("\n- {}", words::shorten(step.text.shown(), 300))).collect();
        text.push_str(&format!("\nStill open:{}", open.concat()));
    }
    text
}

/// The message to the model about a reply without a call that was cut off; `why` states where.
pub fn cut_short(why: &str) -> String {
    format!("Your reply did not come to its end, {why}: nothing of it was done. {IN_PARTS}\n")
}

/// A call of the first offered tool in this model's notation.
pub fn example(model: &Player, offered: &[ToolText]) -> String {
    let Some(tool) = offered.first() else { return String::new() };
    let required = tool.parameters.get("required").and_then(serde_json::Value::as_array);
    let names = required.into_iter().flatten().filter_map(serde_json::Value::as_str);
    let arguments = names.map(|name| (name.to_owned(), serde_json::Value::String("…".to_owned()))).collect();
    model.written(&tool.name, &arguments)
}

/// Shrinks `messages` until they and a reply of `reply` tokens fit into `context` tokens. Earlier
/// turns (before the request at `request_at`) are dropped first, then all thoughts; then the oldest
/// results are cut to one line; then the oldest messages are dropped, except the system message,
/// the request and the last two; finally all but the system message are shortened.
pub fn make_room(
    messages: &mut Vec<Message>,
    request_at: &mut usize,
    context: usize,
    reply: usize,
    count: &dyn Fn(&[Message]) -> usize,
) {
    const KEPT_FIRST: usize = 2;
    const KEPT_LAST: usize = 2;
    let fits = |messages: &[Message]| count(messages) + reply <= context;
    while !fits(messages) && *request_at > 1 {
        messages.remove(1);
        *request_at -= 1;
    }
    if fits(messages) {
        return;
    }
    messages.iter_mut().for_each(|message| message.thinking.clear());
    let mut at = KEPT_FIRST;
    while !fits(messages) && at + KEPT_LAST < messages.len() {
        if messages[at].speaker != Speaker::Assistant {
            messages[at].content = words::shorten(&messages[at].content, STUB_CHARS);
        }
        at += 1;
    }
    while !fits(messages) && messages.len() > KEPT_FIRST + KEPT_LAST {
        messages.remove(KEPT_FIRST);
    }
    let mut chars = 4 * context;
    while !fits(messages) && chars > STUB_CHARS {
        chars /= 2;
        for message in messages.iter_mut().skip(1) {
            message.content = words::shorten(&message.content, chars);
            for argument in message.calls.iter_mut().flat_map(|call| call.arguments.values_mut()) {
                if let serde_json::Value::String(text) = argument {
                    *text = words::shorten(text, chars);
                }
            }
        }
    }
}

/// The open step that a call works on: one with a path or quotation that occurs in `arguments`,
/// else the first one; 0 if none is open.
pub fn step_of(arguments: &str, open: &[&Step]) -> StepId {
    let names = |step: &&&Step| {
        step.part
            .paths
            .iter()
            .chain(&step.part.quoted)
            .any(|name| !name.is_empty() && arguments.contains(name.as_str()))
    };
    open.iter().find(names).or(open.first()).map_or(StepId(0), |step| step.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::budget::Pace;
    use crate::agent::evidence::Entry;
    use crate::models::dialect::RawCall;
    use crate::tools::Outcome;
    use serde_json::Map;

    #[test]
    fn the_last_results_are_read_in_full_and_earlier_ones_in_a_line() {
        let mut evidence = Evidence::default();
        for text in ["first line\nsecond line", "third line\nfourth line"] {
            let entry = Entry::looked(StepId(1), "read_file", Map::new(), Outcome::ok(text));
            evidence.add(entry);
        }
        let limits = Weak::of(Pace::HERE);
        let text = opening("Why?", &Plan::default(), (&evidence, 1), "", &limits);
        assert!(text.contains("read_file: first line\n[e2] read_file: third line\nfourth line"), "{text}");
    }

    #[test]
    fn reasoning_is_removed_from_an_answer() {
        let mut thoughts = Vec::new();
        let said =
            without_reasoning("<reasoning>It is in a.rs.</reasoning>\nIt is 5.", |one| thoughts.push(one.to_owned()));
        assert_eq!((said.as_str(), thoughts[0].as_str()), ("It is 5.", "It is in a.rs."));
        assert_eq!(without_reasoning("5 <reasoning>and so on", |_| ()), "5");
    }

    #[test]
    fn a_long_conversation_is_made_to_fit_and_keeps_its_ends() {
        let long = "word ".repeat(400);
        let mut messages = vec![Message::system("rules"), Message::user("request")];
        for n in 0..6 {
            messages.push(Message::assistant(format!("call {n}")));
            messages.push(Message::tool(long.clone()));
        }
        let count = |messages: &[Message]| messages.iter().map(|one| one.content.len() / 4).sum();
        make_room(&mut messages, &mut 1, 1_500, 400, &count);
        assert!(count(&messages) + 400 <= 1_500);
        assert_eq!((messages[0].content.as_str(), messages[1].content.as_str()), ("rules", "request"));
        assert_eq!(messages.last().map(|last| last.content.len()), Some(long.len()), "the newest result is whole");
        make_room(&mut messages, &mut 1, 500, 100, &count);
        assert!(count(&messages) + 100 <= 500, "{}", count(&messages));
    }

    #[test]
    fn a_call_with_long_arguments_is_made_to_fit() {
        let arguments = serde_json::Map::from_iter([("content".to_owned(), "word ".repeat(4_000).into())]);
        let call = RawCall { name: "write_file".into(), arguments };
        let messages = [Message::system("rules"), Message::user("request"), Message::calling("", vec![call])];
        let mut messages = [messages.as_slice(), &[Message::tool("done")]].concat();
        let count = |messages: &[Message]| messages.iter().map(|one| format!("{one:?}").len() / 4).sum();
        make_room(&mut messages, &mut 1, 1_500, 400, &count);
        assert!(count(&messages) + 400 <= 1_500, "{}", count(&messages));
        assert_eq!((messages.len(), messages[2].calls.len()), (4, 1));
    }
}
