//! Hides secrets in a text, even if JSON escapes are in them: `ab\/cd\u003d` is `ab/cd=`.

/// Shorter texts also occur inside ordinary words.
const SECRET_MIN: usize = 6;

/// The text with `[token]` in place of each secret. The text may be JSON, plain, or JSON inside a
/// string of JSON.
pub fn without(text: &str, secrets: &[String]) -> String {
    let (plain, starts) = unescaped(text);
    let mut spans = Vec::new();
    for secret in secrets.iter().map(|secret| unescaped(secret).0).filter(|secret| secret.len() >= SECRET_MIN) {
        let ends = plain.match_indices(&secret).map(|(at, _)| (at, at + secret.len()));
        spans.extend(ends.filter_map(|(from, to)| Some((*starts.get(from)?, *starts.get(to)?))));
    }
    spans.sort_unstable();
    let (mut rest, mut hidden) = (0, String::with_capacity(text.len()));
    for (from, to) in spans {
        if let Some(between) = text.get(rest..from) {
            hidden.push_str(between);
            hidden.push_str("[token]");
        }
        rest = rest.max(to);
    }
    hidden.push_str(text.get(rest..).unwrap_or_default());
    hidden
}

/// The text without escapes, however often it was escaped, and for each byte of it the position in
/// `text`. An escape such as `\n` becomes `n`, because no secret has a line break.
fn unescaped(text: &str) -> (String, Vec<usize>) {
    let (mut plain, mut starts) = (String::with_capacity(text.len()), Vec::with_capacity(text.len() + 1));
    let mut rest = text;
    loop {
        let bare = rest.trim_start_matches('\\');
        let Some(first) = bare.chars().next() else { break };
        let code = bare.get(1..5).filter(|_| first == 'u' && bare.len() < rest.len());
        let code = code.and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32);
        plain.push(code.unwrap_or(first));
        starts.resize(plain.len(), text.len() - rest.len());
        rest = bare.get(if code.is_some() { 5 } else { first.len_utf8() }..).unwrap_or_default();
    }
    starts.push(text.len() - rest.len());
    (plain, starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_hidden_however_json_writes_it() {
        let secrets = ["ab/cd+4711==", "cd+4711==x", "short"].map(str::to_owned);
        let check = |text: &str, expected: &str| assert_eq!(without(text, &secrets), expected);
        check("ab/cd+4711== ab/cd+4711==", "[token] [token]");
        check(r#"{"a":"Bearer ab\/cd\u002b4711\u003D=","ab\/cd+4711==":1}"#, r#"{"a":"Bearer [token]","[token]":1}"#);
        check(r#"{"text":"{\"a\":\"\\u0061b\\/cd+4711==\"}"}"#, r#"{"text":"{\"a\":\"[token]\"}"}"#);
        check("ab/cd+4711==x", "[token]");
        for text in [r#"{"a":"ab\ncd \u00e4 \\"}"#, "é\\", "\\u12", "\\uü", "ab/cd+4711 short", ""] {
            check(text, text);
        }
    }
}
