//! Completes the steps that a model read: adds clauses that it left out, joins what it cut in two, puts tests after their code.

use regex::Regex;
use std::sync::LazyLock;

use crate::language::{clauses, words};

use super::kind::{self, Kind};
use super::steps::{STEPS_MAX, Step};

/// Share of a clause's words that the steps have to contain for the clause to be covered.
const COVERED: f64 = 0.4;

/// Fewest content words of a part of the request that is kept although no step contains it.
const GAP_WORDS: usize = 3;

/// The steps that the model read, with the clauses of the request that it left out in their places, and with steps joined that belong together.
pub fn covered(read: Vec<(Kind, String)>, request: &str) -> Vec<Step> {
    let mut steps = read;
    add_left_out(&mut steps, request);
    if steps.is_empty() {
        let parts = clauses::parts(request);
        steps.push((kind::of(&parts[..parts.len().min(1)]), request.to_owned()));
    }
    steps.truncate(STEPS_MAX);
    drop_parts_of_others(&mut steps);
    let mut steps = as_one(steps, request);
    with_gaps(&mut steps, request);
    join_means(&mut steps, request);
    join_forms_of_answers(&mut steps);
    join_edits_without_verb(&mut steps);
    if let [(kind, text)] = steps.as_mut_slice()
        && !matches!(kind, Kind::Rename | Kind::Move)
    {
        // A single step has all words of the request.
        *text = request.to_owned();
        if *kind == Kind::Edit && kind::is_red(text) && kind::quoted_command(text).is_some() {
            *kind = Kind::Fix;
        }
    }
    numbered(tests_apart(steps))
}

/// Inserts the clauses of the request of which the steps hold too few words, in the order of the request.
fn add_left_out(steps: &mut Vec<(Kind, String)>, request: &str) {
    let step_words: Vec<_> = steps.iter().map(|(_, text)| words::content(text)).collect();
    for part in clauses::parts(request) {
        let wanted = words::content(&part.text);
        let held = wanted.iter().filter(|word| step_words.iter().any(|words| words.contains(*word))).count();
        if wanted.is_empty() || held as f64 >= COVERED * wanted.len() as f64 || part.kind == clauses::PartKind::Given {
            continue;
        }
        let place = |text: &str| request.find(text.split(" -> ").next().unwrap_or(text)).unwrap_or(0);
        let begins = request.to_lowercase().find(&part.text.to_lowercase()).unwrap_or(request.len());
        let at = steps.iter().position(|(_, text)| place(text) > begins).unwrap_or(steps.len());
        steps.insert(at, (kind::of(std::slice::from_ref(&part)), part.text.clone()));
    }
}

/// Removes steps that are part of a longer one, so that nothing is done twice.
fn drop_parts_of_others(steps: &mut Vec<(Kind, String)>) {
    let texts: Vec<String> = steps.iter().map(|(_, text)| text.clone()).collect();
    let mut place = 0;
    steps.retain(|(_, text)| {
        place += 1;
        !texts
            .iter()
            .enumerate()
            .any(|(at, other)| at + 1 != place && other.len() > text.len() && other.contains(text.as_str()))
    });
}

/// The whole request as one step if it is one order, one question or one repair; else the steps as they are.
fn as_one(mut steps: Vec<(Kind, String)>, request: &str) -> Vec<(Kind, String)> {
    // An order of which the model read a part as a question is one order.
    let only = |steps: &[(Kind, String)], kinds: &[Kind]| steps.iter().all(|(kind, _)| kinds.contains(kind));
    let asks = steps.iter().any(|(kind, _)| *kind == Kind::Ask);
    if kind::is_order(request) && asks && only(&steps, &[Kind::Ask, Kind::Edit]) {
        steps = vec![(kind::ordered(request), request.to_owned())];
    }
    if (kind::only_asks(request) || kind::is_question(request))
        && steps.iter().any(|(kind, _)| *kind != Kind::Ask)
        && !kind::has_word(request, kind::COMMANDS)
    {
        steps = vec![(Kind::Ask, request.to_owned())];
    }
    let repairs: &[Kind] = match kind::quoted_command(request) {
        // The quoted command is what has to pass, so it is no step of its own.
        Some(_) => &[Kind::Ask, Kind::Edit, Kind::Fix, Kind::Run],
        None => &[Kind::Ask, Kind::Edit, Kind::Fix],
    };
    if kind::is_about_red_tests(request) && only(&steps, repairs) {
        steps = vec![(Kind::Fix, request.to_owned())];
    }
    steps
}

/// Joins a command that only says how to make the edit before it: `with node:test`.
fn join_means(steps: &mut Vec<(Kind, String)>, request: &str) {
    steps.dedup_by(|(kind, text), (before, earlier)| {
        let is_with = || {
            let begin = request.find(text.as_str()).unwrap_or(0);
            let words = request[..begin].trim_end().rsplit(' ').next().map(str::to_lowercase);
            ["with", "using", "mit", "avec", "con"]
                .iter()
                .any(|word| words.as_deref() == Some(word) || text.to_lowercase().starts_with(&format!("{word} ")))
        };
        let goes_on = *kind == Kind::Run
            && *before == Kind::Edit
            && (is_with() || !kind::has_word(text, kind::COMMANDS) && !text.contains('`'));
        if goes_on {
            *earlier = match request.find(earlier.as_str()).zip(request.find(text.as_str())) {
                Some((begin, end)) if begin < end => request[begin..end + text.len()].to_owned(),
                _ => format!("{earlier} {text}"),
            };
        }
        goes_on
    });
}

/// Joins the form of an answer to its question: `Who calls f? List all of them`.
fn join_forms_of_answers(steps: &mut Vec<(Kind, String)>) {
    steps.dedup_by(|(kind, text), (before, earlier)| {
        let names = text.split_whitespace().any(words::is_coined_word);
        let goes_on = *kind == Kind::Ask && *before == Kind::Ask && kind::says_how(text) && !names;
        if goes_on {
            *earlier = format!("{earlier} {text}");
        }
        goes_on
    });
}

/// Joins an edit without a verb to the edit before it.
fn join_edits_without_verb(steps: &mut Vec<(Kind, String)>) {
    steps.dedup_by(|(kind, text), (before, earlier)| {
        let has_verb = || kind::has_order(text) || clauses::parts(text).iter().any(|part| part.verb.is_some());
        let goes_on = *kind == Kind::Edit && *before == Kind::Edit && !has_verb();
        if goes_on {
            *earlier = format!("{earlier} {text}");
        }
        goes_on
    });
}

/// The steps of a request that numbers them itself: `1) add f 2) use it in g`. `None` if it does not, or asks for something before the list.
pub fn listed(request: &str) -> Option<Vec<(Kind, String)>> {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?:^|[\s:])\(?([1-9])[.)]\s").expect("a pattern"));
    let marks: Vec<_> = NUMBER
        .captures_iter(request)
        .filter_map(|found| Some((found.get(0)?, found[1].parse::<usize>().ok()?)))
        .collect();
    // What is asked for before the list would be a step without a number.
    let before = &request[..marks.first()?.0.start()];
    let is_more = kind::is_order(before) || words::split(before).iter().any(|word| kind::begins_something(word));
    let is_list = !is_more && marks.len() >= 2 && marks.iter().enumerate().all(|(at, (_, number))| *number == at + 1);
    let ends = marks.iter().skip(1).map(|(mark, _)| mark.start()).chain([request.len()]);
    let texts =
        marks.iter().zip(ends).map(|((mark, _), end)| request[mark.end()..end].trim().trim_end_matches([',', ';']));
    let texts: Vec<&str> = texts.filter(|_| is_list).collect();
    let kind = |text: &str| {
        let parts = clauses::parts(text);
        if kind::is_order(text) { kind::ordered(text) } else { kind::of(&parts[..parts.len().min(1)]) }
    };
    // A part that begins with no verb or question word is of the kind of the part before it.
    let mut found: Vec<(Kind, String)> = Vec::new();
    for text in texts {
        let says = words::split(text).first().is_some_and(|word| kind::begins_something(word));
        let kind = match found.last() {
            Some((before, _)) if !says && !kind::is_order(text) => *before,
            _ => kind(text),
        };
        found.push((kind, text.to_owned()));
    }
    (found.len() >= 2 && found.len() <= STEPS_MAX).then_some(found)
}

/// Numbers steps from 1.
pub fn numbered(steps: Vec<(Kind, String)>) -> Vec<Step> {
    steps.into_iter().zip(1..).map(|((kind, text), number)| Step::of(number, kind, text)).collect()
}

/// Splits edits so that tests and documentation are written after the code: `Add a function f to a.py, with a test in test_a.py`.
pub fn tests_apart(steps: Vec<(Kind, String)>) -> Vec<(Kind, String)> {
    static TESTS: LazyLock<Regex> = LazyLock::new(|| {
        let joined = r"[,;.]?\s+(?:and|with|plus|und|mit|et|avec|y|con)\s+(?:also\s+)?";
        let tests =
            r"((?:add|write|create|include)\s+)?((?:an?|one|two|three|some|its|unit|eine[mn]?|une?|una)\s+)*tests?\b";
        let docs = r"(?:(?:update|mention|adjust|document|note|describe|change|add)\s[^.]*\b|(?:the|our)\s)(?:readme|changelog|changes)\b";
        Regex::new(&format!("(?i){joined}({tests}|{docs})")).expect("a pattern")
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

/// Adds words of the request that no step contains to the step after them, or to the last step if they are the end of the request.
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
        let Some(at) = request[end..].find(text.as_str()) else { continue };
        let (begin, after) = (end, end + at + text.len());
        if says_something(&request[begin..end + at]) {
            *text = request[begin..after].trim_start_matches([',', '.', ';', ' ']).to_owned();
        }
        (end, last) = (after, Some(place));
    }
    if let Some(place) = last.filter(|place| place + 1 == steps.len() && says_something(&request[end..])) {
        steps[place].1.push_str(&request[end..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::steps::read;

    fn check(text: &str, request: &str, expected: &[(Kind, &str)]) {
        let steps = covered(read(text), request);
        let found: Vec<(Kind, &str)> = steps.iter().map(|step| (step.kind, step.text.as_str())).collect();
        assert_eq!(found, expected, "{request}");
    }

    #[test]
    fn an_answer_of_the_model_becomes_steps() {
        let request = "Rename a_b to c_d and run the tests";
        check(
            "rename: a_b -> c_d\nrun: run the tests",
            request,
            &[(Kind::Rename, "a_b -> c_d"), (Kind::Run, "run the tests")],
        );
    }

    #[test]
    fn a_part_of_a_question_is_no_order() {
        for request in ["Tell me the default of maxAge", "whats the default of maxAge and where is it set"] {
            check("ask: the default of maxAge", request, &[(Kind::Ask, request)]);
            check("ask: the default\nrename: maxAge -> maxAge", request, &[(Kind::Ask, request)]);
        }
        let request = "When I save twice, the second copy of maxAge is lost";
        check("edit: the second copy of maxAge is lost", request, &[(Kind::Edit, request)]);
    }

    #[test]
    fn an_order_that_was_cut_in_two_is_one() {
        let request = "Füge eine Funktion id_of(name) hinzu: aus 'A' wird 'a_id'";
        check("ask: id_of(name)\nedit: hinzu", request, &[(Kind::Edit, request)]);
    }

    #[test]
    fn a_command_that_fails_is_made_to_pass() {
        let request = "`python3 -m unittest a` fails. Find out why and fix the code";
        check("edit: Find out why and fix the code", request, &[(Kind::Fix, request)]);
    }

    #[test]
    fn failing_tests_are_made_to_pass() {
        let request =
            "Some parser tests fail since my last change. Please get them to pass again without touching the tests.";
        check("edit: Some parser tests fail\nedit: get them to pass again", request, &[(Kind::Fix, request)]);
        let named =
            "node --test a.test.js is red since yesterday. Find the cause and repair it, the test itself is fine.";
        check("run: node --test a.test.js\nedit: Find the cause and repair it", named, &[(Kind::Fix, named)]);
        let new = "Write a test that fails when f gets 0 and make f pass it";
        check(&format!("edit: {new}"), new, &[(Kind::Edit, new)]);
    }

    #[test]
    fn the_form_of_an_answer_is_no_question() {
        let request = "who calls read_all? list all of the methods";
        check("ask: who calls read_all?\nask: list all of the methods", request, &[(Kind::Ask, request)]);
        let request = "who calls read_all? list what is in src/a.py";
        let two = [(Kind::Ask, "who calls read_all?"), (Kind::Ask, "list what is in src/a.py")];
        check("ask: who calls read_all?\nask: list what is in src/a.py", request, &two);
    }

    #[test]
    fn a_question_changes_nothing() {
        let request = "wo wird entschieden, ob ein Hinweis kommt, und wie groß darf die Distanz höchstens sein?";
        assert_eq!(crate::request::steps::plain(request).map(|step| step.kind), Some(Kind::Ask));
        let request = "In which case is load() called and how do I change that?";
        check("ask: In which case is load() called\nedit: change that", request, &[(Kind::Ask, request)]);
        for order in ["Can you add a flag?", "How is x set? Set it to 5.", "Where is x and remove it?"] {
            assert!(!kind::only_asks(order), "{order}");
        }
    }

    #[test]
    fn a_test_library_is_no_command() {
        let request = "write a test for f in f.test.js, with node:test and node:assert";
        check(
            "edit: write a test for f in f.test.js\nrun: node:test and node:assert",
            request,
            &[(Kind::Edit, request)],
        );
    }

    #[test]
    fn a_clause_the_model_left_out_is_put_in() {
        let request = "Read setup.py, then run the tests";
        check("ask: setup.py", "Read setup.py", &[(Kind::Ask, "Read setup.py")]);
        check("ask: Read setup.py", request, &[(Kind::Ask, "Read setup.py"), (Kind::Run, "Run the tests")]);
    }

    #[test]
    fn words_that_no_step_contains_join_a_neighbouring_step() {
        let request = "Stores get a method count() that says how many listeners there are. Add it in a.ts and to the Store interface";
        check("edit: Add it in a.ts\nedit: to the Store interface", request, &[(Kind::Edit, request)]);
        let request = "Add a method `clear` to Queue that empties it and mention it in the README";
        let steps =
            [(Kind::Edit, "Add a method `clear` to Queue that empties it"), (Kind::Edit, "mention it in the README")];
        check("edit: Add a method `clear` to Queue that empties it\nedit: mention it in the README", request, &steps);
        let request = "Parsing an empty list gives None here, not a list. Fix that, then run the tests";
        let first = "Parsing an empty list gives None here, not a list. Fix that";
        check("edit: Fix that\nrun: run the tests", request, &[(Kind::Edit, first), (Kind::Run, "run the tests")]);
    }

    #[test]
    fn a_test_is_written_after_its_code() {
        let apart = |text: &str| -> Vec<String> {
            tests_apart(vec![(Kind::Edit, text.to_owned())]).into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(
            apart("Add a function tail(text) to a.py and a test for it in test_a.py"),
            ["Add a function tail(text) to a.py", "Write a test for it in test_a.py"]
        );
        assert_eq!(
            apart("count says one for ''; make it 0 and add a test"),
            ["count says one for ''; make it 0", "add a test"]
        );
        assert_eq!(
            apart("Add a function tail(text) to latest.py and a test for it"),
            ["Add a function tail(text) to latest.py", "Write a test for it"]
        );
        assert_eq!(
            apart("Raise the default ttl to 5 minutes and update the README"),
            ["Raise the default ttl to 5 minutes", "update the README"]
        );
        assert_eq!(
            apart("prepare 4.10.0: bump the version, and the README still claims 3.8+, make that 3.10+"),
            ["prepare 4.10.0: bump the version", "the README still claims 3.8+, make that 3.10+"]
        );
        for whole in ["Add a test for zero and one for ten", "Add a flag and make the tests pass", "Add f, with care"] {
            assert_eq!(apart(whole), [whole]);
        }
    }

    #[test]
    fn lines_that_are_no_steps_are_ignored() {
        check("hello\nask: \n", "What is the port?", &[(Kind::Ask, "What is the port?")]);
    }
}
