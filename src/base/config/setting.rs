//! The table of all settings: what each is called in a file, as a variable and as a flag, what it may be and who may set it.

use std::path::Path;

use crate::base::Bytes;

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// Name in a file, `table.name` below a table.
    pub key: &'static str,
    pub variable: &'static str,
    /// Without its dashes.
    pub flag: &'static str,
    pub kind: Kind,
    /// `None` where the machine or a model decides; `about` says so.
    pub default: Option<&'static str>,
    pub about: &'static str,
    pub project: Trust,
    /// Variable and flag say the opposite of the key: `--no-repack` is `repack = false`.
    pub negated: bool,
}

/// What values a setting takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Path,
    /// An amount of memory.
    Size,
    Switch,
    /// A whole number from, to.
    Count(u64, u64),
    /// One of these, the strictest last where a project may only make it stricter.
    Choice(&'static [&'static str]),
}

/// What a project's own file may do before the user has consented to it. It comes with the project, from anybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Neither a limit nor a right.
    Free,
    /// It may lower the number that would hold without it.
    Lower,
    /// It may choose a stricter word.
    Stricter,
    Never,
    /// Decides where files are looked for, and so stands in none.
    NotInFiles,
}

pub const APPROVE: [&str; 4] = ["never", "on-destructive", "on-mutation", "always"];
pub const COGNITIVE: [&str; 3] = ["auto", "on", "off"];
pub const FORMATS: [&str; 3] = ["native_json", "pythonic", "bracket"];

/// Every default of the program that a user may change.
pub const SETTINGS: [Setting; 18] = [
    Setting {
        key: "project",
        variable: "MONOBLOC_PROJECT",
        flag: "project",
        kind: Kind::Path,
        default: Some("."),
        about: "Folder to work on; tools cannot leave it",
        project: Trust::NotInFiles,
        negated: false,
    },
    Setting {
        key: "config",
        variable: "MONOBLOC_CONFIG",
        flag: "config",
        kind: Kind::Path,
        default: None,
        about: "Configuration file of the user [default: the one `monobloc config path` names]",
        project: Trust::NotInFiles,
        negated: false,
    },
    Setting {
        key: "model_dir",
        variable: "MONOBLOC_MODEL_DIR",
        flag: "model-dir",
        kind: Kind::Path,
        default: None,
        about: "Folder with GGUF files and an embedding model [default: the user's data directory]",
        project: Trust::Never,
        negated: false,
    },
    Setting {
        key: "models_file",
        variable: "MONOBLOC_MODELS_FILE",
        flag: "models-file",
        kind: Kind::Path,
        default: None,
        about: "models.toml to use [default: the one in the model folder, else the one built in]",
        project: Trust::Never,
        negated: false,
    },
    Setting {
        key: "budget",
        variable: "MONOBLOC_BUDGET",
        flag: "budget",
        kind: Kind::Size,
        default: None,
        about: "Most memory to use, 8GiB say [default: what is free]",
        project: Trust::Lower,
        negated: false,
    },
    Setting {
        key: "profile",
        variable: "MONOBLOC_PROFILE",
        flag: "profile",
        kind: Kind::Choice(&["standard", "lite"]),
        default: Some("standard"),
        about: "lite: one conversation a model and at most 4 GB in all, beside other programs on a small machine",
        project: Trust::Stricter,
        negated: false,
    },
    Setting {
        key: "parallel",
        variable: "MONOBLOC_NUM_PARALLEL",
        flag: "parallel",
        kind: Kind::Count(1, 4),
        default: Some("2"),
        about: "Conversations a model holds at once, 1 to 4",
        project: Trust::Lower,
        negated: false,
    },
    Setting {
        key: "max_loaded",
        variable: "MONOBLOC_MAX_LOADED_MODELS",
        flag: "max-loaded",
        kind: Kind::Count(1, 255),
        default: None,
        about: "Models in memory at once; the longest unused one goes first [default: as many as fit]",
        project: Trust::Lower,
        negated: false,
    },
    Setting {
        key: "repack",
        variable: "MONOBLOC_NO_REPACK",
        flag: "no-repack",
        kind: Kind::Switch,
        default: Some("true"),
        about: "Use matrices as they lie in the file: slower on a CPU, but the system can take their memory back",
        project: Trust::Free,
        negated: true,
    },
    Setting {
        key: "threads",
        variable: "MONOBLOC_THREADS",
        flag: "threads",
        kind: Kind::Count(0, 1_024),
        default: Some("0"),
        about: "Threads for inference; 0 means every core",
        project: Trust::Never,
        negated: false,
    },
    Setting {
        key: "tools_offered",
        variable: "MONOBLOC_TOOLS_OFFERED",
        flag: "tools-offered",
        kind: Kind::Count(1, 1_000),
        default: Some("15"),
        about: "Tools offered to the router for one step",
        project: Trust::Free,
        negated: false,
    },
    Setting {
        key: "orchestrator.enabled",
        variable: "MONOBLOC_NO_ORCHESTRATOR",
        flag: "no-orchestrator",
        kind: Kind::Switch,
        default: Some("true"),
        about: "Use the plain single-model loop instead of plan, execute, answer",
        project: Trust::Free,
        negated: true,
    },
    Setting {
        key: "cognitive",
        variable: "MONOBLOC_COGNITIVE",
        flag: "cognitive",
        kind: Kind::Choice(&COGNITIVE),
        default: Some("auto"),
        about: "Draft, verify and refine answers: auto does it for complex requests on models that can reason",
        project: Trust::Free,
        negated: false,
    },
    Setting {
        key: "max_cognitive_iterations",
        variable: "MONOBLOC_MAX_COGNITIVE_ITERATIONS",
        flag: "max-cognitive-iterations",
        kind: Kind::Count(1, 20),
        default: Some("5"),
        about: "Drafts of one answer at most",
        project: Trust::Lower,
        negated: false,
    },
    Setting {
        key: "verification_threshold",
        variable: "MONOBLOC_VERIFICATION_THRESHOLD",
        flag: "verification-threshold",
        kind: Kind::Count(0, 100),
        default: Some("85"),
        about: "Per cent of certainty from which a draft is the answer",
        project: Trust::Free,
        negated: false,
    },
    Setting {
        key: "approve",
        variable: "MONOBLOC_APPROVE",
        flag: "approve",
        kind: Kind::Choice(&APPROVE),
        default: Some("on-mutation"),
        about: "When to ask before a tool runs",
        project: Trust::Stricter,
        negated: false,
    },
    Setting {
        key: "mask_private",
        variable: "MONOBLOC_MASK_PRIVATE",
        flag: "mask-private",
        kind: Kind::Switch,
        default: Some("false"),
        about: "Write addresses, phone, card and account numbers and keys into the journal as [email], [phone], …",
        project: Trust::Never,
        negated: false,
    },
    Setting {
        key: "tool_call_format",
        variable: "MONOBLOC_TOOL_CALL_FORMAT",
        flag: "tool-call-format",
        kind: Kind::Choice(&FORMATS),
        default: None,
        about: "How models write calls [default: as the model's template does]",
        project: Trust::Free,
        negated: false,
    },
];

/// The setting of that key.
pub fn of_key(key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.key == key)
}

impl Kind {
    /// The value as it is kept; an error says what it must be.
    pub fn read(self, text: &str) -> Result<String, String> {
        match self {
            Kind::Path if text.trim().is_empty() => Err("a path".to_owned()),
            Kind::Path => Ok(text.to_owned()),
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
            Kind::Choice(choices) => match choices.contains(&text) {
                true => Ok(text.to_owned()),
                false => Err(format!("one of {}", choices.join(", "))),
            },
        }
    }

    /// The value as people write it.
    pub fn show(self, value: &str) -> String {
        match (self, value.parse()) {
            (Kind::Size, Ok(bytes)) => Bytes(bytes).to_string(),
            (Kind::Path, _) => Path::new(value).display().to_string(),
            _ => value.to_owned(),
        }
    }
}

impl Setting {
    /// Whether a project's file that the user has not consented to may put `value` in the place of `now`.
    pub fn may_replace(&self, now: Option<&str>, value: &str) -> bool {
        let number = |text: &str| text.parse::<u64>().ok();
        let place = |text: &str| match self.kind {
            Kind::Choice(choices) => choices.iter().position(|choice| *choice == text),
            _ => None,
        };
        match self.project {
            Trust::Free => true,
            Trust::Lower => number(value) < now.and_then(number).or(Some(u64::MAX)),
            Trust::Stricter => place(value) > now.and_then(place),
            Trust::Never | Trust::NotInFiles => false,
        }
    }

    /// What a variable or a flag says, turned into the key's own sense.
    pub(super) fn read_outside(&self, text: &str) -> Result<String, String> {
        let value = self.kind.read(text)?;
        Ok(match (self.negated, value.as_str()) {
            (true, "true") => "false".to_owned(),
            (true, _) => "true".to_owned(),
            (false, _) => value,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value_of_its_kind_and_no_name_stands_twice() {
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
