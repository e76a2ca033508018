//! Has the model name the items of a change and write each of them.

use crate::agent::budget::Guided;
use crate::agent::guide::change::{Ask, ask};
use crate::agent::guide::files::Files;
use crate::agent::guide::grammar::Body;
use crate::agent::guide::items::{Choices, Item, What};
use crate::agent::guide::line_edit::Within;
use crate::agent::guide::{Job, grammar, reply};
use crate::agent::player::Form;
use crate::agent::toolkit::TurnError;
use crate::edit::{self, comments, testing};
use crate::models::dialect::Message;

const CASES: usize = Guided::CASES;
/// Longest definition that is sampled several times, in lines.
const DRAWN_LINES_MAX: usize = 25;
/// Rounds in which a long function is changed by some of its lines; after them it is written whole.
const WITHIN_ROUNDS: usize = 3;

/// The code of an item; the error says why it is not whole.
pub(super) type Code = Result<String, String>;

/// The context in which the model writes in one round.
pub(super) struct Writer<'a> {
    pub job: Job<'a>,
    pub files: &'a Files,
    pub choices: &'a Choices,
    /// The text of the step.
    pub text: &'a str,
    /// The problem of the round before.
    pub trouble: &'a str,
    pub round: usize,
    /// Maximum number of items that may be named in the first round.
    pub items_max: usize,
}

impl Writer<'_> {
    /// Has the model name items, unless `given` are all, and write each; returns them with their code, or with why it is not whole. The exchange
    /// is appended to `messages`.
    pub async fn pieces(
        &self,
        given: Option<(Vec<Item>, bool)>,
        messages: &mut Vec<Message>,
    ) -> Result<Vec<(Item, Code)>, TurnError> {
        let items = self.items(given, messages).await?;
        let named: Vec<String> = items.iter().map(|item| self.choices.line(item)).collect();
        tracing::debug!(round = self.round, ?named);
        messages.push(Message::assistant(named.join("\n")));
        let mut pieces = Vec::new();
        for item in items {
            let is_removed = matches!(item.what, What::Remove(_));
            let code = if is_removed { Ok(String::new()) } else { self.code(&item, messages).await? };
            let is_cut = code.is_err();
            pieces.push((item, code));
            if is_cut {
                break;
            }
        }
        Ok(pieces)
    }

    /// The items that are written: those given, and those that the model names.
    async fn items(&self, given: Option<(Vec<Item>, bool)>, messages: &[Message]) -> Result<Vec<Item>, TurnError> {
        let (given, is_all) = given.unwrap_or_default();
        if is_all {
            return Ok(given);
        }
        // After a failed check one item is written again.
        let most = if self.round == 0 { self.items_max } else { 1 };
        let form = Form::Lark(self.choices.grammar(&given, most));
        let form = Ask { form, tokens: self.job.limits().names, seed: None, phase: "finding what to change" };
        let answer = ask(self.job, messages, form).await?;
        tracing::debug!(round = self.round, answer.text, "names");
        Ok(self.choices.read(answer.whole_lines()))
    }

    /// Has the model write an item: some lines of a long function, else the whole.
    async fn code(&self, item: &Item, messages: &mut Vec<Message>) -> Result<Code, TurnError> {
        let Writer { job, files, text, trouble, round, .. } = *self;
        let warned = if trouble.is_empty() { String::new() } else { format!("\nA first attempt was wrong. {trouble}") };
        let purpose = format!("It is for this: {text}{warned}");
        let within = Within::of(item, files).filter(|_| round < WITHIN_ROUNDS);
        if let Some(within) = within {
            return within.write(job, messages, &purpose, (round > 0).then_some(round)).await;
        }
        messages.push(Message::user(format!("{}\n{purpose}", order_of(item, files))));
        let (answer, code) = self.whole(item, messages).await?;
        messages.push(Message::assistant(answer));
        Ok(code)
    }

    /// The answer of the model with a whole item, and the code in it. Samples of a short one are drawn until one differs from the existing code.
    async fn whole(&self, item: &Item, messages: &[Message]) -> Result<(String, Code), TurnError> {
        let Writer { job, files, round, .. } = *self;
        let grammar = match &item.what {
            What::File => grammar::of_any_code(&item.path, &files.head_of_tests(&item.path).unwrap_or_default()),
            _ => {
                let has_docstring = comments::speaks_of_words(&files.told);
                let without_comments = self.trouble.contains(edit::TO_BE_WRITTEN);
                grammar::of_code(item, files.text(&item.path), Body { has_docstring, without_comments })
            }
        };
        let form = Form::Lark(grammar);
        let mut answer = String::new();
        let mut code = Ok(String::new());
        // Greedy decoding would repeat what a check has refused.
        let is_drawn = round > 0;
        let is_long = matches!(&item.what, What::Change(span) if span.lines.1 - span.lines.0 > DRAWN_LINES_MAX);
        for draft in 0..if is_drawn && !is_long { Guided::DRAFTS } else { 1 } {
            let seed = is_drawn.then_some(round + draft * job.scene.toolkit.bounds.rounds);
            let tokens = most_tokens(item, files, job.limits());
            let form = Ask { form: form.clone(), tokens, seed, phase: "writing code" };
            let written = ask(job, messages, form).await?;
            tracing::debug!(round, draft, written.text, "written");
            code = written.whole().map(|text| reply::first(text).unwrap_or_default());
            answer = written.text;
            // A sample that was cut would be cut again.
            if !code.as_ref().is_ok_and(|code| files.has(item, code)) {
                break;
            }
        }
        Ok((answer, code))
    }
}

/// Longest code for an item, in tokens.
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

/// The instruction to write a definition that is there.
pub(super) fn changed(Item { path, name, .. }: &Item) -> String {
    format!("Write `{name}` of {path} as it has to become: whole, and nothing else.")
}

/// The instruction to write a new definition.
pub(super) fn added(Item { path, name, .. }: &Item) -> String {
    format!("Write the new `{name}` for {path}: whole, and nothing else.")
}
