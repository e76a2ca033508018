//! Recognises requests that only ask what was said before.

use crate::language::lexicon::{Class, listed};

use super::Text;

/// The earlier text that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recalled {
    /// The user's last request.
    Request,
    /// The last answer.
    Answer,
}

impl Text {
    /// The earlier text that it asks for; `None` if it asks for anything else.
    pub fn recalls(&self) -> Option<Recalled> {
        whose(self.raw())
    }

    /// Whether it has letters of the Russian alphabet.
    pub fn is_in_russian(&self) -> bool {
        self.raw().chars().any(|letter| matches!(letter, 'а'..='я' | 'А'..='Я'))
    }
}

fn whose(request: &str) -> Option<Recalled> {
    let low = request.to_lowercase();
    let words = low.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty() && !listed(Class::AroundRecall, word)).collect();
    let end = words.iter().take_while(|word| listed(Class::Recalled, word)).count();
    let (question, behind) = words.split_at(end);
    let asks = question.first().is_some_and(|first| listed(Class::Recalls, first))
        && question.iter().any(|word| listed(Class::Saying, word))
        && behind.iter().all(|word| listed(Class::BehindRecall, word));
    let speaker = question.iter().find(|word| listed([Class::OfUser, Class::OfAssistant], word))?;
    asks.then(|| if listed(Class::OfUser, speaker) { Recalled::Request } else { Recalled::Answer })
}
