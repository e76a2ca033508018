//! Restores tentatively changed files, unless the change is accepted, however the program ends.
//!
//! A note in the project's `.monobloc` folder lets the next process restore them after a kill.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::file::{read_json, replace_json};
use super::{lock, overwrite, state};

/// A tentative change. Dropping it restores the files unless it was accepted.
#[derive(Debug)]
pub struct Trial {
    id: u64,
}

/// A file changed in a trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Tried {
    #[serde(skip)]
    trial: u64,
    /// The root folder of the project.
    #[serde(skip)]
    project: PathBuf,
    path: PathBuf,
    /// `None` for a file that did not exist.
    before: Option<String>,
    written: String,
}

static TRIED: Mutex<Vec<Tried>> = Mutex::new(Vec::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

impl Default for Trial {
    fn default() -> Trial {
        Trial { id: NEXT.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Trial {
    /// Records that `written` is about to be written to the file `path` of a project. Repeated
    /// calls for a file keep the first recorded text.
    pub fn writes(&self, project: &Path, path: &Path, written: &str) {
        let mut tried = lock(&TRIED);
        match tried.iter_mut().find(|one| one.trial == self.id && one.path == path) {
            Some(known) => known.written = written.to_owned(),
            None => tried.push(Tried {
                trial: self.id,
                project: project.to_owned(),
                path: path.to_owned(),
                before: std::fs::read_to_string(path).ok(),
                written: written.to_owned(),
            }),
        }
        note(project, &tried);
    }

    /// Keeps the files in their current state.
    pub fn accept(&self) {
        forget(&mut lock(&TRIED), |one| one.trial == self.id);
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        put_back(|one| one.trial == self.id);
    }
}

/// Restores the files of all trials; called on a signal that ends the program.
pub fn put_back_all() {
    put_back(|_| true);
}

/// Whether a killed process has left a trial in a project.
pub fn is_left(project: &Path) -> bool {
    let root = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    note_of(project).is_file() && !lock(&TRIED).iter().any(|one| one.project == project || one.project == root)
}

/// Restores the files of the trial left by a killed process, and returns their paths. Call this
/// only while no other process is at work.
pub fn take_back(project: &Path) -> Vec<PathBuf> {
    let left: Vec<Tried> = read_json(&note_of(project)).unwrap_or_default();
    let root = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    let inside = left.iter().filter(|one| one.path.starts_with(&root) || one.path.starts_with(project));
    let back = inside.filter(|one| one.put_back(&root)).map(|one| one.path.clone()).collect();
    let _ = std::fs::remove_file(note_of(project));
    back
}

impl Tried {
    /// Restores the file if it still has the text that was written; returns whether it did.
    fn put_back(&self, project: &Path) -> bool {
        let is_ours = std::fs::read_to_string(&self.path).ok().as_ref() == Some(&self.written);
        let done = || match &self.before {
            Some(before) => overwrite::write(&self.path, before.as_bytes(), None, project),
            None => std::fs::remove_file(&self.path),
        };
        is_ours && self.before.as_ref() != Some(&self.written) && done().is_ok()
    }
}

fn put_back(which: impl Fn(&Tried) -> bool) {
    let mut tried = lock(&TRIED);
    for one in tried.iter().filter(|one| which(one)) {
        one.put_back(&one.project);
    }
    forget(&mut tried, which);
}

fn forget(tried: &mut Vec<Tried>, which: impl Fn(&Tried) -> bool) {
    let projects: Vec<PathBuf> = tried.iter().filter(|one| which(one)).map(|one| one.project.clone()).collect();
    tried.retain(|one| !which(one));
    projects.iter().for_each(|project| note(project, tried));
}

fn note_of(project: &Path) -> PathBuf {
    project.join(state::OWN).join("trial.json")
}

/// Stores the list of a project's open trials. If that fails, changes are left behind only after a
/// kill.
fn note(project: &Path, tried: &[Tried]) {
    let own: Vec<&Tried> = tried.iter().filter(|one| one.project == project).collect();
    let _ = if own.is_empty() { std::fs::remove_file(note_of(project)) } else { replace_json(&note_of(project), &own) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(trial: &Trial, folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        trial.writes(folder, &path, text);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(state::OWN)).unwrap();
        folder
    }

    #[test]
    fn a_trial_that_is_not_accepted_leaves_no_trace() {
        let folder = folder();
        let old = folder.path().join("old");
        std::fs::write(&old, "before").unwrap();
        let trial = Trial::default();
        write(&trial, folder.path(), "old", "first");
        write(&trial, folder.path(), "old", "second");
        let new = write(&trial, folder.path(), "new", "new");
        drop(trial);
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "before");
        assert!(!new.exists() && !note_of(folder.path()).exists());
        let trial = Trial::default();
        write(&trial, folder.path(), "old", "after");
        trial.accept();
        drop(trial);
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "after");
    }

    #[test]
    fn a_file_that_is_put_back_keeps_its_mode_and_its_other_names() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder();
        let [file, other] = ["file", "other"].map(|name| folder.path().join(name));
        std::fs::write(&file, "before").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o750)).unwrap();
        std::fs::hard_link(&file, &other).unwrap();
        let trial = Trial::default();
        write(&trial, folder.path(), "file", "tried");
        drop(trial);
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "before");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o750);
    }

    #[test]
    fn what_somebody_else_wrote_meanwhile_stays() {
        let folder = folder();
        let trial = Trial::default();
        let file = write(&trial, folder.path(), "file", "tried");
        std::fs::write(&file, "of the user").unwrap();
        drop(trial);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "of the user");
    }

    #[test]
    fn the_next_process_takes_back_what_a_kill_left() {
        let folder = folder();
        std::fs::write(folder.path().join("file"), "before").unwrap();
        let trial = Trial::default();
        let file = write(&trial, folder.path(), "file", "tried");
        assert!(!is_left(folder.path()), "this process is at work");
        // Simulates a process that is killed.
        let left = std::fs::read(note_of(folder.path())).unwrap();
        trial.accept();
        std::fs::write(note_of(folder.path()), left).unwrap();
        assert!(is_left(folder.path()));
        assert_eq!(take_back(folder.path()), std::slice::from_ref(&file));
        assert_eq!(std::fs::read_to_string(file).unwrap(), "before");
        assert!(!is_left(folder.path()));
    }
}
