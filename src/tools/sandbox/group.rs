//! The processes of one command: all of them end when it is dropped.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::{Aside, Misled, pass};

/// Looks for processes that have left the group: more than ever make new ones between two looks.
const ROUNDS_MAX: usize = 64;
/// How often processes are counted where the system does not hold their number.
const COUNT_EVERY: Duration = Duration::from_millis(50);

/// The process group it was made for, and the mount namespace, which a process cannot leave as it can a group.
pub struct Group {
    leader: Option<u32>,
    /// Where a command hands over its namespace, just before it becomes a command; nothing if it has none.
    told: Option<UnixStream>,
    /// Held open: as long as it is, no other namespace gets its number.
    space: Option<File>,
    misled: Misled,
}

impl Group {
    /// For a command that is not started yet, and the end of the connection it takes along.
    pub fn new(misled: Misled) -> io::Result<(Group, UnixStream)> {
        let (told, sender) = UnixStream::pair()?;
        Ok((Group { leader: None, told: Some(told), space: None, misled }, sender))
    }

    /// The command is started, and nobody but it has held the other end of the connection.
    pub fn started(&mut self, leader: Option<u32>) {
        self.leader = leader;
        self.space = self.told.take().and_then(|told| pass::receive(told.as_raw_fd()));
    }

    /// Ends when there are more processes than that; bounded by the time of the command, beside which it waits. The system
    /// holds everybody to their number but the administrator, for whom they are counted; for others this never ends.
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

    /// Ends every process; says what misled git afterwards and where that is now.
    pub fn end(mut self) -> Vec<Aside> {
        self.finish()
    }

    fn finish(&mut self) -> Vec<Aside> {
        let Some(group) = self.leader.take().and_then(|id| libc::pid_t::try_from(id).ok()).filter(|id| *id > 1) else {
            return Vec::new();
        };
        // SAFETY: killpg takes two integers and touches no memory. The group was made for this command by `setsid`;
        // once all its processes are gone the call finds nothing to kill.
        unsafe { libc::killpg(group, libc::SIGKILL) };
        // Nothing of this program's own is ever ended.
        if let Some(space) = self.number() {
            let _ = (0..ROUNDS_MAX).find(|_| !Group::end_space(space));
        }
        std::mem::take(&mut self.misled).put_aside()
    }

    /// The number of the command's namespace, if it has one of its own.
    fn number(&self) -> Option<u64> {
        let own = fs::metadata("/proc/self/ns/mnt").ok()?.ino();
        let space = self.space.as_ref()?.metadata().ok()?.ino();
        Some(space).filter(|space| *space != own)
    }

    /// Ends what is in the namespace of that number; says whether there was anything.
    fn end_space(space: u64) -> bool {
        // SAFETY: kill takes two integers and touches no memory.
        inside(space).filter(|id| unsafe { libc::kill(*id, libc::SIGKILL) } == 0).count() > 0
    }
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
