//! Lists the model architectures supported by the bound llama.cpp and the work they do.

/// The kind of work done by models of an architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Writes text token by token.
    Generates,
    /// Turns text into vectors.
    Encodes,
    /// Turns images or sound into vectors for another model.
    Projects,
    /// Drafts tokens for another model.
    Drafts,
    /// Speech, diffusion and sequence-to-sequence models.
    Other,
}

/// `None` for an architecture that this build of llama.cpp does not support.
pub fn work(architecture: &str) -> Option<Work> {
    let all = [
        (GENERATING, Work::Generates),
        (ENCODING, Work::Encodes),
        ("clip", Work::Projects),
        (DRAFTING, Work::Drafts),
        (OTHER, Work::Other),
    ];
    all.into_iter().find(|(names, _)| crate::base::is_listed(names, architecture)).map(|(_, work)| work)
}

/// Whether a model of this architecture keeps the keys and values of the tokens it has read
/// (`llama_model::create_memory`).
pub fn has_cache(architecture: &str) -> bool {
    work(architecture) != Some(Work::Encodes) || CACHED_ENCODERS.contains(&architecture)
}

/// Whether a GGUF of this architecture can be planner or router; the error completes "architecture
/// X, which …".
pub fn can_generate(architecture: &str) -> Result<(), &'static str> {
    match work(architecture) {
        Some(Work::Generates) => Ok(()),
        Some(_) => Err("does not generate text"),
        None => Err("this build of llama.cpp does not support"),
    }
}

/// Causal text models, from `LLM_ARCH_NAMES` in llama-arch.cpp (as bound by llama-cpp-2 0.1.160).
const GENERATING: &str = "
    llama llama4 deci falcon falcon-h1 grok gpt2 gptj gptneox gpt-oss mpt baichuan starcoder starcoder2 refact bloom
    stablelm qwen qwen2 qwen2moe qwen2vl qwen3 qwen3moe qwen3next qwen3vl qwen3vlmoe qwen35 qwen35moe qwen4exp phi2 phi3
    phimoe plamo plamo2 plamo3 codeshell orion internlm2 minicpm minicpm3 gemma gemma2 gemma3 gemma3n gemma4 mamba mamba2
    maple jamba xverse command-r cohere2 cohere2moe dbrx olmo olmo2 olmoe openelm arctic deepseek deepseek2 deepseek32
    deepseek4 chatglm glm4 glm4moe glm-dsa glm5-next bitnet jais jais2 nemotron nemotron_h nemotron_h_moe exaone exaone4
    exaone-moe rwkv6 rwkv6qwen2 rwkv7 arwkv7 granite granitemoe granitehybrid graniteswitch granite_swa chameleon plm
    bailingmoe bailingmoe2 bailingmoe3 dots1 dots3note arcee afmoe laguna ernie4_5 ernie4_5-moe hunyuan-moe hunyuan-dense
    hunyuan_vl hy_v3 hy_v4 smollm3 lfm2 lfm2moe smallthinker seed_oss grovemoe apertus minimax-01 minimax-m2 minimax-m3
    cogvlm pangu-embedded mistral3 mistral4 mimo2 step35 spark2_5 maincoder kimi-linear kimi-k3 mellum nanbeige talkie
    muse-glimmer";

/// Encoders.
const ENCODING: &str = "
    bert modern-bert nomic-bert nomic-bert-moe neo-bert jina-bert-v2 jina-bert-v3 eurobert gemma-embedding llama-embed t5encoder";

/// The encoders that keep keys and values.
const CACHED_ENCODERS: [&str; 2] = ["llama-embed", "t5encoder"];

/// Heads in separate files.
const DRAFTING: &str = "eagle3 dflash gemma4-assistant";

/// Speech, diffusion, translation, page recognition.
const OTHER: &str = "
    t5 wavtokenizer-dec qwen3tts pockettts clef dream llada llada-moe rnd1 hrm_text deepseek2-ocr paddleocr";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_sorted_by_what_they_can_do() {
        for known in ["llama", "lfm2", "lfm2moe", "gemma3", "qwen2", "qwen3", "mistral3"] {
            assert_eq!(can_generate(known), Ok(()), "{known}");
        }
        assert_eq!(can_generate("bert"), Err("does not generate text"));
        assert_eq!(can_generate("hal9000"), Err("this build of llama.cpp does not support"));
    }
}
