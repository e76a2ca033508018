//! The setup of a client, from `clients.toml`: a file, the entry that belongs in it, and the remaining manual steps.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::Value;

use super::entries::Entry;

/// A program to which monobloc can be connected; the table explains each field.
#[derive(Deserialize)]
pub struct Client {
    pub name: String,
    /// The kind of connection, for the list.
    pub about: String,
    #[serde(default)]
    files: Vec<String>,
    mac: Option<String>,
    entries: Option<String>,
    whole: Option<String>,
    printed: Option<String>,
    place: Option<String>,
    #[serde(default)]
    remarks: Vec<String>,
}

#[derive(Deserialize)]
struct Table {
    client: Vec<Client>,
}

/// Every client.
pub fn clients() -> Result<Vec<Client>> {
    let table: Table = toml::from_str(include_str!("clients.toml")).context("this is a bug in clients.toml")?;
    Ok(table.client)
}

/// The values for making configurations.
pub struct Wish {
    /// Path to this program's executable.
    pub program: String,
    /// `http://ADDRESS` of the server.
    pub server: String,
    pub token_file: String,
    /// The command that starts this server.
    pub serve: String,
    /// Absolute path to the project.
    pub project: String,
    /// Number of tokens per planner slot; `None` if there is no planner.
    pub context: Option<u32>,
}

pub struct Setup {
    pub form: Form,
    /// Further steps, one sentence each.
    pub remarks: Vec<String>,
}

/// The form in which a configuration is installed.
pub enum Form {
    /// Entries for a JSON or TOML file, which is edited in place.
    Entries { file: PathBuf, entries: Vec<Entry> },
    /// The complete content of a YAML file: YAML is not edited in place.
    Whole { file: PathBuf, text: String },
    /// Text for the user to copy.
    Printed { place: String, text: String },
}

impl Client {
    pub fn setup(&self, wish: &Wish) -> Result<Setup> {
        let file = self.file();
        let filled = |text: &String| wish.filled(text, &file);
        let remarks = self.remarks.iter().map(filled).collect();
        let text = |text: &str| -> String {
            let left =
                |line: &&str| wish.context.is_some() || !line.contains("{context}") && !line.contains("{output}");
            let lines = text.trim_start().lines().filter(left);
            lines.map(|line| wish.filled(line, &file) + "\n").collect()
        };
        let form = match (&self.entries, &self.whole) {
            (Some(entries), _) => {
                let entries = serde_json::from_str(&filled(entries)).context("this is a bug in clients.toml")?;
                Form::Entries { file, entries: own(entries) }
            }
            (None, Some(whole)) => Form::Whole { text: text(whole), file },
            (None, None) => {
                let place = self.place.as_ref().map(filled).unwrap_or_default();
                Form::Printed { place, text: text(self.printed.as_deref().unwrap_or_default()) }
            }
        };
        Ok(Setup { form, remarks })
    }

    fn file(&self) -> PathBuf {
        if let Some(mac) = self.mac.as_ref().filter(|_| cfg!(target_os = "macos")) {
            return expanded(mac);
        }
        let set = self.files.iter().find_map(|path| {
            let (name, rest) = path.strip_prefix('$')?.split_once('/').unwrap_or((&path[1..], ""));
            let folder = variable(name)?;
            Some(if rest.is_empty() { folder } else { folder.join(rest) })
        });
        let mut paths = self.files.iter().filter(|path| !path.starts_with('$')).map(|path| expanded(path));
        let first = paths.next().unwrap_or_default();
        let there = || std::iter::once(first.clone()).chain(paths).find(|path| path.exists());
        set.or_else(there).unwrap_or_else(|| first.clone())
    }
}

/// The entries of an object, or those inside a nested object.
fn own(entries: serde_json::Map<String, Value>) -> Vec<Entry> {
    let parts = |(key, value): (String, Value)| -> Vec<Entry> {
        match value {
            Value::Object(inner) => inner.into_iter().map(|(own, value)| (vec![key.clone(), own], value)).collect(),
            value => vec![(vec![key], value)],
        }
    };
    entries.into_iter().flat_map(parts).collect()
}

impl Wish {
    /// The text with placeholders in braces filled in.
    fn filled(&self, text: &str, file: &Path) -> String {
        let count = |tokens: Option<u32>| tokens.map_or("null".to_owned(), |tokens| tokens.to_string());
        let values = [
            ("{program}", escaped(&self.program)),
            ("{project}", escaped(&self.project)),
            ("{server}", self.server.clone()),
            ("{v1}", format!("{}/v1", self.server)),
            ("{token_file}", escaped(&self.token_file)),
            // As a shell argument.
            ("{token}", format!("\"$(cat {})\"", shell(&self.token_file))),
            ("{context}", count(self.context)),
            // A quarter of the context, leaving three quarters for the prompt.
            ("{output}", count(self.context.map(|context| context / 4))),
            ("{file}", file.display().to_string()),
            ("{folder}", shell(&file.parent().unwrap_or(file).display().to_string())),
            (
                "{serves}",
                format!("it answers while `{}` runs, which also makes the token file {}", self.serve, self.token_file),
            ),
        ];
        values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }
}

/// A path that begins with `~` or `{config}`, which stands for `$XDG_CONFIG_HOME`, else
/// `~/.config`.
fn expanded(path: &str) -> PathBuf {
    let home = env::home_dir().unwrap_or_else(|| PathBuf::from("."));
    let (begin, rest) = path.split_once('/').unwrap_or((path, ""));
    let folder = match begin {
        "{config}" => variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
        _ => home,
    };
    folder.join(rest)
}

/// The absolute path in an environment variable.
fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The text as written inside a quoted string in JSON, TOML, YAML or Lua.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// The text as a single shell word.
pub fn shell(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_gets_one_word() {
        let check = |text: &str, expected: &str| assert_eq!(shell(text), expected);
        check("/home/ada/.config/token", "/home/ada/.config/token");
        check("/Users/ada/Application Support/token", "'/Users/ada/Application Support/token'");
        check("it's", r"'it'\''s'");
        check("$(x)", "'$(x)'");
        check("", "''");
    }
}
