//! Sets a command's limits in the child process, between fork and exec; they also apply to everything it starts.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use super::Confines;
use super::system::Jail;
use crate::base::{ACCELERATED, Bytes};

/// Maximum number of open files of a process.
const OPEN_MAX: u64 = 4_096;
/// CPU seconds allowed beyond deadline × cores; after that, the system kills the process even if
/// monobloc does not.
const CPU_SPARE_S: u64 = 10;

#[cfg(target_env = "gnu")]
type Resource = (libc::__rlimit_resource_t, u64);
#[cfg(not(target_env = "gnu"))]
type Resource = (libc::c_int, u64);

/// Adds the limits and `jail` to `command`. The child sends the supervisor's listener over
/// `sender`. Everything is prepared before the fork, because nothing may be allocated after it.
pub fn put(command: &mut Command, confines: &Confines<'_>, mut jail: Jail, sender: UnixStream) {
    let settings = confines.commands;
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let limits: [Resource; 5] = [
        (libc::RLIMIT_CPU, confines.seconds.map_or(libc::RLIM_INFINITY, |seconds| seconds * cores + CPU_SPARE_S)),
        (libc::RLIMIT_DATA, settings.memory.0),
        (libc::RLIMIT_FSIZE, settings.file_size.0),
        (libc::RLIMIT_NOFILE, OPEN_MAX),
        // No core dumps.
        (libc::RLIMIT_CORE, 0),
    ];
    let processes = (libc::RLIMIT_NPROC, settings.processes);
    let limited = confines.limited;
    let enter = move || {
        // Its own session, so that it has no controlling terminal to type into. SAFETY: setsid
        // takes no arguments and touches no memory.
        check(unsafe { libc::setsid() }.into())?;
        limits.into_iter().filter(|_| limited).try_for_each(lower)?;
        jail.enter(sender.as_raw_fd(), &|| lower(processes))
    };
    // SAFETY: between fork and exec only system calls are made, on memory prepared beforehand;
    // nothing is allocated or freed, and no lock is taken.
    unsafe { command.pre_exec(enter) };
}

/// Limits this process's CPU time and, unless an accelerator's libraries map more memory than they
/// use, its memory. Also disables core dumps.
pub fn limit_self(memory: Bytes, time: Duration) -> io::Result<()> {
    let memory = if ACCELERATED { libc::RLIM_INFINITY } else { memory.0 };
    [(libc::RLIMIT_DATA, memory), (libc::RLIMIT_CPU, time.as_secs()), (libc::RLIMIT_CORE, 0)]
        .into_iter()
        .try_for_each(lower)
}

/// Lowers a limit to `most`; never raises it.
fn lower((resource, most): Resource) -> io::Result<()> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls get a pointer to a local structure.
    check(unsafe { libc::getrlimit(resource, &mut now) }.into())?;
    let most = now.rlim_max.min(most);
    let lower = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: as above.
    check(unsafe { libc::setrlimit(resource, &lower) }.into())
}

/// Turns a negative result of a system call into its error.
pub fn check(result: i64) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
