//! Recognises small talk, for which no tool may be called: greetings, thanks, sums.

use crate::language::clauses::Part;
use crate::language::clauses::words::{entries, listed};

/// Whether all parts of a request are small talk; also true if there are no parts.
pub fn is_all(parts: &[Part]) -> bool {
    parts.iter().all(is_chat)
}

/// Greetings and other small talk.
const GREETINGS: &str = "\
    hi, hello, hey, hiya, yo, howdy, greetings, good morning, good afternoon, good evening, good night, thanks, \
    thank you, thx, ty, cheers, bye, goodbye, see you, ok, okay, cool, nice, great, awesome, perfect, lol, \
    how are you, how are you doing, how is it going, how's it going, what's up, who are you, what are you, \
    what can you do, what is your name, what's your name, nice to meet you, sorry, never mind, nevermind, \
    well done, good job, you're welcome, no problem, sounds good, got it, i see, yes, no, sure, please, \
    tell me a joke, tell me a story, sing me a song, write me a poem, are you there, can you help me, help me, \
    help, i love you, do you like music, are you a robot, привет, здравствуй, здравствуйте, спасибо, пока, \
    как дела, кто ты, доброе утро, добрый день, добрый вечер, ок";

/// Words that may follow a greeting without turning it into a request.
const FILLERS: &str = "\
    there, again, so, much, a, lot, very, for, the, your, help, today, everyone, all, friend, assistant, you, \
    that, it, was, is, works, great, really, just, and, to, now, my, buddy, doing, this, morning, man, later, \
    большое, вам, тебе, всем";

fn is_chat(part: &Part) -> bool {
    if !part.paths.is_empty() || !part.quoted.is_empty() {
        return false;
    }
    let low = part.full_text().to_lowercase().replace('’', "'");
    let all: Vec<&str> = words(&low).collect();
    is_greeting(&all) || is_sum(&low)
}

/// Whether the words are a series of greetings with only fillers between them.
fn is_greeting(words: &[&str]) -> bool {
    let mut at = 0;
    let mut greeted = words.is_empty();
    while at < words.len() {
        let length = entries(GREETINGS).filter_map(|greeting| {
            let wanted: Vec<&str> = greeting.split(' ').collect();
            words[at..].starts_with(&wanted).then_some(wanted.len())
        });
        match length.max() {
            Some(length) => (greeted, at) = (true, at + length),
            None if greeted && listed(FILLERS, words[at]) => at += 1,
            None => return false,
        }
    }
    greeted
}

/// Whether the text is an arithmetic question: `2+2`, `what is 7 * 6`.
fn is_sum(low: &str) -> bool {
    let rest =
        ["what is", "what's", "how much is", "calculate"].iter().find_map(|lead| low.strip_prefix(lead)).unwrap_or(low);
    let digits = rest.chars().filter(char::is_ascii_digit).count();
    digits >= 2
        && rest.chars().any(|c| "+-*/×^".contains(c))
        && rest.chars().all(|c| c.is_ascii_digit() || " +-*/×^().,?=".contains(c))
}

fn words(low: &str) -> impl Iterator<Item = &str> {
    low.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '-').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::clauses::parts;

    #[test]
    fn small_talk_needs_no_tool() {
        for request in [
            "Hello",
            "Hi there!",
            "thanks a lot",
            "Thank you so much for your help!",
            "Good morning, how are you?",
            "What can you do?",
            "ok cool",
            "what is 7 * 6",
            "Привет",
            "Спасибо большое!",
            "Who are you?",
            "Tell me a joke",
            "",
        ] {
            assert!(is_all(&parts(request)), "{request}");
        }
    }

    #[test]
    fn a_request_behind_a_greeting_is_not_small_talk() {
        for request in [
            "Hi! Rename c.txt to d.txt",
            "Hello, what does parse() do?",
            "Thanks. Now run the tests",
            "Hi, my disk is full",
            "What is the default port?",
            "How do I build it?",
        ] {
            assert!(!is_all(&parts(request)), "{request}");
        }
    }
}
