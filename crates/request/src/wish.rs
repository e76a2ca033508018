//! Distinguishes wishes, which are orders in another form, from polite questions.

use std::sync::LazyLock;

use regex::Regex;

use crate::base::is_listed;
use crate::base::pattern::pattern;
use crate::language::{grounding, words};

use super::kind::{KNOW, POLITE, QUESTIONS, has_word};

/// Maximum number of words between `give` and the article of its object.
const GIVEN_WORDS: usize = 4;

/// Whether a text expresses a wish for a change: `it would be nice if …`, `could it also take …?`,
/// `I'd like an option …`.
pub(super) fn is_wish(text: &str) -> bool {
    static WISHES: LazyLock<Regex> = LazyLock::new(|| {
        let conditional = r"(?:would|'d|’d) be \w+ (?:if|when|to have)\b|\b(?:wäre|fände|serait|sería|estaría)\b[^?]*\b(?:wenn|si|que)\b";
        let more = r"^(?:and |also |but )*(?:can|could|would|might|könnte|kann|pourrait|podría)\b.*\b(?:also|too|as well|instead|please|auch|bitte|aussi|también)\b";
        let takes = r"^(?:and |also |but )*could (?:\S+ ){1,3}?(?:take|accept|support|have|get|allow|return|raise|throw|print|use|ignore|handle|be made)\b";
        let wants = r"\b(?:i|we)(?:'d|’d| would) (?:really )?(?:like|love|prefer)\b|\b(?:i|we) wish\b";
        pattern(format!("{conditional}|{more}|{takes}|{wants}"))
    });
    let writes = |low: &str| {
        let begins =
            || words::split(low).iter().find(|word| *word != "please").is_some_and(|word| is_listed("say state", word));
        asks_to_write(low) && (begins() || POLITE.split('|').any(|words| low.contains(words)))
    };
    let wishes = |sentence: &String| {
        let low = sentence.trim().to_lowercase();
        let asks =
            asks_politely(sentence) || has_word(sentence, KNOW) || has_word(sentence, "tell explain show describe");
        (WISHES.is_match(&low) || writes(&low)) && !asks
    };
    grounding::sentences(text).iter().any(wishes)
}

/// Whether a text asks to write something down: `could you say there that …`, but not
/// `could you say what …`.
fn asks_to_write(low: &str) -> bool {
    static SAYS: LazyLock<Regex> = LazyLock::new(|| {
        let place = r"(?:also|too|there|here|so|in|under|above|below|at|auch|dort|da|aussi|là|también|allí)\b";
        pattern(format!(r"\b(?:say|state|sagen|dire|decir)\s+{place}[^?]*?\b(?:that|dass|que)\b"))
    });
    SAYS.is_match(low)
}

/// Whether a text asks to add something to code: `Give Queue a method clear()`, but not
/// `Give me a list`.
pub(super) fn gives_to_something(text: &str) -> bool {
    let all = words::split(text);
    let mut all = all.iter().map(String::as_str).skip_while(|word| is_listed("please bitte also and", word));
    let gives = all.next().is_some_and(|word| is_listed("give gib donne dale", word));
    let whom = all.next().unwrap_or_default();
    gives
        && !is_listed("me us mir uns moi nous an a some", whom)
        && all.take(GIVEN_WORDS).any(|word| is_listed("a an another its their the einen eine ein une un una", word))
}

/// Whether a text asks for an answer in the form of a request: `can you tell me …`.
pub(super) fn asks_politely(text: &str) -> bool {
    let low = text.to_lowercase();
    if asks_to_write(&low) {
        return false;
    }
    let after = POLITE.split('|').find_map(|words| low.split_once(words)).map(|(_, after)| after);
    let mut after = words::split(after.unwrap_or_default()).into_iter();
    let next = after.find(|word| !is_listed("please also maybe kindly just bitte mir", word)).unwrap_or_default();
    is_listed(QUESTIONS, &next)
        || is_listed("list find look check say sagen erklären zeigen dire expliquer decir", &next)
}

#[cfg(test)]
mod tests {
    use crate::kind::{is_order, is_question, only_asks};

    #[test]
    fn wishes_are_orders_and_polite_questions_are_not() {
        for order in [
            "Give Queue a method clear() that empties it",
            "Could it also take a list of names?",
            "It would be nice if the error named the key.",
            "The parser needs an option strict",
            "Can you make load() accept a path too?",
            "I'd like a flag that hides the header",
            "It'd be great if size could be zero",
            "Es wäre schön, wenn load auch einen Pfad nimmt",
            "Could the writer have an option for tabs?",
            "There is a list of limits in the guide. Could you also say there that names are cut?",
            "Could you say in the guide that names are cut?",
            "Say in the guide that names are cut",
            "The loader reads files. Could it also take an open file?",
        ] {
            assert!(is_order(order), "{order}");
            assert!(!is_question(order) && !only_asks(order), "{order}");
        }
        for question in [
            "Can you tell me what must be set?",
            "Could you show me how to add a tool?",
            "Give me a list of the callers",
            "Can the cache be changed?",
            "I would like to know where the port is set",
            "Let me know which tests need a server",
            "Would it be slow?",
            "Could you say what that limit is?",
            "Say what that limit is",
            "Could you also say why it fails?",
        ] {
            assert!(!is_order(question), "{question}");
        }
        assert!(is_order("Can you tell me where x is and remove it?"));
    }
}
