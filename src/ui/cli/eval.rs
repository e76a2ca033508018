//! `monobloc eval`: measures on suites how often tools, plans and code are right and requests succeed.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};

use crate::app::App;
use crate::config::setting::Kind as SettingKind;
use crate::config::{Origin, Settings};
use crate::measure::eval::work::agent::Agent;
use crate::measure::eval::work::words::Replies;
use crate::measure::eval::{self, Report};
use crate::tools::Catalog;

/// Measure tool choice, planning, code search, call graph or whole requests on a suite of cases
#[derive(Args)]
pub struct Eval {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Tools and arguments for one-step requests
    Tools(Files),
    /// Features of requests and tools, for training the tool ranking (scripts/train-head)
    Features(Files),
    /// Steps and tools for requests with several parts
    Plans(Plans),
    /// Call edges of a project, on a fresh index
    Edges(Edges),
    /// Files that answer questions about a project, on a fresh index
    Search(Search),
    /// Definitions found by the first sentence of their comment, which is removed first
    Pairs(Pairs),
    /// Everyday requests carried out on copies of projects, each checked by a command
    Work(Work),
    /// Chat templates rendered with conversations, for comparison with Jinja2's output
    Templates(Templates),
    /// Replies of many model families, parsed into calls, text and thoughts using the notation of
    /// their chat templates
    Dialects(Dialects),
}

/// The measurement on a suite of requests.
enum Kind {
    Tools,
    Plans { planner_only: bool },
    Features,
}

#[derive(Args)]
struct Edges {
    /// Actual calls, one JSON object per line: {"caller", "caller_file", "callee", "callee_file"}
    #[arg(long, value_name = "FILE")]
    suite: PathBuf,
    /// The project to which the suite's paths are relative; its index is built in a temporary
    /// folder
    #[arg(long, value_name = "DIR")]
    root: PathBuf,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
struct Search {
    /// Questions: a JSON array of {query, relevant, secondary, category}
    #[arg(long, value_name = "FILE")]
    suite: PathBuf,
    /// The project to which the suite's paths are relative; its index is built in a temporary
    /// folder
    #[arg(long, value_name = "DIR")]
    root: PathBuf,
    /// Search by words and graph only, without the embedder
    #[arg(long)]
    lexical: bool,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
struct Pairs {
    /// The project, which is not modified
    #[arg(long, value_name = "DIR")]
    root: PathBuf,
    /// Maximum number of questions to ask
    #[arg(long, value_name = "N", default_value_t = 500)]
    limit: usize,
    /// Search by words and graph only, without the embedder
    #[arg(long)]
    lexical: bool,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
struct Work {
    /// Cases, one JSON object per line: {"id", "project", "request", "check", "kind"?, "setup"?, "touch"?}
    #[arg(long, value_name = "FILE")]
    suite: PathBuf,
    /// The folder with the projects to copy; scripts/fetch-suites fetches those for tests/data/work
    #[arg(long, value_name = "DIR")]
    root: PathBuf,
    /// Run only cases whose id contains this text
    #[arg(long, value_name = "SUBSTRING")]
    only: Option<String>,
    /// Run another agent: a bash command that contains {project} and {request}; its output is the
    /// answer
    #[arg(long, value_name = "COMMAND")]
    agent: Option<String>,
    /// Time limit per case in seconds, after which the agent is killed
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    limit_s: u64,
    /// The planner is played by hand: its server's folder with NNN.reply.json; reports how much of
    /// the last reply is in the answer
    #[arg(long, value_name = "DIR")]
    replies: Option<PathBuf>,
    /// Write each case's answer and changes to this folder: ID.answer.txt, ID.patch
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
struct Templates {
    /// A folder with chat templates, *.jinja
    #[arg(long, value_name = "DIR")]
    templates: PathBuf,
    /// Inputs, one JSON object per line: {"id", "input": {"messages", "tools"?, "add_generation_prompt"?, "bos_token"?, …}}
    #[arg(long, value_name = "FILE")]
    suite: PathBuf,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
struct Dialects {
    /// Replies, one JSON object per line: {"id", "family", "text", "tools", "thinking_opened_by_prompt"}
    #[arg(long, value_name = "FILE")]
    cases: PathBuf,
    /// A folder with families.json and the chat templates that it names
    #[arg(long, value_name = "DIR")]
    templates: PathBuf,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
struct Plans {
    #[command(flatten)]
    files: Files,
    /// Split requests with the planner model alone, without the rules that complete its steps
    #[arg(long)]
    planner_only: bool,
}

#[derive(Args)]
struct Files {
    /// Tools to choose from: a JSON array of {name, description, server, mutates, parameters}
    /// [default: the built-in tools, with the project's index if it has one]
    #[arg(long, value_name = "FILE")]
    catalog: Option<PathBuf>,
    /// Cases, one JSON object per line: {"id", "prompt", "expected", "arguments"?} or {"id",
    /// "prompt", "chain"}; a case with `tools`, an array as in --catalog, offers only those
    #[arg(long, value_name = "FILE")]
    suite: PathBuf,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
struct Output {
    /// Write the findings for every case, one JSON object per line
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print only the line with the figures
    #[arg(long)]
    json: bool,
}

impl Output {
    fn report(&self) -> Result<Report> {
        Report::new(self.out.as_deref(), (!self.json).then_some(|line| putln!("{line}")))
    }
}

impl Eval {
    pub async fn run(self, app: &App, settings: &Settings) -> Result<()> {
        let (files, kind) = match self.what {
            What::Tools(files) => (files, Kind::Tools),
            What::Features(files) => (files, Kind::Features),
            What::Plans(Plans { files, planner_only }) => (files, Kind::Plans { planner_only }),
            What::Edges(edges) => return edges.run(app),
            What::Search(search) => return search.run(app),
            What::Pairs(pairs) => return pairs.run(app),
            What::Work(work) => return work.run(app, settings),
            What::Templates(templates) => return templates.run(),
            What::Dialects(dialects) => return dialects.run(),
        };
        let (registry, embedder) = (app.registry()?, super::embedder(app));
        let toolkit = match files.catalog.as_deref().map(catalog).transpose()? {
            Some(catalog) => app.toolkit_for(catalog, app.pool(registry), embedder, None, None)?,
            None => app.toolkit_of_project(app.pool(registry), embedder)?,
        };
        let (cases, mut report) = (eval::read(&files.suite)?, files.output.report()?);
        let figures = match kind {
            Kind::Tools => eval::tools::run(&toolkit, &cases, &mut report).await?,
            Kind::Plans { planner_only } => eval::plans::run(&toolkit, &cases, planner_only, &mut report).await?,
            Kind::Features => eval::features::run(&toolkit, &cases, &mut report).await?,
        };
        putln!("{figures}");
        Ok(())
    }
}

impl Edges {
    fn run(self, app: &App) -> Result<()> {
        let suite = eval::edges::read(&self.suite)?;
        putln!("{}", eval::edges::run(&self.root, &suite, &mut self.output.report()?, &app.cancel)?);
        Ok(())
    }
}

impl Search {
    fn run(self, app: &App) -> Result<()> {
        let embedder = if self.lexical { None } else { super::embedder(app) };
        let questions = eval::search::read(&self.suite, &self.root)?;
        let mut report = self.output.report()?;
        putln!(
            "{}",
            eval::search::run(&self.root, (embedder.as_ref(), app.judges()), &questions, &mut report, &app.cancel)?
        );
        Ok(())
    }
}

impl Pairs {
    fn run(self, app: &App) -> Result<()> {
        let embedder = if self.lexical { None } else { super::embedder(app) };
        let stripped = tempfile::tempdir()?;
        let questions = eval::pairs::make(&self.root, stripped.path(), self.limit, &app.cancel)?;
        if questions.is_empty() {
            anyhow::bail!("{} has no definition with a comment of five words or more", self.root.display());
        }
        let mut report = self.output.report()?;
        putln!(
            "{}",
            eval::search::run(stripped.path(), (embedder.as_ref(), None), &questions, &mut report, &app.cancel)?
        );
        Ok(())
    }
}

impl Dialects {
    fn run(self) -> Result<()> {
        let cases = eval::dialects::read(&self.cases)?;
        putln!("{}", eval::dialects::run(&self.templates, &cases, &mut self.output.report()?)?);
        Ok(())
    }
}

impl Templates {
    fn run(self) -> Result<()> {
        let conversations = eval::templates::read(&self.suite)?;
        putln!("{}", eval::templates::run(&self.templates, &conversations, &mut self.output.report()?)?);
        Ok(())
    }
}

impl Work {
    fn run(self, app: &App, settings: &Settings) -> Result<()> {
        let agent = match &self.agent {
            Some(line) => Agent::other(line)?,
            None => Agent::own(setting_flags(settings))?,
        };
        let replies = self.replies.as_deref().map(Replies::new).transpose()?;
        let run = eval::work::Run {
            root: &self.root,
            only: self.only.as_deref(),
            agent: &agent,
            limit: Duration::from_secs(self.limit_s),
            replies: replies.as_ref(),
            keep: self.keep.as_deref(),
            cancel: &app.cancel,
        };
        putln!("{}", eval::work::run(&run, &eval::work::read(&self.suite)?, &mut self.output.report()?)?);
        Ok(())
    }
}

/// The setting flags on this command line, to be passed on to the agent's process. Environment
/// variables are inherited, and `--project` differs in each case.
fn setting_flags(settings: &Settings) -> Vec<OsString> {
    let given = settings.values.iter().filter(|one| one.origin == Origin::Flag && one.setting.flag != "project");
    given
        .flat_map(|one| match (&one.value, one.setting.kind) {
            (Some(value), kind) if kind != SettingKind::Switch => {
                let mut flag = OsString::from(format!("--{}=", one.setting.flag));
                flag.push(value);
                vec![flag]
            }
            _ => vec![format!("--{}", one.setting.flag).into()],
        })
        .collect()
}

/// The tools in a catalogue file.
fn catalog(file: &Path) -> Result<Catalog> {
    let bytes = fs::read(file).with_context(|| format!("tool catalogue {}", file.display()))?;
    let specs = serde_json::from_slice(&bytes).with_context(|| {
        format!("{} is not a JSON array of {{name, description, server, parameters}}", file.display())
    })?;
    Ok(Catalog::described(specs)?)
}
