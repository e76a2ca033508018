//! Answers requests that need no tool: code repeats earlier messages; the model answers other small
//! talk.

use crate::budget::permit::Priority;
use crate::language::{grounding, words};
use crate::models::Role;
use crate::models::dialect::Message;
use crate::protocol::Exchange;
use crate::request::Text;
use crate::request::recall::Recalled;

use super::player::Query;
use super::synthesize::{stream_backed, tell};
use super::toolkit::{Toolkit, TurnError};
use super::{Host, conversation};

const CHAT: &str = include_str!("prompts/chat.md");
/// Maximum length of a reply to small talk, in tokens.
const CHAT_TOKENS: usize = 160;
/// The reply if the model's text has no source.
const NOTHING_TO_SAY: &str = "I have not looked anything up. Ask about the project, or say what to change.";
/// Maximum length of the request in the prompt, in characters.
const REQUEST_CHARS: usize = 8_000;
/// Maximum length of an earlier text that is repeated, in characters.
const SAID_CHARS: usize = 2_000;

/// Answers a request that needs no tool; the text is also sent to the host while it is written.
pub async fn answer(toolkit: &Toolkit, request: &Text, host: &dyn Host) -> Result<String, TurnError> {
    if let Some(known) = said(request, &toolkit.earlier) {
        return Ok(tell(host, &known));
    }
    let model = toolkit.model(Role::Planner, host).await?;
    let mut messages = vec![Message::system(CHAT.trim())];
    messages.extend(conversation::messages(&toolkit.earlier, &model));
    messages.push(Message::user(words::shorten(request.shown(), REQUEST_CHARS)));
    let query =
        Query { priority: Priority::User, sampling: toolkit.manner(&model), ..Query::of(&messages, CHAT_TOKENS) };
    // The prompt contained nothing from the project, so the reply may cite only the conversation.
    let said: String = toolkit.earlier.iter().map(|turn| format!("{}\n{}\n", turn.request, turn.answer)).collect();
    let backed = |sentence: &str| {
        let is_known = |mark: &String| request.says(mark) || said.contains(mark.as_str());
        grounding::citations(sentence).iter().all(is_known).then(|| sentence.to_owned())
    };
    let answer = stream_backed(toolkit, &model, query, host, backed).await?;
    Ok(if answer.trim().is_empty() { tell(host, NOTHING_TO_SAY) } else { answer })
}

/// The last request or answer, worded as a reply; `None` if `request` asks for something else.
fn said(request: &Text, earlier: &[Exchange]) -> Option<String> {
    let user = request.recalls()? == Recalled::Request;
    let russian = request.is_in_russian();
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
            assert_eq!(said(&Text::of(request), &turns).as_deref(), expected, "{request}");
        };
        check("What did I just say to you?", Some("You said: List the files"));
        check("what was my last question?", Some("You said: List the files"));
        check("What did you say?", Some("I said: - src: 5 entries [e1]"));
        check("Say that again, please", Some("I said: - src: 5 entries [e1]"));
        check("Что я только что сказал?", Some("Вы сказали: List the files"));
        check("What did I learn last time about tests?", None);
        check("What did you change in src/a.rs?", None);
        check("What did I say about the retry limit?", None);
        assert_eq!(said(&Text::of("What did I say?"), &[]).as_deref(), Some("Nothing was said before this."));
    }
}
