//! Confines a command or a server: what it may open, talk to and take of the machine, held to by the system and not by its good will.

mod entry;
mod group;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod misled;
mod pass;
mod places;

use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use crate::base::config::Commands;

pub use group::Group;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;
pub use misled::Aside;
use misled::Misled;

/// What one command is held to.
#[derive(Clone, Copy, Debug)]
pub struct Confines<'a> {
    /// It may change what is in here, but not what git and this program keep for themselves.
    pub project: &'a Path,
    /// Its own folder for temporary files.
    pub temp: &'a Path,
    /// It may open sockets of the internet and of other programs.
    pub network: bool,
    /// It may change what `git commit` does. What would have git read other settings is put aside when it has ended, so this is
    /// for what ends soon: while it runs such a file counts.
    pub git: bool,
    /// Its memory, files and processor time are limited.
    pub limited: bool,
    /// After so many seconds it is ended from outside; `None` for what serves as long as this program runs.
    pub seconds: Option<u64>,
    pub commands: &'a Commands,
}

/// How programs say that the system refused something, or that a limit was met.
const REFUSALS: [&str; 15] = [
    "Permission denied",
    "permission denied",
    "EACCES",
    "EPERM",
    "Operation not permitted",
    "operation not permitted",
    "Read-only file system",
    "resolve host",
    "EAI_AGAIN",
    "File size limit",
    "annot allocate memory",
    "ut of memory",
    "MemoryError",
    "memory allocation of",
    "emporarily unavailable",
];

/// Whether a text that failed may have met its confinement.
pub fn tells_of_refusal(text: &str) -> bool {
    REFUSALS.iter().any(|refusal| text.contains(refusal))
}

/// What something confined may do, in words.
pub fn bounds(changes: &str, reads: &str, network: bool) -> String {
    let network = if network { "" } else { ", and connect to nothing" };
    format!("it may change {changes} and its own temporary files, read {reads}{network}")
}

/// Why this machine cannot hold a command to all of it; `None` if it can. Tried once, on commands that do nothing.
pub fn missing() -> Option<&'static str> {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    MISSING.get_or_init(system::missing).as_deref()
}

/// Why commands under these settings are not confined.
pub fn unconfined(commands: &Commands) -> Option<&'static str> {
    if commands.confined { missing() } else { Some("command_confined is false") }
}

/// A shell that is put under its limits when it starts; what this machine does not have is left out. Every process of
/// it ends with the group.
pub fn shell(confines: &Confines<'_>) -> io::Result<(Command, Group)> {
    let mut command = Command::new("sh");
    let jail = match confines.commands.confined {
        true => system::jail(confines, system::at_hand(), &mut command)?,
        false => system::Jail::default(),
    };
    let misled = match confines.commands.confined && confines.git {
        true => Misled::by_what_comes(confines.project),
        false => Misled::default(),
    };
    let (group, sender) = Group::new(misled)?;
    entry::put(&mut command, confines, jail, sender);
    Ok((command, group))
}

#[cfg(test)]
mod tests;
