//! Answers requests that need no tool: code repeats what was said before; the model answers other
//! small talk.

use crate::budget::permit::Priority;
use crate::language::clauses::words::{entries, listed};
use crate::language::{grounding, words};
use crate::models::Role;
use crate::models::dialect::Message;
use crate::protocol::Exchange;

use super::player::Query;
use super::synthesize::{stream_backed, tell};
use super::toolkit::{Toolkit, TurnError};
use super::{Host, conversation};

const CHAT: &str = include_str!("prompts/chat.md");
/// Maximum length of a reply to small talk, in tokens.
const CHAT_TOKENS: usize = 160;
/// The reply if the model's text has no source.
const NOTHING_TO_SAY: &str = "I have looked nothing up. Ask about the project, or say what to change.";
/// Maximum length of the request in the prompt, in characters.
const REQUEST_CHARS: usize = 8_000;
/// Questions about the user's earlier requests, in lower case and without [`FILLERS`].
const OF_USER: &str = "\
    what did i say, what did i ask, what did i tell, what did i write, what have i said, what have i asked, \
    what was i saying, what was my question, what was my request, what was my message, what was my last question, \
    what was my last request, what was my last message, what was my previous question, what was my previous request, \
    what was the last thing i said, what was the last thing i asked, tell me what i said, tell me what i asked, \
    repeat my question, repeat my last question, что я сказал, что я сказала, что я спросил, что я спросила, \
    что я говорил, что я спрашивал, какой был мой последний вопрос, повтори мой вопрос";
/// Questions about earlier answers, in the same form.
const OF_ASSISTANT: &str = "\
    what did you say, what did you answer, what did you tell, what did you reply, what was your answer, \
    what was your last answer, what was your reply, what was the last thing you said, repeat your answer, \
    repeat your last answer, say that, repeat that, что ты сказал, что ты ответил, повтори ответ, повтори свой ответ";
const FILLERS: &str = "just, please, now, exactly, again, really, so, then, earlier, before, только, сейчас, ещё, раз";
/// Words that may follow such a question without giving it another topic.
const TAIL: &str =
    "to, you, me, do, in, this, our, chat, conversation, here, a, moment, minute, ago, мне, тебе, вам, в, чате";
/// Maximum length of an earlier text that is repeated, in characters.
const SAID_CHARS: usize = 2_000;

/// Answers a request that needs no tool; the text is also sent to the host as it is written.
pub async fn answer(toolkit: &Toolkit, request: &str, host: &dyn Host) -> Result<String, TurnError> {
    if let Some(known) = said(request, &toolkit.earlier) {
        return Ok(tell(host, &known));
    }
    let model = toolkit.model(Role::Planner, host).await?;
    let mut messages = vec![Message::system(CHAT.trim())];
    messages.extend(conversation::messages(&toolkit.earlier, &model));
    messages.push(Message::user(words::shorten(request, REQUEST_CHARS)));
    let query =
        Query { priority: Priority::User, sampling: toolkit.manner(&model), ..Query::of(&messages, CHAT_TOKENS) };
    // The prompt contained nothing of the project, so the reply may cite only the conversation.
    let said: String = toolkit.earlier.iter().map(|turn| format!("{}\n{}\n", turn.request, turn.answer)).collect();
    let backed = |sentence: &str| {
        let is_known = |mark: &String| request.contains(mark.as_str()) || said.contains(mark.as_str());
        grounding::citations(sentence).iter().all(is_known).then(|| sentence.to_owned())
    };
    let answer = stream_backed(toolkit, &model, query, host, backed).await?;
    Ok(if answer.trim().is_empty() { tell(host, NOTHING_TO_SAY) } else { answer })
}

/// Whether `request` only asks what was said before.
pub fn is_recall(request: &str) -> bool {
    whose(request).is_some()
}

/// The last request or answer, worded as a reply; `None` if `request` asks for something else.
fn said(request: &str, earlier: &[Exchange]) -> Option<String> {
    let user = whose(request)?;
    let russian = request.chars().any(|letter| matches!(letter, 'а'..='я' | 'А'..='Я'));
    let text = |turn: &Exchange| words::shorten(if user { &turn.request } else { &turn.answer }, SAID_CHARS);
    Some(match (earlier.last().map(text), user, russian) {
        (None, _, false) => "Nothing was said before this.".to_owned(),
        (None, _, true) => "До этого ничего не было сказано.".to_owned(),
        (Some(said), true, false) => format!("You said: {said}"),
        (Some(said), true, true) => format!("Вы сказали: {said}"),
        (Some(said), false, false) => format!("I said: {said}"),
        (Some(said), false, true) => format!("Я сказал: {said}"),
    })
}

/// `Some(true)` if the question is about the user's earlier request, `Some(false)` if it is about
/// the earlier answer, `None` if about neither.
fn whose(request: &str) -> Option<bool> {
    let low = request.to_lowercase();
    let words = low.split(|c: char| !c.is_alphanumeric());
    let mut words: Vec<&str> = words.filter(|word| !word.is_empty() && !listed(FILLERS, word)).collect();
    words.dedup();
    // `что я только что сказал` without fillers is `что я что сказал`; the second `что` is removed.
    if let Some(at) = words.windows(2).position(|two| two == ["я", "что"]) {
        words.remove(at + 1);
    }
    let is = |question: &str| {
        let wanted: Vec<&str> = question.split(' ').collect();
        words.starts_with(&wanted) && words[wanted.len()..].iter().all(|word| listed(TAIL, word))
    };
    if entries(OF_USER).any(is) {
        Some(true)
    } else if entries(OF_ASSISTANT).any(is) {
        Some(false)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(request: &str, answer: &str) -> Exchange {
        Exchange { request: request.to_owned(), answer: answer.to_owned() }
    }

    #[test]
    fn earlier_requests_and_answers_are_repeated() {
        let turns = [turn("Hello, I am Ada", "Nice to meet you."), turn("List the files", "- src: 5 entries [e1]")];
        let check = |request: &str, expected: Option<&str>| {
            assert_eq!(said(request, &turns).as_deref(), expected, "{request}");
        };
        check("What did I just say to you?", Some("You said: List the files"));
        check("what was my last question?", Some("You said: List the files"));
        check("What did you say?", Some("I said: - src: 5 entries [e1]"));
        check("Say that again, please", Some("I said: - src: 5 entries [e1]"));
        check("Что я только что сказал?", Some("Вы сказали: List the files"));
        check("What did I learn last time about tests?", None);
        check("What did you change in src/a.rs?", None);
        check("What did I say about the retry limit?", None);
        assert_eq!(said("What did I say?", &[]).as_deref(), Some("Nothing was said before this."));
    }
}
