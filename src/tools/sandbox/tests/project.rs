//! Tests of a command's rights inside the project, where protected paths are next to paths that it
//! may change.

use std::path::Path;
use std::process::Command;

use super::super::{GitRedirects, reduced, unconfined};
use super::{Bench, again, bench, tree};
use crate::base::Hidden;
use crate::config::Commands;

#[tokio::test]
async fn a_command_finds_nothing_of_the_journal_and_sees_the_settings_of_the_project() {
    let Some(bench) = bench().map(Bench::git) else { return };
    let own = bench.project.dir.path().join(".monobloc");
    for (file, text) in
        [("journal.ndjson", "a long forgotten needle"), ("config.toml", "# a needle"), (".gitignore", "*\n")]
    {
        std::fs::write(own.join(file), text).unwrap();
    }
    bench.works("grep -rn needle . | sort", "./.monobloc/config.toml:1:# a needle").await;
    let text = bench.run("grep -rn forgotten . ; ls -A .monobloc").await.text;
    assert_eq!(text.contains("journal.ndjson"), reduced().is_some(), "{text}");
    bench.refused("echo x >> .monobloc/config.toml").await;
    bench.refused("echo x > .monobloc/new").await;
    bench.works("git status --short; echo end", "end").await;
    assert_eq!(std::fs::read_to_string(own.join("journal.ndjson")).unwrap(), "a long forgotten needle");
}

#[tokio::test]
async fn hooks_and_settings_of_git_and_the_database_cannot_be_changed() {
    let Some(bench) = bench().map(Bench::git) else { return };
    let kept = [".monobloc", ".git/hooks", ".git/config"].map(|name| bench.project.dir.path().join(name));
    let content = || kept.each_ref().map(|path| if path.is_dir() { tree(path) } else { Vec::new() });
    let before = content();
    for line in [
        "echo x > .monobloc/monobloc.db",
        "rm -rf .monobloc",
        "mv .monobloc other",
        "echo evil > .git/hooks/pre-commit",
        "rm -r .git/hooks",
        "mv .git/hooks .git/old",
        "mv .git old && mkdir -p .git/hooks",
        "git config core.fsmonitor ./evil",
        "mkdir -p evil/refs evil/objects && echo '[core] fsmonitor = ./evil.sh' > evil/config && echo ../evil > .git/commondir",
        "ln -s /etc .git/config.worktree",
    ] {
        bench.refused(line).await;
        assert_eq!(content(), before, "{line}");
        let misled = ["commondir", "config.worktree"].map(|name| bench.project.dir.path().join(".git").join(name));
        assert!(!misled.iter().any(|path| path.is_symlink() || path.exists()), "{line}");
    }
    // Without namespaces the permissions are restored.
    let modes = || kept.each_ref().map(|path| path.metadata().unwrap().permissions());
    let before = modes();
    let outcome = bench.run("chmod 777 .monobloc .git/hooks .git/config && chmod 700 .monobloc/*").await;
    assert!(outcome.is_ok() == reduced().is_some() && modes() == before, "{outcome:?}");
    bench.works("git add -A . ':!.monobloc' && git commit -qm first && git log --oneline", "first").await;
    if reduced().is_some() {
        return;
    }
    // The file is moved rather than deleted, because somebody else may have created it.
    let text = bench.run("echo ../evil > .git/commondir").await.text;
    let (path, rest) = text.split_once(" would make git read other settings: moved to ").expect("told");
    let (aside, rest) = rest.split_once("; ").expect("a place");
    assert!(path == ".git/commondir" && rest.starts_with("$ echo"), "{text}");
    assert_eq!(bench.project.text(aside), "../evil\n");
}

#[tokio::test]
async fn what_a_command_makes_in_the_projects_root_can_be_used_like_the_rest() {
    let Some(bench) = bench().map(Bench::git) else { return };
    for (line, expected) in [
        ("echo one > new && echo two >> new && cat new && echo three > new && cat new", "one\ntwo\nthree\n"),
        ("mkdir -p deep/er && echo in > deep/er/file && mv deep wide && cat wide/er/file", "in\n"),
        ("rm -r wide && mkdir wide && echo again > wide/file && mv wide/file moved && cat moved", "again\n"),
        ("umask 077; echo x > private; mkdir closed; stat -c %a private closed", "600\n700\n"),
        ("umask 0; echo x > public; stat -c %a public; umask 022; mkdir plain; stat -c %a plain", "666\n755\n"),
        ("ln moved second && echo more >> second && cat moved && rm moved second && test ! -e moved", "again\nmore\n"),
        ("ln -s a.txt link2 && mv link2 link3 && readlink link3 && rm link3", "a.txt\n"),
        ("echo 'echo ran' > script.sh && chmod +x script.sh && ./script.sh", "ran\n"),
        ("sed -i s/here/there/ a.txt && cat a.txt", "there\n"),
        ("echo x > $TMPDIR/made && mv $TMPDIR/made . && cat made", "x\n"),
        ("set -C; echo first > once; (echo second > once) 2>/dev/null || cat once", "first\n"),
        ("cd plain && echo up > ../above && cd .. && cat ./above", "up\n"),
        ("rmdir plain && test ! -e plain && rm -f none && echo gone", "gone\n"),
        ("mkdir a.txt 2>&1 || echo no", "File exists"),
        ("rmdir a.txt 2>&1 || echo no", "Not a directory"),
        ("git add -A . ':!.monobloc' && git commit -qm one && git checkout -qb branch && git mv a.txt b.txt", ""),
        ("git commit -qam two && git stash list && git checkout -q - && cat a.txt && git merge -q branch", "there\n"),
        ("git worktree list && git gc -q && git log --oneline | wc -l", "2\n"),
    ] {
        bench.works(line, expected).await;
    }
}

#[tokio::test]
async fn no_detour_leads_to_what_is_protected() {
    let Some(bench) = bench().map(Bench::git) else { return };
    let root = bench.project.dir.path().to_owned();
    std::fs::write(root.join(".git/hooks/pre-commit"), "#!/bin/sh\n").unwrap();
    std::fs::create_dir(root.join("deep")).unwrap();
    let kept = [".git/hooks/pre-commit", ".git/config", ".monobloc/monobloc.db"];
    let content = || kept.map(|path| std::fs::read(root.join(path)).unwrap());
    let before = content();
    let swap = "python3 -c 'import ctypes; c = ctypes.CDLL(None, use_errno=True)
assert c.renameat2(-100, b\"A\", -100, b\"B\", 2) == 0'";
    for line in [
        "ln .git/config deep/x && echo evil >> deep/x".to_owned(),
        "ln .git/config x && echo evil >> x".to_owned(),
        "ln -s .git/hooks way && echo evil > way/pre-commit".to_owned(),
        "cd .git && echo evil >> config".to_owned(),
        "cd .git/hooks && echo evil > pre-commit".to_owned(),
        "exec 9<.git && echo evil >> /proc/self/fd/9/config".to_owned(),
        "echo evil >> /proc/self/cwd/.git/config".to_owned(),
        "echo evil >> deep/../.git/config".to_owned(),
        "mv .git git".to_owned(),
        "mkdir other && mv -T other .git".to_owned(),
        "cp .git/config c && echo evil >> c && mv c .git/config".to_owned(),
        "cp .git/config deep/c && mv deep/c .git/config".to_owned(),
        "cp -r .git/hooks deep/h && mv .git/hooks $TMPDIR/h".to_owned(),
        "mkdir -p .git/hooks/more".to_owned(),
        "truncate -s 0 .git/config".to_owned(),
        "rm .git/config".to_owned(),
        "rm .monobloc/monobloc.db".to_owned(),
        "echo evil > .monobloc/trial.json".to_owned(),
        swap.replace('A', ".git").replace('B', "deep"),
        swap.replace('A', "deep").replace('B', ".git/hooks"),
        "ln -s OUT out && echo x > out/new".to_owned(),
        "ln -s OUT/.ssh/id key && echo x >> key".to_owned(),
    ] {
        bench.refused(&line).await;
        assert_eq!(content(), before, "{line}");
    }
    // The path changes while the sandbox checks the system call.
    let race = "python3 - <<'END'
import ctypes, os, threading, time
c, path = ctypes.CDLL(None), ctypes.create_string_buffer(b'deep/../race', 64)
end = time.time() + 2
def flip():
    while time.time() < end:
        path.value = b'.git/config'
        path.value = b'race'
threading.Thread(target=flip).start()
while time.time() < end:
    file = c.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    if file >= 0:
        os.write(file, b'evil')
        os.close(file)
END
test -s race && echo raced";
    bench.works(race, "raced\n").await;
    assert_eq!(content(), before);
    // The files prepared for the command have all been removed.
    let own = std::fs::read_dir(root.join(".monobloc")).unwrap().flatten().map(|entry| entry.file_name());
    assert_eq!(own.collect::<Vec<_>>(), ["monobloc.db"]);
}

/// File permissions do not restrict root, so under root this test runs itself again as another
/// user.
#[test]
fn rights_that_a_command_takes_away_hide_nothing_from_what_puts_aside() {
    const PROJECT: &str = "MONOBLOC_TEST_ASIDE";
    if let Some(project) = std::env::var_os(PROJECT) {
        return without_rights(Path::new(&project));
    }
    let dir = tempfile::tempdir().unwrap();
    let (mut again, _) = again(dir.path(), true);
    again.args([
        "--exact",
        "tools::sandbox::tests::project::rights_that_a_command_takes_away_hide_nothing_from_what_puts_aside",
    ]);
    let done = again.arg("--nocapture").env(PROJECT, dir.path()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
}

fn without_rights(folder: &Path) {
    let project = folder.canonicalize().unwrap().join("project");
    let tree = project.join(".git/worktrees/x");
    std::fs::create_dir_all(&tree).unwrap();
    let rights = |path: &Path, mode| {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    };
    let nothing = GitRedirects::by_what_comes(&project);
    for (closed, mode) in
        [(project.join(".git"), 0o555), (project.join(".git"), 0), (project.clone(), 0), (tree.clone(), 0)]
    {
        let misled = GitRedirects::by_what_comes(&project);
        let made = if closed == tree { tree.join("config.worktree") } else { project.join(".git/commondir") };
        std::fs::write(&made, "../evil\n").unwrap();
        rights(&closed, mode);
        let aside = misled.put_aside();
        assert!(matches!(&aside[..], [one] if one.path == made && one.now.is_ok()), "{aside:?}");
        assert!(!made.exists() && made.parent().unwrap().exists());
    }
    rights(&project, 0o555);
    assert!(nothing.put_aside().is_empty());
    // The target of a link belongs to others, so its permissions stay.
    let misled = GitRedirects::by_what_comes(&project);
    rights(&project, 0o755);
    let other = folder.join("other");
    std::fs::create_dir_all(other.join("x")).unwrap();
    std::fs::write(other.join("x/commondir"), "").unwrap();
    rights(&other.join("x"), 0o555);
    std::fs::rename(project.join(".git/worktrees"), folder.join("away")).unwrap();
    std::os::unix::fs::symlink(&other, project.join(".git/worktrees")).unwrap();
    assert!(misled.put_aside().is_empty() && other.join("x/commondir").exists());
}

#[tokio::test]
async fn a_command_reads_nothing_that_is_hidden_and_git_does_not_take_it_for_deleted() {
    let Some(bench) = bench() else { return };
    let project = bench.project.dir.path().to_owned();
    std::fs::create_dir_all(project.join("kept/deep")).unwrap();
    std::fs::write(project.join("kept/deep/a.txt"), "the key").unwrap();
    std::fs::write(project.join("x.env"), "the key").unwrap();
    let hidden = Hidden::by(|path| path == "kept" || path.ends_with(".env"));
    if reduced().is_some() {
        // In that case each command needs consent.
        let why = unconfined(&Commands { hidden, ..Commands::default() });
        return assert!(why.is_some_and(|why| why.contains("rules deny reading")), "{why:?}");
    }
    let bench = bench.with(Commands { hidden, ..Commands::default() }).git();
    let git = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).current_dir(&project).output().unwrap();
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    git(&["add", "-A"]);
    git(&["commit", "-qm", "one"]);
    for line in [
        "cat kept/deep/a.txt",
        "cat x.env",
        "cat k*/d*/a*",
        "f=x; cat $f.env",
        "cd kept && cat deep/a.txt",
        "rm -r kept",
    ] {
        bench.refused(line).await;
    }
    for line in ["grep -r key . .", "find . -type f -exec cat {} +", "cp -r . /tmp/../$TMPDIR/x; cat $TMPDIR/x/x.env"] {
        let outcome = bench.run(line).await;
        assert!(!outcome.text.contains("the key"), "{line}: {}", outcome.text);
    }
    bench.works("echo more >> a.txt && cat a.txt", "more").await;
    bench.run("git add -A; git commit -qam two").await;
    assert!(git(&["ls-tree", "-r", "HEAD"]).contains("kept/deep/a.txt") && git(&["show", "HEAD:x.env"]) == "the key");
    assert_eq!(std::fs::read_to_string(project.join("x.env")).unwrap(), "the key");
}
