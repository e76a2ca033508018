//! What this process holds, as the system counts it.

use crate::base::Bytes;

/// Most memory this process has held so far; `None` where the system does not say (only Linux is asked).
pub fn peak_memory() -> Option<Bytes> {
    status_line("VmHWM:")
}

/// Memory this process holds now.
pub fn resident_memory() -> Option<Bytes> {
    status_line("VmRSS:")
}

/// Memory of this process's own, and memory that lies in files it has mapped (weights, program code).
pub fn anonymous_and_mapped() -> Option<(Bytes, Bytes)> {
    Some((status_line("RssAnon:")?, status_line("RssFile:")?))
}

/// A line of `/proc/self/status`: `VmHWM:     81234 kB`.
fn status_line(name: &str) -> Option<Bytes> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok().map(Bytes::kib)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_at_least_what_is_held_now() {
        let held = resident_memory().expect("Linux says");
        assert!(peak_memory().expect("Linux says") >= held && held > Bytes::mib(1));
    }
}
