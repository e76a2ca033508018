//! Walks a project and says which files are worth reading, and why the others are not.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use ignore::WalkBuilder;

use crate::base::Bytes;

/// Larger files are data or bundles; a person reads no source file of this size.
pub const FILE_BYTES_MAX: u64 = 2_000_000;
/// More files than the largest public monorepos hold under version control in one tree.
pub const FILES_MAX: usize = 200_000;
/// Average line longer than this in a file of some size: minified.
const LINE_BYTES_AVERAGE_MAX: usize = 500;
/// One line longer than this: minified or data.
const LINE_BYTES_MAX: usize = 20_000;
/// Files that a tool wrote and nobody searches.
const LOCK_FILES: &[&str] = &[
    "Cargo.lock",
    "package-lock.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lockb",
    "poetry.lock",
    "uv.lock",
    "go.sum",
];
/// Deepest folder that is entered.
const DEPTH_MAX: usize = 64;

/// A file on disk, before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Relative to the project, with `/`.
    pub path: String,
    pub size: u64,
    pub mtime_ns: i64,
}

/// A file that is not in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    pub path: String,
    pub reason: String,
}

#[derive(Debug, Default)]
pub struct Scan {
    /// Sorted by path.
    pub files: Vec<Found>,
    pub skipped: Vec<Skipped>,
}

/// Lists the files under `project` that ignore rules let through, without reading them. Links are not followed.
pub fn scan(project: &Path) -> Scan {
    let mut scan = Scan::default();
    let walk = WalkBuilder::new(project)
        .hidden(false)
        .follow_links(false)
        .require_git(false)
        .max_depth(Some(DEPTH_MAX))
        .filter_entry(|e| !matches!(e.file_name().to_str(), Some(".git" | ".monobloc" | ".hg" | ".svn")))
        .build();
    for entry in walk {
        match entry {
            Ok(entry) => consider(project, &entry, &mut scan),
            Err(error) => scan.skipped.push(Skipped { path: String::new(), reason: error.to_string() }),
        }
        if scan.files.len() >= FILES_MAX {
            let reason =
                format!("the project has more than {FILES_MAX} files; the rest was not read; name folders in .ignore");
            scan.skipped.push(Skipped { path: String::new(), reason });
            break;
        }
    }
    scan.files.sort_by(|a, b| a.path.cmp(&b.path));
    scan
}

fn consider(project: &Path, entry: &ignore::DirEntry, scan: &mut Scan) {
    let Some(path) = relative(project, entry.path()) else { return };
    let skip = |reason: String| Skipped { path: path.clone(), reason };
    let kind = entry.file_type();
    if kind.is_some_and(|k| k.is_symlink()) {
        return scan.skipped.push(skip("a link; links are not followed".into()));
    }
    if !kind.is_some_and(|k| k.is_file()) {
        return;
    }
    if LOCK_FILES.contains(&path.rsplit('/').next().unwrap_or_default()) {
        return scan.skipped.push(skip("a lock file".into()));
    }
    match entry.metadata() {
        Err(error) => scan.skipped.push(skip(error.to_string())),
        Ok(about) if about.len() > FILE_BYTES_MAX => {
            let reason = format!("{}, more than {}", Bytes(about.len()), Bytes(FILE_BYTES_MAX));
            scan.skipped.push(skip(reason));
        }
        Ok(about) => {
            let age = about.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
            let mtime_ns = age.map_or(0, |t| i64::try_from(t.as_nanos()).unwrap_or(i64::MAX));
            scan.files.push(Found { path, size: about.len(), mtime_ns });
        }
    }
}

fn relative(project: &Path, path: &Path) -> Option<String> {
    let relative = path.strip_prefix(project).ok()?;
    let pieces: Vec<String> = relative.iter().map(|p| p.to_string_lossy().into_owned()).collect();
    (!pieces.is_empty()).then(|| pieces.join("/"))
}

/// The text of a file, or why it is not read as text. Invalid UTF-8 is replaced if there is little of it.
pub fn read(project: &Path, path: &str) -> Result<String, String> {
    let bytes = fs::read(project.join(path)).map_err(|e| format!("cannot be read: {e}"))?;
    text_of(bytes)
}

fn text_of(bytes: Vec<u8>) -> Result<String, String> {
    /// Share of replaced characters above which a file is not text in UTF-8: 1 in 50.
    const REPLACED_SHARE_MAX: usize = 50;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("grew to {}, more than {}", Bytes(bytes.len() as u64), Bytes(FILE_BYTES_MAX)));
    }
    if bytes.contains(&0) {
        return Err("binary".into());
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(wrong) => {
            let text = String::from_utf8_lossy(wrong.as_bytes()).into_owned();
            let replaced = text.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count();
            if replaced * REPLACED_SHARE_MAX > text.chars().count() {
                return Err("not UTF-8".into());
            }
            text
        }
    };
    if text.trim().is_empty() {
        return Err("empty".into());
    }
    let lines = text.lines().count().max(1);
    let longest = text.lines().map(str::len).max().unwrap_or(0);
    if longest > LINE_BYTES_MAX || (text.len() > 5_000 && text.len() / lines > LINE_BYTES_AVERAGE_MAX) {
        return Err(format!("minified or data: its longest line has {longest} bytes"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: Result<&str, &str>) {
        let read = text_of(bytes.to_vec());
        assert_eq!(read.as_deref().map_err(|e| e.split(':').next().unwrap_or_default()), expected);
    }

    #[test]
    fn what_is_not_text_is_named() {
        check(b"let a = 1;\n", Ok("let a = 1;\n"));
        check(b"\x7fELF\0\0", Err("binary"));
        check(b"\xff\xfe\xfd\xfc", Err("not UTF-8"));
        check(b" \n", Err("empty"));
        check("x".repeat(30_000).as_bytes(), Err("minified or data"));
    }

    #[test]
    fn one_bad_byte_in_a_long_file_is_replaced() {
        let mut bytes = "// a comment that is long enough to be mostly right\n".repeat(4).into_bytes();
        bytes.push(0xff);
        assert!(text_of(bytes).is_ok_and(|t| t.ends_with('\u{fffd}')));
    }

    #[test]
    fn ignored_files_own_files_and_links_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".gitignore", "built/\n");
        write("src/a.ts", "a");
        write("built/a.js", "a");
        write(".monobloc/monobloc.db", "a");
        write(".git/config", "a");
        write("Cargo.lock", "a");
        write("big.csv", &"1,2\n".repeat(600_000));
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path(), folder.path().join("src/loop")).unwrap();
        let scan = scan(folder.path());
        let files: Vec<&str> = scan.files.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(files, [".gitignore", "src/a.ts"]);
        assert!(scan.skipped.iter().any(|s| s.path == "big.csv" && s.reason.contains("2.3 MiB")), "{:?}", scan.skipped);
        #[cfg(unix)]
        assert!(scan.skipped.iter().any(|s| s.path == "src/loop" && s.reason.contains("link")));
    }
}
