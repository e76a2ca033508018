//! Tries a model file in a separate process before loading it here, because some damaged files make llama.cpp abort.
//!
//! The child is this program itself (`monobloc models check FILE --here`), which runs
//! [`rehearse`](super::llama::Weights::rehearse). A file that passed is recorded by its
//! fingerprint, so that it is tried only once.

use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{self, Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::llama::{BINDING, LlamaError};
use crate::base::file;
use crate::models::digest;
use crate::models::gguf::{self, Header, Kind};

/// A vocabulary of 262,144 tokens takes half a second; a damaged file may hang.
const WAITED_MAX: Duration = Duration::from_secs(60);
/// Maximum number of bytes of the child's output to keep; the last lines state why it ended.
const WORDS_BYTES_MAX: usize = 1 << 16;
/// Number of those lines that are reported.
const LINES_TOLD: usize = 3;

/// How files are tried.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The executable of this program.
    pub program: PathBuf,
    /// Where files that passed are recorded.
    pub folder: PathBuf,
}

impl Trial {
    /// Tries the file of `header` unless it has passed before. Fails with the reason if llama.cpp
    /// refuses it, ends the process or hangs. If a child cannot be started, the file is accepted.
    /// `go_on` cancels the trial by returning false.
    pub fn run(&self, header: &Header, go_on: &mut dyn FnMut() -> bool) -> Result<(), LlamaError> {
        let place = digest::fingerprint(&header.path).ok().map(|print| self.folder.join(format!("{print}.loads.json")));
        if place.as_deref().and_then(file::read_json::<String>).is_some_and(|by| by == BINDING) {
            return Ok(());
        }
        match self.again(header, go_on) {
            Err(error @ LlamaError::Untried { .. }) => {
                tracing::debug!("{error}");
                return Ok(());
            }
            tried => tried?,
        }
        // If this cannot be recorded, the only effect is that the next load takes longer.
        if let Some(Err(error)) = place.map(|place| file::replace_json(&place, &BINDING)) {
            tracing::debug!("{} passed, but that could not be recorded: {error}", header.path.display());
        }
        Ok(())
    }

    /// Tries the file of `header` even if it has already passed.
    pub fn again(&self, header: &Header, go_on: &mut dyn FnMut() -> bool) -> Result<(), LlamaError> {
        if header.kind != Kind::Projector {
            gguf::before_load(header).map_err(|error| LlamaError::Refused(error.to_string()))?;
        }
        let file = || header.path.display().to_string();
        let watched = spawn(&self.program, &header.path).and_then(|child| watch(child, WAITED_MAX, go_on));
        match watched.map_err(|error| LlamaError::Untried { file: file(), reason: error.to_string() })? {
            (End::Own(status), _) if status.success() => Ok(()),
            (End::Cancelled, _) => Err(LlamaError::Cancelled { file: file() }),
            (end, words) => Err(failed(&header.path, end, &words)),
        }
    }
}

/// How a child ended.
#[derive(Clone, Copy)]
enum End {
    Own(ExitStatus),
    /// It was killed because it took too long.
    Late,
    Cancelled,
}

fn spawn(program: &Path, file: &Path) -> io::Result<Child> {
    let mut command = Command::new(program);
    // The child reads no settings, and nothing from the folder in which this process was started.
    command.current_dir("/").args(["models", "check", "--here", "--"]).arg(path::absolute(file)?);
    command.env("MONOBLOC_LOG", "error").env("GGML_NO_BACKTRACE", "1");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()
}

/// Waits until the child ends, or kills it after `most` or when `go_on` returns false. Also returns
/// the end of its output.
fn watch(mut child: Child, most: Duration, go_on: &mut dyn FnMut() -> bool) -> io::Result<(End, String)> {
    let mut written = child.stderr.take();
    let reader = thread::spawn(move || {
        let (mut kept, mut piece) = (Vec::new(), [0; 4096]);
        // Ends with the child, whose side of the pipe is then closed.
        while let Some(bytes @ 1..) = written.as_mut().and_then(|from| from.read(&mut piece).ok()) {
            kept.extend_from_slice(&piece[..bytes]);
            let over = kept.len().saturating_sub(WORDS_BYTES_MAX);
            kept.drain(..over);
        }
        String::from_utf8_lossy(&kept).into_owned()
    });
    let until = Instant::now() + most;
    let end = loop {
        let end = match child.try_wait()? {
            Some(status) => break End::Own(status),
            None if !go_on() => End::Cancelled,
            None if Instant::now() >= until => End::Late,
            None => {
                thread::sleep(Duration::from_millis(10));
                continue;
            }
        };
        child.kill()?;
        child.wait()?;
        break end;
    };
    Ok((end, reader.join().unwrap_or_default()))
}

/// Why the trial failed, from how the child ended and its last output.
fn failed(path: &Path, end: End, words: &str) -> LlamaError {
    let lines: Vec<&str> = words.lines().map(told).filter(|line| !line.is_empty()).collect();
    // If the child ended by itself, its own message explains everything.
    let message = || lines.iter().rev().find_map(|line| line.strip_prefix("monobloc: "));
    if let (End::Own(status), Some(said)) = (end, message())
        && status.code() == Some(1)
    {
        return LlamaError::Refused(said.to_owned());
    }
    let how = match end {
        End::Own(status) => match status.signal() {
            Some(signal) => format!("it would end this program (signal {signal})"),
            None => format!("it ended with code {}", status.code().unwrap_or(-1)),
        },
        End::Late | End::Cancelled => format!("it did not return within {} s", WAITED_MAX.as_secs()),
    };
    let last = lines[lines.len().saturating_sub(LINES_TOLD)..].join("; ");
    let reason = if last.is_empty() { how } else { format!("{how}; its last output: {last}") };
    LlamaError::Load { file: path.display().to_string(), reason }
}

/// A line of the child's log without its time and level.
fn told(line: &str) -> &str {
    line.split_once(" llama.cpp: ").map_or(line, |(_, words)| words).trim()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::gguf::write::HeaderWriter;

    fn shell(script: &str) -> Child {
        Command::new("/bin/sh").args(["-c", script]).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn check(script: &str, expected: Result<(), &str>) {
        let (end, words) = watch(shell(script), Duration::from_millis(500), &mut || true).unwrap();
        let passed = matches!(end, End::Own(status) if status.success());
        let got = if passed { Ok(()) } else { Err(failed(Path::new("m.gguf"), end, &words)) };
        let load = |reason: &str| LlamaError::Load { file: "m.gguf".into(), reason: reason.into() };
        let whole = |text: &str| match text.strip_prefix("monobloc: ") {
            Some(said) => LlamaError::Refused(said.into()),
            None => load(text),
        };
        assert_eq!(got, expected.map_err(whole), "{script}");
    }

    #[test]
    fn the_reason_is_how_the_child_ended_and_what_it_wrote_last() {
        check("exit 0", Ok(()));
        check("kill -6 $$", Err("it would end this program (signal 6)"));
        check(
            "printf 'a\\nb\\nc\\n2026 ERROR llama.cpp: d\\n' >&2; kill -6 $$",
            Err("it would end this program (signal 6); its last output: b; c; d"),
        );
        check("echo 'monobloc: m.gguf is odd' >&2; exit 1", Err("monobloc: m.gguf is odd"));
        check("exit 3", Err("it ended with code 3"));
        check("exec sleep 60", Err("it did not return within 60 s"));
    }

    #[test]
    fn a_trial_that_is_cancelled_ends_at_once() {
        let begun = Instant::now();
        let (end, _) = watch(shell("exec sleep 60"), WAITED_MAX, &mut || false).unwrap();
        assert!(matches!(end, End::Cancelled) && begun.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_file_that_could_not_be_tried_is_loaded_and_not_noted_as_tried() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.gguf");
        let mut writer = HeaderWriter::new("llama").text("tokenizer.ggml.model", "gpt2");
        for key in ["block_count", "embedding_length", "context_length"] {
            writer = writer.u32(&format!("llama.{key}"), 64);
        }
        writer = writer.texts("tokenizer.ggml.tokens", &["a".into()]);
        std::fs::write(&path, writer.finish()).unwrap();
        let header = gguf::inspect(&path).unwrap();
        let noted = dir.path().join("noted");
        let trial = Trial { program: dir.path().join("missing"), folder: noted.clone() };
        assert!(matches!(trial.again(&header, &mut || true), Err(LlamaError::Untried { .. })));
        assert_eq!((trial.run(&header, &mut || true), noted.exists()), (Ok(()), false));
        let passing = Trial { program: "true".into(), folder: noted.clone() };
        assert_eq!(passing.run(&header, &mut || true), Ok(()));
        assert_eq!(std::fs::read_dir(&noted).unwrap().count(), 1);
        let known = Trial { program: "false".into(), folder: noted };
        assert_eq!(known.run(&header, &mut || true), Ok(()));
        assert!(known.again(&header, &mut || true).is_err());
    }

    #[test]
    fn words_without_end_are_cut() {
        check("head -c 300000 /dev/zero | tr '\\0' x >&2; exec sleep 0.1; exit 0", Ok(()));
    }
}
