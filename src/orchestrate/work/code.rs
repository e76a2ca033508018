//! Changes code in a few rounds: the model names the items to write, writes each, and gets what the checks find in the next prompt.

use crate::edit::testing;
use crate::request::kind;
use std::time::{Duration, Instant};

use crate::edit::docstring;
use crate::language::{grounding, words};
use crate::models::dialect::Message;
use crate::orchestrate::evidence::Evidence;
use crate::orchestrate::toolkit::TurnError;

use super::change::{Ask, ask, opening};
use super::copy::Copy;
use super::files::{Files, Refusal};
use super::items::{self, Choices, Item, What};
use super::tested::{self, Before, CASES_MAX, Verdict};
use super::{Done, Job, grammar, repair, verify};
use crate::context::Pack;
use crate::context::mentions::Mentions;
use crate::edit::executed;
use crate::edit::unchanged_value;
use crate::orchestrate::work::line_edit::Within;
use crate::orchestrate::work::reply;
use crate::request::Step;

const WRITE: &str = include_str!("../prompts/write.md");
const NAME: &str = "First name the definitions to write.";
/// Longest answer that names items, longest code (a definition may also become twice as long as it is), longest code in any case, and longest
/// test, in tokens.
const NAMES_TOKENS: usize = 60;
const CODE_TOKENS: usize = 400;
const LONGEST_TOKENS: usize = 900;
const TEST_TOKENS: usize = 260;
/// Most samples of a definition until one differs from the existing code.
const DRAFTS_MAX: usize = 3;
/// Longest definition that is sampled several times, in lines.
const DRAWN_LINES_MAX: usize = 25;
/// Longest sentence about what is wrong, in tokens.
const THOUGHT_TOKENS: usize = 80;
/// Attempts of the model at one change; what a check found goes into the next prompt.
const ROUNDS_MAX: usize = 4;
/// Attempts if the request reports a mistake and has failing examples, which small changes did not repair.
const REPORT_ROUNDS: usize = 2;
/// No further round begins after this time.
const ROUNDS_TIME: Duration = Duration::from_secs(60);
/// Rounds in which a long function is changed by some of its lines; after them it is written whole.
const WITHIN_ROUNDS: usize = 3;
/// Time for small changes of the first version if an example fails, and the same again for lines that are filled in.
const TRIALS_TIME: Duration = Duration::from_secs(8);
/// Most characters of what a check found in the next prompt.
const TROUBLE_CHARS: usize = 900;
/// Words that ask to remove something.
const REMOVALS: &[&str] = &[
    "remove",
    "delete",
    "drop",
    "rid",
    "unused",
    "obsolete",
    "strip",
    "entferne",
    "lösche",
    "entfernen",
    "löschen",
    "supprime",
    "enlève",
    "retire",
    "elimina",
    "quita",
    "borra",
    "удали",
    "убери",
];

/// A change of code that is to be written.
pub struct Order<'a> {
    pub pack: &'a Pack,
    pub mentions: &'a Mentions,
    /// What the model is to do.
    pub task: String,
    /// The command that has to pass after the change; without one, the tests that cover the change are run.
    pub command: Option<&'a str>,
}

/// Has the model write a change until the checks accept it, for a few rounds. The files are written before the project's checks run, and restored
/// if no round succeeds.
pub async fn code(job: Job<'_>, step: &Step, order: Order<'_>, evidence: &mut Evidence) -> Result<Done, TurnError> {
    let Order { pack, mentions, task, command } = order;
    let asked = format!("{} {}", job.scene.request, step.text);
    let mut files = Files::of(job, pack, mentions, asks_to_remove(&asked));
    let mut choices = files.choices();
    if mentions.adds && mentions.speaks_of_definitions {
        choices.beside_new(mentions);
    }
    match command {
        Some(_) => {
            if !verify::doubts_tests(&asked) {
                choices.without_tests();
            }
            if !verify::misses_something(&task) {
                choices.of_what_is_there();
            }
        }
        None => {
            choices.in_named(mentions, &asked);
            if verify::keeps_tests(&asked) {
                choices.without_tests();
            }
        }
    }
    if !asked.contains("__all__") {
        choices.without_exports();
    }
    if !mentions.adds && !mentions.speaks_of_definitions && mentions.new_names.is_empty() {
        choices.of_what_is_there();
    }
    let mut messages = opening(job, WRITE);
    let tried = verify::examples_or_calls(job, step, &mut files, evidence).await?;
    if let Some(wrong) = tried.as_ref().filter(|wrong| executed::is_known(&wrong.path))
        && choices.said(mentions, &asked).is_none()
        && let Some(copy) = Copy::one(job).await?
    {
        choices.of_executed(&copy.executed(job, &wrong.line, verify::LIMIT).await);
    }
    // If small changes did not repair a mistake, a 1.5B model seldom does in a third round.
    let is_clear = tried.as_ref().is_some_and(|wrong| !wrong.is_vague);
    let rounds = if is_clear && kind::is_report(&asked) { REPORT_ROUNDS } else { ROUNDS_MAX };
    let tried = tried.map(|wrong| format!("\nTried as it is now: {}", wrong.said)).unwrap_or_default();
    messages.push(Message::user(format!("{}{task}{tried}\n\n{NAME}", pack.text)));
    let asked_for = messages.len();
    let mut trouble = String::new();
    let mut written = false;
    let mut before = Before::new();
    // Items that were written a second time because the first changed nothing.
    let mut again = Vec::new();
    // The round whose change the model was asked about; that change is kept if nothing better comes.
    let mut doubted = None;
    // A request to make tests pass may name what they test, but the failure says where the mistake is.
    let is_suspect = |(items, _): &(Vec<Item>, bool)| {
        let suspect = job.touched.first().map(|first| first.name.as_str());
        command.is_none() || items.iter().all(|item| item.name.rsplit('.').next() == suspect)
    };
    let mut next = Next { given: choices.said(mentions, &asked).filter(is_suspect), think: false };
    if next.given.is_none() && mentions.symbols.is_empty() && asks_to_remove(&asked) {
        let text = |path: &str| files.text(path).to_owned();
        next.given = choices.that_goes(&text, &asked).map(|item| (vec![item], true));
    }
    // A report is about one mistake; a 1.5B model that may name more items changes correct code.
    let is_report = !mentions.adds && mentions.new_names.is_empty() && mentions.symbols.len() < 2;
    let most = if is_report && kind::is_report(&asked) { 1 } else { items::ITEMS_MAX };
    let mut may_be_data =
        command.is_none() && !kind::is_report(&asked) && !mentions.adds && mentions.new_names.is_empty();
    if may_be_data && files.missing_text(&asked).is_some() {
        // A quoted text that no file has belongs into the list that all named definitions use.
        let named = choices.pieces(mentions, &|path| files.text(path).to_owned());
        next.given = choices.data_of(&named).map(|item| (vec![item], true)).or(next.given);
    }
    let until = Instant::now() + ROUNDS_TIME;
    for round in (0..rounds).take_while(|round| *round == 0 || Instant::now() < until) {
        let order = Round { choices: &choices, text: &step.text, trouble: &trouble, round, most };
        let pieces = write(job, &files, order, std::mem::take(&mut next), &mut messages).await?;
        trouble.clear();
        let is_last = round + 1 >= rounds || Instant::now() >= until;
        let problem = match files.take(job.index, &pieces, mentions, &asked) {
            Err(Refusal { message, unchanged }) if doubted.is_none_or(|at| round < at + 2 && !is_last) => {
                next = match unchanged.as_slice() {
                    // A definition that stays as it is may use a list that is wrong.
                    [_, ..] if may_be_data && choices.narrow_to_data_of(&pieces) => {
                        may_be_data = false;
                        Next { given: choices.data_of(&pieces).map(|item| (vec![item], true)), think: false }
                    }
                    [item, ..] => after_unchanged(item, &files, &mut choices, &mut again),
                    // Code that does not parse or lacks a name is written again.
                    [] if !pieces.is_empty() => Next { given: Some((items_of(pieces), true)), think: false },
                    [] => Next::default(),
                };
                Some(message)
            }
            taken => {
                if taken.is_err() || files.doubt(&asked).is_some_and(|doubt| !doubt.same_place) {
                    files.take_from_aside();
                }
                let may_ask = doubted.is_none() && !written && !is_last;
                if let Some(doubt) = files.doubt(&asked).filter(|_| may_ask) {
                    doubted = Some(round);
                    if !doubt.same_place {
                        // A model that sees its code in the wrong place repeats it.
                        messages.truncate(asked_for);
                        pieces.iter().for_each(|(item, _)| choices.without(item));
                        choices.narrow_to_data_of(&pieces);
                        next.given = choices.data_of(&pieces).map(|item| (vec![item], true));
                        files.set_aside();
                    } else {
                        next.given = Some((items_of(pieces), true));
                    }
                    match messages.last_mut().filter(|_| !doubt.same_place) {
                        Some(last) => last.content.push_str(&format!("\n{}", doubt.question)),
                        None => messages.push(Message::user(format!("{}\n{NAME}", doubt.question))),
                    }
                    continue;
                }
                if let Some(notes) = files.write(job, step, evidence).await? {
                    return Ok(files.done(notes));
                }
                written = true;
                let wrong = verify::examples_or_calls(job, step, &mut files, evidence).await?;
                // For a reported mistake, small changes were tried before.
                if let (Some(wrong), 0, false) = (&wrong, round, kind::is_report(&asked))
                    && !wrong.is_vague
                    && let Some(mended) = repair::examples(job, step, wrong, None, TRIALS_TIME, evidence).await?
                {
                    let mut done = files.done(mended.notes);
                    done.touched.extend(mended.touched);
                    return Ok(done);
                }
                // A correct change need not show in a call without an expected result.
                let is_vague = wrong.as_ref().is_some_and(|wrong| wrong.is_vague);
                let (wrong, still) = match wrong.map(|wrong| wrong.said) {
                    Some(said) if is_vague && (doubted.is_some() || is_last) => (None, Some(said)),
                    said => (said, None),
                };
                if is_vague && wrong.is_some() {
                    doubted = Some(round);
                }
                match (wrong, command) {
                    (Some(wrong), _) => {
                        next = Next { given: Some((named_in(items_of(pieces), &wrong), true)), think: true };
                        let still = if is_vague { "This is still so" } else { "It was tried" };
                        Some(format!("It is written. {still}:\n{wrong}"))
                    }
                    (None, Some(line)) => verify::trouble_of(job, step, line, evidence).await?,
                    (None, None) => match tested::change(job, step, &mut files, &asked, &mut before, evidence).await? {
                        Verdict::Counts { said, mut notes } => {
                            let as_before =
                                |said: String| format!("changed, but this is as before: {}", said.replace('\n', "; "));
                            notes.extend(still.map(as_before));
                            return Ok(Done { said, ..files.done(notes) });
                        }
                        Verdict::Fails(wrong) => {
                            let with = with_what_was_lost(job, step, &mut files, &asked, &mut before, evidence).await?;
                            if let Some(Verdict::Counts { said, notes }) = with {
                                return Ok(Done { said, ..files.done(notes) });
                            }
                            next = Next { given: Some((items_of(pieces), true)), think: false };
                            Some(wrong)
                        }
                    },
                }
            }
        };
        let Some(problem) = problem else { return Ok(files.done(Vec::new())) };
        trouble = words::shorten(&problem, TROUBLE_CHARS);
        tracing::debug!(round, trouble, "not right yet");
        // A model that sees its answer repeats it, so only what was wrong stays in the prompt.
        messages.truncate(asked_for);
        if next.given.is_none() {
            let last = messages.len() - 1;
            messages[last].content.push_str(&format!("\n{trouble}"));
        }
    }
    let why = trouble.lines().take(2).collect::<Vec<_>>().join(" ");
    if !written {
        return Ok(files.done(vec![format!("not done: {why}")]));
    }
    files.restore(job, step, evidence).await?;
    Ok(Done::note(format!("not done, the files are as they were: {why}")))
}

/// Restores the lines that a failed change removed for nothing in return, as models do, and tests it again. `None` if there are none, the request
/// asks to remove something, or an example fails.
async fn with_what_was_lost(
    job: Job<'_>,
    step: &Step,
    files: &mut Files,
    asked: &str,
    before: &mut Before,
    evidence: &mut Evidence,
) -> Result<Option<Verdict>, TurnError> {
    if asks_to_remove(asked) || !files.put_back() {
        return Ok(None);
    }
    if let Some(notes) = files.write(job, step, evidence).await? {
        return Ok(Some(Verdict::noted(notes)));
    }
    if verify::examples(job, step, files, evidence).await?.is_some() {
        return Ok(None);
    }
    Ok(Some(tested::change(job, step, files, asked, before, evidence).await?))
}

/// What is written in the next round.
#[derive(Default)]
struct Next {
    /// The items that are decided already, and whether these are all.
    given: Option<(Vec<Item>, bool)>,
    /// The model says first what is wrong.
    think: bool,
}

fn items_of(pieces: Vec<(Item, String)>) -> Vec<Item> {
    pieces.into_iter().map(|(item, _)| item).collect()
}

/// The items that a text names, or all of them if it names none.
fn named_in(items: Vec<Item>, text: &str) -> Vec<Item> {
    let is_named = |item: &&Item| grounding::is_backed(text, item.name.rsplit('.').next().unwrap_or_default());
    let named: Vec<Item> = items.iter().filter(is_named).cloned().collect();
    if named.is_empty() { items } else { named }
}

/// The next round after a definition was written as it already is: a function that it calls, else the same one once more after a sentence about
/// the mistake.
fn after_unchanged(item: &Item, files: &Files, choices: &mut Choices, again: &mut Vec<Item>) -> Next {
    if let Some(callee) = choices.called_by(item, files.text(&item.path)) {
        return Next { given: Some((vec![callee], true)), think: false };
    }
    let is_first = choices.has(item) || matches!(item.what, What::Add) && !again.contains(item);
    choices.without(item);
    again.push(item.clone());
    Next { given: is_first.then(|| (vec![item.clone()], true)), think: is_first }
}

fn asks_to_remove(asked: &str) -> bool {
    let words = words::split(asked);
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    REMOVALS.iter().any(|word| has(word)) || has("take") && has("out")
}

/// What one round works with.
struct Round<'a> {
    choices: &'a Choices,
    /// The text of the step.
    text: &'a str,
    /// What was wrong in the round before.
    trouble: &'a str,
    round: usize,
    /// Most items that may be named in the first round.
    most: usize,
}

/// Has the model name items and write each; returns them with their code. The exchange is appended to `messages`.
async fn write(
    job: Job<'_>,
    files: &Files,
    Round { choices, text, trouble, round, most }: Round<'_>,
    next: Next,
    messages: &mut Vec<Message>,
) -> Result<Vec<(Item, String)>, TurnError> {
    // Greedy decoding would repeat what a check has refused.
    let is_drawn = next.think || round > 0;
    let form =
        |grammar: String, tokens: usize, phase| Ask { grammar, tokens, seed: next.think.then_some(round), phase };
    let (given, is_all) = next.given.unwrap_or_default();
    let items = if is_all {
        given
    } else {
        // What a check found is wrong is one item.
        let most = if round == 0 { most } else { 1 };
        let grammar = choices.grammar(&given, most);
        choices.read(&ask(job, messages, form(grammar, NAMES_TOKENS, "finding what to change")).await?)
    };
    let named: Vec<String> = items.iter().map(|item| choices.line(item)).collect();
    tracing::debug!(round, ?named);
    messages.push(Message::assistant(named.join("\n")));
    let mut pieces = Vec::new();
    for item in items {
        if matches!(item.what, What::Remove(_)) {
            pieces.push((item, String::new()));
            continue;
        }
        if next.think {
            let question =
                format!("Which line of `{}` is wrong, and what has to stand there instead? One sentence.", item.name);
            messages.push(Message::user(question));
            let grammar = "start: /[A-Z`][^\\n]{10,300}/\n".to_owned();
            let answer = ask(job, messages, form(grammar, THOUGHT_TOKENS, "finding what is wrong")).await?;
            tracing::debug!(round, answer, "thought");
            messages.push(Message::assistant(answer));
        }
        let warned = if trouble.is_empty() { String::new() } else { format!("\nA first attempt was wrong. {trouble}") };
        let purpose = format!("It is for this: {text}{warned}");
        let within = Within::of(&item, files).filter(|_| round < WITHIN_ROUNDS);
        if let Some(within) = within {
            let code = within.write(job, messages, &purpose, is_drawn.then_some(round)).await?;
            pieces.push((item.clone(), code));
            continue;
        }
        messages.push(Message::user(format!("{}\n{purpose}", order_of(&item, files))));
        let grammar = match &item.what {
            What::File => grammar::of_any_code(&item.path, &files.head_of_tests(&item.path).unwrap_or_default()),
            _ => grammar::of_code(&item, files.text(&item.path), unchanged_value::speaks_of_words(text)),
        };
        let mut answer = String::new();
        let mut code = String::new();
        let is_long = matches!(&item.what, What::Change(span) if span.lines.1 - span.lines.0 > DRAWN_LINES_MAX);
        for draft in 0..if is_drawn && !is_long { DRAFTS_MAX } else { 1 } {
            let seed = is_drawn.then_some(round + draft * ROUNDS_MAX);
            let form = Ask { grammar: grammar.clone(), tokens: most_tokens(&item, files), seed, phase: "writing code" };
            answer = ask(job, messages, form).await?;
            tracing::debug!(round, draft, answer, "written");
            code = reply::first(&answer).unwrap_or_default();
            let is_cut = item.is_new_test() && code.lines().count() >= grammar::TEST_LINES_MAX;
            if is_cut || !answer.trim_end().ends_with("```") {
                code = reply::up_to_a_whole(&item.path, &code);
            }
            if let What::Change(span) = &item.what {
                let old = files.text(&item.path).get(span.bytes.clone()).unwrap_or_default();
                code = docstring::restored(old, &code);
            }
            if !files.has(&item, &code) {
                break;
            }
        }
        messages.push(Message::assistant(answer));
        pieces.push((item, code));
    }
    Ok(pieces)
}

/// Longest code for an item, in tokens.
fn most_tokens(item: &Item, files: &Files) -> usize {
    let text = match &item.what {
        What::Change(span) => files.text(&item.path).get(span.bytes.clone()).unwrap_or_default(),
        What::Statement(text) => text,
        What::Add if item.is_new_test() => return TEST_TOKENS,
        What::File if testing::is_test(&item.path) => return TEST_TOKENS,
        _ => "",
    };
    CODE_TOKENS.max((2 * crate::retrieve::tokens(text)).min(LONGEST_TOKENS))
}

/// The instruction to write an item.
fn order_of(item: &Item, files: &Files) -> String {
    let Item { path, name, what } = item;
    match what {
        What::Change(span) if files.is_shown(path, span.lines) => {
            format!("Write `{name}` of {path} as it has to become: whole, and nothing else.")
        }
        What::Change(span) => {
            let text = files.text(path).get(span.bytes.clone()).unwrap_or_default();
            format!(
                "It stands there as:\n```\n{text}\n```\nWrite `{name}` of {path} as it has to become: whole, and nothing else."
            )
        }
        What::Statement(text) => {
            format!("Write these lines of {path} as they have to become, and nothing else:\n{text}")
        }
        What::Add if item.is_new_test() => {
            format!("Write the new `{name}` for {path}: whole, with at most {CASES_MAX} cases, and nothing else.")
        }
        What::File if testing::is_test(path) => {
            let form = files.form_of_tests().map(|form| format!(" A test is written as {form}")).unwrap_or_default();
            format!("Write the new file {path}, whole, with at most {CASES_MAX} cases.{form}")
        }
        What::Add => format!("Write the new `{name}` for {path}: whole, and nothing else."),
        What::Lines => format!("Write the new lines for {path}, and nothing that is there already."),
        What::File => format!("Write the new file {path}, whole."),
        What::Remove(_) => String::new(),
    }
}
