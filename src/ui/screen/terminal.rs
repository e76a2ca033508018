//! Takes the terminal over and gives it back: at the end, on an error, on a panic and on a signal.

use std::io::{self, Stdout, Write, stdout};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once};
use std::thread::{self, ThreadId};

use anyhow::{Context as _, Result};
use crossterm::cursor::Show;
use crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{execute, queue};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;

use super::state::Screen;
use super::view;
use crate::base::lock;

/// Whether the terminal is taken over.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// Reports of panics on other threads, which are shown once the terminal is given back.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Most reports that are kept.
const PANICS_MAX: usize = 8;

/// The terminal while it is taken over; dropping it gives it back.
pub struct Terminal {
    inner: ratatui::Terminal<CrosstermBackend<Stdout>>,
    mouse: bool,
}

impl Terminal {
    /// Takes the terminal over.
    pub fn take() -> Result<Terminal> {
        restore_on_panic();
        let taken = enter(false).and_then(|()| ratatui::Terminal::new(CrosstermBackend::new(stdout())));
        let inner = taken
            .inspect_err(|_| restore())
            .context("the terminal cannot be taken over; `monobloc chat --plain` works line by line")?;
        Ok(Terminal { inner, mouse: false })
    }

    pub fn area(&self) -> Result<Rect> {
        Ok(Rect::from(self.inner.size()?))
    }

    pub fn draw(&mut self, screen: &Screen) -> Result<()> {
        self.inner.draw(|frame| view::draw(screen, frame))?;
        Ok(())
    }

    /// Draws everything anew with the next frame. ratatui's own `clear` asks the terminal for the cursor, and the answer would
    /// be read as keys.
    pub fn clear(&mut self) -> Result<()> {
        let area = self.area()?;
        Ok(self.inner.resize(area)?)
    }

    /// Switches the capture of the mouse on or off.
    pub fn capture_mouse(&mut self, on: bool) -> Result<()> {
        self.mouse = on;
        if on {
            execute!(stdout(), EnableMouseCapture)?
        } else {
            execute!(stdout(), DisableMouseCapture)?
        }
        Ok(())
    }

    /// Lends the terminal to another program.
    pub fn lend<T>(&mut self, program: impl FnOnce() -> T) -> Result<T> {
        restore();
        let ended = program();
        enter(self.mouse)?;
        self.clear()?;
        Ok(ended)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
        for report in lock(&PANICS).drain(..) {
            eprintln!("{report}");
        }
    }
}

fn enter(mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    let mut out = stdout();
    queue!(out, EnterAlternateScreen, EnableBracketedPaste)?;
    if mouse {
        queue!(out, EnableMouseCapture)?;
    }
    out.flush()
}

/// Gives the terminal back as it was; does nothing if it is not taken over.
pub fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // If one of these fails the terminal is gone, and nobody can be told.
        let _ = execute!(stdout(), DisableMouseCapture, DisableBracketedPaste, LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

/// A panic on the thread that draws gives the terminal back before it is reported. One on another thread may be handled
/// there, so the screen stays; its report is kept for later.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    let drawing: ThreadId = thread::current().id();
    ONCE.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if thread::current().id() == drawing {
                restore();
            }
            if TAKEN.load(Ordering::SeqCst) {
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
