//! Reads a server's own statements in JSON: errors of every shape, token counts, model names.

use serde_json::Value;

use super::error::Why;
use super::piece::Usage;

/// Maximum number of characters repeated from a server's message.
const SAID_MAX: usize = 300;

/// The error in a JSON answer, if any: `{"error": {"message": …}}`, `{"error": "…"}`,
/// `{"object": "error", "message": …}`, or FastAPI's `{"detail": …}`.
pub fn error_in(value: &Value) -> Option<String> {
    let error = &value["error"];
    let said = match error {
        Value::Null if value["object"] == "error" => &value["message"],
        Value::Null if value.get("choices").is_none() => &value["detail"],
        Value::Null => return None,
        Value::Object(_) if error.get("message").is_some() => &error["message"],
        other => other,
    };
    match said {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// A server's text for a message: one line, short, and without the key.
pub fn shown(text: &str, key: Option<&str>) -> String {
    let text = match key {
        Some(key) => text.replace(key, "[key]"),
        None => text.to_owned(),
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(SAID_MAX).collect();
    let dots = if short.len() < line.len() { "…" } else { "" };
    crate::base::visible(&format!("{short}{dots}"))
}

/// The meaning of a status other than 200. `text` is the beginning of the body.
pub fn judged(status: u16, path: &str, text: &str, key: Option<&str>) -> Why {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let said = shown(&error_in(&value).unwrap_or_else(|| text.to_owned()), key);
    let said = if said.is_empty() { "it gives no reason".to_owned() } else { said };
    match status {
        401 | 403 => Why::Refused(status),
        404 | 405 if !said.to_lowercase().contains("model") => Why::NoSuchPath { path: path.to_owned(), status },
        400 | 413 | 422 | 500 if is_too_long(&value, &said) => Why::TooLong { said },
        _ => Why::Status { status, said },
    }
}

/// Whether an error means that the prompt does not fit, by llama-server's type, OpenAI's code, or
/// the words of vLLM and SGLang.
pub fn is_too_long(value: &Value, said: &str) -> bool {
    let marks = ["exceed_context_size_error", "context_length_exceeded"];
    let has = |field: &Value| field.as_str().is_some_and(|text| marks.contains(&text));
    let said = said.to_lowercase();
    let words = ["context length", "context size", "maximum context", "context window", "longer than the model's"];
    has(&value["error"]["type"]) || has(&value["error"]["code"]) || words.iter().any(|one| said.contains(one))
}

/// Whether the server is still loading the model. LM Studio reports that with status 400.
pub fn is_loading(status: u16, text: &str) -> bool {
    let text = text.to_lowercase();
    let says = ["is loading", "is reloaded", "is unloaded", "loading model"].iter().any(|words| text.contains(words));
    status == 503 || (matches!(status, 400 | 500) && says && text.contains("model"))
}

/// Stores the counts in a chunk, replacing those of an earlier one.
pub fn count(value: &Value, usage: &mut Usage) {
    let number = |value: &Value| value.as_u64().and_then(|count| usize::try_from(count).ok());
    let counts = &value["usage"];
    if let Some(prompt) = number(&counts["prompt_tokens"]) {
        usage.prompt_tokens = prompt;
        usage.is_estimate = false;
    }
    if let Some(generated) = number(&counts["completion_tokens"]) {
        usage.generated_tokens = generated;
    }
    let cached = number(&counts["prompt_tokens_details"]["cached_tokens"]).or(number(&value["timings"]["cache_n"]));
    usage.cached_tokens = cached.unwrap_or(usage.cached_tokens);
    let thought = number(&counts["completion_tokens_details"]["reasoning_tokens"]);
    usage.thought_tokens = thought.unwrap_or(usage.thought_tokens);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_of_every_shape_are_read() {
        for (value, expected) in [
            (json!({ "error": { "message": "no memory", "code": 500 } }), Some("no memory")),
            (json!({ "error": "no memory" }), Some("no memory")),
            (json!({ "object": "error", "message": "no memory" }), Some("no memory")),
            (json!({ "detail": "no memory" }), Some("no memory")),
            (json!({ "choices": [], "detail": "x" }), None),
            (json!({ "choices": [], "error": null }), None),
        ] {
            assert_eq!(error_in(&value).as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn a_prompt_that_is_too_long_is_told_from_other_refusals() {
        let llama =
            r#"{"error":{"code":400,"type":"exceed_context_size_error","message":"request (9 tokens) exceeds"}}"#;
        let vllm = r#"{"object":"error","message":"This model's maximum context length is 8 tokens, you asked for 9"}"#;
        for text in [llama, vllm] {
            assert!(matches!(judged(400, "chat/completions", text, None), Why::TooLong { .. }), "{text}");
        }
        assert!(matches!(judged(400, "x", "{\"error\":\"bad schema\"}", None), Why::Status { status: 400, .. }));
        assert!(matches!(judged(404, "x", "<html>", None), Why::NoSuchPath { .. }));
        assert!(matches!(judged(404, "x", "{\"error\":\"model `a` not found\"}", None), Why::Status { .. }));
    }

    #[test]
    fn no_key_and_no_control_sign_of_a_server_is_repeated() {
        let said = shown("bad key sesame\n\u{1b}[2J of you", Some("sesame"));
        assert!(!said.contains("sesame") && !said.contains('\u{1b}') && said.starts_with("bad key [key]"), "{said}");
        assert_eq!(shown(&"x".repeat(1_000), None).chars().count(), SAID_MAX + 1);
    }

    #[test]
    fn counts_of_several_chunks_add_up_to_the_last_of_each() {
        let mut usage = Usage { is_estimate: true, ..Usage::default() };
        count(&json!({ "usage": null }), &mut usage);
        assert!(usage.is_estimate);
        let details = json!({ "cached_tokens": 7 });
        count(
            &json!({ "usage": { "prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": details } }),
            &mut usage,
        );
        count(&json!({ "timings": { "prompt_n": 2 } }), &mut usage);
        assert_eq!((usage.prompt_tokens, usage.generated_tokens, usage.cached_tokens), (9, 2, 7));
        assert!(!usage.is_estimate);
    }
}
