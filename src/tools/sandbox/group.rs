//! The processes of one command: all of them end when it is dropped.

use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Looks for processes that have left the group; one that makes new ones all the time runs into its limits.
const ROUNDS_MAX: usize = 8;

/// The process group it was made for, and the mount namespace, which a process cannot leave as it can a group.
pub struct Group {
    leader: Option<u32>,
    /// Where a command says, just before it becomes one, in which namespace it is; nothing if in that of this program.
    told: Option<PipeReader>,
    space: Option<u64>,
}

impl Group {
    /// For a command that is not started yet, and the end of the pipe it takes along.
    pub fn new() -> io::Result<(Group, PipeWriter)> {
        let (told, sender) = io::pipe()?;
        Ok((Group { leader: None, told: Some(told), space: None }, sender))
    }

    /// The group that a process leads; `None` when it has ended.
    pub fn of(leader: Option<u32>) -> Group {
        Group { leader, told: None, space: None }
    }

    /// The command is started, and nobody but it has held the other end of the pipe.
    pub fn started(&mut self, leader: Option<u32>) {
        self.leader = leader;
        let mut inode = [0; 8];
        if self.told.take().is_some_and(|mut told| told.read_exact(&mut inode).is_ok()) {
            let own = fs::metadata("/proc/self/ns/mnt").map(|meta| meta.ino()).unwrap_or(0);
            self.space = Some(u64::from_ne_bytes(inode)).filter(|space| *space != 0 && *space != own);
        }
    }

    /// Ends what is in the namespace; says whether there was anything.
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
        if let Some(space) = self.space {
            let _ = (0..ROUNDS_MAX).find(|_| !Group::end_space(space));
        }
    }
}
