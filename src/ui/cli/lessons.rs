//! `monobloc lessons`: lists, searches, adds and forgets the lessons of a project.

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use console::style;
use serde_json::json;

use crate::app::App;
use crate::base::visible;
use crate::embed::Purpose;
use crate::lessons::{Lesson, Solution, Stored};

/// List, search, add or forget the lessons learned in this project
#[derive(Args)]
pub struct Lessons {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List the newest lessons, including failed ones
    List {
        /// Lessons to show
        #[arg(short = 'n', long, default_value_t = 20)]
        limit: usize,
        /// Print one JSON object per lesson
        #[arg(long)]
        json: bool,
    },
    /// Find lessons for a problem like this one, as the next request would
    Search {
        problem: String,
        /// Lessons to show
        #[arg(short = 'n', long, default_value_t = 5)]
        limit: usize,
        /// Print one JSON object per lesson
        #[arg(long)]
        json: bool,
    },
    /// Add a lesson
    Add {
        problem: String,
        /// The solution to the problem, in words; requests use it only with --tool
        solution: String,
        /// The tool that solves it
        #[arg(long)]
        tool: Option<String>,
        /// Why it works
        #[arg(long, default_value = "")]
        why: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Forget lessons, for example l3
    Forget {
        /// Names as shown by `monobloc lessons list`
        #[arg(required_unless_present = "all")]
        names: Vec<String>,
        /// Forget every lesson of the project
        #[arg(long, conflicts_with = "names")]
        all: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

impl Lessons {
    pub fn run(self, app: &App) -> Result<()> {
        let lessons = app.lessons()?;
        let vector = |text: &str| -> Result<Option<Vec<f32>>> {
            let Some(embedder) = super::embedder(app) else { return Ok(None) };
            Ok(embedder.embed(&[text.to_owned()], Purpose::Query, &app.cancel)?.into_iter().next())
        };
        match self.verb {
            Verb::List { limit, json } => {
                let all = lessons.list(limit)?;
                if all.is_empty() && !json {
                    putln!("no lessons yet; calls that work in the single-model loop become lessons");
                }
                all.iter().for_each(|stored| show(stored, None, json));
            }
            Verb::Search { problem, limit, json } => {
                let found = lessons.search(&problem, vector(&problem)?.as_deref(), limit)?;
                if found.is_empty() && !json {
                    putln!("no lesson relates to that");
                }
                found.iter().for_each(|found| show(&found.stored, Some(found.score), json));
            }
            Verb::Add { problem, solution, tool, why, json } => {
                if problem.trim().is_empty() || solution.trim().is_empty() {
                    bail!("a lesson needs a problem and a solution, both non-empty texts");
                }
                let solution = match tool {
                    Some(tool) => Solution { tool, wording: solution, ..Solution::default() }.to_text(),
                    None => solution,
                };
                let vector = vector(&problem)?;
                let lesson = Lesson { problem, solution, why_worked: why, success: true, vector, tokens_used: 0 };
                let name = format!("l{}", lessons.add(&lesson)?);
                if json { putln!("{}", json!({ "lesson": name })) } else { putln!("{name}") }
            }
            Verb::Forget { names, all, json } => {
                let ids: Vec<i64> = if all {
                    lessons.list(usize::MAX)?.iter().map(|stored| stored.id).collect()
                } else {
                    names.iter().map(|name| number(name)).collect::<Result<_>>()?
                };
                for id in &ids {
                    if !lessons.forget(*id)? {
                        bail!("there is no lesson l{id}; `monobloc lessons list` shows all");
                    }
                }
                let forgotten: Vec<String> = ids.iter().map(|id| format!("l{id}")).collect();
                match (json, forgotten.is_empty()) {
                    (true, _) => putln!("{}", json!({ "forgotten": forgotten })),
                    (false, true) => putln!("nothing to forget"),
                    (false, false) => putln!("forgotten: {}", forgotten.join(", ")),
                }
            }
        }
        Ok(())
    }
}

fn number(name: &str) -> Result<i64> {
    match name.strip_prefix('l').unwrap_or(name).parse() {
        Ok(id) => Ok(id),
        Err(_) => bail!("`{name}` is not a lesson; they are called l1, l2, …"),
    }
}

fn show(stored: &Stored, score: Option<f32>, json: bool) {
    let Stored { lesson, failures, created, .. } = stored;
    if json {
        putln!(
            "{}",
            json!({
                "lesson": stored.name(), "problem": lesson.problem, "solution": lesson.solution, "why": lesson.why_worked,
                "tokens": lesson.tokens_used, "success": lesson.success, "failures": failures, "time": created,
                "score": score, "has_vector": lesson.vector.is_some(),
            })
        );
        return;
    }
    let score = score.map_or(String::new(), |score| format!(" {score:.2}"));
    let failed = if *failures > 0 { format!(" (failed {failures} times since)") } else { String::new() };
    putln!("{}{score}  {}{failed}", style(stored.name()).cyan(), visible(&lesson.problem));
    let solution = match Solution::read(&lesson.solution) {
        Some(call) => {
            let arguments = call.arguments.iter().map(|(name, value)| format!("{name}={value}"));
            format!("{}({})", call.tool, arguments.collect::<Vec<_>>().join(", "))
        }
        None => lesson.solution.clone(),
    };
    say!("    {solution}");
    putln!("    {}", style(format!("{} · {} tokens", visible(&lesson.why_worked), lesson.tokens_used)).dim());
}
