//! Determines which paths a sandboxed command may read and write, and which of them are protected.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::Confines;
use crate::base::{Hidden, state};

/// Access to a path and everything below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum May {
    Read,
    Write,
    /// Also allows device calls (ioctl); for devices that store nothing.
    Use,
}

/// Everything a command may open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    pub open: Vec<(PathBuf, May)>,
    /// Writable, but cannot be moved or replaced.
    pub pinned: Vec<PathBuf>,
    /// Read-only, although inside a writable path.
    pub kept: Vec<PathBuf>,
    /// monobloc's folder in the project: also read-only, and a command sees only the files in it
    /// that users write ([`OF_PEOPLE`]). This keeps the journal's requests and answers out of its
    /// searches.
    pub own: Option<PathBuf>,
    /// Paths that a command can neither create nor replace: missing files that would redirect git,
    /// and a link to git's folder.
    pub fixed: Vec<PathBuf>,
    /// A folder on the project's disk that is closed to commands or contains closed places.
    pub closed_on_disk: Option<PathBuf>,
}

/// The same places for a system without mount namespaces, where a right to a folder covers
/// everything in it. A folder with protected places is therefore not made writable; its other
/// entries are, one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Apart {
    pub open: Vec<(PathBuf, May)>,
    /// Writable entries of shared folders. A link among them grants nothing.
    pub entries: Vec<PathBuf>,
    /// Folders with both protected and changeable entries.
    pub shared: BTreeSet<PathBuf>,
    /// Protected places, which need not exist.
    pub closed: BTreeSet<PathBuf>,
    /// The paths that cannot be moved or replaced: protected places, shared folders, and subfolders
    /// of git's own folder.
    pub stays: BTreeSet<PathBuf>,
    /// Folders in which everything unprotected may be changed, with links resolved.
    pub writes: Vec<PathBuf>,
}

/// Maximum number of entries of a shared folder that are made writable one by one. A command cannot
/// change folders beyond that number.
const ENTRIES_MAX: usize = 10_000;

impl Places {
    /// See [`Apart`].
    pub fn apart(&self) -> Apart {
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        let closed = self.kept.iter().chain(&self.own).chain(&self.fixed);
        let closed = closed.flat_map(|path| [path.clone(), real(path)]).collect();
        let mut apart = Apart { closed, ..Apart::default() };
        for (path, may) in &self.open {
            let real = real(path);
            if *may == May::Write && !apart.closes(&real) {
                apart.writes.push(real);
            }
        }
        let above = apart.closed.iter().chain(&self.pinned).flat_map(|path| path.ancestors().skip(1));
        let is_shared = |folder: &&Path| {
            folder.is_dir() && apart.writes.iter().any(|top| folder.starts_with(top)) && !apart.closes(folder)
        };
        apart.shared = above.filter(is_shared).map(Path::to_owned).collect();
        apart.stays = apart.closed.iter().chain(&apart.shared).chain(&self.pinned).cloned().collect();
        for (path, may) in &self.open {
            let real = real(path);
            let only_reads = *may == May::Write && (apart.shared.contains(&real) || apart.closes(&real));
            apart.open.push((path.clone(), if only_reads { May::Read } else { *may }));
        }
        for folder in &apart.shared {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
            let may_change = |path: &PathBuf| !apart.closed.contains(path) && !apart.shared.contains(path);
            apart.entries.extend(entries.filter(may_change).take(ENTRIES_MAX));
        }
        apart
    }
}

impl Apart {
    /// Whether a path, with links resolved, is or lies in a protected place.
    pub fn closes(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.closed.contains(above))
    }

    /// Whether entries of this folder, with links resolved, may be created, moved out and deleted.
    pub fn is_open(&self, folder: &Path) -> bool {
        let inside = self.writes.iter().any(|top| folder.starts_with(top));
        inside && !self.closes(folder) && !self.shared.contains(folder)
    }
}

/// The files in monobloc's folder that users write.
pub const OF_PEOPLE: [&str; 2] = ["config.toml", ".gitignore"];

/// Folders with programs and system information.
const SYSTEM: [&str; 12] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix", "/snap", "/proc", "/sys"];
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// Settings for resolving host names.
const NAMES: [&str; 3] = ["/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager"];
/// Programs, toolchains and their settings in a home folder. Keys and passwords are elsewhere.
const HOME: &str = "
    .cargo/bin .cargo/registry .cargo/git .cargo/config .cargo/config.toml .cargo/env .rustup .nvm .volta .fnm
    .local/share/fnm .npm/_npx .bun .deno .asdf .local/share/mise .pyenv .local/share/uv .cache/uv .local/pipx
    .local/share/pipx .local/bin .local/lib .venv miniconda3 anaconda3 .rbenv .rvm .sdkman .jenv .goenv go/bin
    go/pkg .gitconfig .config/git .gitignore";
/// Maximum number of a project's parent folders searched for its repository.
const ABOVE_MAX: usize = 16;

/// The places for a command under these limits.
pub fn of(confines: &Confines<'_>) -> Places {
    let Confines { project, temp, commands, .. } = *confines;
    let home = std::env::home_dir().filter(|home| home.is_absolute()).unwrap_or_else(|| PathBuf::from("/"));
    let mut places = Places::default();
    let mut may =
        |may: May, paths: &mut dyn Iterator<Item = PathBuf>| places.open.extend(paths.map(|path| (path, may)));
    may(May::Read, &mut SYSTEM.iter().map(PathBuf::from));
    may(May::Use, &mut DEVICES.iter().map(PathBuf::from));
    may(May::Read, &mut HOME.split_whitespace().map(|name| home.join(name)));
    may(May::Read, &mut tools(&home).into_iter());
    may(May::Read, &mut enclosing(project, &home).into_iter());
    if confines.network {
        may(May::Read, &mut NAMES.iter().map(PathBuf::from));
    }
    may(May::Read, &mut commands.reads.iter().cloned());
    may(May::Write, &mut commands.writes.iter().cloned());
    may(May::Write, &mut [project.to_owned(), temp.to_owned()].into_iter());
    places.own = Some(project.join(state::OWN)).filter(|own| own.is_dir());
    places.closed_on_disk.clone_from(&places.own);
    places.fixed.extend(Some(project.join(".git")).filter(|git| git.is_symlink()));
    if let Some(repository) = Repository::of(project) {
        places.closed_on_disk.get_or_insert_with(|| repository.folder.clone());
        repository.keep(confines.git, &mut places);
    }
    places
}

/// Maximum number of files and folders searched for those that rules hide; also the maximum number
/// hidden one by one.
const SEEN_MAX: usize = 400_000;
const HIDDEN_MAX: usize = 4_000;

/// The project's files and folders that rules hide, except those inside a hidden folder. An error
/// if there are too many to find or hide.
pub fn hidden(project: &Path, hidden: &Hidden) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut folders, mut seen) = (Vec::new(), Vec::new(), 0);
    if !hidden.is_nothing() {
        folders.push(project.to_owned());
    }
    while let Some(folder) = folders.pop() {
        // A folder that is unreadable here is unreadable for a command too.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > SEEN_MAX || found.len() > HIDDEN_MAX {
                return Err(io::Error::other(format!(
                    "rules deny reading files that cannot all be hidden from commands: at most {SEEN_MAX} files are looked \
                     at and {HIDDEN_MAX} hidden; let the rules name folders instead of single files"
                )));
            }
            let path = entry.path();
            let below = path.strip_prefix(project).unwrap_or(&path).to_string_lossy().into_owned();
            let kind = entry.file_type()?;
            if [".git", ".monobloc"].contains(&below.as_str()) || kind.is_symlink() {
                continue;
            }
            if hidden.hides(&below) {
                found.push(path);
            } else if kind.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(found)
}

/// Missing files that would redirect git to other settings and hooks, and the folders in which a
/// command could change permissions to hide them.
pub fn unmade(project: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let Some(repository) = Repository::of(project) else { return Default::default() };
    let unmade = repository.redirects().filter(|path| path.symlink_metadata().is_err()).collect();
    (unmade, vec![project.to_owned(), repository.folder])
}

/// Further folders with tools: those named in `PATH` and in toolchains' variables.
fn tools(home: &Path) -> Vec<PathBuf> {
    let above_home = |path: &Path| home.starts_with(path);
    let mut folders = Vec::new();
    for folder in std::env::var_os("PATH").iter().flat_map(std::env::split_paths) {
        if !folder.is_absolute() || above_home(&folder) {
            continue;
        }
        // Libraries lie next to `bin`, so its parent folder is used, but not a home folder or one
        // directly below it.
        let beside = folder.parent().filter(|_| folder.ends_with("bin"));
        let beside = beside.filter(|parent| !above_home(parent) && parent.parent() != Some(home));
        folders.push(beside.unwrap_or(&folder).to_owned());
    }
    let variables = ["RUSTUP_HOME", "JAVA_HOME"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = cargo.iter().flat_map(|home| ["bin", "registry", "git", "config.toml"].map(|name| home.join(name)));
    folders.extend(variables.chain(cargo).filter(|path| path.is_absolute() && !above_home(path)));
    folders
}

/// The root of the repository that contains the project, if any: it holds the settings and
/// dependencies of all parts.
fn enclosing(project: &Path, home: &Path) -> Option<PathBuf> {
    let above = project.ancestors().skip(1).take(ABOVE_MAX).take_while(|folder| !home.starts_with(folder));
    above.filter(|folder| folder.join(".git").exists()).last().map(Path::to_owned)
}

/// The git repository of a project.
struct Repository {
    /// `.git`, or for a linked work tree the folder that all work trees share.
    folder: PathBuf,
    /// The project's `.git`, if it is a file that names the folder.
    pointer: Option<PathBuf>,
}

/// Files in git's folders that redirect git to other settings and hooks, or are settings.
const REDIRECTS: [&str; 3] = ["commondir", "config.worktree", "gitdir"];
/// Maximum number of protected linked work trees.
const TREES_MAX: usize = 64;

impl Repository {
    fn of(project: &Path) -> Option<Repository> {
        let git = project.join(".git");
        if git.is_dir() {
            return Some(Repository { folder: git.canonicalize().ok()?, pointer: None });
        }
        // Anybody could have put the file into the project, so the repository must refer back to
        // this project.
        let named = fs::read_to_string(&git).ok()?;
        let tree = project.join(named.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
        let back = PathBuf::from(fs::read_to_string(tree.join("gitdir")).ok()?.trim()).canonicalize().ok()?;
        if back != git.canonicalize().ok()? {
            return None;
        }
        let folder = tree.join(fs::read_to_string(tree.join("commondir")).ok()?.trim()).canonicalize().ok()?;
        Some(Repository { folder, pointer: Some(git) })
    }

    /// Git's folders for linked work trees, with links resolved.
    fn trees(&self) -> impl Iterator<Item = PathBuf> {
        let trees = fs::read_dir(self.folder.join("worktrees")).into_iter().flatten().flatten().take(TREES_MAX);
        trees.filter_map(|entry| entry.path().canonicalize().ok())
    }

    fn redirects(&self) -> impl Iterator<Item = PathBuf> {
        let all = std::iter::once(self.folder.clone()).chain(self.trees());
        all.flat_map(|folder| REDIRECTS.map(|name| folder.join(name)))
    }

    /// Protects hooks and settings, because git would later run the commands in them for the user.
    /// Without `git`, the whole folder is read-only.
    fn keep(self, git: bool, places: &mut Places) {
        places.kept.extend(self.pointer.clone());
        if !git {
            places.open.push((self.folder.clone(), May::Read));
            places.kept.push(self.folder);
            return;
        }
        let hooks = self.folder.join("hooks");
        // The command could create a missing folder for hooks, so it is created here.
        let made = hooks.exists() || fs::create_dir(&hooks).is_ok();
        let kept: Vec<PathBuf> = ["hooks", "config", "modules"].map(|name| self.folder.join(name)).into();
        let is_link = |path: &PathBuf| path.is_symlink();
        places.open.push((self.folder.clone(), May::Write));
        if !made || kept.iter().any(is_link) {
            // A link could be given another target, so the whole folder is read-only.
            places.kept.push(self.folder);
        } else {
            let (there, unmade) = kept.into_iter().chain(self.redirects()).partition(|path: &PathBuf| path.exists());
            places.kept.extend::<Vec<_>>(there);
            places.fixed.extend::<Vec<_>>(unmade);
            let trees = std::iter::once(self.folder.join("worktrees")).chain(self.trees()).filter(|path| path.is_dir());
            places.pinned.extend(std::iter::once(self.folder.clone()).chain(trees));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Commands;

    fn granted(project: &Path, git: bool) -> Places {
        let commands = Commands::default();
        let temp = Path::new("/tmp/own");
        of(&Confines { project, temp, network: false, git, limited: true, seconds: None, commands: &commands })
    }

    fn places(project: &Path) -> Places {
        granted(project, true)
    }

    #[test]
    fn a_home_folder_is_not_opened_and_no_folder_above_it() {
        let home = std::env::home_dir().unwrap();
        let places = places(Path::new("/nowhere/project"));
        let opened = |path: &Path| places.open.iter().any(|(open, _)| path.starts_with(open));
        for hidden in [".ssh/id_ed25519", ".aws/credentials", ".cargo/credentials.toml", ".bash_history"] {
            assert!(!opened(&home.join(hidden)), "{hidden}");
        }
        assert!(opened(Path::new("/usr/bin/env")) && opened(&home.join(".cargo/bin/cargo")));
        assert!(!opened(Path::new("/tmp/other")) && !opened(Path::new("/run/docker.sock")));
    }

    #[test]
    fn hooks_and_settings_of_a_repository_are_read_only() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().canonicalize().unwrap();
        fs::create_dir_all(project.join(".git")).unwrap();
        fs::create_dir_all(project.join(".monobloc")).unwrap();
        fs::write(project.join(".git/config"), "").unwrap();
        let kept = places(&project).kept;
        assert_eq!(kept, [".git/hooks", ".git/config"].map(|name| project.join(name)));
        assert_eq!(places(&project).own, Some(project.join(".monobloc")));
        assert_eq!(places(&project).pinned, [project.join(".git")]);
        assert_eq!(granted(&project, false).kept, [project.join(".git")]);
        // A project that is part of a repository may read all of it.
        let part = project.join("parts/one");
        assert!(places(&part).open.contains(&(project.clone(), May::Read)));
        fs::remove_dir(project.join(".git/hooks")).unwrap();
        std::os::unix::fs::symlink("/nowhere", project.join(".git/hooks")).unwrap();
        assert!(places(&project).kept.contains(&project.join(".git")));
    }

    #[test]
    fn a_file_that_points_to_somebody_elses_repository_opens_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let other = dir.path().join("other/.git/worktrees/x");
        let project = dir.path().join("project");
        fs::create_dir_all(&other).unwrap();
        fs::create_dir_all(&project).unwrap();
        fs::write(project.join(".git"), format!("gitdir: {}\n", other.display())).unwrap();
        fs::write(other.join("commondir"), "../..\n").unwrap();
        fs::write(other.join("gitdir"), "/nowhere/.git\n").unwrap();
        let common = dir.path().join("other/.git").canonicalize().unwrap();
        assert!(!places(&project).open.iter().any(|(path, _)| *path == common));
        fs::write(other.join("gitdir"), format!("{}\n", project.join(".git").display())).unwrap();
        assert!(places(&project).open.contains(&(common.clone(), May::Write)));
        let tree = common.join("worktrees/x");
        // Nothing can take their place.
        assert_eq!(places(&project).pinned, [common.clone(), common.join("worktrees"), tree.clone()]);
        for kept in [common.join("hooks"), tree.join("commondir"), tree.join("gitdir")] {
            assert!(places(&project).kept.contains(&kept), "{}", kept.display());
        }
        let (unmade, _) = unmade(&project);
        assert!(unmade.contains(&common.join("commondir")) && unmade.contains(&tree.join("config.worktree")));
    }
}
