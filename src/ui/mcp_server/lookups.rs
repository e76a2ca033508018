//! Answers a question to the index with text, as the command of the same name prints it.

use std::sync::Arc;

use anyhow::{Result, bail};
use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::watch;

use super::progress::Progress;
use super::project::Project;
use super::tools::{Graph, LookUp};
use crate::base::Cancel;
use crate::index::{self, Index};
use crate::ui::lookup::graph::Question;
use crate::ui::lookup::{code, graph, status};
use crate::ui::words;

/// Answers a question on another thread, because the first one reads the whole project. The client is told how far that has come;
/// if it cancels the call, the reading ends too.
pub async fn answer(
    project: Arc<Project>,
    question: LookUp,
    context: &RequestContext<RoleServer>,
) -> Result<String, String> {
    let cancel = Cancel::new();
    let (sender, state) = watch::channel("reading what has changed in the project".to_owned());
    let mut looking = tokio::task::spawn_blocking({
        let cancel = cancel.clone();
        move || look_up(&project, &question, &cancel, &mut |come| drop(sender.send_replace(words::progress(come))))
    });
    let mut progress = Progress::of(context);
    loop {
        tokio::select! {
            looked = &mut looking => {
                return looked.unwrap_or_else(|lost| Err(lost.into())).map_err(|why| crate::ui::cli::told(&why));
            }
            () = progress.due() => {
                let doing = state.borrow().clone();
                progress.tell(doing).await;
            }
            () = context.ct.cancelled() => {
                cancel.cancel();
                return Err("cancelled".to_owned());
            }
        }
    }
}

/// Blocks while files that have changed are read again.
fn look_up(
    project: &Project,
    question: &LookUp,
    cancel: &Cancel,
    progress: &mut dyn FnMut(index::Progress),
) -> Result<String> {
    match question {
        LookUp::Search { query, limit } => {
            let opened = project.refreshed(cancel, progress)?;
            let found = code::search(&project.cache, &opened.index, opened.embedder.as_ref(), query, *limit)?;
            let text = if found.0.hits.is_empty() { "nothing was found\n".to_owned() } else { found.text(false) };
            Ok(noted(&found.0.notes, text))
        }
        LookUp::Context { question, tokens } => {
            let opened = project.refreshed(cancel, progress)?;
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
            let answer = graph::answer(&project.refreshed(cancel, progress)?.index, question, *depth)?;
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
