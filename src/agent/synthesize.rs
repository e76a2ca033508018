//! Writes the answer of a turn: a model words it, code checks every sentence and lists the facts
//! from the evidence.

use std::collections::HashSet;

use crate::base::{CallId, StepId};
use crate::budget::permit::Priority;
use crate::config::Technique;
use crate::engine::Finish;
use crate::models::dialect::Message;
use crate::protocol::{Event, StepStatus};
use crate::request::Text;

use super::Host;
use super::evidence::{ANSWER, Entry, Evidence, GIVEN};
use super::excerpt;
use super::plan::Plan;
use super::player::{Form, Player, Query};
use super::toolkit::{Toolkit, TurnError};
use crate::language::grounding;
use crate::language::grounding::Sentences;
use crate::language::words;

const PROMPT: &str = include_str!("prompts/answer.md");
/// Added to the prompt of each draft after the first if the technique is `ThreeMethods`.
const METHODS: &str = "\nThink of three methods to answer, then answer by the best of them alone.";
const SMALL_PROMPT: &str = "Answer the question about the lines in one short sentence.";
const EXAMPLES: &[(&str, &str, &str)] = &[
    (
        "/// Seconds until a connection is given up.\nconst CONNECT_TIMEOUT: u64 = 30;",
        "Tell me what the connection timeout is",
        "The connection timeout is 30 seconds.",
    ),
    (
        "# The colour of the roof\nroof_color = \"green\"\n# The number of windows\nwindows = 12",
        "How many windows does it have?",
        "It has 12 windows.",
    ),
];
/// Grammar for a small model: one line that ends like a sentence.
const ONE_SENTENCE: &str = "start: /[A-Z`][^\\n]{2,240}[.!]/\n";
/// Number of evidence lines shown to a model that may be unable to reason; more lines confuse it.
const LINES_SMALL: usize = 4;
/// Number of evidence lines shown to a capable model.
const LINES_CAPABLE: usize = 60;
/// Maximum length of the answer of a small and of a capable model, in tokens.
const TOKENS_SMALL: usize = 80;
const TOKENS_CAPABLE: usize = 1_200;
/// Maximum number of evidence lines cited under the answer.
const LISTED_LINES: usize = 6;
/// Maximum number of lines of a result that is itself the answer, such as a listing.
const RESULT_LINES: usize = 40;

/// The answer of a turn without any result.
pub const NOTHING: &str = "Nothing was found or done.";

/// A turn that needs an answer, with everything the answer is based on.
#[derive(Clone, Copy)]
pub struct Brief<'a> {
    pub toolkit: &'a Toolkit,
    pub request: &'a Text,
    pub plan: &'a Plan,
    pub evidence: &'a Evidence,
    /// Steps that were understood but cannot be carried out, each with the reason.
    pub refused: &'a [(StepId, String)],
    pub told: &'a Told,
    pub host: &'a dyn Host,
}

/// The part of a turn reported before its answer.
#[derive(Clone, Debug, Default)]
pub struct Told {
    pub steps: Vec<StepId>,
    /// Number of evidence entries already reported, counted from the first.
    pub entries: usize,
}

/// The drafts written before this answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Draft<'a> {
    /// Text that a model already wrote; if the evidence supports any of it, that part is used and
    /// nothing is generated.
    pub said: Option<&'a str>,
    /// The faults of earlier drafts.
    pub past_failures: &'a [String],
    /// Number of calls made before the first draft; `None` means all calls.
    pub looked_at: Option<usize>,
}

/// Writes the answer; sends it to the host piece by piece and returns it.
pub async fn answer(brief: Brief<'_>, draft: Draft<'_>) -> Result<String, TurnError> {
    let mut written = String::new();
    let question = question(brief);
    if let Some(question) = &question {
        written.push_str(&prose(brief, question.shown(), draft).await?);
    }
    let facts = facts(question.as_ref(), brief);
    if !facts.is_empty() {
        let gap = if written.is_empty() { "" } else { "\n\n" };
        written.push_str(&tell(brief.host, &format!("{gap}{}", facts.join("\n"))));
    }
    Ok(if written.trim().is_empty() { tell(brief.host, NOTHING) } else { written })
}

/// Sends a piece of the answer to the host; returns it.
pub fn tell(host: &dyn Host, text: &str) -> String {
    host.emit(Event::Token { text: text.to_owned() });
    text.to_owned()
}

/// The question to answer in words: the plan's questions, else the request itself if it asks
/// something and a call found something. `None` if lists alone answer it.
fn question(Brief { request, plan, evidence, .. }: Brief<'_>) -> Option<Text> {
    if !plan.questions.is_empty() {
        let texts: Vec<&str> = plan.questions.iter().map(|question| question.text.shown()).collect();
        return Some(Text::of(texts.join(" ")));
    }
    if evidence.entries().iter().filter(|entry| entry.succeeded()).all(is_relation) {
        return None;
    }
    let looked = evidence.entries().iter().any(|entry| entry.succeeded() && !entry.outcome.findings.is_empty());
    (looked && request.asks_for_words()).then(|| request.clone())
}

/// A model's sentences, without those that the evidence does not support. Empty if no evidence line
/// matches the question.
async fn prose(brief: Brief<'_>, question: &str, draft: Draft<'_>) -> Result<String, TurnError> {
    let Brief { toolkit, request, evidence, host, .. } = brief;
    let model = toolkit.model(toolkit.voice(), host).await?;
    let capable = model.capability().supports_complex_reasoning;
    let wanted = format!("{question} {request}");
    let lines_max = if capable { LINES_CAPABLE } else { LINES_SMALL };
    let (before, since) = evidence.entries().split_at(draft.looked_at.unwrap_or(evidence.entries().len()));
    let mut lines = excerpt::lines(before, &wanted, lines_max);
    // A better match in a later search must not displace a line that an earlier draft had.
    let known: HashSet<String> = lines.iter().map(excerpt::Line::place).collect();
    let wanted = format!("{wanted} {}", draft.past_failures.join(" "));
    lines.extend(excerpt::lines(since, &wanted, lines_max).into_iter().filter(|line| !known.contains(&line.place())));
    if lines.is_empty() {
        return Ok(String::new());
    }
    let said = draft.said.map(|said| backed_by_results(said, request.shown(), evidence)).unwrap_or_default();
    if !said.is_empty() {
        return Ok(tell(host, &said));
    }
    let shown = excerpt::listed(&lines).join("\n");
    let messages = if capable {
        in_full(&shown, question, draft.past_failures, toolkit.cognitive.technique)
    } else {
        by_example(&lines, question)
    };
    let backed =
        |sentence: &str| grounding::is_grounded(sentence, &[&shown], request.shown()).then(|| sentence.to_owned());
    let answer = stream_backed(toolkit, &model, query(toolkit, &model, &messages), host, backed).await?;
    Ok(answer.trim_end().to_owned())
}

/// Has the model answer, passes each sentence through `backed`, sends the result to the host and
/// returns it. Repeated sentences, and sentences for which `backed` returns `None`, are left out.
pub async fn stream_backed(
    toolkit: &Toolkit,
    model: &Player,
    query: Query<'_>,
    host: &dyn Host,
    backed: impl Fn(&str) -> Option<String>,
) -> Result<String, TurnError> {
    let mut answer = String::new();
    let mut offer = |sentence: String| match backed(&sentence).filter(|_| !answer.contains(sentence.trim())) {
        Some(said) => answer.push_str(&tell(host, &said)),
        None => tracing::info!(sentence, "left out of the answer: nothing backs it"),
    };
    let mut sentences = Sentences::default();
    let take = |text: &str| sentences.push(text).into_iter().for_each(&mut offer);
    let ended = toolkit.stream(model, query, "answering", host, take).await?;
    // If the token limit ended the text, the last sentence is incomplete and left out.
    if ended.finish == Finish::End {
        sentences.rest().into_iter().for_each(&mut offer);
    }
    Ok(answer)
}

/// The query for an answer; a small model's answer ends after one sentence.
fn query<'a>(toolkit: &Toolkit, model: &Player, messages: &'a [Message]) -> Query<'a> {
    let capable = model.capability().supports_complex_reasoning;
    let tokens = if capable { TOKENS_CAPABLE } else { TOKENS_SMALL };
    let query = Query { priority: Priority::User, ..Query::of(messages, tokens) };
    if capable {
        Query { sampling: toolkit.manner(model), ..query }
    } else {
        Query { form: Form::Lark(ONE_SENTENCE.to_owned()), ..query }
    }
}

/// The supported sentences of a text from the loop. All lines of the results count, not only the
/// excerpt.
fn backed_by_results(said: &str, request: &str, evidence: &Evidence) -> String {
    let seen = evidence.entries().iter().filter(|entry| entry.succeeded()).map(|entry| entry.outcome.text.as_str());
    let seen: Vec<&str> = seen.collect();
    let mut sentences = grounding::sentences(said);
    sentences.retain(|sentence| grounding::is_grounded(sentence, &seen, request));
    sentences.concat().trim_end().to_owned()
}

/// The prompt text about earlier drafts; empty before the first.
pub fn past(failures: &[String], technique: Technique) -> String {
    let methods = if technique == Technique::ThreeMethods { METHODS } else { "" };
    match failures {
        [] => String::new(),
        failures => format!("\nEarlier attempts failed because: {}{methods}", failures.join("; ")),
    }
}

/// The prompt for a capable model.
fn in_full(shown: &str, question: &str, past_failures: &[String], technique: Technique) -> Vec<Message> {
    let past = past(past_failures, technique);
    vec![
        Message::system(format!("{}{past}", PROMPT.trim())),
        Message::user(format!("Evidence:\n{shown}\n\nQuestion: {}", words::shorten(question, 1_000))),
    ]
}

/// The prompt for a small model. Small models follow examples better than rules and copy what comes
/// first, so they see the lines without their locations; code lists those.
fn by_example(lines: &[excerpt::Line], question: &str) -> Vec<Message> {
    let ask = |lines: &str, question: &str| Message::user(format!("{lines}\n\n{question}"));
    let mut messages = vec![Message::system(SMALL_PROMPT)];
    for (lines, question, answer) in EXAMPLES {
        messages.push(ask(lines, question));
        messages.push(Message::assistant(*answer));
    }
    let lines: Vec<&str> = lines.iter().map(|line| line.finding.text.trim()).collect();
    messages.push(ask(&lines.join("\n"), &words::shorten(question, 600)));
    messages
}

/// One line for each thing found, changed or not done, from the evidence alone.
fn facts(question: Option<&Text>, brief: Brief<'_>) -> Vec<String> {
    let Brief { plan, evidence, refused, told, .. } = brief;
    let mut facts = Vec::new();
    let cited =
        question.map(|question| excerpt::lines(evidence.entries(), question.shown(), LISTED_LINES)).unwrap_or_default();
    for line in &cited {
        facts.push(format!("- {}: `{}` [{}]", line.place(), line.finding.text.trim(), line.call));
    }
    for entry in &evidence.entries()[told.entries..] {
        facts.extend(of_call(entry, shown(entry, question, &cited, plan, evidence)));
    }
    for step in plan.steps.iter().filter(|step| !told.steps.contains(&step.id)) {
        if let Some((_, reason)) = refused.iter().find(|(id, _)| *id == step.id) {
            facts.push(format!("- {reason}"));
        } else if evidence.of(step.id).next().is_none() {
            facts.push(format!("- not done: {}", step.text));
        }
    }
    facts
}

/// Lines about calls not yet reported to the user.
pub fn calls(Brief { evidence, told, .. }: Brief<'_>) -> Vec<String> {
    evidence.entries()[told.entries..].iter().flat_map(|entry| self::told(entry, true)).collect()
}

/// Lines about the changes, findings or errors of a call, for steps whose text a model wrote.
/// `whole` includes the full result.
pub fn told(entry: &Entry, whole: bool) -> Vec<String> {
    of_call(entry, if whole { Shown::Whole } else { Shown::Named })
}

/// The lines for a call. `shown` limits the result of a call that changed nothing.
fn of_call(entry: &Entry, shown: Shown) -> Vec<String> {
    let all: Vec<&str> = entry.outcome.text.lines().collect();
    match entry.status {
        StepStatus::Succeeded if !entry.outcome.changed.is_empty() => itemised(entry, &[]),
        // A text from the user is not listed, and an answer has already been given.
        StepStatus::Succeeded if [GIVEN, ANSWER].contains(&entry.tool.as_str()) => Vec::new(),
        StepStatus::Succeeded if is_relation(entry) => places(entry),
        StepStatus::Succeeded => match shown {
            // The result itself is the answer.
            Shown::Whole => itemised(entry, &all),
            Shown::Named => itemised(entry, &[]),
            Shown::Cited => Vec::new(),
        },
        StepStatus::Failed => {
            let mut lines = vec![format!("- failed: {}: {} [{}]", entry.tool, entry.summary(), entry.id)];
            lines.extend(rest(&all));
            lines
        }
        StepStatus::Rejected => vec![format!("- not done, you said no: {} [{}]", entry.tool, entry.id)],
        StepStatus::Denied => vec![format!("- not done: {}: {} [{}]", entry.tool, entry.summary(), entry.id)],
        StepStatus::Cancelled | StepStatus::NotAsked | StepStatus::Skipped => {
            vec![format!("- not done: {} [{}]", entry.summary(), entry.id)]
        }
    }
}

/// How much of a result is shown.
enum Shown {
    /// Nothing: some of its lines are already cited.
    Cited,
    /// The summary: another result already answers the question.
    Named,
    Whole,
}

fn shown(entry: &Entry, question: Option<&Text>, cited: &[excerpt::Line], plan: &Plan, evidence: &Evidence) -> Shown {
    let is_cited = |call: CallId| cited.iter().any(|line| line.call == call);
    let asked = plan.questions.iter().any(|question| question.about.contains(&entry.step));
    if is_cited(entry.id) {
        if entry.tool == "search_text" && question.is_some_and(Text::asks_for_count) {
            Shown::Named
        } else {
            Shown::Cited
        }
    } else if !cited.is_empty() && (asked || evidence.of(entry.step).any(|other| is_cited(other.id))) {
        Shown::Named
    } else {
        Shown::Whole
    }
}

/// Whether a call asked for callers, imports or dependents; its locations are then the answer.
fn is_relation(entry: &Entry) -> bool {
    const RELATIONS: &[&str] = &["index_callers", "index_callees", "index_imports", "index_dependents", "index_impact"];
    RELATIONS.contains(&entry.tool.as_str())
}

/// The locations of a relation, each with its own line of code but without context lines.
fn places(entry: &Entry) -> Vec<String> {
    let mut at = None;
    let kept = |line: &&str| {
        let number = line.trim_start().split_once("| ").and_then(|(number, _)| number.parse::<usize>().ok());
        match number {
            Some(number) => at == Some(number),
            None => {
                at = line.split([':', ' ']).nth(1).and_then(|number| number.parse().ok());
                true
            }
        }
    };
    itemised(entry, &entry.outcome.text.lines().filter(kept).collect::<Vec<_>>())
}

/// The summary of a call, then the remaining lines of its result.
fn itemised(entry: &Entry, all: &[&str]) -> Vec<String> {
    let mut lines = vec![format!("- {} [{}]", entry.summary(), entry.id)];
    lines.extend(rest(all));
    lines
}

/// The lines after the first, indented, at most [`RESULT_LINES`].
fn rest(all: &[&str]) -> Vec<String> {
    let mut lines: Vec<String> = all.iter().skip(1).take(RESULT_LINES).map(|line| format!("  {line}")).collect();
    if all.len() > RESULT_LINES + 1 {
        lines.push(format!("  … {} more lines", all.len() - RESULT_LINES - 1));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Outcome;

    #[test]
    fn places_of_a_relation_are_listed_without_the_surrounding_code() {
        let text = "2 callers of save\nsrc/a.rs:7 run (function)\n6| fn run() {\n7|     save();\n8| }\nsrc/b.rs:3 go (function)\n    3| save()\n[1 more]\n";
        let entry = Entry::looked(StepId(1), "index_callers", serde_json::Map::new(), Outcome::ok(text));
        let shown = places(&entry).split_off(1);
        let expected = [
            "  src/a.rs:7 run (function)",
            "  7|     save();",
            "  src/b.rs:3 go (function)",
            "      3| save()",
            "  [1 more]",
        ];
        assert_eq!(shown, expected);
    }
}
