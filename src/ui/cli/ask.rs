//! `monobloc ask`, `plan` and `inspect`: runs one request and prints its events as they come.

use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::output::Printer;
use crate::app::App;
use crate::models::{Picture, picture};
use crate::protocol::{
    Ask as Request, Decision, Event, GIVEN_BYTES_MAX, GIVEN_MAX, Given, Mode, Op, REQUEST_BYTES_MAX,
};
use crate::session::{Message, Session};
use crate::ui::open::{self, Told};

/// Carry out a request: plan it, run tools step by step, and answer from their results
#[derive(Args)]
pub struct Ask {
    /// The request, in plain words; `-` reads it from standard input
    request: String,
    /// Print one JSON object per line instead of text
    #[arg(long)]
    json: bool,
    /// Approve every call that needs consent
    #[arg(long)]
    yes: bool,
    /// Show the plan, the models it would use and the time for a turn, then stop
    #[arg(long)]
    dry_run: bool,
    /// agent: plan, act, answer; chat: look things up and answer, change nothing
    #[arg(long, default_value = "agent", value_parser = modes())]
    mode: Mode,
    /// A text file to use in addition to the project; may be repeated
    #[arg(long = "context", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    given: Vec<PathBuf>,
    /// A picture (PNG, JPEG, WebP, the first frame of a GIF) that the model reads for the request; may
    /// be repeated
    #[arg(long = "image", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pictures: Vec<PathBuf>,
}

/// Reads the name of a mode.
pub(super) fn modes() -> impl TypedValueParser<Value = Mode> {
    PossibleValuesParser::new(["agent", "chat"]).try_map(|name| name.parse::<Mode>())
}

/// Reads the `--context` files.
fn given(files: &[PathBuf], app: &App) -> Result<Vec<Given>> {
    if files.len() > GIVEN_MAX {
        bail!("--context takes {GIVEN_MAX} files, not {}; put the others into the project", files.len());
    }
    let read = |file: &PathBuf| {
        let name = file.display().to_string();
        if app.hides(file) {
            bail!("--context {name} is not read: a rule denies it; `monobloc config show` lists the rules");
        }
        let about = std::fs::metadata(file).with_context(|| format!("--context {name} cannot be read"))?;
        if about.len() > GIVEN_BYTES_MAX {
            bail!(
                "--context {name} has {} bytes; the limit is {GIVEN_BYTES_MAX}; give only the relevant part",
                about.len()
            );
        }
        let text = std::fs::read_to_string(file).with_context(|| format!("--context {name} cannot be read as text"))?;
        Ok(Given { name, text })
    };
    files.iter().map(read).collect()
}

/// Reads the files of `--image` and of pasted paths; fails before anything is loaded if one is not
/// a picture.
pub(super) fn pictures(files: &[PathBuf], app: &App) -> Result<Vec<Picture>> {
    if files.len() > GIVEN_MAX {
        bail!("{} pictures; at most {GIVEN_MAX} are accepted; ask in several requests", files.len());
    }
    let read = |path: &PathBuf| {
        let name = path.display().to_string();
        if app.hides(path) {
            bail!("the picture {name} is not read: a rule denies it; `monobloc config show` lists the rules");
        }
        let unread = || format!("the picture {name} cannot be read");
        let mut file = Vec::new();
        // A pipe might never end and would block.
        if !std::fs::metadata(path).with_context(unread)?.is_file() {
            bail!("the picture {name} is not a file");
        }
        // One byte over the limit is enough for a refusal.
        let open = std::fs::File::open(path).with_context(unread)?;
        open.take(picture::FILE_MAX.0 + 1).read_to_end(&mut file).with_context(unread)?;
        Ok(Picture::read(name, file)?)
    };
    files.iter().map(read).collect()
}

/// Show the plan for a request, then stop
#[derive(Args)]
pub struct Plan {
    /// The request to plan, in plain words; `-` reads it from standard input
    request: String,
    /// Print one JSON object per line instead of text
    #[arg(long)]
    json: bool,
}

/// Carry out a request and stop after every stage for approval: reading, plan, context, each call and change, answer
#[derive(Args)]
pub struct Inspect {
    /// The request, in plain words; `-` reads it from standard input
    request: String,
    /// Print one JSON object per line instead of text; needs --yes
    #[arg(long)]
    json: bool,
    /// Show every stage and go on without asking
    #[arg(long)]
    yes: bool,
    /// agent: plan, act, answer; chat: look things up and answer, change nothing
    #[arg(long, default_value = "agent", value_parser = modes())]
    mode: Mode,
}

impl Ask {
    pub async fn run(self, app: &App) -> Result<()> {
        let text = read(self.request)?;
        let (mode, given, pictures) = (self.mode, given(&self.given, app)?, pictures(&self.pictures, app)?);
        if self.dry_run {
            turn(app, Op::Plan(Request { text, mode, given, pictures, ..Request::default() }), self.json, false)
                .await?;
            return super::fit::forecast(app, self.json);
        }
        turn(app, Op::Ask(Request { text, mode, given, pictures, ..Request::default() }), self.json, self.yes).await
    }
}

impl Inspect {
    pub async fn run(self, app: &App) -> Result<()> {
        if !self.yes && (self.json || !io::stdin().is_terminal()) {
            bail!(
                "inspect asks after every stage, but there is no terminal to ask on; --yes prints the stages and continues"
            );
        }
        let text = read(self.request)?;
        turn(app, Op::Ask(Request { text, mode: self.mode, inspects: true, ..Request::default() }), self.json, self.yes)
            .await
    }
}

impl Plan {
    pub async fn run(self, app: &App) -> Result<()> {
        let text = read(self.request)?;
        turn(app, Op::Plan(Request { text, ..Request::default() }), self.json, false).await
    }
}

/// The text of the request, read from standard input for `-`. Fails if it is empty or too long.
fn read(request: String) -> Result<String> {
    let text = match request.as_str() {
        "-" => {
            let mut bytes = Vec::new();
            std::io::stdin().take(REQUEST_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
            fits(bytes.len())?;
            String::from_utf8(bytes)
                .context("the request on standard input is not UTF-8; convert it, for example with iconv")?
        }
        _ => request,
    };
    check(&text)?;
    Ok(text)
}

/// Fails if a request is empty or too long.
pub(in crate::ui) fn check(text: &str) -> Result<()> {
    if text.trim().is_empty() {
        bail!(
            "the request is empty; say what to do, for example: monobloc ask \"Read README.md and tell me what it is about\""
        );
    }
    fits(text.len())
}

/// Fails if a request of `bytes` is too long. At most one byte over the limit is read from standard
/// input, so the message does not give the length.
fn fits(bytes: usize) -> Result<()> {
    if bytes > REQUEST_BYTES_MAX {
        bail!(
            "the request is longer than {REQUEST_BYTES_MAX} bytes; put long text into a file of the project and name the file"
        );
    }
    Ok(())
}

/// Runs `op` and prints its events until the turn ends.
async fn turn(app: &App, op: Op, json: bool, yes: bool) -> Result<()> {
    let mut printer = Printer::new(json);
    let is_watched = io::stdout().is_terminal() || io::stderr().is_terminal();
    let app = if is_watched { app.clone() } else { app.in_background() };
    let session = session(&app, "monobloc ask", json)?;
    let mut messages = session.submit(op);
    while let Some(message) = messages.recv().await {
        match message {
            Message::Record(record) => {
                printer.print(&record)?;
                if matches!(record.event, Event::TurnFinished(_)) {
                    return Ok(());
                }
            }
            Message::Approve { proposal, reply } => {
                let decision = printer.consent(proposal, yes)?;
                // This fails if the turn was cancelled in the meantime and so needs no decision.
                let _: Result<(), Decision> = reply.send(decision);
            }
            Message::Failed(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A session on the project with models, tools and a refreshed index; prints notes about missing
/// parts.
pub(super) fn session(app: &App, command: &'static str, json: bool) -> Result<Session> {
    let bar = super::index::bar(!json);
    let session = open::session(app, command, &mut |told| match told {
        Told::Note(note) => bar.suspend(|| super::warn(note)),
        Told::Indexing(progress) => super::index::show(&bar, progress),
    });
    bar.finish_and_clear();
    session
}
