//! Asks the leading model for its next reply, passes its words on to the user as they arrive, and
//! classifies the reply.

use crate::agent::execute::Scene;
use crate::agent::notation::Reply;
use crate::agent::player::{Form, Output, Player, Query};
use crate::agent::synthesize::tell;
use crate::agent::toolkit::TurnError;
use crate::agent::whole;
use crate::engine::Finish;
use crate::engine::slot::Reuse;
use crate::models::dialect::notation::Piece;
use crate::models::dialect::{Chat, Message};
use crate::tools::ToolSpec;
use crate::tools::call::{self, Reading, Tier};

use super::offer::Offer;

/// Number of bytes searched for field names at the beginning of a JSON line.
const LINE_BYTES: usize = 400;
/// The beginning of a line that adds a step to the plan.
const PLAN: &str = "[plan.add_step(";
/// Maximum offset, in bytes, of a call marker within its line; a marker farther right is only
/// mentioned.
const MARK_BYTES: usize = 24;

/// A reply from the model.
pub struct Said {
    pub output: Output,
    /// The words of the reply, without calls.
    pub words: String,
    pub kind: Kind,
}

/// The kind of a reply.
pub enum Kind {
    /// Words, which end the turn.
    Words,
    Calls(Reading),
    /// Neither words nor a call.
    Empty,
    /// A call that cannot be parsed.
    Unreadable,
    /// A reply that was cut off, for this reason, and contains a call or the beginning of one.
    CutCall(String),
    /// Words that were cut off, for this reason.
    CutWords(String),
    /// A reply that was stopped because it repeated itself.
    Circles(String),
}

/// The model's next reply; `gap` is sent to the user before its first words.
pub async fn ask(
    Scene { toolkit, host, .. }: Scene<'_>,
    model: &Player,
    messages: &[Message],
    offer: &Offer,
    tokens_max: usize,
    gap: &str,
) -> Result<Said, TurnError> {
    let chat = Chat { tools: &offer.texts, thinks: toolkit.switch(model), ..Chat::from(messages) };
    let helps = model.measured().is_some_and(|measured| measured.grammar_helps());
    let query = Query {
        form: if helps { Form::Call(Reply::Either) } else { Form::Free },
        sampling: toolkit.manner(model),
        reuse: Reuse::Continue,
        repeats: true,
        hands_over: true,
        ..Query::of(chat, tokens_max)
    };
    let dialect = model.here().map(|model| model.dialect.clone());
    let mut reader = dialect.as_ref().map(|dialect| dialect.notation().reader(&offer.known_texts, false));
    let (mut words, mut calls, mut held) = (String::new(), 0, String::new());
    let mut hear = |text: &str| {
        let text = if words.is_empty() { text.trim_start() } else { text };
        held.push_str(text);
        // A plan is shown as the plan, not as text.
        if words.is_empty() && (PLAN.starts_with(held.as_str()) || held.starts_with(PLAN)) {
            return;
        }
        let text = std::mem::take(&mut held);
        if !text.is_empty() {
            if words.is_empty() && !gap.is_empty() {
                tell(host, gap);
            }
            words.push_str(&tell(host, &text));
        }
    };
    let mut sort = |pieces: Vec<Piece>, hear: &mut dyn FnMut(&str)| {
        for piece in pieces {
            match piece {
                Piece::Content(text) => hear(&text),
                Piece::Call { .. } => calls += 1,
                Piece::Thinking(_) => {}
            }
        }
    };
    let take = |text: &str| match &mut reader {
        Some(reader) => sort(reader.push(text), &mut hear),
        None => hear(text),
    };
    let output = toolkit.stream(model, query, "working", host, take).await?;
    if let Some(reader) = reader {
        sort(reader.finish(), &mut hear);
    }
    let kind = kind(&output, &words, calls > 0, &offer.known, toolkit.cognitive.fallback_parsing);
    if matches!(kind, Kind::Words | Kind::CutWords(_)) && !held.is_empty() {
        words.push_str(&tell(host, &held));
    }
    Ok(Said { output, words, kind })
}

fn kind(output: &Output, words: &str, has_call: bool, specs: &[ToolSpec], lenient: bool) -> Kind {
    let begins = begins_as_call(&output.text, specs);
    let until = if lenient && begins { Tier::Lenient } else { Tier::Strict };
    let reading = output.read(specs, until);
    let is_marked = has_call || !output.calls.is_empty() || begins || is_marked(&output.text);
    if let Some(why) = whole::why_cut(output) {
        return match output.finish {
            Finish::Repetition => Kind::Circles(why),
            _ if !reading.calls.is_empty() || is_marked => Kind::CutCall(why),
            _ if words.trim().is_empty() => Kind::CutCall(why),
            _ => Kind::CutWords(why),
        };
    }
    if !reading.calls.is_empty() {
        Kind::Calls(reading)
    } else if is_marked {
        Kind::Unreadable
    } else if words.trim().is_empty() {
        Kind::Empty
    } else {
        Kind::Words
    }
}

/// Whether a reply begins like a call, or contains a line of a plan. In an answer that explains
/// code, a later line that looks like a call does not count.
fn begins_as_call(text: &str, specs: &[ToolSpec]) -> bool {
    let text = text.trim_start();
    if text.lines().any(|line| line.trim_start().starts_with(PLAN)) {
        return true;
    }
    let text = text.strip_prefix("```").map_or(text, |rest| rest.split_once('\n').map_or("", |(_, rest)| rest));
    if text.starts_with('[') && text.trim_end().ends_with(")]") && is_named(&text[1..]) {
        return true;
    }
    let text = text.trim_start_matches(['[', ' ', '\n']);
    let is_json = || {
        let head = &text[..text.floor_char_boundary(LINE_BYTES)];
        head.starts_with('{') && head.contains("\"name\"") && head.contains("\"arguments\"")
    };
    specs.iter().any(|spec| text.strip_prefix(spec.name.as_str()).is_some_and(|rest| rest.starts_with('(')))
        || is_json()
}

/// Whether a text begins with a name and an opening bracket.
fn is_named(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'));
    rest.len() < text.len() && rest.starts_with('(')
}

/// Whether the first or last line of a text begins with call markers.
fn is_marked(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next();
    let marked = |line: &str| call::textual_patterns(&line[..line.floor_char_boundary(MARK_BYTES)]) > 0;
    [first, lines.next_back()].into_iter().flatten().any(marked)
}

#[cfg(test)]
mod tests {
    use super::super::checklist;
    use super::*;
    use crate::tools::Catalog;

    #[test]
    fn the_plan_of_an_lfm2_planner_is_read_without_the_marks_of_calls() {
        let lfm2 = crate::models::dialect::by_name("lfm2").expect("a dialect");
        let text =
            "I plan:\n[plan.add_step(description=\"Read a.rs\")]\n[plan.add_step(description=\"Test \\\"it\\\"\")]\n";
        assert!(begins_as_call(text, &[]));
        for text in [
            text,
            "<|tool_call_start|>[plan.add_step(description='Read a.rs'), plan.add_step(description='Test \"it\"')]<|tool_call_end|>",
        ] {
            let read = call::read(text, Some(&*lfm2), &[checklist::add_step()], Tier::Lenient);
            let steps: Vec<_> = read.calls.iter().filter_map(checklist::added).collect();
            assert_eq!(steps, ["Read a.rs", "Test \"it\""], "{text}");
        }
    }

    #[test]
    fn an_answer_that_shows_code_is_no_call() {
        let catalog = Catalog::builtin();
        let begins = |text: &str| begins_as_call(text, catalog.specs());
        for text in [
            "[read_file(path=\"a\")]",
            "```json\n{\"name\": \"read_file\", \"arguments\": {}}\n```",
            "read_file(\"a\")",
            "[make_coffee(cups=2)]",
            "I plan:\n[plan.add_step(description=\"a\")]\n[plan.add_step(description=\"b\")]",
        ] {
            assert!(begins(text), "{text}");
        }
        for text in
            ["It calls `read_file(\"a\")`:\n```py\nread_file(1)\n```", "[1, 2] is a list", "{\"name\": \"x\"} is JSON"]
        {
            assert!(!begins(text), "{text}");
        }
        assert!(is_marked("I read it.\n<tool_call>\n{\"name\": oops}\n</tool_call>") || is_marked("<tool_call>{"));
        assert!(!is_marked(
            "The parser of this project looks for `<tool_call>`.\nThe field `tool_calls` is\nread after it.\nThat is all."
        ));
    }
}
