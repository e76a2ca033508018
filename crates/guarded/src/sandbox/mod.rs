//! The sandbox for commands and MCP servers: the system enforces which files, sockets and resources they use.

mod commands;
mod entry;
mod git_redirects;
mod group;
#[cfg(target_os = "linux")]
mod linux;
mod live;
#[cfg(target_os = "macos")]
mod macos;
mod places;
mod send_fd;

use std::io;
use std::path::Path;
use std::process::Command;

use tokio::process::Child;

pub use commands::Commands;
pub use entry::limit_self;
pub use git_redirects::{Aside, GitRedirects};
pub use group::{Group, kill_group};
#[cfg(target_os = "linux")]
use linux as system;
pub use live::{Registered, end_all};
#[cfg(target_os = "macos")]
use macos as system;

/// The limits of one command.
#[derive(Clone, Copy, Debug)]
pub struct Confines<'a> {
    /// It may change everything in this folder, except git's hooks and settings and monobloc's
    /// data.
    pub project: &'a Path,
    /// Its own folder for temporary files.
    pub temp: &'a Path,
    /// Whether it may connect to the internet and to other programs.
    pub network: bool,
    /// Whether it may change whatever `git commit` changes in `.git`. For short-lived commands
    /// only, because files that redirect git to other settings are not moved aside until the
    /// command has ended.
    pub git: bool,
    /// Whether its memory, files and processor time are limited.
    pub limited: bool,
    /// Deadline in seconds, enforced by the caller; `None` for a server.
    pub seconds: Option<u64>,
    pub commands: &'a Commands,
}

/// Environment variables that every sandboxed program inherits; they hold no tokens or keys.
const INHERITED: &str = "PATH HOME USER LOGNAME SHELL LANG LC_ALL TZ";

/// Phrases that programs print when the system refused something or a limit was reached. Some lack
/// the first letter so that they match in either case.
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

/// Whether a program's output suggests that the sandbox refused something.
pub fn tells_of_refusal(text: &str) -> bool {
    REFUSALS.iter().any(|refusal| text.contains(refusal))
}

/// A sandboxed program's rights, in words.
pub fn bounds(changes: &str, reads: &str, network: bool) -> String {
    let network =
        if network { "" } else { ", connect to nothing, not even a socket of its own, and listen on no port" };
    let memory = if reduced().is_some() { ", and use no shared memory (/dev/shm)" } else { "" };
    format!("it may change {changes} and its own temporary files, read {reads}{network}{memory}")
}

/// Why this machine cannot enforce the sandbox; `None` if it can. Probed once, with test commands.
pub fn missing() -> Option<&'static str> {
    system::missing()
}

/// The differences from the full sandbox if this machine confines commands without namespaces;
/// `None` if it does not.
pub fn reduced() -> Option<&'static str> {
    system::reduced()
}

/// Why commands under these settings are not sandboxed; `None` if they are.
pub fn unconfined(commands: &Commands) -> Option<&'static str> {
    if !commands.confined {
        return Some("command_confined is false");
    }
    let shows_hidden = reduced().is_some() && !commands.hidden.is_nothing();
    missing().or(shows_hidden.then_some(
        "rules deny reading files, and this system makes no mount namespaces, which hide them from a command \
         (allow them: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a higher user.max_user_namespaces)",
    ))
}

/// How commands under these settings are confined, in words.
pub fn confinement(commands: &Commands) -> String {
    match (unconfined(commands), reduced()) {
        (Some(why), _) => format!("not confined, so every command needs consent: {why}"),
        (None, Some(lacks)) => format!("confined without namespaces: {lacks}"),
        (None, None) => "fully confined".to_owned(),
    }
}

/// A shell that enters the sandbox when it starts, without the mechanisms that this machine lacks.
/// Dropping the group kills all its processes.
pub fn shell(confines: &Confines<'_>) -> io::Result<(Command, Group)> {
    let mut command = Command::new("sh");
    let (jail, held) = if confines.commands.confined {
        system::jail(confines, system::at_hand(), &mut command)?
    } else {
        Default::default()
    };
    let misled = if confines.commands.confined && confines.git {
        GitRedirects::by_what_comes(confines.project)
    } else {
        GitRedirects::default()
    };
    let (group, sender) = Group::new(misled, held)?;
    entry::put(&mut command, confines, jail, sender);
    Ok((command, group))
}

/// Passes a few harmless variables, and those named in `more`, to the command; its temporary files
/// go to `temp`.
pub fn set_environment<'n>(command: &mut Command, more: impl Iterator<Item = &'n str>, temp: &Path) {
    let inherited = INHERITED.split_whitespace().chain(more);
    command.env_clear().envs(inherited.filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.envs(["TMPDIR", "TMP", "TEMP"].map(|name| (name, temp)));
}

/// Starts a command from [`shell`] in its group `group`. The command is killed when the child is
/// dropped or the program ends.
pub fn spawn(command: Command, group: &mut Group) -> io::Result<Child> {
    let mut command = tokio::process::Command::from(command);
    let child = command.kill_on_drop(true).spawn()?;
    // Closes this process's copy of the connection, because `group.started` waits for it to close.
    drop(command);
    group.started(child.id());
    Ok(child)
}
