//! Walks a project and lists the files to index and the skipped ones, with reasons.

mod text;

use std::fs::{FileType, Metadata};
use std::path::Path;

use crate::base::stamp::{Stamp, now_ns};
use crate::base::walk::walk;
use crate::base::{Bytes, is_listed};

pub use text::read;

/// Larger files are data or bundles; no hand-written source file is that large.
pub const FILE_BYTES_MAX: u64 = 2_000_000;
/// Maximum number of files listed, including skipped ones. The largest public monorepos have fewer
/// in one tree.
pub const FILES_MAX: usize = 200_000;
/// Maximum bytes of text indexed. The largest public monorepos have half as much source; anything
/// beyond is data.
const PROJECT_BYTES_MAX: u64 = 4 << 30;
/// Lock files: written by tools and never searched.
const LOCK_FILES: &str = "\
    Cargo.lock Gemfile.lock Pipfile.lock Podfile.lock bun.lock bun.lockb composer.lock deno.lock flake.lock go.sum \
    go.work.sum gradle.lockfile mix.lock npm-shrinkwrap.json package-lock.json packages.lock.json pdm.lock \
    pnpm-lock.yaml poetry.lock pubspec.lock uv.lock yarn.lock";
/// File endings of bundler output, with the reason for skipping them.
const BUNDLES: &[(&str, &str)] = &[
    (".min.js", "minified, by its name"),
    (".min.mjs", "minified, by its name"),
    (".min.css", "minified, by its name"),
    (".js.map", "a source map"),
    (".mjs.map", "a source map"),
    (".cjs.map", "a source map"),
    (".css.map", "a source map"),
    (".ts.map", "a source map"),
];
/// Maximum depth of visited folders.
const DEPTH_MAX: usize = 64;

/// A file on disk that has not been read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Relative to the project, with `/`.
    pub path: String,
    pub stamp: Stamp,
}

/// A file that is not in the index, and why. The reason begins with its category, up to a colon:
/// see [`by_reason`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Skipped {
    pub path: String,
    pub reason: String,
}

/// The number of skipped files per category of reason, most frequent first.
pub fn by_reason(skipped: &[Skipped]) -> Vec<(&str, usize)> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for one in skipped {
        let sort = one.reason.split(':').next().unwrap_or_default();
        match counts.iter_mut().find(|(known, _)| *known == sort) {
            Some((_, count)) => *count += 1,
            None => counts.push((sort, 1)),
        }
    }
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    counts
}

/// Whether a file skipped for this reason may have become readable, although its size and time are
/// unchanged.
pub fn may_pass(reason: &str) -> bool {
    reason.starts_with(text::UNREADABLE)
}

/// Whether this category means that a limit was reached or a file could not be read, so that the
/// missing text may be code.
pub fn is_limit(category: &str) -> bool {
    const LIMITS: [&str; 7] =
        [text::UNREADABLE, "too large", "too deep", "too many files", "too much text", "generated", "minified or data"];
    LIMITS.contains(&category)
}

#[derive(Debug, Default)]
pub struct Scan {
    /// When the walk began, in nanoseconds since 1970: before any stamp was taken.
    pub began_ns: i64,
    /// Sorted by path.
    pub files: Vec<Found>,
    pub skipped: Vec<Skipped>,
}

/// Lists the files under `project` that ignore rules allow, without reading them. Links are not followed.
pub fn scan(project: &Path) -> Scan {
    let mut scan = Scan { began_ns: now_ns(), ..Scan::default() };
    for entry in walk(project, project).max_depth(Some(DEPTH_MAX)).build() {
        match entry {
            Ok(entry) => consider(project, &entry, &mut scan),
            Err(error) => {
                let path = path_of(&error).and_then(|path| path.strip_prefix(project).ok());
                let path = path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
                scan.skipped.push(Skipped { path, reason: format!("{}: {error}", text::UNREADABLE) });
            }
        }
        if scan.files.len() + scan.skipped.len() >= FILES_MAX {
            let reason =
                format!("too many files: more than {FILES_MAX}; the rest were not scanned; exclude folders in .ignore");
            scan.skipped.push(Skipped { path: String::new(), reason });
            break;
        }
    }
    scan.files.sort_by(|a, b| a.path.cmp(&b.path));
    leave_out_beyond(PROJECT_BYTES_MAX, &mut scan);
    scan
}

/// Skips the last files of the list, so that the rest have at most `bytes_max` bytes.
fn leave_out_beyond(bytes_max: u64, scan: &mut Scan) {
    let mut total = 0;
    let fits = |file: &&Found| {
        total += file.stamp.size;
        total <= bytes_max
    };
    let kept = scan.files.iter().take_while(fits).count();
    let reason = format!("too much text: the files before it have {}, the limit", Bytes(bytes_max));
    let beyond = scan.files.drain(kept..).map(|file| Skipped { path: file.path, reason: reason.clone() });
    scan.skipped.extend(beyond);
}

fn consider(project: &Path, entry: &ignore::DirEntry, scan: &mut Scan) {
    let Ok(relative) = entry.path().strip_prefix(project) else { return };
    let pieces: Vec<_> = relative.iter().map(|piece| piece.to_string_lossy()).collect();
    let path = pieces.join("/");
    if path.is_empty() {
        return;
    }
    if relative.to_str().is_none() {
        let reason = "its name is not UTF-8: rename it to have it indexed".into();
        return scan.skipped.push(Skipped { path, reason });
    }
    let why = match (entry.file_type(), entry.metadata()) {
        (Some(kind), _) if kind.is_dir() => {
            if entry.depth() < DEPTH_MAX {
                return;
            }
            format!("too deep: folders below {DEPTH_MAX} others are not entered")
        }
        (_, Err(error)) => format!("{}: {error}", text::UNREADABLE),
        (kind, Ok(about)) => match skip_reason(&path, kind, &about) {
            Some(why) => why,
            None => {
                return scan.files.push(Found { path, stamp: Stamp::of(&about) });
            }
        },
    };
    scan.skipped.push(Skipped { path, reason: why });
}

/// Whether a tool wrote the file: a lock file, a bundle, a source map.
pub fn is_by_tool(path: &str) -> bool {
    is_lock_file(path) || BUNDLES.iter().any(|(ending, _)| path.ends_with(ending))
}

fn is_lock_file(path: &str) -> bool {
    is_listed(LOCK_FILES, path.rsplit('/').next().unwrap_or_default())
}

/// Why a file is skipped without being opened; `None` for a file to index.
fn skip_reason(path: &str, kind: Option<FileType>, about: &Metadata) -> Option<String> {
    if kind.is_some_and(|k| k.is_symlink()) {
        return Some("a link: links are not followed".into());
    }
    if !kind.is_some_and(|k| k.is_file()) {
        return Some("not a regular file: a pipe, a socket or a device".into());
    }
    if is_lock_file(path) {
        return Some("a lock file".into());
    }
    if let Some((_, what)) = BUNDLES.iter().find(|(ending, _)| path.ends_with(ending)) {
        return Some((*what).into());
    }
    let too_large = about.len() > FILE_BYTES_MAX;
    too_large.then(|| format!("too large: {}, more than {}", Bytes(about.len()), Bytes(FILE_BYTES_MAX)))
}

/// The path that a walk error refers to.
fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } => path_of(err),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
