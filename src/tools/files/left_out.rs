//! Finds files outside the index that contain a name, so that a rename, move or removal can report
//! the files that it leaves unchanged.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use ignore::{DirEntry, WalkBuilder};
pub use regex::bytes::Regex as Pattern;

use crate::base::walk::{everything, walk_without};
use crate::tools::Context;

/// Maximum number of files listed and of files read, maximum size of one file and of all files,
/// maximum time. If a limit is reached, [`LeftOut::all`] is false.
const LISTED_MAX: usize = 40_000;
const FILES_MAX: usize = 20_000;
const FILE_MAX_BYTES: u64 = 16 << 20;
const ALL_MAX_BYTES: u64 = 256 << 20;
const TIME_MAX: Duration = Duration::from_secs(5);
/// Folders of packages and build results: their files do not use names of the project, or are
/// rebuilt.
const NOT_OURS: &[&str] =
    &[".git", ".monobloc", "node_modules", "site-packages", ".venv", "venv", "__pycache__", "target"];

/// The files that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Sorted by path, with files that are not ignored first.
    pub paths: Vec<String>,
    /// Whether every file was searched.
    pub all: bool,
}

/// Finds the files of the project that match `pattern` and are not `indexed`.
pub fn matching(context: &Context, indexed: &HashSet<String>, pattern: &Pattern) -> LeftOut {
    let found = LeftOut { all: true, ..LeftOut::default() };
    let mut look = Look { until: Instant::now() + TIME_MAX, files: 0, bytes: 0, found };
    let mut seen = HashSet::new();
    let root = context.root.path();
    // Ignored files come last, since there are often many and they matter less.
    for walk in [walk_without(root, root, NOT_OURS), everything(root, NOT_OURS)] {
        let paths = files(root, &walk);
        look.found.all &= paths.len() < LISTED_MAX;
        let new = paths.into_iter().filter(|path| !indexed.contains(path));
        let new: Vec<String> = new.filter(|path| seen.insert(path.clone())).collect();
        look.found.all &= new.into_iter().all(|path| look.at(context, path, pattern));
    }
    look.found
}

struct Look {
    until: Instant,
    files: usize,
    bytes: u64,
    found: LeftOut,
}

impl Look {
    /// Reads one file; false once a limit on all files is reached.
    fn at(&mut self, context: &Context, path: String, pattern: &Pattern) -> bool {
        let at = context.root.path().join(&path);
        let size = fs::metadata(&at).map_or(0, |about| about.len());
        if size > FILE_MAX_BYTES {
            self.found.all = false;
            return true;
        }
        (self.files, self.bytes) = (self.files + 1, self.bytes + size);
        if self.files > FILES_MAX || self.bytes > ALL_MAX_BYTES || Instant::now() > self.until {
            return false;
        }
        if fs::read(&at).is_ok_and(|bytes| pattern.is_match(&bytes) || is_match_utf16(pattern, &bytes)) {
            self.found.paths.push(path);
        }
        !context.cancel.is_cancelled()
    }
}

/// Whether text in UTF-16 matches.
fn is_match_utf16(pattern: &Pattern, bytes: &[u8]) -> bool {
    let order: fn([u8; 2]) -> u16 = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return false,
    };
    let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|pair| order(*pair)).collect();
    pattern.is_match(String::from_utf16_lossy(&units).as_bytes())
}

/// The paths of the regular files that a walk over the project visits.
fn files(root: &Path, walk: &WalkBuilder) -> Vec<String> {
    let files = walk.build().flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let path = |entry: DirEntry| Some(entry.path().strip_prefix(root).ok()?.to_string_lossy().into_owned());
    files.take(LISTED_MAX).filter_map(path).collect()
}

/// A pattern that matches `name` as a whole word of code.
pub fn word(name: &str) -> Option<Pattern> {
    Pattern::new(&format!(r"(?-u)(?:^|[^\w$])(?:{})(?:[^\w$]|$)", regex::escape(name))).ok()
}

/// A pattern that matches the module `stem` as imports write it: after a slash, a dot, a quotation
/// mark or a space.
pub fn module(stem: &str) -> Option<Pattern> {
    Pattern::new(&format!(
        r#"(?-u)[/."'`]{0}(?:\.\w+)?["'`]|(?:import|from|mod|use|require)\s[\w.:]*\b{0}\b"#,
        regex::escape(stem)
    ))
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::files::walk::testing::Project;

    #[test]
    fn files_outside_the_index_that_have_the_name_are_found() {
        let utf16: Vec<u8> =
            [0xff, 0xfe].into_iter().chain("call(area)".encode_utf16().flat_map(u16::to_le_bytes)).collect();
        let project = Project::with(&[
            ("a.py", "area = 1\n"),
            ("b.min.js", "x=area(1)"),
            ("c.js", "areas()"),
            ("gone/d.js", "area()"),
            (".gitignore", "gone/\n"),
            ("node_modules/e.js", "area()"),
        ]);
        fs::write(project.dir.path().join("f.txt"), utf16).unwrap();
        fs::write(project.dir.path().join("g.txt"), b"caf\xe9 area \xff").unwrap();
        let indexed = HashSet::from(["a.py".to_owned()]);
        let found = matching(&project.context, &indexed, &word("area").unwrap());
        assert_eq!(found.paths, ["b.min.js", "f.txt", "g.txt", "gone/d.js"]);
        assert!(found.all);
        // A file that is too large to be searched must be reported.
        fs::File::create(project.dir.path().join("h.bin")).unwrap().set_len(FILE_MAX_BYTES + 1).unwrap();
        assert!(!matching(&project.context, &indexed, &word("area").unwrap()).all);
    }

    #[test]
    fn a_module_is_found_where_it_is_imported() {
        let check = |text: &str, expected: bool| {
            assert_eq!(module("clock").unwrap().is_match(text.as_bytes()), expected, "{text}");
        };
        check("import{now}from\"./clock\";", true);
        check("require('../lib/clock.js')", true);
        check("from app.clock import now", true);
        check("mod clock;", true);
        check("the clock strikes", false);
        check("let clock=1", false);
    }
}
