//! Decides which paths of a project are ignored, by the rules of git and by `.ignore` files for search programs.
//!
//! As in git, rules apply from the top of the repository that contains a folder, and a nested
//! repository has its own. In a project outside any repository, they apply from the project folder.
//! A path that the user names is never ignored: if the rules above exclude the project or the
//! folder to search, only the rules inside it apply.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::lock;

/// Folders of version control and of monobloc, which no walk enters.
pub const PRIVATE: [&str; 5] = [".git", ".monobloc", ".hg", ".jj", ".svn"];

/// The rules for everything below a folder. Rules of subfolders are read when they are first
/// needed.
pub struct Ignored {
    start: PathBuf,
    /// `start` with links resolved, because rules apply to real paths.
    real: PathBuf,
    first: Arc<Level>,
    /// Keyed by real path.
    known: Mutex<HashMap<PathBuf, Arc<Level>>>,
}

/// The rules of one folder, and those of its parent folders that apply in it.
#[derive(Default)]
struct Level {
    above: Option<Arc<Level>>,
    gitignore: Option<Gitignore>,
    /// Rules of a `.ignore` file. They take precedence over git's and also apply in nested
    /// repositories.
    ignore: Option<Gitignore>,
    /// At the top of a repository: the rules of `.git/info/exclude` and of the user, in this order.
    repository: Option<[Option<Gitignore>; 2]>,
}

impl Ignored {
    /// The rules below `start`, a folder of `project` or the project itself.
    pub fn below(project: &Path, start: &Path) -> Ignored {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let (project, real) = (real(project), real(start));
        let top = project.ancestors().find(|folder| is_repository(folder)).unwrap_or(&project);
        let mut folders: Vec<&Path> = real.ancestors().take_while(|folder| folder.starts_with(top)).collect();
        if folders.is_empty() {
            folders.push(&real);
        }
        let mut level: Option<Arc<Level>> = None;
        for folder in folders.into_iter().rev() {
            // Rules above an excluded folder do not apply in it: the user named something inside.
            let above = level.filter(|above| !above.ignores(folder, true));
            level = Some(Level::of(folder, above));
        }
        Ignored { start: start.to_owned(), first: level.unwrap_or_default(), real, known: Mutex::default() }
    }

    /// Whether a rule excludes a path below the start, given that none excludes the folders above it.
    pub fn excludes(&self, path: &Path, is_folder: bool) -> bool {
        let Ok(inside) = path.strip_prefix(&self.start) else { return false };
        if inside.as_os_str().is_empty() {
            return false;
        }
        let name = inside.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| PRIVATE.contains(&name)) {
            return true;
        }
        let path = self.real.join(inside);
        self.level(path.parent().unwrap_or(&path)).ignores(&path, is_folder)
    }

    /// Whether a path below the start, or one of its parent folders, is excluded.
    pub fn covers(&self, path: &Path, is_folder: bool) -> bool {
        let Ok(inside) = path.strip_prefix(&self.start) else { return false };
        let mut folders: Vec<&Path> = inside.ancestors().skip(1).filter(|part| !part.as_os_str().is_empty()).collect();
        folders.reverse();
        folders.iter().any(|folder| self.excludes(&self.start.join(folder), true)) || self.excludes(path, is_folder)
    }

    fn level(&self, folder: &Path) -> Arc<Level> {
        if folder == self.real || !folder.starts_with(&self.real) {
            return self.first.clone();
        }
        if let Some(level) = lock(&self.known).get(folder) {
            return level.clone();
        }
        let above = folder.parent().map_or_else(|| self.first.clone(), |parent| self.level(parent));
        let level = Level::of(folder, Some(above));
        lock(&self.known).insert(folder.to_owned(), level.clone());
        level
    }
}

impl Level {
    /// The rules of a folder and its parents; only the parents' if it has none.
    fn of(folder: &Path, above: Option<Arc<Level>>) -> Arc<Level> {
        let gitignore = rules(folder, &folder.join(".gitignore"));
        let ignore = rules(folder, &folder.join(".ignore"));
        let repository = is_repository(folder).then(|| {
            let own = excludes_file(folder).and_then(|file| rules(folder, &file));
            let (users, _) = GitignoreBuilder::new(folder).build_global();
            [own, Some(users)]
        });
        match above {
            Some(above) if gitignore.is_none() && ignore.is_none() && repository.is_none() => above,
            above => Arc::new(Level { above, gitignore, ignore, repository }),
        }
    }

    fn upward(&self) -> impl Iterator<Item = &Level> {
        std::iter::successors(Some(self), |level| level.above.as_deref())
    }

    /// Whether the nearest matching rule excludes the path. `.ignore` files are consulted first.
    fn ignores(&self, path: &Path, is_folder: bool) -> bool {
        let verdict = |rules: &Option<Gitignore>| match rules.as_ref().map(|rules| rules.matched(path, is_folder)) {
            Some(Match::Ignore(_)) => Some(true),
            Some(Match::Whitelist(_)) => Some(false),
            Some(Match::None) | None => None,
        };
        if let Some(decided) = self.upward().find_map(|level| verdict(&level.ignore)) {
            return decided;
        }
        for level in self.upward() {
            if let Some(decided) = verdict(&level.gitignore) {
                return decided;
            }
            if let Some(last) = &level.repository {
                return last.iter().find_map(verdict).unwrap_or(false);
            }
        }
        false
    }
}

/// The rules in a file, for paths below `folder`; `None` if it has none. Like git, skips a line
/// that is not a rule.
fn rules(folder: &Path, file: &Path) -> Option<Gitignore> {
    // Reading a named pipe would block forever.
    if !fs::metadata(file).is_ok_and(|about| about.is_file()) {
        return None;
    }
    let bytes = fs::read(file).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.trim_start_matches('\u{feff}').lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

/// Whether a folder is the top of a repository. A `.git` folder without `HEAD` does not count, as in git.
fn is_repository(folder: &Path) -> bool {
    let is_folder = |name: &str| folder.join(name).is_dir();
    git_folder(folder).is_some() || is_folder(".jj") || is_folder(".hg") || is_folder(".svn")
}

/// The folder in which git keeps the data of a repository. In a worktree or submodule `.git` is a file that names it.
fn git_folder(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    let about = fs::metadata(&git).ok()?;
    if about.is_dir() {
        return git.join("HEAD").symlink_metadata().is_ok().then_some(git);
    }
    if !about.is_file() {
        return None;
    }
    named_in(&git, "gitdir:").map(|named| folder.join(named))
}

/// The file with rules for this clone only, shared by its worktrees.
fn excludes_file(folder: &Path) -> Option<PathBuf> {
    let git = git_folder(folder)?;
    let common = named_in(&git.join("commondir"), "").map_or_else(|| git.clone(), |named| git.join(named));
    Some(common.join("info/exclude"))
}

/// The path after `mark` in a one-line file that begins with it.
fn named_in(file: &Path, mark: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let bytes = fs::read(file).ok()?;
    let named = bytes.strip_prefix(mark.as_bytes())?.trim_ascii();
    (!named.is_empty()).then(|| PathBuf::from(std::ffi::OsStr::from_bytes(named)))
}

#[cfg(test)]
mod tests;
