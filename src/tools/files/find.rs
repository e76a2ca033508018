//! `find_files`: finds files by a pattern with wildcards or by a part of the path; without either
//! it lists a folder.

use std::path::Path;

use ignore::overrides::OverrideBuilder;

use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::confine::Access;
use crate::tools::files::list::{self, LIST_MAX_ENTRIES};
use crate::tools::files::walk::walk;
use crate::tools::outcome::{Finding, Outcome};

pub(in crate::tools) fn run(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let folder = arguments.optional_text("path")?.map(str::trim).filter(|path| !matches!(*path, "" | "." | "./"));
    let Some(pattern) = arguments.optional_text("pattern")?.map(str::trim) else {
        return list::run(arguments, context);
    };
    if pattern.is_empty() {
        return Err("`pattern` is empty; give a part of a path or wildcards like `*.rs`".to_owned());
    }
    let root = context.root.resolve(folder.unwrap_or_default(), Access::Read).map_err(|e| e.to_string())?;
    if !root.is_dir() {
        return Err(format!("`{}` is not a folder; read_file shows the content of a file", root.relative()));
    }
    let matches = matcher(root.absolute(), pattern)?;
    // A pattern applies to paths below the folder.
    let above = folder.map_or_else(String::new, |_| format!("{}/", root.relative()));
    let below = |path: &str| path.strip_prefix(&above).map(&matches).unwrap_or_default();
    let mut found = Vec::new();
    let walked = walk(context, &root, |entry| {
        if entry.is_file && below(&entry.path) {
            found.push(entry.path.clone());
        }
        found.len() <= LIST_MAX_ENTRIES
    })?;
    found.truncate(LIST_MAX_ENTRIES);
    // Files with exactly that name come first.
    let is_other = |path: &String| path.rsplit('/').next().is_some_and(|name| !name.eq_ignore_ascii_case(pattern));
    found.sort_by_cached_key(|path| (is_other(path), path.clone()));
    let cut = if walked.whole { "" } else { " (more left out; give a narrower pattern)" };
    let mut text = format!("{} files match `{pattern}`{cut}\n", found.len());
    found.iter().for_each(|path| text.push_str(&format!("{path}\n")));
    text.push_str(&walked.note());
    Ok(Outcome::ok(text).with_findings(found.into_iter().map(|path| Finding::file(path, "")).collect()))
}

type Matcher = Box<dyn Fn(&str) -> bool>;

/// A pattern with wildcards follows the rules of .gitignore, except that a pattern with a slash may
/// begin at any folder (`*.rs` and `src/*.rs` match at any depth). Without wildcards any part of
/// the path matches, ignoring case.
fn matcher(folder: &Path, pattern: &str) -> Result<Matcher, String> {
    if !pattern.contains(['*', '?', '[', '{']) {
        let wanted = pattern.trim_start_matches("./").to_lowercase();
        return Ok(Box::new(move |path| path.to_lowercase().contains(&wanted)));
    }
    let root = folder.to_owned();
    let bare = pattern.trim_start_matches('!');
    // `./src/*.rs` and `/src/*.rs` are anchored at the folder itself.
    let glob = match bare.strip_prefix("./") {
        Some(from_here) => from_here.to_owned(),
        None if bare.trim_end_matches('/').contains('/') && !bare.starts_with(['/', '*']) => format!("**/{bare}"),
        None => bare.to_owned(),
    };
    let globs = OverrideBuilder::new(&root).add(&glob).and_then(|builder| builder.build());
    let globs = globs.map_err(|e| format!("`{pattern}` is not a usable pattern: {e}"))?;
    Ok(Box::new(move |path| globs.matched(root.join(path), false).is_whitelist()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::files::walk::testing::{Project, call};

    fn check(pattern: &str, expected: &[&str]) {
        let files = ["src/lib.rs", "src/deep/list.rs", "docs/list/other.md", "list", "build/list.rs"];
        let mut all: Vec<(&str, &str)> = files.iter().map(|path| (*path, "")).collect();
        all.push((".gitignore", "build/\n"));
        let project = Project::with(&all);
        let outcome = call(run, &project, &serde_json::json!({ "pattern": pattern }).to_string());
        let found: Vec<&str> = outcome.findings.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(found, expected, "{pattern}: {}", outcome.text);
    }

    #[test]
    fn wildcards_match_as_in_gitignore_and_a_plain_word_any_part() {
        check("*.rs", &["src/deep/list.rs", "src/lib.rs"]);
        check("src/*.rs", &["src/lib.rs"]);
        check("src/**/*.rs", &["src/deep/list.rs", "src/lib.rs"]);
        check("*.{md,toml}", &["docs/list/other.md"]);
        check("deep/*.rs", &["src/deep/list.rs"]);
        check("./deep/*.rs", &[]);
        check("l?b.rs", &["src/lib.rs"]);
        check("[", &[]);
        check("LIST", &["list", "docs/list/other.md", "src/deep/list.rs"]);
        check("deep/li", &["src/deep/list.rs"]);
        check("nothing", &[]);
    }

    #[test]
    fn a_folder_is_searched_or_listed() {
        let project = Project::with(&[("src/lib.rs", ""), ("src/deep/lib.rs", ""), ("lib.rs", "")]);
        for (arguments, expected) in [
            (r#"{"pattern":"*.rs","path":"src"}"#, "2 files match `*.rs`\nsrc/deep/lib.rs\nsrc/lib.rs\n"),
            (r#"{"pattern":"deep/*","path":"./src/"}"#, "1 files match `deep/*`\nsrc/deep/lib.rs\n"),
            (r#"{"pattern":"src","path":"src"}"#, "0 files match `src`\n"),
            (r#"{"pattern":"lib","path":"."}"#, "3 files match `lib`\nlib.rs\nsrc/deep/lib.rs\nsrc/lib.rs\n"),
            (r#"{"path":"src"}"#, "src: 2 entries\nsrc/deep/\nsrc/lib.rs  0 B\n"),
            (
                r#"{"pattern":"*.rs","path":"lib.rs"}"#,
                "`lib.rs` is not a folder; read_file shows the content of a file",
            ),
        ] {
            assert_eq!(call(run, &project, arguments).text, expected, "{arguments}");
        }
        assert!(!call(run, &project, r#"{"pattern":"*","path":".."}"#).is_ok());
    }
}
