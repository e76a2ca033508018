//! Finds the heading that a text names: `in the install section`, `under "Usage"`, `add it to Limits`.

use crate::language::words;

use super::Text;

impl Text {
    /// The index of the heading that the text names.
    pub fn heading_among(&self, titles: &[&str]) -> Option<usize> {
        let all: Vec<Vec<String>> = titles.iter().map(|title| words::split(title)).collect();
        let called = all.iter().position(|title| !title.is_empty() && self.is_heading(title));
        called.or_else(|| titles.iter().position(|title| is_pointed_at(title, self.raw())))
    }

    /// Whether the text calls these words a heading: `the section on limits`, `under "Usage"`.
    fn is_heading(&self, title: &[String]) -> bool {
        const BEFORE: &[&str] = &["section", "under", "heading", "abschnitt", "unter", "sección", "rubrique"];
        const BETWEEN: &[&str] =
            &["the", "dem", "der", "la", "on", "about", "for", "of", "called", "named", "zu", "über", "sobre"];
        const AFTER: &[&str] = &["section", "heading", "abschnitt", "part", "chapter"];
        let said = self.words();
        said.windows(title.len()).enumerate().any(|(at, window)| {
            let near = |at: Option<usize>, list: &[&str]| {
                at.and_then(|at| said.get(at)).is_some_and(|word| list.contains(&word.as_str()))
            };
            let between = |at: usize| near(at.checked_sub(1), BETWEEN);
            let lead = (0..at).rev().take_while(|&word| between(word + 1)).count();
            window == title && (near(at.checked_sub(1 + lead), BEFORE) || near(Some(at + title.len()), AFTER))
        })
    }
}

/// Whether `task` contains the heading exactly as written, after a preposition: `add it to Limits`,
/// `put it under Known faults`.
fn is_pointed_at(title: &str, task: &str) -> bool {
    const BEFORE: &[&str] = &["to", "in", "into", "under", "below", "unter", "zu", "sous", "en"];
    let title = title.trim_matches(|mark: char| mark == '#' || mark.is_whitespace());
    let is_behind = |at: usize| {
        let before = task[..at].trim_end_matches(['"', '\'', '`', '“', '«', ' ']);
        let word = before.rsplit(char::is_whitespace).next().unwrap_or_default().to_lowercase();
        let is_whole =
            !task[at + title.len()..].starts_with(|next: char| next.is_alphanumeric() || "_-./".contains(next));
        is_whole && BEFORE.contains(&word.as_str())
    };
    title.starts_with(char::is_uppercase) && task.match_indices(title).any(|(at, _)| is_behind(at))
}
