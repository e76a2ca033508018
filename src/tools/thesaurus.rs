//! A small English thesaurus for work with computers: expands requests with synonyms that a tool
//! may use instead.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::base::is_listed;
use crate::index::words;

/// Polite and filler words, which reveal nothing about a tool.
const POLITE: &str = "please want need like let also here not no";
/// Weight of a synonym; the word itself has weight 1.
const SYNONYM_WEIGHT: f32 = 0.5;

/// Groups of synonyms. A word may be in several groups.
const GROUPS: &[&str] = &[
    // Verbs.
    "show display view see print get list open present",
    "list enumerate browse",
    "get fetch retrieve obtain read load check",
    "read open view",
    "find search locate look seek discover query lookup",
    "create make new add generate build produce start",
    "write save store put record",
    "add insert append include attach",
    "delete remove erase discard trash drop clear",
    "change update edit modify alter adjust set fix replace",
    "rename name title call",
    "move transfer relocate put",
    "copy duplicate clone replicate backup",
    "send deliver forward share mail",
    "reply respond answer",
    "draft compose prepare write",
    "compare diff difference differ contrast",
    "merge combine join unite concatenate",
    "split divide separate",
    "convert transform translate turn change export",
    "extract pull parse grab",
    "run execute launch start invoke perform",
    "stop end cancel kill terminate abort quit",
    "schedule plan book arrange",
    "summarize summary overview digest brief recap",
    "count number total many sum",
    "calculate compute sum total",
    "organize sort arrange order group categorize classify",
    "detect identify recognize spot find",
    "mask hide redact conceal obscure anonymize",
    "monitor watch observe track follow",
    "lock protect encrypt secure password",
    "verify validate check confirm test",
    "record capture log",
    "fill complete enter populate",
    "download fetch pull",
    "compress zip archive pack",
    "play listen hear",
    // Nouns.
    "file document doc",
    "folder directory dir",
    "picture image photo screenshot scan",
    "mail email message inbox",
    "meeting event appointment calendar call",
    "task todo reminder item",
    "note memo",
    "contact person people",
    "table spreadsheet sheet grid",
    "word docx",
    "slide presentation deck",
    "text content contents words",
    "audio recording sound voice speech",
    "speech transcript transcribe transcription dictation",
    "video movie clip",
    "web page site internet url link online",
    "computer system machine device",
    "memory ram",
    "disk storage drive space",
    "process program app application",
    "screen display desktop",
    "metadata size date property detail info information",
    "error bug problem issue failure",
    "person name contact",
    "money amount price cost expense bill invoice receipt",
    "secret password credential key token",
    "history log audit trail past",
    "activity action usage",
    "private personal sensitive confidential",
    "free available open slot",
    "copy backup",
    "latest recent last newest",
];

/// The stems of a text's words, without function words and polite words.
pub fn terms(text: &str) -> Vec<String> {
    let tells = |word: &String| !words::is_stop_word(word) && !is_listed(POLITE, word);
    words::parts(text).into_iter().filter(tells).map(|word| words::root(&word)).collect()
}

/// The terms of a step with weight 1, and their synonyms with [`SYNONYM_WEIGHT`].
pub fn expand(step: &str) -> HashMap<String, f32> {
    let mut query = HashMap::new();
    let mut add = |term: String, weight: f32| {
        let best = query.entry(term).or_insert(0.0f32);
        *best = best.max(weight);
    };
    for term in terms(step) {
        synonyms(&term).iter().for_each(|synonym| add(synonym.clone(), SYNONYM_WEIGHT));
        add(term, 1.0);
    }
    query
}

fn synonyms(term: &str) -> &'static [String] {
    static BY_TERM: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
        let mut all: HashMap<String, Vec<String>> = HashMap::new();
        for group in GROUPS {
            let stems: Vec<String> = group.split(' ').map(words::root).collect();
            for term in &stems {
                all.entry(term.clone()).or_default().extend(stems.iter().filter(|other| *other != term).cloned());
            }
        }
        all
    });
    BY_TERM.get(term).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_counts_in_full_and_a_synonym_in_part() {
        for (step, term, expected) in [
            ("show it", "show", 1.0),
            ("showing it", "list", SYNONYM_WEIGHT),
            ("show it", "email", 0.0),
            ("", "list", 0.0),
        ] {
            assert_eq!(expand(step).get(&words::root(term)).copied().unwrap_or(0.0), expected, "{step}: {term}");
        }
    }
}
