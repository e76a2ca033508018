//! Paths of a project as texts: folders, stems, and the way from one to another.

/// Endings of script files, the longest first.
const SCRIPTS: &[&str] = &[
    ".d.mts", ".d.cts", ".d.ts", ".tsx", ".mts", ".cts", ".jsx", ".mjs", ".cjs", ".pyi", ".pyw", ".ts", ".js", ".py",
    ".rs",
];

pub fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The ending of a file of code, with its dot; empty for others.
pub fn extension(path: &str) -> &str {
    SCRIPTS.iter().find(|ending| path.ends_with(**ending)).copied().unwrap_or("")
}

pub fn without_extension(path: &str) -> &str {
    path.strip_suffix(extension(path)).unwrap_or(path)
}

/// The last part without its ending.
pub fn stem(path: &str) -> &str {
    let path = without_extension(path);
    path.rsplit('/').next().unwrap_or(path)
}

pub fn join(folder: &str, below: &str) -> String {
    match (folder, below) {
        ("", below) => below.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, below) => format!("{folder}/{below}"),
    }
}

/// `./b`, `../c/d` from a folder; `None` if it leads out of the project.
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

/// The way from a folder to a path: `./b`, `../c/d`.
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
    fn the_way_between_two_places_leads_back() {
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
    fn endings_are_those_of_code() {
        assert_eq!((stem("a/b.d.ts"), extension("a/b.d.ts"), stem("a.b/c.py")), ("b", ".d.ts", "c"));
        assert_eq!(without_extension("a/b.css"), "a/b.css");
    }
}
