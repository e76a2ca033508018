//! Determines from a file's metadata whether its content may have changed since it was read.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{SystemTime, UNIX_EPOCH};

/// The coarsest resolution of file system clocks (100 Hz), with some margin. A second change within
/// one tick may leave no trace.
pub const TICK_NS: i64 = 20_000_000;

/// Metadata that changes with a file's content. Programs can set size and modification time, but
/// not `ctime_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    pub size: u64,
    /// Nanoseconds since 1970, like all times in this file.
    pub mtime_ns: i64,
    /// 0 on a file system that does not record it.
    pub ctime_ns: i64,
    pub inode: u64,
}

impl Stamp {
    pub fn of(about: &Metadata) -> Stamp {
        let ns = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Stamp {
            size: about.size(),
            mtime_ns: ns(about.mtime(), about.mtime_nsec()),
            ctime_ns: ns(about.ctime(), about.ctime_nsec()),
            inode: about.ino(),
        }
    }

    /// The stamp to store for content read after `looked_ns`, when the stamp was taken. A file that
    /// had just changed may change again within a clock tick, so its stored stamp matches no other
    /// and the file is read again, as in git.
    pub fn settled(self, looked_ns: i64) -> Stamp {
        let fresh = self.ctime_ns >= looked_ns.saturating_sub(TICK_NS);
        Stamp { ctime_ns: if fresh { 0 } else { self.ctime_ns }, ..self }
    }

    /// Whether the content is the same as when `stored` was made. False if unknown.
    pub fn is_still(&self, stored: &Stamp) -> bool {
        stored.ctime_ns != 0 && self == stored
    }
}

/// The current time in nanoseconds since 1970.
pub fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_stamp_is_trusted_once_the_clock_has_ticked() {
        let stamp = Stamp { size: 1, mtime_ns: 5, ctime_ns: 5 * TICK_NS, inode: 1 };
        for (looked, trusted) in [(5 * TICK_NS, false), (6 * TICK_NS, false), (6 * TICK_NS + 1, true), (0, false)] {
            assert_eq!(stamp.is_still(&stamp.settled(looked)), trusted, "{looked}");
        }
        let timeless = Stamp { ctime_ns: 0, ..stamp };
        assert!(!timeless.is_still(&timeless.settled(9 * TICK_NS)), "without a change time nothing is known");
    }

    #[test]
    fn a_rewritten_or_replaced_file_differs_though_size_and_time_are_set_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one").unwrap();
        let (about, time) = (fs::metadata(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
        std::thread::sleep(std::time::Duration::from_nanos(2 * TICK_NS as u64));
        fs::write(&path, "two").unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        let (before, now) = (Stamp::of(&about), Stamp::of(&fs::metadata(&path).unwrap()));
        assert_eq!((before.size, before.mtime_ns), (now.size, now.mtime_ns));
        assert!(!now.is_still(&before));
    }
}
