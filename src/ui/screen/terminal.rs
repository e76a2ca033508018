//! Takes over the terminal and restores it: at the end, on an error, on a panic and on a signal.

use std::fs::File;
use std::io::{self, Write, stdout};
use std::os::fd::AsFd;
use std::panic;
use std::sync::{Mutex, Once};
use std::thread::{self, ThreadId};

use anyhow::{Context as _, Result};
use crossterm::cursor::{MoveTo, Show};
use crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{execute, queue};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;

use super::state::Screen;
use super::view;
use crate::base::lock;
use crate::config::AlternateScreen;

/// The owner of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// The shell, or a program that borrowed the terminal.
    Others,
    /// This program; `alternate` if it draws into the terminal's second buffer.
    Screen { alternate: bool },
    /// Nobody: the terminal has been restored for good.
    Nobody,
}

/// Every writer to the terminal holds this lock, so that nothing is written once the terminal is
/// restored.
static OWNER: Mutex<Owner> = Mutex::new(Owner::Others);
/// Reports of panics on other threads, shown after the terminal is restored.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Maximum number of reports kept.
const PANICS_MAX: usize = 8;

/// Whether to draw into the terminal's second buffer, which preserves the shell's output.
/// `terminal` is its name, as in `TERM`.
fn alternates(wish: AlternateScreen, terminal: &str) -> bool {
    match wish {
        AlternateScreen::Always => true,
        AlternateScreen::Never => false,
        // These have only one buffer.
        AlternateScreen::Auto => !["linux", "vt"].iter().any(|name| terminal.starts_with(name)),
    }
}

/// The terminal while it is taken over; dropping it restores the terminal.
pub struct Terminal {
    inner: ratatui::Terminal<CrosstermBackend<Output<File>>>,
    alternate: bool,
    mouse: bool,
}

impl Terminal {
    /// Takes over the terminal.
    pub fn take(wish: AlternateScreen) -> Result<Terminal> {
        restore_on_panic();
        let alternate = alternates(wish, &std::env::var("TERM").unwrap_or_default());
        let output = |to| Output { to, kept: Vec::new(), owner: &OWNER };
        let taken = enter(alternate, false)
            .and_then(|()| device())
            .and_then(|to| ratatui::Terminal::new(CrosstermBackend::new(output(to))));
        let inner = taken
            .inspect_err(|_| restore())
            .context("the terminal cannot be taken over; `monobloc chat --plain` works line by line")?;
        Ok(Terminal { inner, alternate, mouse: false })
    }

    pub fn area(&self) -> Result<Rect> {
        Ok(Rect::from(self.inner.size()?))
    }

    pub fn draw(&mut self, screen: &Screen) -> Result<()> {
        self.inner.draw(|frame| view::draw(screen, frame))?;
        Ok(())
    }

    /// Redraws everything with the next frame. ratatui's own `clear` queries the cursor position,
    /// and the terminal's answer would be read as keys.
    pub fn clear(&mut self) -> Result<()> {
        let area = self.area()?;
        Ok(self.inner.resize(area)?)
    }

    /// Turns mouse capture on or off.
    pub fn capture_mouse(&mut self, on: bool) -> Result<()> {
        self.mouse = on;
        let output = self.inner.backend_mut();
        if on {
            execute!(output, EnableMouseCapture)?
        } else {
            execute!(output, DisableMouseCapture)?
        }
        Ok(())
    }

    /// Lends the terminal to another program.
    pub fn lend<T>(&mut self, program: impl FnOnce() -> T) -> Result<T> {
        give_back(Owner::Others);
        let ended = program();
        enter(self.alternate, self.mouse)?;
        self.clear()?;
        Ok(ended)
    }
}

/// The destination of frames: each is buffered until complete, then written unless the terminal has
/// been restored.
struct Output<W> {
    to: W,
    kept: Vec<u8>,
    owner: &'static Mutex<Owner>,
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.kept.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let frame = std::mem::take(&mut self.kept);
        let owner = lock(self.owner);
        if !matches!(*owner, Owner::Screen { .. }) {
            return Ok(());
        }
        self.to.write_all(&frame)?;
        self.to.flush()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
        for report in lock(&PANICS).drain(..) {
            tell!("{report}");
        }
    }
}

/// Standard output without the standard library's lock: a writer blocked on a terminal must not
/// delay the end of the program, which flushes standard output.
fn device() -> io::Result<File> {
    Ok(File::from(stdout().as_fd().try_clone_to_owned()?))
}

/// Takes over the terminal, unless it was restored for good.
fn enter(alternate: bool, mouse: bool) -> io::Result<()> {
    let mut owner = lock(&OWNER);
    if *owner == Owner::Nobody {
        return Ok(());
    }
    enable_raw_mode()?;
    *owner = Owner::Screen { alternate };
    let mut text: Vec<u8> = Vec::new();
    if alternate {
        queue!(text, EnterAlternateScreen)?;
    } else {
        // Scrolls the lines on the screen into the scrollback.
        text.resize(usize::from(size()?.1), b'\n');
    }
    queue!(text, EnableBracketedPaste)?;
    if mouse {
        queue!(text, EnableMouseCapture)?;
    }
    device()?.write_all(&text)
}

/// Restores the terminal for good; it cannot be taken over again.
pub fn restore() {
    give_back(Owner::Nobody);
}

fn give_back(to: Owner) {
    let mut owner = lock(&OWNER);
    if *owner == Owner::Nobody {
        return;
    }
    if let Owner::Screen { alternate } = *owner {
        // If one of these fails, the terminal is gone and the failure cannot be reported.
        let _ = leave(alternate);
        let _ = disable_raw_mode();
    }
    *owner = to;
}

fn leave(alternate: bool) -> io::Result<()> {
    let mut text: Vec<u8> = Vec::new();
    queue!(text, DisableMouseCapture, DisableBracketedPaste)?;
    if alternate {
        queue!(text, LeaveAlternateScreen, Show)?;
    } else {
        // Clears line by line, because some terminals move a screen cleared at once into their
        // scrollback.
        for row in 0..size()?.1 {
            queue!(text, MoveTo(0, row), Clear(ClearType::CurrentLine))?;
        }
        queue!(text, MoveTo(0, 0), Show)?;
    }
    device()?.write_all(&text)
}

/// A panic on the drawing thread restores the terminal before being reported. A panic on another
/// thread may be handled there, so the screen stays and the report is kept for later.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    let drawing: ThreadId = thread::current().id();
    ONCE.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if thread::current().id() == drawing {
                restore();
            }
            if matches!(*lock(&OWNER), Owner::Screen { .. }) {
                let mut kept = lock(&PANICS);
                if kept.len() < PANICS_MAX {
                    kept.push(panic.to_string());
                }
            } else {
                report(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_once_the_terminal_is_given_back() {
        static OWNER: Mutex<Owner> = Mutex::new(Owner::Screen { alternate: true });
        let mut output = Output { to: Vec::new(), kept: Vec::new(), owner: &OWNER };
        output.write_all(b"one").expect("it is kept");
        assert_eq!(output.to, b"", "a frame is written as a whole");
        output.flush().expect("it is written");
        output.write_all(b"two").expect("it is kept");
        *lock(&OWNER) = Owner::Nobody;
        output.flush().expect("it is dropped");
        assert_eq!(output.to, b"one");
    }

    fn check(wish: AlternateScreen, terminal: &str, expected: bool) {
        assert_eq!(alternates(wish, terminal), expected, "{wish:?} {terminal}");
    }

    #[test]
    fn the_alternate_screen_is_used_where_there_is_one_unless_the_user_says_otherwise() {
        check(AlternateScreen::Auto, "xterm-256color", true);
        check(AlternateScreen::Auto, "linux", false);
        check(AlternateScreen::Always, "linux", true);
        check(AlternateScreen::Never, "xterm-256color", false);
    }
}
