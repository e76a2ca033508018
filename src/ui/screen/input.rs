//! The text that the user is writing, with each long paste and each pasted path of a picture as a mark.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::style::Style;
use ratatui_textarea::{CursorMove, TextArea, WrapMode};

use super::wrap::columns;
use crate::base::path_of;
use crate::models::picture;
use crate::protocol::{GIVEN_BYTES_MAX, GIVEN_MAX, Given, REQUEST_BYTES_MAX};
use crate::ui::cli::chat::work::Attached;

/// A paste with more lines or bytes than this is folded.
const PASTE_LINES_SHOWN: usize = 8;
const PASTE_BYTES_SHOWN: usize = 1_000;
/// Maximum number of input rows on the screen; longer input scrolls.
pub const ROWS_MAX: usize = 8;

/// The input line, which can have several lines.
pub struct Input {
    area: TextArea<'static>,
    pastes: Vec<Paste>,
}

/// A paste shown as a mark in the input.
#[derive(Clone, Debug, PartialEq)]
struct Paste {
    mark: String,
    what: Pasted,
}

#[derive(Clone, Debug, PartialEq)]
enum Pasted {
    Text(Arc<str>),
    /// The file of a picture.
    Picture(PathBuf),
}

impl Paste {
    /// The text for which its mark stands: of a picture its path, in quotes if it has blanks.
    fn text(&self) -> Cow<'_, str> {
        match &self.what {
            Pasted::Text(text) => Cow::Borrowed(text),
            Pasted::Picture(path) => {
                let path = path.to_string_lossy();
                let quote = if path.contains('\'') { '"' } else { '\'' };
                if path.contains(' ') { Cow::Owned(format!("{quote}{path}{quote}")) } else { path }
            }
        }
    }
}

/// An input text that can be restored later.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// With marks instead of long pastes.
    pub shown: String,
    pastes: Vec<Paste>,
}

impl From<String> for Draft {
    fn from(shown: String) -> Draft {
        Draft { shown, pastes: Vec::new() }
    }
}

impl Draft {
    /// The text with pasted texts and paths in place of their marks.
    pub fn whole(&self) -> String {
        self.pastes.iter().fold(self.shown.clone(), |whole, paste| whole.replace(&paste.mark, &paste.text()))
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        self.shown.len() + self.pastes.iter().map(|paste| paste.text().len()).sum::<usize>()
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Submitted {
    /// With marks instead of long pastes.
    pub shown: String,
    /// With the paths of pictures and the pasted texts, unless these are attached because they are
    /// too long for the request.
    pub text: String,
    pub attached: Attached,
}

impl Default for Input {
    fn default() -> Input {
        Input { area: area(""), pastes: Vec::new() }
    }
}

fn area(text: &str) -> TextArea<'static> {
    let mut area = TextArea::new(text.split('\n').map(without_controls).collect());
    area.set_cursor_line_style(Style::new());
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    area.move_cursor(CursorMove::Bottom);
    area.move_cursor(CursorMove::End);
    area
}

/// A line without characters that would move the terminal's cursor.
fn without_controls(line: &str) -> String {
    line.chars().filter(|c| *c == '\t' || !c.is_control()).collect()
}

impl Input {
    pub fn area(&self) -> &TextArea<'static> {
        &self.area
    }

    /// The text including its marks.
    pub fn shown(&self) -> String {
        self.area.lines().join("\n")
    }

    pub fn is_empty(&self) -> bool {
        self.area.lines().iter().all(String::is_empty)
    }

    /// Replaces the text; the cursor goes to its end.
    pub fn set(&mut self, text: &str) {
        self.area = area(text);
    }

    /// The text, with the pastes whose marks are still in it.
    pub fn draft(&self) -> Draft {
        let shown = self.shown();
        let pastes = self.pastes.iter().filter(|paste| shown.contains(&paste.mark)).cloned().collect();
        Draft { shown, pastes }
    }

    /// Replaces the text with an earlier one; the cursor goes to its end.
    pub fn recall(&mut self, draft: &Draft) {
        *self = Input { area: area(&draft.shown), pastes: draft.pastes.clone() };
    }

    /// Replaces the text with the editor's result, folding pastes that it still contains. The error
    /// explains why the input stays unchanged.
    pub fn replace(&mut self, text: &str) -> Result<(), String> {
        let text = text.trim_end();
        let mut draft = Draft::from(text.to_owned());
        for paste in self.draft().pastes {
            let pasted = paste.text().into_owned();
            let found = draft.shown.find(&pasted).map(|at| at..at + pasted.len());
            // An editor may have removed the text's last line ending.
            let bare = pasted.trim_end();
            let from = draft.shown.len().saturating_sub(bare.len());
            let at_the_end = || (!bare.is_empty() && draft.shown.ends_with(bare)).then_some(from..draft.shown.len());
            if let Some(range) = found.or_else(at_the_end) {
                draft.shown.replace_range(range, &paste.mark);
                draft.pastes.push(paste);
            }
        }
        let mut input = Input::default();
        if draft.shown.len() <= REQUEST_BYTES_MAX {
            input.recall(&draft);
        } else {
            input.paste(text)?;
        }
        *self = input;
        Ok(())
    }

    pub fn clear(&mut self) {
        *self = Input::default();
    }

    /// Edits the text. A backspace after a mark deletes the whole mark.
    pub fn key(&mut self, key: KeyEvent) {
        let before = self.before_cursor();
        let mark = self.pastes.iter().find(|paste| before.ends_with(&paste.mark)).map(|paste| paste.mark.clone());
        match mark.filter(|_| key.code == KeyCode::Backspace) {
            Some(mark) => self.delete_before_cursor(mark.chars().count()),
            None => {
                self.area.input(key);
            }
        }
    }

    fn delete_before_cursor(&mut self, characters: usize) {
        for _ in 0..characters {
            self.area.delete_char();
        }
    }

    pub fn newline(&mut self) {
        self.area.insert_newline();
    }

    /// Accepts pasted text; the error explains why it does not.
    pub fn paste(&mut self, text: &str) -> Result<(), String> {
        // Terminals send a paste's line endings as carriage returns.
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if let Some(path) = dropped_picture(&text) {
            self.pastes = self.draft().pastes;
            return self.insert_picture(path);
        }
        let lines = text.lines().count();
        if lines <= PASTE_LINES_SHOWN && text.len() <= PASTE_BYTES_SHOWN {
            let lines: Vec<String> = text.split('\n').map(without_controls).collect();
            self.area.insert_str(lines.join("\n"));
            return Ok(());
        }
        self.pastes = self.draft().pastes;
        if text.len() as u64 > GIVEN_BYTES_MAX || self.pastes.len() == GIVEN_MAX {
            return Err(format!(
                "the paste has {} bytes; the limit is {GIVEN_MAX} pastes of {GIVEN_BYTES_MAX} bytes each; save it as a project file and name that instead",
                text.len()
            ));
        }
        let bytes = text.len();
        let size =
            if lines > 1 { format!("{} lines", thousands(lines)) } else { format!("{} bytes", thousands(bytes)) };
        self.insert(&size, text.into());
        Ok(())
    }

    /// Inserts a mark with the path of a picture, which goes along once however often it is named.
    fn insert_picture(&mut self, path: PathBuf) -> Result<(), String> {
        let mark = format!("[picture {}]", without_controls(&path.to_string_lossy()));
        let what = Pasted::Picture(path);
        if !self.pastes.iter().any(|paste| paste.what == what) {
            if self.pastes.len() == GIVEN_MAX {
                return Err(format!("{GIVEN_MAX} pictures and pastes are taken; ask in several requests"));
            }
            self.pastes.push(Paste { mark: mark.clone(), what });
        }
        self.area.insert_str(&mark);
        Ok(())
    }

    /// Inserts a mark that is not in use yet, for example `[10,000 lines pasted]`.
    fn insert(&mut self, size: &str, text: Arc<str>) {
        // There are at most GIVEN_MAX pastes, so one of these is free.
        let names = (1..=GIVEN_MAX + 1).map(|n| if n == 1 { String::new() } else { format!(" ({n})") });
        let mut marks = names.map(|n| format!("[{size} pasted{n}]"));
        let mark = marks.find(|mark| self.pastes.iter().all(|paste| paste.mark != *mark)).unwrap_or_default();
        self.area.insert_str(&mark);
        self.pastes.push(Paste { mark, what: Pasted::Text(text) });
    }

    /// The text that would be sent. Pasted texts are part of the request, or attached to it if it
    /// would be too long; pictures are attached, and their paths stay where they were pasted.
    pub fn submitted(&self) -> Submitted {
        let draft = self.draft();
        let whole = draft.whole();
        let is_path = |paste: &&Paste| matches!(paste.what, Pasted::Picture(_));
        let paths = draft.pastes.iter().filter(is_path).cloned().collect();
        let named = Draft { shown: draft.shown.clone(), pastes: paths }.whole();
        let Draft { shown, pastes } = draft;
        let (fits, mut attached) = (whole.len() <= REQUEST_BYTES_MAX, Attached::default());
        for Paste { mark, what } in pastes {
            match what {
                Pasted::Text(_) if fits => {}
                Pasted::Text(text) => {
                    let name = mark.trim_matches(['[', ']']).to_owned();
                    attached.given.push(Given { name, text: text.to_string() });
                }
                Pasted::Picture(path) => attached.pictures.push(path),
            }
        }
        Submitted { text: if fits { whole } else { named }, shown, attached }
    }

    /// The text before the cursor on the cursor's line.
    fn before_cursor(&self) -> String {
        let cursor = self.area.cursor();
        self.area.lines()[cursor.0].chars().take(cursor.1).collect()
    }

    /// The letters after the `@` of the word at the cursor, if any.
    pub fn mention(&self) -> Option<String> {
        let before = self.before_cursor();
        let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        word.strip_prefix('@').map(str::to_owned)
    }

    /// Replaces the `@` word at the cursor with a path.
    pub fn complete(&mut self, path: &str) {
        let Some(letters) = self.mention() else { return };
        // Delete the `@` too.
        self.delete_before_cursor(letters.chars().count() + 1);
        self.area.insert_str(format!("{path} "));
    }

    pub fn on_first_line(&self) -> bool {
        self.area.cursor().0 == 0
    }

    pub fn on_last_line(&self) -> bool {
        self.area.cursor().0 + 1 == self.area.lines().len()
    }

    /// The number of rows for the text at this width.
    pub fn rows(&self, width: usize) -> usize {
        let rows = |line: &String| (columns(line) + 1).div_ceil(width.max(1));
        self.area.lines().iter().map(rows).sum::<usize>().clamp(1, ROWS_MAX)
    }
}

/// The picture whose full path was pasted, in the forms that terminals use for a file dropped on
/// them: in quotes, with backslashes before spaces, or as a `file:` URI.
fn dropped_picture(text: &str) -> Option<PathBuf> {
    let text = text.trim();
    let unquoted = ['\'', '"'].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    let path = match (unquoted, text.starts_with("file:")) {
        (Some(path), _) => PathBuf::from(path),
        (None, true) => path_of(text)?,
        (None, false) if text.contains(' ') && !text.contains("\\ ") => return None,
        (None, false) => PathBuf::from(text.replace("\\ ", " ").replace('\\', "")),
    };
    let is_one_line = !text.contains('\n');
    (is_one_line && path.is_absolute() && picture::is_named(path.to_str()?)).then_some(path)
}

/// The number with thousands commas: `10,000`.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pastes: &[&str]) -> Input {
        let mut input = Input::default();
        pastes.iter().for_each(|paste| input.paste(paste).expect("it is taken"));
        input
    }

    #[test]
    fn a_long_paste_is_folded_and_sent_whole() {
        let long = "line\r".repeat(10_000);
        let mut input = with(&["look at ", &long]);
        assert_eq!(input.shown(), "look at [10,000 lines pasted]");
        assert_eq!(input.submitted().text, format!("look at {}", "line\n".repeat(10_000)));
        input.key(KeyEvent::from(KeyCode::Backspace));
        assert_eq!(input.shown(), "look at ");
    }

    #[test]
    fn what_is_too_long_for_a_request_is_given_with_it() {
        let long = "a longer line\n".repeat(10_000);
        let submitted = with(&[&long, &long]).submitted();
        assert_eq!(submitted.text, "[10,000 lines pasted][10,000 lines pasted (2)]");
        let names: Vec<&str> = submitted.attached.given.iter().map(|given| given.name.as_str()).collect();
        assert_eq!(names, ["10,000 lines pasted", "10,000 lines pasted (2)"]);
        assert!(Input::default().paste(&"x".repeat(300 << 10)).unwrap_err().contains("save it as a project file"));
    }

    #[test]
    fn an_editor_gets_pastes_whole_and_they_are_folded_again() {
        let long = "a longer line\n".repeat(10_000);
        let mut input = with(&["look at ", &long]);
        let whole = input.draft().whole();
        assert_eq!(whole, format!("look at {long}"));
        assert_eq!(input.replace(&whole.replace("look at", "sum up")), Ok(()));
        assert_eq!(input.shown(), "sum up [10,000 lines pasted]");
        assert_eq!(input.submitted().attached.given[0].text, long);
        assert_eq!(input.replace("short"), Ok(()));
        assert_eq!(input.submitted(), with(&["short"]).submitted());
        assert!(input.replace(&"x".repeat(300 << 10)).is_err() && input.shown() == "short");
    }

    #[test]
    fn the_path_of_a_picture_stays_where_it_was_pasted_and_the_picture_goes_along_once() {
        let mut input = with(&["Compare ", "/a/one.png", " with '/b/the two.png', and ", "'/b/the two.png'", " with "]);
        input.paste("/a/one.png\n").unwrap();
        assert_eq!(
            input.shown(),
            "Compare [picture /a/one.png] with '/b/the two.png', and [picture /b/the two.png] with [picture /a/one.png]"
        );
        let Submitted { text, attached, .. } = input.submitted();
        assert_eq!(text, "Compare /a/one.png with '/b/the two.png', and '/b/the two.png' with /a/one.png");
        let pictures = [PathBuf::from("/a/one.png"), PathBuf::from("/b/the two.png")];
        assert_eq!(attached.pictures, pictures);
        // An editor shows the paths; those that are still there go along.
        assert_eq!(input.replace("Show '/b/the two.png'"), Ok(()));
        let Submitted { text, attached, .. } = input.submitted();
        assert_eq!((text.as_str(), attached.pictures), ("Show '/b/the two.png'", pictures[1..].to_vec()));
        // Beside a paste that is too long for the request, the path stays too.
        let long = "a longer line\n".repeat(10_000);
        let submitted = with(&["See /x ", "/a/one.png", " and ", &long]).submitted();
        assert_eq!(submitted.text, "See /x /a/one.png and [10,000 lines pasted]");
        assert_eq!((submitted.attached.given.len(), submitted.attached.pictures.len()), (1, 1));
    }

    #[test]
    fn a_dropped_picture_is_a_whole_path_in_any_of_the_forms_of_terminals() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(dropped_picture(text).as_deref(), expected.map(std::path::Path::new), "{text}");
        };
        check("/home/ada/till.png\n", Some("/home/ada/till.png"));
        check("\"/home/ada/the till.gif\"", Some("/home/ada/the till.gif"));
        check("/home/ada/the\\ till\\ (1).JPEG", Some("/home/ada/the till (1).JPEG"));
        check("file:///home/ada/the%20till.webp", Some("/home/ada/the till.webp"));
        for other in ["look at /a/b.png", "/a/b.png /a/c.png", "/a/b.png\n/a/c.png", "docs/b.png", "/a/b.rs", ".png"] {
            check(other, None);
        }
    }
}
