//! What a command does between its fork and the program it becomes: puts its limits on, for itself and all it starts.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::Confines;
use super::system::Jail;

/// Files a process may have open.
const OPEN_MAX: u64 = 4_096;
/// Seconds of processor time beyond what every core could give it in its time; then the system ends it, whoever forgot.
const CPU_SPARE_S: u64 = 10;

#[cfg(target_env = "gnu")]
type Resource = (libc::__rlimit_resource_t, u64);
#[cfg(not(target_env = "gnu"))]
type Resource = (libc::c_int, u64);

/// `told` gets the namespace; everything is ready before the fork, because after it nothing may be allocated.
pub fn put(command: &mut Command, confines: &Confines<'_>, mut jail: Jail, told: UnixStream) {
    let own = confines.commands;
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let limits: [Resource; 5] = [
        (libc::RLIMIT_CPU, confines.seconds.map_or(libc::RLIM_INFINITY, |seconds| seconds * cores + CPU_SPARE_S)),
        (libc::RLIMIT_DATA, own.memory.0),
        (libc::RLIMIT_FSIZE, own.file_size.0),
        (libc::RLIMIT_NOFILE, OPEN_MAX),
        // What a program held in memory when it crashed.
        (libc::RLIMIT_CORE, 0),
    ];
    let processes = (libc::RLIMIT_NPROC, own.processes);
    let limited = confines.limited;
    let enter = move || {
        // Its own session: no terminal that it could type into.
        // SAFETY: setsid takes and touches nothing.
        check(unsafe { libc::setsid() }.into())?;
        limits.into_iter().filter(|_| limited).try_for_each(lower)?;
        jail.enter(told.as_raw_fd(), &|| lower(processes))
    };
    // SAFETY: between fork and exec only system calls are made, on memory that was ready before; nothing is allocated
    // or freed, and no lock is taken.
    unsafe { command.pre_exec(enter) };
}

/// Takes a limit down to `most`; one that is lower stays.
fn lower((resource, most): Resource) -> io::Result<()> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls get a pointer to a structure of theirs that lives here.
    check(unsafe { libc::getrlimit(resource, &mut now) }.into())?;
    let most = now.rlim_max.min(most);
    let lower = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: as above.
    check(unsafe { libc::setrlimit(resource, &lower) }.into())
}

pub fn check(result: i64) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
