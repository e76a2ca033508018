//! `monobloc graph`: prints callers, callees, imports and paths of the project's code graph.

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use console::style;

use crate::app::App;
use crate::index::{Graph as CodeGraph, Index, Neighbour, Reach, Reached, Unresolved};

/// Show who calls, uses and imports whom, with the confidence of every edge
#[derive(Args)]
pub struct Graph {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Who calls a symbol
    Callers(Question),
    /// What a symbol calls
    Callees(Question),
    /// What a file, or the file of a symbol, imports
    Imports(Question),
    /// Which files import a file or a symbol
    Dependents(Question),
    /// What a change of a symbol may break: all that calls, uses, extends or imports it, directly or not
    Impact(Question),
    /// The shortest path from one symbol to another
    Path(Ends),
}

#[derive(Args)]
struct Question {
    /// A name, Container.name, path::name, path:line, or the path of a file
    symbol: String,
    #[command(flatten)]
    form: Form,
}

#[derive(Args)]
struct Ends {
    /// Where the path begins: a name, Container.name, path::name, path:line, or the path of a file
    from: String,
    /// Where the path ends
    to: String,
    #[command(flatten)]
    form: Form,
}

#[derive(Args)]
struct Form {
    /// Most steps to follow [default: 1 for callers and callees, 4 for impact, 12 for path]
    #[arg(long, value_name = "N")]
    depth: Option<u8>,
    /// Most lines to show
    #[arg(short = 'n', long, default_value_t = 100)]
    limit: usize,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// Unresolved references that are listed; the others are only counted.
const UNKNOWN_SHOWN: usize = 20;

impl Graph {
    pub fn run(self, app: &App) -> Result<()> {
        let form = match &self.what {
            What::Callers(q) | What::Callees(q) | What::Imports(q) | What::Dependents(q) | What::Impact(q) => &q.form,
            What::Path(ends) => &ends.form,
        };
        let index = super::index::opened(app, None, !form.json)?;
        let graph = index.graph()?;
        let answer = Answer { index: &index, graph: &graph, json: form.json, limit: form.limit };
        let reach = |depth: u8| Reach { steps_max: form.depth.unwrap_or(depth).into(), count_max: usize::MAX };
        match &self.what {
            What::Callers(q) => {
                graph.only(&q.symbol)?;
                answer.reached("callers", &q.symbol, &graph.callers_within(&q.symbol, reach(1)));
                answer.maybe_called(&q.symbol)?;
            }
            What::Callees(q) => {
                graph.only(&q.symbol)?;
                answer.reached("calls", &q.symbol, &graph.callees_within(&q.symbol, reach(1)));
                answer.calls_unknown(&q.symbol)?;
            }
            What::Imports(q) => {
                graph.known(&q.symbol)?;
                answer.neighbours("imports", &q.symbol, &graph.imports(&q.symbol));
            }
            What::Dependents(q) => {
                graph.only(&q.symbol)?;
                answer.neighbours("dependents", &q.symbol, &graph.dependents(&q.symbol));
            }
            What::Impact(q) => {
                graph.only(&q.symbol)?;
                answer.reached("affected by", &q.symbol, &graph.impact(&q.symbol, reach(4)));
                answer.maybe_called(&q.symbol)?;
            }
            What::Path(ends) => {
                graph.only(&ends.from)?;
                graph.only(&ends.to)?;
                let steps = graph.path(&ends.from, &ends.to, reach(12).steps_max);
                if steps.is_empty() {
                    bail!("no way from {} to {} within {} steps", ends.from, ends.to, reach(12).steps_max);
                }
                answer.reached("way", &format!("{} to {}", ends.from, ends.to), &steps);
            }
        }
        Ok(())
    }
}

/// Prints the answers to one question.
struct Answer<'a> {
    index: &'a Index,
    graph: &'a CodeGraph,
    json: bool,
    limit: usize,
}

impl Answer<'_> {
    fn reached(&self, what: &str, symbol: &str, all: &[Reached]) {
        self.title(all.len(), what, symbol);
        for one in all.iter().take(self.limit) {
            let by = if one.steps > 1 { format!(" by {}", one.by) } else { String::new() };
            self.line(&one.near, one.steps, one.confidence, &by);
        }
        self.rest(all.len());
    }

    fn neighbours(&self, what: &str, symbol: &str, all: &[Neighbour]) {
        self.title(all.len(), what, symbol);
        all.iter().take(self.limit).for_each(|one| self.line(one, 1, one.confidence, ""));
        self.rest(all.len());
    }

    fn title(&self, count: usize, what: &str, symbol: &str) {
        if !self.json {
            let meant = self.graph.candidates(symbol).into_iter().next().map(|(handle, _)| handle);
            println!("{count} {what} {}", meant.as_deref().unwrap_or(symbol));
        }
    }

    fn rest(&self, count: usize) {
        if count > self.limit {
            eprintln!("monobloc: note: {} more; --limit {count} shows all", count - self.limit);
        }
    }

    fn line(&self, near: &Neighbour, steps: usize, confidence: f64, by: &str) {
        let node = &near.node;
        if self.json {
            println!("{}", self.graph.row(near, steps, confidence));
            return;
        }
        println!(
            "{}{} {} {}",
            "  ".repeat(steps),
            style(format!("{}:{}", node.path, node.start)).cyan(),
            node.name,
            style(format!(
                "{} · {} at line {}{by} · {confidence:.2} {}",
                node.kind,
                near.kind.name(),
                near.line,
                near.reason
            ))
            .dim()
        );
    }

    /// Prints calls of the symbol's name whose target is not known: each may be another caller.
    fn maybe_called(&self, symbol: &str) -> Result<()> {
        self.unknown("perhaps also called at", &self.index.perhaps_called(self.graph, symbol)?);
        Ok(())
    }

    /// Prints calls made by the symbol whose target is not known.
    fn calls_unknown(&self, symbol: &str) -> Result<()> {
        self.unknown("calls that lead nowhere known", &self.index.calls_nowhere(self.graph, symbol)?);
        Ok(())
    }

    fn unknown(&self, title: &str, all: &[Unresolved]) {
        if self.json {
            all.iter().for_each(|one| println!("{}", one.row()));
            return;
        }
        if !all.is_empty() {
            println!("{title} ({}):", all.len());
        }
        for Unresolved { name, path, line, reason } in all.iter().take(UNKNOWN_SHOWN) {
            println!("  {} {name} {}", style(format!("{path}:{line}")).cyan(), style(reason).dim());
        }
        if all.len() > UNKNOWN_SHOWN {
            println!("  … {} more", all.len() - UNKNOWN_SHOWN);
        }
    }
}
