//! Reads the answer of a server to a request without a token:
//! `WWW-Authenticate: Bearer resource_metadata="https://…", scope="read write"`.

/// Maximum number of scopes in a message, and length of each.
const SCOPES_MAX: usize = 20;
const SCOPE_MAX: usize = 100;

/// The status of the answer, and what its header says about the sign-in.
#[derive(Debug, Default, PartialEq)]
pub struct Challenge {
    pub status: u16,
    /// The URL of the metadata of the protected resource.
    pub metadata: Option<String>,
    /// The scopes that the request needs, separated by blanks.
    pub scope: Option<String>,
}

impl Challenge {
    /// Reads the values of the header, of which each may have several challenges.
    pub fn of<'v>(status: u16, values: impl Iterator<Item = &'v str>) -> Challenge {
        let mut challenge = Challenge { status, ..Challenge::default() };
        for value in values {
            let mut is_bearer = false;
            for item in items(value) {
                let mut pair = item.trim();
                // A name without `=` begins the next challenge.
                let (head, rest) = pair.split_once(char::is_whitespace).unwrap_or((pair, ""));
                if !head.contains('=') {
                    (is_bearer, pair) = (head.eq_ignore_ascii_case("bearer"), rest.trim_start());
                }
                let Some((name, text)) = pair.split_once('=').filter(|_| is_bearer) else { continue };
                let field = match name.trim().to_ascii_lowercase().as_str() {
                    "resource_metadata" => &mut challenge.metadata,
                    "scope" => &mut challenge.scope,
                    _ => continue,
                };
                field.get_or_insert_with(|| unquoted(text.trim()));
            }
        }
        challenge
    }

    /// The scopes, one by one, without those that a command line could not hold as they are.
    pub fn scopes(&self) -> Vec<String> {
        let words = self.scope.as_deref().unwrap_or_default().split_whitespace();
        words.filter(|scope| is_plain(scope)).take(SCOPES_MAX).map(str::to_owned).collect()
    }
}

/// Whether a scope is short, and of characters that mean nothing to a shell or a terminal.
fn is_plain(scope: &str) -> bool {
    scope.len() <= SCOPE_MAX && scope.chars().all(|c| c.is_ascii_alphanumeric() || "._:/-+@,".contains(c))
}

/// The parts of a header between commas that are not in quotes.
fn items(value: &str) -> Vec<&str> {
    let (mut items, mut from, mut is_quoted, mut is_escaped) = (Vec::new(), 0, false, false);
    for (at, c) in value.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => {
                items.push(&value[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    items.push(&value[from..]);
    items
}

fn unquoted(text: &str) -> String {
    let Some(inner) = text.strip_prefix('"') else { return text.to_owned() };
    let (mut all, mut characters) = (String::new(), inner.chars());
    while let Some(c) = characters.next() {
        match c {
            '"' => break,
            '\\' => all.extend(characters.next()),
            c => all.push(c),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[&str], metadata: Option<&str>, scope: Option<&str>) {
        let read = Challenge::of(401, values.iter().copied());
        assert_eq!((read.metadata.as_deref(), read.scope.as_deref()), (metadata, scope), "{values:?}");
    }

    #[test]
    fn a_challenge_is_found_among_others() {
        let url = "https://box/.well-known/oauth-protected-resource";
        check(&[&format!("Bearer resource_metadata=\"{url}\", scope=\"a b\"")], Some(url), Some("a b"));
        check(&[&format!("Basic realm=\"x, y\", bearer error=invalid_token,Resource_Metadata={url}")], Some(url), None);
        check(&["Basic realm=\"a\", scope=\"no\"", "Bearer scope=\"yes\""], None, Some("yes"));
        check(&["Bearer", "Negotiate"], None, None);
        check(&["Bearer realm=\"say \\\"hi\\\", scope=no\", scope=\"a\\b\""], None, Some("ab"));
        check(&["Bearer scope=\"open", "", ",,=,\"", "Bearer =x"], None, Some("open"));
    }

    #[test]
    fn no_scope_reaches_a_command_line_that_a_shell_would_carry_out() {
        let read = Challenge { scope: Some("repo:read $(reboot) `id` files/*".to_owned()), ..Challenge::default() };
        assert_eq!(read.scopes(), ["repo:read"]);
        let long = format!("{} {}", "x".repeat(SCOPE_MAX + 1), "a ".repeat(SCOPES_MAX + 1));
        assert_eq!(Challenge { scope: Some(long), ..Challenge::default() }.scopes(), ["a"; SCOPES_MAX]);
    }
}
