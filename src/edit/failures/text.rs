//! What all readers of an output need: text without colours, paths inside the project, messages of a few lines.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// Longest output that is looked at, in bytes. Its end is kept, where runners sum up.
const OUTPUT_MAX: usize = 1 << 20;
/// Longest message of one failure: an assertion with both values, not a whole page of a diff.
const MESSAGE_LINES_MAX: usize = 14;
const MESSAGE_CHARS_MAX: usize = 900;
/// Longest single line of a message or of code.
const LINE_CHARS_MAX: usize = 240;
/// Most frames that are kept of one failure. Endless recursion prints hundreds.
pub const FRAMES_MAX: usize = 12;

/// Folders whose files are other people's code.
const FOREIGN: &[&str] = &["site-packages", "dist-packages", "node_modules", ".venv", ".tox", ".nox", ".pnpm"];

/// A pattern of this module, compiled once.
pub fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap_or_else(|error| panic!("{error}; this is a bug in edit/failures"))
}

/// The end of an output without terminal colours and carriage returns; paths in the project are relative in it.
pub fn clean(output: &str, root: &Path) -> String {
    static COLOURS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07"));
    let from = output.len().saturating_sub(OUTPUT_MAX);
    let from = (from..output.len()).find(|&at| output.is_char_boundary(at)).unwrap_or(0);
    let text = COLOURS.replace_all(&output[from..], "").replace("\r\n", "\n").replace('\r', "\n");
    match root.to_str().map(|root| root.trim_end_matches('/')).filter(|root| !root.is_empty()) {
        Some(root) => text.replace(&format!("{root}/"), ""),
        None => text,
    }
}

/// The path of a cleaned output if it lies in the project and is not a library's.
pub fn inside(path: &str) -> Option<String> {
    let path = path.trim().trim_start_matches("file://").trim_start_matches("./");
    let foreign = path.is_empty()
        || Path::new(path).is_absolute()
        || path.starts_with(['<', '['])
        || path.contains(':')
        || path.split('/').any(|part| part == ".." || FOREIGN.contains(&part));
    (!foreign).then(|| path.to_owned())
}

/// The line of a message or of code, cut where it is too long to help.
pub fn short(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.trim_end().to_owned(),
    }
}

/// A message out of its lines: blank lines at both ends and repeated ones left out, common indentation removed, cut.
pub fn message<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let lines: Vec<&str> = lines.into_iter().collect();
    let indent = |line: &&str| line.len() - line.trim_start().len();
    // A first line without indentation does not tell how far the others are moved in.
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

/// Advice to the person at the keyboard and addresses of objects tell nothing of the failure; a place is said beside.
pub fn tells(line: &&str) -> bool {
    let line = line.trim();
    let is_address = line.starts_with("+ ") && line.contains(" at 0x");
    !(is_address || line.starts_with("Use -v") || line.starts_with("File \""))
}

/// A number at the start of a text, 0 if there is none.
pub fn number(text: &str) -> usize {
    text.parse().unwrap_or(0)
}
