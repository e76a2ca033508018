//! Shows a unified diff: added and removed lines, the heads of hunks.

use ratatui::text::Line;

use super::theme::Theme;

/// The lines of a preview. Text that is not a diff, such as a command line, is shown unchanged.
pub fn lines(preview: &str, theme: Theme) -> Vec<Line<'static>> {
    let is_diff = preview.lines().any(|line| line.starts_with("@@"));
    let paint = |line: &str| {
        let style = match line.as_bytes().first() {
            _ if !is_diff => theme.plain(),
            _ if line.starts_with("+++") || line.starts_with("---") => theme.strong(),
            Some(b'+') => theme.good(),
            Some(b'-') => theme.bad(),
            Some(b'@') => theme.accent(),
            _ => theme.plain(),
        };
        Line::styled(line.to_owned(), style)
    };
    preview.lines().map(paint).collect()
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub added: usize,
    pub removed: usize,
    pub hunks: usize,
}

pub fn counts(diff: &str) -> Counts {
    let count = |begins: &dyn Fn(&str) -> bool| diff.lines().filter(|line| begins(line)).count();
    Counts {
        added: count(&|line| line.starts_with('+') && !line.starts_with("+++")),
        removed: count(&|line| line.starts_with('-') && !line.starts_with("---")),
        hunks: count(&|line| line.starts_with("@@")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_and_removed_lines_are_counted_without_the_names_of_the_files() {
        let diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n+more\n";
        assert_eq!(counts(diff), Counts { added: 2, removed: 1, hunks: 1 });
        assert_eq!(lines(diff, Theme::Coloured).len(), 7);
        assert_eq!(lines("rm -r x\n- y", Theme::Coloured)[1].style, Theme::Coloured.plain());
    }
}
