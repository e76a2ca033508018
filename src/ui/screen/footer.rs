//! The last lines of the screen: memory by holder, remaining context, tokens per second.

use ratatui::text::{Line, Span};

use super::theme::Theme;
use super::wrap::columns;
use crate::base::Bytes;
use crate::protocol::{Memory, ModelRow, Usage};

/// Symbols for the holders of memory, to distinguish them without colours.
const SIGNS: [&str; 4] = ["█", "▓", "▒", "░"];
const FREE: &str = "·";

/// The facts in the footer.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub memory: Option<Memory>,
    /// Number of tokens in the last turn's longest sequence.
    context_used: Option<usize>,
    /// Tokens per second generated in the last turn.
    rate: Option<f64>,
    /// Share of the last turn's prompt tokens that were already in a slot's KV cache.
    cached: Option<f64>,
}

impl Facts {
    /// Records the cost of a turn.
    pub fn used(&mut self, usage: &Usage) {
        let longest = usage.calls.iter().map(|call| call.prompt_tokens + call.generated_tokens).max();
        self.context_used = longest.or(self.context_used);
        let tokens: usize = usage.calls.iter().map(|call| call.generated_tokens).sum();
        let ms: u64 = usage.calls.iter().map(|call| call.decode_ms).sum();
        if tokens > 0 && ms > 0 {
            self.rate = Some(tokens as f64 * 1000.0 / ms as f64);
        }
        if usage.prompt_tokens > 0 {
            self.cached = Some(usage.cached_tokens as f64 / usage.prompt_tokens as f64);
        }
    }

    /// The planner's file, once it is in memory.
    pub fn planner(&self) -> Option<&str> {
        self.model("planner").map(|model| model.file.as_str())
    }

    fn model(&self, role: &str) -> Option<&ModelRow> {
        self.memory.iter().flat_map(|memory| &memory.models).find(|model| model.roles.iter().any(|one| one == role))
    }

    /// Free tokens in the planner's window after the last turn.
    fn context_left(&self) -> Option<String> {
        let server = self
            .memory
            .iter()
            .flat_map(|memory| &memory.servers)
            .find(|one| one.roles.iter().any(|one| one == "planner"));
        let context =
            server.map_or_else(|| self.model("planner").map(|model| model.context), |server| server.context)?;
        let left = context.saturating_sub(self.context_used?);
        Some(format!("context {left} of {context} left"))
    }

    /// The footer in `rows` lines of at most `width` columns; parts that do not fit are left out.
    pub fn lines(&self, width: usize, rows: usize, theme: Theme) -> Vec<Line<'static>> {
        let Some(memory) = &self.memory else {
            return vec![Line::default(); rows];
        };
        let mut spans = gauge(memory, if width < 60 { 8 } else { 16 }, theme);
        let free = format!(" {} of {} free", memory.free_bytes, memory.budget_bytes);
        spans.push(Span::styled(free, theme.dim()));
        let rate = self.rate.map(|rate| format!("{rate:.0} tokens/s"));
        let cached = self.cached.map(|share| format!("{:.0} % of the prompt cached", share * 100.0));
        let rungs = memory.models.iter().filter_map(|model| model.rung.as_ref()).map(|rung| format!("reduced: {rung}"));
        let rest: Vec<String> = self.context_left().into_iter().chain(rate).chain(cached).chain(rungs).collect();
        if rows == 1 {
            return vec![with(spans, &rest, width, theme)];
        }
        let holders: Vec<String> = holders(memory)
            .iter()
            .enumerate()
            .map(|(at, (name, bytes))| format!("{} {name} {bytes}", sign(at)))
            .chain(
                memory
                    .servers
                    .iter()
                    .map(|server| format!("{} at {} ({})", server.roles.join("+"), server.host, server.state)),
            )
            .collect();
        vec![with(spans, &rest, width, theme), with(Vec::new(), &holders, width, theme)]
    }
}

/// The line with as many parts as fit.
fn with(mut spans: Vec<Span<'static>>, parts: &[String], width: usize, theme: Theme) -> Line<'static> {
    let mut used: usize = spans.iter().map(|span| columns(&span.content)).sum();
    for part in parts {
        let part = if used == 0 { part.clone() } else { format!(" · {part}") };
        used += columns(&part);
        if used > width {
            break;
        }
        spans.push(Span::styled(part, theme.dim()));
    }
    Line::from(spans)
}

fn sign(place: usize) -> &'static str {
    SIGNS[place % SIGNS.len()]
}

/// The holders of memory, models first. Only a model's own memory counts, not weights it shares.
fn holders(memory: &Memory) -> Vec<(String, Bytes)> {
    let model = |model: &ModelRow| {
        let name = if model.roles.is_empty() { model.file.clone() } else { model.roles.join("+") };
        (name, model.bytes)
    };
    memory.models.iter().map(model).chain(memory.others.iter().cloned()).collect()
}

/// A bar of `cells` cells: each holder's share of the budget, then free memory.
fn gauge(memory: &Memory, cells: usize, theme: Theme) -> Vec<Span<'static>> {
    let budget = memory.budget_bytes.0.max(1) as f64;
    let (mut spans, mut filled, mut held) = (vec![Span::styled("▕", theme.dim())], 0, 0.0);
    for (at, (_, bytes)) in holders(memory).iter().enumerate() {
        held += bytes.0 as f64;
        let until = ((held / budget * cells as f64).round() as usize).min(cells);
        spans.push(Span::styled(sign(at).repeat(until.saturating_sub(filled)), theme.holder(at)));
        filled = filled.max(until);
    }
    spans.push(Span::styled(FREE.repeat(cells - filled), theme.dim()));
    spans.push(Span::styled("▏", theme.dim()));
    spans
}
