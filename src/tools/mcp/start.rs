//! Starts a server in the sandbox: it may change the project, and read programs and the files that
//! its settings name.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;
use tokio::process::Child;

use crate::config::{Commands, Server};
use crate::tools::sandbox::{self, Confines, Group};

/// A shell script that becomes the server, next to a watcher in the same process group. Every 2 s
/// the watcher checks whether this program (`$1`) still exists, and kills the group if not;
/// otherwise a server that ignores the end of its input would outlive a killed program. In the
/// sandbox `kill -0` fails, but its message shows whether the process exists.
const WATCHED: &str = "{ while case $(LC_ALL=C kill -0 \"$1\" 2>&1) in *'o such process'*) false ;; esac
do sleep 2; done; kill -KILL 0; } </dev/null >/dev/null 2>&1 &
shift
exec \"$@\"";

/// Returns the process, its group, and its folder for temporary files. `limits` are the same as for
/// commands.
pub fn start(config: &Server, limits: &Commands, project: &Path) -> io::Result<(Child, Group, TempDir)> {
    let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    let temp = tempfile::Builder::new().prefix("monobloc-server-").tempdir()?;
    let filled = |text: &OsStr| filled(text, &project);
    let words = std::iter::once(&config.command).chain(&config.args);
    let program: Vec<OsString> = words.map(|word| filled(word.as_ref())).collect();
    let dir = config.dir.as_ref().map_or(project.clone(), |dir| project.join(filled(dir.as_os_str())));
    // It must be able to read the absolute paths among its arguments, because it serves them.
    let named = program.iter().map(PathBuf::from).filter(|path| path.is_absolute());
    let commands = Commands {
        confined: config.confined,
        reads: named.chain([dir.clone()]).chain(config.reads.iter().cloned()).collect(),
        writes: config.writes.clone(),
        ..limits.clone()
    };
    let confines = Confines {
        project: &project,
        temp: &temp.path().canonicalize()?,
        network: config.network,
        git: names_git(config, &project),
        limited: config.confined,
        seconds: None,
        commands: &commands,
    };
    let (mut command, mut group) = sandbox::shell(&confines)?;
    command.args(["-c", WATCHED, "sh"]).arg(std::process::id().to_string()).args(program).current_dir(dir);
    sandbox::set_environment(&mut command, config.inherit.iter().map(String::as_str), confines.temp);
    command.envs(config.env.iter().map(|(name, value)| (name, filled(value.as_ref()))));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = sandbox::spawn(command, &mut group)?;
    Ok((child, group, temp))
}

/// Replaces each `${project}` in `text` with the project's path, which need not be UTF-8.
fn filled(text: &OsStr, project: &Path) -> OsString {
    const MARK: &[u8] = b"${project}";
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some(at) = rest.windows(MARK.len()).position(|part| part == MARK) {
        bytes.extend_from_slice(&rest[..at]);
        bytes.extend_from_slice(project.as_os_str().as_bytes());
        rest = &rest[at + MARK.len()..];
    }
    bytes.extend_from_slice(rest);
    OsString::from_vec(bytes)
}

/// Whether `writes` names the project's `.git`. Otherwise the server may not change it, because
/// files that redirect git are moved aside only when the server ends, possibly days later.
fn names_git(config: &Server, project: &Path) -> bool {
    let git = project.join(".git").canonicalize();
    git.is_ok_and(|git| config.writes.iter().any(|path| path.canonicalize().is_ok_and(|path| path == git)))
}

/// A hint on how to grant the server more, if `text` looks like a refusal by the sandbox; else
/// empty.
pub fn hint(config: &Server, text: &str) -> String {
    if config.url.is_some() || !config.confined || !sandbox::tells_of_refusal(text) {
        return String::new();
    }
    let bounds = sandbox::bounds(
        "the project without its `.git`",
        "programs, tool chains and the absolute paths among its arguments",
        config.network,
    );
    format!(
        " [the server is confined: {bounds}; `reads`, `writes` and `network` of [mcp.{}] at {} allow more, \
         command_memory, command_file_size and command_processes larger processes and files, and more of them]",
        config.name, config.place
    )
}

/// A hint for a server that was not ready in time: a launcher that downloads the server first has
/// no network access in the sandbox.
pub fn hint_when_late(config: &Server) -> &'static str {
    if config.url.is_none() && config.confined && !config.network {
        "; confined, it can fetch nothing: install the server first, or grant `network = true` and `writes` of its cache"
    } else {
        ""
    }
}
