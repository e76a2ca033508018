//! The processes of one command: all of them end when the group is dropped.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::{Aside, GitRedirects, Registered};
use crate::tools::sandbox::send_fd;

/// Maximum number of rounds of killing what is left in the namespace, because a process can fork between two rounds.
const ROUNDS_MAX: usize = 64;
/// How often processes are counted where the system does not enforce their limit.
const COUNT_EVERY: Duration = Duration::from_millis(50);

/// The process group and the mount namespace of a command. A process can leave the group, but not the namespace.
pub struct Group {
    leader: Option<u32>,
    /// Receives the namespace, which the child sends just before exec; nothing comes if it has none of its own.
    receiver: Option<UnixStream>,
    /// The namespace, held open so that no other one gets its inode number.
    space: Option<File>,
    misled: GitRedirects,
    /// While it runs.
    live: Option<Registered>,
}

impl Group {
    /// The group of a command that is not started yet, and the end of the connection for the child.
    pub fn new(misled: GitRedirects) -> io::Result<(Group, UnixStream)> {
        let (receiver, sender) = UnixStream::pair()?;
        Ok((Group { leader: None, receiver: Some(receiver), space: None, misled, live: None }, sender))
    }

    /// Waits for the namespace. Call it after the start, once this process has closed its copy of the other end.
    pub fn started(&mut self, leader: Option<u32>) {
        self.leader = leader;
        self.space = self.receiver.take().and_then(|receiver| send_fd::receive(receiver.as_raw_fd()));
        self.live = leader.map(|leader| Registered::new(leader, self.number()));
    }

    /// Returns when the command has more than `most` processes. Only root's are counted, because the system enforces
    /// the limit on every other user; for them this never returns. The deadline of the command bounds the wait.
    pub async fn crowded(&self, most: u64) {
        // SAFETY: the call takes nothing and cannot fail.
        let counted = self.number().filter(|_| unsafe { libc::geteuid() } == 0);
        let Some(space) = counted else { return std::future::pending().await };
        loop {
            // Most commands are over before they are counted.
            tokio::time::sleep(COUNT_EVERY).await;
            let counted = tokio::task::spawn_blocking(move || inside(space).count());
            if counted.await.is_ok_and(|count| count as u64 > most) {
                return;
            }
        }
    }

    /// Ends every process; returns the files that redirected git and where they are now.
    pub fn end(mut self) -> Vec<Aside> {
        self.finish()
    }

    fn finish(&mut self) -> Vec<Aside> {
        let Some(leader) = self.leader.take() else { return Vec::new() };
        // The group was made for this command by `setsid`.
        kill_group(leader);
        // `number` is `None` for this program's own namespace, in which nothing is killed.
        if let Some(space) = self.number() {
            end_space(space);
        }
        self.live = None;
        std::mem::take(&mut self.misled).put_aside()
    }

    /// The inode number of the command's namespace, if it has one of its own.
    fn number(&self) -> Option<u64> {
        let own = fs::metadata("/proc/self/ns/mnt").ok()?.ino();
        let space = self.space.as_ref()?.metadata().ok()?.ino();
        Some(space).filter(|space| *space != own)
    }
}

/// Kills the processes in the namespace of that number, in rounds until there are none.
pub(super) fn end_space(space: u64) {
    // SAFETY: kill takes two integers and touches no memory.
    let killed = || inside(space).filter(|id| unsafe { libc::kill(*id, libc::SIGKILL) } == 0).count();
    let _ = (0..ROUNDS_MAX).find(|_| killed() == 0);
}

/// Kills every process of the group that the process `leader` was started to lead.
pub fn kill_group(leader: u32) {
    let Some(group) = libc::pid_t::try_from(leader).ok().filter(|id| *id > 1) else { return };
    // SAFETY: killpg takes two integers and touches no memory. Once all processes of the group are gone the call finds nothing
    // to kill.
    unsafe { libc::killpg(group, libc::SIGKILL) };
}

/// The processes in the namespace of that number.
fn inside(space: u64) -> impl Iterator<Item = libc::pid_t> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<libc::pid_t>().ok());
    let is_in = move |id: &libc::pid_t| {
        let its = Path::new("/proc").join(id.to_string()).join("ns/mnt");
        fs::metadata(its).is_ok_and(|meta| meta.ino() == space)
    };
    ids.filter(|id| *id > 1).filter(is_in)
}

impl Drop for Group {
    fn drop(&mut self) {
        for Aside { path, now } in self.finish() {
            tracing::warn!(path = %path.display(), ?now, "a file that misleads git was put aside, or could not be");
        }
    }
}
