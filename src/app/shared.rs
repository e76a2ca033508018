//! Shares the models of one process between sessions, opens sessions on projects and runs turns in them.

use std::sync::Arc;

use anyhow::Result;
use tokio::sync::mpsc;

use super::App;
use super::fit::{EMBEDDER, RERANKER};
use crate::base::{Cancel, lock};
use crate::config::Config;
use crate::embed::Embedder;
use crate::engine::pool::Pool;
use crate::index::{Index, Progress};
use crate::models::{Role, places};
use crate::protocol::{Ask, Op};
use crate::remote::{consent, oauth};
use crate::session::{Message, Session};
use crate::tools::mcp::{Servers, Setup};
use crate::tools::policy::Rules;
use crate::tools::sandbox;

/// The models of a process. Clones share the models in memory.
#[derive(Clone)]
pub struct SharedModels {
    pub(crate) pool: Pool,
    pub embedder: Option<Embedder>,
    /// Notes for the user: a planner that was replaced, a missing embedder.
    pub notes: Vec<String>,
}

impl App {
    /// Finds the models for the roles; loads only the embedder, and reserves the memory of the
    /// re-ranker. Fails if there is no planner.
    pub fn shared_models(&self) -> Result<SharedModels> {
        let registry = self.registry()?;
        let mut notes: Vec<String> = registry.replaced.clone().into_iter().collect();
        if registry.endpoint(Role::Planner)?.is_none() {
            registry.get(Role::Planner)?;
        }
        let left_out = self.left_out(&registry);
        let is_left_out = |role: &str| left_out.iter().any(|name| name == role);
        if is_left_out(RERANKER) {
            self.reranker.leave_out();
        }
        let embedder = match is_left_out(EMBEDDER) {
            true => {
                Err("no embedder: the planner would not fit into memory with it; search uses words only".to_owned())
            }
            false => self.embedder(&registry),
        };
        let embedder = embedder.inspect_err(|why| notes.push(why.clone())).ok();
        self.reserve_reranker();
        Ok(SharedModels { pool: self.pool(registry), embedder, notes })
    }

    /// The app for another project, with its own settings, rules and servers. Memory, processor and
    /// shutdown are shared with this app.
    pub fn beside(&self, mut config: Config) -> Result<App> {
        let rules = Rules::compile(&config.rules)?;
        config.commands.hidden = rules.hidden(&config.project);
        let servers = servers_of(&config);
        lock(&self.others).push(servers.clone());
        let (catalog, names, indexed) = (Arc::default(), Arc::default(), Arc::default());
        Ok(App { config, cancel: Cancel::new(), rules, servers, catalog, names, indexed, ..self.clone() })
    }

    /// Stops and releases the servers of this app, which was created by [`App::beside`].
    pub fn leave(&self) {
        self.servers.end();
        lock(&self.others).retain(|other| !other.is(&self.servers));
    }

    /// Finishes work left by a killed process, refreshes the index, and opens a session. Returns
    /// the session and notices for the user. Blocks; fails if `cancel` is set.
    pub fn session_refreshed(
        &self,
        models: &SharedModels,
        index: Arc<Index>,
        cancel: &Cancel,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Session, Vec<String>)> {
        // A restore that cannot be finished does not prevent questions; the next change fails for
        // the same reason.
        let mut notes = self.recover().unwrap_or_else(|why| vec![why.to_string()]);
        notes.extend(
            self.read_only().map(|why| format!("nothing can be changed here: {why}; you can still search and ask")),
        );
        notes.extend(self.less_confined());
        notes.extend(models.notes.iter().chain(&self.catalog().1).cloned());
        notes.extend(index.note().map(str::to_owned));
        let missing = self.until(cancel.clone()).refresh_for_turn(&index, models.embedder.as_ref(), progress)?;
        notes.extend(without_vectors(missing));
        Ok((self.session_with(models, index)?, notes))
    }

    /// A notice if commands are to be confined and this system cannot do so fully.
    fn less_confined(&self) -> Option<String> {
        let is_less = sandbox::reduced().or(sandbox::missing()).is_some() && self.config.commands.confined;
        is_less.then(|| format!("commands are {}", self.confinement()))
    }

    /// A session on this project with the models of the process.
    pub fn session_with(&self, models: &SharedModels, index: impl Into<Arc<Index>>) -> Result<Session> {
        let toolkit = self.toolkit(models.pool.clone(), models.embedder.clone(), Some(index.into()))?;
        self.session(toolkit)
    }

    /// Refreshes index and tools, which takes milliseconds if nothing has changed, then runs a turn
    /// in the background.
    pub fn ask(&self, session: &Arc<Session>, ask: Ask, cancel: Cancel) -> mpsc::UnboundedReceiver<Message> {
        let (sender, messages) = mpsc::unbounded_channel();
        let (session, app) = (session.clone(), self.until(cancel.clone()));
        tokio::spawn(async move {
            let (index, embedder) = (session.index(), session.embedder());
            let refreshed = tokio::task::spawn_blocking(move || {
                if let Some(index) = index {
                    app.refresh_for_turn(&index, embedder.as_ref(), &mut |_| ())?;
                }
                app.changed_tools(embedder.as_ref())
            });
            match refreshed.await {
                Ok(Ok(Some((catalog, prefilter)))) => session.offer(catalog, prefilter),
                Ok(Err(error)) => tracing::warn!(%error, "index and tools not refreshed"),
                _ => {}
            }
            let mut turn = session.submit_with(Op::Ask(ask), cancel);
            while let Some(message) = turn.recv().await {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        messages
    }
}

/// The note for the user that `missing` texts have no vector, if any.
pub fn without_vectors(missing: usize) -> Option<String> {
    (missing > 0).then(|| format!("{missing} places are found by words only; `monobloc index` adds their meaning"))
}

/// The servers in a configuration; starts none.
pub(super) fn servers_of(config: &Config) -> Servers {
    let setup = Setup {
        limits: config.commands.clone(),
        project: config.project.clone(),
        cache: places::cache_dir().join("mcp"),
        offline: config.offline,
        consents: consent::store(),
        tokens: oauth::folder(),
    };
    Servers::new(&config.servers, setup)
}
