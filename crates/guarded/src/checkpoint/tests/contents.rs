//! Tests which contents checkpoints store, when, and who may read them.

use super::*;

#[test]
fn a_call_does_not_run_if_what_it_overwrites_cannot_be_stored() {
    let folder = project();
    let project = folder.path();
    let data = fs::File::create(project.join("data")).unwrap();
    data.set_len(FILE_MAX.0 + 1).unwrap();
    let turn = new_turn(project);
    let refused = begin(&turn, &paths(&["data"])).unwrap_err().to_string();
    assert!(refused.contains("data: 32.0 MiB, more than 32.0 MiB"), "{refused}");
    data.set_len(FILE_MAX.0).unwrap();
    assert_eq!(begin(&turn, &paths(&["data"])).unwrap(), 1);
    let long = "x".repeat(300);
    let refused = begin(&turn, &paths(&[&long])).unwrap_err();
    assert!(matches!(refused, CheckpointError::Path { .. }), "{refused}");
    let other = new_turn(project);
    drop(turn);
    let refused = other.begin("t", &paths(&["a"]), &|| Err("no lessons".to_owned())).unwrap_err();
    assert!(matches!(refused, CheckpointError::Memory(_)), "{refused}");
    assert_eq!(other.finish().unwrap(), None);
}

#[test]
fn what_is_not_covered_is_listed() {
    let folder = project();
    let project = folder.path();
    fs::File::create(project.join("data")).unwrap().set_len(FILE_MAX.0 + 1).unwrap();
    run(project, "mkfifo pipe");
    turn(project, &Reach::Everything, "echo 1 > a");
    let (store, _, _) = planned(project, 1);
    let pipe = (PathBuf::from("pipe"), "neither file, folder nor link".to_owned());
    let uncovered = store.uncovered().unwrap();
    assert!(uncovered.contains(&pipe));
    assert!(uncovered.iter().any(|(path, _)| path == Path::new("data")), "after a second look, too: {uncovered:?}");
    run(project, "rm data pipe");
    let (store, _, plan) = planned(project, 1);
    assert!(store.uncovered().unwrap().is_empty());
    assert_eq!(plan.lost, Vec::<PathBuf>::new(), "others deleted it");
    go_back(project, 1);
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "a\n");
}

/// A shell command line that creates a file of 33 MiB.
fn large(path: &str) -> String {
    format!("truncate -s 33M {path}")
}

#[test]
fn a_path_that_cannot_be_kept_or_restored_stops_no_other() {
    let folder = project();
    let project = folder.path();
    run(project, &[large("gone"), large("grown")].join(";"));
    let line =
        [large("src/made"), large("d"), "rm gone; echo x >> grown; echo 1 > a; rm -r empty".to_owned()].join(";");
    let summary = turn(project, &Reach::Everything, &line);
    assert_eq!([summary.created, summary.changed, summary.deleted], [0, 2, 0], "large files are not counted");
    let left: Vec<&str> = summary.left.iter().filter_map(|(path, _)| path.to_str()).collect();
    assert_eq!(left, ["gone", "grown", "src/made"]);
    assert!(summary.left[1].1.contains("more than 32.0 MiB"), "{summary:?}");
    let (mut store, target, plan) = planned(project, 1);
    assert_eq!(plan.lost, ["gone", "grown"].map(PathBuf::from));
    let last: Vec<&Path> = plan.steps.iter().filter(|step| step.is_final()).map(|step| step.path.as_path()).collect();
    assert_eq!(last, [Path::new("src/made")]);
    let pending = store.prepare(project, &target, &plan, &About::default(), &[]).unwrap();
    assert_eq!(pending.left, Vec::new());
    let applied = store.apply(project, &pending).unwrap();
    assert_eq!(applied.restored, ["a", "d", "empty", "empty/deeper", "src/made"].map(PathBuf::from));
    assert_eq!(applied.skipped, Vec::new());
    let read = |path: &str| fs::read_to_string(project.join(path)).unwrap();
    assert_eq!([read("a"), read("d")], ["a\n", "d\n"], "a small file that was made large comes back");
    assert!(!project.join("src/made").exists() && project.join("empty/deeper").exists());
}

#[test]
fn a_large_file_that_others_touched_since_is_not_removed() {
    let folder = project();
    let project = folder.path();
    turn(project, &Reach::Everything, &large("made"));
    let (mut store, target, plan) = planned(project, 1);
    run(project, "echo theirs >> made");
    let pending = store.prepare(project, &target, &plan, &About::default(), &[]).unwrap();
    assert_eq!(pending.left, [(PathBuf::from("made"), "changed meanwhile; it stays as it is".to_owned())]);
    store.apply(project, &pending).unwrap();
    store.settled().unwrap();
    assert!(project.join("made").exists());
    assert!(planned(project, 1).2.steps[0].foreign);
}

#[test]
fn owner_attributes_and_links_come_back_with_a_file() {
    use std::os::unix::fs::{MetadataExt, chown};
    let folder = project();
    let project = folder.path();
    let [tool, other] = ["tool", "src/other"].map(|name| project.join(name));
    fs::write(&tool, "1\n").unwrap();
    // Only root may give files away; not every file system supports attributes.
    let _ = chown(&tool, Some(1234), Some(2345));
    let _ = chown(project.join("empty"), Some(1234), Some(2345));
    let _ = xattr::set(&tool, "user.monobloc.test", b"value");
    fs::set_permissions(&tool, Permissions::from_mode(0o2755)).unwrap();
    fs::hard_link(&tool, &other).unwrap();
    let about = |path: &Path| (crate::base::overwrite::About::of(path).unwrap(), fs::read(path).unwrap());
    let folder_of = |path: &str| crate::base::overwrite::About::of(&project.join(path)).unwrap();
    let (before, empty) = (about(&tool), folder_of("empty"));
    for line in [
        "rm tool src/other",
        "rm tool",
        "cp tool new; mv new tool; echo 2 > tool",
        "echo 2 > tool",
        "rm -r empty; mkdir empty",
    ] {
        let summary = turn(project, &Reach::Everything, line);
        let (applied, _) = go_back(project, summary.checkpoint);
        assert_eq!(applied.skipped, Vec::new(), "{line}");
        assert_eq!((about(&tool), about(&other), folder_of("empty")), (before.clone(), before.clone(), empty.clone()));
        let inode = |path: &Path| fs::metadata(path).unwrap().ino();
        assert_eq!(inode(&tool), inode(&other), "{line}: both names are one file again");
    }
}

#[test]
fn a_content_that_is_damaged_or_gone_is_named_and_the_others_come_back() {
    for (sql, expected) in [
        ("UPDATE blobs SET bytes = x'6100' WHERE packed = 1", "its stored content is damaged"),
        ("UPDATE blobs SET size = -1 WHERE packed = 1", "its stored content is damaged"),
        ("DELETE FROM blobs WHERE packed = 1", "its content is no longer stored"),
    ] {
        let folder = project();
        let project = folder.path();
        turn(project, &Reach::Everything, "echo 1 > a; rm zeros");
        let (mut store, target, plan) = planned(project, 1);
        let packed = "SELECT count(*) FROM blobs WHERE packed = 1";
        assert_eq!(store.row(packed, [], |row| row.get::<_, i64>(0)).unwrap(), Some(1), "zeros are compressed");
        store.run(sql, []).unwrap();
        let pending = store.prepare(project, &target, &plan, &About::default(), &[]).unwrap();
        assert_eq!(pending.left, [(PathBuf::from("zeros"), expected.to_owned())]);
        assert_eq!(store.apply(project, &pending).unwrap().restored, [PathBuf::from("a")]);
        assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "a\n");
    }
}

#[test]
fn a_copy_is_the_project_as_it_was_at_the_checkpoint() {
    let (folder, copy, later) = (project(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let project = folder.path();
    fs::set_permissions(project.join("src"), Permissions::from_mode(0o700)).unwrap();
    let before = state(project);
    turn(project, &paths(&["a"]), "echo 1 > a");
    let (store, target, _) = planned(project, 1);
    assert_eq!(store.changes_after(0).unwrap().len(), 1, "what was there at first is no change");
    assert_eq!(store.copy_to(project, &target, copy.path()).unwrap(), Vec::<PathBuf>::new());
    assert_eq!(state(copy.path()), before);
    // Its content was never stored, because no call could overwrite it.
    fs::write(project.join("src/b"), "changed since\n").unwrap();
    let missing = store.copy_to(project, &target, later.path()).unwrap();
    assert_eq!(missing, [PathBuf::from("src/b")]);
    assert_eq!(store.memory_of(&target).unwrap(), [b"a lesson".to_vec()]);
}

#[test]
fn the_database_is_for_its_owner_alone_and_of_one_form() {
    let folder = project();
    let project = folder.path();
    assert!(Store::existing(project).unwrap().is_none());
    let file = project.join(".monobloc/checkpoints.db");
    let mode = || fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    drop(Store::open(project).unwrap());
    assert_eq!(mode(), 0o600);
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let store = Store::open(project).unwrap();
    assert_eq!(mode(), 0o600);
    store.run("PRAGMA user_version = 9", []).unwrap();
    drop(store);
    let refused = Store::open(project).err().unwrap().to_string();
    assert!(refused.contains("it has format 9, but this program writes 2"), "{refused}");
}

#[test]
fn full_checkpoints_refuse_a_call_instead_of_storing_half() {
    let folder = project();
    let project = folder.path();
    turn(project, &paths(&["a"]), "echo 1 > a");
    let store = Store::open(project).unwrap();
    let begun = |room: u64| {
        let sql = "UPDATE meta SET value = ?1 WHERE name = 'content_bytes'";
        store.run(sql, [(sync::CONTENTS_MAX - room) as i64]).unwrap();
        begin(&new_turn(project), &paths(&["src/b"]))
    };
    let refused = begun(1).unwrap_err().to_string();
    assert!(refused.contains("src/b: the checkpoints of this project are full"), "{refused}");
    assert!(begun(2).is_ok());
}
