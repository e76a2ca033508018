//! Checks what llama.cpp takes for granted: a header that breaks these rules makes it abort instead of refusing.
//!
//! The rules are those of `llama_model_base::load_hparams`, `llama_vocab::impl::load` and
//! `gguf_init_from_reader`, as bound by llama-cpp-2 0.1.160. Flaws not covered here are found by
//! `engine::trial`, in a separate process.

use std::collections::HashSet;

use super::error::{Flaw, GgufError};
use super::layers::LAYERS_MAX;
use super::parse::Parsed;
use super::{Header, map, parse};

/// `LLAMA_MAX_EXPERTS` of llama-hparams.h.
const EXPERTS_MAX: u32 = 1024;
/// `GGML_MAX_NAME` of ggml.h.
const NAME_BYTES_MAX: usize = 64;
/// Weights that are mapped from the file must begin at a multiple of this (`TENSOR_ALIGNMENT` in
/// ggml-impl.h).
const MAPPED_AT: u64 = 32;

/// Tensors must be consecutive in the file, have distinct names, and fit into the file.
pub(super) fn tensors(parsed: &Parsed<'_>, file_bytes: u64) -> Result<(), Flaw> {
    let mut names = HashSet::new();
    let mut next = parsed.data_start;
    let mut need = next;
    for tensor in &parsed.tensors {
        let wrong = |why: String| Err(Flaw::Malformed(format!("tensor {} {why}", tensor.name)));
        if tensor.name.len() >= NAME_BYTES_MAX {
            return wrong(format!(
                "has a name of {} bytes; llama.cpp takes at most {}",
                tensor.name.len(),
                NAME_BYTES_MAX - 1
            ));
        }
        if !names.insert(tensor.name.as_str()) {
            return wrong("occurs twice".into());
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
            format!("puts the weights at byte {at}, which is not a multiple of {MAPPED_AT}"),
        ));
    }
    Ok(())
}

/// Checks the numbers of a model that writes text. Missing keys are left to [`before_load`].
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
            return wrong(key, format!("is {value}; it must be at least 0 and less than 1"));
        }
    }
    // Layers with a window may have different heads.
    for (key, length) in
        [("rope.dimension_count", "attention.key_length"), ("rope.dimension_count_swa", "attention.key_length_swa")]
    {
        let heads = parsed.numbers(&own("attention.head_count")).into_iter().max().unwrap_or(0);
        let by_heads = number("embedding_length").unwrap_or(0).checked_div(heads);
        let head = number(length).or(number("attention.key_length")).or(by_heads).unwrap_or(u32::MAX);
        if let Some(turned) = number(key).filter(|turned| turned % 2 == 1 || *turned > head) {
            return wrong(key, format!("is {turned}; it must be even, and at most a head's {head} numbers"));
        }
    }
    if let Some(way) = parsed.text(&own("rope.scaling.type"))
        && !["none", "linear", "yarn", "longrope"].contains(&way.as_str())
    {
        return wrong("rope.scaling.type", format!("is `{way}`; llama.cpp supports none, linear, yarn and longrope"));
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
    // HunYuan's files have 1 here for a dense model.
    if all <= 1 && architecture.starts_with("hunyuan") {
        return Ok(());
    }
    if all > EXPERTS_MAX {
        return wrong("expert_count", format!("is {all}; llama.cpp takes at most {EXPERTS_MAX}"));
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

/// Numbers that llama.cpp requires to load a model of any architecture.
const REQUIRED: [&str; 3] = ["block_count", "embedding_length", "context_length"];

/// Checks, before a model is loaded, its required keys and number formats, and its vocabulary,
/// which would take too long for every listed file.
pub fn before_load(header: &Header) -> Result<(), GgufError> {
    let fail = |flaw| GgufError { path: header.path.clone(), flaw };
    let bytes = map(&header.path).map_err(fail)?;
    let parsed = parse::parse(&bytes).map_err(fail)?;
    let missing = REQUIRED.into_iter().map(|key| format!("{}.{key}", header.architecture));
    if let Some(key) = missing.into_iter().find(|key| parsed.number(key).is_none()) {
        return Err(fail(Flaw::key(&key, "is missing, or is not a non-negative whole number")));
    }
    floats(header).map_err(fail)?;
    vocabulary(&parsed).map_err(fail)
}

/// Suffixes of the names of tensors whose rows ggml processes number by number.
const CONVOLVED: [&str; 4] = ["conv1d.weight", "shortconv.conv.weight", ".ssm_a", ".ssm_d"];

/// Norms, biases and convolutions must be 32-bit floats: ggml supports no other type for them, and
/// aborts only during computation.
fn floats(header: &Header) -> Result<(), Flaw> {
    for tensor in header.used_tensors().filter(|tensor| tensor.kind.name != "F32") {
        let is_matrix = tensor.name.ends_with("ffn_gate_inp_shexp.weight");
        if !is_matrix && tensor.shape.len() == 1 || CONVOLVED.iter().any(|end| tensor.name.ends_with(end)) {
            return Err(Flaw::Malformed(format!(
                "tensor {} is {}, but llama.cpp needs F32",
                tensor.name, tensor.kind.name
            )));
        }
    }
    Ok(())
}

fn vocabulary(parsed: &Parsed<'_>) -> Result<(), Flaw> {
    const MODEL: &str = "tokenizer.ggml.model";
    const TOKENS: &str = "tokenizer.ggml.tokens";
    match parsed.text(MODEL).as_deref() {
        None => return Err(Flaw::key(MODEL, "is missing, or is not a string")),
        Some(none @ ("none" | "no_vocab")) => {
            return Err(Flaw::key(MODEL, format!("is `{none}`: the file has no vocabulary, so it can read no text")));
        }
        Some(_) => {}
    }
    let mut seen = HashSet::new();
    for (id, token) in parsed.texts(TOKENS).enumerate() {
        // llama.cpp gives empty tokens its own name.
        if !token.is_empty() && !seen.insert(token) {
            let text: String = String::from_utf8_lossy(token).chars().take(40).collect();
            return Err(Flaw::key(TOKENS, format!("has the token {text:?} twice, the second time as number {id}")));
        }
    }
    let count = parsed.count(TOKENS).unwrap_or(0);
    if count == 0 || seen.is_empty() {
        return Err(Flaw::key(TOKENS, "is missing, or is not a list of strings"));
    }
    for key in ["tokenizer.ggml.scores", "tokenizer.ggml.token_type"] {
        if parsed.has(key) && parsed.count(key).unwrap_or(0) < count {
            let why = format!("has {} entries for {count} tokens", parsed.count(key).unwrap_or(0));
            return Err(Flaw::key(key, why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::write::HeaderWriter;
    use super::super::{TensorType, inspect};
    use super::*;

    /// The result of reading and checking a small header with `change`; the base header has every
    /// required key.
    fn said(change: impl Fn(HeaderWriter) -> HeaderWriter, left_out: &str) -> Result<(), String> {
        let mut writer = HeaderWriter::new("llama");
        for (key, value) in [("block_count", 2), ("embedding_length", 64), ("context_length", 512)] {
            if key != left_out {
                writer = writer.u32(&format!("llama.{key}"), value);
            }
        }
        if left_out != "model" {
            writer = writer.text("tokenizer.ggml.model", "gpt2");
        }
        if left_out != "tokens" {
            writer = writer.texts("tokenizer.ggml.tokens", &["a".into(), String::new(), String::new(), "b".into()]);
        }
        let mut writer = change(writer);
        writer.tensor("w", &[64], TensorType::by_name("f32").unwrap());
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.gguf");
        fs::write(&path, writer.finish_with_zeros()).unwrap();
        inspect(&path).and_then(|header| before_load(&header)).map_err(|error| error.to_string())
    }

    fn check(left_out: &str, change: impl Fn(HeaderWriter) -> HeaderWriter, expected: &[&str]) {
        let said = said(change, left_out).expect_err("the header is damaged");
        for part in expected.iter().chain(&["m.gguf"]) {
            assert!(said.contains(part), "`{said}` does not say `{part}`");
        }
    }

    #[test]
    fn a_norm_of_another_type_is_named() {
        let half = |writer: HeaderWriter| {
            let mut writer = writer;
            writer.tensor("blk.0.attn_norm.weight", &[64], TensorType::by_name("F16").unwrap());
            writer
        };
        check("", half, &["tensor blk.0.attn_norm.weight is F16, but llama.cpp needs F32"]);
        let matrix = |writer: HeaderWriter| {
            let mut writer = writer;
            writer.tensor("blk.0.attn_q.weight", &[64, 2], TensorType::by_name("F16").unwrap());
            writer
        };
        assert_eq!(said(matrix, ""), Ok(()));
    }

    #[test]
    fn a_whole_header_passes() {
        assert_eq!(said(|writer| writer, ""), Ok(()));
        assert_eq!(said(|writer| writer.u32("llama.expert_count", 8).u32("llama.expert_used_count", 2), ""), Ok(()));
    }

    #[test]
    fn what_llama_cpp_would_end_the_process_for_is_named_with_its_key() {
        let number = |key: &'static str, value| move |writer: HeaderWriter| writer.u32(&format!("llama.{key}"), value);
        for key in ["block_count", "embedding_length", "context_length"] {
            check(key, |writer| writer, &[&format!("the key llama.{key} is missing")]);
            check(
                key,
                |writer| writer.text(&format!("llama.{key}"), "2"),
                &[&format!("the key llama.{key} is missing, or is not")],
            );
        }
        check("block_count", number("block_count", 0), &["llama.block_count is 0; a model has 1 to 512 layers"]);
        check("block_count", number("block_count", 513), &["llama.block_count is 513"]);
        check("embedding_length", number("embedding_length", 0), &["llama.embedding_length is 0"]);
        check("", number("nextn_predict_layers", 2), &["llama.nextn_predict_layers is 2, of 2 layers"]);
        check("", number("expert_count", 8), &["llama.expert_used_count is 0, of 8 experts"]);
        check("", number("expert_used_count", 2), &["llama.expert_used_count is 2, of 0 experts"]);
        check("", number("expert_count", 5000), &["llama.expert_count is 5000; llama.cpp takes at most 1024"]);
        check("", number("expert_group_count", 3), &["llama.expert_group_count is 3, for 0 experts"]);
        check("", number("rope.dimension_count", 7), &["llama.rope.dimension_count is 7; it must be even"]);
        for wrong in [-1.0, 1.0, f32::NAN, f32::INFINITY] {
            let key = "llama.attention.layer_norm_rms_epsilon";
            check("", |writer| writer.f32(key, wrong), &[key, "it must be at least 0 and less than 1"]);
        }
        check("", number("rope.dimension_count_swa", 7), &["llama.rope.dimension_count_swa is 7; it must be even"]);
        let wide = |writer: HeaderWriter| {
            writer.u32("llama.attention.key_length_swa", 64).u32("llama.rope.dimension_count_swa", 66)
        };
        check("", wide, &["llama.rope.dimension_count_swa is 66; it must be even, and at most a head's 64 numbers"]);
        check("", |writer| writer.text("llama.rope.scaling.type", "odd"), &["llama.rope.scaling.type is `odd`"]);
        check("model", |writer| writer, &["tokenizer.ggml.model is missing"]);
        check(
            "model",
            |writer| writer.text("tokenizer.ggml.model", "none"),
            &["is `none`: the file has no vocabulary"],
        );
        check("tokens", |writer| writer, &["tokenizer.ggml.tokens is missing"]);
        let twice = |writer: HeaderWriter| writer.texts("tokenizer.ggml.tokens", &["a".into(), "b".into(), "a".into()]);
        check("tokens", twice, &["has the token \"a\" twice, the second time as number 2"]);
        check("", |writer| writer.i32s("tokenizer.ggml.token_type", &[1]), &["token_type has 1 entries for 4 tokens"]);
        check("", |writer| writer.u32("general.alignment", 3), &["general.alignment is not a power of two"]);
        check(
            "",
            |writer| writer.u16("general.alignment", 32),
            &["general.alignment is not a power of two stored as an unsigned"],
        );
    }
}
