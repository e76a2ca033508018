//! Tests which file a request names, in projects with unusual names and with links.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

const FILES: &[&str] = &[
    "my list.cfg",
    "list.cfg",
    "it's here.txt",
    "-v.conf",
    "café.ini",
    "[slug].json",
    "🎈 party.toml",
    "end.",
    "Setup.CFG",
    ".secret",
    "lib/util.rs",
    "tests/util.rs",
    "one/same.yml",
    "two/same.yml",
    "real/inner.cfg",
    "notes",
];

/// A project with these files, all indexed except `.secret`.
fn project() -> (tempfile::TempDir, Root, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    for file in FILES {
        let path = dir.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "a = 1\n").unwrap();
    }
    symlink("real", dir.path().join("link")).unwrap();
    symlink("/etc", dir.path().join("out")).unwrap();
    let root = Root::open(dir.path()).unwrap();
    let known = FILES.iter().filter(|file| **file != ".secret").map(|file| (*file).to_owned()).collect();
    (dir, root, known)
}

/// The location of the change that `text` asks for: the path, or the problem with the name.
fn places_of(text: &str) -> Vec<String> {
    let (_dir, root, known) = project();
    let text = &Text::of(text);
    let names = Names::of(text, Some(&root), &known);
    let place = |named: &&Named| match &named.found {
        Found::File(path) => path.clone(),
        Found::Folder(path) => format!("folder {path}"),
        Found::Several(all) => all.join("|"),
        Found::Missing(near) => format!("no {}: {}", named.said, near.join(",")),
        Found::Barred(_) => format!("barred {}", named.said),
    };
    names.places().iter().map(place).collect()
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(places_of(text), expected, "{text}");
}

#[test]
fn a_file_is_found_whatever_its_name_has() {
    check("In my list.cfg change a from 1 to 2", &["my list.cfg"]);
    check("In “my list.cfg” change a from 1 to 2", &["my list.cfg"]);
    check("change a from 1 to 2 in the file `my list.cfg`.", &["my list.cfg"]);
    check("In list.cfg, change a from 1 to 2", &["list.cfg"]);
    check("In it’s here.txt change a from 1 to 2", &["it's here.txt"]);
    check("In \"it's here.txt\" change a from 1 to 2", &["it's here.txt"]);
    check("Set a to 2 in -v.conf", &["-v.conf"]);
    check("In cafe\u{301}.ini set a to 2", &["café.ini"]);
    check("in [slug].json: set a to 2", &["[slug].json"]);
    check("Set a to 2 in 🎈 party.toml!", &["🎈 party.toml"]);
    check("In end. set a to 2", &["end."]);
    check("set a to 2 in setup.cfg (it is 1 now)", &["Setup.CFG"]);
    check("In .secret set a to 2", &[".secret"]);
    check("In .secret and list.cfg set a to 2", &[".secret", "list.cfg"]);
    check("Set a to 2 in notes", &["notes"]);
    check("notes are fine, set a to 2", &[]);
    check("@list.cfg:12 set a to 2", &["list.cfg"]);
    check("raise list.cfg's a to 2", &["list.cfg"]);
}

#[test]
fn a_path_is_resolved_on_the_disk_and_then_in_the_index() {
    check("In link/inner.cfg set a to 2", &["real/inner.cfg"]);
    check("In ./real/../real/inner.cfg set a to 2", &["real/inner.cfg"]);
    check("In real\\inner.cfg set a to 2", &["real/inner.cfg"]);
    check("In inner.cfg set a to 2", &["real/inner.cfg"]);
    check("In util.rs set a to 2", &["lib/util.rs"]);
    check("In same.yml set a to 2", &["one/same.yml|two/same.yml"]);
    check("In out/passwd set a to 2", &["barred out/passwd"]);
    check("In ../x.cfg set a to 2", &["barred ../x.cfg"]);
    check("In real/ set a to 2", &["folder real"]);
    check("In lost.cfg set a to 2", &["no lost.cfg: list.cfg"]);
    let (dir, root, known) = project();
    let path = dir.path().canonicalize().unwrap().join("my list.cfg");
    let text = format!("In {} set a to 2", path.display());
    assert_eq!(Names::of(&Text::of(&text), Some(&root), &known).all[0].file(), Some("my list.cfg"));
}

#[test]
fn a_value_is_no_place() {
    check("In list.cfg change `notes.txt` to `my list.cfg`", &["list.cfg"]);
    check("replace old.txt with new.txt", &[]);
    check("change the host from example.com to example.org", &[]);
    check("call console.log with util.rs", &["lib/util.rs"]);
    let (_dir, root, known) = project();
    let text = &Text::of("In \"my list.cfg\", change 1 to 2");
    let names = Names::of(text, Some(&root), &known);
    assert_eq!(names.masked_at(&names.places()).raw(), "In ./file, change 1 to 2");
}

#[test]
fn names_inside_of_a_command_are_parts() {
    let (_dir, root, known) = project();
    let text = Text::of("`cat lib/util.rs` fails (list.cfg,-v.conf)");
    let all = Names::of(&text, Some(&root), &known).all;
    let parts: Vec<&str> = all.iter().filter(|one| one.role == Role::Part).filter_map(Named::file).collect();
    assert_eq!(parts, ["lib/util.rs", "list.cfg"]);
}

#[test]
fn a_name_is_not_split_into_clauses() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("salt and pepper, fine.txt"), "").unwrap();
    let root = Root::open(dir.path()).unwrap();
    let text = &Text::of("Read salt and pepper, fine.txt, then set a to 2 in it");
    let names = Names::of(text, Some(&root), &[]);
    let parts = names.parts();
    assert_eq!(
        parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>(),
        ["Read salt and pepper, fine.txt", "Set a to 2 in it"]
    );
    assert_eq!(parts[0].paths, ["salt and pepper, fine.txt"]);
}

#[test]
fn file_names_are_told_apart_from_calls_and_words() {
    for name in ["a.toml", "docs/a.rst", ".npmrc", "web/.dockerignore", ".editorconfig", "Procfile", "Makefile", ".env"]
    {
        assert!(is_file_name(name), "{name}");
    }
    for word in [".map", ".forEach", "profile", "Profile", "README", "a.b.filter", "v1.2"] {
        assert!(!is_file_name(word), "{word}");
    }
}
