//! What the kept turns of a conversation add to a request: what its first `it` means, and what was said before.

use crate::protocol::Exchange;

use super::decompose::words::{self as classes, entries, listed};
use super::decompose::{self, Part, PartKind, names};
use super::words;

/// Questions about what the user has said, and about what was answered; lower case, without [`FILLERS`].
const OF_USER: &str = "\
    what did i say, what did i ask, what did i tell, what did i write, what have i said, what have i asked, \
    what was i saying, what was my question, what was my request, what was my message, what was my last question, \
    what was my last request, what was my last message, what was my previous question, what was my previous request, \
    what was the last thing i said, what was the last thing i asked, tell me what i said, tell me what i asked, \
    repeat my question, repeat my last question, что я сказал, что я сказала, что я спросил, что я спросила, \
    что я говорил, что я спрашивал, какой был мой последний вопрос, повтори мой вопрос";
const OF_ASSISTANT: &str = "\
    what did you say, what did you answer, what did you tell, what did you reply, what was your answer, \
    what was your last answer, what was your reply, what was the last thing you said, repeat your answer, \
    repeat your last answer, say that, repeat that, что ты сказал, что ты ответил, повтори ответ, повтори свой ответ";
const FILLERS: &str = "just, please, now, exactly, again, really, so, then, earlier, before, только, сейчас, ещё, раз";
/// What may follow such a question without giving it a topic.
const TAIL: &str =
    "to, you, me, do, in, this, our, chat, conversation, here, a, moment, minute, ago, мне, тебе, вам, в, чате";
/// Words of an earlier request that say what it was about, at most so many.
const ABOUT_MAX: usize = 12;
/// Letters of an earlier answer that are said again.
const SAID_CHARS: usize = 2_000;
/// Turns that a bare `it` reaches back; those that only point back themselves are not counted.
const TURNS_BACK_MAX: usize = 3;

/// Whether `request` only asks what was said before.
pub fn asks(request: &str) -> bool {
    whose(request).is_some()
}

/// What was said before, if that is what `request` asks for.
pub fn answer(request: &str, earlier: &[Exchange]) -> Option<String> {
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

/// True where the user's own words are asked for, false where the answers are.
fn whose(request: &str) -> Option<bool> {
    let low = request.to_lowercase();
    let said: Vec<&str> = low.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut said: Vec<&str> = said.into_iter().filter(|word| !listed(FILLERS, word)).collect();
    // `что я только что сказал`
    said.dedup();
    if let Some(at) = said.windows(2).position(|two| two == ["я", "что"]) {
        said.remove(at + 1);
    }
    let is = |question: &str| {
        let wanted: Vec<&str> = question.split(' ').collect();
        said.starts_with(&wanted) && said[wanted.len()..].iter().all(|word| listed(TAIL, word))
    };
    match () {
        () if entries(OF_USER).any(is) => Some(true),
        () if entries(OF_ASSISTANT).any(is) => Some(false),
        () => None,
    }
}

/// The parts of `request`; one that begins with a bare `it` or `the file` is told which file the turns before were about.
pub fn parts(request: &str, earlier: &[Exchange]) -> Vec<Part> {
    let mut parts = decompose::parts(request);
    let open = |part: &&mut Part| part.kind == PartKind::Act && part.paths.is_empty() && part.quoted.is_empty();
    if let Some(first) = parts.first_mut().filter(open).filter(|first| points_back(&first.text))
        && let Some((path, about)) = lately(earlier).find_map(subject)
    {
        let about = if about.is_empty() { String::new() } else { format!(": {about}") };
        first.context = format!("In {path}{about}. {}", first.context).trim().to_owned();
        first.paths.push(path);
    }
    parts
}

/// The turns that a bare `it` may be about, the latest first.
fn lately(earlier: &[Exchange]) -> impl Iterator<Item = &Exchange> {
    let mut topics = 0;
    earlier.iter().rev().take_while(move |turn| {
        topics += usize::from(!points_back(&turn.request));
        topics <= TURNS_BACK_MAX
    })
}

/// Whether the first `it` or `the file` of a clause means something that was said before the clause: nothing in front of it can be meant.
fn points_back(text: &str) -> bool {
    const POINTS: &str = "it, its, them, they, его, её, ее, их, там, нём, нем";
    let low = text.to_lowercase();
    let words: Vec<&str> = low.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_file = |at: usize| matches!(words[at..], ["the" | "that" | "this" | "same", "file", ..]);
    let is_it = |at: usize| listed(POINTS, words[at]);
    let Some(at) = (0..words.len()).find(|&at| is_it(at) || is_file(at)) else { return false };
    let before = &words[..at];
    if is_it(at) { names_nothing(before) || is_aim(before, words[at]) } else { speaks_of_no_file(before) }
}

/// Nothing but verbs: one at the beginning, and one behind each question word that opens a clause (`tell me who calls it`).
fn names_nothing(before: &[&str]) -> bool {
    let mut verbs_left = 1;
    before.iter().enumerate().all(|(at, word)| match () {
        () if *word == "that" && at > 0 => {
            verbs_left = 0;
            true
        }
        () if classes::is_question_word(word) || classes::is_subordinator(word) => {
            verbs_left = 1;
            true
        }
        () if carries_nothing(word) || at == 0 && *word == "and" => true,
        () => {
            verbs_left -= 1;
            verbs_left >= 0
        }
    }) || is_subject(before)
}

/// `how many lines does it`: what a question asks for is not what it asks about.
fn is_subject(before: &[&str]) -> bool {
    let asks = before.first().is_some_and(|word| classes::is_question_word(word));
    let [.., auxiliary] = before else { return false };
    asks && classes::is_auxiliary(auxiliary) && before.iter().filter(|word| classes::is_auxiliary(word)).count() == 1
}

/// `add a comment to it`: the object of a verb is not what it is put to, unless the clause has other clauses or phrases in it.
fn is_aim(before: &[&str], word: &str) -> bool {
    const TOWARDS: &str = "to, in, into, inside, from, в, во, из";
    const JOINS: &str = "and, or, but, so, then, that";
    let [object @ .., lead] = before else { return false };
    let object = if object.first().is_some_and(|word| classes::is_question_word(word)) { &object[1..] } else { object };
    let plain = |word: &&str| {
        !classes::is_preposition(word)
            && !classes::is_subordinator(word)
            && !classes::is_question_word(word)
            && !listed(JOINS, word)
    };
    word != "its" && listed(TOWARDS, lead) && object.iter().all(plain)
}

/// `the file` may mean any file that is spoken of before it, and in a clause of its own whatever has one.
fn speaks_of_no_file(before: &[&str]) -> bool {
    let opens = |at: &usize| *at > 0 && (before[*at] == "that" || classes::is_question_word(before[*at]));
    let clause = (0..before.len()).rev().find(opens).unwrap_or(0);
    !before.iter().any(|word| matches!(*word, "file" | "files")) && (clause == 0 || names_nothing(&before[..clause]))
}

fn carries_nothing(word: &str) -> bool {
    const BESIDE: &str = "\
        i, you, we, want, would, like, let, s, me, us, sure, а, и, теперь, потом, затем, ещё, еще, пожалуйста, что, как, \
        где, кто, в, во, на, из, к, о, об, мне";
    classes::is_determiner(word)
        || classes::is_preposition(word)
        || classes::is_auxiliary(word)
        || classes::is_connective(word) && word != "and"
        || classes::is_adverb(word)
        || listed(BESIDE, word)
}

/// The only file of a turn, and what the turn was about: the words of its request that are no verb and no value.
fn subject(turn: &Exchange) -> Option<(String, String)> {
    let parts = decompose::parts(&turn.request);
    let mut paths: Vec<&String> = parts.iter().flat_map(|part| &part.paths).collect();
    paths.sort_unstable();
    paths.dedup();
    let path = match paths.as_slice() {
        [only] => (*only).clone(),
        [] => cited(&turn.answer)?.to_owned(),
        _ => return None,
    };
    let verbs: Vec<&str> = parts.iter().filter_map(|part| part.verb.as_deref()).collect();
    let says = |word: &&str| {
        let low = word.to_lowercase();
        !names::is_path(word)
            && !word.contains(|c: char| c.is_ascii_digit())
            && !verbs.contains(&low.as_str())
            && !words::content(word).is_empty()
    };
    let said = turn.request.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let about: Vec<&str> = said.filter(|word| !word.is_empty()).filter(says).take(ABOUT_MAX).collect();
    Some((path, about.join(" ")))
}

/// `src/a.rs` of the first line of an answer that cites one: ``- src/a.rs:14: `…` [e1]``.
fn cited(answer: &str) -> Option<&str> {
    let places = answer.lines().filter_map(|line| Some(line.strip_prefix("- ")?.split_once(':')?.0));
    places.into_iter().find(|place| names::is_path(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(request: &str, answer: &str) -> Exchange {
        Exchange { request: request.to_owned(), answer: answer.to_owned() }
    }

    #[test]
    fn what_was_said_is_told_from_the_kept_turns() {
        let turns = [turn("Hello, I am Ada", "Nice to meet you."), turn("List the files", "- src: 5 entries [e1]")];
        let check = |request: &str, expected: Option<&str>| {
            assert_eq!(answer(request, &turns).as_deref(), expected, "{request}");
        };
        check("What did I just say to you?", Some("You said: List the files"));
        check("what was my last question?", Some("You said: List the files"));
        check("What did you say?", Some("I said: - src: 5 entries [e1]"));
        check("Say that again, please", Some("I said: - src: 5 entries [e1]"));
        check("Что я только что сказал?", Some("Вы сказали: List the files"));
        check("What did I learn last time about tests?", None);
        check("What did you change in src/a.rs?", None);
        check("What did I say about the retry limit?", None);
        assert_eq!(answer("What did I say?", &[]).as_deref(), Some("Nothing was said before this."));
    }

    #[test]
    fn a_bare_it_means_the_file_of_the_turn_before() {
        let change = turn("In src/retry.ts change the maximum number of attempts from 5 to 3", "");
        let check = |request: &str, turns: &[Exchange], path: Option<&str>, context: &str| {
            let part = parts(request, turns).remove(0);
            assert_eq!((part.paths.first().map(String::as_str), part.context.as_str()), (path, context), "{request}");
        };
        let of = "In src/retry.ts: maximum number attempts.";
        check("change it to 4", std::slice::from_ref(&change), Some("src/retry.ts"), of);
        check("change it to 4", &[change.clone(), turn("Thanks", "")], Some("src/retry.ts"), of);
        check("change it to 4", &[], None, "");
        check("Read src/b.ts", std::slice::from_ref(&change), Some("src/b.ts"), "");
        check("List the files", std::slice::from_ref(&change), None, "");
        let two = turn("Read a.ts and b.ts", "");
        check("change it to 4", &[two], None, "");
        for own in [
            "Add a helper that wraps fetch and logs its errors",
            "rename getUser to loadUser wherever it is called",
            "Write a script that opens the file and prints it",
            "Explain how parse uses it",
            "Create a new file and say in the file who wrote it",
            "Write getUser and a test for it",
        ] {
            check(own, std::slice::from_ref(&change), None, "");
        }
        for back in [
            "Now change it back",
            "Show me its limit",
            "Tell me who calls it",
            "Where is it used?",
            "What does it import?",
            "How many lines does it have?",
            "Which functions are in it?",
            "Explain what it does",
            "Add a comment to it",
            "Write the limit to the file",
            "Show the first line of the file",
            "Замени его на 4",
            "Что в нём?",
        ] {
            check(back, std::slice::from_ref(&change), Some("src/retry.ts"), of);
        }
        let thanks = turn("Thanks", "");
        let later = |others: usize| [vec![change.clone()], vec![thanks.clone(); others]].concat();
        check("change it to 4", &later(2), Some("src/retry.ts"), of);
        check("change it to 4", &later(3), None, "");
        // Turns that point back themselves take nothing away.
        let often = [vec![change.clone()], vec![turn("change it to 4", ""); 5]].concat();
        check("change it to 3", &often, Some("src/retry.ts"), of);
        let listed = turn("What is in src?", "Here:\n\n- src: 5 entries [e1]\n- src/a.rs:14: `x` [e2]");
        check("Read it", &[listed], Some("src/a.rs"), "In src/a.rs: src.");
        let found = turn("Where is the retry limit?", "It is 5.\n\n- src/retry.ts:2: `MAX = 5;` [e1]");
        check("Set it to 4", &[found], Some("src/retry.ts"), "In src/retry.ts: retry limit.");
    }
}
