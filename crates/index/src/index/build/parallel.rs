//! Processes a list on several threads and hands the results in batches to one writer, because SQLite allows only one.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use super::stop;
use crate::base::Cancel;
use crate::index::IndexError;

/// Results per thread that may wait to be written: enough to bridge one large file, few enough to
/// bound memory.
const WAITING: usize = 32;

/// Calls `read` once per item on at most `threads` threads, each with its own state from `start`,
/// and `write` with batches of at most `batch` results, in no particular order. Ends early when
/// `write` fails or `cancel` is set; unwritten results are then lost.
pub fn read<'a, I: Sync, T: Send, S>(
    items: &'a [I],
    threads: usize,
    batch: usize,
    start: impl Fn() -> S + Sync,
    read: impl Fn(&mut S, &I) -> T + Sync,
    cancel: &Cancel,
    mut write: impl FnMut(Vec<(&'a I, T)>) -> Result<(), IndexError>,
) -> Result<(), IndexError> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(threads).min(items.len());
    let (next, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = mpsc::sync_channel(WAITING * threads.max(1));
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, ended, start, read) = (sender.clone(), &next, &ended, &start, &read);
            scope.spawn(move || {
                let mut state = start();
                while !ended.load(Ordering::Relaxed) {
                    let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                    // The receiver is gone after an error or a cancellation.
                    if sender.send((item, read(&mut state, item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut write_all = || -> Result<(), IndexError> {
            let mut waiting = Vec::new();
            loop {
                stop(cancel)?;
                let Ok(one) = receiver.recv() else { break };
                waiting.push(one);
                if waiting.len() >= batch {
                    write(std::mem::take(&mut waiting))?;
                }
            }
            if waiting.is_empty() { Ok(()) } else { write(waiting) }
        };
        let outcome = write_all();
        ended.store(true, Ordering::Relaxed);
        // This wakes a thread that waits for room in the channel.
        drop(receiver);
        outcome
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_read_once_and_batches_are_bounded() {
        let items: Vec<usize> = (0..1_000).collect();
        let mut seen = Vec::new();
        let write = |batch: Vec<(&usize, usize)>| {
            assert!(!batch.is_empty() && batch.len() <= 64);
            seen.extend(batch.into_iter().map(|(item, double)| (*item, double)));
            Ok(())
        };
        read(&items, 4, 64, || (), |(), item| item * 2, &Cancel::new(), write).unwrap();
        seen.sort_unstable();
        assert_eq!(seen, (0..1_000).map(|i| (i, i * 2)).collect::<Vec<_>>());
        let nothing: &[usize] = &[];
        read(nothing, 4, 64, || (), |(), item| *item, &Cancel::new(), |_| panic!("there is nothing to write")).unwrap();
    }

    #[test]
    fn a_cancellation_or_a_failed_write_ends_the_run_early() {
        let items: Vec<usize> = (0..100_000).collect();
        let reads = AtomicUsize::new(0);
        let count = |(): &mut (), _: &usize| reads.fetch_add(1, Ordering::Relaxed);
        let cancel = Cancel::new();
        let cancelled = read(
            &items,
            4,
            10,
            || (),
            count,
            &cancel,
            |_| {
                cancel.cancel();
                Ok(())
            },
        );
        assert!(matches!(cancelled, Err(IndexError::Cancelled)));
        let failed = read(&items, 4, 10, || (), count, &Cancel::new(), |_| Err(IndexError::Cancelled));
        assert!(failed.is_err());
        assert!(reads.load(Ordering::Relaxed) < 10_000, "{reads:?} of 200,000 were read");
    }
}
