//! Finds places in the project, and missing packages, in the output of a run.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::Frame;
use crate::base::pattern::{pattern, static_regex};

/// Maximum length, in bytes, of the output to read. The end is kept, since runners print their
/// summary there.
const OUTPUT_MAX: usize = 1 << 20;

/// Folders of third-party code.
const FOREIGN: &[&str] = &["site-packages", "dist-packages", "node_modules", ".venv", ".tox", ".nox", ".pnpm"];

/// The end of an output without terminal colours and carriage returns; paths below `root` become relative.
pub fn clean(output: &str, root: &Path) -> String {
    static_regex!(COLOURS = r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07");
    let from = output.len().saturating_sub(OUTPUT_MAX);
    let from = (from..output.len()).find(|&at| output.is_char_boundary(at)).unwrap_or(0);
    let text = COLOURS.replace_all(&output[from..], "").replace("\r\n", "\n").replace('\r', "\n");
    match root.to_str().map(|root| root.trim_end_matches('/')).filter(|root| !root.is_empty()) {
        Some(root) => {
            // `/app` inside `/usr/app/x.py` is not the root.
            let below = pattern(format!(r"(^|://|[^\w.~@/-]){}/", regex::escape(root)));
            below.replace_all(&text, "$1").into_owned()
        }
        None => text,
    }
}

/// A path from cleaned output; `None` if it is outside the project or belongs to a library.
pub fn inside(path: &str) -> Option<String> {
    let path = path.trim().trim_start_matches("file://").trim_start_matches("./");
    let foreign = path.is_empty()
        || Path::new(path).is_absolute()
        || path.starts_with(['<', '['])
        || path.contains(':')
        || path.split('/').any(|part| part == ".." || FOREIGN.contains(&part));
    (!foreign).then(|| path.to_owned())
}

/// A line that names a place.
pub struct Placed {
    /// `None` for a place outside the project.
    pub frame: Option<Frame>,
    /// The rest of the line.
    pub said: Option<String>,
}

/// Reads a line that names a place: in a traceback or stack, in a panic, or where a compiler
/// points.
///
/// ```text
///   File "/project/run.py", line 4, in main          Python
/// shop/cart.py:13: in discount                       pytest
///     at first (/p/lib/cart.js:6:19)                 Node.js; without `at` in TAP, with `❯` in vitest
/// thread 'main' panicked at src/main.rs:8:9:         Rust
///   --> src/cart.rs:2:5                              rustc
///     cart_test.go:7: Total() = 4, want 3            Go
/// ```
pub fn placed(line: &str) -> Option<Placed> {
    static FORMS: LazyLock<[Regex; 6]> = LazyLock::new(|| {
        [
            pattern(r#"^[\s|E]*File "(?<file>[^"]+)", line (?<line>\d+)"#),
            pattern(r"^(?<file>[^\s:]+):(?<line>\d+): ?(?:in .+|[\w.]*)$"),
            pattern(r"^note: (?<said>test did not panic as expected) at (?<file>\S+?):(?<line>\d+):\d+"),
            pattern(r"(?:panicked at|^\s*-->) (?<file>\S+?):(?<line>\d+):\d+:?$"),
            pattern(
                r"^\s*(?:at |❯ )?(?:async )?(?:\S.*? )?\(?(?<file>(?:file://|node:)?[^\s()':]+):(?<line>\d+):\d+\)?(?: \{)?$",
            ),
            pattern(r"^\s+(?<file>\S+\.go):(?<line>\d+)(?:: (?<said>.+)| \+0x\w+)?$"),
        ]
    });
    let found = FORMS.iter().find_map(|form| form.captures(line))?;
    let frame = inside(&found["file"]).map(|file| Frame { file, line: found["line"].parse().unwrap_or(0) });
    Some(Placed { frame, said: found.name("said").map(|said| said.as_str().to_owned()) })
}

/// The place where TAP reports that a test begins: `location: '/p/test/cart.test.js:5:1'`.
pub fn home(line: &str) -> Option<Frame> {
    static_regex!(HOME = r"^\s*location: '(.+?):(\d+):\d+'$");
    let found = HOME.captures(line)?;
    Some(Frame { file: inside(&found[1])?, line: found[2].parse().unwrap_or(0) })
}

/// The package that an output reports as missing. Names in the project itself, for which `is_ours`
/// is true, are skipped.
///
/// ```text
/// ModuleNotFoundError: No module named 'numpy'
/// Error: Cannot find package 'left-pad' imported from /p/a.js
/// error: no matching package named `rand` found
/// a.go:4:2: no required module provides package github.com/x/y; to add it:
/// ```
pub fn missing_package(text: &str, is_ours: &dyn Fn(&str) -> bool) -> Option<String> {
    static SIGNS: LazyLock<[Regex; 6]> = LazyLock::new(|| {
        [
            pattern(r"No module named '?([A-Za-z_]\w*)"),
            pattern(r"Cannot find (?:module|package) '((?:@[\w.-]+/)?[\w][\w.-]*)"),
            pattern(r"no matching package named `([\w-]+)`"),
            pattern(r"failed to (?:get|download|load source for dependency) `([\w-]+)"),
            pattern(r"no required module provides package ([\w./-]+)"),
            pattern(r#"cannot find package "?([\w./-]+)"? in"#),
        ]
    });
    SIGNS.iter().flat_map(|sign| sign.captures_iter(text)).map(|found| found[1].to_owned()).find(|name| !is_ours(name))
}
