//! Completes the steps that a model read: every part of the request gets a step of its kind, and
//! related parts share one.

mod independent;
mod joins;

pub use independent::is_change;

use std::sync::LazyLock;

use regex::Regex;

use crate::base::pattern::{pattern, static_regex};
use crate::language::clauses::{self, PartKind};
use crate::language::{grounding, words};

use super::Text;
use super::kind::{self, Kind};
use super::steps::Step;

/// Share of a clause's words that the steps must contain for the clause to be covered.
const COVERED: f64 = 0.4;

/// Minimum number of content words for a part of the request to be kept although no step contains
/// it.
const GAP_WORDS: usize = 3;

impl Text {
    /// The steps that the model read in the text, in order, with the omitted parts added and
    /// related steps joined.
    pub fn steps(&self, read: Vec<(Kind, String)>) -> Vec<Step> {
        covered(read, self.raw())
    }
}

/// The steps that the model read, in order, with the omitted parts of the request added and related
/// steps joined. No part of the request is dropped: a question next to an order, or an order next
/// to a question, becomes a separate step.
fn covered(read: Vec<(Kind, String)>, request: &str) -> Vec<Step> {
    let mut steps = read;
    as_their_sentences_say(&mut steps, request);
    in_whole_clauses(&mut steps, request);
    cut_out_other_kinds(&mut steps, request);
    let mut steps: Vec<_> = steps.into_iter().flat_map(independent::orders).collect();
    add_left_out(&mut steps, request);
    if steps.is_empty() {
        let parts = clauses::parts(request);
        let first = parts.first().map_or(Kind::Ask, Kind::of_clause);
        let kind = if kind::is_order(request) { kind::ordered(request) } else { first };
        steps.push((kind, request.to_owned()));
    }
    drop_parts_of_others(&mut steps);
    steps.sort_by_cached_key(|(_, text)| place_of(text, request).map_or(request.len(), |range| range.start));
    joins::join_fragments(&mut steps, request);
    joins::join_repairs(&mut steps, request);
    with_gaps(&mut steps, request);
    joins::join_means(&mut steps, request);
    joins::join_questions_of_a_sentence(&mut steps, request);
    joins::join_forms_of_answers(&mut steps);
    joins::join_edits_without_verb(&mut steps);
    if let [(kind, text)] = steps.as_mut_slice()
        && !matches!(kind, Kind::Rename | Kind::Move)
    {
        // A single step gets the complete request.
        *text = request.to_owned();
        if *kind == Kind::Edit && kind::is_red(text) && kind::quoted_command(text).is_some() {
            *kind = Kind::Fix;
        }
    }
    numbered(tests_apart(steps))
}

/// The effect of a step: answering, running or changing something.
#[derive(Clone, Copy, PartialEq)]
enum Effect {
    Tells,
    Runs,
    Changes,
}

fn effect(kind: Kind) -> Effect {
    match kind {
        Kind::Ask => Effect::Tells,
        Kind::Run => Effect::Runs,
        Kind::Edit | Kind::Rename | Kind::Move | Kind::Fix => Effect::Changes,
    }
}

/// The effect that a part of a request clearly asks for; `None` if its words are ambiguous.
fn asked_effect(part: &clauses::Part, request: &str) -> Option<Effect> {
    let is_short = part.text.split_whitespace().nth(1).is_none();
    // A wish in the form of a question is an order.
    let is_wish = || {
        let own = place_of(&part.text, request).map(|range| &request[range]).unwrap_or_default();
        let sentences = grounding::sentences(request);
        sentences.iter().any(|one| one.contains(own) && one.contains('?') && kind::is_order(one))
    };
    match Kind::of(std::slice::from_ref(part)) {
        _ if is_short => None,
        _ if kind::is_order(&part.text) => Some(Effect::Changes),
        _ if part.kind == PartKind::Given => None,
        Kind::Edit => Some(Effect::Changes),
        Kind::Run => Some(Effect::Runs),
        _ if kind::asks_something(&part.text) && !is_wish() => Some(Effect::Tells),
        _ => None,
    }
}

/// Whether a part only states facts.
fn is_given(part: &clauses::Part) -> bool {
    part.kind == PartKind::Given && !kind::is_order(&part.text)
}

/// Byte range of the words of a part in a request.
fn place_of(text: &str, request: &str) -> Option<std::ops::Range<usize>> {
    let text = text.split(" -> ").next().unwrap_or(text).trim();
    let exact = request.find(text).map(|at| at..at + text.len());
    exact.or_else(|| {
        let (low, text) = (request.to_lowercase(), text.to_lowercase());
        // Lower-casing may change the length in bytes.
        low.find(&text).filter(|_| low.len() == request.len()).map(|at| at..at + text.len())
    })
}

/// Turns the steps of a sentence into questions if the sentence gives no orders.
fn as_their_sentences_say(steps: &mut [(Kind, String)], request: &str) {
    let sentences = grounding::sentences(request);
    for (kind, text) in steps.iter_mut() {
        let words = text.split(" -> ").next().unwrap_or_default();
        let own = sentences.iter().find(|sentence| sentence.contains(words));
        let asks = own.is_some_and(|sentence| kind::only_asks(sentence) || kind::is_question(sentence));
        let runs = own.is_some_and(|sentence| kind::has_word(sentence, kind::COMMANDS));
        if asks && !runs {
            *kind = Kind::Ask;
            *text = words.to_owned();
        }
    }
}

/// Extends a step to a complete clause if it is the only step with words of that clause and has the
/// clause's effect. Small models leave out verbs; without `run the tests in`, `test/` is
/// meaningless.
fn in_whole_clauses(steps: &mut [(Kind, String)], request: &str) {
    for part in clauses::parts(request) {
        let Some(range) = place_of(&part.text, request) else { continue };
        let (own, wanted) = (&request[range], effect(Kind::of_clause(&part)));
        let mut inside = steps.iter_mut().filter(|(_, text)| own.len() > text.len() && own.contains(text.as_str()));
        if let (Some((kind, text)), None) = (inside.next(), inside.next())
            && effect(*kind) == wanted
            && !matches!(kind, Kind::Rename | Kind::Move)
        {
            own.clone_into(text);
        }
    }
}

/// Moves parts of the request into separate steps if they ask for something other than the step
/// that contains them: a question in an edit, an order in a question, a command in an edit.
fn cut_out_other_kinds(steps: &mut Vec<(Kind, String)>, request: &str) {
    for part in clauses::parts(request) {
        let Some(wanted) = asked_effect(&part, request) else { continue };
        let Some(range) = place_of(&part.text, request) else { continue };
        let own = &request[range];
        if steps.iter().any(|(kind, text)| effect(*kind) == wanted && text.contains(own)) {
            continue;
        }
        let holds =
            |(kind, text): &(Kind, String)| effect(*kind) != wanted && text.len() > own.len() && text.contains(own);
        let Some(at) = steps.iter().position(holds) else { continue };
        let (before, after) = steps[at].1.split_once(own).unwrap_or_default();
        let (before, after) =
            (without_joint(before).to_owned(), after.trim_start_matches([',', ';', '.', ' ']).to_owned());
        let kind = steps[at].0;
        let own = (Kind::of_clause(&part), own.to_owned());
        let pieces = [(kind, before), own, (kind, after)];
        let says = |(_, text): &(Kind, String)| !words::content(text).is_empty();
        steps.splice(at..=at, pieces.into_iter().filter(says));
    }
}

/// `text` without trailing connectives: `Set X to 5 and`.
fn without_joint(text: &str) -> &str {
    const JOINTS: &[&str] = &["and", "then", "also", "und", "dann", "et", "puis", "y", "luego", "и", "please"];
    let mut text = text.trim_end_matches([',', ';', ' ', ':']);
    while let Some(rest) = JOINTS.iter().find_map(|word| text.strip_suffix(word).filter(|rest| rest.ends_with(' '))) {
        text = rest.trim_end_matches([',', ';', ' ', ':']);
    }
    text
}

/// Inserts the parts of the request that the steps do not cover well enough, in the order of the
/// request. A part that clearly answers, runs or changes something must be in a step with that
/// effect.
fn add_left_out(steps: &mut Vec<(Kind, String)>, request: &str) {
    let held: Vec<(Effect, _)> = steps.iter().map(|(kind, text)| (effect(*kind), words::content(text))).collect();
    let place = |text: &str| place_of(text, request).map(|range| range.start);
    let mut places: Vec<usize> = steps.iter().map(|(_, text)| place(text).unwrap_or(0)).collect();
    for part in clauses::parts(request) {
        let wanted = words::content(&part.text);
        let sort = asked_effect(&part, request);
        let counts = |of: Effect| sort.is_none_or(|sort| sort == of || sort == Effect::Runs && of == Effect::Changes);
        let has = |word: &&String| held.iter().any(|(of, words)| counts(*of) && words.contains(*word));
        let count = wanted.iter().filter(has).count();
        if wanted.is_empty() || count as f64 >= COVERED * wanted.len() as f64 || is_given(&part) {
            continue;
        }
        let begin = place(&part.text);
        let before = |place: &usize| *place > begin.unwrap_or(request.len());
        let at = places.iter().position(before).unwrap_or(steps.len());
        places.insert(at, begin.unwrap_or(0));
        steps.insert(at, (Kind::of_clause(&part), part.text.clone()));
    }
}

/// Removes steps that are part of a longer one with the same effect, or equal to an earlier one, so
/// that nothing is done twice.
fn drop_parts_of_others(steps: &mut Vec<(Kind, String)>) {
    let all = steps.clone();
    let mut place = 0;
    steps.retain(|(kind, text)| {
        place += 1;
        !all.iter().enumerate().any(|(at, (other, longer))| {
            let is_longer = longer.len() > text.len() && longer.contains(text.as_str());
            let is_earlier = at + 1 < place && longer == text;
            at + 1 != place && (is_longer || is_earlier) && effect(*kind) == effect(*other)
        })
    });
}

/// The steps of a request that numbers them itself: `1) add f 2) use it in g`. `None` if it does
/// not number them, or asks for something before the list.
pub(super) fn listed(request: &str) -> Option<Vec<(Kind, String)>> {
    static_regex!(NUMBER = r"(?:^|[\s:])\(?([1-9]\d?)[.)]\s");
    let marks: Vec<_> = NUMBER
        .captures_iter(request)
        .filter_map(|found| Some((found.get(0)?, found[1].parse::<usize>().ok()?)))
        .collect();
    // An order before the list would be a step without a number.
    let before = &request[..marks.first()?.0.start()];
    let is_more = kind::is_order(before) || words::split(before).iter().any(|word| kind::begins_something(word));
    let is_list = !is_more && marks.len() >= 2 && marks.iter().enumerate().all(|(at, (_, number))| *number == at + 1);
    let ends = marks.iter().skip(1).map(|(mark, _)| mark.start()).chain([request.len()]);
    let texts =
        marks.iter().zip(ends).map(|((mark, _), end)| request[mark.end()..end].trim().trim_end_matches([',', ';']));
    let texts: Vec<&str> = texts.filter(|_| is_list).collect();
    let kind = |text: &str| {
        let parts = clauses::parts(text);
        if kind::is_order(text) { kind::ordered(text) } else { Kind::of(&parts[..parts.len().min(1)]) }
    };
    // A part that begins with neither a verb nor a question word takes the kind of the previous
    // part.
    let mut found: Vec<(Kind, String)> = Vec::new();
    for text in texts {
        let says = words::split(text).first().is_some_and(|word| kind::begins_something(word));
        let kind = match found.last() {
            Some((before, _)) if !says && !kind::is_order(text) => *before,
            _ => kind(text),
        };
        found.push((kind, text.to_owned()));
    }
    (found.len() >= 2).then_some(found)
}

/// Numbers steps from 1.
pub(super) fn numbered(steps: Vec<(Kind, String)>) -> Vec<Step> {
    steps.into_iter().zip(1..).map(|((kind, text), number)| Step::of(number, kind, text)).collect()
}

/// Splits edits so that tests and documentation are written after the code:
/// `Add a function f to a.py, with a test in test_a.py`.
pub(super) fn tests_apart(steps: Vec<(Kind, String)>) -> Vec<(Kind, String)> {
    static TESTS: LazyLock<Regex> = LazyLock::new(|| {
        let joined = r"[,;.]?\s+(?:and|with|plus|und|mit|et|avec|y|con)\s+(?:also\s+)?";
        let tests =
            r"((?:add|write|create|include)\s+)?((?:an?|one|two|three|some|its|unit|eine[mn]?|une?|una)\s+)*tests?\b";
        let docs = r"(?:(?:update|mention|adjust|document|note|describe|change|add)\s[^.]*\b|(?:the|our)\s)(?:readme|changelog|changes)\b";
        pattern(format!("(?i){joined}({tests}|{docs})"))
    });
    let mut found = Vec::new();
    for (kind, text) in steps {
        let place = TESTS.captures(&text).and_then(|found| Some((found.get(0)?.start(), found.get(1)?.start())));
        match place.filter(|_| kind == Kind::Edit) {
            Some((end, begin))
                if words::content(&text[..end]).len() >= GAP_WORDS && !kind::speaks_of_tests(&text[..end]) =>
            {
                let tests = &text[begin..];
                let verb = if kind::has_order(tests) { "" } else { "Write " };
                let tests = format!("{verb}{tests}");
                found.extend([(kind, text[..end].to_owned()), (kind, tests)]);
            }
            _ => found.push((kind, text)),
        }
    }
    found
}

/// Adds words of the request that are in no step to the next step; words at the end of the request
/// go to the last step.
fn with_gaps(steps: &mut [(Kind, String)], request: &str) {
    let says_something = |gap: &str| words::content(gap).len() >= GAP_WORDS;
    let mut end = 0;
    let mut last = None;
    for (place, (kind, text)) in steps.iter_mut().enumerate() {
        if matches!(kind, Kind::Rename | Kind::Move) {
            // The words between the two names are part of the step.
            let to = text.split(" -> ").last().and_then(|to| Some(request[end..].find(to)? + to.len()));
            end += to.unwrap_or(0);
            continue;
        }
        let Some(range) = place_of(text, &request[end..]) else { continue };
        let (begin, after) = (end, end + range.end);
        if says_something(&request[begin..end + range.start]) {
            *text = request[begin..after].trim_start_matches([',', '.', ';', ' ']).to_owned();
        }
        (end, last) = (after, Some(place));
    }
    if let Some(place) = last.filter(|place| place + 1 == steps.len() && says_something(&request[end..])) {
        steps[place].1.push_str(&request[end..]);
    }
}

#[cfg(test)]
mod tests;
