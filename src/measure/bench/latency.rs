//! Measures one user's waiting times: load, first token cold, warm and in a second turn, and the decode rate.
//!
//! Left out: tools, retrieval and planning, whose times `ask` reports. One request at a time,
//! greedy, with a fixed number of tokens; figures are medians over the rounds. The last column of
//! the table is the share of the memory bandwidth that decoding uses: bytes read per token times
//! tokens per second, divided by the bandwidth measured in the same run.

use anyhow::Result;

use super::subject::{Run, Setting, Subject, run};
use super::{Figures, bandwidth, bare};
use crate::base::Cancel;
use crate::budget::permit::Priority;
use crate::budget::{LoadSettings, cache, place};
use crate::engine::Token;
use crate::engine::pool::Pool;
use crate::engine::slot::Reuse;
use crate::measure::statistics::median;

#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub prompt_tokens: usize,
    pub generated_tokens: usize,
    pub rounds: usize,
    /// Also measure the decoder without the engine, to see the engine's overhead.
    pub bare: bool,
}

/// Length of the second turn's question.
const QUESTION_TOKENS: usize = 20;
/// Distance of the edit from the prompt's end, about 40 characters.
const EDIT_TOKENS: usize = 12;

/// Measures the model of `setting`.
pub async fn measure(
    pool: &Pool,
    setting: &Setting,
    effort: Effort,
    threads: usize,
    cancel: &Cancel,
) -> Result<Figures> {
    let subject = Subject::load(pool, setting, threads, cancel).await?;
    let rounds = rounds(&subject, effort).await?;
    let Subject { mut figures, spec, engine } = subject;
    drop(engine);
    let of = |value: fn(&Round) -> f64| median(rounds.iter().map(value).collect());
    let prompt_tokens = effort.prompt_tokens;
    figures.add("prompt_tokens", prompt_tokens, "prompt", format!("{prompt_tokens} tokens"));
    let mut time = |name: &str, ms: f64, line: &str| figures.add(name, ms, line, format!("{ms:.0} ms"));
    time("ttft_cold_ms", of(|round| ms(&round.cold)), "first token, cold");
    time("ttft_warm_ms", of(|round| ms(&round.warm)), "first token, same prompt again");
    // Prompt, answer and a new question.
    time("ttft_second_turn_ms", of(|round| ms(&round.second)), "first token, next turn");
    let share = of(|round| ms(&round.second) / (ms(&round.cold) * round.second_over_first));
    figures.add("second_turn_share", share, "  of the time of a cold start", format!("{:.1} %", 100.0 * share));
    let again = rounds.last().map_or(0, |round| round.reevaluated);
    figures.add("edit_reevaluated_tokens", again, "edit 40 characters before the end", format!("{again} tokens"));
    let mut rate = |name: &str, rate: f64, line: &str| figures.add(name, rate, line, format!("{rate:.1} tok/s"));
    let prefill = of(|round| round.cold.tally.prompt_tokens as f64 * 1000.0 / round.cold.tally.prompt_ms.max(1) as f64);
    rate("prefill_tokens_per_s", prefill, "prefill");
    let decode = of(|round| decode_rate(&round.cold));
    rate("decode_tokens_per_s", decode, "decode");
    if effort.bare {
        let bare = bare::decode_tokens_per_s(&spec, setting, effort, threads)?;
        rate("bare_decode_tokens_per_s", bare, "decode, bare loop");
        figures.show("  engine over bare loop", format!("{:.2}", decode / bare));
    }
    let bandwidth = bandwidth::read_bytes_per_s(threads);
    let shown = format!("{:.1} GB/s", bandwidth / 1e9);
    figures.add("bandwidth_bytes_per_s", bandwidth, "memory bandwidth, measured", shown);
    let filled = LoadSettings { context: prompt_tokens as u32, ..pool.wanted(&spec)? };
    let kv = cache::kv(&spec.header, &LoadSettings { slots: 1, ..filled });
    let read = place::bytes_per_token(&spec.header) + kv;
    figures.add("bytes_per_token", read.0, "bytes a token reads", read.to_string());
    let share = read.0 as f64 * decode / bandwidth;
    figures.add("roofline_share", share, "share of the bandwidth roofline", format!("{:.0} %", 100.0 * share));
    Ok(figures)
}

struct Round {
    cold: Run,
    warm: Run,
    second: Run,
    /// Tokens of the second prompt divided by those of the first, for comparing it with its own
    /// cold start.
    second_over_first: f64,
    reevaluated: usize,
}

async fn rounds(subject: &Subject, effort: Effort) -> Result<Vec<Round>> {
    let mut rounds = Vec::new();
    // Not measured: the first call of a process also touches every page of the weights.
    one(subject, subject.prompt(0, 8)?, 1, Reuse::Exact).await?;
    for number in 1..=effort.rounds {
        let prompt = subject.prompt(number, effort.prompt_tokens)?;
        let cold = one(subject, prompt.clone(), effort.generated_tokens, Reuse::Exact).await?;
        let warm = one(subject, prompt.clone(), 1, Reuse::Exact).await?;
        let more = subject.prompt(number + 1000, QUESTION_TOKENS)?;
        let second: Vec<Token> = [prompt.clone(), cold.tokens.clone(), more].concat();
        let second_over_first = second.len() as f64 / prompt.len() as f64;
        // The warm run has removed the answer from the slot, so put prompt and answer back before
        // the second turn.
        one(subject, [prompt.clone(), cold.tokens.clone()].concat(), 1, Reuse::Continue).await?;
        let second = one(subject, second, 1, Reuse::Continue).await?;
        let mut edited = prompt.clone();
        let at = edited.len().saturating_sub(EDIT_TOKENS);
        edited[at] = edited[0];
        let edited = one(subject, edited, 1, Reuse::Exact).await?;
        let reevaluated = edited.tally.prompt_tokens - edited.tally.cached_tokens;
        rounds.push(Round { cold, warm, second, second_over_first, reevaluated });
    }
    Ok(rounds)
}

async fn one(subject: &Subject, prompt: Vec<Token>, tokens: usize, reuse: Reuse) -> Result<Run> {
    run(&subject.engine, prompt, tokens, Priority::User, reuse).await
}

fn ms(run: &Run) -> f64 {
    run.first_token.as_secs_f64() * 1000.0
}

/// Tokens per second after the first token.
fn decode_rate(run: &Run) -> f64 {
    (run.tokens.len().saturating_sub(1)) as f64 / (run.whole - run.first_token).as_secs_f64().max(1e-9)
}
