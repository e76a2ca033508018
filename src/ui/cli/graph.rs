//! `monobloc graph`: prints definitions, callers, callees, imports and paths of the project's code graph.

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::app::App;
use crate::ui::lookup::graph::{self, KINDS, Kind, Question};

/// Show what calls, uses and imports what, with the confidence of every edge
#[derive(Args)]
pub struct Graph {
    /// The relation to show
    #[arg(value_parser = kinds())]
    what: Kind,
    /// A name, Container.name, path::name, path:line, or a file's path
    symbol: String,
    /// The end of a path
    #[arg(required_if_eq("what", "path"))]
    to: Option<String>,
    /// Maximum number of steps to follow [default: 1 for callers and callees, 4 for impact, 12 for path]
    #[arg(long, value_name = "N")]
    depth: Option<u8>,
    /// Maximum number of lines to show
    #[arg(short = 'n', long, default_value_t = 100)]
    limit: usize,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

fn kinds() -> impl TypedValueParser<Value = Kind> {
    let values = KINDS.map(|(_, name, about)| PossibleValue::new(name).help(about));
    PossibleValuesParser::new(values).try_map(|said| graph::kind(&said).ok_or("unknown relation"))
}

impl Graph {
    pub fn run(self, app: &App) -> Result<()> {
        if self.to.is_some() && self.what != Kind::Path {
            bail!("only `monobloc graph path` takes two symbols");
        }
        let index = super::index::opened(app, None, !self.json)?;
        let (what, symbol, to) = (self.what, self.symbol, self.to.unwrap_or_default());
        let answer = graph::answer(&index, &Question { what, symbol, to, depth: self.depth })?;
        if self.json {
            answer.json(self.limit).iter().for_each(|line| putln!("{line}"));
        } else {
            put!("{}", answer.text(self.limit));
        }
        if answer.left_out(self.limit) > 0 {
            let (more, all) = (answer.left_out(self.limit), answer.count());
            tell!("monobloc: note: {more} more; --limit {all} shows all");
        }
        Ok(())
    }
}
