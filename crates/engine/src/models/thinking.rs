//! Knows the sentence with which a family was trained to end a thought that is cut.

use super::gguf::Header;

/// Qwen3's technical report, on budgets for thinking.
const QWEN: &str =
    "Considering the limited time by the user, I have to give the solution based on the thinking directly now.";
const QWEN_FAMILIES: &str = "qwen3 qwen3moe qwen3next qwen35 qwen35moe";

/// The last words of a thought that is cut; empty for a family that needs none.
pub fn last_words(header: &Header) -> &'static str {
    if crate::base::is_listed(QWEN_FAMILIES, &header.architecture) { QWEN } else { "" }
}
