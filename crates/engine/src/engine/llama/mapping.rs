//! Releases the pages of a mapped model file that were read only to be copied.
//!
//! They stay in the system's file cache, but no longer count towards this process's memory.

use std::fs;
use std::ops::Range;
use std::path::Path;

/// Releases every page of `file` that this process has mapped read-only; a later access loads it
/// again. Does nothing on systems without `/proc/self/maps`.
pub(super) fn let_go(file: &Path) {
    let Ok(file) = fs::canonicalize(file) else { return };
    let Ok(maps) = fs::read_to_string("/proc/self/maps") else { return };
    for range in maps.lines().filter_map(|line| read_only(line, &file)) {
        // SAFETY: the range is a read-only mapping of a file, so its pages equal the file's
        // contents, and the system reads them again on access.
        let answer =
            unsafe { libc::madvise(std::ptr::without_provenance_mut(range.start), range.len(), libc::MADV_DONTNEED) };
        if answer != 0 {
            tracing::debug!("pages of {} stay mapped: {}", file.display(), std::io::Error::last_os_error());
        }
    }
}

/// The address range in a line like `7f00-7f10 r--s 00000000 fe:00 42    /models/a.gguf`, if it
/// maps `file` read-only.
fn read_only(line: &str, file: &Path) -> Option<Range<usize>> {
    let mut fields = line.splitn(6, ' ');
    let (range, permissions) = (fields.next()?, fields.next()?);
    let path = fields.nth(3)?.trim_start();
    if !permissions.starts_with("r--") || Path::new(path) != file {
        return None;
    }
    let (from, to) = range.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    Some(number(from)?..number(to)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_read_only_mappings_of_the_file_are_released() {
        let file = Path::new("/models/a b.gguf");
        let line = |may: &str, path: &str| format!("7f00-7f10 {may} 00000000 fe:00 42                  {path}");
        assert_eq!(read_only(&line("r--s", "/models/a b.gguf"), file), Some(0x7f00..0x7f10));
        assert_eq!(read_only(&line("rw-p", "/models/a b.gguf"), file), None);
        assert_eq!(read_only(&line("r--p", "/models/b.gguf"), file), None);
        assert_eq!(read_only("7f00-7f10 r--p 00000000 00:00 0", file), None);
    }
}
