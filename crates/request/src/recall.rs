//! Recognises requests that only ask about earlier messages.

use crate::language::clauses::words::{entries, listed};

use super::Text;

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
/// Words that may follow such a question without changing its topic.
const TAIL: &str =
    "to, you, me, do, in, this, our, chat, conversation, here, a, moment, minute, ago, мне, тебе, вам, в, чате";
/// The earlier text that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recalled {
    /// The user's last request.
    Request,
    /// The last answer.
    Answer,
}

impl Text {
    /// The earlier text that the request asks for; `None` if it asks for anything else.
    pub fn recalls(&self) -> Option<Recalled> {
        whose(self.raw())
    }

    /// Whether the text contains letters of the Russian alphabet.
    pub fn is_in_russian(&self) -> bool {
        self.raw().chars().any(|letter| matches!(letter, 'а'..='я' | 'А'..='Я'))
    }
}

fn whose(request: &str) -> Option<Recalled> {
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
        Some(Recalled::Request)
    } else if entries(OF_ASSISTANT).any(is) {
        Some(Recalled::Answer)
    } else {
        None
    }
}
