//! Reads the calls of LFM2 and LFM2.5: Python-like lists between markers of their own.

use super::chat::RawCall;
use super::{json, pythonic};

const OPEN: &str = "<|tool_call_start|>";

/// Every list of calls that follows a start marker. The end marker may be missing: generation often stops at it.
pub fn read_calls(text: &str) -> Vec<RawCall> {
    json::behind_each(text, OPEN, |behind| {
        let section = behind.trim_start();
        let (calls, length) = pythonic::list(section)?;
        Some((calls, behind.len() - section.len() + length))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_only_after_their_marker() {
        let check = |text: &str, expected: usize| assert_eq!(read_calls(text).len(), expected, "{text}");
        check("<|tool_call_start|>[f(a=\"x\", n=1)]<|tool_call_end|>Done.", 1);
        check("<|tool_call_start|>[f(a=1), g()]", 2);
        check("<|tool_call_start|>[f()]<|tool_call_end|><|tool_call_start|> [g()]<|tool_call_end|>", 2);
        check("[f(a=1)]", 0);
        check("<|tool_call_start|>f(a=1)", 0);
    }
}
