//! `/undo`, `/rewind` and `/checkpoints` of `monobloc chat`.

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::app::App;
use crate::base::ConversationId;
use crate::checkpoint::{Foreign, Store};
use crate::protocol::{Event, Record, Rewound};
use crate::session::Message;
use crate::ui::cli::{checkpoints, told, undo};

/// The newest checkpoints that are listed, and the changed files that are named.
const SHOWN_MAX: usize = 20;

/// What to go back to, and what to do with files that were changed outside monobloc.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Back {
    /// A checkpoint; `None` undoes the last request that changed files.
    pub to: Option<String>,
    /// `None` refuses to go back if there are such files.
    pub foreign: Option<Foreign>,
}

/// Goes back in the background; the stream ends when it is done.
pub fn start(app: App, conversation: ConversationId, back: Back) -> mpsc::UnboundedReceiver<Message> {
    let (sender, messages) = mpsc::unbounded_channel();
    tokio::task::spawn_blocking(move || {
        let events = match go(&app, &back) {
            Ok((rewound, notes)) => {
                let notes = notes.into_iter().map(|text| Event::Notice { text });
                notes.chain([Event::Rewound(rewound)]).collect()
            }
            Err(error) => vec![Event::TurnFailed { error: told(&error) }],
        };
        // It fails if the receiver is gone, which is fine.
        events.into_iter().for_each(|event| drop(sender.send(Message::Record(Record::now(&conversation, event)))));
    });
    messages
}

/// Goes back. Returns the result, and messages about what is not restored.
fn go(app: &App, back: &Back) -> Result<(Rewound, Vec<String>)> {
    let mut rewinder = app.rewinder("monobloc chat")?;
    let target = match &back.to {
        Some(name) => rewinder.find(name)?,
        None => rewinder.latest()?,
    };
    let prepared = rewinder.plan(target)?;
    let foreign: Vec<String> = prepared.plan.foreign().map(|step| step.path.display().to_string()).collect();
    let decided = match back.foreign {
        Some(foreign) => foreign,
        None if foreign.is_empty() => Foreign::Overwrite,
        None => {
            let shown = foreign.iter().take(SHOWN_MAX).cloned().collect::<Vec<_>>().join(", ");
            let command = back.to.as_ref().map_or("/undo".to_owned(), |name| format!("/rewind {name}"));
            bail!(
                "changed outside monobloc meanwhile: {shown}; nothing was changed: `{command} force` overwrites, \
                 `{command} keep` takes back only the others"
            );
        }
    };
    let mut notes = std::mem::take(&mut rewinder.notes);
    notes.extend(undo::notes(&prepared));
    Ok((rewinder.go(prepared, decided)?, notes))
}

/// The newest checkpoints, as text and as JSON.
pub fn list(app: &App) -> Result<(String, Value)> {
    let Some(store) = Store::existing(&app.project()?)? else {
        return Ok((checkpoints::NONE.to_owned(), json!([])));
    };
    let (mut lines, mut rows) = (Vec::new(), Vec::new());
    let all = store.checkpoints()?;
    for checkpoint in &all[all.len().saturating_sub(SHOWN_MAX)..] {
        let files = store.summary(checkpoint.id)?;
        lines.push(checkpoints::line(checkpoint, &files));
        rows.push(checkpoints::row(checkpoint, &files));
    }
    Ok((lines.join("\n"), json!(rows)))
}
