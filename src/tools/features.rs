//! Computes the ranking features of a step and each tool, and weighs them to decide which tool fits
//! best and whether any fits at all.

use std::collections::{HashMap, HashSet};

use crate::index::words;
use crate::tools::spec::{ToolSpec, without_server};
use crate::tools::thesaurus::{self, terms};

/// Parameters of BM25 (Robertson and Zaragoza, 2009) at their usual values.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// Weights of a word by field. A name is short and chosen carefully, so its words count most.
const NAME_WEIGHT: f32 = 2.0;
const DESCRIPTION_WEIGHT: f32 = 1.0;
const PARAMETER_WEIGHT: f32 = 0.5;
const SERVER_WEIGHT: f32 = 0.5;
/// Number of terms taken from the first sentence of a description, which states the purpose of the
/// tool.
const OPENING_TERMS: usize = 8;

pub const COUNT: usize = 9;
/// Name, weight in [`score`] and weight in [`fits`] of each feature.
///
/// The weights of `score` were set by hand, then adjusted in small steps as long as the combined
/// result for the suites of six catalogues improved. Those of `fits` are rounded from a logistic
/// regression on requests with one to four tools, half of which included the right one; they
/// classify 88 of 100 correctly (`scripts/train-head presence` prints such weights).
pub const FEATURES: [(&str, f32, f32); COUNT] = [
    ("bm25_z", 0.5, 0.0),
    ("dense_z", 1.0, 0.0),
    ("dense", 0.0, 9.0),
    ("name_said", 1.3, 0.0),
    ("name_verb", 0.5, 0.0),
    ("opening_said", 0.5, 3.0),
    ("opening_verb", 0.3, 0.0),
    ("parameters_said", 1.0, 0.0),
    ("question_mutates", -0.3, 0.0),
];
const FITS_BIAS: f32 = -4.2;
/// Index of the feature `dense`, the cosine of step and tool.
pub const DENSE: usize = 2;

/// The features of one step and one tool, see [`FEATURES`].
pub type Features = [f32; COUNT];

/// Log-likelihood that a tool is the right one, up to a constant that depends on the step.
pub fn score(row: &Features) -> f32 {
    row.iter().zip(FEATURES).map(|(value, (_, weight, _))| value * weight).sum()
}

/// Log-odds that the best of `tools` tools is the one that the step needs, before its arguments are
/// known. `ln(tools)` is the prior that the right tool is among them: even odds for one tool, near
/// certainty for many.
pub fn fits(row: &Features, tools: usize) -> f32 {
    let weighed: f32 = row.iter().zip(FEATURES).map(|(value, (_, _, weight))| value * weight).sum();
    weighed + FITS_BIAS + (tools.max(1) as f32).ln()
}

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
    parameters: Vec<String>,
    mutates: bool,
}

impl Lexicon {
    pub fn new(specs: &[ToolSpec]) -> Lexicon {
        let tools: Vec<Tool> = specs.iter().map(Tool::new).collect();
        let mut in_tools = HashMap::new();
        for term in tools.iter().flat_map(|tool| tool.counts.keys()) {
            *in_tools.entry(term.clone()).or_insert(0) += 1;
        }
        let mean_length = tools.iter().map(|tool| tool.length).sum::<f32>() / tools.len().max(1) as f32;
        Lexicon { tools, in_tools, mean_length }
    }

    /// One row per tool, in the order of the catalogue. `dense` has the cosine of the step to every
    /// tool, or is empty without an embedder.
    pub fn features(&self, step: &str, dense: &[f32]) -> Vec<Features> {
        let query = thesaurus::expand(step);
        let verb = terms(step).first().map(|verb| thesaurus::expand(verb)).unwrap_or_default();
        let asks = is_question(step);
        let bm25_z = z_scores(self.tools.iter().map(|tool| self.bm25(tool, &query)).collect());
        let dense_z = z_scores(dense.to_vec());
        let at = |values: &[f32], index: usize| values.get(index).copied().unwrap_or(0.0);
        let row = |(index, tool): (usize, &Tool)| {
            let verb_of = |terms: &[String]| terms.first().and_then(|one| verb.get(one)).copied().unwrap_or(0.0);
            [
                bm25_z[index],
                at(&dense_z, index),
                at(dense, index),
                share_found(&tool.name, &query, |_| 1.0),
                verb_of(&tool.name),
                share_found(&tool.opening, &query, |term| self.rarity(term)),
                verb_of(&tool.opening),
                share_found(&tool.parameters, &query, |_| 1.0),
                f32::from(u8::from(asks && tool.mutates)),
            ]
        };
        self.tools.iter().enumerate().map(row).collect()
    }

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
}

impl Tool {
    fn new(spec: &ToolSpec) -> Tool {
        let mut counts: HashMap<String, f32> = HashMap::new();
        let mut add = |text: &str, weight: f32| {
            for term in terms(text) {
                *counts.entry(term).or_insert(0.0) += weight;
            }
        };
        add(&spec.name, NAME_WEIGHT);
        add(&spec.description, DESCRIPTION_WEIGHT);
        // Each word of the server's name counts once, because it reveals little about the
        // individual tool.
        let server: HashSet<String> = words::parts(&spec.server).into_iter().collect();
        server.iter().for_each(|word| add(word, SERVER_WEIGHT));
        let parameters = spec.parameters();
        parameters.iter().for_each(|parameter| add(parameter.name, PARAMETER_WEIGHT));
        let mut weights: Vec<f32> = counts.values().copied().collect();
        weights.sort_by(f32::total_cmp);
        let mut opening = terms(opening(&spec.description));
        opening.truncate(OPENING_TERMS);
        Tool {
            counts,
            length: weights.into_iter().sum(),
            name: terms(without_server(&spec.name)),
            opening,
            parameters: parameters.iter().flat_map(|parameter| terms(parameter.name)).collect(),
            mutates: spec.mutates,
        }
    }
}

/// The first sentence of a description, which states the purpose of the tool.
fn opening(description: &str) -> &str {
    let line = description.trim_start().lines().next().unwrap_or("");
    match line.match_indices(['.', ';']).find(|(at, _)| line[at + 1..].starts_with(' ')) {
        Some((end, _)) => &line[..end],
        None => line,
    }
}

/// The weighted share of `terms` that occur in the step; synonyms count partly.
fn share_found(terms: &[String], query: &HashMap<String, f32>, weight: impl Fn(&str) -> f32) -> f32 {
    let total: f32 = terms.iter().map(|term| weight(term)).sum();
    let found: f32 = terms.iter().map(|term| query.get(term).copied().unwrap_or(0.0) * weight(term)).sum();
    if total > 0.0 { found / total } else { 0.0 }
}

/// Distances from the mean in standard deviations; all 0 if all values are equal.
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
