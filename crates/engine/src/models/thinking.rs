//! The sentence that a model family was trained to end an interrupted thought with.

use super::gguf::Header;

/// From Qwen3's technical report, on thinking budgets.
const QWEN: &str =
    "Considering the limited time by the user, I have to give the solution based on the thinking directly now.";
const QWEN_FAMILIES: &str = "qwen3 qwen3moe qwen3next qwen35 qwen35moe";

/// The last words of a thought that is cut short; empty for families that need none.
pub fn last_words(header: &Header) -> &'static str {
    if crate::base::is_listed(QWEN_FAMILIES, &header.architecture) { QWEN } else { "" }
}
