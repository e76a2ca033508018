//! Tests downloads from a local server that fails or sends wrong bytes; the server in tests/it/pull.rs disconnects.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::*;

/// SHA-256 of `abc`, from FIPS 180-2.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// How the server handles a request.
#[derive(Clone, Copy)]
enum Answer {
    Status(&'static str),
    /// Sends these bytes from the requested position on.
    Serve(&'static [u8]),
}

struct Hub {
    endpoint: String,
    /// The `Range` of every request, in order.
    asked: Arc<Mutex<Vec<String>>>,
}

/// Answers one request per configured answer, then stops.
fn hub(answers: Vec<Answer>) -> Hub {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = asked.clone();
    thread::spawn(move || {
        for answer in answers {
            let Ok((stream, _)) = listener.accept() else { return };
            let range = range_of(&stream);
            log.lock().unwrap().push(range.clone());
            // The client may close the connection early.
            let _ = reply(stream, &range, answer);
        }
    });
    Hub { endpoint, asked }
}

fn range_of(stream: &TcpStream) -> String {
    let lines = BufReader::new(stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let range = lines.filter_map(|line| line.to_lowercase().strip_prefix("range: bytes=").map(str::to_owned)).last();
    range.unwrap_or_default()
}

fn reply(mut stream: TcpStream, range: &str, answer: Answer) -> std::io::Result<()> {
    let bytes = match answer {
        Answer::Status(status) => {
            return write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
        Answer::Serve(bytes) => bytes,
    };
    let (from, to) = range.split_once('-').unwrap_or(("0", ""));
    let from: usize = from.parse().unwrap_or(0);
    let to: usize = to.parse().unwrap_or(bytes.len() - 1);
    write!(
        stream,
        "HTTP/1.1 206 Partial Content\r\nConnection: close\r\nETag: \"{ABC}\"\r\nX-Repo-Commit: abc\r\n\
         Content-Range: bytes {from}-{to}/{}\r\nContent-Length: {}\r\n\r\n",
        bytes.len(),
        to + 1 - from
    )?;
    stream.write_all(&bytes[from..=to])
}

struct Outcome {
    result: Result<String, String>,
    asked: Vec<String>,
    reported: Vec<(u64, u64)>,
    dir: tempfile::TempDir,
}

fn run(attempts: u32, sha256: Option<&str>, answers: Vec<Answer>) -> Outcome {
    let hub = hub(answers);
    let dir = tempfile::tempdir().unwrap();
    let how =
        Pull { attempts, pause: Duration::from_millis(1), cache: dir.path().join("hub"), endpoint: Some(hub.endpoint) };
    let what = Download { repository: "owner/repo".into(), file: "m.gguf".into(), sha256: sha256.map(str::to_owned) };
    let mut reported = Vec::new();
    let pulled = pull(&what, &how, &Cancel::new(), &mut |done, total| reported.push((done.0, total.0)));
    let result = pulled.map(|path| fs::read_to_string(path).unwrap()).map_err(|error| error.to_string());
    let asked = hub.asked.lock().unwrap().clone();
    Outcome { result, asked, reported, dir }
}

#[test]
fn a_download_survives_a_failing_hub() {
    let abc = Answer::Serve(b"abc");
    let outcome = run(2, Some(ABC), vec![Answer::Status("503 Service Unavailable"), abc, abc]);
    assert_eq!(outcome.result, Ok("abc".into()));
    assert_eq!(outcome.asked, ["0-0", "0-0", "0-"]);
    assert_eq!(outcome.reported.last(), Some(&(3, 3)));
    let cached = super::super::scan::in_hub_cache(&outcome.dir.path().join("hub"), "owner/repo", "m.gguf");
    assert!(cached.is_some());
}

#[test]
fn attempts_are_counted_and_then_given_up() {
    let outcome = run(3, None, vec![Answer::Status("500 Oops"); 9]);
    assert_eq!(outcome.asked.len(), 3);
    let said = outcome.result.unwrap_err();
    assert!(said.starts_with("m.gguf: gave up after 3 attempts") && said.contains("500"), "{said}");
    assert!(!said.contains("127.0.0.1"), "{said}");
}

#[test]
fn a_permanent_error_is_not_tried_again() {
    for (status, expected) in [("404 Not Found", "no such repository or file"), ("403 Forbidden", "accept the model's")]
    {
        let outcome = run(4, None, vec![Answer::Status(status); 9]);
        assert_eq!(outcome.asked.len(), 1);
        assert!(outcome.result.unwrap_err().contains(expected));
    }
}

#[test]
fn a_wrong_file_is_removed_and_fetched_anew() {
    let (wrong, right) = (Answer::Serve(b"abX"), Answer::Serve(b"abc"));
    assert_eq!(run(2, Some(ABC), vec![wrong, wrong, right, right]).result, Ok("abc".into()));
    let outcome = run(1, Some(ABC), vec![wrong, wrong]);
    let said = outcome.result.unwrap_err();
    assert!(said.contains("its sha256 is") && said.contains(ABC), "{said}");
}

#[test]
fn a_cancelled_download_stops() {
    let dir = tempfile::tempdir().unwrap();
    let how = Pull { cache: dir.path().into(), endpoint: Some("http://127.0.0.1:9".into()), ..Pull::default() };
    let cancel = Cancel::new();
    cancel.cancel();
    let what = Download { repository: "owner/repo".into(), file: "m.gguf".into(), sha256: None };
    assert!(matches!(pull(&what, &how, &cancel, &mut |_, _| ()), Err(PullError::Cancelled { .. })));
}

#[test]
fn an_embedder_is_three_files_and_a_pattern_alone_is_none() {
    let embedder = Candidate { file: "mini".into(), hub: Some("owner/mini".into()), ..Candidate::default() };
    assert_eq!(Download::of(Role::Embedder, &embedder).len(), 3);
    let pattern = Candidate { file: "m*.gguf".into(), hub: Some("owner/m".into()), ..Candidate::default() };
    assert!(Download::of(Role::Planner, &pattern).is_empty());
    let named = Candidate { pull: Some("m-Q4.gguf".into()), ..pattern };
    assert_eq!(Download::of(Role::Router, &named)[0].file, "m-Q4.gguf");
}
