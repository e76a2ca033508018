//! Loads, unloads and pins models on request, with progress events, and lists the models in memory.

use std::time::Instant;

use crate::agent::{Host, Remotes, Toolkit, TurnError};
use crate::engine::pool::{Active, Forecast, Pool, PoolError, Progress};
use crate::models::Role;
use crate::protocol::{Event, LoadingRow, Memory, ModelFile, ModelRow, ModelsOp};

/// Share of a load after which progress is reported again.
const SHARE_STEP: f32 = 0.05;

/// Carries out `op` on a blocking thread; emits `model-loading` for progress and `models-changed`
/// at the end.
pub async fn carry_out(toolkit: &Toolkit, op: ModelsOp, host: &dyn Host) -> Result<(), TurnError> {
    let (pool, cancel) = (toolkit.pool.clone(), toolkit.cancel.clone());
    let role = match &op {
        ModelsOp::Load(name) => name.clone(),
        ModelsOp::Swap(from, _) => from.clone(),
        ModelsOp::Unload(_) | ModelsOp::Pin(_) | ModelsOp::Unpin(_) => String::new(),
    };
    let (shares, mut reported) = tokio::sync::mpsc::unbounded_channel();
    let mut last = f32::NEG_INFINITY;
    let progress: Progress = Box::new(move |file, share| {
        if share - last >= SHARE_STEP || share >= 1.0 {
            last = share;
            // This fails if the receiver is gone and needs no progress.
            let _ = shares.send((file.to_owned(), share));
        }
        !cancel.is_cancelled()
    });
    let work = tokio::task::spawn_blocking(move || change(&pool, &op, progress));
    while let Some((file, share)) = reported.recv().await {
        host.emit(Event::ModelLoading { role: role.clone(), file, share });
    }
    let changed = work.await.map_err(|error| TurnError::Lost(error.to_string()))?;
    if toolkit.cancel.is_cancelled() && changed.is_err() {
        return Err(TurnError::Cancelled);
    }
    let text = changed?;
    host.emit(Event::ModelsChanged { text, memory: memory(&toolkit.pool, &toolkit.remotes, &toolkit.pool.active()) });
    Ok(())
}

fn change(pool: &Pool, op: &ModelsOp, progress: Progress) -> Result<String, PoolError> {
    let from = Instant::now();
    let took = |what: String| format!("{what}, in {:.1} s", from.elapsed().as_secs_f64());
    Ok(match op {
        ModelsOp::Load(name) => took(format!("loaded {}", in_parts(&pool.load(name, progress)?))),
        ModelsOp::Swap(old, new) => took(format!("{old} is replaced by {}", in_parts(&pool.swap(old, new, progress)?))),
        ModelsOp::Unload(name) => {
            let freed = pool.unload(name)?;
            format!("unloaded {name}: {freed} released, {} are free", pool.ledger().main_free())
        }
        ModelsOp::Pin(name) => format!("pinned {}", listed(&pool.pin(name, true)?)),
        ModelsOp::Unpin(name) => format!("unpinned {}", listed(&pool.pin(name, false)?)),
    })
}

fn listed(active: &[Active]) -> String {
    active.iter().map(|one| file_name(&one.path)).collect::<Vec<_>>().join(", ")
}

/// For example `m.gguf: 180.0 MiB (weights 98.0 MiB, KV 82.0 MiB)`.
fn in_parts(active: &Active) -> String {
    let parts: Vec<String> = active.parts.iter().map(|(part, bytes)| format!("{part} {bytes}")).collect();
    format!("{}: {} ({})", file_name(&active.path), active.bytes(), parts.join(", "))
}

/// The loaded models (`active`), those on servers, a load in progress, and the memory budget.
pub fn memory(pool: &Pool, remotes: &Remotes, active: &[Active]) -> Memory {
    Memory {
        models: active.iter().map(row).collect(),
        others: pool.others(),
        servers: remotes.rows(pool),
        loading: pool.loading().map(|loading| LoadingRow { file: loading.file, share: loading.share }),
        budget_bytes: pool.ledger().machine().main_memory(),
        free_bytes: pool.ledger().main_free(),
    }
}

fn row(active: &Active) -> ModelRow {
    ModelRow {
        roles: active.roles.iter().map(Role::to_string).collect(),
        file: file_name(&active.path),
        slots: active.slots,
        context: active.context,
        kv_type: active.kv_type.clone(),
        bytes: active.bytes(),
        parts: active.parts.iter().map(|(part, bytes)| ((*part).to_owned(), *bytes)).collect(),
        shares_weights: active.shares_weights,
        lora: active.lora.clone(),
        idle_s: active.idle.map(|idle| idle.as_secs()),
        pinned: active.pinned,
        rung: active.rung.clone(),
    }
}

/// Every model file in the model folder and every file with a role, with the memory it would need.
pub fn files(pool: &Pool) -> Vec<ModelFile> {
    // A role on a server has no file.
    let here = |role: &Role| matches!(pool.endpoint(*role), Ok(None));
    let roles = Role::TEXT.map(|role| (role, pool.file_of(role).filter(|_| here(&role) && pool.plays(role))));
    let mut paths = pool.files();
    paths.extend(roles.iter().filter_map(|(_, path)| path.clone()));
    paths.sort();
    paths.dedup();
    let described = paths.into_iter().map(|path| {
        let plays = |(role, of): &(Role, Option<_>)| (of.as_ref() == Some(&path)).then(|| role.to_string());
        let own: Vec<String> = roles.iter().filter_map(plays).collect();
        let name = own.first().cloned().unwrap_or_else(|| path.display().to_string());
        let forecast = pool.estimate_memory(&name).map_err(|error| error.to_string());
        let file =
            ModelFile { file: file_name(&path), roles: own, loaded: false, needs_bytes: None, detail: String::new() };
        match forecast {
            Ok(Forecast { needed, parts, loaded, .. }) => {
                ModelFile { loaded, needs_bytes: Some(needed), detail: parts, ..file }
            }
            Err(why) => ModelFile { detail: why, ..file },
        }
    });
    described.collect()
}

fn file_name(path: &std::path::Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
