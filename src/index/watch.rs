//! Watches a project for file changes: a burst of changes counts once, changes of the index itself do not count.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use notify::{Event, EventKind, RecursiveMode, Watcher};

use crate::base::Cancel;

/// No change for this long means that a burst (a save, a checkout, a build) is over.
const QUIET: Duration = Duration::from_millis(60);
/// A burst that goes on is reported after this long.
const BURST_MAX: Duration = Duration::from_secs(2);
/// How often the cancellation flag is checked.
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
        let on_event = move |event: notify::Result<Event>| {
            // An error, such as an overflowed queue, means that events were missed, so it counts as a change.
            if event.map_or(true, |event| counts(&root, &event)) {
                // If the channel is full, a notification is already waiting.
                let _ = sender.try_send(());
            }
        };
        let mut watcher = notify::recommended_watcher(on_event).map_err(failed)?;
        watcher.watch(project, RecursiveMode::Recursive).map_err(failed)?;
        Ok(Watch { changed, _watcher: watcher })
    }

    /// Waits for the end of the next burst of changes; `false` when cancelled.
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
                // The watcher holds the sender and lives as long as `self`: without it no event can come any more.
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }
}

/// Whether an event changes project files, and not the index folder or that of version control.
fn counts(root: &Path, event: &Event) -> bool {
    if matches!(event.kind, EventKind::Access(_)) {
        return false;
    }
    let own = |path: &Path| {
        let inside = path.strip_prefix(root).unwrap_or(path);
        inside.iter().next().is_some_and(|first| [".monobloc", ".git", ".hg", ".svn"].iter().any(|own| first == *own))
    };
    event.paths.is_empty() || event.paths.iter().any(|path| !own(path))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::thread;

    use super::*;

    fn check(path: &str, expected: bool) {
        let event = Event::new(EventKind::Any).add_path(Path::new("/project").join(path));
        assert_eq!(counts(Path::new("/project"), &event), expected, "{path}");
    }

    #[test]
    fn the_index_does_not_wake_itself() {
        check("src/a.ts", true);
        check("lib/.monobloc.ts", true);
        check(".monobloc/monobloc.db-wal", false);
        check(".git/index", false);
        assert!(!counts(Path::new("/"), &Event::new(EventKind::Access(notify::event::AccessKind::Any))));
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
