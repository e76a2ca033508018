//! `/undo`, `/rewind` and `/checkpoints` of `monobloc chat`.

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::app::{App, Back, Went};
use crate::base::ConversationId;
use crate::protocol::{Event, Record, Rewound};
use crate::session::Message;
use crate::ui::cli::{checkpoints, told};

/// The newest checkpoints that are listed, and the changed files that are named.
const SHOWN_MAX: usize = 20;

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
    match app.go_back("monobloc chat", back)? {
        Went::Back { rewound, notes } => Ok((rewound, notes)),
        Went::Undecided(foreign) => {
            let shown = foreign.iter().take(SHOWN_MAX).cloned().collect::<Vec<_>>().join(", ");
            let command = back.to.as_ref().map_or("/undo".to_owned(), |name| format!("/rewind {name}"));
            bail!(
                "changed outside monobloc meanwhile: {shown}; nothing was changed: `{command} force` overwrites, \
                 `{command} keep` takes back only the others"
            )
        }
    }
}

/// The newest checkpoints, as text and as JSON.
pub fn list(app: &App) -> Result<(String, Value)> {
    let Some(rows) = app.checkpoints(SHOWN_MAX)? else {
        return Ok((checkpoints::NONE.to_owned(), json!([])));
    };
    let lines: Vec<String> = rows.iter().map(checkpoints::line).collect();
    Ok((lines.join("\n"), json!(rows)))
}
