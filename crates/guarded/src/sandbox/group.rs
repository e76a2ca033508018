//! The processes of one command: all of them end when the group is dropped.

use std::io;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::system::{Held, Mark};
use super::{Aside, GitRedirects, Registered};

/// Maximum number of rounds in which marked processes are killed; several are needed because a
/// process can fork between two rounds.
const ROUNDS_MAX: usize = 64;
/// Interval between counts of processes where the system does not enforce their limit.
const COUNT_EVERY: Duration = Duration::from_millis(50);

/// The process group of a command and the part of its sandbox that stays in this process. A process
/// can leave the group, but a confined one cannot lose its mark.
pub struct Group {
    leader: Option<u32>,
    /// This process's end of the connection to the child, until the command starts.
    receiver: Option<UnixStream>,
    held: Held,
    misled: GitRedirects,
    /// Set while the command runs.
    live: Option<Registered>,
}

impl Group {
    /// The group of a command that has not started yet, and the child's end of the connection.
    pub fn new(misled: GitRedirects, held: Held) -> io::Result<(Group, UnixStream)> {
        let (receiver, sender) = UnixStream::pair()?;
        Ok((Group { leader: None, receiver: Some(receiver), held, misled, live: None }, sender))
    }

    /// Call this after the start, once this process has closed its copy of the connection's other
    /// end.
    pub fn started(&mut self, leader: Option<u32>) {
        self.leader = leader;
        if let Some(receiver) = self.receiver.take() {
            self.held.started(&receiver);
        }
        self.live = leader.map(|leader| Registered::new(leader, self.held.mark));
    }

    /// Returns once the command has more than `most` processes, if the system does not enforce that
    /// limit (for root, and where the user's other processes would count too). Otherwise never
    /// returns; the command's deadline bounds the wait.
    pub async fn crowded(&self, most: u64) {
        let Some(mark) = self.held.mark.filter(|_| self.held.counts) else { return std::future::pending().await };
        loop {
            // Most commands end before the first count.
            tokio::time::sleep(COUNT_EVERY).await;
            let counted = tokio::task::spawn_blocking(move || mark.processes().count());
            if counted.await.is_ok_and(|count| count as u64 > most) {
                return;
            }
        }
    }

    /// Ends every process; returns the files that redirected git and their new paths.
    pub fn end(mut self) -> Vec<Aside> {
        self.finish()
    }

    fn finish(&mut self) -> Vec<Aside> {
        let Some(leader) = self.leader.take() else { return Vec::new() };
        // The group was created for this command by `setsid`.
        kill_group(leader);
        if let Some(mark) = self.held.mark {
            end_marked(mark);
        }
        self.live = None;
        // No process of the command is left to change the permissions restored here.
        self.held = Held::default();
        std::mem::take(&mut self.misled).put_aside()
    }
}

/// Kills the processes with this mark in rounds, until none are left.
pub(super) fn end_marked(mark: Mark) {
    // SAFETY: kill takes two integers and touches no memory.
    let killed = || mark.processes().filter(|id| unsafe { libc::kill(*id, libc::SIGKILL) } == 0).count();
    let _ = (0..ROUNDS_MAX).find(|_| killed() == 0);
}

/// Kills every process of the group led by the process `leader`.
pub fn kill_group(leader: u32) {
    let Some(group) = libc::pid_t::try_from(leader).ok().filter(|id| *id > 1) else { return };
    // SAFETY: killpg takes two integers and touches no memory. Once all processes of the group are
    // gone, the call finds nothing to kill.
    unsafe { libc::killpg(group, libc::SIGKILL) };
}

impl Drop for Group {
    fn drop(&mut self) {
        for Aside { path, now } in self.finish() {
            tracing::warn!(path = %path.display(), ?now, "a file that misleads git was put aside, or could not be");
        }
    }
}
