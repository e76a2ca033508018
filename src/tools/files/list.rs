//! `list_dir`: lists a folder, optionally with everything below it.

use std::fs;

use crate::base::Bytes;
use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::confine::{Access, Inside};
use crate::tools::files::walk::{Walked, walk};
use crate::tools::outcome::{Finding, Outcome};

/// The folder in which this program keeps its data about a project; it is not listed.
const OWN_FOLDER: &str = ".monobloc";
pub const LIST_MAX_ENTRIES: usize = 1_000;

pub(in crate::tools) fn run(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let path = arguments.optional_text("path")?.unwrap_or(".");
    let folder = context.root.resolve(path, Access::Read).map_err(|e| e.to_string())?;
    let shown = folder.relative();
    if !folder.is_dir() {
        return Err(format!("`{shown}` is not a folder; read_file shows the content of a file"));
    }
    let (entries, walked) =
        if arguments.flag("recursive")? { below(context, &folder)? } else { directly_in(context, &folder, &shown)? };
    let cut = if walked.whole { "" } else { ", more left out: list a folder below, or use find_files" };
    let mut text = format!("{shown}: {} entries{cut}\n", entries.len());
    entries.iter().for_each(|entry| text.push_str(&format!("{}{}\n", entry.path, entry.text)));
    text.push_str(&walked.note());
    let findings = entries.into_iter().map(|entry| Finding { text: entry.text.trim().to_owned(), ..entry }).collect();
    Ok(Outcome::ok(text).with_findings(findings))
}

/// The entries of a folder with their sizes, and whether the list is complete.
fn directly_in(context: &Context, folder: &Inside, shown: &str) -> Result<(Vec<Finding>, Walked), String> {
    let prefix = if shown == "." { String::new() } else { format!("{shown}/") };
    let (mut names, mut hidden) = (Vec::new(), 0);
    for entry in fs::read_dir(folder.absolute()).map_err(|e| format!("{shown}: {e}"))?.flatten() {
        if entry.file_name() == OWN_FOLDER {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        if context.root.hides(&format!("{prefix}{name}")) {
            hidden += 1;
            continue;
        }
        names.push((name, entry.path()));
        // Sorting needs all names; this bounds the work for a huge folder.
        if names.len() > LIST_MAX_ENTRIES * 20 {
            break;
        }
    }
    names.sort();
    let whole = names.len() <= LIST_MAX_ENTRIES;
    let entries = names.into_iter().take(LIST_MAX_ENTRIES);
    let entries = entries.map(|(name, path)| match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => Finding::file(format!("{prefix}{name}/"), ""),
        Ok(meta) if meta.is_symlink() => Finding::file(format!("{prefix}{name}"), "  (symbolic link)"),
        Ok(meta) => Finding::file(format!("{prefix}{name}"), format!("  {}", Bytes(meta.len()))),
        Err(_) => Finding::file(format!("{prefix}{name}"), "  (gone)"),
    });
    Ok((entries.collect(), Walked { whole, hidden }))
}

/// Everything below a folder except ignored files, and whether the list is complete.
fn below(context: &Context, folder: &Inside) -> Result<(Vec<Finding>, Walked), String> {
    let mut entries = Vec::new();
    let walked = walk(context, folder, |entry| {
        if entries.len() >= LIST_MAX_ENTRIES {
            return false;
        }
        entries.push(Finding::file(format!("{}{}", entry.path, if entry.is_dir { "/" } else { "" }), ""));
        true
    })?;
    Ok((entries, walked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::files::walk::testing::{Project, call};

    fn check(arguments: &str, expected: &str) {
        let project = Project::with(&[
            ("src/a.rs", "fn a() {}\n"),
            ("src/deep/b.rs", ""),
            ("target/x.o", "x"),
            (".gitignore", "target\n"),
            (".git/config", ""),
            (".monobloc/monobloc.db", ""),
        ]);
        assert_eq!(call(run, &project, arguments).text, expected, "{arguments}");
    }

    #[test]
    fn a_folder_shows_its_entries_and_below_it_what_is_not_ignored() {
        check("{}", ".: 4 entries\n.git/\n.gitignore  7 B\nsrc/\ntarget/\n");
        check(r#"{"path":"src"}"#, "src: 2 entries\nsrc/a.rs  10 B\nsrc/deep/\n");
        check(r#"{"recursive":true}"#, ".: 5 entries\n.gitignore\nsrc/\nsrc/a.rs\nsrc/deep/\nsrc/deep/b.rs\n");
        check(r#"{"path":"src/a.rs"}"#, "`src/a.rs` is not a folder; read_file shows the content of a file");
    }

    #[test]
    fn a_long_list_is_cut_and_says_so() {
        let names: Vec<String> = (0..LIST_MAX_ENTRIES + 5).map(|n| format!("f{n:05}")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        let project = Project::with(&files);
        for arguments in ["{}", r#"{"recursive":true}"#] {
            let outcome = call(run, &project, arguments);
            assert_eq!(outcome.findings.len(), LIST_MAX_ENTRIES);
            assert!(outcome.text.starts_with(".: 1000 entries, more left out"), "{}", &outcome.text[..80]);
        }
    }
}
