//! Assembles the toolkit for turns: tools, models, index, lessons.

use std::sync::Arc;

use anyhow::Result;

use super::{App, database};
use crate::agent::private_names::Names;
use crate::agent::{Meter, Notes, Toolkit, Way};
use crate::base::mask::Mask;
use crate::base::{ConversationId, state};
use crate::embed::Embedder;
use crate::engine::pool::Pool;
use crate::index::Index;
use crate::lessons::Lessons;
use crate::models::Role;
use crate::protocol::Mode;
use crate::tools::confine::Root;
use crate::tools::{Catalog, Context};

impl App {
    /// The toolkit for turns on this project: all tools, models, index, lessons.
    pub fn toolkit(&self, pool: Pool, embedder: Option<Embedder>, index: Option<Arc<Index>>) -> Result<Toolkit> {
        let root = Root::open(&self.config.project)?.hiding(self.config.commands.hidden.clone());
        let catalog = self.catalog().0.clone();
        let lessons = if self.config.learn { Some(Arc::new(self.lessons_with(|| Ok(pool.clone()))?)) } else { None };
        let context = Context {
            lessons,
            index: index.clone(),
            embedder: embedder.clone(),
            servers: Some(self.servers.clone()),
            commands: Arc::new(self.config.commands.clone()),
            ..Context::new(root, self.cancel.clone())
        };
        self.toolkit_for(catalog, pool, embedder, index, Some(context))
    }

    /// The built-in tools for this project, with its index if there is one; no servers and no
    /// lessons.
    pub fn toolkit_of_project(&self, pool: Pool, embedder: Option<Embedder>) -> Result<Toolkit> {
        let root = Root::open(&self.config.project)?.hiding(self.config.commands.hidden.clone());
        let is_indexed = state::folder(&self.config.project).is_dir();
        let index = if is_indexed { Some(Arc::new(self.index()?)) } else { None };
        let commands = Arc::new(self.config.commands.clone());
        let context = Context { index: index.clone(), commands, ..Context::new(root, self.cancel.clone()) };
        self.toolkit_for(Catalog::builtin(), pool, embedder, index, Some(context))
    }

    /// The lessons learned in the project.
    pub fn lessons(&self) -> Result<Lessons> {
        self.lessons_with(|| Ok(self.pool(self.registry()?)))
    }

    fn lessons_with(&self, pool: impl FnOnce() -> Result<Pool>) -> Result<Lessons> {
        Ok(Lessons::open(&database(&self.project()?))?.masking(self.mask(pool)?))
    }

    /// The mask for stored texts. All masks share one name finder, because it caches its results.
    pub(super) fn mask(&self, pool: impl FnOnce() -> Result<Pool>) -> Result<Mask> {
        match (self.config.mask_names, self.config.mask_private, self.names.get()) {
            (true, _, Some(names)) => Ok(Mask::Names(names.clone())),
            (true, _, None) => {
                let names = Arc::new(Names::new(pool()?, self.cancel.clone()));
                Ok(Mask::Names(self.names.get_or_init(|| names).clone()))
            }
            (false, true, _) => Ok(Mask::Forms),
            (false, false, _) => Ok(Mask::Nothing),
        }
    }

    /// A toolkit with the tools in `catalog`; without a `context` there is no project.
    pub fn toolkit_for(
        &self,
        catalog: Catalog,
        pool: Pool,
        embedder: Option<Embedder>,
        index: Option<Arc<Index>>,
        context: Option<Context>,
    ) -> Result<Toolkit> {
        Ok(Toolkit {
            picked: Role::Planner,
            pool,
            prefilter: Arc::new(self.prefilter(&catalog, embedder.as_ref())?),
            embedder,
            catalog: Arc::new(catalog),
            index,
            context,
            tools_offered: self.config.tools_offered,
            orchestrate: self.config.orchestrate,
            report: self.config.report,
            iterations_max: self.config.iterations_max,
            time: self.config.turn_time,
            bounds: self.config.bounds,
            mode: Mode::Agent,
            cognitive: self.config.cognitive,
            think: None,
            given: Vec::new(),
            conversation: ConversationId::fresh(),
            earlier: Vec::new(),
            cancel: self.cancel.clone(),
            meter: Meter::start(),
            remotes: self.remotes.clone(),
            notes: Notes::default(),
            way: Way::default(),
        })
    }
}
