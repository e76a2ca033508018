//! Splits and joins project paths, as strings.

pub use crate::index::paths::{folder_of as folder, join};

/// Extensions of code files. An extension that ends with another one precedes it.
const ENDINGS: &[&str] = &[
    ".d.mts", ".d.cts", ".d.ts", ".tsx", ".mts", ".cts", ".jsx", ".mjs", ".cjs", ".pyi", ".pyw", ".ts", ".js", ".py",
    ".rs",
];

/// The last component of a path.
pub fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The last component of a path up to its last dot: `a.d` for `src/a.d.ts`.
pub fn stem(path: &str) -> &str {
    name(path).rsplit_once('.').map_or(name(path), |(stem, _)| stem)
}

/// The text after the last dot of the last component; empty without a dot.
pub fn ending(path: &str) -> &str {
    name(path).rsplit_once('.').map_or("", |(_, ending)| ending)
}

/// The full extension of a code file, with its dot: `.d.ts`. Empty for other files.
pub fn extension(path: &str) -> &str {
    ENDINGS.iter().find(|ending| path.ends_with(**ending)).copied().unwrap_or("")
}

pub fn without_extension(path: &str) -> &str {
    path.strip_suffix(extension(path)).unwrap_or(path)
}

/// The path that `./b` or `../c/d` leads to from a folder; `None` if outside the project.
pub fn resolve(folder: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The relative path from a folder to a path: `./b`, `../c/d`.
pub fn relative(folder: &str, to: &str) -> String {
    let from: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = to.split('/').filter(|part| !part.is_empty()).collect();
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let ups = from.len() - common;
    let below = to[common..].join("/");
    match (ups, below.as_str()) {
        (0, "") => ".".to_owned(),
        (0, below) => format!("./{below}"),
        (ups, "") => vec![".."; ups].join("/"),
        (ups, below) => format!("{}/{below}", vec![".."; ups].join("/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_resolves_to_its_target() {
        let check = |folder: &str, to: &str, expected: &str| {
            assert_eq!(relative(folder, to), expected);
            assert_eq!(resolve(folder, expected).as_deref(), Some(to));
        };
        check("", "a", "./a");
        check("src", "src/a", "./a");
        check("src/x", "src/a", "../a");
        check("src/x/y", "lib/a", "../../../lib/a");
        check("src", "src", ".");
        check("src/x", "src", "..");
        assert_eq!(resolve("", "../a"), None);
    }

    #[test]
    fn only_endings_of_code_count() {
        assert_eq!((without_extension("a/b.d.ts"), extension("a/b.d.ts")), ("a/b", ".d.ts"));
        assert_eq!(without_extension("a/b.css"), "a/b.css");
    }

    #[test]
    fn a_dot_in_a_folder_begins_no_ending() {
        let check = |path: &str, expected: (&str, &str)| assert_eq!((stem(path), ending(path)), expected, "{path}");
        check("a.b/c", ("c", ""));
        check("a.b/c.d.ts", ("c.d", "ts"));
    }
}
