//! Gives back the pages of a model file whose matrices were copied into another order.
//!
//! llama.cpp maps the whole file and reads it in; what it copies stays resident a second time, 12 GB for the 24B at
//! Q4_0. The pages are clean: should someone read them after all, the system fetches them from the file again.

use std::ops::Range;
use std::path::Path;

/// Lets go of `ranges` of `file` wherever this process has it mapped; says how many bytes. Only on Linux, which tells
/// where files are mapped; elsewhere nothing happens.
pub fn give_back(file: &Path, ranges: &[Range<u64>]) -> u64 {
    let Ok(file) = file.canonicalize() else { return 0 };
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return 0 };
    let ours = maps.lines().filter_map(mapping).filter(|mapping| Path::new(mapping.path) == file);
    ours.map(|mapping| ranges.iter().map(|range| release(&mapping, range)).sum::<u64>()).sum()
}

/// `7f0000000000-7f0000010000 r--s 00001000 fe:00 1234   /models/a.gguf`
struct Mapping<'a> {
    start: u64,
    end: u64,
    /// Where in the file the mapping begins.
    offset: u64,
    path: &'a str,
}

fn mapping(line: &str) -> Option<Mapping<'_>> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    // Private or writable pages may hold what the file does not.
    if fields.next()? != "r--s" {
        return None;
    }
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let offset = number(fields.next()?)?;
    Some(Mapping { start: number(start)?, end: number(end)?, offset, path: fields.nth(2)?.trim() })
}

/// The whole pages of `range` within `mapping`.
fn release(mapping: &Mapping<'_>, range: &Range<u64>) -> u64 {
    // SAFETY: asks for a constant of the system.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096).max(1);
    let length = mapping.end - mapping.start;
    let start = range.start.saturating_sub(mapping.offset).next_multiple_of(page).min(length);
    let end = range.end.saturating_sub(mapping.offset).min(length) / page * page;
    if start >= end {
        return 0;
    }
    let (address, bytes) = (mapping.start + start, (end - start) as usize);
    // SAFETY: the range lies within a mapping of this process that is shared and read-only, so its pages equal the
    // file's: letting go of them changes no byte that anyone reads. Should the mapping be gone meanwhile, the call fails.
    let done = unsafe { libc::madvise(address as *mut libc::c_void, bytes, libc::MADV_DONTNEED) };
    if done == 0 { bytes as u64 } else { 0 }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_shared_read_only_mappings_count() {
        let line = "7f0000000000-7f0000010000 r--s 00001000 fe:00 1234                       /models/a b.gguf";
        let found = mapping(line).expect("a model's mapping");
        assert_eq!((found.start, found.end - found.start, found.offset), (0x7f00_0000_0000, 0x10000, 0x1000));
        assert_eq!(found.path, "/models/a b.gguf");
        assert!(mapping(&line.replace("r--s", "rw-p")).is_none());
        assert!(mapping("7f00-7f01 rw-p 00000000 00:00 0").is_none());
    }

    #[test]
    fn a_file_that_is_not_mapped_gives_nothing_back() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(give_back(file.path(), std::slice::from_ref(&(0..1 << 20))), 0);
    }
}
