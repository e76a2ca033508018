//! Compares a model's predicted memory with the system's figures, in a fresh process for each case.
//!
//! Prompts fill every KV cell of every slot. For a model with layers on an accelerator, accelerator
//! memory is compared: the free memory that the driver reports before the load minus that after the
//! prompts. A dry run compares only the context's memory with what llama.cpp would allocate, for
//! models too large for this machine. Left out: grammars, tools, index and embedder, which other
//! parts of the program load when they need them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::base::{Bytes, Cancel};
use crate::budget::permit::Priority;
use crate::budget::{Estimate, estimate, process};
use crate::config::Exact;
use crate::engine::llama::{KvFormat, Shape, devices, rehearsal};
use crate::engine::pool::Pool;
use crate::engine::{Engine, Request};
use crate::measure::complete;
use crate::models::dialect::Prompt;

/// The model and settings of one fresh process.
#[derive(Clone, Debug)]
pub struct Case {
    pub file: PathBuf,
    /// Tokens per slot.
    pub context: u32,
    pub slots: u8,
    pub kv_type: String,
}

/// The figures of one case.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    #[serde(serialize_with = "crate::base::lossy")]
    pub file: PathBuf,
    pub context: u32,
    pub slots: u8,
    pub predicted_bytes: Bytes,
    /// `RssAnon`: private memory of the process.
    pub anon_bytes: Bytes,
    /// `RssFile`: weights and program code mapped from files.
    pub mapped_bytes: Bytes,
    /// Memory used on the accelerator if the model has layers there; `predicted_bytes` then also
    /// refers to that memory.
    pub device_bytes: Option<Bytes>,
    pub kv_type: String,
    /// Whether matrices were repacked for the CPU's kernels.
    pub repacked: bool,
    /// The components of the prediction, as text.
    pub parts: String,
}

impl Row {
    pub fn measured(&self) -> Bytes {
        self.device_bytes.unwrap_or(self.anon_bytes + self.mapped_bytes)
    }

    /// Whether predicted and measured memory differ by at most 3 %, or 8 MiB of host memory (32 MiB
    /// of an accelerator's), whichever is larger.
    pub fn is_exact(&self) -> bool {
        let floor = if self.device_bytes.is_some() { Bytes::mib(32) } else { Bytes::mib(8) };
        let allowed = Bytes(self.measured().0 / 100 * 3).max(floor);
        self.predicted_bytes.0.abs_diff(self.measured().0) <= allowed.0
    }

    /// Predicted minus measured memory, with its sign.
    pub fn difference(&self) -> String {
        let (predicted, measured) = (self.predicted_bytes, self.measured());
        if predicted >= measured { format!("+{}", predicted - measured) } else { format!("-{}", measured - predicted) }
    }
}

/// The program to start for every case, and the settings to pass to it.
#[derive(Clone, Debug)]
pub struct Child {
    pub program: PathBuf,
    pub threads: usize,
    pub budget: Option<Bytes>,
    pub repack: bool,
    /// Whether to allocate nothing and report what a context would take according to llama.cpp.
    pub dry: bool,
}

/// Maximum time for a case: filling four slots of a 24B model takes minutes on two cores.
const CASE_TIME_MAX: Duration = Duration::from_secs(3600);

/// Runs `case` in its own process and reads the row that it prints.
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
    if child.dry {
        command.arg("--dry");
    }
    command.stdin(std::process::Stdio::null()).kill_on_drop(true);
    let output = tokio::select! {
        output = tokio::time::timeout(CASE_TIME_MAX, command.output()) => output,
        () = cancel.cancelled() => bail!("cancelled"),
    };
    let name = case.file.display();
    let output = output.with_context(|| format!("{name}: filling it took longer than {CASE_TIME_MAX:?}"))?;
    let output = output.with_context(|| format!("{} could not be started", child.program.display()))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    match printed.lines().last().map(serde_json::from_str) {
        Some(Ok(row)) if output.status.success() => Ok(row),
        _ => {
            let why = String::from_utf8_lossy(&output.stderr);
            let why = why.lines().last().unwrap_or("it said nothing").trim_start_matches("monobloc: ");
            bail!("{name} with {} × {} tokens: {why}", case.slots, case.context)
        }
    }
}

/// Runs in the child process: loads the model, fills its slots, and measures the memory of this
/// process.
pub async fn fill(pool: &Pool, case: Case, cancel: &Cancel) -> Result<Row> {
    let spec = complete::model(&case.file, usize::from(case.slots), case.context, &case.kv_type)?;
    let wanted = pool.wanted(&spec)?;
    let estimate = Estimate::of(&spec.header, &wanted);
    let free = || devices::accelerator().map(|gpu| gpu.free);
    let free_before = free();
    let engine = complete::load(pool, &spec, cancel).await?.engine.clone();
    let loaded = pool.ledger().promised();
    let on_device = loaded.device;
    let mut running = JoinSet::new();
    for slot in 0..usize::from(case.slots) {
        running.spawn(occupy(engine.clone(), slot, wanted.context as usize));
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    let (anon_bytes, mapped_bytes) = process::anonymous_and_mapped()
        .context("this system does not report the memory of a process; only Linux does")?;
    let device_bytes = match (free_before, free()) {
        (Some(before), Some(after)) if on_device > Bytes::ZERO => Some(before.saturating_sub(after)),
        _ => None,
    };
    // Spare checkpoints are on the ledger only once they have been taken.
    let spares = pool.ledger().promised().host.saturating_sub(loaded.host);
    drop(engine);
    Ok(Row {
        file: case.file,
        context: wanted.context,
        slots: case.slots,
        predicted_bytes: device_bytes.map_or(estimate.total() + spares + estimate::PROCESS, |_| on_device),
        anon_bytes,
        mapped_bytes,
        device_bytes,
        kv_type: case.kv_type,
        repacked: wanted.repack,
        parts: format!("{estimate}, spare checkpoints {spares}, process {}", estimate::PROCESS),
    })
}

/// Runs in the child process: compares the memory of a context with what llama.cpp would allocate
/// for it.
pub fn rehearse(pool: &Pool, case: Case) -> Result<Row> {
    let spec = complete::model(&case.file, usize::from(case.slots), case.context, &case.kv_type)?;
    let wanted = pool.wanted(&spec)?;
    let estimate = Estimate::of(&spec.header, &wanted);
    let shape = Shape {
        slots: wanted.slots,
        context: wanted.context as usize,
        kv: KvFormat::by_name(&wanted.kv_type).context("an unknown KV type")?,
        flash: wanted.flash,
        threads: 1,
        chunk: wanted.rows as usize,
        exact: Exact::Auto,
    };
    let found = rehearsal::rehearse(&spec.header, &shape)?;
    let parts = [
        ("KV", estimate.kv, found.kv),
        ("state", estimate.state, found.state),
        // llama.cpp plans the graph, not the copies made inside a kernel.
        ("compute", estimate.compute, found.compute + estimate::copied_scores(&spec.header, &wanted)),
        ("output", estimate.output, found.output),
    ];
    let told = parts.map(|(name, predicted, found)| format!("{name} {predicted} for {found}"));
    Ok(Row {
        file: case.file,
        context: wanted.context,
        slots: case.slots,
        predicted_bytes: parts.iter().map(|(_, predicted, _)| *predicted).sum(),
        anon_bytes: parts.iter().map(|(.., found)| *found).sum(),
        mapped_bytes: Bytes::ZERO,
        device_bytes: None,
        kv_type: case.kv_type,
        repacked: wanted.repack,
        parts: told.join(", "),
    })
}

/// Tokens that each slot generates after its prompt, so that memory for decoding is measured too.
const GENERATED: usize = 8;

/// Fills one slot to its last cell. Every prompt begins differently, so that no slot reuses
/// another's cells.
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

/// A case for every combination of `contexts` and `slots`.
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
            device_bytes: None,
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
}
