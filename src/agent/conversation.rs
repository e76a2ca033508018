//! Turns earlier turns into messages for a prompt: the last ones in full, older ones in one line
//! each, as many as fit.

use crate::models::dialect::Message;
use crate::protocol::Exchange;

use super::player::Player;
use crate::language::words;

/// Number of turns shown in full, and the maximum length of their requests and answers, in
/// characters.
const WHOLE_TURNS: usize = 3;
const WHOLE_CHARS: usize = 400;
/// Number of older turns shown as one line each, and the maximum length of a request or answer in
/// such a line, in characters.
const CONDENSED_TURNS: usize = 24;
const CONDENSED_CHARS: usize = 80;
/// A conversation may use a quarter of a slot; the rest is for instructions, request and answer.
const SLOT_SHARE: usize = 4;

/// The earlier turns as messages for a prompt of `model`.
pub fn messages(earlier: &[Exchange], model: &Player) -> Vec<Message> {
    fitting(earlier, WHOLE_CHARS, model.context() / SLOT_SHARE, &|text| model.count(text))
}

/// The earlier turns with their full texts, in at most `tokens_max` tokens as counted by `count`.
pub fn whole(earlier: &[Exchange], tokens_max: usize, count: &dyn Fn(&str) -> usize) -> Vec<Message> {
    fitting(earlier, usize::MAX, tokens_max, count)
}

/// Messages of at most `tokens_max` tokens as counted by `count`; each request and answer has at
/// most `chars_max` characters. To fit, the oldest lines are dropped first, then complete turns,
/// then everything.
fn fitting(earlier: &[Exchange], chars_max: usize, tokens_max: usize, count: &dyn Fn(&str) -> usize) -> Vec<Message> {
    let mut whole = WHOLE_TURNS.min(earlier.len());
    let mut lines = CONDENSED_TURNS.min(earlier.len() - whole);
    while whole > 0 {
        let messages = shaped(earlier, chars_max, whole, lines);
        if messages.iter().map(|one| count(&one.content)).sum::<usize>() <= tokens_max {
            return messages;
        }
        if lines > 0 { lines -= 1 } else { whole -= 1 }
    }
    Vec::new()
}

/// The last `whole` turns in full; the first message begins with one line for each of the `lines` turns before them.
fn shaped(earlier: &[Exchange], chars_max: usize, whole: usize, lines: usize) -> Vec<Message> {
    let (older, last) = earlier.split_at(earlier.len() - whole);
    let left_out = older.len().saturating_sub(lines);
    let mut before: Vec<String> = older[left_out..].iter().map(condensed).collect();
    if left_out > 0 && !before.is_empty() {
        before.insert(0, format!("- {left_out} turns before these"));
    }
    let mut messages = Vec::new();
    for (place, turn) in last.iter().enumerate() {
        let request = words::shorten(&turn.request, chars_max);
        messages.push(Message::user(if place == 0 && !before.is_empty() {
            format!("Earlier in this conversation:\n{}\n\n{request}", before.join("\n"))
        } else {
            request
        }));
        messages.push(Message::assistant(words::shorten(&turn.answer, chars_max)));
    }
    messages
}

/// One line: `- request: first line of the answer`.
fn condensed(turn: &Exchange) -> String {
    let line = |text: &str| {
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("").trim();
        words::shorten(first, CONDENSED_CHARS)
    };
    format!("- {}: {}", line(&turn.request), line(&turn.answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(count: usize) -> Vec<Exchange> {
        let turn = |n| Exchange { request: format!("request {n}"), answer: format!("answer {n}\nand more") };
        (1..=count).map(turn).collect()
    }

    fn shown(earlier: &[Exchange], tokens_max: usize) -> Vec<String> {
        let messages = fitting(earlier, WHOLE_CHARS, tokens_max, &|text| text.split_whitespace().count());
        messages.into_iter().map(|message| message.content).collect()
    }

    #[test]
    fn the_last_turns_stay_whole_and_older_ones_become_lines() {
        assert_eq!(shown(&turns(2), 100), ["request 1", "answer 1\nand more", "request 2", "answer 2\nand more"]);
        let five = shown(&turns(5), 100);
        let before = "Earlier in this conversation:\n- request 1: answer 1\n- request 2: answer 2\n\nrequest 3";
        assert_eq!((five.len(), five[0].as_str()), (6, before));
        assert!(shown(&turns(60), 1_000)[0].starts_with("Earlier in this conversation:\n- 33 turns before these\n"));
    }

    #[test]
    fn a_conversation_never_takes_more_than_its_share() {
        let all = turns(40);
        let mut kept = usize::MAX;
        for tokens_max in (0..200).rev() {
            let shown = shown(&all, tokens_max);
            let tokens: usize = shown.iter().map(|text| text.split_whitespace().count()).sum();
            assert!(tokens <= tokens_max, "{tokens} of {tokens_max}");
            assert!(
                shown.is_empty() || shown.last().is_some_and(|last| last.starts_with("answer 40")),
                "the last stays"
            );
            assert!(shown.len() <= kept, "less room, fewer turns");
            kept = shown.len();
        }
    }
}
