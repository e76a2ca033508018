//! Describes the server to clients: models, properties, health, metrics.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::problem::{Kind, Problem};
use super::{Server, unknown_model, wire};
use crate::engine::Tally;
use crate::engine::pool::Active;
use crate::models::{Endpoint, ModelSpec, Role};

/// Counts of served requests and tokens. Clones share them.
#[derive(Clone, Default)]
pub struct Counts {
    inner: Arc<[AtomicU64; 4]>,
}

/// The names and meanings of the counts in [`Counts`].
const COUNTED: [(&str, &str); 4] = [
    ("monobloc_answers_total", "Completed answers of planner and router."),
    ("monobloc_prompt_tokens_total", "Tokens of their prompts."),
    ("monobloc_cached_tokens_total", "Prompt tokens found in the cache."),
    ("monobloc_generated_tokens_total", "Generated tokens."),
];

impl Counts {
    pub fn add(&self, tally: &Tally) {
        let numbers = [1, tally.prompt_tokens, tally.cached_tokens, tally.generated_tokens];
        for (count, number) in self.inner.iter().zip(numbers) {
            count.fetch_add(number as u64, Ordering::Relaxed);
        }
    }
}

pub async fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

pub async fn unknown(uri: Uri) -> Problem {
    Problem::new(Kind::NotFound, format!("there is nothing at {}; docs/serve.md lists all paths", uri.path()))
}

pub async fn models(State(server): State<Server>) -> Json<Value> {
    let all: Vec<Value> =
        ["planner", "router", "embedder", "agent"].iter().filter_map(|name| described(&server, name)).collect();
    Json(json!({ "object": "list", "data": all }))
}

pub async fn model(State(server): State<Server>, Path(name): Path<String>) -> Result<Json<Value>, Problem> {
    described(&server, &name).map(Json).ok_or_else(|| unknown_model(&name))
}

/// A model as listed by `/v1/models`; `None` if there is no such model.
fn described(server: &Server, name: &str) -> Option<Value> {
    let of = |spec: &ModelSpec| json!({ "n_ctx": spec.context, "n_slots": spec.slots, "file": spec.path.file_name().map(|name| name.to_string_lossy()) });
    let of_role = |role: Role| match server.inner.pool.endpoint(role).ok()? {
        Some(endpoint) => Some(of_server(server, role, &endpoint)),
        None => server.spec(role).ok().map(of),
    };
    let meta = match name {
        "planner" | "agent" => of_role(Role::Planner)?,
        "router" => of_role(Role::Router)?,
        "embedder" => {
            if let Some(endpoint) = server.inner.pool.endpoint(Role::Embedder).ok()? {
                return Some(listed(server, name, json!({ "server": endpoint.url(), "model": endpoint.model })));
            }
            let spec = server.inner.registry.embedder()?;
            let what = if spec.path.is_file() { "file" } else { "folder" };
            json!({ (what): spec.name })
        }
        _ => return None,
    };
    Some(listed(server, name, meta))
}

fn listed(server: &Server, name: &str, meta: Value) -> Value {
    let created = wire::now() - server.inner.started.elapsed().as_secs() as i64;
    json!({
        "id": name, "object": "model", "created": created, "owned_by": "monobloc", "meta": meta,
        "architecture": { "input_modalities": ["text"], "output_modalities": ["text"] },
    })
}

/// A model on another server, whose context is known after the server was first asked.
fn of_server(server: &Server, role: Role, endpoint: &Endpoint) -> Value {
    let rows = server.inner.app.remotes().rows(&server.inner.pool);
    let row = rows.into_iter().find(|row| row.roles.contains(&role.to_string())).unwrap_or_default();
    json!({ "n_ctx": row.context.or(endpoint.context), "server": endpoint.url(), "model": row.model, "state": row.state })
}

/// The properties that clients of llama-server read: the planner's context, and its support for
/// tools.
pub async fn props(State(server): State<Server>) -> Result<Json<Value>, Problem> {
    let (context, slots, path) = match server.away(Role::Planner).await? {
        Some(away) => (away.remote.abilities().context, 1, away.name.clone()),
        None => {
            let planner = server.spec(Role::Planner)?;
            (planner.context as usize, planner.slots, planner.path.display().to_string())
        }
    };
    Ok(Json(json!({
        "default_generation_settings": { "n_ctx": context },
        "total_slots": slots,
        "model_path": path,
        "modalities": { "vision": false, "audio": false },
        "chat_template_caps": { "supports_tools": true, "supports_tool_calls": true, "supports_system_role": true },
        "build_info": concat!("monobloc ", env!("CARGO_PKG_VERSION")),
    })))
}

/// The numbers of [`Counts`], of the queue and of memory, in the Prometheus text format.
pub async fn metrics(State(server): State<Server>) -> Response {
    let mut text = String::new();
    for ((name, about), count) in COUNTED.iter().zip(server.inner.counts.inner.iter()) {
        let _ =
            write!(text, "# HELP {name} {about}\n# TYPE {name} counter\n{name} {}\n", count.load(Ordering::Relaxed));
    }
    let ledger = server.inner.pool.ledger();
    let mut gauge = |name: &str, about: &str, rows: Vec<(String, u64)>| {
        let _ = write!(text, "# HELP {name} {about}\n# TYPE {name} gauge\n");
        for (labels, value) in rows {
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    };
    // Observing a model is not using it: leasing it here would keep it in memory.
    let active = server.inner.pool.active();
    let by_role = |count: fn(&Active) -> usize| -> Vec<(String, u64)> {
        let roles = active.iter().flat_map(|one| one.roles.iter().map(move |role| (role, count(one))));
        roles.map(|(role, count)| (format!("{{role=\"{role}\"}}"), count as u64)).collect()
    };
    gauge("monobloc_waiting", "Requests waiting for a slot of a model.", by_role(|one| one.waiting));
    let busy = by_role(|one| one.busy.iter().flatten().count());
    gauge("monobloc_busy_slots", "Busy slots of a model.", busy);
    let held = active.iter().map(|one| {
        let file = one.path.file_name().unwrap_or_default().to_string_lossy().replace(['"', '\\', '\n'], "_");
        (format!("{{file=\"{file}\"}}"), one.bytes().0)
    });
    gauge("monobloc_model_bytes", "Memory of each model.", held.collect());
    gauge("monobloc_free_bytes", "Memory left within the budget.", vec![(String::new(), ledger.main_free().0)]);
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}
