//! Reports how complete an index is and which files have changed since it was built.

use serde_json::{Value, json};

use crate::base::Bytes;
use crate::index::Status;

/// Number of changed files listed in a text; the others are only counted.
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

/// Counts and changed files; skipped files are not listed.
pub fn text(status: &Status, model: Option<&str>) -> String {
    let Status { files, chunks, chunks_with_vector: with, symbols, edges, unresolved, .. } = status;
    let languages: Vec<String> = status.languages.iter().map(|(name, files)| format!("{name} {files}")).collect();
    let share = 100.0 * *with as f64 / (*chunks).max(1) as f64;
    let vectors = match model {
        Some(model) => format!("{with} of {chunks} chunks ({share:.0} %), model {model}"),
        None => "none can be used without an embedder; search uses words and the graph".to_owned(),
    };
    let (database, vector_file) = (Bytes(status.database_bytes), Bytes(status.vector_file_bytes));
    let state = match (status.changed.len(), status.gone.len(), status.unfinished) {
        (0, 0, false) => "up to date".to_owned(),
        (changed, gone, unfinished) => {
            let note = if unfinished { "; the last run did not finish" } else { "" };
            format!("{changed} files new or changed, {gone} gone{note}; `monobloc index` brings it up to date")
        }
    };
    let mut text = format!(
        "files      {files} ({})\n\
         code       {chunks} chunks, {symbols} symbols, {edges} edges, {unresolved} references whose target is not known\n\
         vectors    {vectors}\n\
         on disk    {database} database, {vector_file} vectors\n\
         state      {state}\n",
        languages.join(", ")
    );
    let behind: Vec<&String> = status.changed.iter().chain(&status.gone).collect();
    behind.iter().take(CHANGED_SHOWN).for_each(|path| text += &format!("  behind {path}\n"));
    if behind.len() > CHANGED_SHOWN {
        text += &format!("  … {} more behind\n", behind.len() - CHANGED_SHOWN);
    }
    text
}
