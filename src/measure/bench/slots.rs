//! Measures how concurrent requests affect each other.
//!
//! Four measurements: total decode rate, agents with a shared preamble, a user beside background jobs, and how soon a
//! dropped stream frees the engine.
//!
//! Prompts have equal length and differ from the second word on, except for the agents, which share a preamble. What
//! the model writes is not judged. The machine should be idle otherwise; the table prints ratios of one run.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde::Serialize;

use super::subject::{About, Run, Setting, Subject, run};
use crate::base::Cancel;
use crate::budget::permit::Priority;
use crate::engine::fan_out::fan_out;
use crate::engine::pool::Pool;
use crate::engine::slot::Reuse;
use crate::engine::{Request, Token};
use crate::measure::statistics::median;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub preamble_tokens: usize,
    /// Tokens of each agent's own after the preamble.
    pub own_tokens: usize,
    pub generated_tokens: usize,
    pub rounds: usize,
}

/// Agents that share a preamble.
const AGENTS: usize = 4;
/// Background jobs that run while a user's request is measured.
const BACKGROUND: usize = 4;
/// Tokens generated for that user.
const USER_TOKENS: usize = 8;
/// Tokens a background job would generate if nobody stopped it.
const BACKGROUND_TOKENS: usize = 4096;

/// A prompt that is evaluated in a single call of few rows.
const SHORT_TOKENS: usize = 8;

/// The figures of one model.
#[derive(Clone, Debug, Serialize)]
pub struct Slots {
    #[serde(flatten)]
    pub about: About,
    pub load_ms: u64,
    /// (slots at work, tokens per second of all of them together)
    pub decode_tokens_per_s: Vec<(usize, f64)>,
    pub fan_out: FanOut,
    pub priority: Beside,
    /// How much longer a short request takes if another stream was dropped in the middle of its prompt just before.
    pub freed_after_ms: f64,
}

/// Four agents with a shared preamble.
#[derive(Clone, Debug, Serialize)]
pub struct FanOut {
    pub agents: usize,
    pub preamble_tokens: usize,
    pub own_tokens: usize,
    pub generated_tokens: usize,
    /// Time of all agents one after another; each can reuse what the one before computed.
    pub in_turn_ms: f64,
    pub together_ms: f64,
    /// Share of time saved by running together: 0.3 is 30 %.
    pub sooner: f64,
    /// Whether every agent generated the same tokens both ways.
    pub same_tokens: bool,
}

/// A user's first token while background jobs run.
#[derive(Clone, Debug, Serialize)]
pub struct Beside {
    pub background_jobs: usize,
    pub ttft_idle_ms: f64,
    pub ttft_beside_ms: f64,
    pub ratio: f64,
}

/// Measures the model of `setting`, whose slots are the number of requests served at once.
pub async fn measure(pool: &Pool, setting: &Setting, effort: Effort, threads: usize, cancel: &Cancel) -> Result<Slots> {
    let subject = Subject::load(pool, setting, threads, cancel).await?;
    one(&subject, subject.prompt(0, 8)?, 1, Priority::User).await?;
    let mut decode_tokens_per_s = Vec::new();
    for slots in [1, 2, 4, 8, 16].into_iter().filter(|&slots| slots <= setting.slots) {
        decode_tokens_per_s.push((slots, decode_rate(&subject, effort, slots).await?));
    }
    let fan_out = agents(&subject, effort).await?;
    let priority = beside(&subject, effort).await?;
    let freed_after_ms = freed_after(&subject, effort, priority.ttft_idle_ms).await?;
    let (about, load_ms) = (subject.about, subject.load_ms);
    Ok(Slots { about, load_ms, decode_tokens_per_s, fan_out, priority, freed_after_ms })
}

async fn one(subject: &Subject, prompt: Vec<Token>, tokens: usize, priority: Priority) -> Result<Run> {
    run(&subject.engine, prompt, tokens, priority, Reuse::Exact).await
}

/// Generated tokens divided by the time without the longest prompt. A first round is not measured: in it the engine
/// finds out whether its slots may share calls.
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
    let at_once = tasks.len();
    fan_out(tasks, at_once).await?.into_iter().collect()
}

async fn agents(subject: &Subject, effort: Effort) -> Result<FanOut> {
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
    Ok(FanOut {
        agents: AGENTS,
        preamble_tokens: effort.preamble_tokens,
        own_tokens: effort.own_tokens,
        generated_tokens: effort.generated_tokens,
        in_turn_ms,
        together_ms,
        sooner: 1.0 - together_ms / in_turn_ms,
        same_tokens,
    })
}

async fn beside(subject: &Subject, effort: Effort) -> Result<Beside> {
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
    let (ttft_idle_ms, ttft_beside_ms) = (median(idle), median(besides));
    Ok(Beside { background_jobs: BACKGROUND, ttft_idle_ms, ttft_beside_ms, ratio: ttft_beside_ms / ttft_idle_ms })
}

/// Drops a stream after a third of its prompt's time and sends a short prompt at once; returns the extra time this
/// takes compared with an idle engine.
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
