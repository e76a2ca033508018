//! The sandbox on macOS: `sandbox-exec` with an equivalent profile. Written from its manual and
//! never run.

use std::io;
use std::os::fd::RawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use super::Confines;
use super::places::{self, May};

const PROGRAM: &str = "/usr/bin/sandbox-exec";
const NO_PROGRAM: &str = "this system has no /usr/bin/sandbox-exec";

/// Empty, because `sandbox-exec` starts the shell and applies the profile.
#[derive(Default)]
pub struct Jail;

#[derive(Clone, Copy)]
pub struct Means;

/// Processes are not marked here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {}

impl Mark {
    pub fn processes(self) -> impl Iterator<Item = libc::pid_t> {
        std::iter::empty()
    }
}

/// The part of the sandbox that stays in this process: nothing on macOS.
#[derive(Default)]
pub struct Held {
    pub mark: Option<Mark>,
    pub counts: bool,
}

impl Held {
    pub fn started(&mut self, _: &UnixStream) {}
}

pub fn reduced() -> Option<&'static str> {
    None
}

pub fn at_hand() -> Means {
    Means
}

pub fn missing() -> Option<&'static str> {
    (!Path::new(PROGRAM).exists()).then_some(NO_PROGRAM)
}

pub fn jail(confines: &Confines<'_>, _: Means, command: &mut Command) -> io::Result<(Jail, Held)> {
    if missing().is_none() {
        *command = Command::new(PROGRAM);
        command.args(["-p", &profile(confines)?, "sh"]);
    }
    Ok((Jail, Held::default()))
}

impl Jail {
    pub fn enter(&mut self, _: RawFd, _: &dyn Fn() -> io::Result<()>) -> io::Result<()> {
        Ok(())
    }
}

/// The text of the profile. The last matching rule decides.
fn profile(confines: &Confines<'_>) -> io::Result<String> {
    let places = places::of(confines);
    let quoted = |path: &Path| format!("(subpath {:?})", path.display().to_string());
    let all = |may: &[May]| -> String {
        places.open.iter().filter(|(_, one)| may.contains(one)).map(|(path, _)| quoted(path)).collect()
    };
    let (unmade, _) = places::unmade(confines.project);
    let kept: String = places.kept.iter().chain(&places.own).chain(&unmade).map(|path| quoted(path)).collect();
    let system = "(subpath \"/System\")(subpath \"/Library\")(subpath \"/private/etc\")(subpath \"/private/var/db\")";
    let mut profile = format!(
        "(version 1)(deny default)(import \"system.sb\")(allow process*)(allow sysctl-read)(allow signal (target same-sandbox))\
         (allow file-read-metadata)(allow file-read* {system}{})(allow file-write* {})(allow file-read* (literal \"/\"))",
        all(&[May::Read, May::Write, May::Use]),
        all(&[May::Write, May::Use]),
    );
    if !kept.is_empty() {
        profile.push_str(&format!("(deny file-write* {kept})"));
    }
    let hidden = places::hidden(confines.project, &confines.commands.hidden)?;
    if !hidden.is_empty() {
        let all: String = hidden.iter().map(|path| quoted(path)).collect();
        profile.push_str(&format!("(deny file-read* {all})"));
    }
    if let Some(own) = &places.own {
        let literal = |file: &str| format!("(literal {:?})", own.join(file).display().to_string());
        let of_people: String = places::OF_PEOPLE.map(literal).concat();
        profile.push_str(&format!("(deny file-read* {})(allow file-read* {of_people})", quoted(own)));
    }
    profile.push_str(if confines.network { "(allow network*)" } else { "(deny network*)" });
    Ok(profile)
}
