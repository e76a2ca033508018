//! Runs the program in unusual places: in a read-only project, on a full disk, in a folder whose
//! name is not UTF-8.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use crate::cli::{Project, Run};
use crate::models;

/// Shell commands that mount something on the project `$1`, in a separate mount namespace.
const READ_ONLY: &str = r#"mount --bind "$1" "$1" && mount -o remount,ro,bind "$1""#;
const SMALL: &str = r#"mount -t tmpfs -o size=1200k none "$1""#;

/// The output of `script` with this mount; `None` if this user cannot mount. In the script `$1` is
/// the project and `$2` the program.
fn mounted(mount: &str, script: &str, project: &Project) -> Option<String> {
    let run = |script: &str| {
        let mut command = Run::new(project, &["--version"]).command;
        let program = command.get_program().to_owned();
        let variables: Vec<(OsString, OsString)> =
            command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
        command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", script, "sh"]).arg(project.path()).arg(program).envs(variables);
        command.current_dir(project.beside("")).output().ok()
    };
    if !run(mount).is_some_and(|output| output.status.success()) {
        eprintln!("not tried: nothing can be mounted here");
        return None;
    }
    let output = run(&format!("{mount} || exit 99; exec 2>&1; {script}")).expect("a shell");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_project_that_cannot_be_written_is_searched_and_asked_and_not_changed() {
    let project = Project::todo();
    let script = r#"
        cd "$1"
        "$2" search createTodo; echo "search $?"
        "$2" graph definition createTodo; echo "graph $?"
        "$2" index status; echo "status $?"
        "$2" ask 'Show lines 1 to 2 of src/todo.ts'; echo "ask $?"
        "$2" ask 'Write "one" into new.txt' --yes; echo "write $?"
        "$2" undo; echo "undo $?"
    "#;
    let Some(told) = mounted(READ_ONLY, script, &project) else { return };
    for expected in ["search 0", "graph 0", "status 0", "ask 0", "todo.ts", "Read-only file system", "undo 1"] {
        assert!(told.contains(expected), "no `{expected}` in {told}");
    }
    assert!(!project.path().join("new.txt").exists() && !project.path().join(".monobloc").exists(), "{told}");
    assert!(project.beside("cache/monobloc/projects").is_dir(), "the index is in the cache");
}

#[test]
fn on_a_full_disk_code_is_searched_and_nothing_is_to_be_removed() {
    let project = Project::todo();
    let script = r#"
        cd "$1"
        printf 'def alpha():\n    pass\n' > a.py
        "$2" index >/dev/null
        dd if=/dev/zero of=fill bs=1k count=4000 2>/dev/null
        "$2" search alpha; echo "search $?"
        "$2" ask 'Write "one" into new.txt' --yes; echo "write $?"
        "$2" undo; echo "undo $?"
    "#;
    let Some(told) = mounted(SMALL, script, &project) else { return };
    for expected in ["a.py", "search 0", "no space is left in", "undo 1"] {
        assert!(told.contains(expected), "no `{expected}` in {told}");
    }
    assert!(!told.contains("remove the file") && !told.contains("delete"), "{told}");
}

#[test]
fn a_project_whose_name_is_not_utf8_is_worked_on() {
    let project = Project::todo();
    let odd = project.beside("").join(OsStr::from_bytes(b"gr\xfcn"));
    fs::rename(project.path(), &odd).unwrap();
    fs::create_dir(project.path()).unwrap();
    let arguments: [&OsStr; 4] = ["search".as_ref(), "createTodo".as_ref(), "--project".as_ref(), odd.as_os_str()];
    let found = Run::new(&project, &arguments).end().succeeded();
    assert!(found.out.contains("todo.ts"), "{found:#?}");
    assert!(odd.join(".monobloc/monobloc.db").is_file());
    let variable = Run::new(&project, &["graph", "definition", "createTodo"]).env("MONOBLOC_PROJECT", &odd).end();
    assert!(variable.succeeded().out.contains("todo.ts"));
}

#[test]
fn models_are_found_in_a_relative_folder_a_link_and_under_a_name_that_is_not_utf8() {
    let project = Project::todo();
    std::os::unix::fs::symlink(models::folder(), project.beside("m")).unwrap();
    let odd = OsStr::from_bytes(b"m\xe9");
    std::os::unix::fs::symlink(models::folder(), project.beside("").join(odd)).unwrap();
    let list = |folder: &OsStr, from: &Path| {
        let arguments: [&OsStr; 4] = ["models".as_ref(), "list".as_ref(), "--model-dir".as_ref(), folder];
        let mut run = Run::new(&project, &arguments);
        run.command.current_dir(from);
        run.end().succeeded().out
    };
    let above = project.beside("");
    for (folder, from) in [
        ("m".as_ref(), above.as_path()),
        ("../m".as_ref(), &project.path()),
        (".".as_ref(), &above.join("m")),
        (odd, &above),
    ] {
        let told = list(folder, from);
        assert!(told.contains("SmolLM2") && told.contains("MiniLM"), "{}: {told}", folder.display());
    }
}
