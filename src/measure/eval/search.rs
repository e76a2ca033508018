//! `eval search`: how well a search for a question finds the files that answer it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Report;
use super::ranking::{Place, Scores, Target, score};
use crate::base::Cancel;
use crate::embed::Embedder;
use crate::embed::rerank::Judges;
use crate::index::Index;
use crate::retrieve;

/// Number of hits of a search: ten count for nDCG and recall, all for MRR.
const HITS: usize = 30;

#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    pub query: String,
    /// Files that answer the question.
    pub relevant: Vec<String>,
    /// Files that help; they count as much as `relevant` ones.
    #[serde(default)]
    pub secondary: Vec<String>,
    #[serde(default)]
    pub category: String,
}

/// A question with the places that answer it.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub text: String,
    pub targets: Vec<Target>,
    pub category: String,
}

/// Reads a suite: a JSON array of `{query, relevant, secondary, category}`, with paths relative to
/// `root`.
pub fn read(suite: &Path, root: &Path) -> Result<Vec<Question>> {
    let text = std::fs::read_to_string(suite).with_context(|| format!("{} cannot be read", suite.display()))?;
    let cases: Vec<Case> = serde_json::from_str(&text)
        .with_context(|| format!("{} is not an array of {{query, relevant, secondary, category}}", suite.display()))?;
    if cases.is_empty() {
        bail!("{} contains no case", suite.display());
    }
    let labels = cases.iter().flat_map(|case| case.relevant.iter().chain(&case.secondary));
    let missing: Vec<&String> = labels.filter(|label| !root.join(label).is_file()).collect();
    if let Some(first) = missing.first() {
        bail!(
            "{} of the labelled files are not in {}, the first is {first}; use --root for the folder that the labels are relative to",
            missing.len(),
            root.display()
        );
    }
    let question = |case: Case| {
        let paths: BTreeSet<String> = case.relevant.into_iter().chain(case.secondary).collect();
        let targets = paths.into_iter().map(|path| Target { path, line: None }).collect();
        Question { text: case.query, targets, category: case.category }
    };
    Ok(cases.into_iter().map(question).collect())
}

/// Builds a fresh index of `root` in a temporary folder, asks every question once, and returns the
/// figures as one JSON object. Without an embedder, only full-text search and the graph are
/// measured. An initial search is not timed: it loads data that later searches reuse.
pub fn run(
    root: &Path,
    (embedder, judges): (Option<&Embedder>, Option<Arc<dyn Judges>>),
    questions: &[Question],
    report: &mut Report,
    cancel: &Cancel,
) -> Result<Value> {
    let folder = tempfile::tempdir().context("no temporary folder for the index")?;
    let index = Index::open_in(root, folder.path())?.judged_by(judges);
    let chunks = index.refresh_lexical(&mut |_| {}, cancel)?.chunks;
    let with_vector = match embedder {
        Some(embedder) => index.refresh_vectors(embedder, &mut |_| {}, cancel)?,
        None => 0,
    };
    let mut scores = Scores::default();
    if let Some(first) = questions.first() {
        ask(&index, embedder, &first.text, cancel)?;
    }
    for question in questions {
        if cancel.is_cancelled() {
            bail!("cancelled");
        }
        let from = Instant::now();
        let ranked = ask(&index, embedder, &question.text, cancel)?;
        let ms = from.elapsed().as_secs_f64() * 1000.0;
        let scored = score(&ranked, &question.targets);
        if scored.reciprocal_rank < 1.0 {
            report.say(|| {
                let first = ranked.first().map_or("nothing", |place| place.path.as_str());
                let wanted: Vec<&str> = question.targets.iter().map(|target| target.path.as_str()).collect();
                format!("nDCG {:.3}, first {first}, expected {}: {}", scored.ndcg, wanted.join(", "), question.text)
            });
        }
        scores.add(&question.category, scored, ms);
        let shown: Vec<Value> =
            ranked.iter().map(|place| json!({ "path": place.path, "start": place.start, "end": place.end })).collect();
        report.write(&json!({ "query": question.text, "ranked": shown }))?;
    }
    let mut figures = scores.figures();
    figures["chunks"] = json!(chunks);
    figures["chunks_with_vector"] = json!(with_vector);
    Ok(figures)
}

fn ask(index: &Index, embedder: Option<&Embedder>, text: &str, cancel: &Cancel) -> Result<Vec<Place>> {
    let vector = embedder.map(|embedder| embedder.embed_one(text)).transpose()?;
    let found = retrieve::judged(index, text, vector.as_deref(), HITS, cancel)?.hits;
    let place = |hit: retrieve::Hit| Place { path: hit.path, start: hit.start, end: hit.end };
    Ok(found.hits.into_iter().map(place).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_evaluation_leaves_the_project_untouched_and_refuses_labels_of_missing_files() {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("clock.ts", "/** Waits between attempts. */\nexport function pause() {}\n"),
            ("retry.ts", "import { pause } from './clock';\nexport function retry() { pause(); }\n"),
            (
                "suite.json",
                r#"[{"query": "pause", "relevant": ["clock.ts"], "secondary": ["clock.ts"], "category": "a"}]"#,
            ),
            ("lost.json", r#"[{"query": "pause", "relevant": ["gone.ts"]}]"#),
        ] {
            std::fs::write(folder.path().join(path), text).unwrap();
        }
        let questions = read(&folder.path().join("suite.json"), folder.path()).unwrap();
        let out = folder.path().join("out.jsonl");
        let mut report = Report::new(Some(&out), None).unwrap();
        let figures = run(folder.path(), (None, None), &questions, &mut report, &Cancel::new()).unwrap();
        assert_eq!((&figures["cases"], &figures["ndcg_at_10"]), (&json!(1), &json!(1.0)), "{figures}");
        assert_eq!(figures["by_category"]["a"]["mrr"], 1.0);
        let line: Value = serde_json::from_str(&std::fs::read_to_string(out).unwrap()).unwrap();
        assert_eq!(line["ranked"][0], json!({ "path": "clock.ts", "start": 1, "end": 2 }));
        assert!(!folder.path().join(".monobloc").exists());
        let error = read(&folder.path().join("lost.json"), folder.path()).unwrap_err().to_string();
        assert!(error.contains("gone.ts") && error.contains("--root"), "{error}");
    }
}
