//! `eval features`: writes the features used to rank tools, as training data.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{Case, Report};
use crate::agent::Toolkit;
use crate::embed::Purpose;
use crate::tools::adapter;
use crate::tools::features::FEATURES;
use crate::tools::prefilter::text_for_embedding;

/// Number of best-ranked tools per case whose features are written.
const BEST: usize = 5;

/// Writes JSON lines: first the vectors of the catalogue's tools without the adapter, then for each
/// case the vector of its prompt and the features of its best tools.
pub async fn run(toolkit: &Toolkit, cases: &[Case], report: &mut Report) -> Result<Value> {
    let embedder =
        toolkit.embedder.as_ref().context("features are trained on vectors: name an embedder in models.toml")?;
    let texts: Vec<String> = toolkit.catalog.specs().iter().map(text_for_embedding).collect();
    let vectors = embedder.embed(&texts, Purpose::Document, &toolkit.cancel)?;
    let tools: Vec<&str> = toolkit.catalog.specs().iter().map(|spec| spec.name.as_str()).collect();
    let names = FEATURES.map(|(name, ..)| name);
    let probe = embedder.embed_one(adapter::PROBE)?;
    report.write(&json!({ "probe": probe, "names": names, "tools": tools, "vectors": vectors }))?;
    for case in cases {
        let toolkit = &case.toolkit(toolkit).await?;
        let vector = toolkit.vector(&toolkit.prefilter.without_values(&case.prompt)).await;
        let rows = toolkit.prefilter.features(&case.prompt, vector.as_deref());
        let ranked = toolkit.prefilter.select(&case.prompt, vector.as_deref(), BEST);
        let best = |index: usize| json!({ "tool": toolkit.catalog.specs()[index].name, "features": rows[index] });
        let best: Vec<Value> = ranked.iter().map(|one| best(one.index)).collect();
        report.write(&json!({ "id": case.id, "expected": case.expected, "vector": vector, "best": best }))?;
    }
    Ok(json!({ "cases": cases.len(), "features": names }))
}
