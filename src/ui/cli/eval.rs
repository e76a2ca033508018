//! `monobloc eval`: measures on suites of cases how often tools, plans and code are right and requests are carried out.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::Value;

use crate::app::App;
use crate::base::config::setting::Kind;
use crate::base::config::{Origin, Settings};
use crate::measure::eval::plans::Makers;
use crate::measure::eval::search::Question;
use crate::measure::eval::work::agent::Agent;
use crate::measure::eval::{self, Suite};
use crate::tools::Catalog;

/// Measure tool choice, planning, code search, call graph or whole requests on a suite of cases
#[derive(Args)]
pub struct Eval {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Tool and arguments for requests of one step
    Tools(Files),
    /// Features of requests and tools, to train the ranking of tools on (scripts/train-head)
    Features(Files),
    /// Steps and tools for requests of several parts
    Plans(Plans),
    /// Call edges of a project, on a fresh index
    Edges(Edges),
    /// Files that answer questions about a project, on a fresh index
    Search(Search),
    /// Definitions found by the first sentence of their comment, which is removed first
    Pairs(Pairs),
    /// Everyday requests carried out on copies of projects, each checked by a command
    Work(Work),
}

// What is told beside the figures.
#[derive(Args)]
struct Told {
    /// Write what was found for every case, one JSON object per line
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print only the line of figures
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Edges {
    /// True calls, one JSON object per line: {"caller", "caller_file", "callee", "callee_file"}
    #[arg(long, value_name = "FILE")]
    suite: PathBuf,
    /// The project that the suite's paths are relative to; its index is made in a temporary folder
    #[arg(long, value_name = "DIR")]
    root: PathBuf,
    #[command(flatten)]
    told: Told,
}

#[derive(Args)]
struct Search {
    /// Questions: a JSON array of {query, relevant, secondary, category}
    #[arg(long, value_name = "FILE")]
    suite: PathBuf,
    /// The project that the suite's paths are relative to; its index is made in a temporary folder
    #[arg(long, value_name = "DIR")]
    root: PathBuf,
    /// Search by words and graph only, without the embedder
    #[arg(long)]
    lexical: bool,
    #[command(flatten)]
    told: Told,
}

#[derive(Args)]
struct Pairs {
    /// The project; it is not written to
    #[arg(long, value_name = "DIR")]
    root: PathBuf,
    /// Most questions to ask
    #[arg(long, value_name = "N", default_value_t = 500)]
    limit: usize,
    /// Search by words and graph only, without the embedder
    #[arg(long)]
    lexical: bool,
    #[command(flatten)]
    told: Told,
}

#[derive(Args)]
struct Work {
    /// Cases, one JSON object per line: {"id", "project", "request", "check", "kind"?, "setup"?, "touch"?}
    #[arg(long, value_name = "FILE")]
    suite: PathBuf,
    /// The folder with the projects, which are copied; scripts/fetch-suites fetches those of tests/data/work
    #[arg(long, value_name = "DIR")]
    root: PathBuf,
    /// Run only cases whose id contains this
    #[arg(long, value_name = "SUBSTRING")]
    only: Option<String>,
    /// Run another agent: a bash command with {project} and {request} in it; what it prints is its answer
    #[arg(long, value_name = "COMMAND")]
    agent: Option<String>,
    /// Seconds per case after which the agent is ended
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    limit_s: u64,
    #[command(flatten)]
    told: Told,
}

#[derive(Args)]
struct Plans {
    #[command(flatten)]
    files: Files,
    /// Divide requests by the planner model alone instead of by clause rules
    #[arg(long)]
    planner_only: bool,
}

#[derive(Args)]
struct Files {
    /// Tools to choose from: a JSON array of {name, description, server, server_description, mutates, parameters}
    /// [default: the built-in tools, with the index of the project if it has one]
    #[arg(long, value_name = "FILE")]
    catalog: Option<PathBuf>,
    /// Cases, one JSON object per line: {"id", "prompt", "expected", "arguments"?} or {"id", "prompt", "chain"}; a case
    /// with `tools`, an array as in --catalog, offers only these
    #[arg(long, value_name = "FILE")]
    suite: PathBuf,
    #[command(flatten)]
    told: Told,
}

impl Eval {
    pub async fn run(self, app: &App, settings: &Settings) -> Result<()> {
        let read = |files: &Files| {
            let (registry, embedder) = (app.registry()?, super::embedder(app));
            let toolkit = match files.catalog.as_deref().map(Catalog::from_json).transpose()? {
                Some(catalog) => app.toolkit_for(catalog, app.pool(registry), embedder, None, None)?,
                None => app.toolkit_of_project(app.pool(registry), embedder)?,
            };
            anyhow::Ok((toolkit, Suite::read(&files.suite)?))
        };
        let figures = match self.what {
            What::Tools(files) => {
                let (toolkit, suite) = read(&files)?;
                eval::tools::run(&toolkit, &suite, files.told.out.as_deref(), !files.told.json).await?
            }
            What::Features(files) => {
                let (toolkit, suite) = read(&files)?;
                eval::features::run(&toolkit, &suite, files.told.out.as_deref()).await?
            }
            What::Plans(Plans { files, planner_only }) => {
                let (toolkit, suite) = read(&files)?;
                let makers = if planner_only { Makers::Planner } else { Makers::Floor };
                eval::plans::run(&toolkit, &suite, makers, files.told.out.as_deref(), !files.told.json).await?
            }
            What::Edges(Edges { suite, root, told }) => {
                let suite = eval::edges::read(&suite)?;
                let (out, talk) = (told.out.as_deref(), !told.json);
                eval::edges::run(&eval::edges::Run { root: &root, out, talk, cancel: &app.cancel }, &suite)?
            }
            What::Search(Search { suite, root, lexical, told }) => {
                let questions = eval::search::read(&suite, &root)?;
                search(app, &root, &questions, lexical, &told)?
            }
            What::Pairs(Pairs { root, limit, lexical, told }) => {
                let stripped = tempfile::tempdir()?;
                let questions = eval::pairs::make(&root, stripped.path(), limit, &app.cancel)?;
                if questions.is_empty() {
                    anyhow::bail!("{} has no definition with a comment of five words or more", root.display());
                }
                search(app, stripped.path(), &questions, lexical, &told)?
            }
            What::Work(work) => work.run(app, settings)?,
        };
        println!("{figures}");
        Ok(())
    }
}

fn search(app: &App, root: &Path, questions: &[Question], lexical: bool, told: &Told) -> Result<Value> {
    let embedder = if lexical { None } else { super::embedder(app) };
    let (embedder, out, talk) = (embedder.as_ref(), told.out.as_deref(), !told.json);
    eval::search::run(&eval::search::Run { root, embedder, out, talk, cancel: &app.cancel }, questions)
}

impl Work {
    fn run(self, app: &App, settings: &Settings) -> Result<Value> {
        let agent = match &self.agent {
            Some(line) => Agent::other(line)?,
            None => Agent::own(setting_flags(settings))?,
        };
        let run = eval::work::Run {
            root: &self.root,
            only: self.only.as_deref(),
            out: self.told.out.as_deref(),
            agent: &agent,
            limit: Duration::from_secs(self.limit_s),
            talk: !self.told.json,
            cancel: &app.cancel,
        };
        eval::work::run(&run, &eval::work::read(&self.suite)?)
    }
}

/// The setting flags of this command line, to pass on to the agent's process. Environment variables are inherited, and
/// `--project` differs for each case.
fn setting_flags(settings: &Settings) -> Vec<String> {
    let given = settings.values.iter().filter(|one| one.origin == Origin::Flag && one.setting.flag != "project");
    given
        .flat_map(|one| match (&one.value, one.setting.kind) {
            (Some(value), kind) if kind != Kind::Switch => vec![format!("--{}={value}", one.setting.flag)],
            _ => vec![format!("--{}", one.setting.flag)],
        })
        .collect()
}
