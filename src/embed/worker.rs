//! Runs the thread that owns the weights: one batch at a time under the device's permit, queries before bulk work.

use crate::base::lock;
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::base::Cancel;
use crate::embed::batch;
use crate::embed::error::EmbedError;

/// How urgent a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// A search that a user or a step waits for; it runs between two batches of bulk work.
    Query,
    /// Indexing and similar work.
    Bulk,
}

/// Waits until a batch may run on the device; the returned permit is dropped when the batch is done.
pub type Gate = Arc<dyn Fn(Urgency) -> Box<dyn Any> + Send + Sync>;

/// The model, as far as the worker needs to know it.
pub trait Encoder: Send + 'static {
    /// One vector per sequence of token ids, in order; the error is a message for the user.
    fn encode(&self, sequences: &[&[u32]]) -> Result<Vec<Vec<f32>>, String>;
}

type Answer = Result<Vec<Vec<f32>>, EmbedError>;

/// Most waiting requests. Each caller waits for its own, so this limits callers, not texts.
const WAITING_MAX: usize = 64;

/// How often a waiting caller checks its cancellation flag.
const LOOK: Duration = Duration::from_millis(20);

struct Job {
    sequences: Vec<Vec<u32>>,
    /// Batches still to compute, as indices of `sequences`; the next one is last.
    batches: Vec<Vec<usize>>,
    vectors: Vec<Vec<f32>>,
    urgency: Urgency,
    cancel: Cancel,
    answer: Sender<Answer>,
}

/// The queue of requests between handles and the worker.
pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    waiting: VecDeque<Job>,
    open: bool,
    /// The worker's thread ended by a panic.
    panicked: bool,
}

impl State {
    /// The error of a request that is not answered. Only a panic drops a request while the queue is open.
    fn stopped(&self) -> EmbedError {
        let panicked = self.panicked || self.open;
        let reason = if panicked { "its thread panicked" } else { "its last handle was dropped" };
        EmbedError::Stopped(reason.to_owned())
    }
}

impl Queue {
    pub fn new() -> Arc<Queue> {
        let state = State { waiting: VecDeque::new(), open: true, panicked: false };
        Arc::new(Queue { state: Mutex::new(state), changed: Condvar::new() })
    }

    /// Embeds the sequences in batches of `batch_tokens`; blocks until all are done or `cancel` is set.
    pub fn embed(&self, sequences: Vec<Vec<u32>>, batch_tokens: usize, urgency: Urgency, cancel: &Cancel) -> Answer {
        let lengths: Vec<usize> = sequences.iter().map(Vec::len).collect();
        let batches = batch::batches(&lengths, batch_tokens);
        let (answer, receiver) = channel();
        let vectors = vec![Vec::new(); sequences.len()];
        self.push(Job { sequences, batches, vectors, urgency, cancel: cancel.clone(), answer })?;
        self.wait(&receiver, cancel)
    }

    /// Ends the worker after its present batch; waiting requests fail with [`EmbedError::Stopped`].
    pub fn close(&self) {
        self.lock().open = false;
        self.changed.notify_all();
    }

    fn push(&self, job: Job) -> Result<(), EmbedError> {
        let mut state = self.lock();
        while state.open && state.waiting.len() >= WAITING_MAX {
            if job.cancel.is_cancelled() {
                return Err(EmbedError::Cancelled);
            }
            state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        if !state.open {
            return Err(state.stopped());
        }
        state.waiting.push_back(job);
        self.changed.notify_all();
        Ok(())
    }

    fn wait(&self, receiver: &Receiver<Answer>, cancel: &Cancel) -> Answer {
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Disconnected) => return Err(self.lock().stopped()),
                Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => return Err(EmbedError::Cancelled),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Waits for a job and takes the first query, else the first job; `None` when the queue is closed.
    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if !state.open {
                return None;
            }
            let urgent = state.waiting.iter().position(|job| job.urgency == Urgency::Query).unwrap_or(0);
            if let Some(job) = state.waiting.remove(urgent) {
                self.changed.notify_all();
                return Some(job);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Puts an unfinished job back in front of those that came after it.
    fn resume(&self, job: Job) {
        self.lock().waiting.push_front(job);
    }

    /// Ignores poisoning: changes to the state cannot panic half-way, so it is consistent even after a panic.
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// Runs the worker until the queue is closed, then drops the encoder and fails all waiting requests.
pub fn run(encoder: impl Encoder, queue: &Queue, gate: &Gate) {
    // Closes the queue even after a panic below, so that no caller waits for a thread that has ended.
    struct Closing<'a>(&'a Queue);
    impl Drop for Closing<'_> {
        fn drop(&mut self) {
            self.0.lock().panicked = std::thread::panicking();
            self.0.close();
            self.0.lock().waiting.clear();
        }
    }
    let _closing = Closing(queue);
    while let Some(job) = queue.next() {
        if let Some(unfinished) = advance(job, &encoder, gate) {
            queue.resume(unfinished);
        }
    }
}

/// Computes one batch of the job; returns the job unless it is finished and answered.
fn advance(mut job: Job, encoder: &impl Encoder, gate: &Gate) -> Option<Job> {
    let outcome = if job.cancel.is_cancelled() {
        Err(EmbedError::Cancelled)
    } else if let Some(places) = job.batches.pop() {
        let sequences: Vec<&[u32]> = places.iter().map(|place| &job.sequences[*place][..]).collect();
        match compute(&sequences, job.urgency, encoder, gate) {
            Ok(vectors) => {
                places.into_iter().zip(vectors).for_each(|(place, vector)| job.vectors[place] = vector);
                if !job.batches.is_empty() {
                    return Some(job);
                }
                Ok(std::mem::take(&mut job.vectors))
            }
            Err(reason) => Err(EmbedError::Failed(reason)),
        }
    } else {
        Ok(Vec::new())
    };
    // Fails if the caller was cancelled, because its receiver is gone.
    let _ = job.answer.send(outcome);
    None
}

/// Computes one batch under the permit. An error or a panic fails only this request, because encoders have no state that a panic
/// could corrupt.
fn compute(
    sequences: &[&[u32]],
    urgency: Urgency,
    encoder: &impl Encoder,
    gate: &Gate,
) -> Result<Vec<Vec<f32>>, String> {
    let _permit = gate(urgency);
    let vectors = catch_unwind(AssertUnwindSafe(|| encoder.encode(sequences))).unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(words.unwrap_or("a panic without words").to_owned())
    })?;
    if vectors.len() != sequences.len() {
        return Err(format!("{} vectors for {} texts; this is a bug in the encoder", vectors.len(), sequences.len()));
    }
    Ok(vectors)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::{self, JoinHandle};
    use std::time::Instant;

    use super::*;

    /// Gives as vector of a text its first token; 13 is an error, 666 a panic. Every batch takes `delay`.
    struct Scripted {
        delay: Duration,
        seen: Arc<Mutex<Vec<u32>>>,
    }

    impl Encoder for Scripted {
        fn encode(&self, sequences: &[&[u32]]) -> Result<Vec<Vec<f32>>, String> {
            thread::sleep(self.delay);
            let firsts: Vec<u32> = sequences.iter().map(|sequence| sequence[0]).collect();
            self.seen.lock().unwrap().extend(&firsts);
            assert!(!firsts.contains(&666), "token 666");
            if firsts.contains(&13) {
                Err("token 13".into())
            } else {
                Ok(firsts.iter().map(|x| vec![*x as f32]).collect())
            }
        }
    }

    struct Running {
        queue: Arc<Queue>,
        seen: Arc<Mutex<Vec<u32>>>,
        permits: Arc<AtomicUsize>,
        thread: JoinHandle<()>,
    }

    fn start(delay_ms: u64) -> Running {
        let (queue, seen, permits) = (Queue::new(), Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let counted = permits.clone();
        let gate: Gate = Arc::new(move |_| Box::new(counted.fetch_add(1, Ordering::SeqCst)));
        let encoder = Scripted { delay: Duration::from_millis(delay_ms), seen: seen.clone() };
        let worker = queue.clone();
        let thread = thread::spawn(move || run(encoder, &worker, &gate));
        Running { queue, seen, permits, thread }
    }

    fn texts(firsts: impl IntoIterator<Item = u32>) -> Vec<Vec<u32>> {
        firsts.into_iter().map(|first| vec![first; 1 + first as usize % 3]).collect()
    }

    #[test]
    fn vectors_are_in_the_order_of_the_texts_and_each_batch_takes_a_permit() {
        let running = start(0);
        let answer = running.queue.embed(texts([5, 4, 9, 2]), 3, Urgency::Bulk, &Cancel::new());
        assert_eq!(answer, Ok(vec![vec![5.0], vec![4.0], vec![9.0], vec![2.0]]));
        assert_eq!(running.permits.load(Ordering::SeqCst), 3, "3 + 3 + 2 + 1 tokens in batches of at most 3");
        assert_eq!(running.queue.embed(Vec::new(), 3, Urgency::Bulk, &Cancel::new()), Ok(Vec::new()));
    }

    #[test]
    fn an_error_or_a_panic_of_one_request_leaves_the_worker_running() {
        let running = start(0);
        let ask = |first| running.queue.embed(texts([first]), 8, Urgency::Query, &Cancel::new());
        assert_eq!(ask(13), Err(EmbedError::Failed("token 13".into())));
        assert_eq!(ask(666), Err(EmbedError::Failed("token 666".into())));
        assert_eq!(ask(7), Ok(vec![vec![7.0]]));
    }

    #[test]
    fn requests_to_a_worker_that_panicked_say_so() {
        let queue = Queue::new();
        let worker = queue.clone();
        let gate: Gate = Arc::new(|_| panic!("no permit"));
        let encoder = Scripted { delay: Duration::ZERO, seen: Arc::default() };
        let thread = thread::spawn(move || run(encoder, &worker, &gate));
        let ask = || queue.embed(texts([1]), 8, Urgency::Query, &Cancel::new());
        let panicked: Answer = Err(EmbedError::Stopped("its thread panicked".to_owned()));
        assert_eq!(ask(), panicked);
        assert!(thread.join().is_err());
        assert_eq!(ask(), panicked);
    }

    #[test]
    fn a_query_runs_between_the_batches_of_bulk_work() {
        let running = start(20);
        thread::scope(|scope| {
            let bulk =
                scope.spawn(|| running.queue.embed(texts((0..20).map(|i| i * 3)), 1, Urgency::Bulk, &Cancel::new()));
            while running.seen.lock().unwrap().is_empty() {
                thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(running.queue.embed(texts([100]), 8, Urgency::Query, &Cancel::new()), Ok(vec![vec![100.0]]));
            assert!(running.seen.lock().unwrap().len() < 20, "the query waited for all bulk work");
            assert_eq!(bulk.join().unwrap().unwrap().len(), 20);
        });
    }

    #[test]
    fn a_cancelled_request_ends_between_two_batches() {
        let running = start(10);
        let cancel = Cancel::new();
        thread::scope(|scope| {
            let bulk = scope.spawn(|| running.queue.embed(texts(vec![3; 500]), 1, Urgency::Bulk, &cancel));
            while running.seen.lock().unwrap().is_empty() {
                thread::sleep(Duration::from_millis(1));
            }
            let since = Instant::now();
            cancel.cancel();
            assert_eq!(bulk.join().unwrap(), Err(EmbedError::Cancelled));
            assert!(since.elapsed() < Duration::from_secs(2), "500 batches take 5 s");
        });
        running.queue.close();
        running.thread.join().unwrap();
        assert!(running.seen.lock().unwrap().len() < 500);
    }

    #[test]
    fn closing_the_queue_ends_the_thread_and_fails_waiting_requests() {
        let running = start(10);
        thread::scope(|scope| {
            let bulk = scope.spawn(|| running.queue.embed(texts(vec![3; 500]), 1, Urgency::Bulk, &Cancel::new()));
            while running.seen.lock().unwrap().is_empty() {
                thread::sleep(Duration::from_millis(1));
            }
            running.queue.close();
            assert!(matches!(bulk.join().unwrap(), Err(EmbedError::Stopped(_))));
        });
        running.thread.join().unwrap();
        let late = running.queue.embed(texts([1]), 8, Urgency::Query, &Cancel::new());
        assert!(matches!(late, Err(EmbedError::Stopped(_))));
    }
}
