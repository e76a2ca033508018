//! Chooses the few tools of a catalogue that a step may need: words, meaning, and what the step shows on its face.

use std::collections::{HashMap, HashSet};

use crate::tools::clues::Clues;
use crate::tools::spec::ToolSpec;
use crate::tools::thesaurus;
use crate::tools::words;

/// Weights of BM25 (Robertson and Zaragoza, 2009), as usually set.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// How often a word of each field counts. A name is short and chosen with care; parameter descriptions repeat themselves.
const NAME_WEIGHT: f32 = 2.0;
const DESCRIPTION_WEIGHT: f32 = 1.0;
const PARAMETER_WEIGHT: f32 = 0.5;
const SERVER_WEIGHT: f32 = 0.5;
/// Weight of the share of a tool's name that the step says, and of a step whose first word is the name's first.
const NAME_SAID_WEIGHT: f32 = 1.0;
const VERB_WEIGHT: f32 = 0.5;
/// Weight of the planner's hint at a server, in standard deviations.
const HINT_WEIGHT: f32 = 1.0;
/// Longest step that is looked at; more is not a step.
const STEP_MAX_BYTES: usize = 8 << 10;

/// A catalogue, indexed once.
#[derive(Clone, Debug)]
pub struct Prefilter {
    tools: Vec<Tool>,
    /// In how many tools a term occurs.
    in_tools: HashMap<String, usize>,
    mean_length: f32,
    vectors: Option<Vec<Vec<f32>>>,
}

#[derive(Clone, Debug)]
struct Tool {
    /// Weighted count of each term.
    counts: HashMap<String, f32>,
    length: f32,
    /// Stems of the name without its server.
    name: Vec<String>,
    server: String,
    clues: Clues,
}

/// A tool for a step. Scores are standard deviations above the mean of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// Into the specs the filter was built from.
    pub index: usize,
    pub score: f32,
    pub lexical: f32,
    /// 0 without vectors.
    pub dense: f32,
}

/// The tools offered for a step, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    pub ranked: Vec<Ranked>,
    /// How far the first lies before the second, in standard deviations; infinite when it is alone.
    pub margin: f32,
}

/// What is embedded of a tool: `name: description`, the name as words.
pub fn text_for_embedding(spec: &ToolSpec) -> String {
    format!("{}: {}", words::parts(&spec.name).join(" "), spec.description)
}

impl Prefilter {
    /// `vectors`: one unit vector a tool, of [`text_for_embedding`]; ignored when there is not one for each.
    pub fn new(specs: &[ToolSpec], vectors: Option<Vec<Vec<f32>>>) -> Prefilter {
        let tools: Vec<Tool> = specs.iter().map(Tool::new).collect();
        let mut in_tools = HashMap::new();
        for term in tools.iter().flat_map(|tool| tool.counts.keys()) {
            *in_tools.entry(term.clone()).or_insert(0) += 1;
        }
        let mean_length = tools.iter().map(|tool| tool.length).sum::<f32>() / tools.len().max(1) as f32;
        Prefilter { mean_length, in_tools, vectors: vectors.filter(|all| all.len() == tools.len()), tools }
    }

    /// The best `k` tools. `step_vector` is the step's unit vector, `hint` a server's name.
    pub fn select(&self, step: &str, step_vector: Option<&[f32]>, hint: Option<&str>, k: usize) -> Selection {
        let step = &step[..step.floor_char_boundary(STEP_MAX_BYTES)];
        let query = thesaurus::expand(step);
        let seen = Clues::of_step(step);
        let verb = words::terms(step).into_iter().next().map(|verb| thesaurus::expand(&verb)).unwrap_or_default();
        let bm25 = z_scores(self.tools.iter().map(|tool| self.bm25(tool, &query)).collect());
        let said = |tool: &Tool| {
            let verb = tool.name.first().and_then(|first| verb.get(first)).copied().unwrap_or(0.0);
            NAME_SAID_WEIGHT * tool.name_said(&query) + VERB_WEIGHT * verb + tool.clues.agreement(&seen)
        };
        let lexical: Vec<f32> = self.tools.iter().zip(bm25).map(|(tool, bm25)| bm25 + said(tool)).collect();
        let dense = match (&self.vectors, step_vector) {
            (Some(vectors), Some(step)) => z_scores(vectors.iter().map(|tool| similarity(tool, step)).collect()),
            _ => vec![0.0; self.tools.len()],
        };
        let hinted = |tool: &Tool| hint.is_some_and(|hint| !hint.is_empty() && tool.server.eq_ignore_ascii_case(hint));
        let mut ranked: Vec<Ranked> = (0..self.tools.len())
            .map(|index| {
                let hint = if hinted(&self.tools[index]) { HINT_WEIGHT } else { 0.0 };
                let (lexical, dense) = (lexical[index], dense[index]);
                Ranked { index, score: lexical + dense + hint, lexical, dense }
            })
            .collect();
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
        let margin = match ranked[..] {
            [first, second, ..] => first.score - second.score,
            _ => f32::INFINITY,
        };
        ranked.truncate(k);
        Selection { ranked, margin }
    }

    fn bm25(&self, tool: &Tool, query: &HashMap<String, f32>) -> f32 {
        let total = self.tools.len() as f32;
        let weigh = |(term, weight): (&String, &f32)| {
            let count = tool.counts.get(term).copied().unwrap_or(0.0);
            let in_tools = self.in_tools.get(term).copied().unwrap_or(0) as f32;
            let rarity = (1.0 + (total - in_tools + 0.5) / (in_tools + 0.5)).ln();
            let norm = K1 * (1.0 - B + B * tool.length / self.mean_length.max(1.0));
            weight * rarity * count * (K1 + 1.0) / (count + norm)
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
            for term in words::terms(text) {
                *counts.entry(term).or_insert(0.0) += weight;
            }
        };
        add(&spec.name, NAME_WEIGHT);
        add(&spec.description, DESCRIPTION_WEIGHT);
        // A server's words say little about one of its tools, however often they are repeated.
        let server: HashSet<String> = words::parts(&spec.server).into_iter().collect();
        add(&server.into_iter().collect::<Vec<_>>().join(" "), SERVER_WEIGHT);
        for parameter in spec.parameters() {
            add(parameter.name, PARAMETER_WEIGHT);
        }
        let mut weights: Vec<f32> = counts.values().copied().collect();
        weights.sort_by(f32::total_cmp);
        let length = weights.into_iter().sum();
        let own = spec.name.rsplit(['.', '/', ':']).next().unwrap_or(&spec.name);
        Tool { counts, length, name: words::terms(own), server: spec.server.clone(), clues: Clues::of_tool(spec) }
    }

    /// Share of the name's words that the step says, in its own words or others of the same meaning.
    fn name_said(&self, query: &HashMap<String, f32>) -> f32 {
        let said: f32 = self.name.iter().map(|word| query.get(word).copied().unwrap_or(0.0)).sum();
        said / self.name.len().max(1) as f32
    }
}

/// Cosine of two unit vectors.
fn similarity(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Distance from the mean in standard deviations; all 0 when the values are all equal.
fn z_scores(values: Vec<f32>) -> Vec<f32> {
    let count = values.len().max(1) as f32;
    let mean = values.iter().sum::<f32>() / count;
    let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / count).sqrt();
    values.into_iter().map(|value| if deviation > 1e-6 { (value - mean) / deviation } else { 0.0 }).collect()
}
