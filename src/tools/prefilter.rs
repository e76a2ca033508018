//! Retrieves the few tools of a catalogue that a step may need, by words, embeddings and kinds of values.

use std::collections::HashSet;

use crate::base::Cancel;
use crate::embed::{EmbedError, Embedder};
use crate::tools::adapter::{self, Adapter};
use crate::tools::features::{self, Features, Lexicon, Seen};
use crate::tools::head;
use crate::tools::spec::ToolSpec;
use crate::tools::value_kinds;
use crate::tools::words;

/// One place in this many of a selection is filled by cosine alone.
const BY_MEANING: usize = 5;
/// Bytes of a step that are read; the rest is ignored.
const STEP_MAX_BYTES: usize = 8 << 10;

/// The retriever: the terms and embeddings of a catalogue, computed once.
#[derive(Clone, Debug)]
pub struct Prefilter {
    lexicon: Lexicon,
    /// Names of the tools, which [`Prefilter::without_values`] keeps.
    names: HashSet<String>,
    vectors: Option<Vectors>,
    /// Was applied to `vectors` and has to be applied to steps.
    adapter: Option<Adapter>,
}

/// One vector per tool, concatenated: of its whole text, and of its description's first sentence.
#[derive(Clone, Debug)]
struct Vectors {
    whole: Vec<f32>,
    opening: Vec<f32>,
}

/// A tool ranked for a step. Scores are log-likelihoods in nats, up to a constant per step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// Index into the specs the prefilter was built from.
    pub index: usize,
    pub score: f32,
    /// Cosine of step and tool; 0 without vectors.
    pub dense: f32,
    /// Log-odds that the step needs this tool if it is the best one; infinite (unknown) without vectors.
    pub fits: f32,
}

/// The two texts embedded for a tool: `name: description` with the name as words, and the description's first sentence.
pub fn texts_for_embedding(spec: &ToolSpec) -> [String; 2] {
    let (title, is_name) = features::titled(spec);
    let name = if is_name { words::parts(&spec.name) } else { title };
    let whole = format!("{}: {}", name.join(" "), spec.description);
    [whole, features::opening(&spec.description).to_owned()]
}

impl Prefilter {
    /// Embeds the tools with `embedder`; without one, selection uses words alone.
    pub fn embedded(specs: &[ToolSpec], embedder: Option<&Embedder>, cancel: &Cancel) -> Result<Prefilter, EmbedError> {
        let texts: Vec<String> = specs.iter().flat_map(texts_for_embedding).collect();
        let Some(embedder) = embedder else { return Ok(Prefilter::new(specs, None)) };
        let adapter = Adapter::of(&embedder.embed_one(adapter::PROBE)?);
        let mut vectors = embedder.embed(&texts, cancel)?;
        if let Some(adapter) = &adapter {
            vectors.iter_mut().for_each(|vector| *vector = adapter.tool(vector));
        }
        Ok(Prefilter { adapter, ..Prefilter::new(specs, Some(vectors)) })
    }

    /// `vectors`: two per tool, in the order of [`texts_for_embedding`]; ignored when there are not two for each.
    pub fn new(specs: &[ToolSpec], vectors: Option<Vec<Vec<f32>>>) -> Prefilter {
        let vectors = vectors.filter(|all| all.len() == 2 * specs.len() && !all.is_empty()).map(|all| Vectors {
            whole: all.iter().step_by(2).flatten().copied().collect(),
            opening: all.iter().skip(1).step_by(2).flatten().copied().collect(),
        });
        let names = specs.iter().map(|spec| spec.name.clone()).collect();
        Prefilter { lexicon: Lexicon::new(specs), names, vectors, adapter: None }
    }

    /// The step as it should be embedded: paths and identifiers replaced, names of tools kept.
    pub fn without_values(&self, step: &str) -> String {
        value_kinds::without_values(step, |name| self.names.contains(name))
    }

    /// The features of `step` with each tool. `step_vector`: the step's unit vector.
    pub fn features(&self, step: &str, step_vector: Option<&[f32]>) -> Vec<Features> {
        let step = &step[..step.floor_char_boundary(STEP_MAX_BYTES)];
        let adapted = step_vector.map(|step| self.adapter.as_ref().map_or(step.to_vec(), |adapter| adapter.step(step)));
        let step_vector = adapted.as_deref();
        let cosines = |of: fn(&Vectors) -> &[f32]| match (&self.vectors, step_vector) {
            (Some(vectors), Some(step)) => kernels::cosine(step, of(vectors)),
            _ => Vec::new(),
        };
        let (dense, opening_dense) = (cosines(|all| &all.whole), cosines(|all| &all.opening));
        let plain = &self.without_values(step);
        self.lexicon.features(&Seen { step, plain, dense: &dense, opening_dense: &opening_dense })
    }

    /// The best `k` tools, the best first. `step_vector` is the step's unit vector.
    pub fn select(&self, step: &str, step_vector: Option<&[f32]>, k: usize) -> Vec<Ranked> {
        let rows = self.features(step, step_vector);
        let has_vectors = self.vectors.is_some() && step_vector.is_some();
        let mut ranked: Vec<Ranked> = rows
            .iter()
            .enumerate()
            .map(|(index, row)| {
                let fits = if has_vectors { head::fits(row, rows.len()) } else { f32::INFINITY };
                Ranked { index, score: head::score(row), dense: row[features::DENSE], fits }
            })
            .collect();
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
        self.offered(ranked, k)
    }

    /// The first `k` of `ranked`, but the last `k / BY_MEANING` places go to the highest cosines: where words mislead,
    /// the right tool is often among those (recall on a development suite rose from 97 to 99 of 100).
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Catalog;
    use serde_json::json;

    /// Tools of a smart home, unlike any built-in tool.
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
        let ranked = Prefilter::new(&specs, None).select(step, None, 3);
        assert_eq!(specs[ranked[0].index].name, expected, "{step}: {ranked:?}");
        assert_eq!(ranked.len(), 3);
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
    fn a_vector_can_decide() {
        let specs = house();
        let axis = |at: usize| (0..specs.len()).map(|i| f32::from(u8::from(i == at))).collect::<Vec<f32>>();
        let filter = Prefilter::new(&specs, Some((0..specs.len()).flat_map(|at| [axis(at), axis(at)]).collect()));
        let first = |vector: Option<&[f32]>| filter.select("do it", vector, 1)[0].index;
        assert_eq!(first(Some(&axis(4))), 4);
        assert_eq!(first(None), 0);
    }

    #[test]
    fn tools_for_files_are_found_by_words_alone() {
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
        ] {
            let best = filter.select(step, None, 1)[0].index;
            assert_eq!(catalog.specs()[best].name, expected, "{step}");
        }
    }

    #[test]
    fn an_empty_catalogue_an_empty_step_and_a_huge_step_are_accepted() {
        assert_eq!(Prefilter::new(&[], None).select("read", None, 15), []);
        let specs = house();
        assert_eq!(Prefilter::new(&specs, None).select("", None, 99).len(), specs.len());
        Prefilter::new(&specs, None).select(&"oven ".repeat(300_000), None, 1);
    }
}
