//! The maker's sampling values for a model: from the header, or else from its family, or none.

use super::gguf::{Header, Sampling};
use crate::models::SamplingWish;

/// Values that a family's makers state outside the header.
struct Family {
    /// Names in `general.architecture`, separated by spaces.
    architectures: &'static str,
    /// Part of the name of the model or its file, in lower case; empty for every model of the
    /// architecture.
    name: &'static str,
    /// Whether the values are for answers after thinking or for immediate answers; `None` for both.
    thinks: Option<bool>,
    wish: SamplingWish,
}

const fn family(architectures: &'static str, name: &'static str, thinks: Option<bool>, wish: SamplingWish) -> Family {
    Family { architectures, name, thinks, wish }
}

/// Temperature, top-k, top-p and min-p; no penalty.
const fn draw(temperature: f32, top_k: usize, top_p: f32, min_p: f32) -> SamplingWish {
    SamplingWish { temperature: Some(temperature), top_k: Some(top_k), top_p: Some(top_p), min_p: Some(min_p), ..NONE }
}

const NONE: SamplingWish = SamplingWish {
    temperature: None,
    top_k: None,
    top_p: None,
    min_p: None,
    repetition_penalty: None,
    frequency_penalty: None,
    presence_penalty: None,
    seed: None,
};

const fn with_repetition(penalty: f32, wish: SamplingWish) -> SamplingWish {
    SamplingWish { repetition_penalty: Some(penalty), ..wish }
}

const QWEN_3_5: &str = "qwen35 qwen35moe";
const QWEN_3: &str = "qwen3 qwen3moe qwen3next";

/// The makers' values as quoted in issues and pull requests of other projects; the cards and files
/// mentioned here were not read. The first match counts. Families not listed are greedy.
const FAMILIES: [Family; 12] = [
    // generation_config.json of each size; never a penalty.
    family("gemma4", "", None, draw(1.0, 64, 0.95, 0.0)),
    // OpenAI's own values, quoted in ollama#11725.
    family("gpt-oss", "", None, draw(1.0, 0, 1.0, 0.0)),
    // Card of Qwen3.8 (llama.cpp#28813).
    family(QWEN_3_5, "3.8", None, draw(1.0, 20, 0.95, 0.0)),
    // Card of Qwen3.6, "precise coding" and "instruct" (ollama#17197).
    family(QWEN_3_5, "", Some(true), draw(0.6, 20, 0.95, 0.0)),
    family(QWEN_3_5, "", Some(false), SamplingWish { presence_penalty: Some(1.5), ..draw(0.7, 20, 0.8, 0.0) }),
    // generation_config.json of Qwen3-Coder.
    family(QWEN_3, "coder", None, with_repetition(1.05, draw(0.7, 20, 0.8, 0.0))),
    // Card of Nemotron 3 Nano (ollama#16679): greedy without thinking.
    family("nemotron_h nemotron_h_moe", "", Some(true), draw(0.6, 0, 0.95, 0.0)),
    // generation_config.json of Granite 4.2; 4.0 and 4.1 are greedy.
    family("granite granitehybrid granitemoe", "4.2", None, draw(1.0, 0, 0.95, 0.0)),
    // Cards of LFM2: models made for tool calls are greedy, the 24B model has its own values, and
    // the others state the penalty.
    family("lfm2 lfm2moe", "tool", None, NONE),
    family("lfm2 lfm2moe", "router", None, NONE),
    family("lfm2moe", "24b-a2b", None, with_repetition(1.05, draw(0.1, 50, 1.0, 0.0))),
    family("lfm2 lfm2moe", "", None, with_repetition(1.05, NONE)),
];

/// The maker's values for a model that `thinks` first or answers immediately.
pub fn by_maker(header: &Header, thinks: bool) -> SamplingWish {
    if !header.sampling.is_silent() {
        return by_file(header.sampling);
    }
    let file = header.path.file_stem().unwrap_or_default().to_string_lossy();
    let names = [header.name.to_lowercase(), file.to_lowercase()];
    let fits = |family: &&Family| {
        crate::base::is_listed(family.architectures, &header.architecture)
            && names.iter().any(|name| name.contains(family.name))
            && family.thinks.is_none_or(|when| when == thinks)
    };
    FAMILIES.iter().find(fits).map_or(NONE, |family| family.wish)
}

/// If a file has truncations but no temperature, the temperature is 1, as in Transformers.
fn by_file(said: Sampling) -> SamplingWish {
    let truncates = said.top_k.is_some() || said.top_p.is_some() || said.min_p.is_some();
    SamplingWish {
        temperature: said.temperature.or(truncates.then_some(1.0)),
        top_k: said.top_k.map(|count| count as usize),
        top_p: said.top_p,
        min_p: said.min_p,
        repetition_penalty: said.penalty_repeat.filter(|_| said.penalty_last_n != Some(0)),
        ..NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::gguf::{self, write::HeaderWriter};

    fn check(architecture: &str, name: &str, thinks: bool, expected: SamplingWish) {
        assert_eq!(by(architecture, name, thinks), expected, "{architecture} {name} {thinks}");
    }

    #[test]
    fn a_family_is_found_by_architecture_name_and_thinking() {
        check("gemma4", "Gemma 4 E4B It", false, draw(1.0, 64, 0.95, 0.0));
        check("qwen35moe", "Qwen3.6 35B A3B", true, draw(0.6, 20, 0.95, 0.0));
        assert_eq!(by("qwen35", "Qwen3.5 4B", false).presence_penalty, Some(1.5));
        check("qwen35", "Qwen3.8 27B", false, draw(1.0, 20, 0.95, 0.0));
        assert_eq!(by("qwen3moe", "Qwen3 Coder 30B A3B Instruct", true).repetition_penalty, Some(1.05));
        check("granitehybrid", "Granite 4.0 H Tiny", false, NONE);
        check("lfm2", "LFM2 1.2B Tool", false, NONE);
        check("lfm2", "LFM2 2.6B", false, with_repetition(1.05, NONE));
        check("qwen2", "Qwen2.5 Coder 1.5B Instruct", true, NONE);
        check("llama", "SmolLM2 135M Instruct", true, NONE);
    }

    #[test]
    fn what_the_file_says_counts_before_the_family() {
        let gemma = || HeaderWriter::new("gemma4");
        let temperature = |writer: HeaderWriter| of(writer, false).temperature;
        assert_eq!(
            of(gemma().f32("general.sampling.temp", 0.2), false),
            SamplingWish { temperature: Some(0.2), ..NONE }
        );
        assert_eq!(temperature(gemma().f32("general.sampling.top_p", 0.5)), Some(1.0));
        assert_eq!(temperature(gemma().f32("general.sampling.top_p", 7.0)), Some(1.0), "of the family");
        let penalty = gemma().f32("general.sampling.penalty_repeat", 1.1).u32("general.sampling.penalty_last_n", 0);
        assert_eq!(of(penalty, false), NONE);
    }

    fn by(architecture: &str, name: &str, thinks: bool) -> SamplingWish {
        of(HeaderWriter::new(architecture).text("general.name", name), thinks)
    }

    fn of(mut writer: HeaderWriter, thinks: bool) -> SamplingWish {
        let file = tempfile::NamedTempFile::new().unwrap();
        writer.tensor("norm", &[32], gguf::TensorType::by_name("f32").unwrap());
        std::fs::write(file.path(), writer.finish_with_zeros()).unwrap();
        by_maker(&gguf::inspect(file.path()).unwrap(), thinks)
    }
}
