//! Retrieves the few tools of a catalogue that a step may need, by words and embeddings.

use std::collections::HashSet;

use crate::base::Cancel;
use crate::embed::{EmbedError, Embedder, Purpose};
use crate::index::words;
use crate::tools::adapter;
use crate::tools::features::{self, Features, Lexicon};
use crate::tools::spec::ToolSpec;

/// One in this many places in a selection is filled by cosine alone.
const BY_MEANING: usize = 5;
/// Maximum number of bytes read from a step; the rest is ignored.
const STEP_MAX_BYTES: usize = 8 << 10;

/// The retriever: the terms and embeddings of a catalogue, computed once.
#[derive(Clone, Debug)]
pub struct Prefilter {
    lexicon: Lexicon,
    /// Names of the tools, which [`Prefilter::without_values`] leaves in place.
    names: HashSet<String>,
    /// One vector per tool, concatenated.
    vectors: Option<Vec<f32>>,
    /// Whether the adapter was applied to `vectors` and must therefore be applied to steps too.
    adapted: bool,
}

/// A tool ranked for a step. Scores are log-likelihoods in nats, up to a constant per step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// Index into the specs from which the prefilter was built.
    pub index: usize,
    pub score: f32,
    /// Cosine of step and tool; 0 without vectors.
    pub dense: f32,
    /// Log-odds that the step needs this tool, if it is the best one; infinite (unknown) without
    /// vectors.
    pub fits: f32,
}

/// The text that is embedded for a tool: its name as words, and its description.
pub fn text_for_embedding(spec: &ToolSpec) -> String {
    format!("{}: {}", words::parts(&spec.name).join(" "), spec.description)
}

impl Prefilter {
    /// Embeds the tools with `embedder`; without one, selection uses words alone.
    pub fn embedded(specs: &[ToolSpec], embedder: Option<&Embedder>, cancel: &Cancel) -> Result<Prefilter, EmbedError> {
        let Some(embedder) = embedder else { return Ok(Prefilter::new(specs, None)) };
        match Prefilter::with_vectors(specs, embedder, cancel) {
            Err(EmbedError::Away(why)) => {
                tracing::warn!(%why, "tools are found by words only");
                Ok(Prefilter::new(specs, None))
            }
            made => made,
        }
    }

    fn with_vectors(specs: &[ToolSpec], embedder: &Embedder, cancel: &Cancel) -> Result<Prefilter, EmbedError> {
        let texts: Vec<String> = specs.iter().map(text_for_embedding).collect();
        let adapted = adapter::belongs_to(&embedder.embed_one(adapter::PROBE)?);
        let mut vectors = embedder.embed(&texts, Purpose::Document, cancel)?;
        if adapted {
            vectors.iter_mut().for_each(|vector| *vector = adapter::tool(vector));
        }
        Ok(Prefilter { adapted, ..Prefilter::new(specs, Some(vectors)) })
    }

    /// `vectors` has one vector per tool, in the order of `specs`.
    pub fn new(specs: &[ToolSpec], vectors: Option<Vec<Vec<f32>>>) -> Prefilter {
        let names = specs.iter().map(|spec| spec.name.clone()).collect();
        let vectors = vectors.filter(|all| !all.is_empty()).map(|all| all.concat());
        Prefilter { lexicon: Lexicon::new(specs), names, vectors, adapted: false }
    }

    /// The text of the step to embed: each path is replaced by "the file" and each code identifier
    /// by "the name", except names of tools. A concrete name does not show which tool is meant, but
    /// pulls the embedding towards tools with similar words: `hub_cache_dir` towards a tool for
    /// folders.
    pub fn without_values(&self, step: &str) -> String {
        let generalized = |word: &str| {
            let bare = word.trim_matches(|c: char| ",;:!?\"'`()[]".contains(c)).trim_end_matches('.');
            if bare.is_empty() || bare.contains('@') || self.names.contains(bare) {
                word.to_owned()
            } else if is_path(bare) {
                word.replace(bare, "the file")
            } else if is_identifier(bare) {
                word.replace(bare, "the name")
            } else {
                word.to_owned()
            }
        };
        step.split_whitespace().map(generalized).collect::<Vec<_>>().join(" ")
    }

    /// The features of `step` with each tool. `step_vector` is the unit vector of the step.
    pub fn features(&self, step: &str, step_vector: Option<&[f32]>) -> Vec<Features> {
        let step = &step[..step.floor_char_boundary(STEP_MAX_BYTES)];
        let dense = match (&self.vectors, step_vector) {
            (Some(vectors), Some(step)) if self.adapted => kernels::cosine(&adapter::step(step), vectors),
            (Some(vectors), Some(step)) => kernels::cosine(step, vectors),
            _ => Vec::new(),
        };
        self.lexicon.features(&self.without_values(step), &dense)
    }

    /// The best `k` tools, best first. `step_vector` is the unit vector of the step.
    pub fn select(&self, step: &str, step_vector: Option<&[f32]>, k: usize) -> Vec<Ranked> {
        let rows = self.features(step, step_vector);
        let has_vectors = self.vectors.is_some() && step_vector.is_some();
        let mut ranked: Vec<Ranked> = rows
            .iter()
            .enumerate()
            .map(|(index, row)| {
                let fits = if has_vectors { features::fits(row, rows.len()) } else { f32::INFINITY };
                Ranked { index, score: features::score(row), dense: row[features::DENSE], fits }
            })
            .collect();
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
        self.offered(ranked, k)
    }

    /// The first `k` of `ranked`, except that the last `k / BY_MEANING` places go to the highest
    /// cosines: where words mislead, the right tool is often among those (recall on a development
    /// suite rose from 97 to 99 of 100).
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

/// True for `/a/b`, `./a`, `~/a`, `src/main.rs`, `notes.txt`; false for `and/or`, `1.5`, `e.g`.
fn is_path(token: &str) -> bool {
    let starts = ["/", "./", "../", "~/"].iter().any(|start| token.starts_with(start) && token.len() > start.len());
    let ending = token.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty()
            && (1..=5).contains(&end.len())
            && end.bytes().all(|b| b.is_ascii_alphanumeric())
            && end.bytes().any(|b| b.is_ascii_alphabetic())
            && (end.len() > 1 || token.len() > 3)
    });
    starts || ending
}

/// True for `snake_case`, `a::b`, `lowerCamel`; false for plain words and for `PascalCase`, which
/// may be the name of a product.
fn is_identifier(token: &str) -> bool {
    let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.' | '$');
    let joined = token.contains("::") || token.trim_matches('_').contains('_');
    let camel = token.starts_with(|c: char| c.is_ascii_lowercase()) && token.contains(|c: char| c.is_ascii_uppercase());
    token.chars().all(name) && (joined || camel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Catalog;

    #[test]
    fn without_an_embedder_words_choose() {
        let catalog = Catalog::builtin();
        let filter = Prefilter::new(catalog.specs(), None);
        for (step, expected) in [
            ("Read src/lib.rs", "read_file"),
            ("Show me src/todo.ts", "read_file"),
            ("List the files in the docs folder", "list_dir"),
            ("Find all files named *.toml", "find_files"),
            ("Search for the word retry in the sources", "search_text"),
            ("Create a new file notes.txt with the content hello", "write_file"),
            ("In src/retry.ts change the pause in milliseconds from 50 to 30", "replace_in_file"),
            ("Run cargo test", "run_command"),
        ] {
            let best = filter.select(step, None, 3)[0].index;
            assert_eq!(catalog.specs()[best].name, expected, "{step}");
        }
        assert_eq!(filter.select("", None, 99).len(), catalog.specs().len());
        assert_eq!(filter.select(&"oven ".repeat(300_000), None, 1).len(), 1);
        assert_eq!(Prefilter::new(&[], None).select("read", None, 15), []);
    }

    #[test]
    fn a_vector_can_decide() {
        let catalog = Catalog::builtin();
        let count = catalog.specs().len();
        let axis = |at: usize| (0..count).map(|i| f32::from(u8::from(i == at))).collect::<Vec<f32>>();
        let filter = Prefilter::new(catalog.specs(), Some((0..count).map(axis).collect()));
        let best = |vector: Option<&[f32]>| filter.select("do it", vector, 1)[0];
        assert_eq!((best(Some(&axis(4))).index, best(Some(&axis(4))).fits > 0.0), (4, true));
        assert_eq!((best(None).index, best(None).fits), (0, f32::INFINITY));
    }

    #[test]
    fn a_question_prefers_a_tool_that_only_reads() {
        let tool = |name: &str, mutates| ToolSpec { name: name.to_owned(), mutates, ..ToolSpec::default() };
        let filter = Prefilter::new(&[tool("alpha.plants", true), tool("omega.plants", false)], None);
        for (step, expected) in [("Water the plants", 0), ("Show the plants", 1), ("Which plants are there?", 1)] {
            assert_eq!(filter.select(step, None, 1)[0].index, expected, "{step}");
        }
    }

    #[test]
    fn paths_and_identifiers_are_replaced_by_general_words() {
        let filter = Prefilter::new(Catalog::builtin().specs(), None);
        for (step, expected) in [
            ("Read src/models/pull.rs, please.", "Read the file, please."),
            ("Who calls `hub_cache_dir`?", "Who calls `the name`?"),
            ("Use read_file on pool::lease()", "Use read_file on the name()"),
            ("Mail ann@example.org and/or wait for GitHub", "Mail ann@example.org and/or wait for GitHub"),
            ("", ""),
        ] {
            assert_eq!(filter.without_values(step), expected);
        }
    }
}
