//! The client's requests: one runs at a time, and a slow one returns a handle for waiting.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::watch;
use tokio::time::timeout;

use super::progress::telling;
use super::project::Project;
use super::turn::{self, State};
use crate::base::{Cancel, lock};
use crate::protocol::Ask;

/// Maximum number of requests whose results are kept; the oldest is dropped first.
const KEPT_MAX: usize = 16;
/// Time limit for a running request to end once the client is gone.
const END_MAX: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct Asks {
    project: Arc<Project>,
    all: Arc<Mutex<VecDeque<Asked>>>,
}

/// One request.
#[derive(Clone)]
struct Asked {
    handle: String,
    state: watch::Receiver<State>,
    cancel: Cancel,
}

impl Asks {
    pub fn on(project: Arc<Project>) -> Asks {
        Asks { project, all: Arc::default() }
    }

    /// Starts a request and waits for it. Cancelling the call cancels the request.
    pub async fn ask(&self, ask: Ask, wait_s: u64, context: &RequestContext<RoleServer>) -> Result<String, String> {
        let asked = self.start(ask, context)?;
        or_cancelled(&asked, wait_s, context).await
    }

    /// Waits for the request with this `handle`. Cancelling this call also cancels the request.
    pub async fn result(
        &self,
        handle: &str,
        wait_s: u64,
        context: &RequestContext<RoleServer>,
    ) -> Result<String, String> {
        let found = lock(&self.all).iter().find(|asked| asked.handle == handle).cloned();
        let Some(asked) = found else {
            return Err(format!("ask_result: there is no request `{handle}`; the last {KEPT_MAX} are kept"));
        };
        or_cancelled(&asked, wait_s, context).await
    }

    fn start(&self, ask: Ask, context: &RequestContext<RoleServer>) -> Result<Asked, String> {
        let mut all = lock(&self.all);
        if let Some(running) = all.iter().find(|asked| asked.is_running()) {
            return Err(format!("ask: request {0} is still running; ask_result {0} waits for it", running.handle));
        }
        let (sender, state) = watch::channel(State::Running(String::new()));
        let asked = Asked { handle: format!("h{:08x}", fastrand::u32(..)), state, cancel: Cancel::new() };
        if all.len() == KEPT_MAX {
            all.pop_front();
        }
        all.push_back(asked.clone());
        tokio::spawn(turn::run(self.project.clone(), ask, context.peer.clone(), asked.cancel.clone(), sender));
        Ok(asked)
    }

    /// Cancels the running request and gives it a few seconds to end.
    pub async fn end(&self) {
        let running = lock(&self.all).iter().find(|asked| asked.is_running()).cloned();
        if let Some(mut asked) = running {
            asked.cancel.cancel();
            let ended = asked.state.wait_for(|state| matches!(state, State::Ended(_)));
            // The journal then lacks the end of the turn, as it would after a kill.
            if timeout(END_MAX, ended).await.is_err() {
                tell!("monobloc: note: request {} did not end within {} s", asked.handle, END_MAX.as_secs());
            }
        }
    }
}

impl Asked {
    fn is_running(&self) -> bool {
        matches!(&*self.state.borrow(), State::Running(_)) && self.state.has_changed().is_ok()
    }
}

/// Waits for a request; cancelling the call cancels the request.
async fn or_cancelled(asked: &Asked, wait_s: u64, context: &RequestContext<RoleServer>) -> Result<String, String> {
    tokio::select! {
        told = wait(asked, wait_s, context) => told,
        () = context.ct.cancelled() => {
            asked.cancel.cancel();
            Err("cancelled".to_owned())
        }
    }
}

/// Waits for the end of a request and reports its progress; after `wait_s` seconds it answers with
/// the request's handle.
async fn wait(asked: &Asked, wait_s: u64, context: &RequestContext<RoleServer>) -> Result<String, String> {
    let doing = || match &*asked.state.borrow() {
        State::Running(doing) => doing.clone(),
        State::Ended(_) => "done".to_owned(),
    };
    let mut state = asked.state.clone();
    let ended = async {
        let ended =
            timeout(Duration::from_secs(wait_s), state.wait_for(|state| matches!(state, State::Ended(_)))).await;
        ended.map(|told| told.map(|state| State::clone(&state)))
    };
    match telling(context, doing, ended).await {
        Ok(Ok(State::Ended(told))) => told,
        Ok(_) => Err("the request was lost; this is a bug in mcp_server".to_owned()),
        Err(_) => Ok(format!("still running ({}); call ask_result with the handle {}", doing(), asked.handle)),
    }
}
