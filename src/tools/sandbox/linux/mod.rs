//! The sandbox on Linux: Landlock for files, seccomp for sockets, a mount namespace for read-only places.

mod filter;
mod landlock;
mod mount_namespace;

use std::io;
use std::os::fd::RawFd;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use seccompiler::BpfProgram;

use super::entry::{self, check};
use super::{Confines, GitRedirects, Group, places};
use crate::base::config::Commands;
use landlock::Ruleset;
use mount_namespace::Spaces;

/// Which of the three means are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Means {
    files: bool,
    sockets: bool,
    spaces: bool,
}

const ALL: Means = Means { files: true, sockets: true, spaces: true };
const NONE: Means = Means { files: false, sockets: false, spaces: false };

/// The sandbox of one command, prepared before it is started.
#[derive(Default)]
pub struct Jail {
    spaces: Option<Spaces>,
    files: Option<Ruleset>,
    filters: Vec<BpfProgram>,
}

pub fn jail(confines: &Confines<'_>, means: Means, _: &mut Command) -> io::Result<Jail> {
    let places = places::of(confines);
    Ok(Jail {
        spaces: means.spaces.then(|| Spaces::new(&places, confines)).transpose()?,
        files: means.files.then(|| Ruleset::new(&places)).transpose()?,
        filters: if means.sockets { filter::programs(confines.network)? } else { Vec::new() },
    })
}

impl Jail {
    /// Runs between fork and exec. Mounts come first, because they are not allowed afterwards.
    pub fn enter(&mut self, sender: RawFd, limit_processes: &dyn Fn() -> io::Result<()>) -> io::Result<()> {
        // The command must not inherit files that this program or one of its libraries has left open.
        // SAFETY: the call takes three integers; the files stay open until the exec.
        check(unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) })?;
        mount_namespace::first_to_die();
        if let Some(spaces) = &self.spaces {
            spaces.enter(sender)?;
            // In a namespace of its own its processes are counted apart from the user's others.
            limit_processes()?;
        }
        // SAFETY: the call takes integers only.
        check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
        if let Some(files) = &self.files {
            if self.spaces.is_some() {
                files.allow_mounted(mount_namespace::SHARED_AT)?;
            }
            files.enter()?;
        }
        let refused = |_| io::Error::from_raw_os_error(libc::EPERM);
        self.filters.iter().try_for_each(|program| seccompiler::apply_filter(program).map_err(refused))
    }
}

/// The sandbox features of this machine, with a reason for each that is missing. Probed once.
fn probed() -> &'static (Means, Vec<String>) {
    static PROBED: OnceLock<(Means, Vec<String>)> = OnceLock::new();
    PROBED.get_or_init(|| {
        let (mut means, mut missing) = (ALL, Vec::new());
        if let Err(why) = landlock::usable() {
            means.files = landlock::version() > 0;
            missing.push(why);
        }
        if works(means) {
            return (means, missing);
        }
        if !works(Means { sockets: true, ..NONE }) {
            means.sockets = false;
            missing.push("sockets cannot be refused: this system has no system call filters".to_owned());
        }
        if !works(Means { spaces: true, ..NONE }) {
            means.spaces = false;
            missing.push(
                "hooks of git and `.monobloc` cannot be kept: this system makes no mount namespaces for ordinary programs \
                 (kernel.apparmor_restrict_unprivileged_userns or user.max_user_namespaces)"
                    .to_owned(),
            );
        }
        if means.files && !works(Means { files: true, ..NONE }) {
            means.files = false;
            missing.push("files cannot be confined: Landlock fails".to_owned());
        }
        if missing.is_empty() {
            means = NONE;
            missing.push("the means of this system fail together".to_owned());
        }
        (means, missing)
    })
}

pub fn at_hand() -> Means {
    probed().0
}

pub fn missing() -> Option<String> {
    let missing = &probed().1;
    (!missing.is_empty()).then(|| missing.join("; "))
}

/// Whether a command that does nothing succeeds under these means.
fn works(means: Means) -> bool {
    let (project, commands) = (std::env::temp_dir(), Commands::default());
    let confines = Confines {
        project: &project,
        temp: &project,
        network: false,
        git: true,
        limited: true,
        seconds: Some(1),
        commands: &commands,
    };
    let mut command = Command::new("sh");
    let Ok(jail) = jail(&confines, means, &mut command) else { return false };
    let Ok((_group, sender)) = Group::new(GitRedirects::default()) else { return false };
    entry::put(&mut command, &confines, jail, sender);
    command.args(["-c", ":"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
