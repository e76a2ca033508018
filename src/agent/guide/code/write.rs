//! Has the model name the items of a change and write them, in one draft or in several in parallel.

use std::pin::Pin;

use futures_util::{Stream, StreamExt, stream};

use crate::agent::budget::Guided;
use crate::agent::execute::Scene;
use crate::agent::guide::change::{Ask, ask};
use crate::agent::guide::files::Files;
use crate::agent::guide::grammar::Body;
use crate::agent::guide::items::{Choices, Item, What};
use crate::agent::guide::line_edit::Within;
use crate::agent::guide::{Job, grammar, reply};
use crate::agent::player::Form;
use crate::agent::toolkit::TurnError;
use crate::agent::{Deciding, Host};
use crate::base::StepId;
use crate::edit::{self, preserve, testing};
use crate::models::dialect::Message;
use crate::protocol::{Event, Proposal};
use crate::tools::policy::Policy;

use super::Given;

const CASES: usize = Guided::CASES;
/// Maximum length, in lines, of a definition that is sampled several times.
const DRAWN_LINES_MAX: usize = 25;
/// Number of rounds in which only some lines of a long function are changed; after that, it is
/// rewritten completely.
const WITHIN_ROUNDS: usize = 3;

/// The code of an item; the error gives the reason why it is incomplete.
pub(super) type Code = Result<String, String>;

/// The items of a change with their code; an incomplete item comes last.
pub(super) type Draft = Vec<(Item, Code)>;

/// Drafts in the order in which they finish. Dropping the stream cancels the unfinished ones.
pub(super) type Drafts<'a> = Pin<Box<dyn Stream<Item = Result<Draft, TurnError>> + Send + 'a>>;

/// The context in which the model writes in one round.
pub(super) struct Writer<'w, 'a> {
    pub job: Job<'a>,
    pub files: &'w Files,
    pub choices: &'w Choices,
    /// The problem of the previous round.
    pub trouble: &'w str,
    pub round: usize,
    /// Maximum number of items that may be named in the first round.
    pub items_max: usize,
}

impl<'a> Writer<'_, 'a> {
    /// The items to write: the given ones and those that the model names.
    pub async fn items(&self, given: Option<Given>, messages: &[Message]) -> Result<Vec<Item>, TurnError> {
        let (given, is_all) = given.unwrap_or_default();
        if is_all {
            return Ok(given);
        }
        // After a failed check, only one item is rewritten.
        let most = if self.round == 0 { self.items_max } else { 1 };
        let form = Form::Lark(self.choices.grammar(&given, most));
        let form = Ask { form, tokens: self.job.limits().names, seed: None, phase: "finding what to change" };
        let answer = ask(self.job, messages, form).await?;
        tracing::debug!(round = self.round, answer.text, "names");
        Ok(self.choices.read(answer.whole_lines()))
    }

    /// Has the model write `count` drafts of the items in parallel, after `messages`. They share
    /// the prompt, and each is sampled with its own seeds.
    pub fn drafts(&self, items: Vec<Item>, messages: &[Message], count: usize) -> Drafts<'a> {
        let named: Vec<String> = items.iter().map(|item| self.choices.line(item)).collect();
        tracing::debug!(round = self.round, count, ?named);
        let messages = [messages, &[Message::assistant(named.join("\n"))]].concat();
        let orders: Vec<Order> = items.into_iter().map(|item| self.order(item)).collect();
        let (job, round) = (self.job, self.round);
        let writing = (0..count).map(move |at| {
            let draw = Draw { round, rounds: job.scene.toolkit.bounds.rounds, at, count };
            draft(job, orders.clone(), messages.clone(), draw)
        });
        Box::pin(stream::iter(writing).buffer_unordered(count))
    }

    /// The instruction for an item and the form of the answer.
    fn order(&self, item: Item) -> Order {
        let Writer { job, files, trouble, round, .. } = *self;
        if matches!(item.what, What::Remove(_)) {
            return Order { item, way: Way::Removal };
        }
        let warned = if trouble.is_empty() { String::new() } else { format!("\nA first attempt was wrong. {trouble}") };
        let purpose = format!("It is for this: {}{warned}", job.step.text);
        if let Some(within) = Within::of(&item, files).filter(|_| round < WITHIN_ROUNDS) {
            return Order { item, way: Way::Lines(within, purpose) };
        }
        let grammar = match &item.what {
            What::File => grammar::of_any_code(&item.path, &files.head_of_tests(&item.path).unwrap_or_default()),
            _ => {
                let has_docstring = files.told.as_asked().is_about_wording();
                let without_comments = trouble.contains(edit::TO_BE_WRITTEN);
                grammar::of_code(&item, files.text(&item.path), Body { has_docstring, without_comments })
            }
        };
        let whole = Whole {
            message: format!("{}\n{purpose}", order_of(&item, files)),
            form: Form::Lark(grammar),
            tokens: most_tokens(&item, files, job.limits()),
            is_long: matches!(&item.what, What::Change(span) if span.lines.1 - span.lines.0 > DRAWN_LINES_MAX),
            known: files.versions(&item.path).map(str::to_owned).collect(),
        };
        Order { item, way: Way::Whole(whole) }
    }
}

/// An item for the model to write.
#[derive(Clone)]
struct Order {
    item: Item,
    way: Way,
}

#[derive(Clone)]
enum Way {
    /// The model writes nothing.
    Removal,
    /// The model rewrites some lines of a long function; the text states the purpose.
    Lines(Within, String),
    Whole(Whole),
}

/// An item that is written completely.
#[derive(Clone)]
struct Whole {
    message: String,
    form: Form,
    /// Maximum length of the answer, in tokens.
    tokens: usize,
    is_long: bool,
    /// The texts of the item's file, before the change and now.
    known: Vec<String>,
}

/// The seeds of a draft.
#[derive(Clone, Copy)]
struct Draw {
    round: usize,
    /// Maximum number of rounds.
    rounds: usize,
    /// The number of the draft; a round has `count` drafts.
    at: usize,
    count: usize,
}

impl Draw {
    /// The seed of a sample, different for every round; `None` in the first round, which is greedy.
    /// Greedy decoding in later rounds would repeat the refused answer.
    fn seed(self, sample: usize) -> Option<usize> {
        (self.round > 0).then(|| self.round + self.rounds * (self.at + self.count * sample))
    }

    /// Maximum number of samples of an item: all drafts of a round together take about as many
    /// samples as a single draft would.
    fn samples(self, is_long: bool) -> usize {
        if self.round > 0 && !is_long { Guided::SAMPLES.div_ceil(self.count) } else { 1 }
    }
}

/// One draft of all items.
async fn draft(job: Job<'_>, orders: Vec<Order>, mut messages: Vec<Message>, draw: Draw) -> Result<Draft, TurnError> {
    let aside = Aside(job.scene.host);
    let scene = if draw.count > 1 { Scene { host: &aside, ..job.scene } } else { job.scene };
    let job = Job { scene, ..job };
    let mut draft = Vec::new();
    for Order { item, way } in orders {
        let code = match way {
            Way::Removal => Ok(String::new()),
            Way::Lines(within, purpose) => within.write(job, &mut messages, &purpose, draw.seed(0)).await?,
            Way::Whole(whole) => whole.write(job, &mut messages, draw).await?,
        };
        let is_cut = code.is_err();
        draft.push((item, code));
        if is_cut {
            break;
        }
    }
    Ok(draft)
}

impl Whole {
    /// Has the model write the item and appends the exchange to `messages`. A short item is sampled
    /// until one sample differs from the existing code.
    async fn write(self, job: Job<'_>, messages: &mut Vec<Message>, draw: Draw) -> Result<Code, TurnError> {
        messages.push(Message::user(self.message));
        let (mut answer, mut code) = (String::new(), Ok(String::new()));
        for sample in 0..draw.samples(self.is_long) {
            let seed = draw.seed(sample);
            let form = Ask { form: self.form.clone(), tokens: self.tokens, seed, phase: "writing code" };
            let written = ask(job, messages, form).await?;
            tracing::debug!(draw.round, draw.at, sample, written.text, "written");
            code = written.whole().map(|text| reply::first(text).unwrap_or_default());
            answer = written.text;
            // Another sample would also be cut off.
            let is_known = |code: &String| self.known.iter().any(|text| preserve::has_code(text, code));
            if !code.as_ref().is_ok_and(is_known) {
                break;
            }
        }
        messages.push(Message::assistant(answer));
        Ok(code)
    }
}

/// The host of one of several drafts. It passes on everything except thoughts, since interleaved
/// thoughts from several drafts would be unreadable.
struct Aside<'h>(&'h dyn Host);

impl Host for Aside<'_> {
    fn emit(&self, event: Event) {
        if !matches!(event, Event::Thinking { .. }) {
            self.0.emit(event);
        }
    }

    fn approve<'a>(&'a self, step: StepId, proposal: &'a Proposal) -> Deciding<'a> {
        self.0.approve(step, proposal)
    }

    fn policy(&self) -> &Policy {
        self.0.policy()
    }

    fn inspects(&self) -> bool {
        self.0.inspects()
    }
}

/// Maximum length of the code for an item, in tokens.
fn most_tokens(item: &Item, files: &Files, limits: Guided) -> usize {
    let is_test_file = item.what == What::File && testing::is_test(&item.path);
    if is_test_file || item.is_new_test() {
        return limits.text;
    }
    limits.code.max((2 * crate::retrieve::tokens(files.code_of(item))).min(limits.code_most))
}

/// The instruction to write an item.
fn order_of(item: &Item, files: &Files) -> String {
    let Item { path, name, what } = item;
    match what {
        What::Change(span) if files.is_shown(path, span.lines) => changed(item),
        What::Change(_) => format!("It stands there as:\n```\n{}\n```\n{}", files.code_of(item), changed(item)),
        What::Statement(text) => {
            format!("Write these lines of {path} as they have to become, and nothing else:\n{text}")
        }
        What::Add if item.is_new_test() => {
            format!("Write the new `{name}` for {path}: whole, with at most {CASES} cases, and nothing else.")
        }
        What::File if testing::is_test(path) => {
            let form = files.form_of_tests().map(|form| format!(" A test is written as {form}")).unwrap_or_default();
            format!("Write the new file {path}, whole, with at most {CASES} cases.{form}")
        }
        What::Add => added(item),
        What::Lines => format!("Write the new lines for {path}, and nothing that is there already."),
        What::File => format!("Write the new file {path}, whole."),
        What::Remove(_) => String::new(),
    }
}

/// The instruction to rewrite an existing definition.
pub(super) fn changed(Item { path, name, .. }: &Item) -> String {
    format!("Write `{name}` of {path} as it has to become: whole, and nothing else.")
}

/// The instruction to write a new definition.
pub(super) fn added(Item { path, name, .. }: &Item) -> String {
    format!("Write the new `{name}` for {path}: whole, and nothing else.")
}
