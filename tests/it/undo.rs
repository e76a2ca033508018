//! Undo and rewind from the command line: everything is reverted together, and changes by others
//! are not overwritten.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use monobloc::base::Cancel;
use monobloc::checkpoint::{About, Turn};
use monobloc::config::ApproveMode;
use monobloc::index::Index;
use monobloc::lessons::{Lesson, Lessons};
use monobloc::models::dialect::RawCall;
use monobloc::session::{Journal, telemetry};
use monobloc::tools::call::check::check as checked;
use monobloc::tools::confine::Root;
use monobloc::tools::{Catalog, Context, Outcome, execute, policy::Policy};
use serde_json::{Value, json};

use crate::cli::{Project, Run};
use crate::turn::{Turn as Asked, text};

const CHANGE: &str = "In src/retry.ts change the maximum number of attempts from 5 to 3";

/// Every entry of a project by path: its mode, and size and hash of a file's content or a link's target.
pub type State = BTreeMap<PathBuf, (u32, usize, u64)>;

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// Fails with the list of paths that differ.
pub fn same(found: &State, expected: &State, what: &str) {
    let paths: BTreeSet<&PathBuf> = found.keys().chain(expected.keys()).collect();
    let differ = paths.into_iter().filter(|path| found.get(*path) != expected.get(*path));
    let differ: Vec<_> = differ.map(|path| (path, found.get(path), expected.get(path))).collect();
    assert!(differ.is_empty(), "{what}: path, found, expected: {differ:?}");
}

pub fn state(project: &Path) -> State {
    fn read(root: &Path, folder: &Path, state: &mut State) {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
            let (path, about) = (entry.path(), entry.metadata().expect("an entry"));
            if entry.file_name() == ".monobloc" {
                continue;
            }
            let content = match about.file_type() {
                kind if kind.is_symlink() => {
                    fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
                }
                kind if kind.is_file() => fs::read(&path).expect("a file"),
                _ => Vec::new(),
            };
            let relative = path.strip_prefix(root).expect("below").to_owned();
            state.insert(relative, (about.permissions().mode() & 0o7777, content.len(), hash(&content)));
            if about.is_dir() {
                read(root, &path, state);
            }
        }
    }
    let mut all = State::new();
    read(project, project, &mut all);
    all
}

/// Runs approved calls as one turn, with a checkpoint.
pub async fn turn(project: &Project, calls: &[(&str, Value)]) -> Vec<Outcome> {
    let folder = project.path().canonicalize().expect("a folder");
    let about = About { request: "a test".to_owned(), ..About::default() };
    let turn = std::sync::Arc::new(Turn::new(&folder, about, Cancel::new()));
    let lessons = Lessons::open(&folder.join(".monobloc/monobloc.db")).expect("lessons");
    let context = Context {
        turn: Some(turn.clone()),
        lessons: Some(lessons.into()),
        ..Context::new(Root::open(&folder).expect("a project"), Cancel::new())
    };
    let catalog = Catalog::builtin();
    let mut outcomes = Vec::new();
    for (tool, arguments) in calls {
        let raw = RawCall { name: (*tool).to_owned(), arguments: arguments.as_object().expect("an object").clone() };
        let call = checked(&raw, catalog.specs()).expect("a call").call;
        let spec = catalog.get(tool).expect("a tool");
        let approved = Policy::of(ApproveMode::Never).approved(call, spec).expect("allowed");
        outcomes.push(execute(approved, &context).await);
    }
    turn.finish().expect("a summary");
    outcomes
}

fn command(line: &str) -> (&'static str, Value) {
    ("run_command", json!({ "command": line }))
}

fn rewind(project: &Project, arguments: &[&str]) -> crate::cli::Ended {
    Run::new(project, &[&["rewind"], arguments].concat()).end()
}

/// A project with all kinds of entries: links, modes, binary files, empty folders.
fn varied() -> Project {
    let project = Project::todo();
    let path = |name: &str| project.path().join(name);
    fs::write(path("run.sh"), "#!/bin/sh\necho hi\n").expect("a file");
    fs::set_permissions(path("run.sh"), Permissions::from_mode(0o750)).expect("a mode");
    fs::write(path("blob.bin"), (0..70_000u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>()).expect("a file");
    fs::write(path("no line end"), [0xff, 0xfe, 0]).expect("a file");
    fs::create_dir_all(path("empty/deeper")).expect("folders");
    symlink("src/todo.ts", path("link")).expect("a link");
    symlink("nowhere", path("dangling")).expect("a link");
    fs::write(path(".env"), "SECRET=1\n").expect("a file");
    project
}

/// Checks that the changes of a turn can be undone and redone, byte for byte.
async fn check(calls: &[(&str, Value)]) {
    let project = varied();
    let before = state(&project.path());
    turn(&project, calls).await;
    let after = state(&project.path());
    assert_ne!(before, after, "{calls:?} changes something");
    rewind(&project, &["c1"]).succeeded();
    same(&state(&project.path()), &before, &format!("{calls:?} is undone"));
    rewind(&project, &[]).succeeded();
    same(&state(&project.path()), &after, &format!("undoing {calls:?} is undone"));
    rewind(&project, &["c1"]).succeeded();
    same(&state(&project.path()), &before, &format!("{calls:?} is undone again"));
}

#[tokio::test]
async fn changes_by_file_tools_are_undone() {
    check(&[("write_file", json!({ "path": "new/deep/a.txt", "content": "new\n" }))]).await;
    check(&[("write_file", json!({ "path": "src/todo.ts", "content": "other\n" }))]).await;
    check(&[
        ("write_file", json!({ "path": "run.sh", "content": "1\n" })),
        ("write_file", json!({ "path": "run.sh", "content": "2\n" })),
        ("replace_in_file", json!({ "path": "src/retry.ts", "old": "MAX_ATTEMPTS = 5", "new": "MAX_ATTEMPTS = 3" })),
    ])
    .await;
}

#[tokio::test]
async fn a_deleted_and_a_moved_file_come_back() {
    let path = json!({ "path": "run.sh" });
    check(&[("delete_file", path.clone())]).await;
    check(&[("move_file", json!({ "source": "blob.bin", "destination": "new/place.bin" }))]).await;
    let moved = json!({ "source": "no line end", "destination": "run.sh" });
    check(&[("delete_file", path.clone()), ("move_file", moved), ("delete_file", path)]).await;
}

#[test]
fn a_file_is_deleted_and_renamed_on_request_and_comes_back() {
    let project = Project::todo();
    let before = state(&project.path());
    let asked = Asked::of(&project, "Delete the file src/retry.ts", &[]);
    assert_eq!(asked.calls(), ["delete_file not_asked"]);
    let reason = &asked.data("approval-requested")[0]["proposal"]["reason"];
    assert!(text(reason).contains("its name contains `delete`"), "{reason}");
    same(&state(&project.path()), &before, "nobody consented");
    let deleted = Asked::of(&project, "Delete the file src/retry.ts", &["--yes"]);
    assert_eq!(deleted.calls(), ["delete_file succeeded"]);
    assert!(!project.path().join("src/retry.ts").exists());
    Run::new(&project, &["undo"]).end().succeeded();
    same(&state(&project.path()), &before, "after the first undo");
    let moved = Asked::of(&project, "Rename src/retry.ts to src/again.ts", &["--yes"]);
    // The file that imports the moved one is changed too.
    assert_eq!(moved.calls(), ["move_file succeeded", "write_file succeeded"]);
    assert!(!project.path().join("src/retry.ts").exists() && project.path().join("src/again.ts").exists());
    Run::new(&project, &["undo"]).end().succeeded();
    same(&state(&project.path()), &before, "after the second undo");
}

#[tokio::test]
async fn changes_by_commands_inside_the_project_are_undone() {
    for line in [
        "echo x >> src/todo.ts; echo new > created.txt",
        "rm -r src empty link",
        "mv src moved; mv run.sh 'a b.sh'",
        "chmod 600 run.sh; chmod 500 src; chmod 700 empty",
        "rm link; mkdir link; echo x > link/file",
        "rm -r empty; ln -s src empty; rm blob.bin; mkfifo blob.bin; rm blob.bin",
        "rm src/todo.ts; mkdir -p src/todo.ts/a; rm -r config.toml; ln -s README.md config.toml",
        "mv src/todo.ts x; mv src/store.ts src/todo.ts; mv x src/store.ts",
        "truncate -s 0 blob.bin; touch -d 2001-01-01 README.md; printf '\\377' > \"$(printf 'n\\303m')\"",
        "rm -f .env; mkdir -p a/b/c/d; echo deep > a/b/c/d/e; chmod 555 a/b",
    ] {
        check(&[command(line)]).await;
    }
}

#[tokio::test]
async fn files_and_commands_of_one_turn_go_back_together() {
    check(&[
        ("write_file", json!({ "path": "src/todo.ts", "content": "1\n" })),
        command("mv src/todo.ts src/other.ts; rm -r empty"),
        ("write_file", json!({ "path": "src/todo.ts", "content": "2\n" })),
        command("false; echo 3 >> src/other.ts; exit 1"),
    ])
    .await;
}

#[tokio::test]
async fn a_rewind_reaches_each_of_several_turns() {
    let project = varied();
    let mut states = vec![state(&project.path())];
    for number in 1..=5 {
        let write = ("write_file", json!({ "path": format!("f{}", number % 2), "content": format!("{number}\n") }));
        let line = format!("echo {number} >> log; rm -f f{}; mkdir d{number}", (number + 1) % 2);
        turn(&project, &[write, command(&line)]).await;
        states.push(state(&project.path()));
    }
    for checkpoint in [3, 1, 5, 2, 4] {
        rewind(&project, &[&format!("c{checkpoint}")]).succeeded();
        same(&state(&project.path()), &states[checkpoint - 1], &format!("c{checkpoint}"));
    }
}

#[tokio::test]
async fn ignored_files_are_left_alone_unless_a_file_tool_wrote_them() {
    let project = varied();
    fs::write(project.path().join(".gitignore"), "built/\n").expect("a file");
    fs::create_dir(project.path().join("built")).expect("a folder");
    fs::write(project.path().join("built/old"), "old\n").expect("a file");
    let before = state(&project.path());
    // Files that a deleted `.gitignore` had hidden do not count as new.
    let write = ("write_file", json!({ "path": "built/old", "content": "new\n" }));
    turn(&project, &[write]).await;
    rewind(&project, &["c1"]).succeeded();
    same(&state(&project.path()), &before, "as before");
    std::thread::sleep(std::time::Duration::from_millis(50));
    turn(&project, &[command("rm .gitignore")]).await;
    rewind(&project, &["c3"]).succeeded();
    same(&state(&project.path()), &before, "as before");
}

#[tokio::test]
async fn what_the_user_changed_stays_and_is_named_only_where_a_request_changed_the_same_file() {
    let project = varied();
    let path = |name: &str| project.path().join(name);
    turn(&project, &[command("echo 1 > ours; echo 1 > README.md")]).await;
    fs::write(path("README.md"), "by hand\n").expect("a file");
    fs::write(path("theirs"), "by hand\n").expect("a file");
    fs::write(path("run.sh"), "by hand\n").expect("a file");
    fs::remove_file(path("link")).expect("deleted");
    let undone = rewind(&project, &["c1"]);
    assert_eq!(undone.code, Some(1), "one file is left: {undone:?}");
    assert!(undone.out.contains("left: README.md: changed outside monobloc"), "{}", undone.out);
    for name in ["theirs", "run.sh", "link"] {
        assert!(!format!("{}{}", undone.out, undone.err).contains(name), "{name} is not part of it: {undone:?}");
    }
    assert!(!path("ours").exists() && path("theirs").exists() && !path("link").exists());
    assert_eq!([project.text("README.md"), project.text("run.sh")], ["by hand\n", "by hand\n"]);
    rewind(&project, &["c1", "--keep"]).succeeded();
    assert_eq!(project.text("README.md"), "by hand\n");
    let forced = rewind(&project, &["c1", "--force", "--json"]).succeeded().lines();
    assert_eq!(forced[0]["restored"], json!(["README.md"]));
    assert!(path("theirs").exists(), "no request made it");
    rewind(&project, &[text(&forced[0]["safety"])]).succeeded();
    assert_eq!(project.text("README.md"), "by hand\n", "what was forced can be brought back");
}

#[tokio::test]
async fn a_change_by_the_user_between_two_turns_is_kept_by_both_undos() {
    let project = varied();
    turn(&project, &[command("echo 1 > one; echo 1 > both")]).await;
    fs::write(project.path().join("src/todo.ts"), "by hand\n").expect("a file");
    fs::write(project.path().join("both"), "by hand\n").expect("a file");
    turn(&project, &[command("echo 2 > two; echo 2 > both")]).await;
    rewind(&project, &["c2"]).succeeded();
    assert_eq!([project.text("src/todo.ts"), project.text("both")], ["by hand\n", "by hand\n"]);
    let first = rewind(&project, &["c1"]);
    assert!(first.code == Some(1) && first.out.contains("left: both: changed outside"), "{first:?}");
    assert!(!project.path().join("one").exists());
    assert_eq!([project.text("src/todo.ts"), project.text("both")], ["by hand\n", "by hand\n"]);
}

#[tokio::test]
async fn a_new_file_that_is_too_large_to_be_kept_stays_unless_it_is_forced() {
    let project = varied();
    turn(&project, &[command("truncate -s 33M data; echo 1 > README.md")]).await;
    let before = project.text("README.md");
    let undone = rewind(&project, &["c1"]);
    assert!(undone.code == Some(1) && undone.out.contains("left: data: its content could not be kept"), "{undone:?}");
    assert!(project.path().join("data").exists());
    assert_ne!(project.text("README.md"), before);
    rewind(&project, &["c1", "--force"]).succeeded();
    assert!(!project.path().join("data").exists());
}

#[tokio::test]
async fn a_link_that_leads_out_is_not_followed() {
    let project = varied();
    let outside = project.folder("outside");
    fs::write(outside.join("todo.ts"), "outside\n").expect("a file");
    let before = state(&project.path());
    turn(&project, &[command("rm -r src; ln -s ../outside src")]).await;
    rewind(&project, &["c1"]).succeeded();
    same(&state(&project.path()), &before, "as before");
    assert_eq!(fs::read_to_string(outside.join("todo.ts")).expect("a file"), "outside\n");
}

#[tokio::test]
async fn lessons_and_index_go_back_with_the_files() {
    let project = varied();
    let folder = project.path().canonicalize().expect("a folder");
    let lessons = Lessons::open(&folder.join(".monobloc/monobloc.db")).expect("lessons");
    let lesson = |problem: &str| Lesson { problem: problem.to_owned(), vector: Some(vec![0.1]), ..Lesson::default() };
    lessons.add(&lesson("before")).expect("a lesson");
    let rows = lessons.rows().expect("rows");
    let index = || {
        let index = Index::open(&folder).expect("an index");
        index.refresh_lexical(&mut |_| (), &Cancel::new()).expect("a refresh");
        let files = index.paths().expect("paths");
        let symbols: Vec<String> = files
            .iter()
            .flat_map(|path| index.file_symbols(path).expect("symbols"))
            .map(|symbol| format!("{symbol:?}").split_once("name").map(|(_, rest)| rest.to_owned()).unwrap_or_default())
            .collect();
        (files, symbols)
    };
    let before = index();
    let line = "rm src/store.ts; echo 'export function added() {}' > src/added.ts";
    turn(&project, &[command(line)]).await;
    lessons.add(&lesson("learned in the turn")).expect("a lesson");
    assert_ne!(index(), before);
    rewind(&project, &["c1"]).succeeded();
    assert_eq!(lessons.rows().expect("rows"), rows);
    assert_eq!(index(), before);
}

#[tokio::test]
async fn a_checkpoint_takes_the_space_of_what_changed() {
    let project = varied();
    let size = || fs::metadata(project.path().join(".monobloc/checkpoints.db")).expect("a file").len();
    let mut random = fastrand::Rng::with_seed(7);
    let noise: Vec<u8> = (0..2_000_000).map(|_| random.u8(..)).collect();
    fs::write(project.path().join("large"), noise).expect("a file");
    turn(&project, &[command("echo 1 > one")]).await;
    rewind(&project, &["c1", "--dry-run"]).succeeded();
    let first = size();
    for number in 0..10 {
        turn(&project, &[command(&format!("echo {number} > one"))]).await;
    }
    assert!(first > 2_000_000, "what a command may overwrite is kept: {first}");
    assert!(size() < first + 1_000_000, "ten more are small: {} after {first}", size());
}

#[test]
fn a_turn_is_undone_with_its_place_in_the_conversation() {
    let project = Project::todo();
    let before = state(&project.path());
    let asked = Asked::of(&project, CHANGE, &["--yes"]);
    let made = asked.data("checkpoint-made")[0];
    assert_eq!((text(&made["checkpoint"]), &made["changed"]), ("c1", &json!(1)));
    assert_eq!(text(&asked.data("step-completed")[0]["checkpoint"]), "c1");
    let history = || Run::new(&project, &["history", "--json"]).end().succeeded().lines();
    let shown = &history()[0];
    assert_eq!((text(&shown["request"]), &shown["undone"]), (CHANGE, &json!(false)));
    assert_eq!(text(&shown["calls"][0]["decision"]), "approved");
    Run::new(&project, &["audit", "replay"]).end().succeeded();
    let undone = Run::new(&project, &["undo", "--json"]).end().succeeded().lines();
    assert_eq!(undone[0]["restored"], json!(["src/retry.ts"]));
    same(&state(&project.path()), &before, "as before");
    assert_eq!(history()[0]["undone"], json!(true));
    let again = Run::new(&project, &["undo"]).end();
    assert!(again.err.contains("nothing to undo"), "{}", again.err);
    Run::new(&project, &["rewind", text(&undone[0]["safety"])]).end().succeeded();
    assert!(project.text("src/retry.ts").contains("MAX_ATTEMPTS = 3;"));
    assert_eq!(history()[0]["undone"], json!(false));
    Run::new(&project, &["audit", "verify"]).end().succeeded();
}

#[test]
fn a_changed_or_truncated_journal_is_detected() {
    let project = Project::todo();
    Asked::of(&project, CHANGE, &["--yes"]);
    let path = project.path().join(".monobloc/journal.ndjson");
    let whole = fs::read(&path).expect("a journal");
    let verify = || Run::new(&project, &["audit", "verify"]).end();
    assert_eq!(verify().code, Some(0));
    for place in (0..whole.len()).step_by(whole.len() / 12) {
        let mut flipped = whole.clone();
        flipped[place] ^= 4;
        fs::write(&path, &flipped).expect("a journal");
        let record = 1 + whole[..place].iter().filter(|byte| **byte == b'\n').count();
        let ended = verify();
        assert!(ended.code == Some(1) && ended.err.contains(&format!("record {record} ")), "{place}: {ended:?}");
    }
    fs::write(&path, "").expect("a journal");
    assert!(verify().err.contains("cut off"));
    fs::write(&path, &whole).expect("a journal");
    let copy = project.beside("copy.ndjson");
    Run::new(&project, &["audit", "export", copy.to_str().expect("a plain path")]).end().succeeded();
    assert_eq!(fs::read(copy).expect("a copy"), whole);
    assert_eq!(telemetry(&Journal::open(&path).expect("a journal"), 9).expect("turns").len(), 1);
}

#[tokio::test]
async fn a_second_process_waits_for_the_one_that_changes_the_project() {
    let project = varied();
    let folder = project.path().canonicalize().expect("a folder");
    let about = About { command: "monobloc ask".to_owned(), ..About::default() };
    let first = Turn::new(&folder, about, Cancel::new());
    let reach = monobloc::checkpoint::Reach::Everything;
    first.begin("run_command", &reach, &|| Ok(Vec::new())).expect("a checkpoint");
    let mut running = Run::new(&project, &["undo"]).start();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(running.is_running(), "it waits");
    first.finish().expect("a summary");
    assert!(running.end().err.contains("nothing to undo"));
}
