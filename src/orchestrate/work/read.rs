//! Reads a request into steps with a model that was measured to be able to: each a kind and the words of the request it stands for.

use crate::base::StepId;
use crate::engine::pool::Leased;
use crate::engine::{Grammar, Request};
use crate::models::Role;
use crate::models::dialect::Message;
use crate::orchestrate::execute::Scene;
use crate::orchestrate::toolkit::TurnError;
use crate::orchestrate::{classify, conversation, decompose, words};
use crate::protocol::Exchange;
use regex::Regex;
use serde_json::json;
use std::sync::LazyLock;

const PROMPT: &str = include_str!("../prompts/read.md");
/// Most steps of one request; nobody approves a longer plan.
const STEPS_MAX: usize = 12;
/// Longest reading, in tokens: every step repeats its words.
const TOKENS_MAX: usize = 400;
/// Longest request that is read; the grammar holds steps to its words, and longer ones make it slow.
const REQUEST_CHARS: usize = 2_000;
/// Share of a clause's words that a step has to say for the clause to be covered.
const COVERED: f64 = 0.4;

/// Content words that make what no step has taken worth keeping.
const GAP_WORDS: usize = 3;

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Tells the user something.
    Ask,
    /// Changes files.
    Edit,
    /// Gives a symbol another name everywhere.
    Rename,
    /// Puts a file or a definition elsewhere.
    Move,
    /// Runs a command.
    Run,
    /// Makes failing tests pass.
    Fix,
}

impl Kind {
    const ALL: [Kind; 6] = [Kind::Ask, Kind::Edit, Kind::Rename, Kind::Move, Kind::Run, Kind::Fix];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Ask => "ask",
            Kind::Edit => "edit",
            Kind::Rename => "rename",
            Kind::Move => "move",
            Kind::Run => "run",
            Kind::Fix => "fix",
        }
    }

    fn by_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// One step of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub id: StepId,
    pub kind: Kind,
    /// Words of the request; for a rename or a move `FROM -> TO`.
    pub text: String,
}

/// Longest request, in words, that is read without a model.
const PLAIN_WORDS: usize = 24;
/// Verbs that begin a step of another kind than an edit, or hide one.
const NOT_PLAIN: &[&str] = &[
    "rename", "move", "call", "fix", "make", "run", "test", "extract", "split", "read", "look", "find", "show",
    "check", "see",
];

/// The one step of a request that is plainly one: a question, or one clause that says what to add, change or remove.
pub fn plain(request: &str) -> Option<Step> {
    if only_asks(request) && !has_word(request, COMMANDS) {
        return Some(Step { id: StepId(1), kind: Kind::Ask, text: request.trim().to_owned() });
    }
    let parts = decompose::parts(request);
    let [part] = parts.as_slice() else { return None };
    let text = request.trim();
    let one_sentence = !text.trim_end_matches(['.', '?', '!']).contains([';', '\n', '?', '!']) && !text.contains(". ");
    let joined = text.split_whitespace().any(|word| matches!(word, "and" | "then" | "und" | "et" | "y" | "и"));
    let verb = part.verb.as_deref().unwrap_or_default();
    if !one_sentence || joined || text.split_whitespace().count() > PLAIN_WORDS || NOT_PLAIN.contains(&verb) {
        return None;
    }
    let kind = match classify::kind(&parts) {
        classify::RequestKind::Change => Kind::Edit,
        _ if is_order(text) && text.ends_with('?') => ordered(text),
        classify::RequestKind::Question if text.ends_with('?') => Kind::Ask,
        _ => return None,
    };
    Some(Step { id: StepId(1), kind, text: text.to_owned() })
}

/// The steps of a request: as the model reads them, and what it left out as the clause rules read it.
pub async fn steps(scene: Scene<'_>) -> Result<Vec<Step>, TurnError> {
    let request: String = scene.request.split_whitespace().collect::<Vec<_>>().join(" ");
    let request = words::shorten(&request, REQUEST_CHARS);
    if let Some(step) = plain(scene.request) {
        return Ok(numbered(tests_apart(vec![(step.kind, step.text)])));
    }
    if let Some(steps) = super::spelled::all(&request) {
        return Ok(numbered(steps));
    }
    let planner = scene.toolkit.model(Role::Planner, scene.host).await?;
    let generation = generation(&planner, &request, &scene.toolkit.earlier, TOKENS_MAX);
    let output = scene.toolkit.generate(&planner, generation, "reading the request", scene.host).await?;
    Ok(covered(read(&output.text), &request))
}

/// What the model is asked to read `request`.
pub fn generation(planner: &Leased, request: &str, earlier: &[Exchange], tokens: usize) -> Request {
    let mut messages = vec![Message::system(PROMPT.trim())];
    messages.extend(conversation::messages(earlier, &planner.engine));
    messages.push(Message::user(format!("Request: {request}")));
    let prompt = planner.dialect.render(&messages);
    Request { grammar: Some(Grammar::Lark(grammar(request))), ..planner.engine.request(&prompt, tokens) }
}

/// The kinds of the steps that the model has read.
pub fn kinds(text: &str) -> Vec<Kind> {
    read(text).into_iter().map(|(kind, _)| kind).collect()
}

/// Lines of `kind: words of the request`. A space behind words may have been taken for one of theirs.
fn grammar(request: &str) -> String {
    let text = json!({ "substring_words": request });
    let most = STEPS_MAX - 1;
    format!(
        "start: step (\"\\n\" step){{0,{most}}}\n\
         step: one | two\n\
         one: (\"ask: \" | \"edit: \" | \"run: \" | \"fix: \") TEXT\n\
         two: (\"rename: \" | \"move: \") TEXT (\" -> \" | \"-> \") TEXT\n\
         TEXT: %regex {text}\n"
    )
}

/// The steps that the model has written, in the form of [`generation`].
pub fn read(text: &str) -> Vec<(Kind, String)> {
    let step = |line: &str| {
        let (kind, text) = line.split_once(": ")?;
        let text = text.trim().trim_end_matches([',', ';']).to_owned();
        let kind = match Kind::by_name(kind.trim())? {
            Kind::Ask if is_order(&text) => ordered(&text),
            kind => kind,
        };
        Some((kind, text)).filter(|(_, text)| !text.is_empty() && text != "->")
    };
    let mut steps: Vec<(Kind, String)> = text.lines().filter_map(step).take(STEPS_MAX).collect();
    steps.dedup();
    steps
}

/// Words that ask for a change, and words that ask for an answer.
const ORDERS: &[&str] = &[
    "add",
    "fix",
    "change",
    "set",
    "make",
    "write",
    "create",
    "implement",
    "remove",
    "delete",
    "update",
    "replace",
    "need",
    "repair",
    "should",
    "must",
    "note",
    "mention",
    "bump",
    "put",
    "document",
    "insert",
    "append",
    "füge",
    "ändere",
    "behebe",
    "setze",
    "ersetze",
    "erhöhe",
    "erstelle",
    "schreibe",
    "entferne",
    "ajoute",
    "corrige",
    "passe",
    "mets",
    "remplace",
    "modifie",
    "supprime",
    "añade",
    "cambia",
    "arregla",
    "sustituye",
    "elimina",
    "добавь",
    "исправь",
    "замени",
    "измени",
    "удали",
];
const QUESTIONS: &[&str] = &[
    "what",
    "which",
    "where",
    "how",
    "who",
    "when",
    "tell",
    "explain",
    "show",
    "describe",
    "erkläre",
    "sag",
    "zeig",
    "explique",
    "dime",
    "explica",
    "muestra",
    "summarise",
    "summarize",
    "whose",
    "was",
    "warum",
    "welcher",
    "welches",
    "wann",
    "wer",
    "wie",
    "wo",
    "welche",
    "qué",
    "cuál",
    "quién",
    "cuándo",
    "cuántos",
    "cómo",
    "dónde",
    "quel",
    "quelle",
    "quels",
    "quelles",
    "pourquoi",
    "comment",
    "где",
    "кто",
    "почему",
];

/// Words that say what is wrong, which is to be mended, and words that ask to be shown such places.
const REPORTS: &[&str] = &[
    "gives",
    "returns",
    "prints",
    "yields",
    "crashes",
    "throws",
    "raises",
    "hangs",
    "loses",
    "drops",
    "ignores",
    "forgets",
    "wrong",
    "bug",
    "broken",
    "incorrect",
    "incorrectly",
    "instead",
    "supposed",
    "doesn't",
    "gibt",
    "liefert",
    "falsch",
    "kaputt",
    "renvoie",
    "devuelve",
    "возвращает",
];
const LOOKS: &[&str] = &["list", "find", "search", "read", "count", "look", "print", "give", "compare", "thanks"];

/// Words of commands.
const COMMANDS: &[&str] = &[
    "run",
    "runs",
    "execute",
    "start",
    "launch",
    "build",
    "compile",
    "lint",
    "format",
    "install",
    "check",
    "test",
    "tests",
    "testing",
    "commit",
    "führe",
    "starte",
    "teste",
    "lance",
    "exécute",
    "ejecuta",
    "запусти",
];

/// Words within which a question begins: `in which case`, `from how many on`.
const OPENING_WORDS: usize = 3;

/// Orders in the form of a question.
const POLITE: &[&str] =
    &["can you", "could you", "would you", "will you", "kannst du", "könntest du", "peux-tu", "puedes", "можешь"];

/// Whether a text asks for a change, though a model took it for a question: it has none.
fn is_order(text: &str) -> bool {
    let low = text.to_lowercase();
    let polite = POLITE.iter().any(|words| low.contains(words));
    let asks = text.contains('?') || has_word(text, QUESTIONS);
    has_order(text) && (polite || !asks) || has_word(text, REPORTS) && !asks && !has_word(text, LOOKS)
}

fn has_order(text: &str) -> bool {
    has_word(text, ORDERS)
}

/// Whether a request is one sentence that begins as a question, ends as one, and orders nothing in between: `how do I set X, and where?`.
fn only_asks(request: &str) -> bool {
    let text = request.trim();
    let one_sentence = text.ends_with('?')
        && !text.trim_end_matches('?').contains(['?', '\n', ';'])
        && !text.contains(". ")
        && !text.contains("! ");
    let all: Vec<String> = words::split(text).iter().map(|word| word.to_lowercase()).collect();
    let begins = all.iter().take(OPENING_WORDS).any(|word| word == "why" || QUESTIONS.contains(&word.as_str()));
    let joins = |word: &str| matches!(word, "and" | "then" | "und" | "et" | "y" | "и" | "please" | "bitte");
    let orders = all.windows(2).any(|pair| joins(&pair[0]) && ORDERS.contains(&pair[1].as_str()));
    let low = text.to_lowercase();
    one_sentence && begins && !orders && !POLITE.iter().any(|words| low.contains(words))
}

/// Whether a word, in small letters, begins an order, a question or a command.
pub fn begins_something(word: &str) -> bool {
    [ORDERS, QUESTIONS, LOOKS, COMMANDS].iter().any(|list| list.contains(&word))
}

fn has_word(text: &str, list: &[&str]) -> bool {
    words::split(text).iter().any(|word| list.contains(&word.to_lowercase().as_str()))
}

/// The kind of such a text: failing tests are repaired by running them.
fn ordered(text: &str) -> Kind {
    let about_tests = text.contains('`') || text.to_lowercase().contains("test");
    if is_red(text) && about_tests { Kind::Fix } else { Kind::Edit }
}

/// Whether a text says what is wrong.
pub fn is_report(text: &str) -> bool {
    has_word(text, REPORTS)
}

/// Whether a request is about tests that fail and have to pass, and nothing else: new tests may be asked to fail, too.
fn is_about_red_tests(text: &str) -> bool {
    let passes = ["pass", "green", "fix", "repair", "mend", "work"].iter().any(|word| has_word(text, &[word]));
    is_red(text) && passes && has_word(text, &["test", "tests"]) && !has_word(text, &["add", "write", "create", "new"])
}

fn is_red(text: &str) -> bool {
    let words: Vec<String> = words::split(text).iter().map(|word| word.to_lowercase()).collect();
    words.iter().any(|word| word.starts_with("fail") || matches!(word.as_str(), "red" | "rot" | "schlägt"))
}

/// The steps, with the clauses that none of them speaks of put in where they stand in the request.
fn covered(read: Vec<(Kind, String)>, request: &str) -> Vec<Step> {
    let mut steps = read;
    let said: Vec<_> = steps.iter().map(|(_, text)| words::content(text)).collect();
    for part in decompose::parts(request) {
        let wanted = words::content(&part.text);
        let held = wanted.iter().filter(|word| said.iter().any(|said| said.contains(*word))).count();
        if wanted.is_empty() || held as f64 >= COVERED * wanted.len() as f64 || part.kind == decompose::PartKind::Given
        {
            continue;
        }
        let place = |text: &str| request.find(text.split(" -> ").next().unwrap_or(text)).unwrap_or(0);
        let begins = request.to_lowercase().find(&part.text.to_lowercase()).unwrap_or(request.len());
        let at = steps.iter().position(|(_, text)| place(text) > begins).unwrap_or(steps.len());
        steps.insert(at, (kind_of(&part), part.text.clone()));
    }
    if steps.is_empty() {
        let kinds: Vec<_> = decompose::parts(request);
        steps.push((kinds.first().map_or(Kind::Ask, kind_of), request.to_owned()));
    }
    steps.truncate(STEPS_MAX);
    // What is said again is not done again.
    let texts: Vec<String> = steps.iter().map(|(_, text)| text.clone()).collect();
    let mut place = 0;
    steps.retain(|(_, text)| {
        place += 1;
        !texts
            .iter()
            .enumerate()
            .any(|(at, other)| at + 1 != place && other.len() > text.len() && other.contains(text.as_str()))
    });
    // An order of which a part was taken for a question is one order.
    let only = |steps: &[(Kind, String)], kinds: &[Kind]| steps.iter().all(|(kind, _)| kinds.contains(kind));
    let asks = steps.iter().any(|(kind, _)| *kind == Kind::Ask);
    if is_order(request) && asks && only(&steps, &[Kind::Ask, Kind::Edit]) {
        steps = vec![(ordered(request), request.to_owned())];
    }
    if only_asks(request) && steps.iter().any(|(kind, _)| *kind != Kind::Ask) && !has_word(request, COMMANDS) {
        steps = vec![(Kind::Ask, request.to_owned())];
    }
    let repairs: &[Kind] = match super::command::quoted(request) {
        // The command is what has to pass.
        Some(_) => &[Kind::Ask, Kind::Edit, Kind::Fix, Kind::Run],
        None => &[Kind::Ask, Kind::Edit, Kind::Fix],
    };
    if is_about_red_tests(request) && only(&steps, repairs) {
        steps = vec![(Kind::Fix, request.to_owned())];
    }
    with_gaps(&mut steps, request);
    // What something is to be done with is no command.
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
            && (is_with() || !has_word(text, COMMANDS) && !text.contains('`'));
        if goes_on {
            *earlier = match request.find(earlier.as_str()).zip(request.find(text.as_str())) {
                Some((begin, end)) if begin < end => request[begin..end + text.len()].to_owned(),
                _ => format!("{earlier} {text}"),
            };
        }
        goes_on
    });
    // `Who calls f? List all of them`: how it is to be answered is no question of its own.
    steps.dedup_by(|(kind, text), (before, earlier)| {
        let first = words::split(text).first().is_some_and(|word| LOOKS.contains(&word.as_str()));
        let names = text.split_whitespace().any(super::mentions::is_coined_word);
        let goes_on = *kind == Kind::Ask && *before == Kind::Ask && first && !names;
        if goes_on {
            *earlier = format!("{earlier} {text}");
        }
        goes_on
    });
    // What does not say by itself what to do goes on with the change before it.
    steps.dedup_by(|(kind, text), (before, earlier)| {
        let has_verb = || has_order(text) || decompose::parts(text).iter().any(|part| part.verb.is_some());
        let goes_on = *kind == Kind::Edit && *before == Kind::Edit && !has_verb();
        if goes_on {
            *earlier = format!("{earlier} {text}");
        }
        goes_on
    });
    if let [(kind, text)] = steps.as_mut_slice()
        && !matches!(kind, Kind::Rename | Kind::Move)
    {
        // A single step is all of the request, whatever words of it were taken.
        *text = request.to_owned();
        if *kind == Kind::Edit && is_red(text) && super::command::quoted(text).is_some() {
            *kind = Kind::Fix;
        }
    }
    numbered(tests_apart(steps))
}

fn numbered(steps: Vec<(Kind, String)>) -> Vec<Step> {
    let steps = steps.into_iter().enumerate();
    steps.map(|(place, (kind, text))| Step { id: StepId(place + 1), kind, text }).collect()
}

/// `Add a function f to a.py, with a test in test_a.py`: the test is written when the code is there, and so is what tells of it.
fn tests_apart(steps: Vec<(Kind, String)>) -> Vec<(Kind, String)> {
    static TESTS: LazyLock<Regex> = LazyLock::new(|| {
        let joined = r"[,;.]?\s+(?:and|with|plus|und|mit|et|avec|y|con)\s+(?:also\s+)?";
        let tests =
            r"((?:add|write|create|include)\s+)?((?:an?|one|two|three|some|its|unit|eine[mn]?|une?|una)\s+)*tests?\b";
        let docs =
            r"(?:update|mention|adjust|document|note|describe|change|add)\s[^.]*\b(?:readme|changelog|changes)\b";
        Regex::new(&format!("(?i){joined}({tests}|{docs})")).expect("a pattern")
    });
    let mut found = Vec::new();
    for (kind, text) in steps {
        let place = TESTS.captures(&text).and_then(|found| Some((found.get(0)?.start(), found.get(1)?.start())));
        match place.filter(|_| kind == Kind::Edit) {
            Some((end, begin))
                if words::content(&text[..end]).len() >= GAP_WORDS && !text[..end].to_lowercase().contains("test") =>
            {
                let tests = &text[begin..];
                let verb = if has_order(tests) { "" } else { "Write " };
                let tests = format!("{verb}{tests}");
                found.extend([(kind, text[..end].to_owned()), (kind, tests)]);
            }
            _ => found.push((kind, text)),
        }
    }
    found
}

/// Words of the request that no step has taken belong to the step behind them, the last ones to the step before.
fn with_gaps(steps: &mut [(Kind, String)], request: &str) {
    let says_something = |gap: &str| words::content(gap).len() >= GAP_WORDS;
    let mut end = 0;
    let mut last = None;
    for (place, (kind, text)) in steps.iter_mut().enumerate() {
        if matches!(kind, Kind::Rename | Kind::Move) {
            // What stands between the two names was taken too.
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

/// What the clause rules take a clause for.
fn kind_of(part: &decompose::Part) -> Kind {
    match classify::kind(std::slice::from_ref(part)) {
        classify::RequestKind::Change => Kind::Edit,
        classify::RequestKind::Command => Kind::Run,
        classify::RequestKind::Question | classify::RequestKind::Chat => Kind::Ask,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, request: &str, expected: &[(Kind, &str)]) {
        let steps = covered(read(text), request);
        let found: Vec<(Kind, &str)> = steps.iter().map(|step| (step.kind, step.text.as_str())).collect();
        assert_eq!(found, expected, "{request}");
    }

    #[test]
    fn a_reading_becomes_steps() {
        let request = "Rename a_b to c_d and run the tests";
        check(
            "rename: a_b -> c_d\nrun: run the tests",
            request,
            &[(Kind::Rename, "a_b -> c_d"), (Kind::Run, "run the tests")],
        );
    }

    #[test]
    fn only_what_is_plainly_one_step_is_read_without_a_model() {
        let kind = |request: &str| plain(request).map(|step| step.kind);
        assert_eq!(kind("Where is the port read?"), Some(Kind::Ask));
        assert_eq!(kind("Add a method clear to the Queue class"), Some(Kind::Edit));
        for request in [
            "Rename a to b",
            "Set X to 5 in a.py and run the tests",
            "It crashes. Fix it.",
            "Read a.py, then set X to 5",
            "Wo wird der Port gelesen",
        ] {
            assert_eq!(kind(request), None, "{request}");
        }
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
    fn an_order_is_no_question() {
        let kind = |text: &str| read(&format!("ask: {text}"))[0].0;
        assert_eq!(kind("I need another function tail(list)"), Kind::Edit);
        assert_eq!(kind("Passe la pénalité par défaut de 25 à 50"), Kind::Edit);
        assert_eq!(kind("`make test` fails. Find out why and fix the code"), Kind::Fix);
        assert_eq!(kind("ordinal(12) gives 12nd and ordinal(112) gives 112nd"), Kind::Edit);
        assert_eq!(kind("Find the function that returns None"), Kind::Ask);
        assert_eq!(kind("Tell me how to add a tool"), Kind::Ask);
        assert_eq!(kind("Can the cache be changed?"), Kind::Ask);
        assert_eq!(kind("When I save twice, one is lost. Can you fix that?"), Kind::Edit);
    }

    #[test]
    fn how_to_answer_is_no_question() {
        let request = "who calls read_all? list all of the methods";
        check("ask: who calls read_all?\nask: list all of the methods", request, &[(Kind::Ask, request)]);
        let request = "who calls read_all? list what is in src/a.py";
        let two = [(Kind::Ask, "who calls read_all?"), (Kind::Ask, "list what is in src/a.py")];
        check("ask: who calls read_all?\nask: list what is in src/a.py", request, &two);
    }

    #[test]
    fn a_question_changes_nothing() {
        let request = "wo wird entschieden, ob ein Hinweis kommt, und wie groß darf die Distanz höchstens sein?";
        assert_eq!(plain(request).map(|step| step.kind), Some(Kind::Ask));
        let request = "In which case is load() called and how do I change that?";
        check("ask: In which case is load() called\nedit: change that", request, &[(Kind::Ask, request)]);
        for order in ["Can you add a flag?", "How is x set? Set it to 5.", "Where is x and remove it?"] {
            assert!(!only_asks(order), "{order}");
        }
    }

    #[test]
    fn what_tests_are_written_with_is_no_command() {
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
    fn what_no_step_has_taken_is_kept_with_its_neighbour() {
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
    fn a_test_is_written_behind_its_code() {
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
            apart("Raise the default ttl to 5 minutes and update the README"),
            ["Raise the default ttl to 5 minutes", "update the README"]
        );
        for whole in ["Add a test for zero and one for ten", "Add a flag and make the tests pass", "Add f, with care"] {
            assert_eq!(apart(whole), [whole]);
        }
    }

    #[test]
    fn what_is_no_step_is_not_read() {
        check("hello\nask: \n", "What is the port?", &[(Kind::Ask, "What is the port?")]);
    }
}
