//! All events that can change the screen, and all effects that the screen can request.

use crossterm::event::KeyEvent;

use super::popup::Choice;
use crate::protocol::{self, Decision, Memory, Proposal};
use crate::tools::mcp::offers::Offers;
use crate::ui::cli::chat::line::{Show, Work};
use crate::ui::cli::chat::work::Attached;
use crate::ui::open::Told;

#[derive(Debug)]
pub enum Event {
    Key(KeyEvent),
    /// Text that the terminal marked as a paste.
    Paste(String),
    /// The mouse wheel, in lines towards the beginning.
    Wheel(isize),
    Resize {
        width: u16,
        height: u16,
    },
    /// Sent [`super::state::TICKS_A_SECOND`] times a second.
    Tick,
    /// The program was interrupted by a signal.
    Interrupt,
    /// Sent while the session is being opened.
    Opening(Told),
    /// The session accepts requests; `asked` holds the project's earlier requests, oldest first.
    Opened {
        asked: Vec<String>,
    },
    /// The running work reports an event.
    Turn(protocol::Event),
    /// The running work is waiting for a decision.
    Approve(Proposal),
    /// The running work could not be finished.
    Failed(String),
    /// The running work has ended.
    Done,
    Memory(Memory),
    /// The answer to [`Effect::Show`].
    Shown(Result<String, String>),
    /// The answer to [`Effect::ListCheckpoints`], newest first.
    Checkpoints(Result<Vec<Choice>, String>),
    /// The answer to [`Effect::ListFiles`].
    Files(Vec<String>),
    /// The answer to [`Effect::ListOffers`].
    Offers(Offers),
    /// Output of the user's own command.
    Output(String),
    /// The user's own command has ended; the text describes how.
    ShellEnded(String),
    /// The external editor was closed.
    Edited {
        what: Edited,
        text: Result<String, String>,
    },
}

/// The text opened in the external editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edited {
    Input,
    /// The arguments of the call awaiting a decision, as JSON.
    Arguments,
}

/// Work to do outside the screen.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    Start {
        work: Work,
        attached: Attached,
    },
    /// Cancels the running work.
    Cancel,
    Decide(Decision),
    Show(Show),
    ListCheckpoints,
    ListFiles,
    /// Requests the servers' resources and prompts.
    ListOffers,
    /// Runs the user's own command.
    Shell(String),
    KillShell,
    Edit {
        what: Edited,
        text: String,
    },
    /// Turns mouse capture on or off.
    Mouse(bool),
    /// Redraws everything.
    Redraw,
    Quit {
        cancelled: bool,
    },
}
