//! `monobloc audit`: checks and exports the project's journal, and replays turns from it.

use std::fs::{File, Permissions};
use std::io::{BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::app::{self, App};
use crate::session::{self, Comparison, History, TurnRecord};
use crate::ui::out::Out;

/// Check or export the project's journal, or replay a turn on a copy of the project
#[derive(Args)]
pub struct Audit {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Verify(Verify),
    Export(Export),
    Replay(Replay),
}

/// Check that no byte of the journal has changed since it was written
#[derive(Args)]
struct Verify {
    /// An exported journal [default: the project's]
    file: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Check and export the journal, one record per line; `audit verify FILE` checks the export
#[derive(Args)]
struct Export {
    /// The file to write [default: standard output]
    file: Option<PathBuf>,
    /// Print one JSON object about the exported file; the records are always JSON
    #[arg(long, requires = "file")]
    json: bool,
}

/// Run the tool calls of a turn again on a copy of the project as it was, and compare the results
#[derive(Args)]
struct Replay {
    /// A turn from `monobloc history`, for example t12 [default: the last one with a checkpoint]
    turn: Option<String>,
    /// Also run shell commands; they may act outside the copy
    #[arg(long)]
    commands: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Audit {
    pub async fn run(self, app: &App) -> Result<()> {
        let project = app.project()?;
        let journal = app::journal(&project);
        match self.what {
            What::Verify(verify) => verify.run(&project, &journal),
            What::Export(export) => export.run(&journal),
            What::Replay(replay) => replay.run(app, &project, &journal).await,
        }
    }
}

fn open(journal: &Path) -> Result<BufReader<File>> {
    let file = File::open(journal).with_context(|| format!("the journal {} cannot be read", journal.display()))?;
    Ok(BufReader::new(file))
}

impl Verify {
    fn run(self, project: &Path, journal: &Path) -> Result<()> {
        // The project's checkpoints refer to its own journal, not to an exported one.
        let of_project = self.file.is_none().then_some(project);
        let path = self.file.as_deref().unwrap_or(journal);
        let checked = session::verify(open(path)?, of_project)?;
        if self.json {
            let damage = checked.as_ref().err().map(|damage| json!({ "record": damage.record, "why": damage.why }));
            putln!("{}", json!({ "records": checked.as_ref().ok().map(|end| end.seq), "damage": damage }));
        }
        match checked {
            Ok(end) if !self.json => putln!("{} records, intact; the last hash is {}", end.seq, end.hash),
            Ok(_) => {}
            Err(damage) => bail!("{}: {damage}", path.display()),
        }
        Ok(())
    }
}

impl Export {
    fn run(self, journal: &Path) -> Result<()> {
        let mut out: Box<dyn Write> = match &self.file {
            Some(file) => Box::new(File::create_new(file).with_context(|| format!("{}", file.display()))?),
            None => Box::new(Out),
        };
        match session::export(open(journal)?, &mut out)? {
            Ok(end) => {
                out.flush()?;
                if self.json {
                    putln!("{}", json!({ "file": self.file, "records": end.seq }));
                }
                Ok(())
            }
            Err(damage) => bail!("{}: {damage}; the records before it were written", journal.display()),
        }
    }
}

impl Replay {
    async fn run(self, app: &App, project: &Path, journal: &Path) -> Result<()> {
        let journal = session::Journal::existing(journal)?.context("nothing was recorded here")?;
        let turns = History::of(&journal.entries()?).turns;
        let turn = self.find(&turns)?;
        // Only accessible to its owner, because its files may be private.
        let only_owner = Permissions::from_mode(0o700);
        let scratch = tempfile::Builder::new().prefix("monobloc-replay-").permissions(only_owner).tempdir()?;
        let replayed = session::replay(project, turn, scratch.path(), self.commands, &app.cancel).await?;
        let differ = replayed.calls.iter().filter(|call| matches!(call.outcome, Comparison::Different(_))).count();
        if self.json {
            putln!("{}", serde_json::to_string(&replayed)?);
        } else {
            say!("t{} {}", turn.seq, turn.request);
            for call in &replayed.calls {
                let outcome = match &call.outcome {
                    Comparison::Same => "the same".to_owned(),
                    Comparison::Different(now) => format!("different: {now}; it was: {}", call.call.report.summary),
                    Comparison::NotRun(why) => format!("not run: {why}"),
                };
                say!("    {} {outcome}", call.call.report.tool);
            }
            for path in &replayed.missing {
                say!("    the copy lacks {path}: its content was never kept");
            }
            for (path, now, then) in &replayed.files {
                say!("    {path} differs: {now}, was {then}");
            }
            if replayed.files_compared && replayed.files.is_empty() {
                putln!("    every file it changed is as the turn left it");
            }
        }
        if differ > 0 || !replayed.files.is_empty() {
            bail!("{differ} calls and {} files differ", replayed.files.len());
        }
        Ok(())
    }

    fn find<'a>(&self, turns: &'a [TurnRecord]) -> Result<&'a TurnRecord> {
        let found = match &self.turn {
            Some(name) => {
                let seq = name.strip_prefix('t').unwrap_or(name).parse().ok();
                turns.iter().find(|turn| Some(turn.seq) == seq)
            }
            None => turns.iter().rev().find(|turn| turn.checkpoint.is_some()),
        };
        found.context("there is no such turn; `monobloc history` lists them by number, such as t12")
    }
}
