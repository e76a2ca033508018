//! Confines every path given to a tool to the project folder.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use crate::base::Hidden;
use crate::base::overwrite::{self, Names};

/// Folders that tools may read but never write, because git and monobloc own them.
const PROTECTED: [&str; 2] = [".git", ".monobloc"];
/// Maximum path length, as on Linux (PATH_MAX).
const PATH_MAX_BYTES: usize = 4_096;

/// The project folder, resolved once. No path resolved against it leads outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The user's path made absolute, links unresolved: absolute paths in calls may begin with it.
    given: PathBuf,
    /// With symbolic links resolved.
    real: PathBuf,
    /// Paths in the project that must not be read.
    hidden: Hidden,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    /// Need not exist; must lie outside the protected folders.
    Write,
}

/// A path inside a [`Root`], free of symbolic links at the time it was resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    root: PathBuf,
    absolute: PathBuf,
    hidden: Hidden,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    #[error("project `{path}` cannot be opened: {why}; give a folder with --project")]
    NoProject { path: String, why: String },
    #[error("`{path}` lies outside the project; use a path inside it, like `src/main.rs`")]
    Outside { path: String },
    #[error("`{path}` leads out of the project through the symbolic link `{link}`; use a path inside the project")]
    LinkOut { path: String, link: String },
    #[error("`{path}` is in `{folder}`, which tools never write; choose another place")]
    Protected { path: String, folder: String },
    #[error("`{path}` is not read: a rule denies it")]
    Hidden { path: String },
    #[error("`{path}` does not exist in the project; find_files lists its files")]
    Missing { path: String },
    #[error("`{path}` is a folder, link, pipe or device; only regular files are read and written")]
    NotAFile { path: String },
    #[error("`{path}` is not a usable path: {why}")]
    Malformed { path: String, why: &'static str },
    #[error("`{path}` was replaced while it was being opened; try again")]
    Replaced { path: String },
    #[error("`{path}`: {source}")]
    Io { path: String, source: io::Error },
}

impl Root {
    /// Resolves the project folder; fails if it is missing, unreadable or not a folder.
    pub fn open(project: &Path) -> Result<Root, ConfineError> {
        let wrong = |why: String| ConfineError::NoProject { path: project.display().to_string(), why };
        let real = project.canonicalize().map_err(|e| wrong(e.to_string()))?;
        fs::read_dir(&real).map_err(|e| wrong(e.to_string()))?;
        let given = std::path::absolute(project).map_err(|e| wrong(e.to_string()))?;
        Ok(Root { given, real, hidden: Hidden::default() })
    }

    /// The same folder with the `hidden` paths unreadable.
    pub fn hiding(self, hidden: Hidden) -> Root {
        Root { hidden, ..self }
    }

    pub fn hides(&self, path: &str) -> bool {
        self.hidden.hides(path)
    }

    pub fn path(&self) -> &Path {
        &self.real
    }

    /// Resolves `path`, which is relative to the project, or absolute and inside it. Resolves and
    /// checks each existing component in turn, so that errors reveal nothing about files outside.
    pub fn resolve(&self, path: &str, access: Access) -> Result<Inside, ConfineError> {
        let shown = || shown(path);
        if path.contains('\0') || path.len() > PATH_MAX_BYTES {
            return Err(ConfineError::Malformed { path: shown(), why: "it has a zero byte or over 4,096 bytes" });
        }
        let outside = || ConfineError::Outside { path: shown() };
        let mut rest = Path::new(path);
        if rest.is_absolute() {
            rest = rest.strip_prefix(&self.given).or_else(|_| rest.strip_prefix(&self.real)).map_err(|_| outside())?;
        }
        let mut at = self.real.clone();
        let mut missing = false;
        for component in rest.components() {
            match component {
                Component::CurDir => {}
                Component::ParentDir if missing => {
                    return Err(ConfineError::Malformed { path: shown(), why: "`..` follows a missing folder" });
                }
                Component::ParentDir => {
                    at.pop();
                    if !at.starts_with(&self.real) {
                        return Err(outside());
                    }
                }
                Component::Normal(name) => {
                    at.push(name);
                    missing = missing || !self.follow(&mut at, path)?;
                }
                Component::RootDir | Component::Prefix(_) => return Err(outside()),
            }
        }
        let inside = Inside { root: self.real.clone(), absolute: at, hidden: self.hidden.clone() };
        match access {
            Access::Read if missing => Err(ConfineError::Missing { path: shown() }),
            Access::Read => inside.refuse_hidden(path).map(|()| inside),
            Access::Write => inside.refuse_protected(path).map(|()| inside),
        }
    }

    /// A path found by a walk over the project; its name may contain any bytes. Opening it checks
    /// that it is still inside.
    pub fn walked(&self, absolute: &Path) -> Inside {
        Inside { root: self.real.clone(), absolute: absolute.to_owned(), hidden: self.hidden.clone() }
    }

    /// Replaces `at` with its target if it is a link; false if nothing exists there.
    fn follow(&self, at: &mut PathBuf, path: &str) -> Result<bool, ConfineError> {
        let link = match fs::symlink_metadata(&*at) {
            Ok(meta) => meta.is_symlink(),
            // A name below a file, or one too long for the file system, counts as missing.
            Err(_) => return Ok(false),
        };
        if link {
            let leads_out = || ConfineError::LinkOut { path: shown(path), link: relative(&self.real, at) };
            // A dangling link is refused: its target could be created outside before the write.
            let target = at.canonicalize().map_err(|_| leads_out())?;
            if !target.starts_with(&self.real) {
                return Err(leads_out());
            }
            *at = target;
        }
        Ok(true)
    }
}

impl Inside {
    pub fn absolute(&self) -> &Path {
        &self.absolute
    }

    /// The project, with symbolic links resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path relative to the project, with `/` separators; `.` for the project itself.
    pub fn relative(&self) -> String {
        relative(&self.root, &self.absolute)
    }

    /// Like [`Inside::relative`], for another path in the project.
    pub fn relative_of(&self, path: &Path) -> String {
        relative(&self.root, path)
    }

    /// The file's other names (hard links); those inside the project are relative to it.
    pub fn other_names(&self) -> io::Result<Names> {
        let names = overwrite::other_names(&self.absolute, &self.root)?;
        let inside = names.inside.iter().map(|path| path.strip_prefix(&self.root).unwrap_or(path).to_owned());
        Ok(Names { inside: inside.collect(), ..names })
    }

    pub fn exists(&self) -> bool {
        fs::symlink_metadata(&self.absolute).is_ok()
    }

    pub fn is_dir(&self) -> bool {
        fs::symlink_metadata(&self.absolute).is_ok_and(|meta| meta.is_dir())
    }

    /// Opens the regular file for reading. Never follows a link or waits on a pipe, and afterwards
    /// checks that the path still leads to the opened file without links.
    pub fn open(&self) -> Result<File, ConfineError> {
        self.refuse_hidden(&self.relative())?;
        let path = || self.relative();
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC);
        let kind = fs::symlink_metadata(&self.absolute).map_err(|source| ConfineError::Io { path: path(), source })?;
        if !kind.is_file() {
            return Err(ConfineError::NotAFile { path: path() });
        }
        let io = |source| ConfineError::Io { path: path(), source };
        let file = options.open(&self.absolute).map_err(io)?;
        let opened = file.metadata().map_err(io)?;
        self.still_inside(&self.absolute)?;
        let named = fs::symlink_metadata(&self.absolute).map_err(io)?;
        if !opened.is_file() || (opened.dev(), opened.ino()) != (named.dev(), named.ino()) {
            return Err(ConfineError::Replaced { path: path() });
        }
        Ok(file)
    }

    /// Creates the parent folders of the path and checks that none has become a link.
    pub fn make_parents(&self) -> Result<(), ConfineError> {
        let parent = self.absolute.parent().unwrap_or(&self.root);
        fs::create_dir_all(parent).map_err(|source| ConfineError::Io { path: self.relative(), source })?;
        self.still_inside(parent)
    }

    fn still_inside(&self, path: &Path) -> Result<(), ConfineError> {
        match path.canonicalize() {
            Ok(real) if real == path && real.starts_with(&self.root) => Ok(()),
            _ => Err(ConfineError::Replaced { path: self.relative() }),
        }
    }

    fn refuse_hidden(&self, path: &str) -> Result<(), ConfineError> {
        let hidden = self.hidden.hides(&self.relative());
        if hidden { Err(ConfineError::Hidden { path: shown(path) }) } else { Ok(()) }
    }

    fn refuse_protected(&self, path: &str) -> Result<(), ConfineError> {
        let below = self.absolute.strip_prefix(&self.root).unwrap_or(Path::new(""));
        for component in below.components() {
            let name = component.as_os_str().to_string_lossy();
            // Case does not matter: on some file systems `.GIT` is `.git`.
            if PROTECTED.iter().any(|folder| name.eq_ignore_ascii_case(folder)) {
                return Err(ConfineError::Protected { path: shown(path), folder: name.into_owned() });
            }
        }
        Ok(())
    }
}

fn relative(root: &Path, path: &Path) -> String {
    let below = path.strip_prefix(root).unwrap_or(path);
    if below.as_os_str().is_empty() { ".".to_owned() } else { below.to_string_lossy().into_owned() }
}

/// A model's path as shown in an error message: at most 200 characters, without control characters.
fn shown(path: &str) -> String {
    crate::base::cut_line(path, 200).replace(|c: char| c.is_control(), "�")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::symlink;

    /// A project with a file, a folder, and links of every kind, next to a secret file.
    fn project() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("project");
        fs::create_dir_all(project.join("src/.git")).unwrap();
        fs::create_dir_all(project.join(".git")).unwrap();
        fs::write(project.join("src/a.rs"), "fn a() {}\n").unwrap();
        fs::write(dir.path().join("secret"), "secret").unwrap();
        fs::create_dir(dir.path().join("project-twin")).unwrap();
        symlink(dir.path().join("secret"), project.join("out")).unwrap();
        symlink("..", project.join("up")).unwrap();
        symlink("src", project.join("in")).unwrap();
        symlink("nowhere", project.join("dangling")).unwrap();
        symlink("loop", project.join("loop")).unwrap();
        symlink(".git", project.join("innocent")).unwrap();
        let root = Root::open(&project).unwrap();
        (dir, root)
    }

    fn check(path: &str, access: Access, expected: &str) {
        let (_dir, root) = project();
        let got = match root.resolve(path, access) {
            Ok(inside) => inside.relative(),
            Err(error) => format!("{error:?}").split([' ', '{']).next().unwrap().to_owned(),
        };
        assert_eq!(got, expected, "{path} {access:?}");
    }

    #[test]
    fn paths_inside_are_accepted() {
        check("src/a.rs", Access::Read, "src/a.rs");
        check("./src//a.rs", Access::Read, "src/a.rs");
        check("src/../src/a.rs", Access::Read, "src/a.rs");
        check("in/a.rs", Access::Read, "src/a.rs");
        check("", Access::Read, ".");
        check(".git", Access::Read, ".git");
        check("new/deep/file.rs", Access::Write, "new/deep/file.rs");
    }

    #[test]
    fn no_path_leads_out() {
        for access in [Access::Read, Access::Write] {
            check("../secret", access, "Outside");
            check("src/../../secret", access, "Outside");
            check("../project/src/a.rs", access, "Outside");
            check("/etc/passwd", access, "Outside");
            check("out", access, "LinkOut");
            check("up/secret", access, "LinkOut");
            check("up/project/src/a.rs", access, "LinkOut");
            check("dangling", access, "LinkOut");
            check("loop", access, "LinkOut");
            check("src/missing/../../../secret", access, "Malformed");
            check("a\0b", access, "Malformed");
        }
        check("src/missing", Access::Read, "Missing");
        check("src/a.rs/below", Access::Read, "Missing");
        // Absolute paths inside are accepted, but not those in a folder whose name only starts the
        // same.
        let (dir, root) = project();
        let inside = root.resolve(root.path().join("src/a.rs").to_str().unwrap(), Access::Read).unwrap();
        assert_eq!(inside.relative(), "src/a.rs");
        let twin = dir.path().join("project-twin/x");
        assert!(matches!(root.resolve(twin.to_str().unwrap(), Access::Write), Err(ConfineError::Outside { .. })));
    }

    #[test]
    fn folders_of_git_and_of_this_program_are_not_written() {
        check(".git/hooks/pre-commit", Access::Write, "Protected");
        check(".GIT/config", Access::Write, "Protected");
        check("src/.git/config", Access::Write, "Protected");
        check(".monobloc/monobloc.db", Access::Write, "Protected");
        check("innocent/config", Access::Write, "Protected");
        check(".gitignore", Access::Write, ".gitignore");
    }

    #[test]
    fn a_link_put_in_place_after_the_check_is_not_followed() {
        let (dir, root) = project();
        let inside = root.resolve("src/a.rs", Access::Read).unwrap();
        fs::remove_file(inside.absolute()).unwrap();
        symlink(dir.path().join("secret"), inside.absolute()).unwrap();
        assert!(inside.open().is_err());
        let deep = root.resolve("late/file", Access::Write).unwrap();
        symlink(dir.path(), root.path().join("late")).unwrap();
        assert!(matches!(deep.make_parents(), Err(ConfineError::Replaced { .. })));
    }

    #[test]
    fn a_device_and_a_folder_are_no_files_and_a_missing_project_is_named() {
        let (_dir, root) = project();
        for (root, path) in [(Root::open(Path::new("/dev")).unwrap(), "zero"), (root, "src")] {
            let error = root.resolve(path, Access::Read).unwrap().open().unwrap_err();
            assert!(matches!(error, ConfineError::NotAFile { .. }), "{error}");
        }
        let error = Root::open(Path::new("/no/such/project")).unwrap_err().to_string();
        assert!(error.contains("/no/such/project") && error.contains("--project"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whatever_resolves_lies_inside(parts in proptest::collection::vec(
            prop_oneof![Just("..".to_owned()), Just("up".to_owned()), Just("in".to_owned()), Just("out".to_owned()),
                Just(".".to_owned()), Just("".to_owned()), Just("src".to_owned()), Just("secret".to_owned()), "\\PC{0,6}"],
            0..8)) {
            let (_dir, root) = project();
            for access in [Access::Read, Access::Write] {
                if let Ok(inside) = root.resolve(&parts.join("/"), access) {
                    prop_assert!(inside.absolute().starts_with(root.path()));
                    prop_assert!(!inside.exists() || inside.absolute().canonicalize().unwrap().starts_with(root.path()));
                }
            }
        }
    }
}
