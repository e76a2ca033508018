//! Reads how much host memory this process may use: the memory available, or a container's limit if lower.

use std::fs;
use std::path::Path;

use crate::base::Bytes;

/// Host memory at one point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostMemory {
    /// The machine's memory, or the container's limit if that is lower.
    pub total: Bytes,
    /// Memory that can be used now without swapping.
    pub available: Bytes,
}

/// The memory of this machine; `None` on systems other than Linux and macOS.
pub fn host() -> Option<HostMemory> {
    if cfg!(target_os = "macos") { macos() } else { linux(Path::new("/")) }
}

/// Linux: read from `/proc` and `/sys` under `root`.
fn linux(root: &Path) -> Option<HostMemory> {
    let meminfo = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let kib = |name: &str| number_after(&meminfo, name).map(Bytes::kib);
    let mut host = HostMemory { total: kib("MemTotal:")?, available: kib("MemAvailable:")? };
    let own = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    for group in groups(&own) {
        if let Some((limit, used)) = limit(root, &group) {
            host.total = host.total.min(limit);
            host.available = host.available.min(limit.saturating_sub(used));
        }
    }
    Some(host)
}

/// A cgroup whose limit applies to this process.
struct Group {
    /// Relative to the root of the file system.
    dir: String,
    version_2: bool,
}

/// Parses `/proc/self/cgroup`: `0::/a/b` (version 2) and `4:memory:/a/b` (version 1). Ancestors are
/// included, because their limits apply too, and because inside a container the path may be the
/// host's, in which case only the mount's root exists.
fn groups(own: &str) -> Vec<Group> {
    let mut groups = Vec::new();
    for line in own.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let version_2 = controllers.is_empty();
        if !version_2 && !controllers.split(',').any(|name| name == "memory") {
            continue;
        }
        let mount = if version_2 { "sys/fs/cgroup" } else { "sys/fs/cgroup/memory" };
        let mut path = path.trim_matches('/');
        loop {
            groups.push(Group { dir: format!("{mount}/{path}"), version_2 });
            if path.is_empty() {
                break;
            }
            path = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
    }
    groups
}

/// Limit and use of one group. File pages (such as mapped weights) are reclaimed under pressure, so
/// they do not count as used, as in the machine's own `MemAvailable`.
fn limit(root: &Path, group: &Group) -> Option<(Bytes, Bytes)> {
    let dir = root.join(&group.dir);
    let read = |name: &str| fs::read_to_string(dir.join(name)).ok();
    let (limit, used, prefix) = if group.version_2 {
        (read("memory.max")?, read("memory.current")?, "")
    } else {
        (read("memory.limit_in_bytes")?, read("memory.usage_in_bytes")?, "total_")
    };
    // "No limit" is "max" in version 2; in version 1 it is a number near 2^63, more than any
    // machine's memory.
    let limit = limit.trim().parse().ok()?;
    let used: u64 = used.trim().parse().ok()?;
    let stat = read("memory.stat").unwrap_or_default();
    let pages = |age: &str| number_after(&stat, &format!("{prefix}{age}_file")).unwrap_or(0);
    Some((Bytes(limit), Bytes(used.saturating_sub(pages("active")).saturating_sub(pages("inactive")))))
}

/// The number after `name` at the start of a line.
fn number_after(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// macOS: read with the system's own tools. Written from their manuals; not yet tested on a Mac.
fn macos() -> Option<HostMemory> {
    let run = |program: &str, arguments: &[&str]| {
        let output = std::process::Command::new(program).args(arguments).output().ok()?;
        String::from_utf8(output.stdout).ok()
    };
    let total: u64 = run("/usr/sbin/sysctl", &["-n", "hw.memsize"])?.trim().parse().ok()?;
    Some(HostMemory { total: Bytes(total), available: vm_stat(&run("/usr/bin/vm_stat", &[])?)? })
}

/// Memory that is free or can be reclaimed without writing anything to disk, from the output of
/// `vm_stat`: `Mach Virtual Memory Statistics: (page size of 16384 bytes)`, then lines like
/// `Pages free:   3990.`
fn vm_stat(text: &str) -> Option<Bytes> {
    let page: u64 = text.split_once("page size of ")?.1.split_whitespace().next()?.parse().ok()?;
    let pages = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches('.').parse::<u64>().ok()
    };
    let names = ["Pages free:", "Pages inactive:", "Pages speculative:", "Pages purgeable:"];
    Some(Bytes(page) * names.into_iter().filter_map(pages).sum::<u64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "MemTotal:       16777216 kB\nMemFree:  1 kB\nMemAvailable:    8388608 kB\n";

    fn check(files: &[(&str, &str)], expected: (Bytes, Bytes)) {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in [("proc/meminfo", MEMINFO)].iter().chain(files) {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(linux(root.path()), Some(HostMemory { total: expected.0, available: expected.1 }));
    }

    #[test]
    fn the_systems_numbers_count_unless_a_container_limits_them() {
        check(&[], (Bytes::gib(16), Bytes::gib(8)));
        check(
            &[("proc/self/cgroup", "4:memory:/a\n"), ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "nonsense")],
            (Bytes::gib(16), Bytes::gib(8)),
        );
        // Version 1; file pages do not count as used.
        let dir = "sys/fs/cgroup/memory/a/";
        check(
            &[
                ("proc/self/cgroup", "9:name=systemd:/\n5:pids:/other\n4:cpu,memory:/a/b\n0::/\n"),
                ("sys/fs/cgroup/memory/other/memory.limit_in_bytes", "1073741824\n"),
                ("sys/fs/cgroup/memory/other/memory.usage_in_bytes", "0\n"),
                (&format!("{dir}memory.limit_in_bytes"), "4294967296\n"),
                (&format!("{dir}memory.usage_in_bytes"), "3221225472\n"),
                (&format!("{dir}memory.stat"), "cache 1\ntotal_inactive_file 536870912\ntotal_active_file 536870912\n"),
            ],
            (Bytes::gib(4), Bytes::gib(2)),
        );
        // Version 2; `max` means no limit.
        check(
            &[
                ("proc/self/cgroup", "0::/a/b\n"),
                ("sys/fs/cgroup/a/b/memory.max", "max\n"),
                ("sys/fs/cgroup/a/b/memory.current", "5\n"),
                ("sys/fs/cgroup/a/memory.max", "1073741824\n"),
                ("sys/fs/cgroup/a/memory.current", "2147483648\n"),
            ],
            (Bytes::gib(1), Bytes::ZERO),
        );
    }

    #[test]
    fn this_machine_has_memory() {
        let host = host().expect("Linux and macOS say how much memory they have");
        assert!(host.available > Bytes::mib(16) && host.available <= host.total, "{host:?}");
    }

    #[test]
    fn a_macs_pages_are_added_up() {
        let text = "Mach Virtual Memory Statistics: (page size of 16384 bytes)\nPages free:      10.\nPages active:  99.\n\
                    Pages inactive:  20.\nPages speculative: 3.\nPages purgeable: 1.\n";
        assert_eq!(vm_stat(text), Some(Bytes(34 * 16384)));
    }
}
