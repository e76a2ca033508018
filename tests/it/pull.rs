//! `models pull` from a local test hub: interrupted downloads resume, wrong files are refused, results work offline.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use monobloc::models::digest;
use monobloc::models::gguf::{TensorType, write::HeaderWriter};

use crate::cli::{Project, Run};

/// Number of bytes after which the first transfer of the file is cut off.
const CUT: usize = 1_000;
const FILE: &str = "tiny-router-Q8_0.gguf";
const REPOSITORY: &str = "owner/tiny-router";

/// A file with the header of a small chat model.
fn model() -> Vec<u8> {
    let mut writer = HeaderWriter::new("llama").text("tokenizer.chat_template", "<|im_start|>");
    writer.tensor("w", &[64, 64], TensorType::by_name("f32").expect("a type"));
    let data = writer.data_bytes() as usize;
    let mut bytes = writer.finish();
    bytes.resize(bytes.len() + data, 7);
    bytes
}

/// Serves one file as the hub does. Returns its address, and a log of the requested paths and ranges.
fn hub(file: Vec<u8>, sha256: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = asked.clone();
    // Ends with the test process.
    thread::spawn(move || {
        let mut cut = false;
        for stream in listener.incoming().flatten() {
            let (path, range) = request(&stream);
            log.lock().expect("no panic").push(format!("{path} {range}").trim().to_owned());
            // It fails if the client hangs up early, which is fine.
            let _ = answer(stream, &path, &range, &file, &sha256, &mut cut);
        }
    });
    (address, asked)
}

fn request(stream: &TcpStream) -> (String, String) {
    let lines: Vec<String> =
        BufReader::new(stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let path = lines.first().and_then(|line| line.split_whitespace().nth(1)).unwrap_or_default().to_owned();
    let range = lines.iter().find_map(|line| line.to_lowercase().strip_prefix("range: bytes=").map(str::to_owned));
    (path, range.unwrap_or_default())
}

fn answer(
    mut stream: TcpStream,
    path: &str,
    range: &str,
    file: &[u8],
    sha256: &str,
    cut: &mut bool,
) -> std::io::Result<()> {
    if path != format!("/{REPOSITORY}/resolve/main/{FILE}") {
        return write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
    let (from, to) = range.split_once('-').unwrap_or(("0", ""));
    let from: usize = from.parse().unwrap_or(0);
    let to: usize = to.parse().unwrap_or(file.len() - 1);
    write!(
        stream,
        "HTTP/1.1 206 Partial Content\r\nConnection: close\r\nETag: \"{sha256}\"\r\nX-Repo-Commit: c0ffee\r\n\
         Content-Range: bytes {from}-{to}/{}\r\nContent-Length: {}\r\n\r\n",
        file.len(),
        to + 1 - from
    )?;
    let whole = to + 1 - from > CUT;
    let end = if whole && !*cut { from + CUT } else { to + 1 };
    *cut |= whole;
    stream.write_all(&file[from..end])
}

/// A folder with only a models.toml that names the file.
fn folder(project: &Project, sha256: &str) -> String {
    let folder = project.folder("models");
    let table = format!("[router]\nfile = \"{FILE}\"\nhub = \"{REPOSITORY}\"\nsha256 = \"{sha256}\"\n");
    fs::write(folder.join("models.toml"), table).expect("models.toml");
    folder.to_str().expect("a plain path").to_owned()
}

#[test]
fn an_interrupted_download_resumes_and_the_file_is_found_without_the_hub() {
    let project = Project::todo();
    let bytes = model();
    let copy = project.beside("copy");
    fs::write(&copy, &bytes).expect("a file");
    let sum = digest::sha256(&copy, &project.beside("sums")).expect("a checksum");
    let (address, asked) = hub(bytes.clone(), sum.clone());
    let models = folder(&project, &sum);
    let cache = project.beside("hub");
    let run =
        |arguments: &[&str]| Run::new(&project, arguments).env("MONOBLOC_MODEL_DIR", &models).env("HF_HOME", &cache);

    let missing = run(&["models", "list"]).end().succeeded();
    assert!(missing.out.contains("monobloc models pull router"), "{}", missing.out);
    let pulled = run(&["models", "pull", "router"]).env("HF_ENDPOINT", &address).end().succeeded();
    let path = pulled.out.trim().to_owned();
    assert_eq!(fs::read(&path).expect("the file"), bytes);
    let asked = asked.lock().expect("no panic").clone();
    assert!(asked.iter().any(|one| one.ends_with(&format!(" {CUT}-"))), "it goes on where it broke off: {asked:?}");

    let found = run(&["models", "list", "--json"]).end().succeeded();
    assert_eq!(found.lines()[0]["roles"]["router"]["path"], path.as_str());
}

#[test]
fn a_file_that_the_hub_does_not_have_is_reported_at_once() {
    let project = Project::todo();
    let (address, asked) = hub(model(), "0".repeat(64));
    let models = folder(&project, &"1".repeat(64));
    let table =
        fs::read_to_string(format!("{models}/models.toml")).expect("models.toml").replace(REPOSITORY, "owner/other");
    fs::write(format!("{models}/models.toml"), table).expect("models.toml");
    let run = Run::new(&project, &["models", "pull", "router"]).env("MONOBLOC_MODEL_DIR", &models);
    let ended = run.env("HF_HOME", project.beside("hub")).env("HF_ENDPOINT", &address).end();
    assert_eq!((ended.code, asked.lock().expect("no panic").len()), (Some(1), 1), "{ended:?}");
    assert!(ended.err.contains("the hub has no such repository or file; correct models.toml"), "{}", ended.err);
}
