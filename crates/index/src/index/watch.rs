//! Watches a project for file changes: a burst counts once, and changes to the index do not count.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use notify::{Event, EventKind, RecursiveMode, Watcher};

use crate::base::Cancel;
use crate::base::ignored::Ignored;

/// The pause after which a burst of changes (a save, a checkout, a build) counts as over.
const QUIET: Duration = Duration::from_millis(60);
/// A burst that does not end is reported after this time.
const BURST_MAX: Duration = Duration::from_secs(2);
/// Interval at which the cancellation flag is checked.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Debug, thiserror::Error)]
#[error(
    "changes of {project} cannot be watched: {reason}; raise the system's limit (on Linux fs.inotify.max_user_watches), \
     or run `monobloc index` after edits: it takes milliseconds when little changed"
)]
pub struct WatchError {
    project: String,
    reason: String,
}

/// Watches a project until it is dropped.
pub struct Watch {
    /// Holds at most one notification, so that a flood of events takes no memory.
    changed: Receiver<()>,
    _watcher: notify::RecommendedWatcher,
}

impl Watch {
    pub fn new(project: &Path) -> Result<Watch, WatchError> {
        let failed =
            |error: notify::Error| WatchError { project: project.display().to_string(), reason: error.to_string() };
        let (sender, changed) = sync_channel(1);
        let root = project.to_owned();
        let mut rules = Ignored::below(project, project);
        let on_event = move |event: notify::Result<Event>| {
            if event.as_ref().is_ok_and(changes_rules) {
                rules = Ignored::below(&root, &root);
            }
            // An error, such as an overflowed queue, means that events were missed, so it counts as
            // a change.
            if event.map_or(true, |event| counts(&rules, &event)) {
                // If the channel is full, a notification is already waiting.
                let _ = sender.try_send(());
            }
        };
        let mut watcher = notify::recommended_watcher(on_event).map_err(failed)?;
        watcher.watch(project, RecursiveMode::Recursive).map_err(failed)?;
        Ok(Watch { changed, _watcher: watcher })
    }

    /// Waits for the end of the next burst of changes; `false` if cancelled.
    pub fn wait(&self, cancel: &Cancel) -> bool {
        let mut burst: Option<(Instant, Instant)> = None;
        loop {
            if cancel.is_cancelled() {
                return false;
            }
            let now = Instant::now();
            if burst.is_some_and(|(begun, last)| now - last >= QUIET || now - begun >= BURST_MAX) {
                return true;
            }
            match self.changed.recv_timeout(if burst.is_some() { QUIET } else { LOOK }) {
                Ok(()) => burst = Some((burst.map_or(now, |(begun, _)| begun), Instant::now())),
                Err(RecvTimeoutError::Timeout) => {}
                // The watcher owns the sender and lives as long as `self`: without it, no more
                // events can arrive.
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }
}

/// Whether an event changes files in the project that are not ignored.
fn counts(rules: &Ignored, event: &Event) -> bool {
    if matches!(event.kind, EventKind::Access(_)) {
        return false;
    }
    // A deleted path may have been a folder, but is treated as a file.
    let counts = |path: &PathBuf| !rules.covers(path, path.is_dir());
    event.paths.is_empty() || changes_rules(event) || event.paths.iter().any(counts)
}

/// Whether an event changes which files are ignored.
fn changes_rules(event: &Event) -> bool {
    let is_rule = |path: &PathBuf| {
        path.ends_with(".gitignore")
            || path.ends_with(".ignore")
            || path.ends_with("info/exclude")
            || path.ends_with(".git")
    };
    !matches!(event.kind, EventKind::Access(_)) && event.paths.iter().any(is_rule)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::thread;

    use super::*;

    fn check(path: &str, expected: bool) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".gitignore"), "/built\n").unwrap();
        let rules = Ignored::below(folder.path(), folder.path());
        let event = Event::new(EventKind::Any).add_path(folder.path().join(path));
        assert_eq!(counts(&rules, &event), expected, "{path}");
        assert!(!counts(&rules, &Event { kind: EventKind::Access(notify::event::AccessKind::Any), ..event }));
    }

    #[test]
    fn neither_the_index_nor_an_ignored_file_wakes_the_watch() {
        check("src/a.ts", true);
        check("lib/.monobloc.ts", true);
        check(".monobloc/monobloc.db-wal", false);
        check(".git/index", false);
        check("module/.git/index", false);
        check("built/deep/a.js", false);
        check("src/.gitignore", true);
        check(".git/info/exclude", true);
    }

    #[test]
    fn a_burst_of_changes_is_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        let watch = Watch::new(folder.path()).unwrap();
        let cancel = Cancel::new();
        for number in 0..50 {
            fs::write(folder.path().join(format!("src/{number}.ts")), "export const a = 1;\n").unwrap();
        }
        assert!(watch.wait(&cancel));
        thread::scope(|scope| {
            let (flag, watch) = (&cancel, watch);
            let second = scope.spawn(move || watch.wait(flag));
            thread::sleep(QUIET * 4);
            assert!(!second.is_finished(), "nothing has changed since");
            cancel.cancel();
            assert!(!second.join().unwrap());
        });
    }
}
