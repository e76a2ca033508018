//! Where a model stands on the ladder: what it gives up so that all that a run needs fits into memory together.

use super::{Inner, PoolError, shape};
use crate::budget::ladder::{self, Asked};
use crate::budget::machine::Machine;
use crate::budget::{Estimate, Wanted};
use crate::engine::llama::{KvFormat, Shape};
use crate::models::{ModelSpec, Role};

/// How one model is to be loaded.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub shape: Shape,
    pub wanted: Wanted,
    /// What was given up, in words; `None` if all is as asked.
    pub rung: Option<String>,
}

impl Inner {
    /// The settings of `spec` that fit beside the other role's model and everything else in memory. What fits on no rung
    /// is left as asked: the ledger refuses it then, and says why.
    pub(super) fn standing(&self, spec: &ModelSpec) -> Result<Standing, PoolError> {
        let shape = shape::of(spec, &self.options)?;
        let wanted = shape::wanted(spec, &shape, &self.options);
        let as_asked = Standing { shape, wanted, rung: None };
        if let Some(there) = self.stands_already(spec) {
            return Ok(there);
        }
        // Where layers lie on a GPU is llama.cpp's to say there; the ladder of `fit` is the advice.
        if cfg!(any(feature = "cuda", feature = "metal")) {
            return Ok(as_asked);
        }
        match self.registry {
            Some(_) => Ok(self.beside_the_other_role(spec, &as_asked).unwrap_or(as_asked)),
            None => Ok(self.alone(spec, as_asked)),
        }
    }

    /// What is loaded keeps its settings, whatever became free meanwhile.
    fn stands_already(&self, spec: &ModelSpec) -> Option<Standing> {
        let resident = self.resident();
        let as_this = |other: &ModelSpec| {
            (&other.path, other.context, other.slots, &other.kv_type)
                == (&spec.path, spec.context, spec.slots, &spec.kv_type)
        };
        let entry = resident.entries.iter().find(|entry| as_this(&entry.spec))?;
        let loaded = ModelSpec { kv_type: entry.key.shape.kv.name().to_owned(), ..spec.clone() };
        let wanted = Wanted { repack: entry.repack, ..shape::wanted(&loaded, &entry.key.shape, &self.options) };
        Some(Standing { shape: entry.key.shape, wanted, rung: entry.model.rung.clone() })
    }

    /// For measurements nothing is changed that changes what is measured: weights may stay in the order of the file.
    fn alone(&self, spec: &ModelSpec, mut standing: Standing) -> Standing {
        let whole = |wanted: &Wanted| Estimate::of(&spec.header, wanted).total();
        let plain = Wanted { repack: false, ..standing.wanted.clone() };
        let free = self.ledger.free();
        if standing.wanted.repack && whole(&standing.wanted) > free && whole(&plain) <= free {
            standing.wanted = plain;
            standing.rung = Some("weights not repacked".to_owned());
        }
        standing
    }

    fn beside_the_other_role(&self, spec: &ModelSpec, as_asked: &Standing) -> Option<Standing> {
        let other = match spec.role {
            Role::Planner => Role::Router,
            _ => Role::Planner,
        };
        let other = self.spec(other).ok().filter(|other| other.path != spec.path);
        let asked: Vec<Asked> = [Some(spec.clone()), other]
            .into_iter()
            .flatten()
            .map(|spec| {
                let shape = shape::of(&spec, &self.options).ok()?;
                let candidates = vec![(spec.header.clone(), shape::wanted(&spec, &shape, &self.options))];
                let optional = spec.role == Role::Router;
                Some(Asked { name: spec.role.to_string(), candidates, on_host: true, optional })
            })
            .collect::<Option<_>>()?;
        let copies = self.options.memory.prefixes.as_ref().map(|prefixes| prefixes.bytes()).unwrap_or_default();
        let others: crate::base::Bytes = self.others().into_iter().map(|(_, bytes)| bytes).sum();
        let machine = Machine::of(self.ledger.capacity());
        let fitted = ladder::fit(&asked, others.saturating_sub(copies), &machine).ok()?;
        let placed = fitted.models.into_iter().find(|placed| placed.name == spec.role.to_string())?;
        let wanted = placed.settings.wanted.clone();
        let rung = (!placed.given_up.is_empty()).then(|| placed.rung());
        let kv = KvFormat::by_name(&wanted.kv_type)?;
        let shape = Shape { context: wanted.context as usize, slots: wanted.slots, kv, ..as_asked.shape };
        Some(Standing { shape, wanted, rung })
    }
}
