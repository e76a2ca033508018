//! Finds the few lines of the evidence that answer a question, so that a small model and a reader
//! see only those.

use std::collections::{HashMap, HashSet};

use crate::base::CallId;
use crate::edit::is_comment;
use crate::tools::outcome::Finding;

use super::evidence::Entry;
use crate::language::words;

/// Number of lines shown below a matching comment: the code that it documents.
const LINES_AFTER: usize = 2;
/// Lines that score no more than this share of the best score are left out.
const NEAR_BEST: f32 = 0.5;
/// Phrases that ask for a number; they raise the score of lines with a digit.
const ASKS_NUMBER: &[&str] =
    &["how many", "how much", "number of", "what value", "default", "limit", "size", "timeout", "port", "version"];

/// A line that helps to answer, and the call that found it.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub call: CallId,
    pub finding: Finding,
    pub score: f32,
}

impl Line {
    /// `src/a.rs:14`, or the path alone.
    pub fn place(&self) -> String {
        match self.finding.line {
            Some(number) => format!("{}:{number}", self.finding.path),
            None => self.finding.path.clone(),
        }
    }
}

/// The lines with their locations, as shown to models.
pub fn listed(lines: &[Line]) -> Vec<String> {
    lines.iter().map(|line| format!("{}: {}", line.place(), line.finding.text.trim())).collect()
}

/// At most `lines_max` lines of the results of `entries` that match `question`, best first, with
/// the code below a matching comment. Empty if no line shares a word with the question.
pub fn lines(entries: &[Entry], question: &str, lines_max: usize) -> Vec<Line> {
    let wanted = words::content(question);
    let mut all: Vec<Line> = entries
        .iter()
        .filter(|entry| entry.succeeded() && entry.outcome.changed.is_empty())
        .flat_map(|entry| {
            entry.outcome.findings.iter().map(|finding| Line { call: entry.id, finding: finding.clone(), score: 0.0 })
        })
        .collect();
    score(&mut all, &wanted, question);
    let best = all.iter().map(|line| line.score).fold(0.0, f32::max);
    let mut order: Vec<usize> = (0..all.len()).filter(|&place| all[place].score > best * NEAR_BEST).collect();
    order.sort_by(|&a, &b| all[b].score.total_cmp(&all[a].score).then(a.cmp(&b)));
    let mut taken: HashSet<usize> = HashSet::new();
    let mut chosen = Vec::new();
    for place in order {
        for near in neighbours(&all, place) {
            if chosen.len() < lines_max && taken.insert(near) {
                chosen.push(all[near].clone());
            }
        }
        if chosen.len() >= lines_max {
            break;
        }
    }
    chosen
}

/// The index of the line and, if it is a comment, of the lines directly below it in that file.
fn neighbours(all: &[Line], place: usize) -> impl Iterator<Item = usize> + '_ {
    let hit = &all[place].finding;
    let after = if is_comment(&hit.text) { LINES_AFTER } else { 0 };
    (place..all.len()).take(after + 1).filter(move |&near| {
        let other = &all[near].finding;
        other.path == hit.path
            && match (other.line, hit.line) {
                // A second read of the same file starts again at a lower line.
                (Some(other), Some(hit)) => other >= hit && other - hit <= LINES_AFTER,
                _ => near == place,
            }
    })
}

/// Scores each line by the words it shares with the question; rarer words count more.
fn score(all: &mut [Line], wanted: &HashSet<String>, question: &str) {
    let found: Vec<HashSet<String>> = all.iter().map(|line| words::content(&line.finding.text)).collect();
    let mut frequency: HashMap<&str, usize> = HashMap::new();
    for line in &found {
        for word in wanted.iter().filter(|word| line.contains(*word)) {
            *frequency.entry(word).or_default() += 1;
        }
    }
    let total = all.len() as f32;
    let low = question.to_lowercase();
    let number = ASKS_NUMBER.iter().any(|words| low.contains(words));
    for (line, found) in all.iter_mut().zip(&found) {
        let hit = wanted.iter().filter(|word| found.contains(*word));
        line.score = hit.map(|word| (1.0 + total / (1.0 + frequency[word.as_str()] as f32)).ln()).sum();
        if line.score > 0.0 && number && line.finding.text.chars().any(|letter| letter.is_ascii_digit()) {
            line.score *= 1.3;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::agent::evidence::Evidence;
    use crate::base::StepId;
    use crate::tools::Outcome;

    fn evidence(text: &str) -> Evidence {
        let findings = text.lines().enumerate().map(|(n, line)| Finding::at("a.rs", n + 1, line)).collect();
        let mut evidence = Evidence::default();
        let outcome = Outcome::ok(text).with_findings(findings);
        evidence.add(Entry::looked(StepId(1), "read_file", Map::new(), outcome));
        evidence
    }

    fn check(text: &str, question: &str, expected: &[usize]) {
        let lines = lines(evidence(text).entries(), question, 3);
        assert_eq!(lines.iter().filter_map(|line| line.finding.line).collect::<Vec<_>>(), expected, "{question}");
    }

    #[test]
    fn the_line_below_a_matching_comment_comes_with_it() {
        check(
            "use std::fs;\n/// How often a fetch is tried.\npub const TRIES: u32 = 5;\nfn other() {}\n",
            "how often is a fetch tried?",
            &[2, 3, 4],
        );
    }

    #[test]
    fn identifiers_answer_plain_words_and_other_lines_nothing() {
        check("let port = 80;\nlet maxRetries = 7;\n", "how many retries are there at most?", &[2]);
        check("let port = 80;\n", "who wrote the poem?", &[]);
    }
}
