//! Tests of the scan: which files are listed, which are skipped and why.

use std::fs;
use std::time::Duration;

use super::*;

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// `path: reason` of the skipped files, sorted by path, each reason up to its colon.
fn skipped(scan: &Scan) -> Vec<String> {
    let sort = |s: &Skipped| format!("{}: {}", s.path, s.reason.split(':').next().unwrap_or_default());
    let mut lines: Vec<String> = scan.skipped.iter().map(sort).collect();
    lines.sort();
    lines
}

fn paths(scan: &Scan) -> Vec<&str> {
    scan.files.iter().map(|f| f.path.as_str()).collect()
}

#[test]
fn ignored_files_index_files_and_generated_files_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), ".gitignore", "built/\n");
    write(folder.path(), "src/a.ts", "a");
    write(folder.path(), "built/a.js", "a");
    write(folder.path(), ".monobloc/monobloc.db", "a");
    write(folder.path(), ".git/config", "a");
    write(folder.path(), "Cargo.lock", "a");
    write(folder.path(), "app.min.js", "a");
    write(folder.path(), "app.js.map", "a");
    write(folder.path(), "big.csv", &"1,2\n".repeat(600_000));
    let scan = scan(folder.path());
    assert_eq!(paths(&scan), [".gitignore", "src/a.ts"]);
    assert_eq!(
        skipped(&scan),
        [
            "Cargo.lock: a lock file",
            "app.js.map: a source map",
            "app.min.js: minified, by its name",
            "big.csv: too large"
        ]
    );
    assert!(scan.skipped.iter().any(|s| s.reason.contains("2.3 MiB")), "{:?}", scan.skipped);
}

#[cfg(unix)]
#[test]
fn links_pipes_sockets_and_names_that_are_not_utf8_are_skipped_without_waiting() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.ts", "a");
    std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).unwrap();
    std::os::unix::fs::symlink("/nowhere", folder.path().join("broken")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::write(folder.path().join(std::ffi::OsStr::from_bytes(b"\xff.ts")), "a").unwrap();
    let scan = scan(folder.path());
    assert_eq!(paths(&scan), ["a.ts"]);
    assert_eq!(
        skipped(&scan),
        [
            "broken: a link",
            "loop: a link",
            "pipe: not a regular file",
            "socket: not a regular file",
            "\u{fffd}.ts: its name is not UTF-8"
        ]
    );
    // No process writes into the pipe, so a plain read would block forever.
    assert!(read(folder.path(), "pipe").is_err_and(|why| may_pass(&why) && why.contains("no longer a regular file")));
    assert!(read(folder.path(), "loop").is_err_and(|why| may_pass(&why)));
    assert!(read(folder.path(), "gone.ts").is_err_and(|why| may_pass(&why)));
}

#[cfg(unix)]
#[test]
fn unreadable_files_are_reported_with_their_path() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "closed/a.ts", "a");
    write(folder.path(), "b.ts", "b");
    let closed = |path: &str| fs::set_permissions(folder.path().join(path), fs::Permissions::from_mode(0o0)).unwrap();
    closed("closed");
    closed("b.ts");
    // Root can read everything.
    let kept_out = fs::read_dir(folder.path().join("closed")).is_err();
    let scan = scan(folder.path());
    let reported = scan.skipped.iter().any(|s| s.reason.contains("closed") && may_pass(&s.reason));
    assert_eq!(reported, kept_out, "{:?}", scan.skipped);
    assert_eq!(read(folder.path(), "b.ts").is_err(), kept_out);
    fs::set_permissions(folder.path().join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn folders_beyond_the_depth_limit_are_reported_as_skipped() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &format!("{}a.ts", "d/".repeat(DEPTH_MAX - 1)), "a");
    write(folder.path(), &format!("{}a.ts", "d/".repeat(DEPTH_MAX + 3)), "a");
    let scan = scan(folder.path());
    assert_eq!(scan.files.len(), 1);
    assert!(scan.skipped.iter().any(|s| s.reason.starts_with("too deep")), "{:?}", scan.skipped);
}

#[test]
fn files_beyond_the_size_limit_are_left_out_from_the_end() {
    let found = |path: &str, size| Found { path: path.into(), stamp: Stamp { size, ..Stamp::default() } };
    let mut scan = Scan { files: vec![found("a", 6), found("b", 4), found("c", 1), found("d", 0)], ..Scan::default() };
    leave_out_beyond(10, &mut scan);
    assert_eq!(paths(&scan), ["a", "b"]);
    assert_eq!(skipped(&scan), ["c: too much text", "d: too much text"]);
}

#[test]
fn reasons_are_counted_by_category() {
    let one = |reason: &str| Skipped { path: String::new(), reason: reason.into() };
    let all = [one("too large: 3 MB"), one("binary"), one("too large: 4 MB")];
    assert_eq!(by_reason(&all), [("too large", 2), ("binary", 1)]);
    assert_eq!(by_reason(&[]), []);
}

#[test]
fn a_file_that_changes_while_it_is_read_is_read_again_the_next_time() {
    use crate::base::Cancel;
    use crate::index::{Index, Stage};
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.ts", "export function early() {}\n");
    write(folder.path(), "b.ts", "export function other() {}\n");
    write(folder.path(), "c.ts", "export function gone() {}\n");
    let index = Index::open(folder.path()).unwrap();
    let writers = std::cell::RefCell::new(Vec::new());
    let refresh = |change: bool| {
        let mut edit = |p: crate::index::Progress| {
            if change && p.stage == Stage::Scan {
                // The first report comes before the scan: a thread makes the change while the files
                // are being read.
                let folder = folder.path().to_owned();
                let writer = std::thread::spawn(move || {
                    for round in 0..50 {
                        write(&folder, "a.ts", &format!("export function late{round}() {{}}\n"));
                        drop(fs::remove_file(folder.join("c.ts")));
                        std::thread::sleep(Duration::from_millis(1));
                    }
                });
                writers.borrow_mut().push(writer);
            }
        };
        index.refresh_lexical(&mut edit, &Cancel::new()).unwrap()
    };
    refresh(true);
    writers.take().into_iter().for_each(|writer: std::thread::JoinHandle<()>| writer.join().unwrap());
    let wanted = fs::read_to_string(folder.path().join("a.ts")).unwrap();
    let report = refresh(false);
    assert_eq!(report.files, 2);
    let stored: String = index.chunks_of_file("a.ts").unwrap().into_iter().map(|c| c.content).collect();
    assert_eq!(stored, wanted);
}
