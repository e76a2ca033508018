//! Builds a synthetic model's vocabulary: LFM2's special tokens, another model's tokens, and padding to a given size.

use std::collections::{HashMap, HashSet};

use monobloc_engine::models::gguf::Vocabulary;

/// `enum llama_token_type`.
const NORMAL: i32 = 1;
const CONTROL: i32 = 3;

/// LFM2's first fourteen tokens, by id; 3 to 5 are its fill-in-the-middle tokens, unused here.
const SPECIAL: [&str; 14] = [
    "<|pad|>",
    "<|startoftext|>",
    "<|endoftext|>",
    "<|reserved_3|>",
    "<|reserved_4|>",
    "<|reserved_5|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|tool_list_start|>",
    "<|tool_list_end|>",
    "<|tool_call_start|>",
    "<|tool_call_end|>",
    "<|tool_response_start|>",
    "<|tool_response_end|>",
];

/// Minimum number of entries in a vocabulary: the special tokens, and a token for each byte.
pub const LEAST: u64 = 512;

pub const PAD: u32 = 0;
pub const BEGIN: u32 = 1;
pub const END_OF_TURN: u32 = 7;

/// Score of padding, below that of every real token.
const LOWEST_SCORE: f32 = -1e6;

/// A vocabulary of a given size.
#[derive(Debug, PartialEq)]
pub struct Laid {
    pub tokens: Vec<String>,
    pub types: Vec<i32>,
    pub merges: Vec<String>,
    /// Empty if tokens result from merges.
    pub scores: Vec<f32>,
}

/// `size` tokens with their types. The ids of `vocabulary` are shifted by the number of special
/// tokens; merges name tokens by their text. If the vocabulary is larger, only its first tokens are
/// used, which are the bytes and the most frequent words, together with the merges that produce
/// them.
pub fn lay_out(vocabulary: &Vocabulary, size: usize) -> Laid {
    let mut tokens: Vec<String> = SPECIAL.iter().map(|&token| token.to_owned()).collect();
    let mut types = vec![CONTROL; SPECIAL.len()];
    let named = vocabulary.tokens.iter().zip(&vocabulary.types).filter(|(token, _)| !SPECIAL.contains(&token.as_str()));
    let mut named = named.peekable();
    while tokens.len() < size
        && let Some((token, &kind)) = named.next()
    {
        tokens.push(token.clone());
        types.push(i32::try_from(kind).unwrap_or(NORMAL));
    }
    let known: HashSet<&str> = tokens.iter().map(String::as_str).collect();
    let makes_known = |merge: &&String| {
        merge
            .split_once(' ')
            .is_some_and(|(a, b)| known.contains(a) && known.contains(b) && known.contains(format!("{a}{b}").as_str()))
    };
    let merges = match named.peek() {
        None => vocabulary.merges.clone(),
        Some(_) => vocabulary.merges.iter().filter(makes_known).cloned().collect(),
    };
    let mut scores = Vec::new();
    if !vocabulary.scores.is_empty() {
        let by_text: HashMap<&str, f32> =
            vocabulary.tokens.iter().map(String::as_str).zip(vocabulary.scores.iter().copied()).collect();
        scores = tokens.iter().map(|token| by_text.get(token.as_str()).copied().unwrap_or(0.0)).collect();
        scores.resize(size, LOWEST_SCORE);
    }
    // Random weights generate these too; as normal tokens they are visible in the text.
    tokens.extend((tokens.len()..size).map(|id| format!("<|unused_{id}|>")));
    types.resize(size, NORMAL);
    Laid { tokens, types, merges, scores }
}

/// LFM2's chat template; contains the markers by which the dialect is recognised.
pub const CHAT_TEMPLATE: &str = "{{- bos_token -}}
{%- for message in messages -%}
{{- '<|im_start|>' + message['role'] + '\\n' -}}
{%- if message['role'] == 'tool' -%}
{{- '<|tool_response_start|>' + message['content'] + '<|tool_response_end|>' -}}
{%- else -%}
{{- message['content'] -}}
{%- endif -%}
{%- if loop.first and tools -%}
{{- '\\nList of tools: <|tool_list_start|>' + (tools | tojson) + '<|tool_list_end|>' -}}
{%- endif -%}
{{- '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<|im_start|>assistant\\n' -}}
{%- endif -%}";

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary(tokens: &[&str]) -> Vocabulary {
        let tokens: Vec<String> = tokens.iter().map(|&token| token.to_owned()).collect();
        Vocabulary { types: vec![1; tokens.len()], tokens, ..Vocabulary::default() }
    }

    #[test]
    fn special_tokens_keep_their_ids_and_no_token_occurs_twice() {
        let Laid { tokens, types, .. } = lay_out(&vocabulary(&["<|im_start|>", "<|im_end|>", "a", "b"]), 20);
        assert_eq!((tokens.len(), types.len()), (20, 20));
        for (id, token) in [
            (BEGIN, "<|startoftext|>"),
            (END_OF_TURN, "<|im_end|>"),
            (10, "<|tool_call_start|>"),
            (14, "a"),
            (16, "<|unused_16|>"),
        ] {
            assert_eq!(tokens[id as usize], token);
        }
        assert_eq!((types[7], types[14]), (CONTROL, NORMAL));
        let distinct: std::collections::HashSet<&String> = tokens.iter().collect();
        assert_eq!(distinct.len(), 20);
    }

    #[test]
    fn of_a_larger_vocabulary_the_first_tokens_are_taken_with_the_merges_that_make_them() {
        let merges = ["a b", "ab c", "b c", "ab ab"].map(str::to_owned).to_vec();
        let large = Vocabulary { merges, ..vocabulary(&["a", "b", "c", "ab", "abc", "bc", "abab"]) };
        let Laid { tokens, types, merges, .. } = lay_out(&large, 19);
        assert_eq!(tokens[14..], ["a", "b", "c", "ab", "abc"]);
        assert_eq!(types.len(), 19);
        assert_eq!(merges, ["a b", "ab c"]);
    }
}
