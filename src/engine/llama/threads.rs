//! The threads of a context: llama.cpp's own pool, of which a call uses as many as have a core.
//!
//! They wait for each other some 600 times a token, and do so by spinning, which is quickest as long as each has a core.
//! As soon as another program takes one, every wait lasts until the thread that is waited for has its core back: on two
//! cores 6 to 35 tokens a second instead of 120 (SmolLM2-135M), where one thread alone makes 50 to 75. The kernel says
//! how long threads that could run did not; by that the number follows (see [`ThreadCount`]). It changes no token: threads
//! share the rows of a matrix among them, and no sum is split.

use std::fs;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use llama_cpp_sys_2 as sys;

use super::count::ThreadCount;
use super::int;

/// How long threads look for the next call before they sleep: 131,072 turns a unit, some 9 ms. The next token comes sooner.
const POLL: u32 = 1;
/// After a pause as long as this the machine is looked at anew.
const PAUSE: Duration = Duration::from_secs(1);

/// The pool, and how many of it the next call uses.
pub(super) struct Threads {
    pool: NonNull<sys::ggml_threadpool>,
    count: ThreadCount,
    most: usize,
    /// Where the kernel counts for each thread, the caller's first; `None` where it does not.
    schedstats: Option<Vec<PathBuf>>,
    /// What it had counted when the number was judged last.
    waited: Vec<Duration>,
    last: Instant,
}

// SAFETY: a pool is used by whoever holds its context, one at a time.
unsafe impl Send for Threads {}

impl Threads {
    /// `most` threads, one of which is the caller's.
    pub fn new(most: usize) -> Option<Threads> {
        let most = most.max(1);
        // SAFETY: returns a plain structure.
        let mut params = unsafe { sys::ggml_threadpool_params_default(int(most)) };
        params.poll = POLL;
        let mut pool = None;
        // SAFETY: the parameters are read during the call only.
        let schedstats = schedstats_of(|| pool = NonNull::new(unsafe { sys::ggml_threadpool_new(&raw mut params) }));
        let schedstats = schedstats.filter(|files| files.len() == most);
        let (count, waited) = (ThreadCount::new(most, with_a_core(most)), Vec::new());
        Some(Threads { pool: pool?, count, most, schedstats, waited, last: Instant::now() })
    }

    pub fn pool(&self) -> sys::ggml_threadpool_t {
        self.pool.as_ptr()
    }

    /// How many the next call shall use.
    pub fn for_call(&mut self) -> usize {
        if self.schedstats.is_none() {
            return self.most;
        }
        if self.last.elapsed() > PAUSE {
            self.count = ThreadCount::new(self.most, with_a_core(self.most));
        }
        if self.count.is_new() {
            self.waited = self.waited();
        }
        self.count.now()
    }

    /// A call took so long.
    pub fn called(&mut self, wall: Duration) {
        self.last = Instant::now();
        self.count.called(wall);
        if self.count.is_due() {
            let waited = self.waited();
            let more = waited.iter().zip(&self.waited).map(|(now, before)| now.saturating_sub(*before));
            // The others of the pool are woken for a moment at each call; whether they wait for that does not matter.
            self.count.judge(more.take(self.count.now()).sum());
        }
    }

    /// Lets every call use `number` threads.
    #[cfg(test)]
    pub fn pin(&mut self, number: usize) {
        (self.most, self.schedstats) = (number, None);
    }

    /// How long each thread was able to run and did not, all told.
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
        // SAFETY: the context that used it is freed before (fields of `Context` drop after its `Drop`), and it is freed once.
        unsafe { sys::ggml_threadpool_free(self.pool.as_ptr()) }
    }
}

/// Files of the kernel's counts: for the thread that calls, then for those that `make` starts; `None` where there are
/// none. New threads bear the name of the one that makes them, so it takes one of its own for that time.
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
    // In the order in which they were started, which is that in which a call uses them.
    ours.sort_by_key(|thread| thread.file_name().and_then(|id| id.to_str()?.parse::<u32>().ok()));
    Some([PathBuf::from(OWN)].into_iter().chain(ours).map(|thread| thread.join("schedstat")).collect())
}

/// How many of `most` threads have a core to themselves now, by what other programs run; all where nobody says.
fn with_a_core(most: usize) -> usize {
    let free = || Some(cores()?.saturating_sub(running()?.saturating_sub(own_running()?)));
    free().map_or(most, |free| free.clamp(1, most))
}

/// The cores of the machine: not those of this process alone, for others run on all of them.
fn cores() -> Option<usize> {
    let counts = fs::read_to_string("/proc/stat").ok()?;
    let is_core =
        |line: &&str| line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    Some(counts.lines().filter(is_core).count()).filter(|cores| *cores > 0)
}

/// Threads of the machine that run or could.
fn running() -> Option<usize> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    load.split_whitespace().nth(3)?.split('/').next()?.parse().ok()
}

/// Those of this process: a pool that spins until the next call is no other program.
fn own_running() -> Option<usize> {
    // The state follows the name, which stands in brackets and may hold anything.
    let is_running = |thread: &fs::DirEntry| {
        let stat = fs::read_to_string(thread.path().join("stat"));
        stat.is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R')))
    };
    Some(fs::read_dir("/proc/self/task").ok()?.flatten().filter(is_running).count())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn the_kernel_is_asked_about_every_thread_of_the_pool_and_no_other() {
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

    #[test]
    fn nobody_is_given_more_threads_than_asked_for_or_none() {
        assert!((1..=2).contains(&with_a_core(2)));
        assert_eq!(with_a_core(1), 1);
    }

    #[test]
    fn a_thread_of_this_process_that_spins_is_not_taken_for_another_program() {
        let (stop, started) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    started.store(true, Ordering::Relaxed);
                }
            });
            while !started.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            let (own, all) = (own_running(), running());
            stop.store(true, Ordering::Relaxed);
            assert!(own >= Some(2), "the one that asks and the one that spins: {own:?}");
            assert!(all >= Some(2), "so does the machine: {all:?}");
        });
        assert!(cores() >= Some(1));
    }
}
