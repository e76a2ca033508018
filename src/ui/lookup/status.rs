//! Tells how complete an index is and which files have changed since.

use serde_json::{Value, json};

use super::code::line;
use crate::base::Bytes;
use crate::index::Status;

/// Changed files that a text lists; the others are only counted.
const CHANGED_SHOWN: usize = 10;

/// `model` is the fingerprint of the embedder whose vectors are counted.
pub fn json(status: &Status, model: Option<&str>) -> Value {
    let mut value = json!(status);
    value["languages"] = status.languages.iter().map(|(name, files)| (name.clone(), json!(files))).collect();
    value["model"] = json!(model);
    value["models"] =
        status.models.iter().map(|(model, vectors)| json!({ "model": model, "vectors": vectors })).collect();
    value
}

/// Numbers and changed files; skipped files are not listed.
pub fn text(status: &Status, model: Option<&str>) -> String {
    let mut text = String::new();
    let languages: Vec<String> = status.languages.iter().map(|(name, files)| format!("{name} {files}")).collect();
    line(&mut text, format_args!("files      {} ({})", status.files, languages.join(", ")));
    line(
        &mut text,
        format_args!(
            "code       {} chunks, {} symbols, {} edges, {} references whose target is not known",
            status.chunks, status.symbols, status.edges, status.unresolved
        ),
    );
    let (with, all) = (status.chunks_with_vector, status.chunks);
    let share = 100.0 * with as f64 / all.max(1) as f64;
    match model {
        Some(model) => line(&mut text, format_args!("vectors    {with} of {all} chunks ({share:.0} %), model {model}")),
        None => line(
            &mut text,
            format_args!("vectors    none can be used without an embedder; search goes by words and graph"),
        ),
    }
    let (database, vectors) = (Bytes(status.database_bytes), Bytes(status.vector_file_bytes));
    line(&mut text, format_args!("on disk    {database} database, {vectors} vectors"));
    match (status.changed.len(), status.gone.len(), status.unfinished) {
        (0, 0, false) => line(&mut text, format_args!("state      as the files are")),
        (changed, gone, unfinished) => {
            let note = if unfinished { "; the last run did not come to its end" } else { "" };
            let told = format!("{changed} files new or changed, {gone} gone{note}");
            line(&mut text, format_args!("state      {told}; `monobloc index` brings it up to date"));
        }
    }
    let behind: Vec<&String> = status.changed.iter().chain(&status.gone).collect();
    behind.iter().take(CHANGED_SHOWN).for_each(|path| line(&mut text, format_args!("  behind {path}")));
    if behind.len() > CHANGED_SHOWN {
        line(&mut text, format_args!("  … {} more behind", behind.len() - CHANGED_SHOWN));
    }
    text
}
