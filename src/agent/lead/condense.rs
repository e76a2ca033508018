//! Has the model condense its own conversation before it outgrows the context; code adds what was
//! changed, what was run and what is open.

use crate::agent::player::{Player, Query};
use crate::agent::toolkit::TurnError;
use crate::agent::whole;
use crate::engine::slot::Reuse;
use crate::models::dialect::{Chat, Message};
use crate::tools::call::Tier;

use super::offer::Offer;
use super::{Lead, ending, room};

const PROMPT: &str = include_str!("../prompts/condense.md");

impl Lead<'_> {
    /// Condenses the conversation if it is about to outgrow the context.
    pub(super) async fn make_room(&mut self) -> Result<(), TurnError> {
        if counted(&self.model, &self.offer, &self.messages) <= self.budget.full {
            return Ok(());
        }
        let notes = self.notes().await?;
        let by = if notes.is_some() { "by the model's own notes" } else { "by leaving out its oldest results" };
        let done = self.so_far(notes.as_deref());
        let (model, offer) = (self.model.clone(), self.offer.clone());
        let count = |messages: &[Message]| counted(&model, &offer, messages);
        let limits = room::Limits::of(&self.budget, &count);
        if notes.is_some() {
            room::leave_rounds(&mut self.messages, &mut self.request_at, &done, &limits);
        }
        room::make(&mut self.messages, &mut self.request_at, &done, &limits);
        self.scene.host.notice(&format!("this turn's conversation outgrew the model's context and was condensed {by}"));
        Ok(())
    }

    /// The text that replaces the dropped rounds for the model.
    fn so_far(&self, notes: Option<&str>) -> String {
        let done = ending::done(self.evidence);
        let done = if done.is_empty() { "nothing was changed or run".to_owned() } else { done.join("\n") };
        let open = self.checklist.text();
        let notes = notes.map_or(String::new(), |notes| format!("\nYour notes:\n{}", notes.trim()));
        format!("{done}\n{}{notes}", open.trim_end()).trim_end().to_owned()
    }

    /// The model's notes on the rounds so far; `None` if there are too few rounds, or if the notes
    /// are unusable.
    async fn notes(&self) -> Result<Option<String>, TurnError> {
        if room::rounds(&self.messages, self.request_at) <= self.budget.rounds_kept {
            return Ok(None);
        }
        let mut messages = self.messages.clone();
        let question = Message::user(PROMPT.replace("{tokens}", &self.budget.summary.to_string()).trim());
        let spare = 2 * self.model.count(&question.content) + self.budget.summary;
        messages.push(question);
        // The newest results may need more space than is available.
        let (model, tools) = (&self.model, &self.offer.texts);
        let count = |messages: &[Message]| counted(model, &self.offer, messages);
        let most = self.budget.context.saturating_sub(spare);
        room::shorten(
            &mut messages,
            self.request_at,
            &room::Limits { full: most, condensed: most, ..room::Limits::of(&self.budget, &count) },
        );
        let toolkit = self.scene.toolkit;
        let chat = Chat { tools, thinks: toolkit.switch(model), ..Chat::from(messages.as_slice()) };
        let query = Query {
            sampling: toolkit.manner(model),
            reuse: Reuse::Continue,
            repeats: true,
            hands_over: true,
            ..Query::of(chat, self.budget.summary)
        };
        let output = toolkit.ask(model, query, "condensing", self.scene.host).await?;
        let calls = !output.calls.is_empty() || !output.read(&self.offer.known, Tier::Strict).calls.is_empty();
        Ok(whole::usable(&output).filter(|_| !calls))
    }
}

/// The number of tokens in a prompt with these messages and the offered tools.
fn counted(model: &Player, offer: &Offer, messages: &[Message]) -> usize {
    model.count_chat(Chat { messages, tools: &offer.texts, ..Chat::default() })
}
