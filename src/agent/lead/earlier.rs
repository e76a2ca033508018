//! Turns the conversation before a request into messages: the newest turns, and the model's own
//! notes on older ones that exceed their share of the context.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

use crate::agent::budget::Budget;
use crate::agent::execute::Scene;
use crate::agent::player::{Player, Query};
use crate::agent::toolkit::TurnError;
use crate::agent::{conversation, whole};
use crate::base::lock;
use crate::language::words;
use crate::models::dialect::Message;
use crate::protocol::Exchange;

const PROMPT: &str = include_str!("../prompts/earlier.md");
const HEAD: &str = "Your notes on the conversation before this:";

/// The notes of a conversation. Clones share them.
#[derive(Clone, Default)]
pub struct Notes(Arc<Mutex<Option<Noted>>>);

#[derive(Clone)]
struct Noted {
    /// The last turn that the notes cover.
    last: u64,
    text: String,
}

impl Notes {
    /// The notes, and the turns that they do not cover.
    fn of<'a>(&self, earlier: &'a [Exchange]) -> (String, &'a [Exchange]) {
        let Some(noted) = lock(&self.0).clone() else { return (String::new(), earlier) };
        // If turns were undone, or the notes belong to another conversation, they cover no turns.
        match earlier.iter().rposition(|turn| mark(turn) == noted.last) {
            Some(at) => (noted.text, &earlier[at + 1..]),
            None => (String::new(), earlier),
        }
    }
}

fn mark(turn: &Exchange) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&turn.request, &turn.answer).hash(&mut hasher);
    hasher.finish()
}

/// The messages for the turns before this one.
pub async fn messages(scene: Scene<'_>, model: &Player, budget: &Budget) -> Result<Vec<Message>, TurnError> {
    let toolkit = scene.toolkit;
    let size = |turn: &Exchange| model.count(&turn.request) + model.count(&turn.answer);
    let (mut notes, mut rest) = toolkit.notes.of(&toolkit.earlier);
    let all = model.count(&notes) + rest.iter().map(size).sum::<usize>();
    if all > budget.earlier {
        let kept = newest(rest, budget.earlier / 2, size);
        let (old, new) = rest.split_at(rest.len() - kept);
        let Some(text) = write(scene, model, budget, &notes, old).await? else {
            return Ok(conversation::whole(&toolkit.earlier, budget.earlier, &|text| model.count(text)));
        };
        if let Some(last) = old.last() {
            *lock(&toolkit.notes.0) = Some(Noted { last: mark(last), text: text.clone() });
        }
        scene.host.notice(&format!(
            "the conversation has outgrown its share of the model's context: from now on, the model's own notes replace {} turns",
            old.len()
        ));
        (notes, rest) = (text, new);
    }
    let mut messages: Vec<Message> =
        rest.iter().flat_map(|turn| [Message::user(&turn.request), Message::assistant(&turn.answer)]).collect();
    if !notes.is_empty() {
        // Many templates require a user message first, and alternating speakers.
        let shown = format!("{HEAD}\n{notes}");
        match messages.first_mut() {
            Some(first) => first.content = format!("{shown}\n\n{}", first.content),
            None => messages.extend([Message::user(shown), Message::assistant("I go on from these.")]),
        }
    }
    Ok(messages)
}

/// The number of newest turns that together fit into `tokens`.
fn newest(turns: &[Exchange], tokens: usize, size: impl Fn(&Exchange) -> usize) -> usize {
    let mut left = tokens;
    let fits = |turn: &&Exchange| match left.checked_sub(size(turn)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    turns.iter().rev().take_while(fits).count()
}

/// The model's notes on the turns `old` and on those that `notes` cover; `None` if the new notes
/// are unusable.
async fn write(
    Scene { toolkit, host, .. }: Scene<'_>,
    model: &Player,
    budget: &Budget,
    notes: &str,
    old: &[Exchange],
) -> Result<Option<String>, TurnError> {
    let mut shown = if notes.is_empty() { String::new() } else { format!("{HEAD}\n{notes}\n\n") };
    for turn in old {
        shown.push_str(&format!("User: {}\nYou: {}\n\n", turn.request, turn.answer));
    }
    let bytes = crate::agent::budget::bytes(budget.condensed, &shown, |text| model.count(text));
    let messages = [
        Message::system(PROMPT.replace("{tokens}", &budget.summary.to_string()).trim()),
        Message::user(words::shorten(shown.trim(), bytes)),
    ];
    let query = Query { sampling: toolkit.manner(model), ..Query::of(&messages, budget.summary) };
    let output = toolkit.ask(model, query, "condensing", host).await?;
    Ok(whole::usable(&output))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(name: &str) -> Exchange {
        Exchange { request: name.to_owned(), answer: format!("answer to {name}") }
    }

    #[test]
    fn notes_cover_the_turns_up_to_the_last_noted_and_none_that_were_taken_back() {
        let (notes, turns) = (Notes::default(), ["a", "b", "c"].map(turn));
        assert_eq!(notes.of(&turns).1.len(), 3);
        *notes.0.lock().unwrap() = Some(Noted { last: mark(&turns[1]), text: "noted".to_owned() });
        let (text, rest) = notes.of(&turns);
        assert_eq!((text.as_str(), rest), ("noted", &turns[2..]));
        assert_eq!(notes.of(&turns[..1]), (String::new(), &turns[..1]));
    }

    #[test]
    fn the_newest_turns_stay_as_far_as_they_fit() {
        let turns = ["a", "b", "c", "d"].map(turn);
        let size = |_: &Exchange| 10;
        assert_eq!([0, 9, 10, 25, 1_000].map(|tokens| newest(&turns, tokens, size)), [0, 0, 1, 2, 4]);
    }
}
