//! Renders Markdown as styled lines: headings, lists, quotations, tables, and coloured code.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::code;
use super::theme::Theme;
use super::wrap::{columns, wrapped};

/// Maximum depth of indented lists and quotations.
const DEPTH_MAX: usize = 8;

/// The lines of a Markdown text, at most `width` columns wide. Incomplete text is rendered as far
/// as it goes.
pub fn lines(text: &str, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut writer = Writer { width: width.max(8), theme, ..Writer::default() };
    for event in
        Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS)
    {
        writer.take(event);
    }
    writer.flush();
    writer.lines
}

/// The lines rendered so far, and the state of the parser.
#[derive(Default)]
struct Writer {
    width: usize,
    theme: Theme,
    lines: Vec<Line<'static>>,
    /// The current line, before it is wrapped.
    spans: Vec<Span<'static>>,
    styles: Vec<Style>,
    /// The prefix of each line: an indentation for each list item, a bar for each quotation.
    prefixes: Vec<String>,
    /// The marker of the list item that is beginning, in place of its indentation.
    mark: Option<String>,
    /// The number of the next item of each open list; `None` if it is not numbered.
    lists: Vec<Option<u64>>,
    /// The language of the open code block.
    language: Option<String>,
    /// The rows of the open table.
    rows: Vec<Vec<String>>,
    in_table: bool,
    /// The URL of each open link, and the start of its text.
    links: Vec<(String, usize)>,
}

impl Writer {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.language.is_some() => self.code(&text),
            Event::Text(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Html(text) => {
                self.text(text.trim_end());
                self.flush();
            }
            Event::Code(text) => {
                let style = self.theme.accent();
                self.styled(&text, style);
            }
            Event::SoftBreak => self.text(" "),
            Event::HardBreak if self.in_table => self.text(" "),
            Event::HardBreak => self.flush(),
            Event::Rule => {
                self.gap();
                self.lines.push(Line::styled("─".repeat(self.width.min(40)), self.theme.dim()));
            }
            Event::TaskListMarker(done) => self.text(if done { "[x] " } else { "[ ] " }),
            // Footnotes and formulas are not enabled.
            Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.gap(),
            Tag::Heading { .. } => {
                self.gap();
                self.styles.push(self.theme.accent().add_modifier(Modifier::BOLD));
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.prefixes.push("│ ".to_owned());
            }
            Tag::CodeBlock(kind) => {
                self.gap();
                let info = if let CodeBlockKind::Fenced(info) = &kind { &**info } else { "" };
                self.language = Some(info.split_whitespace().next().unwrap_or_default().to_lowercase());
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.gap();
                }
                self.flush();
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Table(_) => {
                self.gap();
                (self.in_table, self.rows) = (true, Vec::new());
            }
            Tag::TableHead | Tag::TableRow => self.rows.push(Vec::new()),
            Tag::Emphasis => self.styles.push(Style::new().add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.styles.push(Style::new().add_modifier(Modifier::BOLD)),
            Tag::Strikethrough => self.styles.push(Style::new().add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.styles.push(Style::new().add_modifier(Modifier::UNDERLINED));
                self.links.push((dest_url.to_string(), self.spans.len()));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.prefixes.pop();
            }
            TagEnd::CodeBlock => self.language = None,
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
            }
            TagEnd::Item => {
                self.flush();
                self.prefixes.pop();
                self.mark = None;
            }
            TagEnd::TableCell => {
                let cell: String = self.spans.drain(..).map(|span| span.content.into_owned()).collect();
                if let Some(row) = self.rows.last_mut() {
                    row.push(cell);
                }
            }
            TagEnd::Table => self.table(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.link(),
            _ => {}
        }
    }

    fn item(&mut self) {
        self.flush();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "• ".to_owned(),
        };
        self.prefixes.push(" ".repeat(columns(&mark)));
        self.mark = Some(mark);
    }

    /// Ends a link: its URL follows its text unless they are the same.
    fn link(&mut self) {
        self.styles.pop();
        let Some((address, from)) = self.links.pop() else { return };
        let shown: String = self.spans.iter().skip(from).map(|span| &*span.content).collect();
        if shown != address && !address.is_empty() {
            let style = self.theme.dim();
            self.styled(&format!(" ({address})"), style);
        }
    }

    fn text(&mut self, text: &str) {
        self.styled(text, Style::new());
    }

    fn styled(&mut self, text: &str, style: Style) {
        let style = self.styles.iter().fold(Style::new(), |all, one| all.patch(*one)).patch(style);
        self.spans.push(Span::styled(text.to_owned(), style));
    }

    /// Lines of a code block. They are not broken at spaces, because those matter in code.
    fn code(&mut self, text: &str) {
        let language = self.language.clone().unwrap_or_default();
        for line in text.lines() {
            let mut spans = vec![Span::raw("  ")];
            spans.extend(code::painted(line, &language, self.theme));
            self.put(&Line::from(spans), 4);
        }
    }

    /// Rows with columns as wide as their widest cell; if they do not fit, the cells of each row
    /// are listed one after another.
    fn table(&mut self) {
        self.in_table = false;
        let rows = std::mem::take(&mut self.rows);
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| columns(cell)).max().unwrap_or(0);
        let widths: Vec<usize> = (0..count).map(width).collect();
        let fits = widths.iter().sum::<usize>() + 2 * count <= self.width;
        for (place, row) in rows.iter().enumerate() {
            let padded = |(cell, width): (&String, &usize)| format!("{cell}{}", " ".repeat(width - columns(cell)));
            let line = if fits {
                row.iter().zip(&widths).map(padded).collect::<Vec<_>>().join("  ")
            } else {
                row.join(" · ")
            };
            let style = if place == 0 { self.theme.strong() } else { self.theme.plain() };
            self.put(&Line::styled(line, style), 2);
        }
    }

    /// An empty line before a block, unless the block is first or continues a list item.
    fn gap(&mut self) {
        self.flush();
        if self.mark.is_none() && self.lines.last().is_some_and(|line| line.width() > 0) {
            self.lines.push(Line::default());
        }
    }

    /// Ends the current line.
    fn flush(&mut self) {
        if !self.spans.is_empty() {
            let line = Line::from(std::mem::take(&mut self.spans));
            self.put(&line, 0);
        }
    }

    /// Adds a line after the prefixes and wraps it.
    fn put(&mut self, line: &Line<'static>, hang: usize) {
        let from = self.prefixes.len().saturating_sub(DEPTH_MAX);
        let later: String = self.prefixes[from..].concat();
        let first = match self.mark.take() {
            Some(mark) => self.prefixes[from..self.prefixes.len() - 1].concat() + &mark,
            None => later.clone(),
        };
        let room = self.width.saturating_sub(columns(&later)).max(8);
        for (row, mut piece) in wrapped(line, room, hang).into_iter().enumerate() {
            let prefix = if row == 0 { first.clone() } else { later.clone() };
            if !prefix.is_empty() {
                piece.spans.insert(0, Span::styled(prefix, self.theme.dim()));
            }
            self.lines.push(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, width: usize, expected: &[&str]) {
        let shown: Vec<String> =
            lines(text, width, Theme::Coloured).iter().map(|line| line.to_string().trim_end().to_owned()).collect();
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn blocks_are_separated_and_lists_are_indented() {
        check("# Title\n\nOne *two* `three`.\nfour", 40, &["Title", "", "One two three. four"]);
        check("- one\n- two\n  1. three\n  2. four\n", 40, &["• one", "• two", "  1. three", "  2. four"]);
        check("- a longer item here", 12, &["• a longer", "  item here"]);
        check("> said\n> so", 40, &["│ said so"]);
    }

    #[test]
    fn code_keeps_its_spaces_and_an_open_fence_is_code() {
        check("See:\n```rust\nfn a() {\n    b();\n", 40, &["See:", "", "  fn a() {", "      b();"]);
    }

    #[test]
    fn tables_are_aligned_or_told_row_by_row() {
        let table = "| a | long head |\n|---|---|\n| first | 2 |\n";
        check(table, 40, &["a      long head", "first  2"]);
        check(table, 12, &["a · long", "  head", "first · 2"]);
    }

    #[test]
    fn a_link_says_where_it_leads() {
        check("[docs](https://a.example/b) <https://c.example>", 60, &["docs (https://a.example/b) https://c.example"]);
    }
}
