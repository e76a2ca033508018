//! Changes a few lines of a long function: the model names the place and writes only those lines,
//! because a 1.5B model needs a minute for 60 lines.

use std::ops::Range;

use serde_json::Value;

use crate::agent::player::Form;
use crate::agent::toolkit::TurnError;
use crate::context;
use crate::edit::line_of;
use crate::edit::text::{Piece, spliced};
use crate::index::parts::Sort;
use crate::index::{LineRange, stretches};
use crate::models::dialect::Message;

use super::change::{Ask, ask};
use super::files::Files;
use super::items::{Item, What};
use super::{Job, grammar, reply};

/// Maximum length, in lines, of a function that is rewritten completely.
const WHOLE_LINES_MAX: usize = 36;
/// Maximum length, in lines, of a stretch that is rewritten at once.
const STRETCH_LINES_MAX: usize = 12;
/// Maximum number of stretches per change.
const STRETCHES_MAX: usize = 2;

/// The stretches of a long function.
#[derive(Clone)]
pub struct Within {
    path: String,
    name: String,
    /// The current text of the function.
    text: String,
    /// The offset of the function in the file.
    begin: usize,
    stretches: Vec<LineRange>,
    /// Whether the complete function was shown to the model.
    is_shown: bool,
}

impl Within {
    /// `None` for a function that is short enough to be rewritten completely, and for other items.
    pub fn of(item: &Item, files: &Files) -> Option<Within> {
        let What::Change(span) = &item.what else { return None };
        let file = files.text(&item.path);
        let is_long = span.sort == Sort::Function && span.lines.1 - span.lines.0 >= WHOLE_LINES_MAX;
        let text = file.get(span.bytes.clone()).filter(|_| is_long)?;
        let mut stretches = stretches(&item.path, file, span.bytes.clone(), STRETCH_LINES_MAX);
        let is_shown = files.is_shown(&item.path, span.lines);
        if span.lines.1 - span.lines.0 >= context::WHOLE_LINES_MAX {
            // The model cannot change lines that it has not seen.
            let lines = |bytes: &Range<usize>| (line_of(file, bytes.start), line_of(file, bytes.end));
            let is_seen = |one: &LineRange| files.is_shown(&item.path, lines(&one.bytes));
            stretches.retain(is_seen);
        }
        // A repeated title is prefixed with the title before it.
        let titles: Vec<String> = stretches.iter().map(|one| one.title.clone()).collect();
        for at in (1..stretches.len()).rev() {
            if titles.iter().filter(|title| **title == titles[at]).count() > 1 {
                stretches[at].title = format!("{} … {}", titles[at - 1], titles[at]);
            }
        }
        let (path, name, text) = (item.path.clone(), item.name.clone(), text.to_owned());
        (!stretches.is_empty()).then_some(Within { path, name, text, begin: span.bytes.start, stretches, is_shown })
    }

    /// Asks the model for the lines to change.
    fn names(&self, tokens: usize) -> Ask {
        let titles: Vec<String> =
            self.stretches.iter().map(|one| Value::String(one.title.clone()).to_string()).collect();
        let more = STRETCHES_MAX - 1;
        let form = Form::Lark(format!("start: LINE (\"\\n\" LINE){{0,{more}}}\nLINE: {}\n", titles.join(" | ")));
        Ask { form, tokens, seed: None, phase: "finding the lines to change" }
    }

    /// The stretches that an answer names, in the order of the function, without those inside
    /// another stretch.
    fn named(&self, answer: &str) -> Vec<&LineRange> {
        let is_named = |one: &&LineRange| answer.lines().any(|line| line == one.title);
        let mut all: Vec<&LineRange> = self.stretches.iter().filter(is_named).collect();
        all.dedup_by(|inner, outer| inner.bytes.start < outer.bytes.end);
        all
    }

    /// Has the model rewrite lines and returns the changed function, or the reason why an answer is
    /// incomplete; the exchange is appended to `messages`.
    pub async fn write(
        &self,
        job: Job<'_>,
        messages: &mut Vec<Message>,
        purpose: &str,
        seed: Option<usize>,
    ) -> Result<Result<String, String>, TurnError> {
        let name = &self.name;
        let is_short = self.text.lines().count() < context::WHOLE_LINES_MAX;
        let text = if self.is_shown || !is_short { String::new() } else { format!("\n```\n{}\n```", self.text) };
        messages.push(Message::user(format!(
            "{purpose}\n`{name}` is long.{text}\nWhich line of it has to change, or stands right before what is new? Copy that line; a second one only \
             if two places change."
        )));
        let answer = ask(job, messages, Ask { seed, ..self.names(job.limits().line_names) }).await?;
        tracing::debug!(answer.text, "lines");
        let named = self.named(answer.whole_lines());
        messages.push(Message::assistant(answer.text.clone()));
        let mut pieces = Vec::new();
        for stretch in named {
            // The stretch of the first line includes the indentation, which is not part of the function.
            let bytes = stretch.bytes.start.max(self.begin) - self.begin..stretch.bytes.end - self.begin;
            let Some(old) = self.text.get(bytes.clone()) else { continue };
            messages.push(Message::user(format!(
                "Write these lines as they have to become, with what is new before or behind them, and nothing else:\n```\n{old}\n```"
            )));
            let form = Form::Lark(grammar::of_lines(&self.path, &stretch.indent));
            let ask_for = Ask { form, tokens: job.limits().lines, seed, phase: "writing code" };
            let answer = ask(job, messages, ask_for).await?;
            tracing::debug!(answer.text, "written");
            let code = answer.whole().map(|text| reply::first(text).unwrap_or_default());
            messages.push(Message::assistant(answer.text));
            let code = match code {
                Ok(code) => code,
                Err(why) => return Ok(Err(why)),
            };
            let new = if stretch.bytes.start < self.begin { code.trim_start().to_owned() } else { code };
            pieces.push(Piece { range: bytes, new });
        }
        Ok(spliced(&self.text, &pieces).ok_or_else(|| "The lines overlap; name one line.".to_owned()))
    }
}
