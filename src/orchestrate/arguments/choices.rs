//! Chooses among allowed values by the words of a step, and truth values by what is said.

use serde_json::Value;

use super::said::Said;
use super::{places, wants};
use crate::tools::spec::Parameter;

/// Words that mean the same in lists of allowed values.
const SYNONYMS: &[&[&str]] = &[
    &["done", "completed", "complete", "finished", "closed", "resolved"],
    &["pending", "open", "todo", "unfinished", "incomplete"],
    &["high", "urgent", "important", "critical", "top"],
    &["low", "minor", "unimportant"],
    &["medium", "normal", "moderate"],
    &["asc", "ascending", "oldest", "smallest", "increasing"],
    &["desc", "descending", "newest", "latest", "largest", "decreasing"],
    &["delete", "remove", "erase"],
    &["create", "add", "new", "insert"],
    &["update", "change", "modify", "edit"],
    &["file", "files"],
    &["dir", "directory", "folder", "folders", "directories"],
    &["celsius", "centigrade", "metric", "c"],
    &["fahrenheit", "imperial", "f"],
    &["daily", "day"],
    &["weekly", "week"],
    &["monthly", "month"],
    &["yearly", "annual", "year"],
    &["image", "photo", "picture", "images", "photos", "pictures"],
];

fn same(choice: &str, said: &str) -> bool {
    choice == said || SYNONYMS.iter().any(|group| group.contains(&choice) && group.contains(&said))
}

/// The allowed value that the step names, if exactly one is named best.
pub(super) fn pick(said: &Said, choices: &[Value]) -> Option<Value> {
    let spoken: Vec<String> = said
        .tokens
        .iter()
        .flat_map(|token| {
            token.text.to_lowercase().split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect::<Vec<_>>()
        })
        .filter(|word| !word.is_empty())
        .collect();
    let mut best: Vec<(usize, &Value)> = Vec::new();
    for choice in choices {
        let shown = choice.as_str().map_or_else(|| choice.to_string(), str::to_owned);
        let exact: Vec<String> = places::parts(&shown);
        let lower = shown.to_lowercase();
        let all = !exact.is_empty()
            && exact
                .iter()
                .all(|word| spoken.iter().any(|one| one == word || one.trim_end_matches('s') == word.as_str()));
        let direct = spoken.contains(&lower) && lower.len() > 1 || all && exact.iter().any(|word| word.len() > 1);
        let alike = spoken.iter().any(|one| same(&lower, one));
        match () {
            () if direct => best.push((2 + exact.len(), choice)),
            () if alike => best.push((1, choice)),
            () => {}
        }
    }
    let top = best.iter().map(|(score, _)| *score).max()?;
    let mut winners = best.iter().filter(|(score, _)| *score == top);
    winners.next().map(|(_, value)| (*value).clone()).filter(|_| winners.next().is_none())
}

/// Values that a description lists: `Filter: pending, completed, overdue` or `(file, dir, symlink)`.
pub(super) fn listed(description: &str) -> Vec<Value> {
    let inner = match (description.find('('), description.rfind(')')) {
        (Some(open), Some(close)) if open < close => &description[open + 1..close],
        _ => description.split_once(':').map_or("", |(_, list)| list),
    };
    let words: Vec<&str> = inner
        .split([',', '|'])
        .map(|one| one.trim().trim_start_matches("or ").trim().trim_matches(['\'', '"', '`', '.']))
        .collect();
    let plain = |word: &&str| {
        !word.is_empty() && word.len() <= 20 && word.chars().all(|c| c.is_alphanumeric() || "_-+".contains(c))
    };
    let fine: Vec<&&str> = words.iter().filter(|word| plain(word)).collect();
    if fine.len() < 2 || fine.len() + 1 < words.len() {
        Vec::new()
    } else {
        fine.into_iter().map(|word| Value::from(*word)).collect()
    }
}

/// The truth value that the step says: `recursively`, `without headers`, `turn it off`.
pub(super) fn flag(said: &Said, parameter: &Parameter) -> Option<bool> {
    let words = wants::name_words(parameter.name);
    let tokens: Vec<String> = said.tokens.iter().map(|token| token.low.clone()).collect();
    let switch = words.iter().any(|word| {
        matches!(
            word.as_str(),
            "enable"
                | "enabled"
                | "on"
                | "active"
                | "state"
                | "mute"
                | "muted"
                | "off"
                | "disable"
                | "disabled"
                | "toggle"
                | "value"
        )
    });
    if switch || parameter.required {
        let has = |list: &[&str]| tokens.iter().any(|word| list.contains(&word.as_str()));
        let negative = words.iter().any(|word| matches!(word.as_str(), "disable" | "disabled" | "off"));
        let off = has(&["off", "disable", "deactivate", "unmute", "stop"]);
        let on = has(&["on", "enable", "activate", "mute", "start"]);
        if off || on {
            return Some(off == negative);
        }
    }
    const EMPTY: &[&str] = &[
        "is", "include", "with", "use", "should", "enable", "allow", "do", "has", "only", "show", "all", "file",
        "create",
    ];
    let telling: Vec<&String> = words.iter().filter(|word| !EMPTY.contains(&word.as_str())).collect();
    let near = |word: &str, one: &str| {
        one.len() > 3
            && word.len() > 3
            && (one.starts_with(word)
                || word.starts_with(one)
                || one.len() > 5
                    && word.len() > 5
                    && one[..].chars().zip(word.chars()).take_while(|(a, b)| a == b).count() >= 6)
    };
    let at = tokens.iter().position(|one| telling.iter().any(|word| near(word, one)))?;
    let every = telling.iter().all(|word| tokens.iter().any(|one| near(word, one)));
    let denied = (at.saturating_sub(3)..at).any(|i| {
        matches!(tokens[i].as_str(), "no" | "not" | "without" | "don't" | "never" | "non" | "skip" | "exclude")
    });
    every.then_some(!denied)
}
