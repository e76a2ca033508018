//! Computes the ranking features of a step and a tool: word overlap, cosines and kinds of values, one number each.

use std::collections::{HashMap, HashSet};

use crate::tools::spec::{ToolSpec, without_server};
use crate::tools::thesaurus;
use crate::tools::value_kinds::ValueKinds;
use crate::tools::words;

/// Parameters of BM25 (Robertson and Zaragoza, 2009) at their usual values.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// Weight of a word by its field. A name is short and chosen with care, so its words count most.
const NAME_WEIGHT: f32 = 2.0;
const DESCRIPTION_WEIGHT: f32 = 1.0;
const PARAMETER_WEIGHT: f32 = 0.5;
const SERVER_WEIGHT: f32 = 0.5;
/// Terms taken from the first sentence of a description, which says what the tool does.
const OPENING_TERMS: usize = 8;
/// Words of that sentence that replace a meaningless name: a verb and its object.
const TITLE_TERMS: usize = 3;

/// Names of the features, in the order of a row of [`Lexicon::features`].
pub const NAMES: [&str; COUNT] = [
    "bm25_z",
    "dense_z",
    "opening_dense_z",
    "dense",
    "opening_dense",
    "name_said",
    "name_verb",
    "opening_said",
    "opening_verb",
    "covered",
    "server_said",
    "parameters_said",
    "path",
    "date",
    "email",
    "url",
    "number",
    "quoted",
    "shown_unused",
    "needed_unshown",
    "question_mutates",
    "unasked_qualifier",
    "takes_nothing",
];
pub const COUNT: usize = 23;
/// Index of the feature `dense`, the cosine of step and tool.
pub const DENSE: usize = 3;

/// The features of one step and one tool, see [`NAMES`].
pub type Features = [f32; COUNT];

/// The terms of a catalogue's tools with their statistics, computed once.
#[derive(Clone, Debug)]
pub struct Lexicon {
    tools: Vec<Tool>,
    /// Document frequency: the number of tools in which each term occurs.
    in_tools: HashMap<String, usize>,
    mean_length: f32,
}

#[derive(Clone, Debug)]
struct Tool {
    /// Weighted count of each term.
    counts: HashMap<String, f32>,
    /// Sum of `counts`: the document length of BM25.
    length: f32,
    /// Stems of the name without its server.
    name: Vec<String>,
    /// Stems of the description's beginning.
    opening: Vec<String>,
    server: Vec<String>,
    parameters: Vec<String>,
    /// Stems that this name adds to another tool's shorter name: `delet` of `list_deleted_files` beside `list_files`.
    qualifiers: Vec<String>,
    mutates: bool,
    takes_nothing: bool,
    /// Kinds of values that its parameters take, and that its required parameters take.
    clues: ValueKinds,
    needs: ValueKinds,
}

/// A step with its cosines to every tool.
pub struct Seen<'s> {
    /// As written; kinds of values are detected in it.
    pub step: &'s str,
    /// With paths and identifiers replaced, see [`crate::tools::value_kinds::without_values`].
    pub plain: &'s str,
    /// Cosines to every tool's whole text and to every description's first sentence; empty without an embedder.
    pub dense: &'s [f32],
    pub opening_dense: &'s [f32],
}

/// The part of a description that says what the tool does: its first sentence.
pub fn opening(description: &str) -> &str {
    let line = description.trim_start().lines().next().unwrap_or("");
    match line.match_indices(['.', ';']).find(|(at, _)| line[at + 1..].starts_with(' ')) {
        Some((end, _)) => &line[..end],
        None => line,
    }
}

impl Lexicon {
    pub fn new(specs: &[ToolSpec]) -> Lexicon {
        let mut tools: Vec<Tool> = specs.iter().map(Tool::new).collect();
        qualify(&mut tools);
        let mut in_tools = HashMap::new();
        for term in tools.iter().flat_map(|tool| tool.counts.keys()) {
            *in_tools.entry(term.clone()).or_insert(0) += 1;
        }
        let mean_length = tools.iter().map(|tool| tool.length).sum::<f32>() / tools.len().max(1) as f32;
        Lexicon { tools, in_tools, mean_length }
    }

    /// One row per tool, in the order of the catalogue.
    pub fn features(&self, seen: &Seen) -> Vec<Features> {
        let query = thesaurus::expand(seen.plain);
        let step_terms: Vec<String> = words::terms(seen.plain);
        let verb = step_terms.first().map(|verb| thesaurus::expand(verb)).unwrap_or_default();
        let shown = ValueKinds::of_step(seen.step);
        let asks = is_question(seen.plain);
        let bm25 = z_scores(self.tools.iter().map(|tool| self.bm25(tool, &query)).collect());
        let at = |values: &[f32], index: usize| values.get(index).copied().unwrap_or(0.0);
        let (dense_z, opening_z) = (z_scores(seen.dense.to_vec()), z_scores(seen.opening_dense.to_vec()));
        let flag = |yes: bool| f32::from(u8::from(yes));
        let row = |(index, tool): (usize, &Tool)| {
            let verb_of = |terms: &[String]| terms.first().and_then(|one| verb.get(one)).copied().unwrap_or(0.0);
            let both = tool.clues.both(&shown);
            let unasked = !tool.qualifiers.is_empty() && tool.qualifiers.iter().all(|word| !query.contains_key(word));
            let mut row = [0.0; COUNT];
            row[0] = bm25[index];
            row[1] = at(&dense_z, index);
            row[2] = at(&opening_z, index);
            row[3] = at(seen.dense, index);
            row[4] = at(seen.opening_dense, index);
            row[5] = share_found(&tool.name, &query);
            row[6] = verb_of(&tool.name);
            row[7] = self.share_found_by_rarity(&tool.opening, &query);
            row[8] = verb_of(&tool.opening);
            row[9] = self.covered(&step_terms, tool);
            row[10] = share_found(&tool.server, &query);
            row[11] = share_found(&tool.parameters, &query);
            row[12..18].copy_from_slice(&both.map(flag));
            row[18] = shown.without(&tool.clues);
            row[19] = tool.needs.without(&shown);
            row[20] = flag(asks && tool.mutates);
            row[21] = flag(unasked);
            row[22] = flag(tool.takes_nothing && shown != ValueKinds::default());
            row
        };
        self.tools.iter().enumerate().map(row).collect()
    }

    /// Inverse document frequency of a term, as in BM25.
    fn rarity(&self, term: &str) -> f32 {
        let total = self.tools.len() as f32;
        let in_tools = self.in_tools.get(term).copied().unwrap_or(0) as f32;
        (1.0 + (total - in_tools + 0.5) / (in_tools + 0.5)).ln()
    }

    fn bm25(&self, tool: &Tool, query: &HashMap<String, f32>) -> f32 {
        let weigh = |(term, weight): (&String, &f32)| {
            let count = tool.counts.get(term).copied().unwrap_or(0.0);
            let norm = K1 * (1.0 - B + B * tool.length / self.mean_length.max(1.0));
            weight * self.rarity(term) * count * (K1 + 1.0) / (count + norm)
        };
        // Sorted, so that sums do not depend on the order of a hash map.
        let mut parts: Vec<f32> = query.iter().map(weigh).collect();
        parts.sort_by(f32::total_cmp);
        parts.into_iter().sum()
    }

    /// As [`share_found`], each term weighted by its rarity.
    fn share_found_by_rarity(&self, terms: &[String], query: &HashMap<String, f32>) -> f32 {
        let total: f32 = terms.iter().map(|term| self.rarity(term)).sum();
        let found: f32 = terms.iter().map(|term| query.get(term).copied().unwrap_or(0.0) * self.rarity(term)).sum();
        if total > 0.0 { found / total } else { 0.0 }
    }

    /// Share of the step's terms that occur in the tool's text, synonyms counting in part.
    fn covered(&self, step_terms: &[String], tool: &Tool) -> f32 {
        let best_match = |term: &String| {
            let near = thesaurus::expand(term);
            near.iter()
                .filter(|(word, _)| tool.counts.contains_key(*word))
                .map(|(_, weight)| *weight)
                .fold(0.0, f32::max)
        };
        step_terms.iter().map(best_match).sum::<f32>() / step_terms.len().max(1) as f32
    }
}

impl Tool {
    fn new(spec: &ToolSpec) -> Tool {
        let mut counts: HashMap<String, f32> = HashMap::new();
        let mut add = |text: &str, weight: f32| {
            for term in words::terms(text) {
                *counts.entry(term).or_insert(0.0) += weight;
            }
        };
        add(&spec.name, NAME_WEIGHT);
        let (title, is_name) = titled(spec);
        if !is_name {
            add(&title.join(" "), NAME_WEIGHT);
        }
        add(&spec.description, DESCRIPTION_WEIGHT);
        // Each word of the server's name counts once, because it says little about a single tool.
        let server: HashSet<String> = words::parts(&spec.server).into_iter().collect();
        add(&server.into_iter().collect::<Vec<_>>().join(" "), SERVER_WEIGHT);
        for parameter in spec.parameters() {
            add(parameter.name, PARAMETER_WEIGHT);
        }
        let mut weights: Vec<f32> = counts.values().copied().collect();
        weights.sort_by(f32::total_cmp);
        let length = weights.into_iter().sum();
        let mut opening = words::terms(opening(&spec.description));
        opening.truncate(OPENING_TERMS);
        Tool {
            counts,
            length,
            name: words::terms(&title.join(" ")),
            opening,
            server: words::terms(&spec.server),
            parameters: spec.parameters().iter().flat_map(|parameter| words::terms(parameter.name)).collect(),
            qualifiers: Vec::new(),
            mutates: spec.mutates,
            takes_nothing: spec.parameters().is_empty(),
            clues: ValueKinds::of_tool(spec, false),
            needs: ValueKinds::of_tool(spec, true),
        }
    }
}

/// The words that title a tool, and whether they are its name: the words of the name without the server or, when it has
/// no meaningful ones (`t1.f7`), the first words of the description.
pub fn titled(spec: &ToolSpec) -> (Vec<String>, bool) {
    let name = words::parts(without_server(&spec.name));
    if has_words(spec, &name) {
        return (name, true);
    }
    let first = words::parts(opening(&spec.description)).into_iter().filter(|word| !words::is_filler(word));
    let first: Vec<String> = first.take(TITLE_TERMS).collect();
    (if first.is_empty() { name } else { first }, false)
}

/// Whether a tool's name has meaningful words; `t1.f7` and `tool_3` have none.
fn has_words(spec: &ToolSpec, name: &[String]) -> bool {
    const OF_ANY_TOOL: [&str; 8] = ["tool", "function", "func", "method", "action", "command", "call", "api"];
    let is_word = |part: &String| part.len() > 2 && part.chars().all(char::is_alphabetic);
    // The cheap test first: the other one expands the whole description.
    name.iter().any(|part| is_word(part) && !OF_ANY_TOOL.contains(&part.as_str())) || name_tells(spec)
}

/// Whether a word of the tool's name, or a synonym of it, also occurs in its description.
fn name_tells(spec: &ToolSpec) -> bool {
    let described = thesaurus::expand(&spec.description);
    words::terms(without_server(&spec.name)).iter().any(|word| described.contains_key(word))
}

/// Share of `terms` that occur in the step, synonyms counting in part.
fn share_found(terms: &[String], query: &HashMap<String, f32>) -> f32 {
    terms.iter().map(|word| query.get(word).copied().unwrap_or(0.0)).sum::<f32>() / terms.len().max(1) as f32
}

/// Sets the `qualifiers` of every tool.
fn qualify(tools: &mut [Tool]) {
    let names: Vec<Vec<String>> = tools.iter().map(|tool| tool.name.clone()).collect();
    for tool in tools {
        let within = |name: &&Vec<String>| {
            name.len() > 1 && name.len() < tool.name.len() && name.iter().all(|word| tool.name.contains(word))
        };
        if let Some(sibling) = names.iter().filter(within).max_by_key(|name| name.len()) {
            tool.qualifiers = tool.name.iter().filter(|word| !sibling.contains(word)).cloned().collect();
        }
    }
}

/// Distance from the mean in standard deviations; all 0 when the values are all equal.
fn z_scores(values: Vec<f32>) -> Vec<f32> {
    let count = values.len().max(1) as f32;
    let mean = values.iter().sum::<f32>() / count;
    let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / count).sqrt();
    values.into_iter().map(|value| if deviation > 1e-6 { (value - mean) / deviation } else { 0.0 }).collect()
}

/// Whether the step begins like a question or a request to look something up.
fn is_question(step: &str) -> bool {
    const BEGINNINGS: &[&str] = &[
        "what", "which", "who", "whose", "when", "where", "why", "how", "is", "are", "was", "were", "does", "did",
        "has", "have", "show", "list", "find", "search", "tell", "look", "see", "display", "check", "count",
    ];
    words::parts(step).first().is_some_and(|first| BEGINNINGS.contains(&first.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(name: &str, description: &str, expected: &str) {
        let spec: ToolSpec = serde_json::from_value(json!({
            "name": name, "description": description, "server": "s", "mutates": false, "parameters": { "type": "object" }
        }))
        .unwrap();
        assert_eq!(titled(&spec).0.join(" "), expected, "{name}: {description}");
    }

    #[test]
    fn a_meaningless_name_is_replaced_by_the_description() {
        check("files.read_file", "Reads a file.", "read file");
        check("files.getDoc", "Load the document with this name", "get doc");
        check("t1.f7", "Search for the files of a folder by name. Slow.", "search files folder");
        check("t1.f7", "", "f7");
        check("tool_7", "Search for the files of a folder by name. Slow.", "search files folder");
        check("index_dependents", "List the files that import a file", "index dependents");
    }
}
