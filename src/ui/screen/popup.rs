//! A list to choose from above the input: commands, files, earlier requests, checkpoints.

use std::cmp::Reverse;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// Maximum number of rows offered; a longer query finds others.
const ROWS_MAX: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The query is the command in the input.
    Commands,
    /// The query is the `@` word in the input.
    Files,
    /// The query is typed into the list.
    History,
    /// The query is typed into the list.
    Checkpoints,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    pub label: String,
    pub detail: String,
    /// The text to put into the input, or the name of the checkpoint.
    pub value: String,
}

#[derive(Debug)]
pub struct Popup {
    pub kind: Kind,
    pub query: String,
    /// Whether the choices are still being looked up.
    pub waits: bool,
    all: Vec<Choice>,
    /// Positions in `all`, best first.
    found: Vec<usize>,
    selected: usize,
}

impl Popup {
    pub fn new(kind: Kind, all: Vec<Choice>) -> Popup {
        let mut popup = Popup { kind, query: String::new(), waits: false, all, found: Vec::new(), selected: 0 };
        popup.find("");
        popup
    }

    /// A list whose choices arrive later through [`Popup::fill`].
    pub fn waiting(kind: Kind) -> Popup {
        Popup { waits: true, ..Popup::new(kind, Vec::new()) }
    }

    pub fn fill(&mut self, all: Vec<Choice>) {
        (self.all, self.waits) = (all, false);
        let query = self.query.clone();
        self.find(&query);
    }

    /// Adds choices after the existing ones.
    pub fn add(&mut self, more: impl Iterator<Item = Choice>) {
        self.all.extend(more);
        let query = self.query.clone();
        self.find(&query);
    }

    /// Keeps the choices that match the query, best first.
    pub fn find(&mut self, query: &str) {
        self.query = query.to_owned();
        self.selected = 0;
        self.found = match self.kind {
            Kind::Commands => {
                let begins = |place: &usize| self.all[*place].value.trim_end().starts_with(query);
                (0..self.all.len()).filter(begins).collect()
            }
            _ => self.ranked(query),
        };
    }

    /// Positions of the labels that best contain the letters of the query in order, with gaps; ties
    /// keep their order. For an empty query, the first labels.
    fn ranked(&self, query: &str) -> Vec<usize> {
        let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
        let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
        let mut letters = Vec::new();
        let score = |(place, choice): (usize, &Choice)| {
            let score = pattern.score(Utf32Str::new(&choice.label, &mut letters), &mut matcher)?;
            Some((Reverse(score), place))
        };
        let mut found: Vec<(Reverse<u32>, usize)> = self.all.iter().enumerate().filter_map(score).collect();
        found.sort_unstable();
        found.into_iter().take(ROWS_MAX).map(|(_, place)| place).collect()
    }

    /// Whether letters go into the list's own query.
    pub fn takes_letters(&self) -> bool {
        matches!(self.kind, Kind::History | Kind::Checkpoints)
    }

    /// Moves the selection by `rows`, wrapping around.
    pub fn select(&mut self, rows: isize) {
        let count = self.found.len() as isize;
        if count > 0 {
            self.selected = (self.selected as isize + rows).rem_euclid(count) as usize;
        }
    }

    pub fn chosen(&self) -> Option<&Choice> {
        self.found.get(self.selected).map(|&place| &self.all[place])
    }

    /// The `rows` choices around the selected one, each with whether it is selected.
    pub fn visible(&self, rows: usize) -> impl Iterator<Item = (&Choice, bool)> {
        let from = (self.selected + 1).saturating_sub(rows);
        let places = self.found.iter().enumerate().skip(from).take(rows);
        places.map(|(row, &place)| (&self.all[place], row == self.selected))
    }

    pub fn title(&self) -> String {
        let what = match self.kind {
            Kind::Commands => "commands".to_owned(),
            Kind::Files => "files".to_owned(),
            Kind::History => format!("earlier requests: {}", self.query),
            Kind::Checkpoints => format!("go back to: {}", self.query),
        };
        if self.waits { format!(" {what} … ") } else { format!(" {what} ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(kind: Kind) -> Popup {
        let choice = |name: &&str| Choice { label: name.to_string(), value: name.to_string(), ..Choice::default() };
        Popup::new(kind, ["/load ", "/ps", "/pin "].iter().map(choice).collect())
    }

    #[test]
    fn letters_in_order_find_a_label_and_the_selection_goes_around() {
        let mut popup = list(Kind::Files);
        popup.find("pn");
        assert_eq!(popup.chosen().map(|choice| choice.value.as_str()), Some("/pin "));
        popup.find("");
        popup.select(-1);
        assert_eq!(popup.chosen().map(|choice| choice.value.as_str()), Some("/pin "), "the last one");
        popup.find("xyz");
        assert!(popup.chosen().is_none());
    }

    #[test]
    fn the_selected_row_is_visible() {
        let mut popup = list(Kind::Files);
        popup.select(2);
        let rows: Vec<bool> = popup.visible(2).map(|(_, selected)| selected).collect();
        assert_eq!(rows, [false, true]);
    }
}
