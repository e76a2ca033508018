//! Writes the answer of a turn: the model words it, code checks every sentence, and code lists what it stands on.

use crate::base::CallId;
use crate::base::config::Technique;
use crate::budget::permit::Priority;
use crate::engine::{Grammar, Piece, Request, Sampling};
use crate::models::dialect::Message;
use crate::protocol::{Event, StepStatus};

use super::Host;
use super::check::{self, Sentences};
use super::decompose::words::listed;
use super::evidence::{Entry, Evidence};
use super::excerpt;
use super::plan::Plan;
use super::toolkit::{Toolkit, TurnError};
use super::words;

const PROMPT: &str = include_str!("prompts/answer.md");
/// Seed 003: said with every draft after the first.
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
/// What a small model may write: one line that ends like a sentence.
const ONE_SENTENCE: &str = "start: /[A-Z`][^\\n]{2,240}[.!]/\n";
/// Evidence lines shown to a model that is not known to reason; more confuse it.
const LINES_SMALL: usize = 4;
/// Evidence lines shown to a capable model.
const LINES_CAPABLE: usize = 60;
/// Longest answer of a small and of a capable model, in tokens (1 to 2 thousand: seed 002).
const TOKENS_SMALL: usize = 80;
const TOKENS_CAPABLE: usize = 1_200;
/// Lines listed under the answer.
const LISTED_LINES: usize = 6;
/// Lines of a result that answers by itself, a listing say.
const RESULT_LINES: usize = 40;

/// What there was before an answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Draft<'a> {
    /// What a model has said already; what the evidence backs of it is used before anything is generated.
    pub said: Option<&'a str>,
    /// What was wrong with earlier drafts.
    pub past_failures: &'a [String],
}

/// The answer, sent to the host piece by piece and returned whole.
pub async fn answer(
    toolkit: &Toolkit,
    request: &str,
    plan: &Plan,
    evidence: &Evidence,
    draft: Draft<'_>,
    host: &dyn Host,
) -> Result<String, TurnError> {
    let mut written = String::new();
    let question = question(request, plan, evidence);
    if let Some(question) = &question {
        written.push_str(&prose(toolkit, request, question, evidence, draft, host).await?);
    }
    let facts = facts(question.as_deref(), plan, evidence);
    if !facts.is_empty() {
        let gap = if written.is_empty() { "" } else { "\n\n" };
        let facts = format!("{gap}{}", facts.join("\n"));
        host.emit(Event::Token { text: facts.clone() });
        written.push_str(&facts);
    }
    if written.trim().is_empty() {
        written = "Nothing was found or done.".to_owned();
        host.emit(Event::Token { text: written.clone() });
    }
    Ok(written)
}

/// What the user wants to be told: the clauses that only ask, or the request itself when it changed nothing.
fn question(request: &str, plan: &Plan, evidence: &Evidence) -> Option<String> {
    if !plan.questions.is_empty() {
        let texts: Vec<&str> = plan.questions.iter().map(|question| question.text.as_str()).collect();
        return Some(texts.join(" "));
    }
    if evidence.entries().iter().filter(|entry| entry.succeeded()).all(is_relation) {
        return None;
    }
    let looked = evidence.entries().iter().any(|entry| entry.succeeded() && !entry.outcome.findings.is_empty());
    (looked && asks(request)).then(|| request.to_owned())
}

/// Whether a request without changes wants words rather than a list.
fn asks(request: &str) -> bool {
    const ASKING: &str = "what, how, why, which, who, when, where, is, are, does, do, can, explain, describe, tell, \
                          summarize, summarise";
    let low = request.trim().to_lowercase();
    low.ends_with('?') || low.split(|c: char| !c.is_alphanumeric()).next().is_some_and(|word| listed(ASKING, word))
}

/// One or two sentences of a model that the evidence backs. Sentences that it does not back are left out.
async fn prose(
    toolkit: &Toolkit,
    request: &str,
    question: &str,
    evidence: &Evidence,
    draft: Draft<'_>,
    host: &dyn Host,
) -> Result<String, TurnError> {
    let model = toolkit.model(toolkit.voice(), host).await?;
    let capable = model.capability.supports_complex_reasoning;
    let wanted = format!("{question} {request}");
    let lines = excerpt::lines(evidence, &wanted, if capable { LINES_CAPABLE } else { LINES_SMALL });
    if lines.is_empty() {
        return Ok(String::new());
    }
    let shown: Vec<String> =
        lines.iter().map(|line| format!("{}: {}", line.place(), line.finding.text.trim())).collect();
    let shown = shown.join("\n");
    // Who has read whole files may speak of every line of them.
    let seen = evidence.entries().iter().filter(|entry| entry.succeeded()).map(|entry| entry.outcome.text.as_str());
    let seen: Vec<&str> = seen.chain([request]).collect();
    if let Some(said) = draft.said.map(|said| backed(said, &seen)).filter(|said| !said.is_empty()) {
        host.emit(Event::Token { text: said.clone() });
        return Ok(said);
    }
    let mut answer = String::new();
    let mut offer = |sentence: String| {
        if check::is_grounded(&sentence, &[&shown, request]) && !answer.contains(sentence.trim()) {
            host.emit(Event::Token { text: sentence.clone() });
            answer.push_str(&sentence);
        } else {
            tracing::info!(sentence, "left out of the answer: nothing backs it");
        }
    };
    let mut sentences = Sentences::default();
    let messages = if capable {
        in_full(&shown, question, draft.past_failures, toolkit.cognitive.technique)
    } else {
        by_example(&lines, question)
    };
    let generation = Request {
        priority: Priority::User,
        sampling: Sampling::prose(),
        ..model.engine.request(&model.dialect.render(&messages), if capable { TOKENS_CAPABLE } else { TOKENS_SMALL })
    };
    let generation = if capable {
        generation
    } else {
        Request { grammar: Some(Grammar::Lark(ONE_SENTENCE.to_owned())), ..generation }
    };
    let ended = toolkit
        .stream(&model, generation, "answering", host, |piece| {
            if let Piece::Answer(text) = piece {
                sentences.push(text).into_iter().for_each(&mut offer);
            }
        })
        .await?;
    // A sentence that the token limit cut off is not a sentence.
    if ended.finish == crate::engine::Finish::End {
        sentences.rest().into_iter().for_each(&mut offer);
    }
    Ok(answer.trim_end().to_owned())
}

/// The sentences of `draft` that the sources back.
fn backed(draft: &str, sources: &[&str]) -> String {
    let mut said = check::sentences(draft);
    said.retain(|sentence| check::is_grounded(sentence, sources));
    said.concat().trim_end().to_owned()
}

fn in_full(shown: &str, question: &str, past_failures: &[String], technique: Technique) -> Vec<Message> {
    let methods = if technique == Technique::ThreeMethods { METHODS } else { "" };
    let past = match past_failures.is_empty() {
        true => String::new(),
        false => format!("\nEarlier attempts failed because: {}{methods}", past_failures.join("; ")),
    };
    vec![
        Message::system(format!("{}{past}", PROMPT.trim())),
        Message::user(format!("Evidence:\n{shown}\n\nQuestion: {}", words::shorten(question, 1_000))),
    ]
}

/// Small models follow examples better than rules, and copy whatever stands first: so they see the lines alone, and
/// where they stand is listed by code.
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

/// What was found, changed and not done, one line each, rendered from the evidence alone.
fn facts(question: Option<&str>, plan: &Plan, evidence: &Evidence) -> Vec<String> {
    let mut facts = Vec::new();
    let cited = question.map(|question| excerpt::lines(evidence, question, LISTED_LINES)).unwrap_or_default();
    for line in &cited {
        facts.push(format!("- {}: `{}` [{}]", line.place(), line.finding.text.trim(), line.call));
    }
    for entry in evidence.entries() {
        match entry.status {
            StepStatus::Succeeded if !entry.outcome.changed.is_empty() => {
                facts.push(format!("- {} [{}]", entry.summary(), entry.id));
            }
            // The user knows what was handed over.
            StepStatus::Succeeded if entry.tool == super::evidence::GIVEN => {}
            StepStatus::Succeeded if is_relation(entry) => facts.extend(places(entry)),
            StepStatus::Succeeded => match shown(entry, question, &cited, plan, evidence) {
                Shown::Whole => facts.extend(result(entry)),
                Shown::Named => facts.push(format!("- {} [{}]", entry.summary(), entry.id)),
                Shown::Cited => {}
            },
            _ => facts.extend(undone(entry)),
        }
    }
    for step in &plan.steps {
        if evidence.of(step.id).next().is_none() {
            facts.push(format!("- not done: {}", step.description));
        }
    }
    facts
}

/// What calls changed, listed and failed, one line each: the facts of steps whose words a model said.
pub fn told(entries: &[Entry]) -> Vec<String> {
    let mut facts = Vec::new();
    for entry in entries {
        match entry.status {
            StepStatus::Succeeded if is_relation(entry) => facts.extend(places(entry)),
            StepStatus::Succeeded if entry.outcome.changed.is_empty() => facts.extend(result(entry)),
            StepStatus::Succeeded => facts.push(format!("- {} [{}]", entry.summary(), entry.id)),
            _ => facts.extend(undone(entry)),
        }
    }
    facts
}

/// What came of a call that did not succeed.
fn undone(entry: &Entry) -> Vec<String> {
    match entry.status {
        StepStatus::Succeeded => Vec::new(),
        StepStatus::Failed => {
            let mut lines = vec![format!("- failed: {}: {} [{}]", entry.tool, entry.summary(), entry.id)];
            lines.extend(rest(&entry.outcome.text.lines().collect::<Vec<_>>()));
            lines
        }
        StepStatus::Rejected => vec![format!("- not done, you said no: {} [{}]", entry.tool, entry.id)],
        StepStatus::Skipped => vec![format!("- not done: {} [{}]", entry.summary(), entry.id)],
    }
}

/// How much of a result the user is shown.
enum Shown {
    /// Lines of it stand above.
    Cited,
    /// It was looked at for a question that another result answers.
    Named,
    Whole,
}

fn shown(entry: &Entry, question: Option<&str>, cited: &[excerpt::Line], plan: &Plan, evidence: &Evidence) -> Shown {
    let is_cited = |call: CallId| cited.iter().any(|line| line.call == call);
    let asked = plan.questions.iter().any(|question| question.about.contains(&entry.step));
    match () {
        () if is_cited(entry.id) && entry.tool == "search_text" && question.is_some_and(counts) => Shown::Named,
        () if is_cited(entry.id) => Shown::Cited,
        () if !cited.is_empty() && (asked || evidence.of(entry.step).any(|other| is_cited(other.id))) => Shown::Named,
        () => Shown::Whole,
    }
}

/// Whether a question is how many there are of something; what was found then says it in its first line.
fn counts(question: &str) -> bool {
    let low = question.to_lowercase();
    low.contains("how many") || low.contains("how often") || low.starts_with("count ")
}

/// A call that asked who calls, imports or needs whom: the places it found are the answer.
fn is_relation(entry: &Entry) -> bool {
    const RELATIONS: &[&str] = &["index_callers", "index_callees", "index_imports", "index_dependents", "index_impact"];
    RELATIONS.contains(&entry.tool.as_str())
}

/// The places of a relation, each with the line it speaks of, without the code around it.
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

/// A result that answers by itself.
fn result(entry: &Entry) -> Vec<String> {
    itemised(entry, &entry.outcome.text.lines().collect::<Vec<_>>())
}

fn itemised(entry: &Entry, all: &[&str]) -> Vec<String> {
    let mut lines = vec![format!("- {} [{}]", entry.summary(), entry.id)];
    lines.extend(rest(all));
    lines
}

/// What stands below the first line.
fn rest(all: &[&str]) -> Vec<String> {
    let mut lines: Vec<String> = all.iter().skip(1).take(RESULT_LINES).map(|line| format!("  {line}")).collect();
    if all.len() > RESULT_LINES + 1 {
        lines.push(format!("  … {} more lines", all.len() - RESULT_LINES - 1));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::evidence::Record;
    use super::*;
    use crate::base::StepId;
    use crate::tools::Outcome;

    #[test]
    fn places_of_a_relation_are_listed_without_the_code_around_them() {
        let text = "2 callers of save\nsrc/a.rs:7 run (function)\n6| fn run() {\n7|     save();\n8| }\nsrc/b.rs:3 go (function)\n    3| save()\n[1 more]\n";
        let mut evidence = Evidence::default();
        let entry = evidence.add(Record {
            step: StepId(1),
            tool: "index_callers",
            arguments: &serde_json::Map::new(),
            status: StepStatus::Succeeded,
            outcome: Outcome::ok(text),
            executing: false,
            wall_ms: 0,
        });
        let shown = places(entry).split_off(1);
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
