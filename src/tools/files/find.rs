//! `find_files`: finds files by name, with wildcards or by a part of the path.

use ignore::overrides::OverrideBuilder;

use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::confine::Access;
use crate::tools::files::list::LIST_MAX_ENTRIES;
use crate::tools::files::walk::walk;
use crate::tools::outcome::{Finding, Outcome};

pub(in crate::tools) fn run(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let pattern = arguments.text("pattern")?.trim();
    if pattern.is_empty() {
        return Err("`pattern` is empty; give a part of a path or wildcards like `*.rs`".to_owned());
    }
    let matches = matcher(context, pattern)?;
    let root = context.root.resolve("", Access::Read).map_err(|e| e.to_string())?;
    let mut found = Vec::new();
    let walked = walk(context, &root, |entry| {
        if entry.is_file && matches(&entry.path) {
            found.push(entry.path.clone());
        }
        found.len() <= LIST_MAX_ENTRIES
    })?;
    found.truncate(LIST_MAX_ENTRIES);
    // A file of exactly that name comes first.
    let is_other = |path: &String| path.rsplit('/').next().is_some_and(|name| !name.eq_ignore_ascii_case(pattern));
    found.sort_by_cached_key(|path| (is_other(path), path.clone()));
    let cut = if walked.whole { "" } else { " (more left out; give a narrower pattern)" };
    let mut text = format!("{} files match `{pattern}`{cut}\n", found.len());
    found.iter().for_each(|path| text.push_str(&format!("{path}\n")));
    text.push_str(&walked.note());
    Ok(Outcome::ok(text).with_findings(found.into_iter().map(|path| Finding::file(path, "")).collect()))
}

type Matcher = Box<dyn Fn(&str) -> bool>;

/// With wildcards the rules of .gitignore hold (`*.rs` at any depth, `src/*.rs` from the project folder); without them
/// any part of the path matches, upper or lower case.
fn matcher(context: &Context, pattern: &str) -> Result<Matcher, String> {
    if !pattern.contains(['*', '?', '[', '{']) {
        let wanted = pattern.trim_start_matches("./").to_lowercase();
        return Ok(Box::new(move |path| path.to_lowercase().contains(&wanted)));
    }
    let root = context.root.path().to_owned();
    let glob = pattern.strip_prefix("./").unwrap_or(pattern).trim_start_matches('!');
    let globs = OverrideBuilder::new(&root).add(glob).and_then(|builder| builder.build());
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
        check("l?b.rs", &["src/lib.rs"]);
        check("[", &[]);
        check("LIST", &["list", "docs/list/other.md", "src/deep/list.rs"]);
        check("deep/li", &["src/deep/list.rs"]);
        check("nothing", &[]);
    }
}
