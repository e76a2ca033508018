//! Answers the page's read-only requests: status, memory, search, graph.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use serde::Deserialize;
use serde_json::{Value, json};

use super::blocking;
use crate::app::database;
use crate::budget::permit::Priority;
use crate::engine::Busy;
use crate::index::{Graph, Index, Unclear, View};
use crate::models::Role;
use crate::serve::Server;
use crate::serve::problem::Problem;
use crate::session;

const HITS: usize = 20;
/// Maximum number of symbols in a drawing; with more it is unreadable.
const SYMBOLS_MAX: usize = 60;
/// Maximum number of listed references with unknown targets.
const UNKNOWN_MAX: usize = 20;
const QUERY_MAX: usize = 1000;

#[derive(Deserialize)]
pub struct SearchQuery {
    q: String,
}

#[derive(Deserialize)]
pub struct GraphQuery {
    symbol: String,
    view: View,
}

/// The version, the project and the roles' models; loads no models.
pub async fn status(State(server): State<Server>) -> Result<Json<Value>, Problem> {
    let inner = &server.inner;
    let away = inner.app.remotes().rows(&inner.pool).into_iter().find(|row| row.roles.contains(&"planner".to_owned()));
    let planner = match server.spec(Role::Planner) {
        _ if let Some(row) = away => json!({ "server": row.told() }),
        Ok(spec) => {
            let file = spec.path.file_name().map(|name| name.to_string_lossy());
            json!({ "file": file, "context": spec.context, "slots": spec.slots })
        }
        Err(problem) => json!({ "missing": problem.message }),
    };
    Ok(Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "project": inner.app.project().map_err(Problem::failed)?.display().to_string(),
        "approve": inner.app.config.approve,
        "conversation": inner.page.conversation,
        "planner": planner,
        "turns": inner.page.turns.rows(),
    })))
}

/// The holders of memory and their shares, and the state of each model's slots.
pub async fn memory(State(server): State<Server>) -> Json<Value> {
    let pool = &server.inner.pool;
    let active = pool.active();
    let mut memory = json!(session::memory(pool, server.inner.app.remotes(), &active));
    for (row, server) in
        memory["servers"].as_array_mut().into_iter().flatten().zip(server.inner.app.remotes().rows(pool))
    {
        row["told"] = server.told().into();
    }
    let answers = server.inner.page.turns.is_running();
    for (model, active) in memory["models"].as_array_mut().into_iter().flatten().zip(&active) {
        model["busy"] = active.busy.iter().map(|slot| slot.as_ref().map(|busy| held(busy, answers))).collect();
        model["waiting"] = active.waiting.into();
    }
    Json(memory)
}

/// The holder of a slot. User priority means a request from another program, or the answer of a
/// turn, if the page `answers`.
fn held(busy: &Busy, answers: bool) -> Value {
    let by = match busy.priority {
        Priority::User if answers => "a turn or another program",
        Priority::User => "another program",
        Priority::Step => "a turn",
        Priority::Background => "work in the background",
    };
    let since = busy.since.elapsed().as_secs();
    json!({ "by": by, "prompt": busy.prompt, "generated": busy.generated, "since_s": since })
}

/// The extent of the index, and whether files have changed since its last refresh; does not refresh
/// or build it. An index from another version is emptied.
pub async fn index(State(server): State<Server>) -> Result<Json<Value>, Problem> {
    let status = blocking(move || {
        let app = &server.inner.app;
        let project = app.project()?;
        if !Index::exists(&project) {
            return Ok(json!({ "made": false }));
        }
        let index = server.inner.agent.index().map_or_else(|| app.index().map(Arc::new), Ok)?;
        let status = index.status(None)?;
        let written = ["", "-wal"].map(|end| {
            let mut file = database(&project).into_os_string();
            file.push(end);
            // Opening a database creates an empty log file.
            std::fs::metadata(file).ok().filter(|about| about.len() > 0)?.modified().ok()
        });
        let age = written.into_iter().flatten().max().and_then(|newest| newest.elapsed().ok());
        Ok(json!({
            "made": true, "files": status.files, "symbols": status.symbols, "chunks": status.chunks,
            "changed": status.changed.len(), "gone": status.gone.len(), "unfinished": status.unfinished,
            "age_s": age.map(|age| age.as_secs()),
        }))
    });
    Ok(Json(status.await.map_err(failed)?))
}

/// The places in the project that answer a question: `?q=`.
pub async fn search(State(server): State<Server>, Query(query): Query<SearchQuery>) -> Result<Json<Value>, Problem> {
    let asked = short("q", query.q)?;
    let (models, index) = server.inner.agent.shared().await?.clone();
    let found = blocking(move || {
        let embedder = models.embedder;
        server.inner.app.refresh_for_turn(&index, embedder.as_ref(), &mut |_| ())?;
        Ok(crate::retrieve::answer(&index, embedder.as_ref(), &asked, HITS, &server.inner.app.cancel)?)
    });
    let found = found.await.map_err(failed)?;
    let hits: Vec<Value> = found.hits.iter().map(crate::retrieve::Hit::row).collect();
    Ok(Json(json!({ "hits": hits, "notes": found.notes })))
}

/// A symbol's callers, its callees, or what changing it may break: `?symbol=&view=`.
pub async fn graph(State(server): State<Server>, Query(query): Query<GraphQuery>) -> Result<Json<Value>, Problem> {
    let symbol = short("symbol", query.symbol)?;
    let (models, index) = server.inner.agent.shared().await?.clone();
    let answer = blocking(move || {
        server.inner.app.refresh_for_turn(&index, models.embedder.as_ref(), &mut |_| ())?;
        around(&index, &symbol, query.view)
    });
    Ok(Json(answer.await.map_err(failed)?))
}

fn around(index: &Arc<Index>, symbol: &str, view: View) -> anyhow::Result<Value> {
    let graph = index.graph()?;
    let symbol = match graph.only(symbol) {
        Ok(handle) => handle,
        Err(unclear) => return Ok(unclear_row(&unclear)),
    };
    let all = graph.view(view, &symbol);
    let rows: Vec<Value> = all
        .iter()
        .take(SYMBOLS_MAX)
        .map(|one| {
            let mut row = graph.row(&one.near, one.steps, one.confidence);
            row["by"] = json!(graph.handle_of(one.by_id));
            row
        })
        .collect();
    let unknown = match view {
        View::Callees => index.calls_nowhere(&graph, &symbol)?,
        View::Callers | View::Impact => index.perhaps_called(&graph, &symbol)?,
    };
    let unknown_rows: Vec<Value> = unknown.iter().take(UNKNOWN_MAX).map(|one| one.row()).collect();
    Ok(json!({
        "symbol": symbol, "place": place(&graph, &symbol), "rows": rows, "more": all.len().saturating_sub(rows.len()),
        "unknown": unknown_rows, "unknown_more": unknown.len().saturating_sub(unknown_rows.len()),
    }))
}

/// The symbol's `kind at path:line`.
fn place(graph: &Graph, symbol: &str) -> Option<String> {
    graph.named(symbol).first().map(|node| format!("{} at {}:{}", node.kind, node.path, node.start))
}

/// Describes why no answer was found, with names that would yield one.
fn unclear_row(unclear: &Unclear) -> Value {
    let names: Vec<Value> = match unclear {
        Unclear::Unknown { near, .. } => near.iter().map(|name| json!({ "symbol": name })).collect(),
        Unclear::Ambiguous { candidates, .. } => {
            candidates.iter().map(|(symbol, place)| json!({ "symbol": symbol, "place": place })).collect()
        }
    };
    let why = unclear.to_string();
    json!({ "unclear": why.lines().next().unwrap_or_default().trim_end_matches(':'), "names": names })
}

fn failed(error: anyhow::Error) -> Problem {
    Problem::failed(format!("{error:#}"))
}

fn short(field: &'static str, text: String) -> Result<String, Problem> {
    match text.trim().len() {
        0 => Err(Problem::invalid(field, format!("`{field}` is empty"))),
        length if length > QUERY_MAX => {
            Err(Problem::invalid(field, format!("`{field}` has more than {QUERY_MAX} bytes")))
        }
        _ => Ok(text.trim().to_owned()),
    }
}
