//! Runs a user's command in their shell, in the project, for at most ten minutes and with limited output.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::sync::mpsc;

use super::event::Event;
use crate::base::Cancel;
use crate::tools::sandbox::{Registered, kill_group};

/// Maximum output shown, in bytes.
const OUTPUT_BYTES_MAX: usize = 64 << 10;
/// A command that runs longer is killed.
const WALL_MAX: Duration = Duration::from_secs(600);
/// Time for which processes left behind by a command may keep its output open after it has ended.
const DRAIN_MAX: Duration = Duration::from_millis(500);

/// Runs `line` and sends its output as it arrives; the last event is [`Event::ShellEnded`].
pub async fn run(line: String, project: &Path, cancel: Cancel, events: mpsc::Sender<Event>) {
    let how = match ended(&line, project, cancel, &events).await {
        Ok(how) => how,
        Err(error) => format!("it could not be run: {error}"),
    };
    // This fails if the screen is gone and needs no event.
    let _ = events.send(Event::ShellEnded(how)).await;
}

async fn ended(line: &str, project: &Path, cancel: Cancel, events: &mpsc::Sender<Event>) -> std::io::Result<String> {
    let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".into());
    let mut command = Command::new(shell);
    command.arg("-c").arg(line).current_dir(project);
    // A separate process group, which can be killed as a whole.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
    let mut child = command.spawn()?;
    let leader = child.id();
    let live = leader.map(|leader| Registered::new(leader, None));
    let (sender, mut output) = mpsc::channel(16);
    read(child.stdout.take(), sender.clone());
    read(child.stderr.take(), sender);
    let deadline = tokio::time::Instant::now() + WALL_MAX;
    let mut shown = Shown { left: OUTPUT_BYTES_MAX, events };
    let status = loop {
        tokio::select! {
            Some(bytes) = output.recv() => shown.show(&bytes).await,
            status = child.wait() => break status.map_err(|error| error.to_string()),
            () = cancel.cancelled() => break Err("ended by you".to_owned()),
            () = tokio::time::sleep_until(deadline) => break Err(format!("ended after {} minutes", WALL_MAX.as_secs() / 60)),
        }
    };
    if status.is_err()
        && let Some(leader) = leader
    {
        kill_group(leader);
    }
    drop(live);
    // Output written just before the end still arrives.
    let drained = async {
        while let Some(bytes) = output.recv().await {
            shown.show(&bytes).await;
        }
    };
    let _ = tokio::time::timeout(DRAIN_MAX, drained).await;
    Ok(match status {
        Ok(status) if status.success() => "done".to_owned(),
        Ok(status) => status.to_string(),
        Err(why) => why,
    })
}

/// Reads to the end of the output on a separate task.
fn read(from: Option<impl AsyncRead + Unpin + Send + 'static>, to: mpsc::Sender<Vec<u8>>) {
    let Some(mut from) = from else { return };
    tokio::spawn(async move {
        let (mut block, mut bytes) = (vec![0; 8192], Vec::new());
        while let Ok(read @ 1..) = from.read(&mut block).await {
            bytes.extend_from_slice(&block[..read]);
            let rest = bytes.split_off(whole(&bytes));
            if to.send(std::mem::replace(&mut bytes, rest)).await.is_err() {
                return;
            }
        }
        // This fails if there is no reader any more.
        let _ = to.send(bytes).await;
    });
}

/// The bytes up to the end of the last complete character; all bytes if they are not UTF-8.
fn whole(bytes: &[u8]) -> usize {
    match str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

/// Forwards output up to a limit; the rest is read and discarded, so that the command does not
/// block.
struct Shown<'a> {
    left: usize,
    events: &'a mpsc::Sender<Event>,
}

impl Shown<'_> {
    async fn show(&mut self, bytes: &[u8]) {
        if self.left == 0 || bytes.is_empty() {
            return;
        }
        let kept = &bytes[..bytes.len().min(self.left)];
        self.left -= kept.len();
        let text = String::from_utf8_lossy(kept);
        let mut text = console::strip_ansi_codes(&text).replace("\r\n", "\n").replace('\r', "\n");
        if self.left == 0 {
            text.push_str(&format!("\n… only the first {} KiB are shown", OUTPUT_BYTES_MAX >> 10));
        }
        // This fails if the screen is gone.
        let _ = self.events.send(Event::Output(text)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn told(line: &str, cancel: Cancel) -> (String, String) {
        let (sender, mut events) = mpsc::channel(64);
        let project = tempfile::tempdir().unwrap();
        let line = line.to_owned();
        let running = tokio::spawn(async move { run(line, project.path(), cancel, sender).await });
        let (mut text, mut how) = (String::new(), String::new());
        while let Some(event) = events.recv().await {
            match event {
                Event::Output(more) => text.push_str(&more),
                Event::ShellEnded(end) => how = end,
                _ => {}
            }
        }
        running.await.unwrap();
        (text, how)
    }

    #[test]
    fn a_character_is_not_cut_between_two_reads() {
        assert_eq!((whole("ö".as_bytes()), whole(&"aö".as_bytes()[..2]), whole(b"\xff\xfe")), (2, 1, 2));
    }

    #[tokio::test]
    async fn output_and_exit_code_of_a_command_are_told() {
        assert_eq!(told("echo one", Cancel::new()).await, ("one\n".to_owned(), "done".to_owned()));
        let (text, how) = told("echo wrong >&2; exit 3", Cancel::new()).await;
        assert!(text == "wrong\n" && how.contains('3'), "{text} {how}");
    }

    #[tokio::test]
    async fn long_output_is_cut_and_a_cancelled_command_ends() {
        let (text, how) = told("head -c 200000 /dev/zero | tr '\\0' x", Cancel::new()).await;
        assert!(text.len() < 66_000 && text.contains("only the first 64 KiB"), "{}", text.len());
        assert_eq!(how, "done");
        let cancel = Cancel::new();
        cancel.cancel();
        assert_eq!(told("sleep 60", cancel).await.1, "ended by you");
    }
}
