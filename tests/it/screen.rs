//! The full-screen terminal from outside: keys are sent to a pseudo-terminal, and an emulator
//! returns the content of the screen.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use vt100::Parser;

use crate::cli::{Project, Run};
use crate::clock::eventually;
#[cfg(target_os = "linux")]
use crate::interrupt::at_work;

const CHANGE: &str = "In src/retry.ts change the maximum number of attempts from 5 to 3";
/// The status line of an open session without a running turn.
const IDLE: &str = "/ commands";
/// Letters do not answer a question within its first half second.
const READ: Duration = Duration::from_millis(900);
const ENTER: &str = "\r";
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
/// Number of lines kept that have scrolled off the screen.
const SCROLLBACK: usize = 200;

/// The program in its own terminal, which is closed on drop.
struct Window {
    /// The end of the terminal that sends keys and receives output.
    terminal: File,
    program: Child,
    emulator: Parser,
}

impl Window {
    /// Starts `monobloc` without arguments in a window of this size, below one line of shell
    /// output.
    fn open(project: &Project, columns: u16, rows: u16) -> Window {
        Window::open_with(project, columns, rows, &[])
    }

    fn open_with(project: &Project, columns: u16, rows: u16, settings: &[(&str, &str)]) -> Window {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        // If the program inherited this descriptor, closing it here would not close the terminal.
        #[cfg(target_os = "linux")]
        let flags = flags | OpenptFlags::CLOEXEC;
        let terminal = openpt(flags).expect("a pseudo terminal");
        grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("a pseudo terminal");
        fcntl_setfl(&terminal, OFlags::NONBLOCK).expect("a pseudo terminal");
        tcsetwinsize(&terminal, size(columns, rows)).expect("a pseudo terminal");
        let name = ptsname(&terminal, Vec::new()).expect("a name");
        let name = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let inside =
            File::options().read(true).write(true).custom_flags(libc::O_NOCTTY).open(name).expect("a terminal");

        let run = Run::new::<&str>(project, &[]);
        // The shell finally replaces itself with the program.
        let mut command = Command::new("sh");
        command.args(["-c", "echo said before; exec \"$0\""]).arg(run.command.get_program());
        command.current_dir(project.path());
        for (name, value) in run.command.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("TERM", "xterm-256color").envs(settings.iter().copied());
        let of = |file: &File| file.try_clone().expect("a terminal");
        command.stdin(of(&inside)).stdout(of(&inside)).stderr(inside);
        let lead = || {
            rustix::process::setsid()?;
            Ok(rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?)
        };
        // SAFETY: between fork and exec it makes two system calls and neither allocates memory nor
        // takes a lock.
        unsafe { command.pre_exec(lead) };
        let program = command.spawn().expect("sh runs");
        Window { terminal: terminal.into(), program, emulator: Parser::new(rows, columns, SCROLLBACK) }
    }

    /// Reads the new output and examines the screen.
    fn look<T>(&mut self, at: impl FnOnce(&mut vt100::Screen) -> T) -> T {
        let mut bytes = [0; 4096];
        // Fails if there is no output, or if the program has ended.
        while let Ok(count @ 1..) = self.terminal.read(&mut bytes) {
            self.emulator.process(&bytes[..count]);
        }
        at(self.emulator.screen_mut())
    }

    fn is_alternate(&mut self) -> bool {
        self.look(|screen| screen.alternate_screen())
    }

    /// The lines of the screen below those that have scrolled off it.
    fn shown(&mut self) -> String {
        self.look(|screen| {
            let columns = screen.size().1;
            screen.set_scrollback(usize::MAX);
            let mut lines = Vec::new();
            for above in (1..=screen.scrollback()).rev() {
                screen.set_scrollback(above);
                lines.extend(screen.rows(0, columns).next());
            }
            screen.set_scrollback(0);
            lines.extend(screen.rows(0, columns));
            lines.join("\n")
        })
    }

    fn until(&mut self, text: &str) {
        let mut shown = String::new();
        let is = || {
            shown = self.shown();
            shown.contains(text)
        };
        eventually(&format!("`{text}` does not appear"), is);
    }

    fn write(&mut self, text: &str) {
        self.terminal.write_all(text.as_bytes()).expect("the terminal is open");
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        self.look(|screen| screen.set_size(rows, columns));
        tcsetwinsize(&self.terminal, size(columns, rows)).expect("the terminal is open");
    }

    /// Closes the program's terminal.
    fn close(&mut self) {
        self.terminal = File::open("/dev/null").expect("a file");
    }

    /// Waits for the end of the program; returns its exit code.
    fn ended(&mut self) -> Option<i32> {
        let mut status = None;
        let is = || {
            self.look(|_| ());
            status = self.program.try_wait().expect("a child");
            status.is_some()
        };
        eventually("it does not end", is);
        self.look(|_| status.and_then(|status| status.code()))
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // Fails if the program has already ended.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn size(ws_col: u16, ws_row: u16) -> Winsize {
    Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 }
}

#[test]
fn a_change_is_approved_and_the_conversation_stays_in_the_scrollback() {
    let project = Project::todo();
    let mut window = Window::open(&project, 80, 24);
    window.until(IDLE);
    assert!(window.is_alternate());
    window.write(CHANGE);
    window.write(ENTER);
    window.until("y yes");
    window.until("+export const MAX_ATTEMPTS = 3;");
    thread::sleep(READ);
    window.write("y");
    eventually("the file is not changed", || project.text("src/retry.ts").contains("MAX_ATTEMPTS = 3;"));
    window.until(IDLE);
    window.write("/exit");
    window.write(ENTER);
    assert_eq!(window.ended(), Some(0));
    assert!(!window.is_alternate());
    let left = window.shown();
    assert!(left.contains(&format!("> {CHANGE}")) && left.contains("you: yes"), "{left}");
}

#[test]
fn the_screen_follows_the_size_of_its_window() {
    let project = Project::todo();
    let mut window = Window::open(&project, 80, 24);
    window.until(IDLE);
    window.resize(40, 12);
    window.write("/p");
    window.until("commands");
    window.until("/pin NAME");
    assert!(window.shown().lines().all(|line| line.chars().count() <= 40), "{}", window.shown());
    window.write(CTRL_C);
    window.write(CTRL_C);
    assert_eq!(window.ended(), Some(130));
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_of_the_user_is_shown_and_a_signal_gives_the_terminal_back() {
    let project = Project::todo();
    let mut window = Window::open(&project, 100, 30);
    window.until(IDLE);
    window.write("!ls src");
    window.write(ENTER);
    window.until("retry.ts");
    window.until("done");
    window.write("!sleep 300");
    window.write(ENTER);
    let folder = project.path().canonicalize().expect("a folder");
    eventually("the command does not run", || at_work("sleep", &folder));
    let program = window.program.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &program]).status().expect("kill runs").success());
    assert_eq!(window.ended(), Some(143));
    assert!(!window.is_alternate());
    eventually("the command outlives the program", || !at_work("sleep", &folder));
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_of_the_user_ends_with_the_terminal() {
    let project = Project::todo();
    let mut window = Window::open(&project, 100, 30);
    window.until(IDLE);
    window.write("!sleep 300");
    window.write(ENTER);
    let folder = project.path().canonicalize().expect("a folder");
    eventually("the command does not run", || at_work("sleep", &folder));
    window.close();
    eventually("the command outlives the terminal", || !at_work("sleep", &folder));
}

#[test]
fn without_the_alternate_buffer_the_scrollback_stays_in_reach() {
    let project = Project::todo();
    let mut window = Window::open_with(&project, 80, 24, &[("MONOBLOC_ALTERNATE_SCREEN", "never")]);
    window.until(IDLE);
    assert!(!window.is_alternate());
    assert!(window.shown().contains("said before"), "{}", window.shown());
    window.write("/help");
    window.write(ENTER);
    window.until("search earlier requests; the up arrow");
    window.write(CTRL_D);
    assert_eq!(window.ended(), Some(0));
    let left = window.shown();
    let (before, after) = left.split_once("said before").expect("what was there");
    assert!(before.trim().is_empty() && after.contains("the commands") && !after.contains(IDLE), "{left}");
}
