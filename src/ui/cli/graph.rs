//! `monobloc graph`: prints definitions, callers, callees, imports and paths of the project's code graph.

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::app::App;
use crate::ui::lookup::graph::{self, Question};

/// Show who calls, uses and imports whom, with the confidence of every edge
#[derive(Args)]
pub struct Graph {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Where a symbol is defined
    Definition(Symbol),
    /// Who calls a symbol
    Callers(Symbol),
    /// What a symbol calls
    Callees(Symbol),
    /// What a file, or the file of a symbol, imports
    Imports(Symbol),
    /// Which files import a file or a symbol
    Dependents(Symbol),
    /// What a change of a symbol may break: all that calls, uses, extends or imports it, directly or not
    Impact(Symbol),
    /// The shortest path from one symbol to another
    Path(Ends),
}

#[derive(Args)]
struct Symbol {
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

impl What {
    fn question(&self) -> (Question<'_>, &Form) {
        match self {
            What::Definition(Symbol { symbol, form }) => (Question::Definition(symbol), form),
            What::Callers(Symbol { symbol, form }) => (Question::Callers(symbol), form),
            What::Callees(Symbol { symbol, form }) => (Question::Callees(symbol), form),
            What::Imports(Symbol { symbol, form }) => (Question::Imports(symbol), form),
            What::Dependents(Symbol { symbol, form }) => (Question::Dependents(symbol), form),
            What::Impact(Symbol { symbol, form }) => (Question::Impact(symbol), form),
            What::Path(Ends { from, to, form }) => (Question::Path { from, to }, form),
        }
    }
}

impl Graph {
    pub fn run(self, app: &App) -> Result<()> {
        let (question, form) = self.what.question();
        let index = super::index::opened(app, None, !form.json)?;
        let answer = graph::answer(&index, question, form.depth)?;
        if form.json {
            answer.json(form.limit).iter().for_each(|line| println!("{line}"));
        } else {
            print!("{}", answer.text(form.limit));
        }
        if answer.left_out(form.limit) > 0 {
            let (more, all) = (answer.left_out(form.limit), answer.count());
            eprintln!("monobloc: note: {more} more; --limit {all} shows all");
        }
        Ok(())
    }
}
