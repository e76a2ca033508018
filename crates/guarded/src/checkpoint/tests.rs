//! Tests that a restore brings a project back after changes by a turn, another program or a killed
//! process.

mod contents;

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::*;
use crate::base::Cancel;

type State = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// Every entry by path: its mode, and a file's content or a link's target.
fn state(project: &Path) -> State {
    let (mut all, mut folders) = (State::new(), vec![project.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let (path, about) = (entry.path(), entry.metadata().unwrap());
            let content = match about.file_type() {
                _ if entry.file_name() == ".monobloc" => continue,
                kind if kind.is_symlink() => fs::read_link(&path).unwrap().into_os_string().into_vec(),
                kind if kind.is_dir() => Vec::new(),
                _ => fs::read(&path).unwrap(),
            };
            all.insert(path.strip_prefix(project).unwrap().to_owned(), (about.permissions().mode() & 0o7777, content));
            folders.extend(about.is_dir().then_some(path));
        }
    }
    all
}

/// Runs a shell command line in a project.
fn run(project: &Path, line: &str) {
    assert!(Command::new("sh").args(["-c", line]).current_dir(project).status().unwrap().success(), "{line}");
}

/// A project with all kinds of entries.
fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let line = "mkdir -p src/deep empty/deeper; echo a > a; echo b > src/b; echo c > src/deep/c; echo d > d;
                chmod 750 d; ln -s src/b link; head -c 70000 /dev/zero > zeros";
    run(folder.path(), line);
    folder
}

fn new_turn(project: &Path) -> Turn {
    Turn::new(project, About::default(), Cancel::new())
}

/// Begins a call without lessons.
fn begin(turn: &Turn, reach: &Reach) -> Result<i64, CheckpointError> {
    turn.begin("write_file", reach, &|| Ok(Vec::new()))
}

fn paths(all: &[&str]) -> Reach {
    Reach::Paths(all.iter().map(PathBuf::from).collect())
}

/// One turn with one call, which runs a shell command line.
fn turn(project: &Path, reach: &Reach, line: &str) -> Summary {
    let turn = new_turn(project);
    turn.during("run_command", reach, &|| Ok(vec![b"a lesson".to_vec()]), || run(project, line)).unwrap();
    turn.finish().unwrap().unwrap()
}

/// The plan for going back to a checkpoint, made after scanning the project.
fn planned(project: &Path, checkpoint: i64) -> (Store, Checkpoint, Plan) {
    let mut store = Store::existing(project).unwrap().unwrap();
    store.look(project).unwrap();
    let target = store.find(checkpoint).unwrap().unwrap();
    let plan = store.plan_to(&target).unwrap();
    (store, target, plan)
}

/// The stored plan for going back to a checkpoint.
fn prepared(project: &Path, checkpoint: i64) -> (Store, Pending) {
    let (mut store, target, plan) = planned(project, checkpoint);
    let pending = store.prepare(project, &target, &plan, &About::default(), &[]).unwrap();
    (store, pending)
}

/// Goes back to a checkpoint. Returns what was done, and the checkpoint that undoes it.
fn go_back(project: &Path, checkpoint: i64) -> (Applied, i64) {
    let (mut store, pending) = prepared(project, checkpoint);
    let applied = store.apply(project, &pending).unwrap();
    store.settled().unwrap();
    (applied, pending.safety)
}

/// Undoes a turn, redoes it and undoes it again; expects the number of files created, changed and deleted.
fn check(reach: &Reach, line: &str, expected: [usize; 3]) {
    let folder = project();
    let project = folder.path();
    let before = state(project);
    let summary = turn(project, reach, line);
    let after = state(project);
    assert_eq!([summary.created, summary.changed, summary.deleted], expected, "{line}");
    let (applied, safety) = go_back(project, summary.checkpoint);
    assert_eq!((state(project), applied.skipped), (before.clone(), Vec::new()), "{line} is undone");
    go_back(project, safety);
    assert_eq!(state(project), after, "{line} is done again");
    assert_eq!(planned(project, summary.checkpoint).2.foreign().count(), 0, "a restore is no change by others");
    go_back(project, summary.checkpoint);
    assert_eq!(state(project), before, "{line} is undone again");
}

#[test]
fn what_a_call_changed_is_undone_and_done_again() {
    check(&paths(&["a", "new/deep/b"]), "echo 1 > a; mkdir -p new/deep; echo 2 > new/deep/b", [1, 1, 0]);
    check(&paths(&["src/b", "moved/b"]), "mkdir moved; mv src/b moved/b", [1, 0, 1]);
    for (line, expected) in [
        ("echo 1 >> zeros; echo 2 > new; rm d", [1, 1, 1]),
        ("mv src moved; mv d 'd d'", [3, 0, 3]),
        ("chmod 600 a; echo 1 > src/b; chmod 500 src; chmod 700 empty", [0, 2, 0]),
        ("rm link; mkdir link; echo x > link/file", [1, 1, 0]),
        ("rm -r empty; ln -s src empty", [0, 1, 0]),
        ("rm a; mkdir -p a/b; rm -r src; echo x > src", [0, 2, 2]),
        ("rm a; ln -s d a; rm link; echo file > link; mkdir -p p/q; echo r > p/q/r; chmod 555 p", [1, 2, 0]),
        ("ln -sf nowhere link; touch -d 2001-01-01 d; true > zeros", [0, 2, 0]),
        ("mv a x; mv d a; mv x d", [0, 2, 0]),
    ] {
        check(&Reach::Everything, line, expected);
    }
}

#[test]
fn calls_of_a_turn_go_back_together_and_turns_one_by_one() {
    let folder = project();
    let project = folder.path();
    let mut states = vec![state(project)];
    // Files that changed this recently are always read again.
    std::thread::sleep(std::time::Duration::from_millis(50));
    for number in 1..=3 {
        let turn = new_turn(project);
        let calls = [
            (paths(&["a", "d"]), format!("echo {number} > a; echo x > d")),
            (paths(&["d"]), "echo d > d".to_owned()),
            (Reach::Everything, format!("mv a a{number}; cp a{number} a; echo {number} > src/b")),
        ];
        for (reach, line) in calls {
            assert_eq!(begin(&turn, &reach).unwrap(), number);
            run(project, &line);
        }
        turn.end().unwrap();
        assert!(!Store::open(project).unwrap().is_unfinished().unwrap(), "the last call has ended");
        let summary = turn.finish().unwrap().unwrap();
        assert_eq!((summary.created, summary.changed, summary.deleted), (1, 2, 0), "`d` is as it was");
        let changes = Store::open(project).unwrap().changes_of(number).unwrap();
        assert!(changes.iter().all(|change| change.new.is_restorable()), "{changes:?}");
        assert!(begin(&turn, &Reach::Everything).is_err(), "the turn is over");
        states.push(state(project));
    }
    for checkpoint in [2, 1, 3] {
        go_back(project, checkpoint);
        assert_eq!(state(project), states[checkpoint as usize - 1], "c{checkpoint}");
    }
}

#[test]
fn a_change_by_others_is_marked_and_one_during_the_restore_is_kept() {
    let folder = project();
    let project = folder.path();
    turn(
        project,
        &Reach::Everything,
        "echo 1 > a; echo 1 > src/b; echo 1 > d; echo 1 > src/deep/c; rm zeros; mkdir zeros",
    );
    run(project, "echo theirs > src/b; echo theirs > theirs");
    let (mut store, target, plan) = planned(project, 1);
    let foreign: Vec<&Path> = plan.foreign().map(|step| step.path.as_path()).collect();
    assert_eq!(foreign, [Path::new("src/b")], "a file that others made is not part of the plan");
    let pending = store.prepare(project, &target, &plan, &About::default(), &[]).unwrap();
    run(project, "echo later > a; rm src/deep/c; rmdir zeros; echo later > zeros");
    let applied = store.apply(project, &pending).unwrap();
    let skipped = ["a", "src/deep/c", "zeros"]
        .map(|path| (PathBuf::from(path), "changed meanwhile; it stays as it is".to_owned()));
    assert_eq!(applied.skipped, skipped);
    assert_eq!(applied.restored, ["d", "src/b"].map(PathBuf::from));
    assert_eq!(store.pending().unwrap().unwrap(), Pending { applied: true, ..pending });
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "later\n");
    assert!(!project.join("src/deep/c").exists() && project.join("zeros").is_file());
}

#[test]
fn a_change_by_others_between_two_calls_of_a_turn_is_marked() {
    let folder = project();
    let project = folder.path();
    let turn = new_turn(project);
    for line in ["echo 1 > a", "echo 2 > a"] {
        begin(&turn, &paths(&["a"])).unwrap();
        run(project, line);
        turn.end().unwrap();
        run(project, "echo theirs > a");
    }
    turn.finish().unwrap();
    run(project, "echo 2 > a");
    let (store, _, plan) = planned(project, 1);
    assert_eq!(plan.steps.iter().map(|step| step.foreign).collect::<Vec<_>>(), [true]);
    let origins: Vec<bool> =
        store.changes_after(0).unwrap().iter().map(|change| change.origin == Origin::Outside).collect();
    assert_eq!(origins, [false, true, false]);
}

#[test]
fn a_file_that_may_have_changed_without_a_trace_is_read_again() {
    let folder = project();
    let project = folder.path();
    turn(project, &Reach::Everything, "echo 1 > a");
    run(project, "echo 2 > a");
    // Restores the size and time, so that only the content differs.
    let store = Store::open(project).unwrap();
    let stat = scan::Stat::at(&project.join("a")).unwrap().unwrap();
    let known = store.known_at(Path::new("a")).unwrap().unwrap();
    store.set_known(Path::new("a"), Some(&store::Known { stat, fresh: false, ..known })).unwrap();
    assert_eq!(planned(project, 1).2.foreign().count(), 0, "equal metadata is trusted");
    store.set_known(Path::new("a"), Some(&store::Known { stat, fresh: true, ..known })).unwrap();
    assert_eq!(planned(project, 1).2.foreign().count(), 1, "unless it was taken shortly after a change");
}

#[test]
fn a_restore_that_was_interrupted_is_finished_before_another_turn() {
    let folder = project();
    let project = folder.path();
    let before = state(project);
    turn(
        project,
        &Reach::Everything,
        "echo 1 > a; rm -r src; echo x > src; rm d; mkdir d; rm link; echo x > link;
        rm zeros; mkdir zeros; chmod 500 zeros empty; mkdir new; echo x > new/x",
    );
    let (store, pending) = prepared(project, 1);
    drop(store);
    // The state left by a process that was killed midway.
    run(project, "echo a > a; rm src; mkdir src; echo b > src/b; rmdir d; rm link; chmod 700 zeros empty; rm -r new");
    let mut store = Store::existing(project).unwrap().unwrap();
    assert!(store.is_unfinished().unwrap());
    assert_eq!(store.pending().unwrap(), Some(pending.clone()));
    let refused = begin(&new_turn(project), &Reach::Everything).unwrap_err();
    assert!(matches!(refused, CheckpointError::Unfinished), "{refused}");
    assert_eq!(store.apply(project, &pending).unwrap().skipped, []);
    store.settled().unwrap();
    assert!(!store.is_unfinished().unwrap() && store.pending().unwrap().is_none());
    assert_eq!(state(project), before);
}

#[test]
fn what_a_killed_call_had_changed_counts_as_its_own() {
    let folder = project();
    let project = folder.path();
    let before = state(project);
    let turn = new_turn(project);
    turn.begin("run_command", &paths(&["a"]), &|| Ok(Vec::new())).unwrap();
    run(project, "echo 1 > a; echo half > .monobloc-0123456789abcdef");
    drop(turn);
    let mut store = Store::existing(project).unwrap().unwrap();
    assert!(store.is_unfinished().unwrap());
    assert_eq!(recover(&mut store, project).unwrap(), [1]);
    assert!(!project.join(".monobloc-0123456789abcdef").exists(), "the file of the interrupted write is gone");
    assert!(recover(&mut store, project).unwrap().is_empty());
    assert!(!store.is_unfinished().unwrap());
    assert!(store.ran_since("run_command", 1).unwrap());
    assert!(!store.ran_since("run_command", 2).unwrap() && !store.ran_since("write_file", 1).unwrap());
    let (_, _, plan) = planned(project, 1);
    assert_eq!(plan.foreign().count(), 0);
    go_back(project, 1);
    assert_eq!(state(project), before);
}

#[test]
fn a_restore_does_not_write_through_a_link_that_leads_out() {
    let (folder, outside) = (project(), tempfile::tempdir().unwrap());
    let project = folder.path();
    turn(project, &Reach::Everything, "echo 1 > src/b");
    let (mut store, pending) = prepared(project, 1);
    run(project, "mv src old");
    fs::write(outside.path().join("b"), "1\n").unwrap();
    symlink(outside.path(), project.join("src")).unwrap();
    let applied = store.apply(project, &pending).unwrap();
    assert!(applied.restored.is_empty() && applied.skipped[0].1.contains("`src` is not a folder"), "{applied:?}");
    assert_eq!(fs::read_to_string(outside.path().join("b")).unwrap(), "1\n");
}

#[test]
fn a_folder_with_files_of_others_stays() {
    let folder = project();
    let project = folder.path();
    turn(project, &Reach::Everything, "mkdir new; echo 1 > new/ours");
    fs::write(project.join("new/theirs"), "theirs").unwrap();
    let (applied, _) = go_back(project, 1);
    assert_eq!((applied.restored, applied.skipped), (vec![PathBuf::from("new/ours")], Vec::new()));
    assert!(project.join("new/theirs").exists() && !project.join("new/ours").exists());
}

#[test]
fn what_others_alone_changed_is_not_touched_and_what_they_changed_first_is_what_comes_back() {
    let folder = project();
    let project = folder.path();
    let turn = new_turn(project);
    begin(&turn, &paths(&["a"])).unwrap();
    run(project, "echo 1 > a");
    turn.end().unwrap();
    run(project, "echo theirs > d; echo theirs > theirs; rm src/b");
    begin(&turn, &paths(&["d"])).unwrap();
    run(project, "echo 1 > d");
    turn.finish().unwrap();
    run(project, "chmod 600 zeros; mkdir theirs2; mv src/deep/c theirs2/c");
    let before = state(project);
    let (applied, safety) = go_back(project, 1);
    assert_eq!(applied.restored, ["a", "d"].map(PathBuf::from));
    let read = |path: &str| fs::read_to_string(project.join(path)).unwrap();
    assert_eq!([read("a"), read("d"), read("theirs"), read("theirs2/c")], ["a\n", "theirs\n", "theirs\n", "c\n"]);
    go_back(project, safety);
    assert_eq!(state(project), before, "only the files of the turn differ");
}

#[test]
fn ignored_files_come_back_if_a_call_named_them_and_are_otherwise_left_alone() {
    let folder = project();
    let project = folder.path();
    run(project, "mkdir built; echo old > built/old; echo built/ > .gitignore");
    let before = state(project);
    let named = turn(project, &paths(&["built/old"]), "echo new > built/old");
    assert_eq!((named.created, named.changed), (0, 1));
    go_back(project, 1);
    assert_eq!(state(project), before);
    assert!(planned(project, 1).2.steps.is_empty(), "it stays covered");
    // Longer than the resolution of the file system's clock.
    std::thread::sleep(std::time::Duration::from_millis(50));
    run(project, "echo older > built/older");
    std::thread::sleep(std::time::Duration::from_millis(50));
    let shown = turn(project, &Reach::Everything, "rm .gitignore; echo 1 > built/new");
    assert_eq!((shown.created, shown.deleted), (1, 1), "files that were there before do not count as new");
    go_back(project, shown.checkpoint);
    assert!(project.join("built/older").exists() && !project.join("built/new").exists());
}

#[test]
fn finishing_a_restore_leaves_the_file_behind_a_link_alone() {
    let folder = project();
    let project = folder.path();
    let before = state(project);
    turn(project, &Reach::Everything, "rm link; mkdir link");
    let (mut store, pending) = prepared(project, 1);
    run(project, "rmdir link; ln -s src/b link");
    assert_eq!(store.apply(project, &pending).unwrap().restored, [PathBuf::from("link")]);
    assert_eq!(state(project), before);
}
