//! Creates a command-line flag for each setting, and reads settings from flags and environment variables.

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, value_parser};

use crate::config::Given;
use crate::config::setting::{Kind, SETTINGS, Setting};
use crate::models::places;

/// `command` with a flag for each setting.
pub fn arguments(command: Command) -> Command {
    command.args(SETTINGS.iter().map(argument))
}

fn argument(setting: &'static Setting) -> Arg {
    let arg = Arg::new(setting.key).long(setting.flag).global(true).help(help(setting)).help_heading("Settings");
    match setting.kind {
        Kind::Switch => arg.action(ArgAction::SetTrue),
        Kind::Path => arg.value_name("PATH").value_hint(ValueHint::AnyPath).value_parser(value_parser!(OsString)),
        Kind::Paths => arg.value_name("PATHS").value_hint(ValueHint::AnyPath).value_parser(value_parser!(OsString)),
        Kind::Choice(choices) => arg.value_name("NAME").value_parser(PossibleValuesParser::new(choices)),
        // Checked later, because an error message from the parser would repeat a password.
        Kind::Url => arg.value_name("URL").value_hint(ValueHint::Url),
        Kind::Size => arg.value_name("SIZE").value_parser(checked(setting)),
        Kind::Thinking => arg.value_name("off|N|auto").value_parser(checked(setting)),
        Kind::Number(..) => arg.value_name("N").allow_negative_numbers(true).value_parser(checked(setting)),
        Kind::Count(..) | Kind::Share => arg.value_name("N").value_parser(checked(setting)),
    }
}

/// A parser that returns the text unchanged if it is a valid value for the setting.
fn checked(setting: &'static Setting) -> impl Fn(&str) -> Result<String, String> + Clone + Send + Sync {
    move |text: &str| match setting.kind.read(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(expected) => Err(format!("`{text}` is not a valid value; it must be {expected}")),
    }
}

fn help(setting: &Setting) -> String {
    let default = match (setting.default, setting.kind) {
        (Some(default), kind) if kind != Kind::Switch => format!(" [default: {}]", kind.show(default)),
        _ => String::new(),
    };
    format!("{}{default} [env: {}]", setting.about, setting.variable)
}

/// The settings given by flags and `MONOBLOC_…` variables, and the locations of the user's files.
pub fn given(matches: &ArgMatches) -> Given {
    let typed = |setting: &'static Setting| match setting.kind {
        Kind::Switch => matches.get_flag(setting.key).then(|| (setting.key, "true".into())),
        Kind::Path | Kind::Paths => matches.get_one::<OsString>(setting.key).map(|path| (setting.key, path.clone())),
        _ => matches.get_one::<String>(setting.key).map(|text| (setting.key, text.into())),
    };
    let variables: BTreeMap<String, OsString> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, _)| name.starts_with("MONOBLOC_"))
        .collect();
    let folder = places::config_dir();
    Given {
        flags: SETTINGS.iter().filter_map(typed).collect(),
        variables,
        user_file: folder.join("config.toml"),
        consents: folder.join("consents"),
    }
}
