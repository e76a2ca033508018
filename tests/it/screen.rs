//! The full-screen terminal from outside: tmux types the keys and says what stands on the screen.

use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::cli::{Project, Run};
use crate::clock::eventually;
#[cfg(target_os = "linux")]
use crate::interrupt::at_work;

const CHANGE: &str = "In src/retry.ts change the maximum number of attempts from 5 to 3";
/// What the status says when the session is open and nothing runs.
const IDLE: &str = "/ commands";
/// Letters do not answer a question within its first half second.
const READ: Duration = Duration::from_millis(900);

/// The program in a tmux server of its own, which ends with this value.
struct Window {
    socket: String,
}

impl Window {
    /// Starts `monobloc` without arguments in a window of this size, below a line of a shell.
    fn open(project: &Project, width: u16, height: u16) -> Window {
        Window::open_with(project, width, height, &[])
    }

    fn open_with(project: &Project, width: u16, height: u16, settings: &[(&str, &str)]) -> Window {
        let file = project.beside("tmux.conf");
        // The window stays when the program has ended, so that what it left behind can be read.
        std::fs::write(&file, "set -g remain-on-exit on\nset -g default-terminal screen\n").expect("a file");
        let window = Window { socket: project.beside("tmux").display().to_string() };
        let mut run = Run::new::<&str>(project, &[]);
        run.command.envs(settings.iter().copied());
        let mut tmux = window.tmux(&[]);
        for (name, value) in run.command.get_envs() {
            match value {
                Some(value) => tmux.env(name, value),
                None => tmux.env_remove(name),
            };
        }
        // In a window of tmux the new server would be taken for the one that runs the tests.
        tmux.env_remove("TMUX").arg("-f").arg(&file).args(["new-session", "-d"]);
        tmux.args(["-x", &width.to_string(), "-y", &height.to_string(), "-c"]).arg(project.path());
        // In the end the window's process is the program.
        tmux.args(["sh", "-c", "echo said before; exec \"$0\""]).arg(run.command.get_program());
        let started = tmux.status().expect("tmux; scripts/setup --tests installs it");
        assert!(started.success());
        window
    }

    fn tmux(&self, arguments: &[&str]) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.args(["-u", "-S", &self.socket]).args(arguments);
        tmux
    }

    fn told(&self, arguments: &[&str]) -> String {
        let output = self.tmux(arguments).output().expect("tmux runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The screen, with what has scrolled out of it.
    fn shown(&self) -> String {
        self.told(&["capture-pane", "-p", "-S", "-200"])
    }

    fn until(&self, text: &str) {
        let mut shown = String::new();
        eventually(&format!("`{text}` does not appear"), || {
            shown = self.shown();
            shown.contains(text)
        });
    }

    /// Types a text as it is.
    fn write(&self, text: &str) {
        self.told(&["send-keys", "-l", text]);
    }

    /// Presses a key by tmux's name for it.
    fn press(&self, key: &str) {
        self.told(&["send-keys", key]);
    }

    fn fact(&self, name: &str) -> String {
        self.told(&["display-message", "-p", &format!("#{{{name}}}")]).trim().to_owned()
    }

    /// Waits for the end of the program; returns its exit code, which tmux knows a moment after the end of its output.
    fn ended(&self) -> String {
        let mut status = String::new();
        eventually("it does not end", || {
            // tmux 3.3a at times misses the end of a child until another one ends.
            self.told(&["run-shell", "true"]);
            status = self.fact("pane_dead_status");
            !status.is_empty()
        });
        status
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // It fails if the server has ended already.
        let _ = self.tmux(&["kill-server"]).output();
    }
}

#[test]
fn a_change_is_approved_and_the_conversation_stays_in_the_scrollback() {
    let project = Project::todo();
    let window = Window::open(&project, 80, 24);
    window.until(IDLE);
    assert_eq!(window.fact("alternate_on"), "1");
    window.write(CHANGE);
    window.press("Enter");
    window.until("y yes");
    window.until("+export const MAX_ATTEMPTS = 3;");
    thread::sleep(READ);
    window.write("y");
    eventually("the file is not changed", || project.text("src/retry.ts").contains("MAX_ATTEMPTS = 3;"));
    window.until(IDLE);
    window.write("/exit");
    window.press("Enter");
    assert_eq!(window.ended(), "0");
    assert_eq!(window.fact("alternate_on"), "0");
    let left = window.shown();
    assert!(left.contains(&format!("> {CHANGE}")) && left.contains("you: yes"), "{left}");
}

#[test]
fn the_screen_follows_the_size_of_its_window() {
    let project = Project::todo();
    let window = Window::open(&project, 80, 24);
    window.until(IDLE);
    window.told(&["resize-window", "-x", "40", "-y", "12"]);
    window.write("/p");
    window.until("commands");
    window.until("/pin NAME");
    assert!(window.shown().lines().all(|line| line.chars().count() <= 40), "{}", window.shown());
    window.press("C-c");
    window.press("C-c");
    assert_eq!(window.ended(), "130");
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_of_the_user_is_shown_and_a_signal_gives_the_terminal_back() {
    let project = Project::todo();
    let window = Window::open(&project, 100, 30);
    window.until(IDLE);
    window.write("!ls src");
    window.press("Enter");
    window.until("retry.ts");
    window.until("done");
    window.write("!sleep 300");
    window.press("Enter");
    let folder = project.path().canonicalize().expect("a folder");
    eventually("the command does not run", || at_work("sleep", &folder));
    let ended = Command::new("kill").args(["-TERM", &window.fact("pane_pid")]).status().expect("kill runs");
    assert!(ended.success());
    assert_eq!(window.ended(), "143");
    assert_eq!(window.fact("alternate_on"), "0");
    eventually("the command outlives the program", || !at_work("sleep", &folder));
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_of_the_user_ends_with_the_terminal() {
    let project = Project::todo();
    let window = Window::open(&project, 100, 30);
    window.until(IDLE);
    window.write("!sleep 300");
    window.press("Enter");
    let folder = project.path().canonicalize().expect("a folder");
    eventually("the command does not run", || at_work("sleep", &folder));
    window.told(&["kill-window"]);
    eventually("the command outlives the terminal", || !at_work("sleep", &folder));
}

#[test]
fn without_the_alternate_buffer_the_scrollback_stays_in_reach() {
    let project = Project::todo();
    let window = Window::open_with(&project, 80, 24, &[("MONOBLOC_ALTERNATE_SCREEN", "never")]);
    window.until(IDLE);
    assert_eq!(window.fact("alternate_on"), "0");
    assert!(window.shown().contains("said before"), "{}", window.shown());
    window.write("/help");
    window.press("Enter");
    window.until("search earlier requests; the arrow up");
    window.press("C-d");
    assert_eq!(window.ended(), "0");
    let left = window.shown();
    let (before, after) = left.split_once("said before").expect("what was there");
    assert!(before.trim().is_empty() && after.contains("the commands") && !after.contains(IDLE), "{left}");
}
