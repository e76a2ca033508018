//! Moves aside files that a command left in a repository to redirect git to other settings and hooks.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, io};

use super::places;

/// Files that do not exist when a command starts and would redirect git if they appeared.
#[derive(Debug, Default)]
pub struct GitRedirects {
    unmade: Vec<PathBuf>,
    /// Folders in which the command could change permissions.
    within: Vec<PathBuf>,
}

/// A file that redirected git, with its new path or the reason it could not be moved.
#[derive(Debug)]
pub struct Aside {
    pub path: PathBuf,
    pub now: io::Result<PathBuf>,
}

impl GitRedirects {
    /// Call this before a command starts.
    pub fn by_what_comes(project: &Path) -> GitRedirects {
        let (unmade, within) = places::unmade(project);
        GitRedirects { unmade, within }
    }

    /// Moves aside the files that have appeared. Call this when the command and everything it
    /// started have ended. Nothing is deleted, because another program may have created the file.
    pub fn put_aside(self) -> Vec<Aside> {
        let aside = |path: &PathBuf| match self.move_away(path) {
            Ok(None) => None,
            Ok(Some(now)) => Some(Aside { path: path.clone(), now: Ok(now) }),
            Err(error) => Some(Aside { path: path.clone(), now: Err(error) }),
        };
        self.unmade.iter().filter_map(aside).collect()
    }

    /// The new path; `None` if the file does not exist.
    fn move_away(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let done = renamed(path);
        if !matches!(&done, Err(error) if error.kind() == io::ErrorKind::PermissionDenied) {
            return done;
        }
        // The command may have removed permissions from the parent folders; they are restored from
        // the top down.
        let above = path.ancestors().skip(1).filter(|folder| self.within.iter().any(|top| folder.starts_with(top)));
        for folder in above.collect::<Vec<_>>().into_iter().rev() {
            let meta = folder.symlink_metadata()?;
            if !meta.is_dir() {
                return Ok(None);
            }
            fs::set_permissions(folder, fs::Permissions::from_mode(meta.permissions().mode() | 0o700))?;
        }
        renamed(path)
    }
}

/// Renames a file within its folder, to a name that no earlier command can have used. Also `None`
/// if a parent folder is a link, because its target is not ours.
fn renamed(path: &Path) -> io::Result<Option<PathBuf>> {
    let folder = path.parent().unwrap_or(path);
    let found = folder.canonicalize().and_then(|real| path.symlink_metadata().map(|_| real));
    match found {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::NotFound) => Ok(None),
        Err(error) => Err(error),
        Ok(real) if real != folder => Ok(None),
        Ok(_) => {
            let mark = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
            let mut name = path.file_name().unwrap_or_default().to_owned();
            name.push(format!(".aside-{mark}"));
            let aside = folder.join(name);
            fs::rename(path, &aside).map(|()| Some(aside))
        }
    }
}
