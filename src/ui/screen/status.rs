//! The line above the input: current work, waiting work, or the available keys.

use ratatui::text::{Line, Span};

use super::state::{Screen, TICKS_A_SECOND};
use super::wrap::cut;

/// Activity indicators, one per tick.
const LIFE: [&str; 4] = ["◐", "◓", "◑", "◒"];

/// The status in at most `width` columns.
pub fn line(screen: &Screen, width: usize) -> Line<'static> {
    let theme = screen.theme;
    let (alive, text) = told(screen);
    let text = text + &waiting(screen);
    if !alive {
        return Line::styled(cut(&text, width), theme.dim());
    }
    let sign = LIFE[(screen.ticks % LIFE.len() as u64) as usize];
    let text = cut(&text, width.saturating_sub(2));
    Line::from(vec![Span::styled(format!("{sign} "), theme.accent()), Span::raw(text)])
}

/// Whether work is in progress, and the text.
fn told(screen: &Screen) -> (bool, String) {
    if let Some(running) = &screen.running {
        let seconds = (screen.ticks - running.since) / TICKS_A_SECOND;
        return match (&screen.question, running.cancelled, running.doing.as_str()) {
            (Some(_), ..) => (false, "waits for your answer".to_owned()),
            (None, true, _) => (true, "cancelling; Ctrl-C again ends the program".to_owned()),
            (None, false, "") => (true, format!("working … {seconds} s")),
            (None, false, doing) => (true, format!("{doing} … {seconds} s")),
        };
    }
    if let Some(opening) = &screen.opening {
        return (true, opening.clone());
    }
    if screen.shell_runs {
        return (true, "your command is running; Esc ends it".to_owned());
    }
    if screen.is_armed() {
        return (false, "Ctrl-C again ends the program".to_owned());
    }
    match screen.transcript.below() {
        0 => (false, "/ commands · @ files · ! shell · Ctrl-R earlier requests · /help".to_owned()),
        lines => (false, format!("{lines} lines below; PageDown shows them")),
    }
}

fn waiting(screen: &Screen) -> String {
    match screen.queue.front() {
        None => String::new(),
        Some(next) => format!(" · {} waiting, next: {}", screen.queue.len(), next.shown),
    }
}
