//! Reads the memory use of this process from the operating system.

use crate::base::Bytes;

/// Peak resident memory of this process; `None` on systems other than Linux.
pub fn peak_memory() -> Option<Bytes> {
    status_line("VmHWM:")
}

/// Resident memory in anonymous pages and in mapped files (weights, program code); `None` on
/// systems other than Linux.
pub fn anonymous_and_mapped() -> Option<(Bytes, Bytes)> {
    Some((status_line("RssAnon:")?, status_line("RssFile:")?))
}

/// The value of a line in `/proc/self/status`, such as `VmHWM:     81234 kB`.
fn status_line(name: &str) -> Option<Bytes> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok().map(Bytes::kib)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_at_least_the_present_use() {
        let (anonymous, mapped) = anonymous_and_mapped().expect("Linux says");
        assert!(peak_memory().expect("Linux says").0 >= anonymous.0 + mapped.0 && anonymous > Bytes::mib(1));
    }
}
