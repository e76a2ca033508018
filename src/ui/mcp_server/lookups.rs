//! Answers a question to the index with text, as the command of the same name prints it.

use anyhow::{Result, bail};

use super::project::Project;
use super::tools::{Graph, LookUp};
use crate::index::Index;
use crate::ui::lookup::graph::Question;
use crate::ui::lookup::{code, graph, status};

/// Blocks while files that have changed are read again.
pub fn answer(project: &Project, question: &LookUp) -> Result<String> {
    match question {
        LookUp::Search { query, limit } => {
            let opened = project.refreshed()?;
            let found = code::search(&project.cache, &opened.index, opened.embedder.as_ref(), query, *limit)?;
            let text = if found.0.hits.is_empty() { "nothing was found\n".to_owned() } else { found.text(false) };
            Ok(noted(&found.0.notes, text))
        }
        LookUp::Context { question, tokens } => {
            let opened = project.refreshed()?;
            let packed = code::context(&project.cache, &opened.index, opened.embedder.as_ref(), question, *tokens)?;
            let text = packed.pack.text() + &packed.size() + "\n";
            Ok(noted(&packed.notes, text))
        }
        LookUp::Graph { what, symbol, to, depth, limit } => {
            let question = match what {
                Graph::Definition => Question::Definition(symbol),
                Graph::Callers => Question::Callers(symbol),
                Graph::Callees => Question::Callees(symbol),
                Graph::Imports => Question::Imports(symbol),
                Graph::Dependents => Question::Dependents(symbol),
                Graph::Impact => Question::Impact(symbol),
                Graph::Path => Question::Path { from: symbol, to },
            };
            let answer = graph::answer(&project.refreshed()?.index, question, *depth)?;
            let more = match answer.left_out(*limit) {
                0 => Vec::new(),
                more => vec![format!("{more} more; a higher `limit` shows them")],
            };
            Ok(noted(&more, answer.text(*limit)))
        }
        LookUp::Status => {
            let folder = project.app.project()?;
            if !Index::exists(&folder) {
                bail!("{} has no index yet; `search` makes one", folder.display());
            }
            let opened = project.opened()?;
            let model = opened.embedder.as_ref().map(|embedder| embedder.fingerprint());
            Ok(status::text(&opened.index.status(model)?, model))
        }
    }
}

/// The text with a line for each note above it.
fn noted(notes: &[String], text: String) -> String {
    notes.iter().map(|note| format!("note: {note}\n")).collect::<String>() + &text
}
