//! Defines a setting: its name in a file, as a variable and as a flag, its values, and who may set it.

use std::ffi::{OsStr, OsString};

use super::Think;
use crate::base::Bytes;

pub use super::table::SETTINGS;

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// Name in a file; `table.name` if inside a table.
    pub key: &'static str,
    pub variable: &'static str,
    /// Without the leading dashes.
    pub flag: &'static str,
    pub kind: Kind,
    /// `None` if the machine or a model decides; `about` then describes it.
    pub default: Option<&'static str>,
    pub about: &'static str,
    pub project: Trust,
}

/// The allowed values of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Path,
    /// Several paths, separated by `:`; a list in a file.
    Paths,
    /// The URL of a server.
    Url,
    /// An amount of memory.
    Size,
    Switch,
    /// A whole number in an inclusive range.
    Count(u64, u64),
    /// `off`, `auto` or a number of tokens.
    Thinking,
    /// A number in an inclusive range.
    Number(f32, f32),
    /// A share from 0 to 1; a number above 1 is read as a percentage.
    Share,
    /// One of these values; for [`Trust::Stricter`] ordered from loosest to strictest.
    Choice(&'static [&'static str]),
}

/// How much a project's own file, which may come from anyone, may change a setting without the
/// user's consent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// May set it: the setting is neither a limit nor a right.
    Free,
    /// May lower the number that would otherwise apply.
    Lower,
    /// May choose a stricter value.
    Stricter,
    /// May not change it.
    Never,
    /// No file may set it, because it determines where files are looked for.
    NotInFiles,
}

/// The setting with that key.
pub fn of_key(key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.key == key)
}

impl Kind {
    /// Checks a value and normalises it (a size to bytes, a switch to `true` or `false`); the error
    /// describes the expected value.
    pub fn read(self, text: &str) -> Result<String, String> {
        match self {
            Kind::Path if text.trim().is_empty() => Err("a path".to_owned()),
            Kind::Path | Kind::Paths => Ok(text.to_owned()),
            Kind::Url => match crate::base::server_url(text) {
                Ok(url) => Ok(url.as_str().trim_end_matches('/').to_owned()),
                Err(why) => Err(format!("a server URL, but it {why}")),
            },
            Kind::Size => {
                text.parse::<Bytes>().map(|bytes| bytes.0.to_string()).map_err(|_| "a size like 8GiB or 512MiB".into())
            }
            Kind::Switch => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Ok("true".to_owned()),
                "false" | "0" | "no" | "off" | "" => Ok("false".to_owned()),
                _ => Err("true or false".to_owned()),
            },
            Kind::Count(least, most) => match text.trim().parse::<u64>() {
                Ok(count) if (least..=most).contains(&count) => Ok(count.to_string()),
                _ => Err(format!("a whole number from {least} to {most}")),
            },
            Kind::Thinking => text.parse::<Think>().map(|think| think.to_string()),
            Kind::Number(least, most) => match text.trim().parse::<f32>() {
                Ok(number) if (least..=most).contains(&number) => Ok(number.to_string()),
                _ => Err(format!("a number from {least} to {most}")),
            },
            Kind::Share => {
                let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
                let per_cent = |number: f64| if number > 1.0 || text.contains('%') { number / 100.0 } else { number };
                match number.map(per_cent) {
                    Some(share) if (0.0..=1.0).contains(&share) => Ok(share.to_string()),
                    _ => Err("a fraction from 0 to 1, or a percentage up to 100".to_owned()),
                }
            }
            Kind::Choice(choices) if choices.contains(&text) => Ok(text.to_owned()),
            Kind::Choice(choices) => Err(format!("one of {}", choices.join(", "))),
        }
    }

    /// [`Kind::read`] for a value from the operating system: a path may contain any bytes; all
    /// other values are text.
    fn read_os(self, text: &OsStr) -> Result<OsString, String> {
        match self {
            Kind::Path | Kind::Paths if text.to_str().is_none() => Ok(text.to_owned()),
            // No valid value contains the replacement character for non-UTF-8 bytes.
            _ => self.read(&text.to_string_lossy()).map(OsString::from),
        }
    }

    /// The value as a user would write it; non-UTF-8 bytes of a path are shown as `�`.
    pub fn show(self, value: impl AsRef<OsStr>) -> String {
        let value = value.as_ref().to_string_lossy();
        match (self, value.parse()) {
            (Kind::Size, Ok(bytes)) => Bytes(bytes).to_string(),
            // A URL with a user name or password is refused and not repeated.
            (Kind::Url, _) if value.contains('@') => "a URL with `@`".to_owned(),
            _ => value.into_owned(),
        }
    }
}

impl Setting {
    /// Whether a project's file may replace the value `now` with `value` without the user's
    /// consent.
    pub fn may_replace(&self, now: Option<&str>, value: &str) -> bool {
        let number = |text: &str| text.parse::<u64>().ok();
        let place = |text: &str| match self.kind {
            Kind::Choice(choices) => choices.iter().position(|choice| *choice == text),
            Kind::Switch => ["false", "true"].iter().position(|choice| *choice == text),
            _ => None,
        };
        match self.project {
            Trust::Free => true,
            Trust::Lower => number(value) < now.and_then(number).or(Some(u64::MAX)),
            Trust::Stricter => place(value) > now.and_then(place),
            Trust::Never | Trust::NotInFiles => false,
        }
    }

    /// Whether the variable is the opposite of the key: `MONOBLOC_NO_REPACK=true` is
    /// `repack = false`.
    pub fn is_negated(&self) -> bool {
        self.variable.starts_with("MONOBLOC_NO_") || self.variable.ends_with("_UNCONFINED")
    }

    /// The value set by a variable, in terms of the key.
    pub(super) fn read_variable(&self, text: &OsStr) -> Result<OsString, String> {
        self.read_outside(text, self.is_negated())
    }

    /// The value set by a flag, in terms of the key: the flag for a switch that is on by default
    /// turns it off.
    pub(super) fn read_flag(&self, text: &OsStr) -> Result<OsString, String> {
        self.read_outside(text, self.kind == Kind::Switch && self.default == Some("true"))
    }

    fn read_outside(&self, text: &OsStr, negated: bool) -> Result<OsString, String> {
        let value = self.kind.read_os(text)?;
        Ok(if negated { (value != "true").to_string().into() } else { value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value_of_its_kind_and_names_are_unique() {
        for (at, setting) in SETTINGS.iter().enumerate() {
            assert!(setting.default.is_none_or(|default| setting.kind.read(default).is_ok()), "{}", setting.key);
            let same = |other: &&Setting| {
                other.key == setting.key || other.variable == setting.variable || other.flag == setting.flag
            };
            assert_eq!(SETTINGS.iter().position(|one| same(&one)), Some(at), "{}", setting.key);
        }
    }

    fn check(key: &str, now: Option<&str>, value: &str, expected: bool) {
        assert_eq!(of_key(key).unwrap().may_replace(now, value), expected, "{key} {now:?} {value}");
    }

    #[test]
    fn a_project_may_tighten_and_not_loosen() {
        check("approve", Some("on-mutation"), "always", true);
        check("approve", Some("on-mutation"), "never", false);
        check("approve", Some("always"), "always", false);
        check("parallel", Some("2"), "1", true);
        check("parallel", Some("2"), "4", false);
        check("budget", None, "1000", true);
        check("model_dir", None, "models", false);
        check("tools_offered", Some("15"), "30", true);
    }
}
