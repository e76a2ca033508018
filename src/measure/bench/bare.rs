//! Measures decoding with the decoder alone: no queue, sampler, stream or compute permit.

use std::time::Instant;

use anyhow::Result;

use super::latency::Effort;
use super::subject::Setting;
use crate::config::Exact;
use crate::engine::llama::{KvFormat, Loading, Shape, Weights};
use crate::engine::pool::shape;
use crate::engine::{Decoder, Row, Token, Vocabulary};
use crate::models::ModelSpec;
use crate::models::dialect::Prompt;

/// Tokens per second of greedy decoding after a prompt. Loads its own weights and a context like
/// the engine's.
pub fn decode_tokens_per_s(spec: &ModelSpec, setting: &Setting, effort: Effort, threads: usize) -> Result<f64> {
    let loading = Loading { gpu_layers: u32::MAX, experts_on_host: 0, repack: true, mapped: false };
    let weights = Weights::load(&spec.header, loading, |_| true)?;
    let kv = KvFormat::by_name(&setting.kv_type).unwrap_or_default();
    let context = setting.context as usize;
    let most =
        Shape { slots: 1, context, kv, flash: setting.flash, threads, chunk: shape::CHUNK_ROWS, exact: Exact::Auto };
    let chunk = shape::chunk_rows(&spec.header, &most);
    let shape = Shape { chunk, ..most };
    let mut decoder = weights.context(&shape)?;
    let mut tokens =
        weights.tokenize(&Prompt::default().text("The box on the left is blue. ".repeat(effort.prompt_tokens / 6 + 1)));
    tokens.truncate(effort.prompt_tokens.max(1));
    let mut next = Token(0);
    for (number, piece) in tokens.chunks(chunk).enumerate() {
        let last = (number + 1) * chunk >= tokens.len();
        let rows: Vec<Row> = piece
            .iter()
            .enumerate()
            .map(|(offset, &token)| Row {
                sequence: 0,
                position: number * chunk + offset,
                token,
                logits: last && offset + 1 == piece.len(),
            })
            .collect();
        decoder.decode(&rows, &|| false)?;
        if last {
            next = likeliest(decoder.logits(piece.len() - 1));
        }
    }
    let from = Instant::now();
    for number in 0..effort.generated_tokens {
        let row = Row { sequence: 0, position: tokens.len() + number, token: next, logits: true };
        decoder.decode(&[row], &|| false)?;
        next = likeliest(decoder.logits(0));
    }
    Ok(effort.generated_tokens as f64 / from.elapsed().as_secs_f64())
}

fn likeliest(logits: &[f32]) -> Token {
    let best = logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    Token(best.map_or(0, |(index, _)| index as i32))
}
