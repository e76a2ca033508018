//! Owns the llama.cpp thread pool of a context; a call uses as many of its threads as have a core.
//!
//! The threads wait for each other about 600 times per token by spinning, which is fastest as long
//! as each has a core. If another program takes a core, every wait lasts until the delayed thread
//! has a core again: on two cores, the speed drops from 120 to between 6 and 35 tokens per second
//! (SmolLM2-135M), while a single thread reaches 50 to 75. The kernel records how long threads that
//! were ready to run had no core, and [`ThreadCount`] adapts to that. The number of threads does
//! not affect the tokens: threads share the rows of a matrix, and no sum is split.

use std::fs;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use llama_cpp_sys_2 as sys;

use super::int;
use crate::engine::llama::thread_count::ThreadCount;

/// How long threads spin before they sleep, in units of 131,072 iterations, about 9 ms. The next
/// token usually comes sooner.
const POLL: u32 = 1;
/// After a longer pause, all threads are tried again, because other programs may have ended.
const PAUSE: Duration = Duration::from_secs(1);

/// The pool, and how many of its threads the next call uses.
pub(super) struct Threads {
    pool: NonNull<sys::ggml_threadpool>,
    count: ThreadCount,
    most: usize,
    /// The kernel's `schedstat` file for each thread, the caller's first; `None` if the kernel has
    /// none.
    schedstats: Option<Vec<PathBuf>>,
    /// Each thread's waiting time at the start of the current assessment period.
    waited: Vec<Duration>,
    /// When the last call ended.
    last: Instant,
}

// SAFETY: a pool is used only by the holder of its context, by one thread at a time.
unsafe impl Send for Threads {}

impl Threads {
    /// A pool of `most` threads, one of which is the caller's; `None` if ggml cannot create it.
    pub fn new(most: usize) -> Option<Threads> {
        let most = most.max(1);
        // SAFETY: the call returns a plain structure.
        let mut params = unsafe { sys::ggml_threadpool_params_default(int(most)) };
        params.poll = POLL;
        let mut pool = None;
        // SAFETY: the parameters are read only during the call.
        let schedstats = schedstats_of(|| pool = NonNull::new(unsafe { sys::ggml_threadpool_new(&raw mut params) }));
        let schedstats = schedstats.filter(|files| files.len() == most);
        let (count, waited) = (ThreadCount::new(most), Vec::new());
        Some(Threads { pool: pool?, count, most, schedstats, waited, last: Instant::now() })
    }

    /// Its number of threads.
    pub fn most(&self) -> usize {
        self.most
    }

    pub fn pool(&self) -> sys::ggml_threadpool_t {
        self.pool.as_ptr()
    }

    /// How many threads the next call must use.
    pub fn for_call(&mut self) -> usize {
        if self.schedstats.is_none() {
            return self.most;
        }
        if self.last.elapsed() > PAUSE {
            self.count = ThreadCount::new(self.most);
        }
        if self.count.is_new() {
            self.waited = self.waited();
        }
        self.count.now()
    }

    /// Records that a call took `wall`.
    pub fn called(&mut self, wall: Duration) {
        self.last = Instant::now();
        self.count.called(wall);
        if self.count.is_due() {
            let waited = self.waited();
            let more = waited.iter().zip(&self.waited).map(|(now, before)| now.saturating_sub(*before));
            // The unused threads are also woken briefly at each call, but their waiting does not
            // matter.
            self.count.judge(more.take(self.count.now()).sum());
        }
    }

    /// Makes every call use `number` threads.
    #[cfg(test)]
    pub fn pin(&mut self, number: usize) {
        (self.most, self.schedstats) = (number, None);
    }

    /// How long each thread has been ready to run without a core, in total.
    fn waited(&self) -> Vec<Duration> {
        let waited = |path: &PathBuf| {
            let counted = fs::read_to_string(path).ok()?;
            counted.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
        };
        self.schedstats.iter().flatten().map(|path| waited(path).unwrap_or_default()).collect()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // SAFETY: the context that used it is freed first (fields of `Context` drop after its
        // `Drop`), and it is freed once.
        unsafe { sys::ggml_threadpool_free(self.pool.as_ptr()) }
    }
}

/// The `schedstat` files of the calling thread and of the threads that `make` starts; `None` if
/// there are none. New threads inherit the calling thread's name, so the calling thread has a
/// unique name during the call.
fn schedstats_of(make: impl FnOnce()) -> Option<Vec<PathBuf>> {
    const OWN: &str = "/proc/thread-self";
    static POOLS: AtomicUsize = AtomicUsize::new(0);
    let own_name = Path::new(OWN).join("comm");
    let name = format!("ggml-{}", POOLS.fetch_add(1, Ordering::Relaxed));
    let before = fs::read_to_string(&own_name).ok();
    let is_named = before.is_some() && fs::write(&own_name, &name).is_ok();
    make();
    fs::write(&own_name, before?.trim_end()).ok().filter(|()| is_named)?;
    let threads = fs::read_dir("/proc/self/task").ok()?.flatten().map(|thread| thread.path());
    let is_ours = |thread: &PathBuf| fs::read_to_string(thread.join("comm")).is_ok_and(|comm| comm.trim_end() == name);
    let mut ours: Vec<PathBuf> = threads.filter(is_ours).collect();
    // Sorted in the order in which they were started, which is also the order in which calls use
    // them.
    ours.sort_by_key(|thread| thread.file_name().and_then(|id| id.to_str()?.parse::<u32>().ok()));
    Some([PathBuf::from(OWN)].into_iter().chain(ours).map(|thread| thread.join("schedstat")).collect())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_schedstat_files_are_those_of_the_threads_of_the_pool() {
        let other = std::thread::Builder::new().name("ggml-other".into()).spawn(std::thread::park).expect("a thread");
        let (one, three) = (Threads::new(1).expect("a pool"), Threads::new(3).expect("a pool"));
        assert_eq!(one.schedstats.as_deref(), Some(&[PathBuf::from("/proc/thread-self/schedstat")][..]));
        let files = three.schedstats.as_deref().expect("files");
        assert!(files.len() == 3 && files.iter().all(|file| file.exists()), "{files:?}");
        assert_eq!(three.waited().len(), 3);
        let name = fs::read_to_string("/proc/thread-self/comm").expect("a name");
        assert!(!name.starts_with("ggml-"), "the caller has its own name back: {name}");
        other.thread().unpark();
        other.join().expect("it ends");
    }
}
