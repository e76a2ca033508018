//! Makes text from files, models and tools safe to show on a terminal.

/// Replaces a character that is not shown.
const SUBSTITUTE: char = '\u{fffd}';

/// The text with `�` in place of characters that move the cursor, change the terminal, are
/// invisible or reverse the order of text, so that the text shown is the real text. Tabs and line
/// ends stay; a two-character line end becomes one.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\r' if characters.peek() == Some(&'\n') => {}
            '\n' | '\t' => shown.push(c),
            c if c.is_control() || hides(c) => shown.push(SUBSTITUTE),
            c => shown.push(c),
        }
    }
    shown
}

/// Zero-width characters that scripts and emoji do not need, and those that reverse the order of
/// text.
fn hides(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(visible(text), expected, "{text:?}");
    }

    #[test]
    fn what_acts_on_a_terminal_is_shown_as_a_substitute() {
        check("\x1b[2J\x1b]0;title\x07", "�[2J�]0;title�");
        check("good\rbad\x08\x7f", "good�bad��");
        check("\u{9b}31m", "�31m");
        check("a\u{202e}b\u{200b}c\u{feff}", "a�b�c�");
        check("rm\u{e0020}\u{61c}x\u{3164}", "rm��x�");
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        check("fn main() {\n\tприлад 日本語 👩\u{200d}🔬\n}\n", "fn main() {\n\tприлад 日本語 👩\u{200d}🔬\n}\n");
        check("a\r\nb\r\n", "a\nb\n");
    }
}
