//! Measures how long one user waits: load time, time to the first token cold, warm and in a second turn, decode rate.
//!
//! Left out: tools, retrieval and planning, whose times `ask` reports. One request at a time, greedy, with a fixed
//! number of tokens; figures are medians over the rounds. The last column of the table is the share of the memory
//! bandwidth that decoding uses: bytes read per token times tokens per second, divided by the bandwidth measured in the
//! same run.

use anyhow::Result;
use serde::Serialize;

use super::subject::{About, Run, Setting, Subject, run};
use super::{bandwidth, bare};
use crate::base::Cancel;
use crate::budget::permit::Priority;
use crate::budget::{cache, place};
use crate::engine::Token;
use crate::engine::pool::Pool;
use crate::engine::slot::Reuse;
use crate::measure::statistics::median;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub prompt_tokens: usize,
    pub generated_tokens: usize,
    pub rounds: usize,
    /// Also measure the decoder without the engine, to see what the engine costs.
    pub bare: bool,
}

/// The figures of one model.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    #[serde(flatten)]
    pub about: About,
    pub load_ms: u64,
    pub prompt_tokens: usize,
    pub ttft_cold_ms: f64,
    /// Time to the first token of the same prompt again.
    pub ttft_warm_ms: f64,
    /// Time to the first token of prompt, answer and a new question of 20 tokens.
    pub ttft_second_turn_ms: f64,
    /// `ttft_second_turn_ms` divided by the time that its whole prompt would take cold.
    pub second_turn_share: f64,
    /// Prompt tokens that are computed again after an edit 12 tokens (about 40 characters) before the prompt's end.
    pub edit_reevaluated_tokens: usize,
    pub prefill_tokens_per_s: f64,
    pub decode_tokens_per_s: f64,
    /// Decode rate without engine, channel and sampler; absent if not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bare_decode_tokens_per_s: Option<f64>,
    pub bandwidth_bytes_per_s: f64,
    /// Bytes of weights and KV cache that decoding one token reads.
    pub bytes_per_token: u64,
    /// Share of the memory bandwidth that decoding uses.
    pub roofline_share: f64,
}

/// Length of the question of the second turn.
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
) -> Result<Latency> {
    let subject = Subject::load(pool, setting, threads, cancel).await?;
    let rounds = rounds(&subject, effort).await?;
    let Subject { about, spec, load_ms, engine } = subject;
    drop(engine);
    let bare_decode_tokens_per_s =
        if effort.bare { Some(bare::decode_tokens_per_s(&spec, setting, effort, threads)?) } else { None };
    let bandwidth_bytes_per_s = bandwidth::read_bytes_per_s(threads);
    let kv = cache::kv_per_token(&spec.header, &setting.kv_type) * effort.prompt_tokens as u64;
    let bytes_per_token = (place::bytes_per_token(&spec.header) + kv).0;
    let of = |value: fn(&Round) -> f64| median(rounds.iter().map(value).collect());
    let decode_tokens_per_s = of(|round| decode_rate(&round.cold));
    Ok(Latency {
        about,
        load_ms,
        prompt_tokens: effort.prompt_tokens,
        ttft_cold_ms: of(|round| ms(&round.cold)),
        ttft_warm_ms: of(|round| ms(&round.warm)),
        ttft_second_turn_ms: of(|round| ms(&round.second)),
        second_turn_share: of(|round| ms(&round.second) / (ms(&round.cold) * round.second_over_first)),
        edit_reevaluated_tokens: rounds.last().map_or(0, |round| round.reevaluated),
        prefill_tokens_per_s: of(|round| {
            round.cold.tally.prompt_tokens as f64 * 1000.0 / round.cold.tally.prompt_ms.max(1) as f64
        }),
        decode_tokens_per_s,
        bare_decode_tokens_per_s,
        bandwidth_bytes_per_s,
        bytes_per_token,
        roofline_share: bytes_per_token as f64 * decode_tokens_per_s / bandwidth_bytes_per_s,
    })
}

struct Round {
    cold: Run,
    warm: Run,
    second: Run,
    /// Tokens of the second prompt over those of the first, to compare it with a cold start of its own.
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
        // The warm run has removed the answer from the slot, so put prompt and answer back before the second turn.
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
