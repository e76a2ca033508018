//! Tests of the ignore rules: which rule files apply, and how far.

use super::*;
use crate::walk::walk;

struct Tree(tempfile::TempDir);

impl Tree {
    /// Writes files as (path, text). A path that ends with `/` creates a repository; `./` makes the
    /// whole tree one.
    fn with(files: &[(&str, &str)]) -> Tree {
        let tree = Tree(tempfile::tempdir().unwrap());
        for (path, text) in files {
            match path.strip_suffix('/') {
                Some(folder) => tree.write(&format!("{folder}/.git/HEAD"), "ref: refs/heads/main\n"),
                None => tree.write(path, text),
            }
        }
        tree
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The files below `start` in `project`, except ignore files.
    fn files(&self, project: &str, start: &str) -> Vec<String> {
        let (project, start) = (self.0.path().join(project), self.0.path().join(start));
        let found = walk(&project, &start).build().flatten().filter(|entry| entry.file_type().unwrap().is_file());
        let path = |entry: ignore::DirEntry| entry.path().strip_prefix(&project).unwrap().display().to_string();
        found.map(path).filter(|path| !path.ends_with("ignore") && !path.ends_with(".git")).collect()
    }
}

fn check(files: &[(&str, &str)], project: &str, expected: &[&str]) {
    assert_eq!(Tree::with(files).files(project, project), expected, "{project}");
}

#[test]
fn rules_begin_at_the_top_of_the_repository() {
    let above = (".gitignore", "*.rs\n/work\n");
    // Outside the repository, with or without a repository there.
    check(&[above, ("work/r/", ""), ("work/r/a.rs", "")], "work/r", &["a.rs"]);
    check(&[("./", ""), above, ("work/r/", ""), ("work/r/a.rs", "")], "work/r", &["a.rs"]);
    check(&[above, ("other/a.rs", "")], "other", &["a.rs"]);
    check(&[(".ignore", "*.rs\n"), ("r/", ""), ("r/a.rs", "")], "r", &["a.rs"]);
    // Inside it, above the project.
    let inside =
        [("./", ""), (".gitignore", "*.tmp\n/sub/made\n"), ("sub/a.rs", ""), ("sub/b.tmp", ""), ("sub/made/c.rs", "")];
    check(&inside, "sub", &["a.rs"]);
    check(&[("./", ""), (".ignore", "made\n"), ("sub/a.rs", ""), ("sub/made/c.rs", "")], "sub", &["a.rs"]);
    // A folder that only looks like a repository.
    check(
        &[("./", ""), (".gitignore", "*.tmp\n"), ("sub/.git/x", ""), ("sub/b.tmp", ""), ("sub/c", "")],
        "sub",
        &["c"],
    );
}

#[test]
fn a_repository_inside_a_project_has_its_own_rules() {
    let files = [
        ("./", ""),
        (".gitignore", "*.log\nold/\n"),
        (".ignore", "huge\n"),
        ("a.log", ""),
        ("inner/", ""),
        ("inner/b.log", ""),
        ("inner/huge/x", ""),
        ("inner/.gitignore", "*.o\n"),
        ("inner/c.o", ""),
        ("old/", ""),
        ("old/d.rs", ""),
    ];
    check(&files, "", &["inner/b.log"]);
}

#[test]
fn a_git_file_marks_a_worktree_or_a_submodule() {
    let files = [
        ("./", ""),
        (".gitignore", "*\n"),
        ("main/.git/HEAD", ""),
        ("main/.git/info/exclude", "*.own\n"),
        ("main/.git/worktrees/w/commondir", "../..\n"),
        ("w/.git", "gitdir: ../main/.git/worktrees/w\n"),
        ("w/a.rs", ""),
        ("w/b.own", ""),
        ("main/.git/modules/m/info/exclude", "*.tmp\n"),
        ("main/m/.git", "gitdir: ../.git/modules/m\n"),
        ("main/m/a.own", ""),
        ("main/m/b.tmp", ""),
    ];
    check(&files, "w", &["a.rs"]);
    check(&files, "main", &["m/a.own"]);
    check(&files, "main/m", &["a.own"]);
}

#[test]
fn the_nearest_rule_counts_and_ignore_files_come_first() {
    let files = [
        ("./", ""),
        (".gitignore", "*.txt\n!keep.txt\nsecret.env\n"),
        (".ignore", "!secret.env\n"),
        (".git/info/exclude", "mine\nkeep.txt\n"),
        ("a.txt", ""),
        ("keep.txt", ""),
        ("mine", ""),
        ("secret.env", ""),
        ("sub/.gitignore", "!b.txt\nkeep.txt\n"),
        ("sub/b.txt", ""),
        ("sub/keep.txt", ""),
    ];
    check(&files, "", &["keep.txt", "secret.env", "sub/b.txt"]);
}

#[test]
fn what_is_named_in_full_is_not_ignored() {
    let files =
        [("./", ""), (".gitignore", "made/\n*.log\n"), ("made/a.rs", ""), ("made/b.log", ""), ("src/c.log", "")];
    let tree = Tree::with(&files);
    assert_eq!(tree.files("made", "made"), ["a.rs", "b.log"]);
    assert_eq!(tree.files("", "made"), ["made/a.rs", "made/b.log"]);
    assert_eq!(tree.files("", "src"), Vec::<String>::new());
    assert_eq!(tree.files("", "src/c.log"), ["src/c.log"]);
    let rules = Ignored::below(tree.0.path(), tree.0.path());
    let covers = |path: &str| rules.covers(&tree.0.path().join(path), false);
    assert!(covers("made/deep/a.rs") && covers("x.log") && covers(".git/HEAD") && !covers("src/a.rs"));
}

#[test]
fn marks_line_ends_and_bytes_of_an_ignore_file_do_no_harm() {
    let tree = Tree::with(&[("a.o", ""), ("b.tmp", ""), ("c.rs", "")]);
    fs::write(tree.0.path().join(".gitignore"), b"\xef\xbb\xbf*.o\r\n\xff\xfe\r\n[\r\n*.tmp\r\n").unwrap();
    assert_eq!(tree.files("", ""), ["c.rs"]);
    let link = tree.0.path().join("link");
    std::os::unix::fs::symlink(tree.0.path(), &link).unwrap();
    let found = walk(&link, &link).build().flatten().filter(|entry| entry.path().ends_with("b.tmp")).count();
    assert_eq!(found, 0, "the project may be named by a link");
}
