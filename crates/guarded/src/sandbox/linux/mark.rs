//! Marks a command's processes with a limit that none of them can change, so that all can be found when it ends.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use super::check;

/// The limit used as a mark: how long a process may compute with real-time priority, in
/// microseconds. Every mark exceeds 100,000 years, so it limits nothing in practice.
#[allow(clippy::unnecessary_cast, reason = "it is signed in musl")]
pub const LIMIT: u32 = libc::RLIMIT_RTTIME as u32;
const LEAST: u64 = 1 << 62;

/// The mark of one command; unique within the same PID namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u64);

impl Mark {
    pub fn next() -> Mark {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // A process ID has at most 22 bits.
        let process = u64::from(std::process::id()) << 32;
        Mark(LEAST | process | u64::from(NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// Marks this process and everything that it starts. Fails if it already has a mark that it
    /// cannot change.
    pub fn put(self) -> io::Result<()> {
        let limit = libc::rlimit { rlim_cur: self.0, rlim_max: self.0 };
        // SAFETY: the call gets a pointer to a structure that outlives it.
        check(unsafe { libc::setrlimit(libc::RLIMIT_RTTIME, &limit) }.into())
    }

    /// The IDs of the running processes with the mark.
    pub fn processes(self) -> impl Iterator<Item = libc::pid_t> {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<libc::pid_t>().ok());
        ids.filter(move |id| *id > 1 && self.is_on(*id) && is_alive(*id))
    }

    fn is_on(self, process: libc::pid_t) -> bool {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the call reads nothing and writes one structure, which outlives it.
        let done = unsafe { libc::prlimit(process, libc::RLIMIT_RTTIME, std::ptr::null(), &mut limit) };
        done == 0 && limit.rlim_max == self.0
    }
}

/// Whether any thread of the process is still running: the first one may end before the others.
fn is_alive(process: libc::pid_t) -> bool {
    let threads = fs::read_dir(Path::new("/proc").join(process.to_string()).join("task"));
    threads.into_iter().flatten().flatten().any(|thread| {
        // `1 (name) Z …`: a name may contain any characters, even `) `.
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        state.is_some_and(|state| !"ZX".contains(state))
    })
}
