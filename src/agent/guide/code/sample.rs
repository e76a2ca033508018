//! Has the model write one definition in one file, as in a code change but without a project, to
//! measure how well it writes.

use crate::agent::budget::{Guided, Pace};
use crate::agent::guide::items::{Choices, What};
use crate::agent::guide::{grammar, reply};
use crate::agent::player::Form;
use crate::agent::question::Question;
use crate::agent::toolkit::TurnError;
use crate::agent::whole;
use crate::context::Shown;
use crate::edit::{self, Edit};
use crate::models::dialect::Message;

use super::write::{added, changed};
use super::{NAME, WRITE};

/// The file after the change that `request` asks for, with code of at most `tokens_max` tokens;
/// `None` if the model did not write a complete definition within that limit.
pub async fn sample(
    question: Question<'_>,
    (path, text): (&str, &str),
    request: &str,
    tokens_max: usize,
) -> Result<Option<String>, TurnError> {
    let lines = vec![(1, text.lines().count())];
    let choices =
        Choices::of(&[Shown { path: path.to_owned(), text: text.to_owned(), lines, found: Vec::new() }], &[], false);
    let task = format!("{path}\n```\n{text}```\n\nRequest: {request}\n\n{NAME}");
    let mut messages = vec![Message::system(WRITE.trim()), Message::user(task)];
    let limits = Guided::of(Pace::of(question.toolkit, question.model));
    let names = Form::Lark(choices.grammar(&[], 1));
    let named = question.output(&messages, limits.names, names).await?;
    let Some(item) = choices.read(&named.text).into_iter().next() else { return Ok(None) };
    let order = match &item.what {
        What::Change(_) => changed(&item),
        What::Add => added(&item),
        _ => return Ok(None),
    };
    messages.push(Message::assistant(choices.line(&item)));
    messages.push(Message::user(format!("{order}\nIt is for this: {request}")));
    let code = Form::Lark(grammar::of_code(&item, text, grammar::Body::default()));
    let answer = question.output(&messages, tokens_max, code).await?;
    if whole::why_cut(&answer).is_some() {
        return Ok(None);
    }
    let Some(code) = reply::first(&answer.text) else { return Ok(None) };
    let edit = Edit::Definition { name: None, code: &code, hints: item.hints() };
    Ok(edit::apply(path, text, &edit).ok().map(|applied| applied.text))
}
