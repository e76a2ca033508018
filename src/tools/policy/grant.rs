//! Grants given by the answer "always": for one tool in one folder, or for one kind of command.
//! They end with the session.

use std::fmt;
use std::path::Path;

use crate::tools::call::ToolCall;
use crate::tools::policy::places;
use crate::tools::shell;
use crate::tools::shell::word::Word;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    Folder { tool: String, folder: String },
    Command { words: Vec<String> },
    Tool(String),
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Grant::Folder { tool, folder } => write!(f, "{tool} in {folder}/"),
            Grant::Command { words } => write!(f, "commands that begin with `{}`", words.join(" ")),
            Grant::Tool(tool) => write!(f, "{tool}"),
        }
    }
}

/// The grants that a call needs; `None` if no grant can cover it.
pub fn of(call: &ToolCall, project: Option<&Path>) -> Option<Vec<Grant>> {
    if call.tool == "run_command" {
        let line = call.arguments.get("command")?.as_str()?;
        let hidden = ["$", "`", "<(", "\n"].iter().any(|sign| line.contains(sign));
        let read = shell::parse(line);
        let [one] = read.plain().filter(|_| !hidden)? else { return None };
        let words: Vec<String> = one.words.iter().map(Word::shown).collect();
        return Some(vec![Grant::Command { words: program_and_subcommand(&words) }]);
    }
    let files = places::of(call, project);
    if files.is_empty() {
        return Some(vec![Grant::Tool(call.tool.clone())]);
    }
    // A file outside the project, or a link to one, needs consent each time.
    let folder = |real: &str| {
        let inside = !real.starts_with('/') && !real.starts_with("..");
        let parent = Path::new(real).parent().map(|parent| parent.to_string_lossy().into_owned());
        inside.then(|| parent.filter(|parent| !parent.is_empty()).unwrap_or_else(|| ".".to_owned()))
    };
    files.iter().map(|file| Some(Grant::Folder { tool: call.tool.clone(), folder: folder(&file.real)? })).collect()
}

/// The program, and its subcommand if it looks like one.
fn program_and_subcommand(words: &[String]) -> Vec<String> {
    let subcommand =
        |word: &&String| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') && !word.starts_with('-');
    words.iter().take(1).chain(words.iter().skip(1).take(1).filter(subcommand)).cloned().collect()
}

impl Grant {
    pub fn covers(&self, needed: &Grant) -> bool {
        match (self, needed) {
            (Grant::Folder { tool, folder }, Grant::Folder { tool: other, folder: wanted }) => {
                tool == other && (folder == "." || Path::new(wanted).starts_with(folder))
            }
            _ => self == needed,
        }
    }
}
