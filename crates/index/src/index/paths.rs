//! Sorts files by their paths: tests, examples, private parts, prose, …, and files superseded by a newer version.

use std::collections::{HashMap, HashSet};

use super::syntax;
use crate::base::is_listed;

/// Sorts of file that are seldom the right hit of a search that does not ask for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Test,
    Example,
    /// Kept for compatibility: `legacy`, `compat`, `deprecated`.
    Old,
    /// Behind the public interface: `_name`, `internal/`.
    Private,
    /// Not stable yet: `experimental/`, `unstable/`.
    Experimental,
    /// Translations.
    Locale,
    /// Taken over from other projects: `vendor/`, `third_party/`.
    Vendored,
    /// Made by a tool: `dist/`, `single_include/`, `.min.`.
    Built,
    /// Lists of changes: `CHANGELOG.md`.
    History,
    /// Type declarations without code: `.d.ts`.
    Declarations,
    /// Settings and data: JSON, TOML, YAML.
    Data,
    /// Text and markup: Markdown, HTML, ….
    Prose,
}

/// For each sort: names of folders, and parts of the name of a file, separated by white space.
const MARKS: &[(Sort, &str, &str)] = &[
    (Sort::Test, "test spec fixtures __mocks__ testing testdata", ".test. .spec. _test. _spec. -test."),
    (Sort::Example, "benches benchmark bench", ""),
    (Sort::Old, "compat legacy deprecated _compat", "compat legacy deprecated"),
    (Sort::Private, "internal internals private", ""),
    (Sort::Experimental, "experimental unstable", ""),
    (Sort::Locale, "locales locale i18n translations", ""),
    (
        Sort::Vendored,
        "vendor vendored vendors _vendor third_party third-party thirdparty 3rdparty extern external externals bundled \
         node_modules bower_components deps",
        "",
    ),
    (
        Sort::Built,
        "dist build out target _build _site generated __generated__ single_include single-include single_header \
         amalgamated amalgamation",
        ".min. .bundle. .generated. _generated. _amalgamated. _pb2. .pb.",
    ),
    (Sort::History, "", ""),
    (Sort::Declarations, "", ""),
    (Sort::Data, "", ""),
    (Sort::Prose, "", ""),
];

/// All sorts of a file, by the naming conventions of the supported languages.
pub fn sorts(path: &str) -> Vec<Sort> {
    let lower = path.to_lowercase();
    let (above, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let language = syntax::language_of(&lower);
    let (is_source, is_data) = (syntax::is_source(language), is_listed("json toml yaml", language));
    // Whether a folder above has one of the words among those of its name.
    let within = |words: &str| above.split(['/', '-', '_', '.']).any(|word| is_listed(words, word));
    let is_also = |sort: Sort| match sort {
        Sort::Example => {
            within("examples example demo demos samples benchmarks playground tutorial tutorials")
                || (is_source && within("doc docs documentation website"))
        }
        Sort::History => {
            let stem = name.split('.').next().unwrap_or_default();
            let told = "changelog changes history news releasenotes upgrading upgradeguide migrating whatsnew";
            let has = |word: &str| is_listed("changelog changes", word);
            !is_source && (is_listed(told, &stem.replace(['_', '-', ' '], "")) || stem.split(['_', '-']).any(has))
        }
        Sort::Locale => !is_source && is_translation(&lower),
        Sort::Test => {
            name.starts_with("test_")
                || is_listed("test tests conftest", name.split('.').next().unwrap_or(""))
                || within("tests specs")
                || camel_test(path)
        }
        Sort::Private => lower.split('/').any(|piece| piece.starts_with('_') && !piece.starts_with("__")),
        Sort::Declarations => name.ends_with(".d.ts"),
        Sort::Data => is_data,
        Sort::Prose => !is_source && !is_data,
        _ => false,
    };
    let fits = |(sort, folders, parts): &&(Sort, &str, &str)| {
        above.split('/').any(|folder| is_listed(folders, folder))
            || parts.split_whitespace().any(|part| name.contains(part))
            || is_also(*sort)
    };
    MARKS.iter().filter(fits).map(|(sort, ..)| *sort).collect()
}

/// Whether a file's own name or a folder above it says that it holds tests, in capitals: `TillTest.java`, `ShopTests/Till.swift`.
fn camel_test(path: &str) -> bool {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or_default();
    let is_own =
        |endings: &[&str], text: &str| endings.iter().any(|ending| text.len() > ending.len() && text.ends_with(ending));
    is_own(&["Test", "Tests", "Spec", "TestCase"], stem)
        || above.split('/').any(|folder| is_own(&["Tests", "Specs"], folder))
}

/// Whether a folder or the end of a file's stem is the code of a language other than English: `docs/zh/`, `README.pt-br.md`.
fn is_translation(lower: &str) -> bool {
    const LANGUAGES: &str = "\
        ar az be bg bn bs ca cn cs da de el eo es et eu fa fi fr gl gu he hi hr hu hy id is it ja jp ka kk km kn ko kr ky \
        lt lv mk ml mn mr ms my nb ne nl nn no pl pt ro ru sk sl sq sr sv sw ta te th tr tw uk ur uz vi zh";
    let code = |text: &str| {
        let language = text.split(['-', '_']).next().unwrap_or_default();
        is_listed(LANGUAGES, language) && text.len() <= "zh-hans-cn".len()
    };
    let (above, name) = lower.rsplit_once('/').unwrap_or(("", lower));
    let mut ends = name.rsplit('.').skip(1);
    let last = ends.next().filter(|_| name.matches('.').count() >= 2);
    let joined = name.split('.').next().and_then(|stem| stem.rsplit_once(['_', '-'])).map(|(_, last)| last);
    above.split('/').any(code) || last.is_some_and(code) || (name.starts_with("readme") && joined.is_some_and(code))
}

/// The folder of a file or folder; empty at the root.
pub fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// `folder/below`, where either may be empty.
pub fn join(folder: &str, below: &str) -> String {
    match (folder, below) {
        ("", below) => below.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, below) => format!("{folder}/{below}"),
    }
}

/// The version number in a folder name such as `v3`.
pub fn version_of(folder: &str) -> Option<u32> {
    folder.strip_prefix('v').filter(|n| n.len() <= 4)?.parse().ok()
}

/// Files of an older version: in a folder `v3` that has a `v4` next to it, or in a folder `v1` of which at least half of the
/// files exist in the folder above under the same names.
pub fn superseded<'a>(paths: impl Iterator<Item = &'a str> + Clone) -> HashSet<String> {
    let mut latest: HashMap<&str, u32> = HashMap::new();
    let mut files: HashMap<&str, HashSet<&str>> = HashMap::new();
    for path in paths.clone() {
        for (above, folder, _) in versioned(path) {
            let known = latest.entry(above).or_default();
            *known = version_of(folder).unwrap_or(0).max(*known);
        }
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        files.entry(folder).or_default().insert(name);
    }
    let copied = |above: &str, within: &str| match (files.get(above), files.get(within)) {
        (Some(above), Some(within)) => above.intersection(within).count() * 2 >= within.len() && within.len() > 2,
        _ => false,
    };
    paths
        .filter(|path| {
            versioned(path)
                .any(|(above, folder, within)| latest.get(above).copied() > version_of(folder) || copied(above, within))
        })
        .map(str::to_owned)
        .collect()
}

/// Each version folder on a path: (path of the folder above it, its name, its own path).
fn versioned(path: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    path.match_indices('/').filter_map(move |(end, _)| {
        let within = &path[..end];
        let (above, folder) = within.rsplit_once('/').unwrap_or(("", within));
        version_of(folder).map(|_| (above, folder, within))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: &[Sort]) {
        assert_eq!(sorts(path), expected, "{path}");
    }

    #[test]
    fn names_and_folders_decide_the_sort_of_a_file() {
        check("src/parse.ts", &[]);
        check("src/latest.ts", &[]);
        check("src/parse.test.ts", &[Sort::Test]);
        check("src/__tests__/parse.ts", &[Sort::Test]);
        check("examples/parse.ts", &[Sort::Example]);
        check("pkg/_internal/_fields.py", &[Sort::Private]);
        check("pkg/__init__.py", &[]);
        check("lib/types.d.ts", &[Sort::Declarations]);
        check("README.md", &[Sort::Prose]);
        check("package.json", &[Sort::Data]);
        check("src/locales/en.ts", &[Sort::Locale]);
        check("src/till.rb", &[]);
        check("lib/till.ex", &[]);
        check("ShopTests/till.swift", &[Sort::Test]);
        check("app/TillTest.java", &[Sort::Test]);
        check("docs_src/till/one.py", &[Sort::Example]);
        check("third_party/coin/coin.cc", &[Sort::Vendored]);
        check("single_include/till.hpp", &[Sort::Built]);
        check("docs/zh/till.md", &[Sort::Locale, Sort::Prose]);
        check("README.pt-br.md", &[Sort::Locale, Sort::Prose]);
        check("docs/till.md", &[Sort::Prose]);
        check("CHANGELOG.md", &[Sort::History, Sort::Prose]);
    }

    #[test]
    fn a_file_is_superseded_by_a_newer_version_folder_or_by_its_copy_in_the_folder_above() {
        let old = |paths: &[&str]| {
            let mut old: Vec<String> = superseded(paths.iter().copied()).into_iter().collect();
            old.sort();
            old.join(" ")
        };
        assert_eq!(old(&["src/v3/a.ts", "src/v4/a.ts", "src/v4/b.ts", "v9.ts"]), "src/v3/a.ts");
        assert_eq!(
            old(&["p/a.py", "p/b.py", "p/c.py", "p/v1/a.py", "p/v1/b.py", "p/v1/c.py"]),
            "p/v1/a.py p/v1/b.py p/v1/c.py"
        );
        assert_eq!(old(&["api/v1/users.go", "api/v1/teams.go", "api/v1/roles.go", "api/server.go"]), "");
    }
}
