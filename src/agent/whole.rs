//! Determines whether a generation is complete. A reply that was cut off changes nothing and runs
//! nothing.

use super::player::Output;
use crate::engine::Finish;

/// The lines of a text that was cut off, without the last one, which may be incomplete.
pub fn lines(cut: &str) -> &str {
    cut.rfind('\n').map_or("", |end| &cut[..end])
}

/// The text of an output; if it was cut off, only the complete lines. `None` if nothing is left, or
/// if the output repeats itself.
pub fn usable(output: &Output) -> Option<String> {
    let text = match output.finish {
        Finish::End => output.text.as_str(),
        Finish::MaxTokens | Finish::ContextFull => lines(&output.text),
        Finish::Repetition => "",
    };
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The reason why `output` was cut off, worded for the model that wrote it; `None` if it ended by
/// itself.
pub fn why_cut(output: &Output) -> Option<String> {
    let tokens = output.tally.generated_tokens;
    match output.finish {
        Finish::End => None,
        Finish::MaxTokens => Some(format!("it was cut at {tokens} tokens")),
        Finish::ContextFull => Some(format!("it was cut at {tokens} tokens, because the context is full")),
        Finish::Repetition => Some(format!("it was stopped at {tokens} tokens, because it repeated itself")),
    }
}
