//! Connects the screen to the terminal, the session and the clock, until the user ends it.

use std::io;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use crossterm::event::{self, EventStream, MouseEventKind};
use futures_util::StreamExt;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until, timeout};

use super::doer::Doer;
use super::event::{Edited, Effect, Event};
use super::state::{About, TICKS_A_SECOND};
use super::terminal::Terminal;
use super::theme::Theme;
use super::{Options, Screen, editor, lookup};
use crate::app::App;
use crate::config::ApproveMode;
use crate::protocol::Mode;
use crate::session::Session;
use crate::ui::cli::STARTED;
use crate::ui::open;

/// Maximum number of waiting events from the background, which blocks at this limit.
const EVENTS_MAX: usize = 256;
/// Interval between frames: thirty per second, which works over ssh.
const FRAME: Duration = Duration::from_millis(33);
/// Time limit for the user's command to end when the program ends.
const SETTLE_MAX: Duration = Duration::from_secs(1);
/// Number of lines that the mouse wheel scrolls.
const WHEEL_LINES: isize = 3;

/// An opened session and the project's earlier requests, or the reason there is none.
type Opened = Result<(Session, Vec<String>)>;

/// Runs a conversation in the full terminal. The first frame is drawn before any model or the index
/// is touched.
pub async fn run(app: &App, options: Options) -> Result<()> {
    let mut terminal = Terminal::take(app.config.alternate_screen)?;
    let screen = Screen {
        about: about(app, options),
        asks_servers: !app.config.servers.is_empty(),
        ..Screen::new(Theme::of_environment(), terminal.area()?, options)
    };
    terminal.draw(&screen)?;
    tracing::info!("first frame after {} ms", STARTED.elapsed().as_millis());
    let (sender, events) = mpsc::channel(EVENTS_MAX);
    let opened = opening(app.clone(), sender.clone());
    let mut clock = interval(Duration::from_millis(1000 / TICKS_A_SECOND));
    clock.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut conversation = Conversation {
        screen,
        terminal,
        doer: Doer::new(app.clone(), options, sender),
        events,
        opened: Some(opened),
        input: Some(EventStream::new()),
        interrupts: signal(SignalKind::interrupt())?,
        clock,
        due: Instant::now(),
        stale: true,
        ended: None,
    };
    let ended = conversation.hold().await;
    conversation.settle().await;
    let lines: Vec<String> = conversation.screen.transcript.lines().map(|line| line.to_string()).collect();
    // Restores the terminal; the transcript then goes to the shell's output.
    drop(conversation);
    lines.iter().for_each(|line| putln!("{}", line.trim_end()));
    if ended? {
        app.cancel.cancel();
        bail!("cancelled");
    }
    Ok(())
}

fn about(app: &App, options: Options) -> About {
    let folder = app.project().unwrap_or_else(|_| app.config.project.clone());
    let project =
        folder.file_name().map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned());
    let mode = match options.mode {
        Mode::Agent => "agent",
        Mode::Chat => "chat",
    };
    let asks = match (options.approves, app.config.approve) {
        (true, _) | (false, ApproveMode::Never) => "never asks",
        (false, ApproveMode::OnDestructive) => "asks before it destroys something",
        (false, ApproveMode::OnMutation) => "asks before it changes something",
        (false, ApproveMode::Always) => "asks before every call",
    };
    About { project, mode, asks }
}

/// Opens the session on a separate thread, and passes it to the screen.
fn opening(app: App, events: mpsc::Sender<Event>) -> oneshot::Receiver<Opened> {
    let (sender, opened) = oneshot::channel();
    tokio::task::spawn_blocking(move || {
        // These fail if the screen is gone and needs no session.
        let session = open::session(&app, "monobloc", &mut |told| drop(events.blocking_send(Event::Opening(told))));
        let _ = sender.send(session.map(|session| (session, lookup::asked(&app))));
    });
    opened
}

struct Conversation {
    screen: Screen,
    terminal: Terminal,
    doer: Doer,
    events: mpsc::Receiver<Event>,
    /// `None` once the session is open.
    opened: Option<oneshot::Receiver<Opened>>,
    /// `None` while another program has the terminal.
    input: Option<EventStream>,
    interrupts: Signal,
    clock: Interval,
    /// The earliest time for the next frame.
    due: Instant,
    /// Whether anything has changed since the last frame.
    stale: bool,
    /// `None` while it is running; then whether it was cancelled.
    ended: Option<bool>,
}

impl Conversation {
    /// Runs until the end; returns whether the user cancelled.
    async fn hold(&mut self) -> Result<bool> {
        loop {
            let event = tokio::select! {
                () = sleep_until(self.due), if self.stale => {
                    self.terminal.draw(&self.screen)?;
                    (self.stale, self.due) = (false, Instant::now() + FRAME);
                    continue;
                }
                event = typed(&mut self.input) => {
                    let event = event.context("the terminal is closed")??;
                    match heard(event) {
                        Some(event) => event,
                        None => continue,
                    }
                }
                found = opened(&mut self.opened) => {
                    let (session, asked) = found?;
                    self.doer.open(session);
                    Event::Opened { asked }
                }
                event = self.doer.next() => event,
                Some(event) = self.events.recv() => event,
                Some(()) = self.interrupts.recv() => Event::Interrupt,
                _ = self.clock.tick() => {
                    self.look_at_memory();
                    Event::Tick
                }
            };
            self.stale = true;
            let effects = self.screen.apply(event);
            self.carry_out(effects)?;
            if let Some(cancelled) = self.ended {
                return Ok(cancelled);
            }
        }
    }

    /// Cancels running work. Waits briefly for the user's command, so that no part of it outlives
    /// the program.
    async fn settle(&mut self) {
        self.doer.end();
        let events = &mut self.events;
        let ended = async { while events.recv().await.is_some_and(|event| !matches!(event, Event::ShellEnded(_))) {} };
        if self.screen.shell_runs {
            // If the command does not end in time, it ends with the program.
            let _ = timeout(SETTLE_MAX, ended).await;
        }
    }

    /// Called once a second.
    fn look_at_memory(&mut self) {
        if self.screen.ticks.is_multiple_of(TICKS_A_SECOND)
            && let Some(memory) = self.doer.memory()
        {
            self.screen.apply(Event::Memory(memory));
        }
    }

    fn carry_out(&mut self, effects: Vec<Effect>) -> Result<()> {
        for effect in effects {
            match effect {
                Effect::Edit { what, text } => self.edit(what, &text)?,
                Effect::Mouse(on) => self.terminal.capture_mouse(on)?,
                Effect::Redraw => self.terminal.clear()?,
                Effect::Quit { cancelled } => self.ended = Some(cancelled),
                other => self.doer.carry_out(other),
            }
        }
        Ok(())
    }

    /// Lends the terminal to the editor. The turn continues, but its events wait.
    fn edit(&mut self, what: Edited, text: &str) -> Result<()> {
        let ending = match what {
            Edited::Input => ".md",
            Edited::Arguments => ".json",
        };
        // Its thread would read the keys meant for the editor, and holds a lock that a second
        // stream would wait for.
        self.input = None;
        let terminal = &mut self.terminal;
        let edited = tokio::task::block_in_place(|| terminal.lend(|| editor::edited(text, ending)))?;
        self.input = Some(EventStream::new());
        // A Ctrl-C in the editor was meant for the editor, so only later ones count.
        self.interrupts = signal(SignalKind::interrupt())?;
        let area = self.terminal.area()?;
        self.screen.apply(Event::Resize { width: area.width, height: area.height });
        let effects = self.screen.apply(Event::Edited { what, text: edited });
        self.carry_out(effects)
    }
}

/// The next event from the terminal; waits forever while another program has it.
async fn typed(input: &mut Option<EventStream>) -> Option<io::Result<event::Event>> {
    match input {
        Some(input) => input.next().await,
        None => std::future::pending().await,
    }
}

/// The opened session, once; afterwards waits forever.
async fn opened(opening: &mut Option<oneshot::Receiver<Opened>>) -> Opened {
    let Some(receiver) = opening else { return std::future::pending().await };
    let opened = receiver.await.context("opening the project ended early; MONOBLOC_LOG=debug shows why");
    *opening = None;
    opened?
}

/// The screen's event for a terminal event, if there is one.
fn heard(event: event::Event) -> Option<Event> {
    match event {
        event::Event::Key(key) => Some(Event::Key(key)),
        event::Event::Paste(text) => Some(Event::Paste(text)),
        event::Event::Resize(width, height) => Some(Event::Resize { width, height }),
        event::Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::ScrollUp => Some(Event::Wheel(WHEEL_LINES)),
            MouseEventKind::ScrollDown => Some(Event::Wheel(-WHEEL_LINES)),
            _ => None,
        },
        event::Event::FocusGained | event::Event::FocusLost => None,
    }
}
