//! Compares the memory a model was predicted to take with what the system counts, in a fresh process each time.
//!
//! Every cell of every slot is filled by really decoding a prompt of that length. Left out: grammars, tools, index and
//! embedder, which other parts of the program load when they need them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::base::{Bytes, Cancel};
use crate::budget::permit::Priority;
use crate::budget::{Estimate, estimate, process};
use crate::engine::pool::Pool;
use crate::engine::{Engine, Request};
use crate::measure::complete;
use crate::models::dialect::Prompt;

/// One fresh process: which model, and how it is loaded.
#[derive(Clone, Debug)]
pub struct Case {
    pub file: PathBuf,
    /// Tokens a slot.
    pub context: u32,
    pub slots: u8,
    pub kv_type: String,
}

/// What one case gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    pub file: PathBuf,
    pub context: u32,
    pub slots: u8,
    pub predicted_bytes: Bytes,
    /// `RssAnon`: memory of the process's own.
    pub anon_bytes: Bytes,
    /// `RssFile`: weights and program code as they lie in files.
    pub mapped_bytes: Bytes,
    pub kv_type: String,
    /// Whether matrices were copied into another order.
    pub repacked: bool,
    /// What the prediction is made of.
    pub parts: String,
}

impl Row {
    pub fn measured(&self) -> Bytes {
        self.anon_bytes + self.mapped_bytes
    }

    /// Whether predicted and measured differ by no more than 3 % or 8 MiB, whichever is more.
    pub fn is_exact(&self) -> bool {
        let allowed = Bytes(self.measured().0 / 100 * 3).max(Bytes::mib(8));
        self.predicted_bytes.0.abs_diff(self.measured().0) <= allowed.0
    }

    /// Predicted less measured, with its sign.
    pub fn difference(&self) -> String {
        let (predicted, measured) = (self.predicted_bytes, self.measured());
        match predicted >= measured {
            true => format!("+{}", predicted - measured),
            false => format!("-{}", measured - predicted),
        }
    }
}

/// The program to start for every case, and its settings that matter.
#[derive(Clone, Debug)]
pub struct Child {
    pub program: PathBuf,
    pub threads: usize,
    pub budget: Option<Bytes>,
    pub repack: bool,
}

/// Longest time a case may take: filling four slots of a 24B takes minutes on two cores.
const CASE_TIME_MAX: Duration = Duration::from_secs(3600);

/// Runs `case` in a process of its own and reads the row that it prints.
pub async fn run(child: &Child, case: &Case, cancel: &Cancel) -> Result<Row> {
    let mut command = tokio::process::Command::new(&child.program);
    command.args(["bench", "memory-child"]).arg(&case.file).args(["--kv-type", &case.kv_type]);
    command.args(["--context", &case.context.to_string(), "--slots", &case.slots.to_string()]);
    command.args(["--threads", &child.threads.to_string()]);
    if let Some(budget) = child.budget {
        command.args(["--budget", &budget.0.to_string()]);
    }
    if !child.repack {
        command.arg("--no-repack");
    }
    command.stdin(std::process::Stdio::null()).kill_on_drop(true);
    let output = tokio::select! {
        output = tokio::time::timeout(CASE_TIME_MAX, command.output()) => output,
        () = crate::orchestrate::toolkit::cancelled(cancel) => bail!("cancelled"),
    };
    let name = case.file.display();
    let output = output.with_context(|| format!("{name}: filling it took longer than {CASE_TIME_MAX:?}"))?;
    let output = output.with_context(|| format!("{} could not be started", child.program.display()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    match said.lines().last().map(serde_json::from_str) {
        Some(Ok(row)) if output.status.success() => Ok(row),
        _ => {
            let why = String::from_utf8_lossy(&output.stderr);
            let why = why.lines().last().unwrap_or("it said nothing").trim_start_matches("monobloc: ");
            bail!("{name} with {} × {} tokens: {why}", case.slots, case.context)
        }
    }
}

/// The child's part: loads, fills, and counts what this process holds.
pub async fn fill(pool: &Pool, case: Case, cancel: &Cancel) -> Result<Row> {
    let spec = complete::model(&case.file, usize::from(case.slots), case.context, &case.kv_type)?;
    let wanted = pool.wanted(&spec)?;
    let estimate = Estimate::of(&spec.header, &wanted);
    let engine = complete::load(pool, &spec, cancel).await?.engine;
    let mut running = JoinSet::new();
    for slot in 0..usize::from(case.slots) {
        running.spawn(occupy(engine.clone(), slot, wanted.context as usize));
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    let (anon_bytes, mapped_bytes) =
        process::anonymous_and_mapped().context("this system does not say what a process holds; only Linux does")?;
    drop(engine);
    Ok(Row {
        file: case.file,
        context: wanted.context,
        slots: case.slots,
        predicted_bytes: estimate.total() + estimate::PROCESS,
        anon_bytes,
        mapped_bytes,
        kv_type: case.kv_type,
        repacked: wanted.repack,
        parts: format!("{estimate}, process {}", estimate::PROCESS),
    })
}

/// Tokens that each slot generates behind its prompt, so that decoding is part of the picture.
const GENERATED: usize = 8;

/// Fills one slot to its last cell. Every slot begins differently, so that none is taken from another.
async fn occupy(engine: Engine, slot: usize, context: usize) -> Result<()> {
    let words = format!("{slot} {}", "the quick brown fox jumps over the lazy dog ".repeat(context / 8 + 1));
    let mut prompt = engine.tokenize(&Prompt::default().text(words));
    prompt.truncate(context.saturating_sub(GENERATED).max(1));
    let request = Request {
        priority: Priority::User,
        ignore_end: true,
        deadline: CASE_TIME_MAX,
        ..Request::new(prompt, GENERATED)
    };
    engine.generate(request)?.collect().await?;
    Ok(())
}

/// Every pairing of contexts and slots, for one file.
pub fn cases(file: &Path, kv_type: &str, contexts: &[u32], slots: &[u8]) -> Vec<Case> {
    let case = |context, slots| Case { file: file.to_owned(), context, slots, kv_type: kv_type.into() };
    contexts.iter().flat_map(|&context| slots.iter().map(move |&slots| case(context, slots))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(predicted: Bytes, measured: Bytes, expected: (bool, &str)) {
        let row = Row {
            file: "m.gguf".into(),
            context: 512,
            slots: 1,
            predicted_bytes: predicted,
            anon_bytes: measured,
            mapped_bytes: Bytes::ZERO,
            kv_type: "q8_0".into(),
            repacked: true,
            parts: String::new(),
        };
        assert_eq!((row.is_exact(), row.difference().as_str()), expected, "{predicted} {measured}");
    }

    #[test]
    fn a_row_is_exact_within_three_percent_or_eight_mebibytes() {
        check(Bytes::mib(108), Bytes::mib(100), (true, "+8.0 MiB"));
        check(Bytes::mib(109), Bytes::mib(100), (false, "+9.0 MiB"));
        check(Bytes::mib(971), Bytes::mib(1000), (true, "-29.0 MiB"));
        check(Bytes::mib(969), Bytes::mib(1000), (false, "-31.0 MiB"));
    }

    #[test]
    fn every_pairing_is_one_case() {
        let cases = cases(Path::new("a"), "q8_0", &[512, 2048], &[1, 2]);
        let told: Vec<String> =
            cases.iter().map(|c| format!("{}{}x{}", c.file.display(), c.slots, c.context)).collect();
        assert_eq!(told.join(" "), "a1x512 a2x512 a1x2048 a2x2048");
    }
}
