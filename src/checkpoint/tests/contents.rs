//! Tests what checkpoints store: whole, in time, for the owner alone, or not at all.

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
fn what_is_not_covered_is_listed_and_a_large_file_that_is_gone_is_lost() {
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
    assert_eq!(plan.lost, [PathBuf::from("data")]);
    go_back(project, 1);
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "a\n");
}

#[test]
fn damaged_contents_are_found_before_anything_is_changed() {
    let folder = project();
    let project = folder.path();
    turn(project, &Reach::Everything, "echo 1 > a; rm zeros");
    let after = state(project);
    let (mut store, target, plan) = planned(project, 1);
    let packed = "SELECT count(*) FROM blobs WHERE packed = 1";
    assert_eq!(store.row(packed, [], |row| row.get::<_, i64>(0)).unwrap(), Some(1), "zeros are compressed");
    for (sql, expected) in [
        ("UPDATE blobs SET bytes = x'6100' WHERE packed = 0", "is damaged"),
        ("UPDATE blobs SET size = -1", "is damaged"),
        ("DELETE FROM blobs", "is not in the checkpoints any more"),
    ] {
        store.run(sql, []).unwrap();
        let refused = store.prepare(project, &target, &plan, &About::default(), &[]).unwrap_err().to_string();
        assert!(refused.contains(expected) && refused.contains("nothing was changed"), "{refused}");
    }
    assert!(store.pending().unwrap().is_none());
    assert_eq!(state(project), after);
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
    assert!(refused.contains("it has form 9, this program writes 1"), "{refused}");
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
