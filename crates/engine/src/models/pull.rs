//! Downloads model files from the hub into its cache; with `remote`, the only code that may open a connection.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use hf_hub::api::Progress;
use hf_hub::api::sync::{Api, ApiBuilder, ApiError};
use hf_hub::{Cache, Repo};

use super::manifest::Candidate;
use super::{Role, digest, places};
use crate::base::{Bytes, Cancel};

/// Default number of attempts per download.
pub const ATTEMPTS_DEFAULT: u32 = 5;

/// The pause after the first failed attempt. It doubles after each further one, up to
/// [`PAUSE_MAX`].
const PAUSE_DEFAULT: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// A transfer that receives no data for this long is abandoned: hf_hub's client has no timeout.
const STALL_MAX: Duration = Duration::from_secs(60);

/// A file in a repository.
#[derive(Clone, Debug, PartialEq)]
pub struct Download {
    /// `owner/name`.
    pub repository: String,
    pub file: String,
    /// The expected SHA-256; `None` uses the hub's own checksum, if available.
    pub sha256: Option<String>,
}

impl Download {
    /// A candidate's files; none if models.toml does not state their source.
    pub fn of(role: Role, candidate: &Candidate) -> Vec<Download> {
        let Some(repository) = candidate.hub.clone() else { return Vec::new() };
        let one = |file: &str, sha256| Download { repository: repository.clone(), file: file.into(), sha256 };
        match role {
            Role::Embedder => {
                ["config.json", "tokenizer.json", "model.safetensors"].map(|file| one(file, None)).to_vec()
            }
            _ => candidate.download_name().map(|file| one(file, candidate.sha256.clone())).into_iter().collect(),
        }
    }
}

/// How to download.
#[derive(Clone, Debug)]
pub struct Pull {
    /// Attempts per file; each continues where the last one stopped.
    pub attempts: u32,
    /// The pause after the first failed attempt.
    pub pause: Duration,
    /// The hub's cache, shared with other programs.
    pub cache: PathBuf,
    /// Address of the hub; `None` uses `HF_ENDPOINT` or the default.
    pub endpoint: Option<String>,
}

impl Default for Pull {
    fn default() -> Pull {
        let endpoint = std::env::var("HF_ENDPOINT").ok();
        Pull { attempts: ATTEMPTS_DEFAULT, pause: PAUSE_DEFAULT, cache: places::hub_cache_dir(), endpoint }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum PullError {
    #[error("{file}: {reason}")]
    Refused { file: String, reason: String },
    #[error(
        "{file}: gave up after {attempts} attempts, the last one because {reason}; run the command again to continue"
    )]
    GaveUp { file: String, attempts: u32, reason: String },
    #[error("{file}: cancelled; run the command again to continue")]
    Cancelled { file: String },
}

/// Downloads one file and returns its path in the cache. Calls `progress` with the bytes received so far and the total.
pub fn pull(
    what: &Download,
    how: &Pull,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Bytes, Bytes),
) -> Result<PathBuf, PullError> {
    let file = || what.file.clone();
    let api = api(how).map_err(|error| PullError::Refused { file: file(), reason: words(&error) })?;
    let mut reason = String::from("none was allowed");
    for attempt in 1..=how.attempts {
        let failure = match transfer(&api, what, cancel, progress) {
            Ok(path) => match verify(&path, what) {
                Ok(()) => return Ok(path),
                Err(failure) => failure,
            },
            Err(failure) => failure,
        };
        reason = match failure {
            Failure::Cancelled => return Err(PullError::Cancelled { file: file() }),
            Failure::Final(reason) => return Err(PullError::Refused { file: file(), reason }),
            Failure::Passing(reason) => reason,
        };
        if attempt < how.attempts && !rest(how.pause.saturating_mul(1 << (attempt - 1).min(16)), cancel) {
            return Err(PullError::Cancelled { file: file() });
        }
    }
    Err(PullError::GaveUp { file: file(), attempts: how.attempts, reason })
}

fn api(how: &Pull) -> Result<Api, ApiError> {
    let builder = ApiBuilder::from_cache(Cache::new(how.cache.clone())).with_progress(false).with_retries(0);
    match &how.endpoint {
        Some(endpoint) => builder.with_endpoint(endpoint.clone()).build(),
        None => builder.build(),
    }
}

/// Waits for `pause`, but no longer than [`PAUSE_MAX`]; false if cancelled during the wait.
fn rest(pause: Duration, cancel: &Cancel) -> bool {
    let until = Instant::now() + pause.min(PAUSE_MAX);
    while Instant::now() < until && !cancel.is_cancelled() {
        thread::sleep(Duration::from_millis(20).min(until.saturating_duration_since(Instant::now())));
    }
    !cancel.is_cancelled()
}

enum Failure {
    Cancelled,
    /// Another attempt would fail in the same way.
    Final(String),
    Passing(String),
}

/// A report from the thread of a transfer.
enum News {
    /// The size of the file, in bytes.
    Total(u64),
    /// The number of bytes received since the last report.
    Came(u64),
    Ended(Result<PathBuf, ApiError>),
}

/// One attempt, on its own thread so that a stalled connection can be detected and abandoned.
fn transfer(
    api: &Api,
    what: &Download,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Bytes, Bytes),
) -> Result<PathBuf, Failure> {
    let (sender, news) = sync_channel(64);
    let (repo, file) = (api.repo(Repo::model(what.repository.clone())), what.file.clone());
    thread::spawn(move || {
        let ended = repo.download_with_progress(&file, Reporter(sender.clone()));
        // Fails after a cancellation, because the receiver is gone.
        let _ = sender.send(News::Ended(ended));
    });
    listen(&news, cancel, progress)
}

fn listen(news: &Receiver<News>, cancel: &Cancel, progress: &mut dyn FnMut(Bytes, Bytes)) -> Result<PathBuf, Failure> {
    let (mut done, mut total) = (0, 0);
    let mut last = Instant::now();
    while !cancel.is_cancelled() {
        match news.recv_timeout(Duration::from_millis(100)) {
            Ok(News::Ended(ended)) => return ended.map_err(|error| judge(&error)),
            Ok(News::Total(bytes)) => (done, total) = (0, bytes),
            Ok(News::Came(bytes)) => {
                done += bytes;
                progress(Bytes(done), Bytes(total));
            }
            Err(RecvTimeoutError::Timeout) if last.elapsed() < STALL_MAX => continue,
            Err(RecvTimeoutError::Timeout) => {
                // Another attempt would fail: the stalled transfer still holds the lock on the file.
                return Err(Failure::Final(format!("no data for {} s; run the command again", STALL_MAX.as_secs())));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(Failure::Passing("the transfer broke off".into())),
        }
        last = Instant::now();
    }
    Err(Failure::Cancelled)
}

struct Reporter(SyncSender<News>);

impl Reporter {
    /// Sends a report. If the receiver is gone, the transfer must end, but hf_hub offers no way to
    /// stop it, so its thread unwinds silently, which closes the connection and the file. The
    /// received data is kept for the next attempt.
    fn tell(&self, news: News) {
        if self.0.send(news).is_err() {
            std::panic::resume_unwind(Box::new("nobody is waiting for this download"));
        }
    }
}

impl Progress for Reporter {
    fn init(&mut self, size: usize, _filename: &str) {
        self.tell(News::Total(size as u64));
    }

    fn update(&mut self, size: usize) {
        self.tell(News::Came(size as u64));
    }

    fn finish(&mut self) {}
}

/// Decides whether another attempt may help.
fn judge(error: &ApiError) -> Failure {
    match (error, status(error)) {
        (_, Some(404)) => Failure::Final("the hub has no such repository or file; correct models.toml".into()),
        (_, Some(401 | 403)) => {
            Failure::Final("the hub requires you to log in or to accept the model's terms first".into())
        }
        (ApiError::LockAcquisition(_), _) => Failure::Final("another program is downloading the same file".into()),
        _ => Failure::Passing(words(error)),
    }
}

/// The HTTP status of a request refused by the hub. Parsed from ureq's message, because ureq is
/// used only through hf_hub.
fn status(error: &ApiError) -> Option<u16> {
    let ApiError::RequestError(error) = error else { return None };
    error.to_string().strip_prefix("http status: ")?.parse().ok()
}

/// The error's text without URLs.
fn words(error: &ApiError) -> String {
    let text = error.to_string();
    text.split_whitespace().filter(|word| !word.contains("://")).collect::<Vec<_>>().join(" ")
}

/// Compares the checksum; a file that fails is removed, so that the next attempt starts from
/// scratch.
fn verify(path: &Path, what: &Download) -> Result<(), Failure> {
    let blob = path.canonicalize().map_err(|error| Failure::Passing(error.to_string()))?;
    let Some(wanted) = what.sha256.clone().or_else(|| name_as_sha256(&blob)) else { return Ok(()) };
    let found = digest::sha256(path, &places::sha256_memory()).map_err(|error| Failure::Passing(error.to_string()))?;
    if found.eq_ignore_ascii_case(&wanted) {
        return Ok(());
    }
    let removed = fs::remove_file(path).and_then(|()| if blob.exists() { fs::remove_file(&blob) } else { Ok(()) });
    let reason = format!("its sha256 is {found}, not {wanted}");
    removed.map_err(|error| Failure::Final(format!("{reason}, and it cannot be removed: {error}")))?;
    Err(Failure::Passing(reason))
}

/// The SHA-256 of a file in the hub's cache, which uses it as the name of large files; `None` for
/// other files.
fn name_as_sha256(blob: &Path) -> Option<String> {
    let name = blob.file_name()?.to_str()?;
    (name.len() == 64 && name.chars().all(|c| c.is_ascii_hexdigit())).then(|| name.to_owned())
}

#[cfg(test)]
mod tests;
