//! Draws the screen: header, transcript, status, question or input, footer, and an open list above the input.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::approve::Question;
use super::popup::{Choice, Popup};
use super::state::{About, Screen};
use super::status;
use super::wrap::cut;

/// Minimum height of a screen with a header and a two-line footer.
const TALL: u16 = 16;
/// Maximum number of rows of a list.
const LIST_ROWS_MAX: u16 = 10;
/// The prompt before the input.
const PROMPT: &str = "> ";

/// The areas of the screen. Those that do not fit are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Areas {
    pub header: Rect,
    pub transcript: Rect,
    pub status: Rect,
    /// The input, or the complete question.
    pub input: Rect,
    /// The preview of the change, within the question.
    pub preview: Rect,
    pub footer: Rect,
}

/// Divides the screen. From the top: the header, the transcript in the remaining space, the status,
/// the input or a question, and the footer.
pub fn areas(screen: &Screen) -> Areas {
    let (header_rows, footer_rows) = if screen.area.height >= TALL { (1, 2) } else { (0, 1) };
    let (header, area) = split(screen.area, screen.area.height - header_rows);
    let (rest, footer) = split(area, footer_rows);
    let rows = match &screen.question {
        Some(question) => question_rows(screen, question, rest.height),
        None => {
            let width = usize::from(area.width).saturating_sub(PROMPT.len());
            u16::try_from(screen.input.rows(width)).unwrap_or(1)
        }
    };
    // The input never takes more than half, so that part of the conversation stays visible.
    let most = if screen.question.is_some() { rest.height.saturating_sub(2) } else { rest.height / 2 };
    let (rest, input) = split(rest, rows.min(most.max(1)));
    let (transcript, status) = split(rest, 1);
    let preview = screen.question.as_ref().map_or(Rect::default(), |question| {
        let inner = Block::bordered().inner(input);
        split(inner, prompt_rows(screen, question)).0
    });
    Areas { header, transcript, status, input, preview, footer }
}

/// The area without its last `rows` rows, and those rows.
fn split(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    let above = Rect { height: area.height - rows, ..area };
    (above, Rect { y: above.bottom(), height: rows, ..area })
}

/// Rows of the question with its frame: at most two thirds of the height, but no fewer than the
/// answers need.
fn question_rows(screen: &Screen, question: &Question, height: u16) -> u16 {
    let width = usize::from(screen.area.width.saturating_sub(2));
    let preview = u16::try_from(question.preview(width, screen.theme).len()).unwrap_or(u16::MAX);
    let fixed = prompt_rows(screen, question) + 2;
    let most = (height.saturating_mul(2) / 3).max(fixed + 3);
    preview.saturating_add(fixed).min(most)
}

fn prompt_rows(screen: &Screen, question: &Question) -> u16 {
    let width = usize::from(screen.area.width.saturating_sub(2));
    u16::try_from(question.prompt(width, screen.theme).len()).unwrap_or(1)
}

pub fn draw(screen: &Screen, frame: &mut Frame<'_>) {
    let areas = areas(screen);
    frame.render_widget(header(screen, usize::from(areas.header.width)), areas.header);
    let lines: Vec<Line<'_>> =
        screen.transcript.visible(usize::from(areas.transcript.height)).into_iter().cloned().collect();
    frame.render_widget(Paragraph::new(Text::from(lines)), areas.transcript);
    frame.render_widget(status::line(screen, usize::from(areas.status.width)), areas.status);
    match &screen.question {
        Some(question) => draw_question(screen, question, areas, frame),
        None => draw_input(screen, areas.input, frame),
    }
    if let Some(popup) = screen.popup.as_ref().filter(|_| screen.question.is_none()) {
        draw_list(screen, popup, areas, frame);
    }
    let (width, rows) = (usize::from(areas.footer.width), usize::from(areas.footer.height));
    let footer = screen.facts.lines(width, rows, screen.theme);
    frame.render_widget(Paragraph::new(Text::from(footer)), areas.footer);
}

/// The project, the planner once it is in memory, and when the user is asked.
fn header(screen: &Screen, width: usize) -> Line<'static> {
    let About { project, mode, asks } = &screen.about;
    let planner = screen.facts.planner().unwrap_or("no model loaded");
    let text = format!("monobloc · {project} · {planner} · {mode} mode · {asks}");
    Line::styled(cut(&text, width), screen.theme.dim())
}

fn draw_input(screen: &Screen, area: Rect, frame: &mut Frame<'_>) {
    let prompt = Rect { width: area.width.min(PROMPT.len() as u16), ..area };
    frame.render_widget(Span::styled(PROMPT, screen.theme.accent()), prompt);
    let text = Rect { x: prompt.right(), width: area.width - prompt.width, ..area };
    if !text.is_empty() {
        frame.render_widget(screen.input.area(), text);
    }
}

fn draw_question(screen: &Screen, question: &Question, areas: Areas, frame: &mut Frame<'_>) {
    let theme = screen.theme;
    let block = Block::bordered().border_style(theme.warning()).title(question.title());
    let inner = block.inner(areas.input);
    frame.render_widget(block, areas.input);
    let width = usize::from(inner.width);
    let preview = question.preview(width, theme);
    let (total, height) = (preview.len(), usize::from(areas.preview.height));
    let above = question.above.min(total.saturating_sub(height));
    let shown: Vec<Line<'static>> = preview.into_iter().skip(above).take(height).collect();
    frame.render_widget(Paragraph::new(Text::from(shown)), areas.preview);
    if total > height {
        let place = format!(" lines {} to {} of {total} ", above + 1, above + height);
        let place = cut(&place, width);
        let wide = place.chars().count() as u16;
        let corner = Rect { x: inner.right().saturating_sub(wide), y: areas.input.y, width: wide, height: 1 };
        frame.render_widget(Line::styled(place, theme.dim()), corner.intersection(areas.input));
    }
    let prompt = Rect { y: areas.preview.bottom(), height: inner.height - areas.preview.height, ..inner };
    frame.render_widget(Paragraph::new(Text::from(question.prompt(width, theme))), prompt);
}

/// Draws the list above the status, over the transcript.
fn draw_list(screen: &Screen, popup: &Popup, areas: Areas, frame: &mut Frame<'_>) {
    let room = areas.transcript;
    let rows = room.height.min(LIST_ROWS_MAX + 2);
    if rows < 3 {
        return;
    }
    let choices: Vec<_> = popup.visible(usize::from(rows - 2)).collect();
    let height = (choices.len() as u16).max(1) + 2;
    let area = Rect { y: room.bottom() - height, height, ..room };
    let width = usize::from(area.width.saturating_sub(2));
    let row = |(choice, selected): &(&Choice, bool)| {
        let text = if choice.detail.is_empty() {
            cut(&choice.label, width)
        } else {
            cut(&format!("{:<16} {}", choice.label, choice.detail), width)
        };
        Line::styled(text, if *selected { screen.theme.selected() } else { screen.theme.plain() })
    };
    let mut lines: Vec<Line<'static>> = choices.iter().map(row).collect();
    if lines.is_empty() && !popup.waits {
        lines.push(Line::styled("nothing fits", screen.theme.dim()));
    }
    let block = Block::bordered().border_style(screen.theme.dim()).title(cut(&popup.title(), width));
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(Text::from(lines)).block(block), area);
}
