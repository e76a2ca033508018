//! What a client needs to reach monobloc: a file, what belongs into it, and what is left to do by hand.

use std::env;
use std::path::PathBuf;

use serde_json::Value;

use super::entries::Entry;
use crate::edit::keyed::Keys;

/// A program that monobloc can be connected to.
pub struct Client {
    pub name: &'static str,
    /// How it is connected, for the list.
    pub about: &'static str,
    pub setup: fn(&Wish) -> Setup,
}

/// What the configurations are made from.
pub struct Wish {
    /// Path of this program.
    pub program: String,
    /// `http://ADDRESS` of the server.
    pub server: String,
    pub token_file: String,
    /// The command that starts this server.
    pub serve: String,
    /// Absolute path of the project.
    pub project: String,
    /// Tokens that a slot of the planner holds; `None` if there is no planner.
    pub context: Option<u32>,
}

pub struct Setup {
    pub form: Form,
    /// What to do besides, one sentence each.
    pub remarks: Vec<String>,
}

/// How a configuration gets to its place.
pub enum Form {
    /// Entries of a JSON or TOML file, which is edited in place.
    Entries { file: PathBuf, entries: Vec<Entry> },
    /// The whole content of a YAML file: YAML is not edited in place.
    Whole { file: PathBuf, text: String },
    /// Text that the user copies.
    Printed { place: String, text: String },
}

impl Wish {
    /// The address of the APIs of OpenAI.
    pub fn v1(&self) -> String {
        format!("{}/v1", self.server)
    }

    /// The token as an argument in a shell.
    pub fn token(&self) -> String {
        format!("\"$(cat {})\"", shell(&self.token_file))
    }

    /// Tokens of one answer: a quarter of the context, so that three quarters are left for the prompt.
    pub fn output(&self) -> Option<u32> {
        self.context.map(|context| context / 4)
    }

    /// What a client of the server has to know.
    pub fn server_remark(&self) -> String {
        format!("it answers while `{}` runs, which also makes the token file {}", self.serve, self.token_file)
    }
}

pub fn keys(all: &[&str]) -> Keys {
    all.iter().map(|&key| key.to_owned()).collect()
}

pub fn home() -> PathBuf {
    env::home_dir().unwrap_or_else(|| PathBuf::from("."))
}

/// `$XDG_CONFIG_HOME`, else `~/.config`.
pub fn config_home() -> PathBuf {
    variable("XDG_CONFIG_HOME").unwrap_or_else(|| home().join(".config"))
}

/// The absolute path in an environment variable.
pub fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The text as a string of JSON, YAML or Lua.
pub fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// The text as one word of a shell.
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
