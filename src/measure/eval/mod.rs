//! Runs suites of cases: how often tools, arguments, plans and code are found, and how often requests are carried out.

pub mod dialects;
pub mod edges;
pub mod features;
pub mod pairs;
pub mod plans;
mod ranking;
pub mod search;
pub mod templates;
pub mod tools;
pub mod work;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::jsonl;
use super::rejecting::RejectingHost;
use super::statistics::percentile;
use crate::agent::Toolkit;
use crate::tools::{Catalog, ToolSpec};

/// One case of a tool suite or a plan suite.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    pub id: String,
    pub prompt: String,
    /// For a tool suite: the right tools; empty if the request needs none.
    #[serde(default)]
    pub expected: Option<Vec<String>>,
    #[serde(default)]
    pub arguments: Option<Map<String, Value>>,
    /// The only tools on offer in this case, instead of the catalogue's.
    #[serde(default)]
    pub tools: Option<Vec<ToolSpec>>,
    /// For a plan suite: the tools of the steps, in order.
    #[serde(default)]
    pub chain: Option<Vec<String>>,
}

impl Case {
    /// `toolkit`, with this case's own tools if it has any.
    async fn toolkit(&self, toolkit: &Toolkit) -> Result<Toolkit> {
        Ok(match &self.tools {
            Some(tools) => {
                let offered = Catalog::described(tools.clone()).with_context(|| format!("case {}", self.id))?;
                // A case's own tools do not operate on the project.
                Toolkit { index: None, context: None, ..toolkit.offering(offered).await? }
            }
            None => toolkit.clone(),
        })
    }
}

pub fn read(file: &Path) -> Result<Vec<Case>> {
    jsonl::read(file, r#"{"id", "prompt", …}"#)
}

/// The outputs of an evaluation in addition to its figures.
pub struct Report {
    /// Receives one prediction per line, as JSON.
    out: Option<BufWriter<File>>,
    /// Receives the human-readable lines.
    talk: Option<fn(&str)>,
}

impl Report {
    pub fn new(out: Option<&Path>, talk: Option<fn(&str)>) -> Result<Report> {
        let create = |file: &Path| File::create(file).with_context(|| format!("{} cannot be written", file.display()));
        Ok(Report { out: out.map(create).transpose()?.map(BufWriter::new), talk })
    }

    fn write(&mut self, prediction: &impl Serialize) -> Result<()> {
        if let Some(out) = &mut self.out {
            serde_json::to_writer(&mut *out, prediction)?;
            writeln!(out)?;
            // A long run that is ended early keeps its results.
            out.flush()?;
        }
        Ok(())
    }

    fn say(&self, line: impl FnOnce() -> String) {
        if let Some(talk) = self.talk {
            talk(&line());
        }
    }
}

/// `hits / cases` with three decimals; null without cases.
fn share(hits: usize, cases: usize) -> Value {
    share_of(hits as f64, cases)
}

fn share_of(sum: f64, cases: usize) -> Value {
    match cases {
        0 => Value::Null,
        cases => serde_json::json!((sum / cases as f64 * 1000.0).round() / 1000.0),
    }
}
