//! Checks what llama.cpp takes for granted: on a header that breaks these rules it ends the process instead of refusing the file.
//!
//! The rules are those of `llama_model_base::load_hparams`, `llama_vocab::impl::load` and `gguf_init_from_reader`, as bound by
//! llama-cpp-2 0.1.160. What no rule here covers is found by `engine::llama::trial`, in a process of its own.

use std::collections::HashSet;

use super::error::{Flaw, GgufError};
use super::parse::Parsed;
use super::{Header, map, parse};

/// `LLAMA_MAX_LAYERS` and `LLAMA_MAX_EXPERTS` of llama-hparams.h.
const LAYERS_MAX: u32 = 512;
const EXPERTS_MAX: u32 = 1024;
/// `GGML_MAX_NAME` of ggml.h.
const NAME_BYTES_MAX: usize = 64;
/// Weights that are mapped from the file have to begin at a multiple of this (`TENSOR_ALIGNMENT` of ggml-impl.h).
const MAPPED_AT: u64 = 32;

/// The tensors lie in the file one after another, each under a name of its own, and the file is long enough for them.
pub(super) fn tensors(parsed: &Parsed<'_>, file_bytes: u64) -> Result<(), Flaw> {
    let mut names = HashSet::new();
    let mut next = parsed.data_start;
    let mut need = next;
    for tensor in &parsed.tensors {
        let wrong = |why: String| Err(Flaw::Malformed(format!("tensor {} {why}", tensor.name)));
        if tensor.name.len() >= NAME_BYTES_MAX {
            return wrong(format!("has a name of {} bytes; llama.cpp takes {}", tensor.name.len(), NAME_BYTES_MAX - 1));
        }
        if !names.insert(tensor.name.as_str()) {
            return wrong("stands there twice".into());
        }
        if tensor.offset != next {
            return wrong(format!("begins at byte {}, but the one before it ends at byte {next}", tensor.offset));
        }
        need = tensor.offset + tensor.bytes.0;
        let padded = need.checked_next_multiple_of(parsed.alignment);
        next = padded.ok_or_else(|| Flaw::Malformed(format!("tensor {} ends beyond any file", tensor.name)))?;
    }
    if need > file_bytes {
        return Err(Flaw::Truncated { have: file_bytes, need });
    }
    if !parsed.tensors.is_empty() && !parsed.data_start.is_multiple_of(MAPPED_AT) {
        let at = parsed.data_start;
        return Err(Flaw::key(
            "general.alignment",
            format!("puts the weights at byte {at}, no multiple of {MAPPED_AT}"),
        ));
    }
    Ok(())
}

/// Numbers of a model that writes text. A key that is missing is left to [`before_load`].
pub(super) fn numbers(parsed: &Parsed<'_>, architecture: &str) -> Result<(), Flaw> {
    let own = |key: &str| format!("{architecture}.{key}");
    let number = |key: &str| parsed.number(&own(key));
    let wrong = |key: &str, why: String| Err(Flaw::key(&own(key), why));
    let layers = number("block_count");
    if let Some(count) = layers.filter(|count| !(1..=LAYERS_MAX).contains(count)) {
        return wrong("block_count", format!("is {count}; a model has 1 to {LAYERS_MAX} layers"));
    }
    if number("embedding_length") == Some(0) {
        return wrong("embedding_length", "is 0".into());
    }
    if let (Some(unused), Some(layers)) = (number("nextn_predict_layers"), layers)
        && unused >= layers
    {
        return wrong("nextn_predict_layers", format!("is {unused}, of {layers} layers in all"));
    }
    experts(parsed, architecture)?;
    for key in ["attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"] {
        if let Some(value) = parsed.real(&own(key)).filter(|value| !(0.0..1.0).contains(value)) {
            return wrong(key, format!("is {value}; a norm takes a number from 0 to 1"));
        }
    }
    if let Some(turned) = number("rope.dimension_count") {
        let heads = parsed.numbers(&own("attention.head_count")).into_iter().max().unwrap_or(0);
        let by_heads = number("embedding_length").unwrap_or(0).checked_div(heads);
        let head = number("attention.key_length").or(by_heads).unwrap_or(u32::MAX);
        if turned % 2 == 1 || turned > head {
            return wrong(
                "rope.dimension_count",
                format!("is {turned}; it is an even part of a head's {head} numbers"),
            );
        }
    }
    if let Some(way) = parsed.text(&own("rope.scaling.type"))
        && !["none", "linear", "yarn", "longrope"].contains(&way.as_str())
    {
        return wrong("rope.scaling.type", format!("is `{way}`; llama.cpp knows none, linear, yarn and longrope"));
    }
    Ok(())
}

fn experts(parsed: &Parsed<'_>, architecture: &str) -> Result<(), Flaw> {
    let own = |key: &str| format!("{architecture}.{key}");
    let number = |key: &str| parsed.number(&own(key)).unwrap_or(0);
    let wrong = |key: &str, why: String| Err(Flaw::key(&own(key), why));
    let used = parsed.numbers(&own("expert_used_count")).into_iter().max().unwrap_or(0);
    let (all, groups, groups_used) =
        (number("expert_count"), number("expert_group_count"), number("expert_group_used_count"));
    // HunYuan's files say 1 for a dense model.
    if all <= 1 && architecture.starts_with("hunyuan") {
        return Ok(());
    }
    if all > EXPERTS_MAX {
        return wrong("expert_count", format!("is {all}; llama.cpp takes {EXPERTS_MAX}"));
    }
    if used > all || (all > 0 && used == 0) {
        return wrong("expert_used_count", format!("is {used}, of {all} experts in all"));
    }
    if groups > 0 && groups >= all {
        return wrong("expert_group_count", format!("is {groups}, for {all} experts"));
    }
    if groups > 1 && !all.is_multiple_of(groups) {
        return wrong("expert_group_count", format!("is {groups}, which does not divide {all} experts"));
    }
    if groups > 1 && !(1..groups).contains(&groups_used) {
        return wrong("expert_group_used_count", format!("is {groups_used}, of {groups} groups"));
    }
    Ok(())
}

/// Numbers without which llama.cpp loads no model of any architecture.
const REQUIRED: [&str; 3] = ["block_count", "embedding_length", "context_length"];

/// Checks, before a model is loaded, what takes too long for a look at every file: its vocabulary.
pub fn before_load(header: &Header) -> Result<(), GgufError> {
    let fail = |flaw| GgufError { path: header.path.clone(), flaw };
    let bytes = map(&header.path).map_err(fail)?;
    let parsed = parse::parse(&bytes).map_err(fail)?;
    let missing = REQUIRED.into_iter().map(|key| format!("{}.{key}", header.architecture));
    if let Some(key) = missing.into_iter().find(|key| parsed.number(key).is_none()) {
        return Err(fail(Flaw::key(&key, "is missing, or no whole number from 0 on")));
    }
    vocabulary(&parsed).map_err(fail)
}

fn vocabulary(parsed: &Parsed<'_>) -> Result<(), Flaw> {
    const MODEL: &str = "tokenizer.ggml.model";
    const TOKENS: &str = "tokenizer.ggml.tokens";
    match parsed.text(MODEL).as_deref() {
        None => return Err(Flaw::key(MODEL, "is missing, or no text")),
        Some(none @ ("none" | "no_vocab")) => {
            return Err(Flaw::key(MODEL, format!("is `{none}`: the file has no vocabulary, so it can read no text")));
        }
        Some(_) => {}
    }
    let mut seen = HashSet::new();
    for (id, token) in parsed.texts(TOKENS).enumerate() {
        // llama.cpp gives an empty token a name of its own.
        if !token.is_empty() && !seen.insert(token) {
            let text: String = String::from_utf8_lossy(token).chars().take(40).collect();
            return Err(Flaw::key(TOKENS, format!("has the token {text:?} twice, the second time as number {id}")));
        }
    }
    let count = parsed.count(TOKENS).unwrap_or(0);
    if count == 0 || seen.is_empty() {
        return Err(Flaw::key(TOKENS, "is missing, or no list of texts"));
    }
    for key in ["tokenizer.ggml.scores", "tokenizer.ggml.token_type"] {
        if parsed.has(key) && parsed.count(key).unwrap_or(0) < count {
            let why = format!("has {} entries for {count} tokens", parsed.count(key).unwrap_or(0));
            return Err(Flaw::key(key, why));
        }
    }
    Ok(())
}
