//! Decides whether git could reveal from its object store files that rules forbid reading: the
//! sandbox hides only the files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::base::Hidden;
use crate::tools::policy::denied;
use crate::tools::policy::form::Form;
use crate::tools::shell::Line;

/// Git commands that print contents or write them elsewhere.
const SHOWS: [&str; 5] = [
    "git {show,diff,whatchanged,blame,annotate,grep,cat-file,archive,format-patch,range-diff,diff-*,difftool,clone,worktree,\
     bundle,fast-export,stash,apply,am,cherry-pick,checkout-index,read-tree,unpack-file,send-email,p4,svn,merge-file,rerere}",
    "git log -p",
    "git log -u",
    "git log -L",
    "git log --cc",
];

/// Whether the line may run such a command.
pub fn may_show(line: &Line) -> bool {
    static FORMS: OnceLock<Vec<Form>> = OnceLock::new();
    let forms = FORMS.get_or_init(|| SHOWS.iter().filter_map(|text| Form::new(text)).collect());
    forms.iter().any(|form| denied::may_run(form, line))
}

/// Whether git tracks a hidden file. If the index cannot be read, the answer is yes.
pub fn is_any(project: &Path, hidden: &Hidden) -> bool {
    let Some((root, folder)) = project.ancestors().find_map(|root| Some((root, git_folder(root)?))) else {
        return false;
    };
    let Ok(bytes) = fs::read(folder.join("index")) else { return folder.join("index").exists() };
    let Some(paths) = paths(&bytes) else { return true };
    let below = project.strip_prefix(root).unwrap_or(Path::new(""));
    paths
        .iter()
        .filter_map(|path| Path::new(path).strip_prefix(below).ok())
        .any(|path| hidden.hides(&path.to_string_lossy()))
}

fn git_folder(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let text = fs::read_to_string(&git).ok()?;
    Some(root.join(text.strip_prefix("gitdir:")?.trim()))
}

/// The paths in a git index (gitformat-index, versions 2 to 4); `None` if the format is different.
fn paths(bytes: &[u8]) -> Option<Vec<String>> {
    /// Offset of the flags in an entry, after times, device, inode, mode, owner, size and SHA-1.
    const BEFORE_FLAGS: usize = 60;
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
    let version = number(4).filter(|version| bytes.starts_with(b"DIRC") && (2..=4).contains(version))?;
    let (count, mut at) = (number(8)?, 12);
    let (mut all, mut before) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let begun = at;
        let flags = *bytes.get(at + BEFORE_FLAGS)?;
        at += BEFORE_FLAGS + 2 + if flags & 0x40 != 0 { 2 } else { 0 };
        if version == 4 {
            // The number of bytes to drop from the previous path, with seven bits per byte.
            let mut dropped = 0;
            loop {
                let byte = *bytes.get(at)?;
                at += 1;
                dropped = (dropped << 7) | usize::from(byte & 0x7f);
                if byte & 0x80 == 0 {
                    break;
                }
                dropped += 1;
            }
            before.truncate(before.len().checked_sub(dropped)?);
        } else {
            before.clear();
        }
        let end = at + bytes.get(at..)?.iter().position(|byte| *byte == 0)?;
        before.extend_from_slice(&bytes[at..end]);
        all.push(String::from_utf8_lossy(&before).into_owned());
        // Up to eight zero bytes pad the entry to a multiple of eight.
        at = if version == 4 { end + 1 } else { begun + (end - begun) / 8 * 8 + 8 };
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::shell::parse;
    use std::process::Command;

    #[test]
    fn files_that_git_tracks_are_found_in_every_form_of_its_index() {
        let dir = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let done = Command::new("git").args(arguments).current_dir(dir.path()).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        for path in ["a.txt", "part/keys/a", "part/keys/b", "part/src/long-name-of-a-file.rs"] {
            fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
            fs::write(dir.path().join(path), "x").unwrap();
        }
        let hides = |name: &'static str| Hidden::by(move |path| path == name);
        let check = |project: &Path, name: &'static str, expected: bool| {
            assert_eq!(is_any(project, &hides(name)), expected, "{} {name}", project.display());
        };
        check(dir.path(), "a.txt", false);
        git(&["init", "-q"]);
        check(dir.path(), "a.txt", false);
        git(&["add", "-A"]);
        for version in ["2", "4"] {
            git(&["update-index", "--index-version", version]);
            for name in ["a.txt", "part/keys/b", "part/src/long-name-of-a-file.rs"] {
                check(dir.path(), name, true);
            }
            check(dir.path(), "b.txt", false);
            check(&dir.path().join("part"), "keys/b", true);
            check(&dir.path().join("part"), "a.txt", false);
        }
        fs::write(dir.path().join(".git/index"), "no index").unwrap();
        check(dir.path(), "b.txt", true);
    }

    #[test]
    fn commands_that_show_contents_are_told() {
        for line in
            ["git show HEAD:a", "git -C . diff", "git log -p", "git log --patch", "git grep x", "sh -c 'git show x'"]
        {
            assert!(may_show(&parse(line)), "{line}");
        }
        for line in
            ["git status", "git log --oneline", "git add -A", "git commit -m 'git show'", "cargo test", "grep -rn x ."]
        {
            assert!(!may_show(&parse(line)), "{line}");
        }
    }
}
