//! `monobloc undo` and `monobloc rewind`: restore the project to a checkpoint.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal};

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;

use crate::app::App;
use crate::base::visible;
use crate::checkpoint::{Checkpoint, Entry, Foreign, Step};
use crate::session::{Prepared, Rewinder};
use crate::ui::words;

/// Number of paths listed; others are only counted.
const PATHS_SHOWN: usize = 20;

/// Undo the last request that changed files: files, lessons and conversation together
///
/// Undoes the request's changes path by path; what you made or changed yourself stays. Exit code 1
/// if a path could not be restored.
#[derive(Args)]
pub struct Undo {
    #[command(flatten)]
    how: How,
}

/// Go back to a checkpoint; this can also undo an undo
///
/// Undoes the changes of requests since then, path by path; what you made or changed yourself
/// stays. Exit code 1 if a path could not be restored.
#[derive(Args)]
pub struct Rewind {
    /// A checkpoint from `monobloc checkpoints`, for example c3 [default: the newest]
    checkpoint: Option<String>,
    #[command(flatten)]
    how: How,
}

#[derive(Args)]
struct How {
    /// Also overwrite files that a request and later someone else changed, and remove new ones that
    /// are too large to be kept
    #[arg(long, conflicts_with = "keep")]
    force: bool,
    /// Keep files that a request and later someone else changed, and undo the rest, without asking
    #[arg(long)]
    keep: bool,
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Undo {
    pub fn run(self, app: &App) -> Result<()> {
        self.how.go(app, "monobloc undo", |rewinder| Ok(rewinder.latest()?))
    }
}

impl Rewind {
    pub fn run(self, app: &App) -> Result<()> {
        self.how.go(app, "monobloc rewind", |rewinder| match &self.checkpoint {
            Some(name) => Ok(rewinder.find(name)?),
            None => Ok(rewinder.newest()?),
        })
    }
}

impl How {
    fn go(&self, app: &App, command: &str, target: impl FnOnce(&Rewinder) -> Result<Checkpoint>) -> Result<()> {
        let mut rewinder = app.rewinder(command)?;
        for note in &rewinder.notes {
            super::warn(note);
        }
        let target = target(&rewinder)?;
        let prepared = rewinder.plan(target)?;
        prepared.notes().iter().for_each(super::warn);
        if self.dry_run {
            return self.show(&prepared);
        }
        let decided = self.decide(&prepared)?;
        // A file that the user chose to keep does not count as unrestored.
        let kept: BTreeSet<String> = match decided {
            Some(Foreign::Keep) => prepared.plan.foreign().map(|step| step.path.display().to_string()).collect(),
            Some(Foreign::Overwrite) | None => BTreeSet::new(),
        };
        let rewound = rewinder.go(prepared, decided.unwrap_or(Foreign::Keep))?;
        // Free the lock first: the index needs no lock, and the next request would refresh it anyway.
        drop(rewinder);
        app.index()?.refresh_lexical(&mut |_| (), &app.cancel)?;
        if self.json {
            putln!("{}", serde_json::to_string(&rewound)?);
        } else {
            say!("{}", words::rewound(&rewound));
        }
        match rewound.left.iter().filter(|(path, _)| !kept.contains(path)).count() {
            0 => Ok(()),
            1 => bail!("1 path was not restored"),
            left => bail!("{left} paths were not restored"),
        }
    }

    fn show(&self, prepared: &Prepared) -> Result<()> {
        let steps = &prepared.plan.steps;
        if self.json {
            let steps: Vec<_> = steps
                .iter()
                .map(|step| json!({ "path": step.path, "what": what(step), "changed_outside": step.foreign }))
                .collect();
            let left = &prepared.lost;
            putln!("{}", json!({ "checkpoint": format!("c{}", prepared.target.id), "steps": steps, "left": left }));
            return Ok(());
        }
        say!("c{} ({}): {}", prepared.target.id, prepared.target.time, prepared.target.request);
        list(steps.iter(), |step| say!("{step}"));
        for (path, why) in &prepared.lost {
            say!("  leaves {}: {why}", path.display());
        }
        Ok(())
    }

    /// The user's decision about files that a request and later someone else changed: by flag, else
    /// by asking. `None` if nobody was asked: the files stay, and count as unrestored.
    fn decide(&self, prepared: &Prepared) -> Result<Option<Foreign>> {
        let foreign: Vec<&Step> = prepared.plan.foreign().collect();
        if self.force {
            return Ok(Some(Foreign::Overwrite));
        }
        if self.keep {
            return Ok(Some(Foreign::Keep));
        }
        if foreign.is_empty() || self.json || !io::stdin().is_terminal() {
            return Ok(None);
        }
        tell!("Changed outside monobloc since c{}:", prepared.target.id);
        list(foreign.into_iter(), |step| tell!("{}", visible(&step)));
        put!("[o]verwrite them, [k]eep them and take back the rest, or [c]ancel: ");
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        match answer.trim().to_lowercase().as_str() {
            "o" | "overwrite" => Ok(Some(Foreign::Overwrite)),
            "k" | "keep" => Ok(Some(Foreign::Keep)),
            _ => bail!("nothing was changed; --force overwrites these files, --keep takes back only the others"),
        }
    }
}

fn list<'a>(steps: impl Iterator<Item = &'a Step>, mut line: impl FnMut(String)) {
    let steps: Vec<&Step> = steps.collect();
    for step in steps.iter().take(PATHS_SHOWN) {
        let outside = if step.foreign { " (changed outside monobloc)" } else { "" };
        line(format!("  {} {}{outside}", what(step), step.path.display()));
    }
    if steps.len() > PATHS_SHOWN {
        line(format!("  … {} more", steps.len() - PATHS_SHOWN));
    }
}

/// The effect of going back on a path, as a verb.
fn what(step: &Step) -> &'static str {
    match (step.now, step.then) {
        (_, Entry::Absent) => "removes",
        (Entry::Absent, _) => "brings back",
        (now, then) if now.is_restorable() && now.content() == then.content() => "sets mode or owner of",
        _ => "restores",
    }
}
