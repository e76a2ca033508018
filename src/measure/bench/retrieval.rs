//! Measures the cost of finding code: embedding, indexing, an edit, a search, a call-graph lookup, memory.
//!
//! Works on a copy of the project with a fresh index. Searches run one after another, each question
//! once, so that no answer comes from a cache. Left out: loading the model and starting the
//! process.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use serde_json::json;

use super::Figures;
use crate::base::Cancel;
use crate::budget::process::peak_memory;
use crate::embed::{Embedder, Purpose};
use crate::index::{self, Index};
use crate::measure::statistics::{median, percentile};
use crate::retrieve;

/// Number of searches, and of call-graph lookups.
const QUESTIONS: usize = 100;
/// Number of texts embedded to measure the rate.
const TEXTS: usize = 1_000;

/// Median and 95th percentile, in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
struct Spread {
    p50: f64,
    p95: f64,
}

impl Spread {
    fn of(mut ms: Vec<f64>) -> Spread {
        Spread { p95: percentile(&mut ms, 0.95), p50: median(ms) }
    }
}

/// Measures `project`. `embedders` are one model with different numbers of threads; the last one is
/// used for the index. Without an embedder, figures that need one are left out.
pub fn measure(project: &Path, embedders: &[(usize, Embedder)], cancel: &Cancel) -> Result<Figures> {
    let folder = tempfile::tempdir().context("a temporary folder for the copy of the project")?;
    let lines = copy(project, folder.path())?;
    let embedder = embedders.last().map(|(_, embedder)| embedder);
    let index = Index::open(folder.path())?;
    let report = index.refresh(embedder, &mut |_| {}, cancel)?;
    let unchanged_ms = timed(|| index.refresh(embedder, &mut |_| {}, cancel))?.1;
    let edit_ms = edits(&index, folder.path(), embedder, cancel)?;
    let questions = questions(&index, QUESTIONS)?;
    if questions.is_empty() {
        bail!("{} defines nothing to ask for; name the folder of a project with code", project.display());
    }
    let mut figures = Figures::default();
    for (name, number) in [("files", report.files), ("lines", lines), ("chunks", report.chunks)] {
        figures.add(name, number, name, number.to_string());
    }
    let texts = index.summaries(TEXTS)?;
    let mut rates = Vec::new();
    for (threads, embedder) in embedders {
        let rate = rate(embedder, &texts, cancel)?;
        rates.push((threads, rate));
        figures.show(format!("embedding, {threads} threads"), format!("{rate:.0} tokens/s"));
    }
    figures.json.insert("embed_tokens_per_s".to_owned(), json!(rates));
    let spread = |figures: &mut Figures, name: &str, spread: Spread, line: &str| {
        figures.add(name, spread, line, format!("{:.2} / {:.2} ms", spread.p50, spread.p95));
    };
    if let Some(embedder) = embedder {
        spread(&mut figures, "query_embed_ms", embeds(embedder, &questions)?, "embedding a query, p50 / p95");
    }
    // Time until full-text search and the graph work, and until all vectors are complete too.
    let (usable, complete) = (report.usable_ms as f64 / 1000.0, report.ms as f64 / 1000.0);
    figures.add("index_usable_s", usable, "index until usable", format!("{usable:.2} s"));
    if embedder.is_some() {
        figures.add("index_complete_s", complete, "index until complete", format!("{complete:.2} s"));
    }
    figures.add("edit_ms", edit_ms, "after one edit", format!("{edit_ms:.1} ms"));
    figures.add("unchanged_ms", unchanged_ms, "with nothing changed", format!("{unchanged_ms:.1} ms"));
    let found = searches(&index, embedder, &questions)?;
    spread(&mut figures, "search_ms", found, "search with its embedding, p50 / p95");
    spread(&mut figures, "graph_ms", lookups(&index, &questions)?, "callers and callees, p50 / p95");
    if let Some(peak) = peak_memory() {
        figures.add("peak_memory_bytes", peak.0, "most memory", peak.to_string());
    }
    Ok(figures)
}

/// Copies the files that would be indexed; returns their number of lines.
fn copy(from: &Path, to: &Path) -> Result<usize> {
    let mut lines = 0;
    for path in index::files_of(from) {
        let target = to.join(&path);
        fs::create_dir_all(target.parent().unwrap_or(to)).with_context(|| format!("a folder for {path}"))?;
        let bytes = fs::read(from.join(&path)).with_context(|| format!("{path} of {}", from.display()))?;
        lines += bytes.iter().filter(|byte| **byte == b'\n').count();
        fs::write(&target, bytes).with_context(|| format!("the copy of {path}"))?;
    }
    Ok(lines)
}

fn timed<T, E>(act: impl FnOnce() -> Result<T, E>) -> Result<(T, f64), E> {
    let begun = Instant::now();
    let done = act()?;
    Ok((done, begun.elapsed().as_secs_f64() * 1000.0))
}

/// Time to refresh the index after adding a line to one file: the median over several files.
fn edits(index: &Index, project: &Path, embedder: Option<&Embedder>, cancel: &Cancel) -> Result<f64> {
    const FILES: usize = 5;
    let paths: Vec<String> = index.paths()?.into_iter().filter(|path| index::language_of(path) != "text").collect();
    let mut times = Vec::new();
    for path in paths.iter().step_by((paths.len() / FILES).max(1)).take(FILES) {
        let file = project.join(path);
        let text = fs::read_to_string(&file).with_context(|| format!("the copy of {path}"))?;
        fs::write(&file, format!("{text}\n")).with_context(|| format!("the copy of {path}"))?;
        times.push(timed(|| index.refresh(embedder, &mut |_| {}, cancel))?.1);
    }
    Ok(median(times))
}

/// Search texts from all over the project: first lines of definitions' comments, else their names.
fn questions(index: &Index, count: usize) -> Result<Vec<String>> {
    let paths = index.paths()?;
    let mut questions = Vec::new();
    for path in paths.iter().step_by((paths.len() / count.max(1)).max(1)) {
        for symbol in index.file_symbols(path)?.into_iter().filter(|symbol| symbol.kind != "module").take(2) {
            let sentence = symbol.doc.lines().next().filter(|line| line.len() > 20).map(str::to_owned);
            questions.push(sentence.unwrap_or(symbol.name));
        }
    }
    questions.sort();
    questions.dedup();
    questions.truncate(count);
    Ok(questions)
}

/// Tokens per second for embedding `texts`.
fn rate(embedder: &Embedder, texts: &[String], cancel: &Cancel) -> Result<f64> {
    let tokens: usize = embedder.count_tokens(texts, cancel)?.iter().sum();
    let (_, ms) = timed(|| embedder.embed(texts, Purpose::Document, cancel))?;
    Ok(tokens as f64 * 1000.0 / ms)
}

fn embeds(embedder: &Embedder, questions: &[String]) -> Result<Spread> {
    let times = questions.iter().map(|question| Ok(timed(|| embedder.embed_one(question))?.1));
    Ok(Spread::of(times.collect::<Result<_>>()?))
}

fn searches(index: &Index, embedder: Option<&Embedder>, questions: &[String]) -> Result<Spread> {
    let search = |question: &String| -> Result<f64> {
        let (found, ms) = timed(|| -> Result<_> {
            let vector = embedder.map(|embedder| embedder.embed_one(question)).transpose()?;
            Ok(retrieve::search(index, question, vector.as_deref(), 10)?)
        })?;
        std::hint::black_box(found);
        Ok(ms)
    };
    // Not measured: the first search loads the graph.
    search(&"warm up".to_owned())?;
    Ok(Spread::of(questions.iter().map(search).collect::<Result<_>>()?))
}

fn lookups(index: &Index, names: &[String]) -> Result<Spread> {
    let graph = index.graph()?;
    let lookup = |name: &String| -> Result<f64> {
        let (found, ms) = timed(|| Ok::<_, anyhow::Error>((graph.callers(name), graph.callees(name))))?;
        std::hint::black_box(found);
        Ok(ms)
    };
    Ok(Spread::of(names.iter().map(lookup).collect::<Result<_>>()?))
}
