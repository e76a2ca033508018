//! Measures how concurrent requests affect each other.
//!
//! Four measurements: total decode rate, agents with a shared preamble, a user alongside background
//! jobs, and how soon a dropped stream frees the engine.
//!
//! Prompts have equal length and differ from the second word on, except for the agents, which share
//! a preamble. The generated text is not judged. The machine should otherwise be idle; the table
//! prints ratios within one run.

use std::time::{Duration, Instant};

use anyhow::Result;
use futures_util::future::try_join_all;
use serde_json::json;

use super::Figures;
use super::subject::{Run, Setting, Subject, run};
use crate::base::Cancel;
use crate::budget::permit::Priority;
use crate::engine::pool::Pool;
use crate::engine::slot::Reuse;
use crate::engine::{Request, Token};
use crate::measure::statistics::median;

#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub preamble_tokens: usize,
    /// Number of tokens after the preamble that are specific to each agent.
    pub own_tokens: usize,
    pub generated_tokens: usize,
    pub rounds: usize,
}

const AGENTS: usize = 4;
/// Number of background jobs that run while a user's request is measured.
const BACKGROUND: usize = 4;
/// Number of tokens generated for that user.
const USER_TOKENS: usize = 8;
/// Tokens that a background job would generate if it were not stopped.
const BACKGROUND_TOKENS: usize = 4096;

/// Length of a prompt that is evaluated in a single call with few rows.
const SHORT_TOKENS: usize = 8;

/// Measures the model of `setting`, whose number of slots is the number of requests served at once.
pub async fn measure(
    pool: &Pool,
    setting: &Setting,
    effort: Effort,
    threads: usize,
    cancel: &Cancel,
) -> Result<Figures> {
    let mut subject = Subject::load(pool, setting, threads, cancel).await?;
    let mut figures = std::mem::take(&mut subject.figures);
    one(&subject, subject.prompt(0, 8)?, 1, Priority::User).await?;
    let mut rates: Vec<(usize, f64)> = Vec::new();
    for slots in [1, 2, 4, 8, 16].into_iter().filter(|&slots| slots <= setting.slots) {
        rates.push((slots, decode_rate(&subject, effort, slots).await?));
        let (rate, alone) = (rates[rates.len() - 1].1, rates[0].1);
        figures.show(format!("decode, {slots} at once"), format!("{rate:.1} tok/s, {:.2}×", rate / alone));
    }
    figures.json.insert("decode_tokens_per_s".to_owned(), json!(rates));
    agents(&subject, effort, &mut figures).await?;
    let idle_ms = beside(&subject, effort, &mut figures).await?;
    let freed_ms = freed_after(&subject, effort, idle_ms).await?;
    let line = "free after a stream is dropped during its prompt";
    figures.add("freed_after_ms", freed_ms, line, format!("{freed_ms:.0} ms"));
    Ok(figures)
}

async fn one(subject: &Subject, prompt: Vec<Token>, tokens: usize, priority: Priority) -> Result<Run> {
    run(&subject.engine, prompt, tokens, priority, Reuse::Exact).await
}

/// Generated tokens divided by the time, excluding that of the longest prompt. A first round is not
/// measured: in it the engine determines whether its slots may share calls.
async fn decode_rate(subject: &Subject, effort: Effort, slots: usize) -> Result<f64> {
    let mut rates = Vec::new();
    for round in 0..=effort.rounds {
        let prompts = (0..slots).map(|slot| subject.prompt(100 * round + slot, 32)).collect::<Result<Vec<_>>>()?;
        let from = Instant::now();
        let runs = all(subject, prompts, effort.generated_tokens).await?;
        let whole = from.elapsed();
        let prompt_ms: u64 = runs.iter().map(|run| run.tally.prompt_ms).max().unwrap_or(0);
        let decoding = (whole.as_secs_f64() - prompt_ms as f64 / 1000.0).max(1e-9);
        if round > 0 {
            rates.push((slots * effort.generated_tokens) as f64 / decoding);
        }
    }
    Ok(median(rates))
}

async fn all(subject: &Subject, prompts: Vec<Vec<Token>>, tokens: usize) -> Result<Vec<Run>> {
    let tasks: Vec<_> = prompts
        .into_iter()
        .map(|prompt| {
            let engine = subject.engine.clone();
            async move { run(&engine, prompt, tokens, Priority::Step, Reuse::Exact).await }
        })
        .collect();
    try_join_all(tasks).await
}

/// Agents with a shared preamble, one after another (each can reuse the previous one's results) and
/// together.
async fn agents(subject: &Subject, effort: Effort, figures: &mut Figures) -> Result<()> {
    let (mut in_turn, mut together, mut same_tokens) = (Vec::new(), Vec::new(), true);
    for round in 0..effort.rounds {
        let prompts = |variant: usize| -> Result<Vec<Vec<Token>>> {
            let preamble = subject.prompt(10_000 + 2 * round + variant, effort.preamble_tokens)?;
            let own = |agent: usize| subject.prompt(20_000 + agent, effort.own_tokens);
            (0..AGENTS).map(|agent| Ok([preamble.clone(), own(agent)?].concat())).collect()
        };
        let from = Instant::now();
        let mut apart = Vec::new();
        for prompt in prompts(0)? {
            apart.push(one(subject, prompt, effort.generated_tokens, Priority::Step).await?);
        }
        in_turn.push(from.elapsed().as_secs_f64() * 1000.0);
        // Another preamble of the same length, so that none of it is in the prefix cache.
        let from = Instant::now();
        all(subject, prompts(1)?, effort.generated_tokens).await?;
        together.push(from.elapsed().as_secs_f64() * 1000.0);
        let again = all(subject, prompts(0)?, effort.generated_tokens).await?;
        same_tokens &= again.iter().zip(&apart).all(|(a, b)| a.tokens == b.tokens);
    }
    let (in_turn_ms, together_ms) = (median(in_turn), median(together));
    let Effort { preamble_tokens, own_tokens, generated_tokens, .. } = effort;
    let line =
        format!("{AGENTS} agents, {preamble_tokens} + {own_tokens} tokens, {generated_tokens} generated, in turn");
    figures.add("agents_in_turn_ms", in_turn_ms, line, format!("{in_turn_ms:.0} ms"));
    figures.add("agents_together_ms", together_ms, "  together", format!("{together_ms:.0} ms"));
    let sooner = 1.0 - together_ms / in_turn_ms;
    figures.add("agents_sooner", sooner, "  sooner by", format!("{:.0} %", 100.0 * sooner));
    let same = if same_tokens { "yes" } else { "NO" };
    figures.add("agents_same_tokens", same_tokens, "  the same tokens", same.to_owned());
    Ok(())
}

/// A user's first token, when idle and while background jobs run. Returns the time when idle, in
/// milliseconds.
async fn beside(subject: &Subject, effort: Effort, figures: &mut Figures) -> Result<f64> {
    let prompt = |number: usize| subject.prompt(30_000 + number, effort.preamble_tokens);
    let mut idle = Vec::new();
    for round in 0..effort.rounds {
        let run = one(subject, prompt(round)?, USER_TOKENS, Priority::User).await?;
        idle.push(run.first_token.as_secs_f64() * 1000.0);
    }
    let room = subject.engine.limits().context.saturating_sub(effort.preamble_tokens + 1);
    let mut jobs = Vec::new();
    for number in 0..BACKGROUND {
        let request = Request {
            ignore_end: true,
            priority: Priority::Background,
            ..Request::new(subject.prompt(40_000 + number, effort.preamble_tokens)?, BACKGROUND_TOKENS.min(room))
        };
        jobs.push(subject.engine.generate(request)?);
    }
    let mut besides = Vec::new();
    for round in 0..effort.rounds {
        let run = one(subject, prompt(100 + round)?, USER_TOKENS, Priority::User).await?;
        besides.push(run.first_token.as_secs_f64() * 1000.0);
    }
    drop(jobs);
    let (idle_ms, beside_ms) = (median(idle), median(besides));
    figures.add("ttft_idle_ms", idle_ms, "a user's first token, idle", format!("{idle_ms:.0} ms"));
    let line = format!("  beside {BACKGROUND} background jobs");
    figures.add("ttft_beside_ms", beside_ms, line, format!("{beside_ms:.0} ms"));
    figures.show("  ratio", format!("{:.2}", beside_ms / idle_ms));
    Ok(idle_ms)
}

/// Drops a stream after a third of its prompt's time and sends a short prompt at once; returns the
/// extra time compared with an idle engine.
async fn freed_after(subject: &Subject, effort: Effort, prompt_ms: f64) -> Result<f64> {
    let short = |number: usize| subject.prompt(50_000 + number, SHORT_TOKENS);
    let (mut idle, mut after) = (Vec::new(), Vec::new());
    for round in 0..effort.rounds {
        idle.push(one(subject, short(2 * round)?, 1, Priority::Step).await?.first_token.as_secs_f64() * 1000.0);
        let long = subject.prompt(60_000 + round, effort.preamble_tokens)?;
        let stream = subject.engine.generate(Request { priority: Priority::Step, ..Request::new(long, 1) })?;
        tokio::time::sleep(Duration::from_secs_f64(prompt_ms / 3000.0)).await;
        drop(stream);
        after.push(one(subject, short(2 * round + 1)?, 1, Priority::Step).await?.first_token.as_secs_f64() * 1000.0);
    }
    Ok((median(after) - median(idle)).max(0.0))
}
