//! Puts aside what a command has left in a repository to have git read other settings and hooks than those that are kept.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, io};

use super::places;

/// What was not there when a command was started and may mislead git afterwards.
#[derive(Debug, Default)]
pub struct Misled {
    unmade: Vec<PathBuf>,
    /// Folders whose rights the command could change, with what is in them.
    within: Vec<PathBuf>,
}

/// A file that misled git, and where it is now, or why it is still there.
#[derive(Debug)]
pub struct Aside {
    pub path: PathBuf,
    pub now: io::Result<PathBuf>,
}

impl Misled {
    pub fn by_what_comes(project: &Path) -> Misled {
        let (unmade, within) = places::unmade(project);
        Misled { unmade, within }
    }

    /// For when the command and all it started have ended. Nothing is deleted: somebody else may have made the file.
    pub fn put_aside(self) -> Vec<Aside> {
        let aside = |path: &PathBuf| match self.move_away(path) {
            Ok(None) => None,
            Ok(Some(now)) => Some(Aside { path: path.clone(), now: Ok(now) }),
            Err(error) => Some(Aside { path: path.clone(), now: Err(error) }),
        };
        self.unmade.iter().filter_map(aside).collect()
    }

    /// `None` where nothing has come to be.
    fn move_away(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let done = renamed(path);
        if !matches!(&done, Err(error) if error.kind() == io::ErrorKind::PermissionDenied) {
            return done;
        }
        // Neither seen nor moved where the command has taken rights away: they are given back from the top down.
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

/// The new name stands beside the old one; no command that has ended could know it. A link in place of a folder above
/// leads to what belongs to others.
fn renamed(path: &Path) -> io::Result<Option<PathBuf>> {
    let folder = path.parent().unwrap_or(path);
    let found = folder.canonicalize().and_then(|real| path.symlink_metadata().map(|_| real));
    match found {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::NotFound) => Ok(None),
        Err(error) => Err(error),
        Ok(real) if real != folder => Ok(None),
        Ok(_) => {
            let mark = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
            let name = path.file_name().unwrap_or_default().display();
            let aside = folder.join(format!("{name}.aside-{mark}"));
            fs::rename(path, &aside).map(|()| Some(aside))
        }
    }
}
