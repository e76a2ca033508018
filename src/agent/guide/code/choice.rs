//! Chooses the definitions that a code change may touch, and the items that the request or a failed
//! round determines without the model.

use crate::agent::budget::Guided;
use crate::agent::guide::Job;
use crate::agent::guide::copy::Copy;
use crate::agent::guide::files::Files;
use crate::agent::guide::items::{Choices, Item, What};
use crate::agent::guide::verify::{self, Wrong};
use crate::agent::toolkit::TurnError;
use crate::edit::executed;
use crate::language::grounding;
use crate::request::Text;
use crate::request::mentions::Mentions;

use super::{Given, Order};

/// The definitions that the model may name for `order`.
pub(super) fn offered(files: &Files, order: &Order<'_>) -> Choices {
    let asked = &files.asked;
    let mentions = order.mentions;
    let mut choices = files.choices();
    if mentions.adds && mentions.speaks_of_definitions {
        choices.beside_new(mentions);
    }
    match order.command {
        Some(_) => {
            if !asked.doubts_tests() {
                choices.without_tests();
            }
            if !verify::misses_something(&order.task) {
                choices.of_what_is_there();
            }
        }
        None => {
            choices.in_named(mentions, asked);
            if asked.keeps_tests() {
                choices.without_tests();
            }
        }
    }
    if !asked.speaks_of_all_names() {
        choices.without_exports();
    }
    if !mentions.adds && !mentions.speaks_of_definitions && mentions.new_names.is_empty() {
        choices.of_what_is_there();
    }
    choices
}

/// Removes functions that the failing examples do not execute, unless the request determines the
/// items or the executed lines cannot be recorded.
pub(super) async fn narrow_to_executed(
    choices: &mut Choices,
    job: Job<'_>,
    wrong: &Wrong,
    mentions: &Mentions,
    asked: &Text,
) -> Result<(), TurnError> {
    if !executed::is_known(&wrong.path) || choices.said(mentions, asked).is_some() {
        return Ok(());
    }
    if let Some(copy) = Copy::one(job).await? {
        let lines = copy.executed(job, &wrong.line, Guided::CHECK_TIME).await;
        choices.of_executed(&lines);
    }
    Ok(())
}

/// The items that the request determines, and whether they are all. `None` if the model has to
/// choose.
pub(super) fn decided(job: Job<'_>, order: &Order<'_>, files: &Files, choices: &Choices) -> Option<Given> {
    let (mentions, asked) = (order.mentions, &files.asked);
    // A request to make tests pass may name the tested code, but the failure shows where the
    // mistake is.
    let is_suspect = |(items, _): &Given| {
        let suspect = job.touched.first().map(|first| first.name.as_str());
        order.command.is_none() || items.iter().all(|item| item.name.rsplit('.').next() == suspect)
    };
    let mut given = choices.said(mentions, asked).filter(is_suspect);
    if given.is_none() && mentions.symbols.is_empty() && asked.may_remove() {
        given = choices.that_goes(files).map(|item| (vec![item], true));
    }
    if may_be_data(order, asked) && files.missing_text().is_some() {
        // A quoted text that no file contains belongs in the list that all named definitions use.
        let named = choices.pieces(mentions, files);
        given = choices.data_of(&named).map(|item| (vec![item], true)).or(given);
    }
    given
}

/// Maximum number of items that the model may name in the first round: one for a report, because a
/// 1.5B model that may name more also changes correct code.
pub(super) fn items_max(mentions: &Mentions, asked: &Text) -> usize {
    let is_of_one = !mentions.adds && mentions.new_names.is_empty() && mentions.symbols.len() < 2;
    if is_of_one && asked.is_report() { 1 } else { Guided::ITEMS }
}

/// Whether the change may belong in a list or constant that the named definitions use.
pub(super) fn may_be_data(order: &Order<'_>, asked: &Text) -> bool {
    let Order { mentions, command, .. } = order;
    command.is_none() && !asked.is_report() && !mentions.adds && mentions.new_names.is_empty()
}

/// The items of written pieces.
pub(super) fn items_of(pieces: &[(Item, String)]) -> Vec<Item> {
    pieces.iter().map(|(item, _)| item.clone()).collect()
}

/// The items that a text names, or all of them if it names none.
pub(super) fn named_in(items: Vec<Item>, text: &str) -> Vec<Item> {
    let is_named = |item: &&Item| grounding::is_backed(text, item.name.rsplit('.').next().unwrap_or_default());
    let named: Vec<Item> = items.iter().filter(is_named).cloned().collect();
    if named.is_empty() { items } else { named }
}

/// The next item after the model left a definition unchanged: a function that it calls, else the
/// same item once more.
pub(super) fn after_unchanged(item: &Item, files: &Files, choices: &mut Choices) -> Option<Given> {
    let callee = choices.called_by(item, files);
    let may_come_again = choices.has(item) || item.what == What::Add;
    if callee.is_none() {
        choices.without(item);
    }
    let next = callee.or_else(|| may_come_again.then(|| item.clone()))?;
    Some((vec![next], true))
}
