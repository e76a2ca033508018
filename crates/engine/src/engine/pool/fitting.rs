//! Chooses what a model gives up on the memory ladder so that everything a run needs fits into memory.

use super::{Inner, PoolError, shape};
use crate::base::Bytes;
use crate::budget::LoadSettings;
use crate::budget::ladder::{self, Asked, Candidate, steps};
use crate::budget::machine::Machine;
use crate::budget::place;
use crate::budget::sight::Eye;
use crate::engine::llama::{KvFormat, Shape};
use crate::models::{ModelSpec, Role};

/// How to load one model.
#[derive(Clone, Debug)]
pub(super) struct FittedSettings {
    pub shape: Shape,
    pub settings: LoadSettings,
    /// The reduced settings, in words; `None` if nothing was reduced.
    pub rung: Option<String>,
}

impl Inner {
    /// The settings with which `spec` fits alongside the other role's model and everything else in
    /// memory. If none fit, the smallest ones: the ledger then refuses them with the reason.
    pub(super) fn standing(&self, spec: &ModelSpec) -> Result<FittedSettings, PoolError> {
        let machine = self.ledger.machine();
        let shape = shape::of(spec, &self.options, &machine)?;
        let wanted = shape::wanted(spec, &shape, &self.options, &machine);
        let settings = wanted.placed(&spec.header, spec.gpu_layers, &machine);
        let as_asked = FittedSettings { shape, settings, rung: None };
        if let Some(there) = self.settings_if_loaded(spec) {
            return Ok(there);
        }
        match self.registry {
            Some(_) => Ok(self.fit_with_the_other_role(spec, &as_asked, &machine).unwrap_or(as_asked)),
            None => Ok(self.fit_alone(spec, as_asked, &machine)),
        }
    }

    /// The settings of `spec` if it is already loaded: it keeps them even if more memory is free
    /// now.
    fn settings_if_loaded(&self, spec: &ModelSpec) -> Option<FittedSettings> {
        let resident = self.resident();
        let as_this = |other: &ModelSpec| {
            (&other.path, other.context, other.slots, &other.kv_type)
                == (&spec.path, spec.context, spec.slots, &spec.kv_type)
        };
        let entry = resident.entries.iter().find(|entry| as_this(&entry.spec))?;
        Some(FittedSettings {
            shape: entry.key.shape,
            settings: entry.settings.clone(),
            rung: entry.model.rung.clone(),
        })
    }

    /// Settings for a measurement. Context, slots and KV format stay as requested, because they
    /// change what is measured; only the placement of the weights, including which layers are on
    /// the accelerator, may change.
    fn fit_alone(&self, spec: &ModelSpec, as_asked: FittedSettings, machine: &Machine) -> FittedSettings {
        let (header, asked, free) = (&spec.header, &as_asked.settings, self.ledger.free());
        let fits = |settings: &LoadSettings| place::need(header, settings, machine).all().fits(free);
        let Some(settings) = steps::moves(header, asked, machine).into_iter().find(fits) else { return as_asked };
        let given_up = steps::given_up(header, &settings, asked, machine);
        let rung = (!given_up.is_empty()).then(|| given_up.join(", "));
        let shape = shape::placed(as_asked.shape, &settings, header);
        FittedSettings { shape, settings, rung }
    }

    /// The settings that the ladder finds for `spec` together with the other role's model. If
    /// nothing fits, the smallest ones; the refusal then states what would suffice.
    fn fit_with_the_other_role(
        &self,
        spec: &ModelSpec,
        as_asked: &FittedSettings,
        machine: &Machine,
    ) -> Option<FittedSettings> {
        let other = match spec.role {
            Role::Planner => Role::Router,
            _ => Role::Planner,
        };
        let other = self.spec(other).ok().filter(|other| other.path != spec.path);
        let asked: Vec<Asked> = [Some(spec.clone()), other]
            .into_iter()
            .flatten()
            .map(|spec| {
                let shape = shape::of(&spec, &self.options, machine).ok()?;
                let wanted = shape::wanted(&spec, &shape, &self.options, machine);
                Some(asked(&spec, wanted, self.eye_to_come(&spec)))
            })
            .collect::<Option<_>>()?;
        let copies = self.options.memory.prefixes.as_ref().map(|prefixes| prefixes.bytes()).unwrap_or_default();
        let others: Bytes = self.others().into_iter().map(|(_, bytes)| bytes).sum();
        let fixed = others.saturating_sub(copies).into();
        let placed = match ladder::fit(&asked, fixed, machine) {
            Ok(fitted) => fitted.models,
            Err(_) => ladder::least(&asked, fixed, machine),
        };
        let placed = placed.into_iter().find(|placed| placed.name == spec.role.to_string())?;
        let rung = (!placed.given_up.is_empty()).then(|| placed.rung());
        let wanted = &placed.settings;
        let kv = KvFormat::by_name(&wanted.kv_type)?;
        let shape = Shape { context: wanted.context as usize, slots: wanted.slots, kv, ..as_asked.shape };
        let shape = shape::placed(shape, &placed.settings, &placed.header);
        Some(FittedSettings { shape, settings: placed.settings, rung })
    }
}

/// The ladder's input for `spec`.
fn asked(spec: &ModelSpec, wanted: LoadSettings, eye: Option<Eye>) -> Asked {
    Asked {
        name: spec.role.to_string(),
        candidates: vec![Candidate { header: spec.header.clone(), wanted, eye }],
        gpu_layers: spec.gpu_layers,
        optional: spec.role != Role::Planner,
    }
}
