//! Describes each model in memory for the user.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::resident::{Resident, file_name};
use crate::base::Bytes;
use crate::engine::Busy;
use crate::models::Role;

/// One context in memory, as shown by `/ps`.
#[derive(Clone, Debug, PartialEq)]
pub struct Active {
    pub roles: Vec<Role>,
    pub path: PathBuf,
    pub slots: usize,
    /// Tokens per slot.
    pub context: usize,
    pub kv_type: String,
    /// Time since its last use; `None` while it is in use.
    pub idle: Option<Duration>,
    pub pinned: bool,
    /// Whether its weights are counted with an earlier context of the same file.
    pub shares_weights: bool,
    /// File names of its adapters.
    pub lora: Vec<String>,
    /// The settings reduced to make it fit, in words; `None` if there are none.
    pub rung: Option<String>,
    /// The work of each slot, `None` if it is free; empty before the first request.
    pub busy: Vec<Option<Busy>>,
    /// Number of requests waiting for a slot.
    pub waiting: usize,
    /// Memory held, by purpose.
    pub parts: Vec<(&'static str, Bytes)>,
}

impl Active {
    pub fn bytes(&self) -> Bytes {
        self.parts.iter().map(|(_, bytes)| *bytes).sum()
    }
}

/// For example `planner m.gguf 180.0 MiB (pinned)`.
impl std::fmt::Display for Active {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.roles.iter().try_for_each(|role| write!(f, "{role} "))?;
        write!(f, "{} {}", file_name(&self.path), self.bytes())?;
        match (self.idle, self.pinned) {
            (None, _) => f.write_str(" (in use)"),
            (_, true) => f.write_str(" (pinned)"),
            (Some(idle), false) => write!(f, " (idle {} s)", idle.as_secs()),
        }
    }
}

impl Resident {
    /// All models with their memory, for an error message.
    pub fn told(&self) -> String {
        self.active().iter().map(Active::to_string).collect::<Vec<_>>().join(", ")
    }

    pub fn active(&self) -> Vec<Active> {
        let paths: Vec<&Path> = self.entries.iter().map(|entry| entry.key.path.as_path()).collect();
        let described = self.entries.iter().enumerate().map(|(index, entry)| {
            let limits = entry.model.engine.limits();
            let weights_counted = paths[..index].contains(&entry.key.path.as_path());
            let weights = |part: &str| part.ends_with("weights");
            let mut parts: Vec<(&'static str, Bytes)> = entry.estimate.parts().to_vec();
            parts.push(("adapters", entry.adapters));
            parts.retain(|(part, bytes)| *bytes > Bytes::ZERO && !(weights_counted && weights(part)));
            Active {
                roles: entry.roles.clone(),
                path: entry.key.path.clone(),
                slots: limits.sequences,
                context: limits.context,
                kv_type: entry.spec.kv_type.clone(),
                idle: entry.idle(),
                pinned: entry.pinned,
                shares_weights: weights_counted,
                lora: entry.key.lora.iter().map(|(path, _)| file_name(path)).collect(),
                rung: entry.model.rung.clone(),
                busy: entry.model.engine.slots(),
                waiting: entry.model.engine.waiting(),
                parts,
            }
        });
        described.collect()
    }
}
