//! Builds a synthetic model's vocabulary: LFM2's special tokens, another model's tokens, and padding to LFM2's size.

use crate::models::gguf::Vocabulary;

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

pub const PAD: u32 = 0;
pub const BEGIN: u32 = 1;
pub const END_OF_TURN: u32 = 7;

/// Tokens and their types, `size` of each. Ids of `vocabulary` shift by the special tokens; merges name tokens by their
/// text and stay valid. `None` if there are more than `size` tokens.
pub fn lay_out(vocabulary: &Vocabulary, size: usize) -> Option<(Vec<String>, Vec<i32>)> {
    let mut tokens: Vec<String> = SPECIAL.iter().map(|&token| token.to_owned()).collect();
    let mut types = vec![CONTROL; SPECIAL.len()];
    for (token, &kind) in vocabulary.tokens.iter().zip(&vocabulary.types) {
        if !SPECIAL.contains(&token.as_str()) {
            tokens.push(token.clone());
            types.push(i32::try_from(kind).unwrap_or(NORMAL));
        }
    }
    if tokens.len() > size {
        return None;
    }
    // Random weights generate these too; as normal tokens they are visible in the text.
    tokens.extend((tokens.len()..size).map(|id| format!("<|unused_{id}|>")));
    types.resize(size, NORMAL);
    Some((tokens, types))
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
    fn special_tokens_keep_their_ids_no_token_occurs_twice_and_all_must_fit() {
        let (tokens, types) = lay_out(&vocabulary(&["<|im_start|>", "<|im_end|>", "a", "b"]), 20).unwrap();
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
        assert_eq!(lay_out(&vocabulary(&["a", "b"]), 15), None);
    }
}
