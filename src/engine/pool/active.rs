//! What a person is told about each model in memory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::resident::{Resident, file_name};
use crate::base::Bytes;
use crate::models::Role;

/// One context in memory, as `/ps` shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Active {
    pub roles: Vec<Role>,
    pub path: PathBuf,
    pub slots: usize,
    /// Tokens a slot.
    pub context: usize,
    pub kv_type: String,
    /// `None` while it is used.
    pub idle: Option<Duration>,
    pub pinned: bool,
    /// Its weights are counted with another context of the same file.
    pub shares_weights: bool,
    /// File names of its adapters.
    pub lora: Vec<String>,
    /// Where it stands on the ladder, if not at the top.
    pub rung: Option<String>,
    /// What is held, by purpose.
    pub parts: Vec<(&'static str, Bytes)>,
}

impl Active {
    pub fn bytes(&self) -> Bytes {
        self.parts.iter().map(|(_, bytes)| *bytes).sum()
    }
}

/// `planner m.gguf 180.0 MiB, pinned`.
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
    /// Who holds how much, for a refusal.
    pub fn told(&self) -> String {
        self.active().iter().map(Active::to_string).collect::<Vec<_>>().join(", ")
    }

    pub fn active(&self) -> Vec<Active> {
        let paths: Vec<&Path> = self.entries.iter().map(|entry| entry.key.path.as_path()).collect();
        let described = self.entries.iter().enumerate().map(|(index, entry)| {
            let limits = entry.model.engine.limits();
            let counted = paths[..index].contains(&entry.key.path.as_path());
            let weights = |part: &str| part.ends_with("weights");
            let mut parts: Vec<(&'static str, Bytes)> = entry.estimate.parts().to_vec();
            parts.push(("adapters", entry.adapters));
            parts.retain(|(part, bytes)| *bytes > Bytes::ZERO && !(counted && weights(part)));
            Active {
                roles: entry.roles.clone(),
                path: entry.key.path.clone(),
                slots: limits.sequences,
                context: limits.context,
                kv_type: entry.spec.kv_type.clone(),
                idle: entry.model.idle(),
                pinned: entry.pinned,
                shares_weights: counted,
                lora: entry.key.lora.iter().map(|(path, _)| file_name(path)).collect(),
                rung: entry.model.rung.clone(),
                parts,
            }
        });
        described.collect()
    }
}
