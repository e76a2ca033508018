//! Answers small talk with one model and no tools.

use crate::budget::permit::Priority;
use crate::engine::{Piece, Request, Sampling};
use crate::models::Role;
use crate::models::dialect::Message;
use crate::protocol::Event;

use super::super::toolkit::{Toolkit, TurnError};
use super::super::{Host, conversation};
use crate::language::words;

const CHAT: &str = include_str!("../prompts/chat.md");
/// Longest reply to small talk.
const CHAT_TOKENS: usize = 160;

/// Answers a request that needs no tool; the text also goes to the host as it comes.
pub async fn reply(toolkit: &Toolkit, request: &str, host: &dyn Host) -> Result<String, TurnError> {
    let model = toolkit.model(Role::Planner, host).await?;
    let mut messages = vec![Message::system(CHAT.trim())];
    messages.extend(conversation::messages(&toolkit.earlier, &model.engine));
    messages.push(Message::user(words::shorten(request, 8_000)));
    let request = Request {
        priority: Priority::User,
        sampling: Sampling::prose(),
        ..model.engine.request(&model.dialect.render(&messages), CHAT_TOKENS)
    };
    let mut answer = String::new();
    toolkit
        .stream(&model, request, "answering", host, |piece| {
            if let Piece::Answer(text) = piece {
                host.emit(Event::Token { text: text.clone() });
                answer.push_str(text);
            }
        })
        .await?;
    Ok(answer)
}
