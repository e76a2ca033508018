//! Walks a project, skipping ignored entries. Every list of a project's files comes from here, so that all agree.

use std::path::Path;

use ignore::WalkBuilder;

use super::ignored::Ignored;

/// Walks `start` and everything below it in `project`, sorted by name, without following links. The
/// caller sets further limits.
pub fn walk(project: &Path, start: &Path) -> WalkBuilder {
    walk_without(project, start, &[])
}

/// Like [`walk`], also skipping entries with one of these names.
pub fn walk_without(project: &Path, start: &Path, names: &'static [&'static str]) -> WalkBuilder {
    let rules = Ignored::below(project, start);
    let mut walk = everything(start, &[]);
    walk.filter_entry(move |entry| {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        entry.depth() == 0 || !(is_named(entry, names) || rules.excludes(entry.path(), is_folder))
    });
    walk
}

/// A walk that includes ignored entries and skips only those with one of these names.
pub fn everything(start: &Path, names: &'static [&'static str]) -> WalkBuilder {
    let mut walk = WalkBuilder::new(start);
    walk.standard_filters(false).follow_links(false).sort_by_file_name(|a, b| a.cmp(b));
    walk.filter_entry(move |entry| entry.depth() == 0 || !is_named(entry, names));
    walk
}

fn is_named(entry: &ignore::DirEntry, names: &[&str]) -> bool {
    names.iter().any(|name| entry.file_name() == *name)
}
