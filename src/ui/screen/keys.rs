//! The keys: their meanings, and their list for `/help` and the documentation.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The keys as shown by `/help`.
pub const KEYS: [(&str, &str); 14] = [
    ("Enter", "send; Alt-Enter or Ctrl-J begins a new line"),
    ("Esc", "close a list, say no, or cancel what is running"),
    ("Ctrl-C", "cancel what is running; press twice to quit"),
    ("Ctrl-D", "quit once earlier requests are done"),
    ("/", "the commands"),
    ("@", "a file of the project, found by some of its letters"),
    ("!", "run your own command in the project: !git status"),
    ("Ctrl-R", "search earlier requests; the up arrow recalls the last one"),
    ("Ctrl-G", "write in the editor set by $VISUAL or $EDITOR"),
    ("Ctrl-O", "unfold thinking and diffs, or fold them"),
    ("PageUp, PageDown", "scroll"),
    ("Ctrl-U, Ctrl-W", "undo an edit, delete a word"),
    ("Ctrl-L", "redraw the screen"),
    ("/mouse", "let the mouse wheel scroll, instead of selecting text in the terminal; again to undo"),
];

/// The action of a key outside the input text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Submit,
    Newline,
    Escape,
    Interrupt,
    End,
    History,
    Editor,
    Fold,
    Redraw,
    PageUp,
    PageDown,
    Up,
    Down,
    Complete,
    /// It edits the input, or answers a question.
    Other,
}

pub fn action(key: &KeyEvent) -> Action {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let bare = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT);
    match key.code {
        KeyCode::Enter if bare => Action::Submit,
        KeyCode::Enter => Action::Newline,
        KeyCode::Char('j') if control => Action::Newline,
        KeyCode::Esc => Action::Escape,
        KeyCode::Char('c') if control => Action::Interrupt,
        KeyCode::Char('d') if control => Action::End,
        KeyCode::Char('r') if control => Action::History,
        KeyCode::Char('g') if control => Action::Editor,
        KeyCode::Char('o') if control => Action::Fold,
        KeyCode::Char('l') if control => Action::Redraw,
        KeyCode::Char('p') if control => Action::Up,
        KeyCode::Char('n') if control => Action::Down,
        KeyCode::PageUp => Action::PageUp,
        KeyCode::PageDown => Action::PageDown,
        KeyCode::Up if bare => Action::Up,
        KeyCode::Down if bare => Action::Down,
        KeyCode::Tab => Action::Complete,
        _ => Action::Other,
    }
}

pub fn help() -> String {
    KEYS.iter().map(|(key, what)| format!("{key:<18} {what}")).collect::<Vec<_>>().join("\n")
}
