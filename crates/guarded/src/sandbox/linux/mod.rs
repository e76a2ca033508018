//! The sandbox on Linux: Landlock for files, seccomp for sockets, and for protected places inside the project a mount
//! namespace or, where the system does not allow one, a supervisor.

mod filter;
mod landlock;
mod mark;
mod modes;
mod mount_namespace;
mod notices;
mod supervisor;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use seccompiler::BpfProgram;
use tempfile::TempDir;

use super::entry::{self, check};
use super::{Confines, GitRedirects, Group, places, send_fd};
use crate::sandbox::Commands;
use landlock::Ruleset;
pub use mark::Mark;
use modes::Modes;
use mount_namespace::Spaces;
use notices::Listener;
use supervisor::{Spares, Supervisor};

/// The remedy if the system does not allow namespaces for ordinary programs.
const ALLOW_NAMESPACES: &str =
    "allow them: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a higher user.max_user_namespaces";

/// Which of the three mechanisms to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Means {
    files: bool,
    sockets: bool,
    spaces: bool,
}

const ALL: Means = Means { files: true, sockets: true, spaces: true };
const NONE: Means = Means { files: false, sockets: false, spaces: false };
/// Without a mount namespace.
const APART: Means = Means { spaces: false, ..ALL };

/// The sandbox of one command, prepared before it is started.
#[derive(Default)]
pub struct Jail {
    mark: Option<Mark>,
    spaces: Option<Spaces>,
    /// `None` if no capabilities are dropped. Otherwise whether root keeps the capability to read
    /// files whose permissions forbid it.
    drops: Option<bool>,
    files: Option<Ruleset>,
    filters: Vec<BpfProgram>,
    /// The filter that reports calls to the supervisor.
    reports: Option<BpfProgram>,
}

/// The part of a command's sandbox that stays in this process.
#[derive(Default)]
pub struct Held {
    pub mark: Option<Mark>,
    /// The system does not limit the command's number of processes, so they are counted.
    pub counts: bool,
    supervisor: Option<Supervisor>,
    modes: Modes,
    _spares: Option<TempDir>,
}

pub fn jail(confines: &Confines<'_>, means: Means, _: &mut Command) -> io::Result<(Jail, Held)> {
    let places = places::of(confines);
    // SAFETY: the call takes no arguments and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    let mark = means.sockets.then(Mark::next);
    let filters = if means.sockets { filter::programs(confines.network)? } else { Vec::new() };
    let mut jail = Jail { mark, filters, ..Jail::default() };
    let mut held = Held::default();
    (held.mark, held.counts) = (mark, is_root || !means.spaces);
    if means.spaces {
        jail.spaces = Some(Spaces::new(&places, confines)?);
    }
    jail.drops = (is_root && means != NONE).then(|| jail.spaces.as_ref().is_none_or(|spaces| spaces.overrides));
    if means.files && means.sockets && !means.spaces {
        let mut apart = places.apart();
        let closed = places.closed_on_disk.as_deref().filter(|_| !apart.shared.is_empty());
        let (spares, folder) = closed.and_then(Spares::new).unzip();
        // The command may create entries next to the folder of spares, but not move it.
        apart.stays.extend(folder.iter().map(|folder| folder.path().to_owned()));
        let of_spares = spares.iter().flat_map(Spares::paths);
        jail.files = Some(Ruleset::new(&apart.open, apart.entries.iter().cloned().chain(of_spares))?);
        if !apart.shared.is_empty() {
            jail.reports = Some(notices::program()?);
            held.modes = Modes::of(&apart.closed);
            held.supervisor = Some(Supervisor::new(apart, spares)?);
            held._spares = folder;
        }
    } else if means.files {
        jail.files = Some(Ruleset::new(&places.open, std::iter::empty())?);
    }
    Ok((jail, held))
}

impl Jail {
    /// Runs between fork and exec. Mounts come first, because they are not allowed afterwards.
    pub fn enter(&mut self, sender: RawFd, limit_processes: &dyn Fn() -> io::Result<()>) -> io::Result<()> {
        // The command must not inherit files that monobloc or one of its libraries has left open.
        // SAFETY: the call takes three integers; the files stay open until the exec.
        check(unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) })?;
        mount_namespace::first_to_die();
        if let Some(spaces) = &self.spaces {
            spaces.enter()?;
            // In a namespace of its own, its processes are counted separately from the user's
            // others.
            limit_processes()?;
        }
        if let Some(overrides) = self.drops {
            mount_namespace::drop_capabilities(overrides);
        }
        if let Some(mark) = self.mark {
            mark.put()?;
        }
        // SAFETY: the call takes only integers.
        check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
        if let Some(files) = &self.files {
            if self.spaces.is_some() {
                files.allow_mounted(mount_namespace::SHARED_AT)?;
            }
            files.enter()?;
        }
        let refused = |_| io::Error::from_raw_os_error(libc::EPERM);
        self.filters.iter().try_for_each(|program| seccompiler::apply_filter(program).map_err(refused))?;
        match &self.reports {
            Some(program) => send_fd::send(sender, notices::listen(program)?.as_raw_fd()),
            None => Ok(()),
        }
    }
}

impl Held {
    /// Starts the supervisor, if there is one. Call this once the command has started and this
    /// process has closed its copy of the connection's other end.
    pub fn started(&mut self, receiver: &UnixStream) {
        let Some(supervisor) = self.supervisor.take() else { return };
        // Without a supervisor, the command would wait until its deadline; closing the connection
        // makes its calls fail.
        let Some(listener) = send_fd::receive(receiver.as_raw_fd()) else { return };
        let listener = Listener::new(OwnedFd::from(listener));
        let thread = std::thread::Builder::new().name("supervisor".to_owned());
        if let Err(why) = thread.spawn(move || supervisor.serve(&listener)) {
            tracing::warn!("a command cannot create anything in the project's root: no thread can be started: {why}");
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.modes.put_back();
    }
}

/// The extent to which this machine can confine a command.
struct Probed {
    means: Means,
    /// Why confinement is insufficient.
    missing: Option<String>,
    /// The differences from the full sandbox, if commands are confined without namespaces.
    reduced: Option<String>,
}

/// Probed only once.
fn probed() -> &'static Probed {
    static PROBED: OnceLock<Probed> = OnceLock::new();
    PROBED.get_or_init(|| {
        let usable = landlock::usable();
        if usable.is_ok() && works(ALL) {
            return Probed { means: ALL, missing: None, reduced: None };
        }
        if usable.is_ok() && works(APART) {
            return Probed { means: APART, missing: None, reduced: Some(lacks()) };
        }
        let (means, missing) = parts(usable);
        Probed { means, missing: Some(missing.join("; ")), reduced: None }
    })
}

/// The differences from the full sandbox without a mount namespace.
fn lacks() -> String {
    let signals = if landlock::scopes_signals() { "" } else { ", and it can send signals to your other programs" };
    format!(
        "a command can read `.monobloc`, has no shared memory (/dev/shm), its processes are counted instead of limited{signals} \
         (to have namespaces, {ALLOW_NAMESPACES})"
    )
}

/// The mechanisms that work individually, and the reasons why others do not.
fn parts(usable: Result<(), String>) -> (Means, Vec<String>) {
    let (mut means, mut missing) = (ALL, Vec::new());
    if let Err(why) = usable {
        means.files = landlock::version() > 0;
        missing.push(why);
    }
    if works(means) {
        return (means, missing);
    }
    if !works(Means { sockets: true, ..NONE }) {
        means.sockets = false;
        missing.push("sockets cannot be blocked: system call filters fail here".to_owned());
    }
    if !works(Means { spaces: true, ..NONE }) {
        means.spaces = false;
        // Landlock and a supervisor can protect these places too.
        if !means.files || !means.sockets {
            missing.push(format!(
                "hooks of git and `.monobloc` cannot be protected: this system makes no mount namespaces for ordinary \
                 programs ({ALLOW_NAMESPACES})"
            ));
        }
    }
    if means.files && !works(Means { files: true, ..NONE }) {
        means.files = false;
        missing.push("files cannot be confined: Landlock fails".to_owned());
    }
    if missing.is_empty() {
        means = NONE;
        missing.push("Landlock and system call filters work separately here, but not together".to_owned());
    }
    (means, missing)
}

pub fn at_hand() -> Means {
    probed().means
}

pub fn missing() -> Option<&'static str> {
    probed().missing.as_deref()
}

pub fn reduced() -> Option<&'static str> {
    probed().reduced.as_deref()
}

/// Whether a command under these mechanisms can create a file and fill a folder in a project, but
/// cannot change a protected folder there.
fn works(means: Means) -> bool {
    let Ok(folder) = tempfile::tempdir() else { return false };
    let Ok(project) = folder.path().canonicalize().map(|folder| folder.join("project")) else { return false };
    let own = project.join(crate::base::state::OWN);
    if std::fs::create_dir_all(&own).is_err() {
        return false;
    }
    let commands = Commands::default();
    let confines = Confines {
        project: &project,
        temp: &folder.path().join("temp"),
        network: false,
        git: true,
        limited: true,
        seconds: Some(PROBE_S),
        commands: &commands,
    };
    if std::fs::create_dir(confines.temp).is_err() {
        return false;
    }
    let mut command = Command::new("sh");
    let Ok((jail, held)) = jail(&confines, means, &mut command) else { return false };
    let Ok((mut group, sender)) = Group::new(GitRedirects::default(), held) else { return false };
    entry::put(&mut command, &confines, jail, sender);
    command.args(["-c", PROBE]).current_dir(&project);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    drop(command);
    group.started(Some(child.id()));
    let succeeded = succeeds(&mut child);
    let protects = means == ALL || means == APART;
    let is_protected = !own.join("made").exists();
    succeeded && (is_protected || !protects) && project.join("folder/made").exists()
}

/// Whether the command succeeds in time.
fn succeeds(child: &mut Child) -> bool {
    let until = Instant::now() + PROBE_MAX;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < until => std::thread::sleep(PROBE_EVERY),
            _ => return false,
        }
    }
}

/// Deadline of a probe, which also determines its CPU time limit.
const PROBE_S: u64 = 1;
/// Maximum wait for a probe. A probe takes 4 ms; the rest allows for a busy machine.
const PROBE_MAX: Duration = Duration::from_secs(10);
const PROBE_EVERY: Duration = Duration::from_millis(1);
const PROBE: &str = "(: > .monobloc/made) 2>/dev/null; mkdir folder && : > made && : > folder/made";
