//! Handles keys and pastes: in the open list, the open question or the input.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::approve::Answer;
use super::event::{Edited, Effect};
use super::keys::{self, Action, KEYS};
use super::popup::{Choice, Kind, Popup};
use super::state::Screen;
use super::view;
use crate::app::Back;
use crate::protocol::Decision;
use crate::ui::cli::chat::line::{COMMANDS, Work};
use crate::ui::cli::chat::work::Attached;

impl Screen {
    pub fn typed(&mut self, key: KeyEvent) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        match keys::action(&key) {
            Action::Interrupt => return self.interrupt(),
            Action::Redraw => return vec![Effect::Redraw],
            Action::Fold => {
                self.transcript.fold();
                return Vec::new();
            }
            _ => self.armed_at = None,
        }
        if self.question.is_some() {
            return self.answered(&key);
        }
        match self.in_list(&key) {
            Some(effects) => effects,
            None => self.in_input(key),
        }
    }

    pub fn pasted(&mut self, text: &str) {
        if let Some(question) = self.question.as_mut().filter(|question| !question.proposal.wanted().is_empty()) {
            question.paste(text);
            return;
        }
        match self.popup.as_mut().filter(|popup| popup.takes_letters()) {
            Some(popup) => {
                let query = popup.query.clone() + text.lines().next().unwrap_or_default();
                popup.find(&query);
            }
            None => {
                if let Err(why) = self.input.paste(text) {
                    self.note(&why);
                }
            }
        }
    }

    fn answered(&mut self, key: &KeyEvent) -> Vec<Effect> {
        let now = self.ticks;
        let room = view::areas(self).preview;
        let (theme, width, height) = (self.theme, usize::from(room.width), usize::from(room.height));
        let Some(question) = &mut self.question else { return Vec::new() };
        if !question.proposal.wanted().is_empty() {
            let decided = question.write(key, now);
            if matches!(key.code, KeyCode::Char(_)) {
                question.typed(now);
            }
            return decided.map(|decision| self.decide(decision)).unwrap_or_default();
        }
        let answer = question.answer(key, now);
        if matches!(key.code, KeyCode::Char(_)) {
            question.typed(now);
        }
        match answer {
            // A change that is not visible is not approved.
            Answer::Decided(Decision::Approve | Decision::Always) if height == 0 => {}
            Answer::Decided(decision) => return self.decide(decision),
            Answer::Edit => return vec![Effect::Edit { what: Edited::Arguments, text: question.arguments() }],
            Answer::Scroll(lines) => {
                let total = question.preview(width, theme).len();
                question.scroll(lines, total, height);
            }
            Answer::None => {}
        }
        Vec::new()
    }

    /// Handles a key for the open list; `None` if no list is open, or if the key is for the input.
    fn in_list(&mut self, key: &KeyEvent) -> Option<Vec<Effect>> {
        let popup = self.popup.as_mut()?;
        match keys::action(key) {
            Action::Escape => self.popup = None,
            Action::Up => popup.select(-1),
            Action::Down => popup.select(1),
            action @ (Action::Submit | Action::Complete) => {
                let Some(choice) = popup.chosen().cloned() else {
                    // Nothing matches the typed text, so it is sent unchanged.
                    let in_input = !popup.takes_letters();
                    self.popup = None;
                    return (!in_input).then(Vec::new);
                };
                let kind = popup.kind;
                self.popup = None;
                return Some(self.chosen(kind, &choice, action == Action::Submit));
            }
            _ if popup.takes_letters() => {
                let mut query = popup.query.clone();
                match key.code {
                    KeyCode::Char(letter) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
                        query.push(letter);
                    }
                    KeyCode::Backspace => {
                        query.pop();
                    }
                    _ => return Some(Vec::new()),
                }
                popup.find(&query);
            }
            _ => return None,
        }
        Some(Vec::new())
    }

    /// Applies the chosen entry; `sends` if it was chosen with Enter.
    fn chosen(&mut self, kind: Kind, choice: &Choice, sends: bool) -> Vec<Effect> {
        match kind {
            Kind::Files => self.input.complete(&choice.value),
            Kind::History => match self.history.find(&choice.value) {
                Some(draft) => self.input.recall(draft),
                None => self.input.set(&choice.value),
            },
            Kind::Commands => {
                self.input.set(&choice.value);
                // A command that takes a name ends in a space and waits for the name.
                if sends && !choice.value.ends_with(' ') {
                    return self.submit();
                }
            }
            Kind::Checkpoints => {
                let back = Back { to: Some(choice.value.clone()), foreign: None };
                return self.enqueue(format!("/rewind {}", choice.value), Work::Back(back), Attached::default());
            }
        }
        Vec::new()
    }

    fn in_input(&mut self, key: KeyEvent) -> Vec<Effect> {
        let page = isize::try_from(view::areas(self).transcript.height.saturating_sub(1).max(1)).unwrap_or(1);
        match keys::action(&key) {
            Action::Submit => return self.submit(),
            Action::Newline => self.input.newline(),
            Action::Escape => return self.cancel().unwrap_or_default(),
            Action::End if self.input.is_empty() => {
                return self.enqueue("/exit".to_owned(), Work::Exit, Attached::default());
            }
            Action::History => self.popup = Some(Popup::new(Kind::History, self.history.choices())),
            Action::Editor => {
                return vec![Effect::Edit { what: Edited::Input, text: self.input.draft().whole() }];
            }
            Action::PageUp => self.scroll(page),
            Action::PageDown => self.scroll(-page),
            Action::Up if self.input.on_first_line() => {
                if let Some(older) = self.history.older(self.input.draft()) {
                    self.input.recall(older);
                }
            }
            Action::Down if self.input.on_last_line() => {
                if let Some(newer) = self.history.newer() {
                    self.input.recall(newer);
                }
            }
            _ => {
                self.input.key(key);
                return self.suggest();
            }
        }
        Vec::new()
    }

    /// Opens, narrows or closes the list for the current input.
    fn suggest(&mut self) -> Vec<Effect> {
        let text = self.input.shown();
        let command = text.starts_with('/') && !text.contains(char::is_whitespace);
        let mention = self.input.mention();
        let (kind, query) = match (command, mention) {
            (true, _) => (Kind::Commands, text),
            (false, Some(letters)) => (Kind::Files, letters),
            (false, None) => {
                self.popup = None;
                return Vec::new();
            }
        };
        let mut effects = Vec::new();
        if self.popup.as_ref().is_none_or(|popup| popup.kind != kind) {
            self.popup = Some(match kind {
                Kind::Commands => Popup::new(kind, commands()),
                _ => {
                    effects.push(Effect::ListFiles);
                    Popup::waiting(kind)
                }
            });
            if std::mem::take(&mut self.asks_servers) {
                effects.push(Effect::ListOffers);
            }
            if kind == Kind::Commands {
                self.add_offers();
            }
        }
        if let Some(popup) = &mut self.popup {
            popup.find(&query);
        }
        effects
    }
}

/// The commands of a conversation and of the screen.
fn commands() -> Vec<Choice> {
    let own = KEYS.into_iter().filter(|(key, _)| key.len() > 1 && key.starts_with('/'));
    let choice = |(form, what): (&str, &str)| {
        let (name, takes) = form.split_once(' ').map_or((form, false), |(name, _)| (name, true));
        let value = if takes { format!("{name} ") } else { name.to_owned() };
        Choice { label: form.to_owned(), detail: what.to_owned(), value }
    };
    // `/rewind` alone opens the list of checkpoints, so it needs no name.
    let value_of = |choice: Choice| match choice.value.as_str() {
        "/rewind " => Choice { value: "/rewind".to_owned(), ..choice },
        _ => choice,
    };
    COMMANDS.into_iter().chain(own).map(choice).map(value_of).collect()
}
