//! Prepares output for all readers: text without colours, paths inside the project, messages of a few lines.

use std::path::Path;

use crate::base::pattern::{pattern, static_regex};

/// Longest output that is read, in bytes. Its end is kept, since runners print their summary there.
const OUTPUT_MAX: usize = 1 << 20;
/// Longest message of one failure: an assertion with both values, not a whole page of a diff.
const MESSAGE_LINES_MAX: usize = 14;
const MESSAGE_CHARS_MAX: usize = 900;
/// Longest single line of a message or of code.
const LINE_CHARS_MAX: usize = 240;
/// Maximum number of frames kept of one failure. Endless recursion prints hundreds.
pub const FRAMES_MAX: usize = 12;

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

/// A path of a cleaned output; `None` if it is outside the project or belongs to a library.
pub fn inside(path: &str) -> Option<String> {
    let path = path.trim().trim_start_matches("file://").trim_start_matches("./");
    let foreign = path.is_empty()
        || Path::new(path).is_absolute()
        || path.starts_with(['<', '['])
        || path.contains(':')
        || path.split('/').any(|part| part == ".." || FOREIGN.contains(&part));
    (!foreign).then(|| path.to_owned())
}

/// A line of a message or of code, cut after `LINE_CHARS_MAX` characters.
pub fn short(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.trim_end().to_owned(),
    }
}

/// Joins lines to a message: without common indentation, without blank lines at both ends and repeated blank lines, cut
/// to the limits above.
pub fn message<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let lines: Vec<&str> = lines.into_iter().collect();
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let shared = lines.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let mut kept: Vec<String> = Vec::new();
    for line in lines {
        let line = short(line.get(shared..).unwrap_or("").trim_end());
        let repeated = line.is_empty() && kept.last().is_none_or(String::is_empty);
        if !repeated && kept.len() < MESSAGE_LINES_MAX {
            kept.push(line);
        }
    }
    let text = kept.join("\n");
    let end = text.char_indices().nth(MESSAGE_CHARS_MAX).map_or(text.len(), |(end, _)| end);
    text[..end].trim_end().to_owned()
}

/// Whether a line of an error helps: not advice about `-v`, the address of an object, or a place, which the frames
/// have.
pub fn tells(line: &&str) -> bool {
    let line = line.trim();
    let is_address = line.starts_with("+ ") && line.contains(" at 0x");
    !(is_address || line.starts_with("Use -v") || line.starts_with("File \""))
}

/// The number that a text is, 0 if it is none.
pub fn number(text: &str) -> usize {
    text.parse().unwrap_or(0)
}
