//! Starts a server, confined like a command: it may change the project and read programs and what its settings name.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::base::config::{Commands, Server};
use crate::tools::sandbox::{self, Confines, Group};

/// Beside what the configuration names, all that a server sees of this process's variables.
const INHERITED: [&str; 8] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ"];
/// Becomes the server, beside which a watcher ends the group when this program is gone, even if it was killed: then nobody
/// else is left to do it, and a server that does not look at its input would stay. Confined, it may not signal this
/// program, but it hears whether there is one.
const WATCHED: &str = "{ while case $(LC_ALL=C kill -0 \"$1\" 2>&1) in *'o such process'*) false ;; esac
do sleep 2; done; kill -KILL 0; } </dev/null >/dev/null 2>&1 &
shift
exec \"$@\"";

/// The process, its group, and the folder for its temporary files. `limits`: those of commands hold for it too.
pub fn start(config: &Server, limits: &Commands, project: &Path) -> io::Result<(Child, Group, TempDir)> {
    let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    let temp = tempfile::Builder::new().prefix("monobloc-server-").tempdir()?;
    let filled = |text: &String| text.replace("${project}", &project.display().to_string());
    let program: Vec<String> = std::iter::once(&config.command).chain(&config.args).map(filled).collect();
    let dir = config.dir.as_ref().map_or(project.clone(), |dir| project.join(filled(&dir.display().to_string())));
    // What it was told to serve it has to see.
    let told = program.iter().map(PathBuf::from).filter(|path| path.is_absolute());
    let commands = Commands {
        confined: config.confined,
        reads: told.chain([dir.clone()]).chain(config.reads.iter().cloned()).collect(),
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
    command.args(["-c", WATCHED, "sh"]).arg(std::process::id().to_string()).args(program).env_clear().current_dir(dir);
    let inherited = INHERITED.iter().copied().chain(config.inherit.iter().map(String::as_str));
    command.envs(inherited.filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.envs(["TMPDIR", "TMP", "TEMP"].map(|name| (name, confines.temp)));
    command.envs(config.env.iter().map(|(name, value)| (name, filled(value))));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut command = Command::from(command);
    let child = command.kill_on_drop(true).spawn()?;
    // With it goes its end of the connection that the group waits for.
    drop(command);
    group.started(child.id());
    Ok((child, group, temp))
}

/// What would mislead git while a server runs, and that may be for days, nobody sees; so it changes nothing of git's unless
/// `.git` itself is among what it may write.
fn names_git(config: &Server, project: &Path) -> bool {
    let git = project.join(".git").canonicalize();
    git.is_ok_and(|git| config.writes.iter().any(|path| path.canonicalize().is_ok_and(|path| path == git)))
}

/// How to grant a server more, where what it says may be about its confinement; else nothing.
pub fn hint(config: &Server, said: &str) -> String {
    if !config.confined || !sandbox::tells_of_refusal(said) {
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

/// For one that was not ready in time: a program that first fetches the server waits for a network it does not have.
pub fn hint_when_late(config: &Server) -> &'static str {
    match config.confined && !config.network {
        true => {
            "; confined it fetches nothing: install the server first, or grant `network = true` and `writes` of its cache"
        }
        false => "",
    }
}
