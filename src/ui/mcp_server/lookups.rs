//! Answers a question to the index with text, as the command of the same name prints it.

use std::sync::Arc;

use anyhow::{Result, bail};
use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::watch;

use super::progress::telling;
use super::project::Project;
use super::tools::{self, Call};
use crate::base::Cancel;
use crate::index::{self, Index};
use crate::ui::lookup::{code, graph, status};
use crate::ui::words;

/// Answers a question on another thread, because the first question reads the whole project. The
/// client is notified of progress; if it cancels the call, the reading stops too.
pub async fn answer(
    project: Arc<Project>,
    question: Call,
    context: &RequestContext<RoleServer>,
) -> Result<String, String> {
    let cancel = Cancel::new();
    let (sender, state) = watch::channel("reading what has changed in the project".to_owned());
    let looking = tokio::task::spawn_blocking({
        let cancel = cancel.clone();
        move || look_up(&project, &question, &cancel, &mut |come| drop(sender.send_replace(words::progress(come))))
    });
    tokio::select! {
        looked = telling(context, || state.borrow().clone(), looking) => {
            looked.unwrap_or_else(|lost| Err(lost.into())).map_err(|why| crate::ui::cli::told(&why))
        }
        () = context.ct.cancelled() => {
            cancel.cancel();
            Err("cancelled".to_owned())
        }
    }
}

/// Blocks while changed files are read again.
fn look_up(
    project: &Project,
    question: &Call,
    cancel: &Cancel,
    progress: &mut dyn FnMut(index::Progress),
) -> Result<String> {
    match question {
        Call::Search { query, limit } => {
            let opened = project.refreshed(cancel, progress)?;
            let (index, embedder) = (&opened.index, opened.embedder.as_ref());
            let found = crate::retrieve::answer(index, embedder, query, tools::hits(*limit), cancel)?;
            let mut notes = found.notes.clone();
            if found.hits.len() == tools::hits(*limit) {
                notes.push(format!("the {} likeliest places; a higher `limit` shows more", found.hits.len()));
            }
            let text = if found.hits.is_empty() { "nothing was found\n".to_owned() } else { code::text(&found, false) };
            Ok(noted(&notes, text))
        }
        Call::Context { question, tokens } => {
            let opened = project.refreshed(cancel, progress)?;
            let tokens = tools::tokens(*tokens);
            let packed = code::context(&opened.index, opened.embedder.as_ref(), question, tokens, cancel)?;
            Ok(noted(&packed.notes, packed.pack.text() + &packed.size() + "\n"))
        }
        Call::Graph(question, limit) => {
            let answer = graph::answer(&project.refreshed(cancel, progress)?.index, question)?;
            let more = match answer.left_out(*limit) {
                0 => Vec::new(),
                more => vec![format!("{more} more; a higher `limit` shows them")],
            };
            Ok(noted(&more, answer.text(*limit)))
        }
        Call::IndexStatus {} => {
            let folder = project.app.project()?;
            if !Index::exists(&folder) {
                bail!("{} has no index yet; `search` makes one", folder.display());
            }
            let opened = project.opened()?;
            let model = opened.embedder.as_ref().map(|embedder| embedder.fingerprint());
            Ok(status::text(&opened.index.status(model)?, model))
        }
        Call::Ask { .. } | Call::AskResult { .. } => {
            bail!("this is not a question to the index; this is a bug in mcp_server")
        }
    }
}

/// The text preceded by one line per note.
fn noted(notes: &[String], text: String) -> String {
    notes.iter().map(|note| format!("note: {note}\n")).collect::<String>() + &text
}
