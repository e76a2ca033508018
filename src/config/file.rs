//! Reads a configuration file; errors name the file, line and key.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{DeserializeOwned, IntoDeserializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::setting::{Kind, SETTINGS, Setting, Trust};
use super::{Rule, Server};
use crate::base::near::nearest;

/// Maximum size of a configuration file.
const FILE_MAX_BYTES: u64 = 256 << 10;

/// A line in a file, for messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub file: PathBuf,
    /// Counted from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// The reason a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    #[error("the configuration `{file}` cannot be read: {why}")]
    Unreadable { file: String, why: String },
    #[error("{place}: {why}")]
    Wrong { place: Place, why: String },
    #[error("the variable {variable} is `{value}`; it must be {expected}")]
    Variable { variable: String, value: String, expected: String },
    #[error("--{flag} is `{value}`; it must be {expected}")]
    Flag { flag: String, value: String, expected: String },
}

/// The settings of one configuration file.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// By key: the value, as returned by [`Kind::read`], and its line.
    pub settings: BTreeMap<&'static str, (OsString, usize)>,
    pub rules: Vec<Rule>,
    pub servers: Vec<Server>,
}

/// The text of a file; `None` if it does not exist.
pub fn text(path: &Path) -> Result<Option<String>, ConfigError> {
    let unreadable = |why: String| ConfigError::Unreadable { file: path.display().to_string(), why };
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => {}
        Ok(_) => return Err(unreadable("it is not a regular file".to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error.to_string())),
    }
    let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let mut text = String::new();
    file.take(FILE_MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| unreadable(error.to_string()))?;
    if text.len() as u64 > FILE_MAX_BYTES {
        Err(unreadable(format!("it is larger than {FILE_MAX_BYTES} bytes")))
    } else {
        Ok(Some(text))
    }
}

/// Parses `text`, the content of the file at `path`.
pub fn read(path: &Path, text: &str) -> Result<Said, ConfigError> {
    let source = Source { path, text };
    let root = DeTable::parse(text).map_err(|error| {
        source.wrong(error.span().unwrap_or(0..0), format!("this is not TOML: {}", error.message().replace('\n', ", ")))
    })?;
    let mut said = Said::default();
    for (name, value) in root.get_ref() {
        match (name.get_ref().as_ref(), value.get_ref()) {
            ("rules", DeValue::Array(all)) => {
                for one in all.iter() {
                    said.rules.push(super::rule::read(&source, one)?);
                }
            }
            ("rules", _) => return Err(source.wrong(name.span(), "`rules` are written as [[rules]]")),
            ("mcp", DeValue::Table(all)) => {
                for (name, one) in all {
                    said.servers.push(super::server::read(&source, name, one)?);
                }
            }
            ("mcp", _) => return Err(source.wrong(name.span(), "a server is written as [mcp.NAME]")),
            (table, DeValue::Table(below)) if SETTINGS.iter().any(|one| below_of(one, table)) => {
                for (name, value) in below {
                    source.setting(&format!("{table}.{}", name.get_ref()), name.span(), value, &mut said)?;
                }
            }
            (key, _) => source.setting(key, name.span(), value, &mut said)?,
        }
    }
    Ok(said)
}

fn below_of(setting: &Setting, table: &str) -> bool {
    setting.key.split_once('.').is_some_and(|(above, _)| above == table)
}

/// A file being read: its path for messages, and its text for computing line numbers.
pub(super) struct Source<'a> {
    path: &'a Path,
    text: &'a str,
}

/// A TOML value and its byte range in the file.
pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// One text, or a list of texts.
#[derive(Deserialize)]
#[serde(untagged, expecting = "it must be a string or a list of strings")]
pub(super) enum Texts {
    One(String),
    Many(Vec<String>),
}

impl From<Texts> for Vec<String> {
    fn from(texts: Texts) -> Vec<String> {
        match texts {
            Texts::One(text) => vec![text],
            Texts::Many(texts) => texts,
        }
    }
}

impl Source<'_> {
    pub fn place(&self, span: Range<usize>) -> Place {
        let before = &self.text[..self.text.floor_char_boundary(span.start)];
        Place { file: self.path.to_owned(), line: before.matches('\n').count() + 1 }
    }

    pub fn wrong(&self, span: Range<usize>, why: impl Into<String>) -> ConfigError {
        ConfigError::Wrong { place: self.place(span), why: why.into() }
    }

    /// The value deserialised to a type.
    pub fn typed<T: DeserializeOwned>(&self, value: &Value<'_>) -> Result<T, ConfigError> {
        let read = T::deserialize(value.clone().into_deserializer());
        // The second line of the error, if any, names the key within the value.
        let why = |error: &toml::de::Error| error.to_string().trim_end().replace('\n', ", ");
        read.map_err(|error| self.wrong(error.span().unwrap_or(value.span()), why(&error)))
    }

    fn setting(&self, key: &str, at: Range<usize>, value: &Value<'_>, said: &mut Said) -> Result<(), ConfigError> {
        let in_files = || SETTINGS.iter().filter(|setting| setting.project != Trust::NotInFiles);
        let Some(setting) = SETTINGS.iter().find(|setting| setting.key == key) else {
            let names = in_files().map(|setting| setting.key).chain(["rules", "mcp"]);
            let near = match nearest(key, names) {
                Some(near) => format!("the nearest is `{near}`"),
                None => "`monobloc config show` lists them all".to_owned(),
            };
            return Err(self.wrong(at, format!("`{key}` is not a setting; {near}")));
        };
        if setting.project == Trust::NotInFiles {
            let way = format!("`{key}` cannot be set in a file; use --{} or {}", setting.flag, setting.variable);
            return Err(self.wrong(at, way));
        }
        if setting.kind == Kind::Paths {
            let read = Texts::deserialize(value.clone().into_deserializer());
            let why = |what: &str| format!("`{key}` is {}; {what}", shown(value.get_ref()));
            let texts = read.map_err(|error| self.wrong(value.span(), why(error.message())))?;
            let all: Vec<PathBuf> = Vec::from(texts).iter().map(|one| self.path_of(one)).collect();
            let joined = std::env::join_paths(&all).map_err(|_| {
                let split = all.iter().find(|one| one.as_os_str().as_encoded_bytes().contains(&b':'));
                let split = split.map(|one| one.display().to_string()).unwrap_or_default();
                self.wrong(value.span(), format!("`{split}` contains `:`, which separates paths; name a parent folder"))
            })?;
            said.settings.insert(setting.key, (joined, self.place(at).line));
            return Ok(());
        }
        let fits = matches!(
            (setting.kind, value.get_ref()),
            (Kind::Path | Kind::Url | Kind::Choice(_), DeValue::String(_))
                | (Kind::Size | Kind::Thinking, DeValue::String(_) | DeValue::Integer(_))
                | (Kind::Switch, DeValue::Boolean(_))
                | (Kind::Count(..), DeValue::Integer(_))
                | (Kind::Share | Kind::Number(..), DeValue::Integer(_) | DeValue::Float(_))
        );
        let read = match (fits, plain(value.get_ref())) {
            (true, Some(text)) => setting.kind.read(&text),
            _ => Err(setting.kind.read("\0").err().unwrap_or_else(|| "a text".to_owned())),
        };
        let value_of = read.map_err(|expected| {
            self.wrong(
                value.span(),
                format!("`{key}` is {}; it must be {expected}", shown_of(setting, value.get_ref())),
            )
        })?;
        let value_of = match setting.kind {
            Kind::Path => self.path_of(&value_of).into_os_string(),
            _ => value_of.into(),
        };
        said.settings.insert(setting.key, (value_of, self.place(at).line));
        Ok(())
    }

    /// `text` relative to the file's folder; `~/` means the user's home.
    pub fn path_of(&self, text: &str) -> PathBuf {
        let home = text.strip_prefix("~/").and_then(|rest| Some(std::env::home_dir()?.join(rest)));
        home.unwrap_or_else(|| self.path.parent().unwrap_or(Path::new(".")).join(text))
    }
}

/// The value as written in an environment variable; `None` for dates, lists and tables.
fn plain(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Boolean(flag) => Some(flag.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok().map(|n| n.to_string()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

/// A setting's value for an error message; a URL may contain a password.
fn shown_of(setting: &Setting, value: &DeValue<'_>) -> String {
    match (setting.kind, plain(value)) {
        (Kind::Url, Some(text)) => setting.kind.show(text),
        _ => shown(value),
    }
}

/// The value for an error message.
fn shown(value: &DeValue<'_>) -> String {
    match (plain(value), value) {
        (Some(text), DeValue::String(_)) => format!("\"{}\"", text.chars().take(80).collect::<String>()),
        (Some(text), _) => text,
        (None, _) => format!("a {}", value.type_str()),
    }
}
