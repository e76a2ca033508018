//! Chooses the few tools of a catalogue that a step may need: words, meaning, and what the step shows on its face.

use std::collections::{HashMap, HashSet};

use crate::base::Cancel;
use crate::embed::{EmbedError, Embedder};
use crate::tools::clues::{self, Clues};
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
/// Penalty for an executing tool when the step asks something.
const QUESTION_WEIGHT: f32 = 0.3;
/// Penalty for a tool whose name says more than a sibling's (`index_read_file` beside `read_file`) when the step says none of that.
const QUALIFIED_WEIGHT: f32 = 0.5;
/// Penalty for a tool that takes nothing when the step names something to take.
const TAKES_NOTHING_WEIGHT: f32 = 0.5;
/// Weight of the planner's hint at a server, in standard deviations.
const HINT_WEIGHT: f32 = 1.0;
/// One place of so many in a selection goes by meaning alone.
const BY_MEANING: usize = 5;
/// Longest step that is looked at; more is not a step.
const STEP_MAX_BYTES: usize = 8 << 10;

/// A catalogue, indexed once.
#[derive(Clone, Debug)]
pub struct Prefilter {
    tools: Vec<Tool>,
    names: HashSet<String>,
    /// In how many tools a term occurs.
    in_tools: HashMap<String, usize>,
    mean_length: f32,
    /// One vector a tool, one after another.
    vectors: Option<Vec<f32>>,
}

#[derive(Clone, Debug)]
struct Tool {
    /// Weighted count of each term.
    counts: HashMap<String, f32>,
    length: f32,
    /// Stems of the name without its server.
    name: Vec<String>,
    server: String,
    /// Stems of the name that a sibling's name lacks whose words all stand in this one.
    qualifiers: Vec<String>,
    mutates: bool,
    takes_nothing: bool,
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
fn text_for_embedding(spec: &ToolSpec) -> String {
    format!("{}: {}", words::parts(&spec.name).join(" "), spec.description)
}

impl Prefilter {
    /// With the vectors that `embedder` makes of the tools; without one selection goes by words.
    pub fn embedded(specs: &[ToolSpec], embedder: Option<&Embedder>, cancel: &Cancel) -> Result<Prefilter, EmbedError> {
        let texts: Vec<String> = specs.iter().map(text_for_embedding).collect();
        let vectors = embedder.map(|embedder| embedder.embed(&texts, cancel)).transpose()?;
        Ok(Prefilter::new(specs, vectors))
    }

    /// `vectors`: one unit vector a tool, of [`text_for_embedding`]; ignored when there is not one for each.
    pub fn new(specs: &[ToolSpec], vectors: Option<Vec<Vec<f32>>>) -> Prefilter {
        let mut tools: Vec<Tool> = specs.iter().map(Tool::new).collect();
        qualify(&mut tools);
        let mut in_tools = HashMap::new();
        for term in tools.iter().flat_map(|tool| tool.counts.keys()) {
            *in_tools.entry(term.clone()).or_insert(0) += 1;
        }
        let mean_length = tools.iter().map(|tool| tool.length).sum::<f32>() / tools.len().max(1) as f32;
        let vectors = vectors.filter(|all| all.len() == tools.len() && !all.is_empty()).map(|all| all.concat());
        let names = specs.iter().map(|spec| spec.name.clone()).collect();
        Prefilter { mean_length, in_tools, vectors, tools, names }
    }

    /// The step as it should be embedded: without the values it names, but with names of tools.
    pub fn without_values(&self, step: &str) -> String {
        clues::without_values(step, |name| self.names.contains(name))
    }

    /// The best `k` tools. `step_vector` is the step's unit vector, `hint` a server's name.
    pub fn select(&self, step: &str, step_vector: Option<&[f32]>, hint: Option<&str>, k: usize) -> Selection {
        let step = &step[..step.floor_char_boundary(STEP_MAX_BYTES)];
        let seen = Clues::of_step(step);
        let step = &self.without_values(step);
        let query = thesaurus::expand(step);
        let verb = words::terms(step).into_iter().next().map(|verb| thesaurus::expand(&verb)).unwrap_or_default();
        let asks = is_question(step);
        let bm25 = z_scores(self.tools.iter().map(|tool| self.bm25(tool, &query)).collect());
        let said = |tool: &Tool| {
            let verb = tool.name.first().and_then(|first| verb.get(first)).copied().unwrap_or(0.0);
            let executes = if asks && tool.mutates { QUESTION_WEIGHT } else { 0.0 };
            let qualified = !tool.qualifiers.is_empty() && tool.qualifiers.iter().all(|word| !query.contains_key(word));
            let unasked = if qualified { QUALIFIED_WEIGHT } else { 0.0 };
            let useless = if tool.takes_nothing && seen != Clues::default() { TAKES_NOTHING_WEIGHT } else { 0.0 };
            let shown = NAME_SAID_WEIGHT * tool.name_said(&query) + VERB_WEIGHT * verb + tool.clues.agreement(&seen);
            shown - executes - unasked - useless
        };
        let lexical: Vec<f32> = self.tools.iter().zip(bm25).map(|(tool, bm25)| bm25 + said(tool)).collect();
        let dense = match (&self.vectors, step_vector) {
            (Some(vectors), Some(step)) => z_scores(kernels::cosine(step, vectors)),
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
        Selection { ranked: self.offered(ranked, k), margin }
    }

    /// The first `k`, of which the last few places go to the nearest in meaning: where words mislead, the right tool is
    /// often among those (on a development suite recall rose from 97 to 99 of 100).
    fn offered(&self, mut ranked: Vec<Ranked>, k: usize) -> Vec<Ranked> {
        if self.vectors.is_none() || ranked.len() <= k {
            ranked.truncate(k);
            return ranked;
        }
        let mut rest = ranked.split_off(k - k / BY_MEANING);
        rest.sort_by(|a, b| b.dense.total_cmp(&a.dense));
        ranked.extend(rest.into_iter().take(k / BY_MEANING));
        ranked
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
        Tool {
            counts,
            length,
            name: words::terms(own),
            server: spec.server.clone(),
            qualifiers: Vec::new(),
            mutates: spec.mutates,
            takes_nothing: spec.parameters().is_empty(),
            clues: Clues::of_tool(spec),
        }
    }

    /// Share of the name's words that the step says, in its own words or others of the same meaning.
    fn name_said(&self, query: &HashMap<String, f32>) -> f32 {
        let said: f32 = self.name.iter().map(|word| query.get(word).copied().unwrap_or(0.0)).sum();
        said / self.name.len().max(1) as f32
    }
}

/// Finds the tools whose name is a sibling's and more.
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

/// The step begins as questions and requests to look at something do.
fn is_question(step: &str) -> bool {
    const BEGINNINGS: &[&str] = &[
        "what", "which", "who", "whose", "when", "where", "why", "how", "is", "are", "was", "were", "does", "did",
        "has", "have", "show", "list", "find", "search", "tell", "look", "see", "display", "check", "count",
    ];
    words::parts(step).first().is_some_and(|first| BEGINNINGS.contains(&first.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Catalog;
    use serde_json::json;

    /// A house of the future, as far from the built-in tools as can be.
    fn house() -> Vec<ToolSpec> {
        let tool =
            |name: &str, description: &str, server: &str, mutates: bool, parameters: serde_json::Value| ToolSpec {
                name: name.to_owned(),
                description: description.to_owned(),
                server: server.to_owned(),
                server_description: String::new(),
                mutates,
                destructive: false,
                parameters: json!({ "type": "object", "properties": parameters }),
            };
        let text = json!({ "type": "string" });
        vec![
            tool(
                "kitchen.startOven",
                "Heat the oven to a temperature",
                "kitchen",
                true,
                json!({ "degrees": { "type": "integer" } }),
            ),
            tool("kitchen.get_recipe", "Recipe of a dish, step by step", "kitchen", false, json!({ "dish": text })),
            tool(
                "garden.water_plants",
                "Water the plants for some minutes",
                "garden",
                true,
                json!({ "minutes": { "type": "integer" } }),
            ),
            tool("garden.list_plants", "All plants with their place", "garden", false, json!({})),
            tool("photos.merge_albums", "Combine several albums into one", "photos", true, json!({ "albums": text })),
            tool("photos.import", "Import from disk", "photos", true, json!({ "path": text })),
            tool("door.unlock", "Open the front door", "door", true, json!({})),
        ]
    }

    fn check(step: &str, expected: &str) {
        let specs = house();
        let selection = Prefilter::new(&specs, None).select(step, None, None, 3);
        assert_eq!(specs[selection.ranked[0].index].name, expected, "{step}: {selection:?}");
        assert!(selection.ranked.len() == 3 && selection.margin >= 0.0);
    }

    #[test]
    fn words_of_name_and_description_choose() {
        check("Heat the oven to 180 degrees", "kitchen.startOven");
        check("Give me a recipe for soup", "kitchen.get_recipe");
        check("Unlock the door", "door.unlock");
    }

    #[test]
    fn words_of_the_same_meaning_choose() {
        check("Join my two albums", "photos.merge_albums");
        check("Show the plants", "garden.list_plants");
        check("Which plants are there?", "garden.list_plants");
    }

    #[test]
    fn a_hint_and_a_vector_can_decide() {
        let specs = house();
        let axis = |at: usize| (0..specs.len()).map(|i| f32::from(u8::from(i == at))).collect::<Vec<f32>>();
        let filter = Prefilter::new(&specs, Some((0..specs.len()).map(axis).collect()));
        let first = |vector: Option<&[f32]>, hint| filter.select("do it", vector, hint, 1).ranked[0].index;
        assert_eq!(first(Some(&axis(4)), None), 4);
        assert_eq!(first(None, Some("door")), 6);
        assert_eq!(first(None, None), 0);
    }

    #[test]
    fn every_builtin_tool_is_found_by_a_plain_request() {
        let catalog = Catalog::builtin();
        let filter = Prefilter::new(catalog.specs(), None);
        for (step, expected) in [
            ("Read src/lib.rs", "read_file"),
            ("List the files in the docs folder", "list_dir"),
            ("Find all files named *.toml", "find_files"),
            ("Search for the word retry in the sources", "search_text"),
            ("Create a new file notes.txt with the content hello", "write_file"),
            ("In src/retry.ts change the default number of attempts from 5 to 3", "replace_in_file"),
            ("Run cargo test", "run_command"),
            ("Show me src/todo.ts", "read_file"),
            ("Open config.toml", "read_file"),
            ("Find the file main.ts", "find_files"),
            ("Who calls Store.save?", "index_callers"),
            ("What does src/todo.ts import?", "index_imports"),
            ("Show the outline of src/store.ts", "index_read_file"),
            ("What is the impact of changing Store.save?", "index_impact"),
            ("In which place is the class Store defined?", "index_find_files"),
            ("Code that holds the identifiers retry and attempts", "index_search_text"),
        ] {
            let best = filter.select(step, None, None, 1).ranked[0].index;
            assert_eq!(catalog.specs()[best].name, expected, "{step}");
        }
    }

    #[test]
    fn nothing_to_choose_from_and_nothing_to_go_by_are_no_trouble() {
        assert_eq!(Prefilter::new(&[], None).select("read", None, None, 15).ranked, []);
        let specs = house();
        let selection = Prefilter::new(&specs, None).select("", None, None, 99);
        assert_eq!(selection.ranked.len(), specs.len());
        Prefilter::new(&specs, None).select(&"oven ".repeat(300_000), None, None, 1);
    }
}
