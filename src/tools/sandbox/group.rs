//! The processes of one command: all of them end when it is dropped.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::pass;

/// Looks for processes that have left the group; one that makes new ones all the time runs into its limits.
const ROUNDS_MAX: usize = 8;

/// The process group it was made for, and the mount namespace, which a process cannot leave as it can a group.
pub struct Group {
    leader: Option<u32>,
    /// Where a command hands over its namespace, just before it becomes a command; nothing if it has none.
    told: Option<UnixStream>,
    /// Held open: as long as it is, no other namespace gets its number.
    space: Option<File>,
}

impl Group {
    /// For a command that is not started yet, and the end of the connection it takes along.
    pub fn new() -> io::Result<(Group, UnixStream)> {
        let (told, sender) = UnixStream::pair()?;
        Ok((Group { leader: None, told: Some(told), space: None }, sender))
    }

    /// The group that a process leads; `None` when it has ended.
    pub fn of(leader: Option<u32>) -> Group {
        Group { leader, told: None, space: None }
    }

    /// The command is started, and nobody but it has held the other end of the connection.
    pub fn started(&mut self, leader: Option<u32>) {
        self.leader = leader;
        self.space = self.told.take().and_then(|told| pass::receive(told.as_raw_fd()));
    }

    /// Ends what is in the namespace of that number; says whether there was anything.
    fn end_space(space: u64) -> bool {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<libc::pid_t>().ok());
        let inside = |id: &libc::pid_t| is_in(*id, space);
        let mut found = false;
        for id in ids.filter(|id| *id > 1).filter(inside) {
            // SAFETY: kill takes two integers and touches no memory.
            found |= unsafe { libc::kill(id, libc::SIGKILL) } == 0;
        }
        found
    }
}

fn is_in(process: libc::pid_t, space: u64) -> bool {
    fs::metadata(Path::new("/proc").join(process.to_string()).join("ns/mnt")).is_ok_and(|meta| meta.ino() == space)
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(group) = self.leader.and_then(|id| libc::pid_t::try_from(id).ok()).filter(|id| *id > 1) else {
            return;
        };
        // SAFETY: killpg takes two integers and touches no memory. The group was made for this command by `setsid` or
        // `process_group(0)`; once all its processes are gone the call finds nothing to kill.
        unsafe { libc::killpg(group, libc::SIGKILL) };
        let number = |path: &str| fs::metadata(path).map(|meta| meta.ino()).ok();
        let space = self.space.as_ref().and_then(|space| Some(space.metadata().ok()?.ino()));
        // Nothing of this program's own is ever ended.
        if let Some(space) = space.filter(|space| number("/proc/self/ns/mnt").is_some_and(|own| own != *space)) {
            let _ = (0..ROUNDS_MAX).find(|_| !Group::end_space(space));
        }
    }
}
