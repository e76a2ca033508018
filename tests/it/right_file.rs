//! Changes to a value: they are made in the named file, whatever its name, or not at all, with the
//! reason.

use std::fs;
use std::os::unix::fs::symlink;

use monobloc::agent::run_turn;
use monobloc::engine::scripted::Script;
use monobloc::protocol::{Decision, Proposal};

use crate::cli::Project;
use crate::scripted::{Witness, indexed, silent, toolkit};

/// Runs `request` in a project with this file, once with and once without a model that writes;
/// returns the file's text and all output of each run.
async fn runs(name: &str, text: &[u8], request: &str) -> [(Vec<u8>, String); 2] {
    let mut seen = Vec::new();
    for writes in [false, true] {
        let project = Project::todo();
        let path = project.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(&path, text).expect("a file");
        let planner = Script::saying("````\nwrong\n````");
        let plain = if writes { toolkit(&project, planner.writing(), Script::saying("")) } else { silent(&project) };
        let before = project.files().len();
        let host = Witness::new(|_: &Proposal| Decision::Approve);
        let request = request.replace("ROOT", &project.path().display().to_string());
        let finished = run_turn(&indexed(&project, plain), &request, &host).await.expect("a turn");
        let files = project.files();
        assert_eq!(files.len(), before, "{request}: {:?}", files.keys());
        let said = format!("{}\n{}", host.notices().join("\n"), finished.answer);
        seen.push((fs::read(&path).expect("the file"), said));
    }
    seen.try_into().expect("two runs")
}

/// Asserts that the file becomes `after`, with either model.
async fn changes(name: &str, before: &str, request: &str, after: &str) {
    for (file, said) in runs(name, before.as_bytes(), request).await {
        assert_eq!(String::from_utf8_lossy(&file), after, "{request}: {said}");
    }
}

/// Asserts that the file stays unchanged and that the output gives the reason, with either model.
async fn refuses(name: &str, before: &[u8], request: &str, reason: &str) {
    for (file, said) in runs(name, before, request).await {
        assert_eq!(file, before, "{request}");
        assert!(said.contains("not changed") && said.contains(reason), "{request}: {said}");
    }
}

#[tokio::test]
async fn a_file_is_changed_whatever_its_name() {
    let (before, after) = ("depth = 7\n", "depth = 8\n");
    for (name, said) in [
        ("side note.cfg", "side note.cfg"),
        ("side note.cfg", "the file 'side note.cfg'"),
        ("anna's.cfg", "anna’s.cfg"),
        ("--x.cfg", "--x.cfg"),
        ("über/größe.cfg", "über/größe.cfg"),
        ("(old) [1].cfg", "`(old) [1].cfg`"),
        ("Deep.CFG", "deep.cfg"),
        ("sub/deep.cfg", "sub\\deep.cfg"),
        ("sub/deep.cfg", "ROOT/sub/deep.cfg"),
        ("this and that.cfg", "this and that.cfg"),
    ] {
        changes(name, before, &format!("In {said} change the depth from 7 to 8"), after).await;
        changes(name, before, &format!("Set the depth to 8 in {said}."), after).await;
    }
}

#[tokio::test]
async fn a_value_is_read_as_it_is_written() {
    for (before, change, after) in [
        ("mood = 🌧\n", "change 🌧 to 🌞", "mood = 🌞\n"),
        ("a <= b\n", "replace <= with <", "a < b\n"),
        ("low = -7\n", "change low from -7 to -8", "low = -8\n"),
        ("low = 0x0A\n", "change low from 0x0A to 0xFF", "low = 0xFF\n"),
        ("rate = 2e-4\n", "change the rate from 2e-4 to 0.5", "rate = 0.5\n"),
        ("wish = merry xmas\n", "change the wish from merry xmas to happy easter", "wish = happy easter\n"),
        ("wish = merry xmas\n", "set the wish to good luck", "wish = good luck\n"),
        ("alpha\nbeta\n", "change beta to BETA", "alpha\nBETA\n"),
        ("n = 1.2.3\n", "change n from 1.2.3 to 1.3.0", "n = 1.3.0\n"),
        ("wait = 7s\n", "change wait from 7 to 8 seconds", "wait = 8s\n"),
        ("[in]\nn = 7\n[out]\nn = 7\n", "change n of out from 7 to 8", "[in]\nn = 7\n[out]\nn = 8\n"),
    ] {
        changes("v.cfg", before, &format!("In v.cfg {change}"), after).await;
    }
    changes("v.cfg", "alpha\nbeta\n", "change beta to BETA in v.cfg", "alpha\nBETA\n").await;
}

#[tokio::test]
async fn a_part_of_a_number_or_name_is_not_the_value() {
    for there in ["n = -7", "n = 7e3", "n = 0x7", "n = 7GB", "n = 7%", "n = 1.7", "n = 7.5", "n = 7-rc1", "n = $7"] {
        refuses("v.cfg", format!("{there}\n").as_bytes(), "In v.cfg change n from 7 to 8", there).await;
    }
    refuses("v.cfg", b"ink = sea-blue\n", "In v.cfg change the ink from blue to red", "sea-blue").await;
    refuses("v.cfg", b"v = 2.4.6\n", "In v.cfg change v from 2.4 to 2.5", "2.4.6").await;
    refuses("v.cfg", b"v = a !== b\n", "In v.cfg replace != with ==", "a !== b").await;
}

#[tokio::test]
async fn what_stops_a_change_is_said() {
    let change = "In v.cfg change n from 7 to 8";
    refuses("v.cfg", b"# \xff\nn = 7\n", change, "not UTF-8 text (byte 3 on line 1)").await;
    refuses("v.cfg", b"\xff\xfen\0 \0=\0 \x007\0", change, "UTF-16").await;
    refuses("v.cfg", b"\0\nn = 7\n", change, "binary").await;
    refuses("v.cfg", b"[a]\nn = 7\n[b]\nn = 7\n", change, "is on lines 2 and 4").await;
    refuses("v.cfg", b"n = 9\n", change, "line 1 is `n = 9`").await;
    refuses("v.cfg", b"n = 7\n", "In w.cfg change n from 7 to 8", "`v.cfg` may be meant").await;
    refuses("sub/v.cfg", b"n = 7\n", "In sub/ change n from 7 to 8", "is a folder").await;
    refuses("v.cfg", b"n = 7\n", "In ../v.cfg change n from 7 to 8", "outside the project").await;
    refuses("v.cfg", b"n = 7\n", "Delete every file that is not needed", "exactly what to remove").await;
}

#[tokio::test]
async fn links_and_ignored_files_are_the_users_files() {
    let project = Project::todo();
    let file = |name: &str| project.path().join(name);
    fs::create_dir_all(file("far/deep")).expect("folders");
    fs::write(file("far/v.cfg"), "n = 7\n").expect("a file");
    symlink("../v.cfg", file("far/deep/v.cfg")).expect("a link");
    symlink("far/deep", file("near")).expect("a link");
    fs::write(file(".gitignore"), "*.local\n").expect("a file");
    fs::write(file("n.local"), "n = 7\n").expect("a file");
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    for request in ["In near/v.cfg change n from 7 to 8", "In n.local change n from 7 to 8"] {
        run_turn(&indexed(&project, silent(&project)), request, &host).await.expect("a turn");
    }
    assert_eq!((project.text("far/v.cfg").as_str(), project.text("n.local").as_str()), ("n = 8\n", "n = 8\n"));
    assert!(file("far/deep/v.cfg").is_symlink());
}

#[tokio::test]
async fn a_new_file_changes_no_other_and_replaces_none() {
    let project = Project::todo();
    let settings = "{\n  \"files\": [\"a\"]\n}\n";
    fs::write(project.path().join("settings.json"), settings).expect("a file");
    let planner = || Script::saying("````\nmine\n````").writing();
    for _ in 0..2 {
        let toolkit = indexed(&project, toolkit(&project, planner(), Script::saying("")));
        let host = Witness::new(|_: &Proposal| Decision::Approve);
        let request = "Create the file PLAN.md with the files in settings.json";
        let finished = run_turn(&toolkit, request, &host).await.expect("a turn");
        assert_eq!((project.text("PLAN.md").as_str(), project.text("settings.json").as_str()), ("mine\n", settings));
        fs::write(project.path().join("PLAN.md"), "mine\n").expect("a file");
        assert!(finished.answer.contains("PLAN.md"), "{}", finished.answer);
    }
}

#[tokio::test]
async fn a_named_file_is_deleted_with_consent_whatever_the_model() {
    let (yes, no) = (Decision::Approve, Decision::Reject);
    for (request, writes, decision, is_deleted) in [
        ("Delete the file src/retry.ts", true, &yes, true),
        ("remove src/retry.ts please", true, &yes, true),
        ("remove src/retry.ts please", false, &yes, true),
        ("Delete the file src/retry.ts", true, &no, false),
        ("Delete src/retry.ts if nothing imports it", true, &yes, false),
        ("Delete src/retry.ts if nothing imports it", false, &yes, false),
        ("Remove the src/retry.ts file header", true, &yes, false),
        ("src/list.ts is fine. Delete retry.ts, but first copy it to b.ts", true, &yes, false),
    ] {
        let project = Project::todo();
        let mut expected = project.files();
        let planner = Script::saying("````\nwrong\n````");
        let plain = if writes { toolkit(&project, planner.writing(), Script::saying("")) } else { silent(&project) };
        let decision = decision.clone();
        let host = Witness::new(move |_: &Proposal| decision.clone());
        let finished = run_turn(&indexed(&project, plain), request, &host).await.expect("a turn");
        if is_deleted {
            expected.remove(&project.path().join("src/retry.ts"));
        }
        let files = project.files();
        let kept = expected.keys().all(|path| files.contains_key(path));
        assert!(
            kept && is_deleted != files.contains_key(&project.path().join("src/retry.ts")),
            "{request}: {}",
            finished.answer
        );
    }
}
