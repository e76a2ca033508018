//! Shows past turns and goes back: history, checkpoints, undo, rewind.

use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};

use super::blocking;
use crate::app::{Back, Went};
use crate::base::Cancel;
use crate::checkpoint::{CheckpointError, Foreign};
use crate::serve::problem::{Kind, Problem};
use crate::serve::wire::read;
use crate::serve::{CancelOnDrop, Server};
use crate::session::{RewindError, TurnRecord};

/// Number of newest turns and checkpoints listed.
const SHOWN_MAX: usize = 50;
/// Maximum wait for another process that is changing the project.
const LOCK_TIME: Duration = Duration::from_secs(20);

#[derive(Deserialize)]
struct Undo {
    foreign: Option<Foreign>,
}

#[derive(Deserialize)]
struct Rewind {
    checkpoint: String,
    foreign: Option<Foreign>,
}

/// The last turns, newest first.
pub async fn history(State(server): State<Server>) -> Result<Json<Value>, Problem> {
    let app = server.inner.app.clone();
    let history = blocking(move || app.history()).await.map_err(problem)?.unwrap_or_default();
    let turns: Vec<TurnRecord> = history.turns.into_iter().rev().take(SHOWN_MAX).collect();
    Ok(Json(json!({ "turns": turns })))
}

/// The last checkpoints, newest first.
pub async fn checkpoints(State(server): State<Server>) -> Result<Json<Value>, Problem> {
    let app = server.inner.app.clone();
    let mut rows = blocking(move || app.checkpoints(SHOWN_MAX)).await.map_err(problem)?.unwrap_or_default();
    rows.reverse();
    Ok(Json(json!({ "checkpoints": rows })))
}

/// Undoes the last request that changed files: `{foreign?}`.
pub async fn undo(State(server): State<Server>, body: Bytes) -> Result<Json<Value>, Problem> {
    let undo: Undo = read(&body)?;
    go_back(&server, Back { to: None, foreign: undo.foreign }).await
}

/// Goes back to a checkpoint: `{checkpoint, foreign?}`.
pub async fn rewind(State(server): State<Server>, body: Bytes) -> Result<Json<Value>, Problem> {
    let rewind: Rewind = read(&body)?;
    go_back(&server, Back { to: Some(rewind.checkpoint), foreign: rewind.foreign }).await
}

async fn go_back(server: &Server, back: Back) -> Result<Json<Value>, Problem> {
    if server.inner.page.turns.is_running() {
        return Err(Problem::new(Kind::Busy, "a request is being carried out; wait for its end or cancel it"));
    }
    let waits = Cancel::new();
    // Closing the page also ends the wait for the lock.
    let _left = CancelOnDrop(waits.clone());
    let app = server.inner.app.until(waits.clone());
    let work = blocking(move || app.go_back("monobloc serve", &back));
    tokio::pin!(work);
    let went = match tokio::time::timeout(LOCK_TIME, &mut work).await {
        Ok(went) => went,
        Err(_) => {
            // This only ends the wait for the lock: once going back has begun, it is completed.
            waits.cancel();
            work.await
        }
    };
    Ok(Json(match went.map_err(problem)? {
        Went::Back { rewound, notes } => json!({ "rewound": rewound, "notes": notes }),
        Went::Undecided(files) => json!({ "undecided": files }),
    }))
}

fn problem(error: anyhow::Error) -> Problem {
    let kind = match error.downcast_ref::<RewindError>() {
        Some(RewindError::Nothing | RewindError::Checkpoint(CheckpointError::Unknown(_))) => Kind::NotFound,
        Some(RewindError::Checkpoint(CheckpointError::Cancelled { .. })) => Kind::Busy,
        _ => Kind::Failed,
    };
    Problem::new(kind, format!("{error:#}"))
}
