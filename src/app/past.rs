//! The project's past, for all front ends: its turns, its checkpoints, and going back to one.

use anyhow::Result;
use serde::Serialize;

use super::{App, journal};
use crate::checkpoint::{Foreign, Store, Summary};
use crate::protocol::Rewound;
use crate::session::{History, Journal};

/// The checkpoint to go back to, and the treatment of files that were changed outside monobloc.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Back {
    /// A checkpoint; `None` undoes the last request that changed files.
    pub to: Option<String>,
    /// `None`: do not go back if a file was changed by a request and later by someone else.
    pub foreign: Option<Foreign>,
}

/// The outcome of going back.
#[derive(Clone, Debug, PartialEq)]
pub enum Went {
    /// Done; the notes list what was not restored.
    Back { rewound: Rewound, notes: Vec<String> },
    /// Nothing was changed: these files were changed outside monobloc, and [`Back::foreign`] is
    /// `None`.
    Undecided(Vec<String>),
}

/// A checkpoint in a list, with the numbers of files changed since.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckpointRow {
    pub checkpoint: String,
    pub time: String,
    /// `turn` or `rewind`: the event after the checkpoint.
    pub before: String,
    pub request: String,
    pub conversation: String,
    pub created: usize,
    pub changed: usize,
    pub deleted: usize,
}

impl App {
    /// Every turn in the journal; `None` if nothing has ever been recorded.
    pub fn history(&self) -> Result<Option<History>> {
        let Some(journal) = Journal::existing(&journal(&self.project()?))? else { return Ok(None) };
        Ok(Some(History::of(&journal.entries()?)))
    }

    /// The newest checkpoints, oldest first, at most `count_max`; `None` if none was ever made.
    pub fn checkpoints(&self, count_max: usize) -> Result<Option<Vec<CheckpointRow>>> {
        let Some(store) = Store::existing(&self.project()?)? else { return Ok(None) };
        let mut all = store.checkpoints()?;
        let newest = all.split_off(all.len().saturating_sub(count_max));
        let rows = newest.into_iter().map(|checkpoint| {
            let Summary { created, changed, deleted, .. } = store.summary(checkpoint.id)?;
            Ok(CheckpointRow {
                checkpoint: format!("c{}", checkpoint.id),
                time: checkpoint.time,
                before: checkpoint.reason,
                request: checkpoint.request,
                conversation: checkpoint.conversation,
                created,
                changed,
                deleted,
            })
        });
        rows.collect::<Result<Vec<_>>>().map(Some)
    }

    /// Goes back. Waits for the project's lock, with `command` as holder, until the app's cancel
    /// flag is set.
    pub fn go_back(&self, command: &str, back: &Back) -> Result<Went> {
        let mut rewinder = self.rewinder(command)?;
        let target = match &back.to {
            Some(name) => rewinder.find(name)?,
            None => rewinder.latest()?,
        };
        let prepared = rewinder.plan(target)?;
        let foreign: Vec<String> = prepared.plan.foreign().map(|step| step.path.display().to_string()).collect();
        let decided = match back.foreign {
            Some(foreign) => foreign,
            None if foreign.is_empty() => Foreign::Keep,
            None => return Ok(Went::Undecided(foreign)),
        };
        let mut notes = std::mem::take(&mut rewinder.notes);
        notes.extend(prepared.notes());
        Ok(Went::Back { rewound: rewinder.go(prepared, decided)?, notes })
    }
}
