//! Who may ask: every request must name this host, come from no other site, carry the token and, if it has a body, be JSON.
//!
//! A page of another site in the user's browser reaches local ports, directly or under a name that it rebinds to this machine
//! (CVE-2026-22812, CVE-2026-42559), so a loopback address alone protects nothing.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::problem::{Kind, Problem};
use super::token::Token;
use super::wire;

/// Largest body: prompts of other agents have up to 60,000 tokens, and JSON escapes them.
const BODY_MAX: usize = 32 << 20;
/// Longest time that a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(60);

/// What requests are checked against.
#[derive(Clone)]
pub struct Guard {
    token: Token,
    /// The names of this server, each with its port.
    hosts: [String; 3],
}

impl Guard {
    pub fn new(token: Token, address: SocketAddr) -> Guard {
        let port = address.port();
        let own = address.to_string();
        let other = if address.is_ipv4() { format!("[::1]:{port}") } else { format!("127.0.0.1:{port}") };
        Guard { token, hosts: [own, format!("localhost:{port}"), other] }
    }

    /// Whether a request with these headers may be answered.
    fn admits(&self, method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
        // A missing header and one that stands twice or is no text are alike: not the one that is expected.
        let only = |name: header::HeaderName| {
            let mut all = headers.get_all(name).iter();
            all.next().filter(|_| all.next().is_none()).and_then(|value| value.to_str().ok())
        };
        let is_own = |host: &str| self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host));
        if !only(HOST).is_some_and(is_own) {
            let text = format!("the Host header names another server; this one is {}", self.hosts.join(", "));
            return Err(Problem::new(Kind::Forbidden, text));
        }
        let is_here = |origin: &str| origin.strip_prefix("http://").is_some_and(is_own);
        if headers.contains_key(ORIGIN) && !only(ORIGIN).is_some_and(is_here) {
            return Err(Problem::new(Kind::Forbidden, "pages of other sites may not ask this server"));
        }
        let bearer = only(AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        // Anthropic's clients.
        let key = only(header::HeaderName::from_static("x-api-key"));
        if !bearer.or(key).is_some_and(|given| self.token.is(given.trim())) {
            let text = "the token is missing or wrong; send `Authorization: Bearer` with what the token file holds";
            return Err(Problem::new(Kind::Unauthorized, text));
        }
        let is_json = |kind: &str| {
            kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
        };
        if *method != Method::GET && !only(CONTENT_TYPE).is_some_and(is_json) {
            return Err(Problem::invalid("Content-Type", "a request's body must be application/json"));
        }
        Ok(())
    }
}

/// Refuses what the guard does not admit, and reads the body within its limits.
pub async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let anthropic = request.uri().path().starts_with("/v1/messages");
    match admitted(&guard, request).await {
        Ok(request) => next.run(request).await,
        Err(problem) if anthropic => (problem.status(), Json(wire::messages::error(&problem))).into_response(),
        Err(problem) => problem.into_response(),
    }
}

async fn admitted(guard: &Guard, request: Request) -> Result<Request, Problem> {
    guard.admits(request.method(), request.headers())?;
    let (head, body) = request.into_parts();
    let read = tokio::time::timeout(BODY_TIME, to_bytes(body, BODY_MAX)).await;
    let slow = |_| Problem::invalid("body", format!("the body took longer than {BODY_TIME:?} to arrive"));
    let large = |_| Problem::invalid("body", format!("the body broke off, or has more than {} MiB", BODY_MAX >> 20));
    let body = read.map_err(slow)?.map_err(large)?;
    Ok(Request::from_parts(head, Body::from(body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn status(method: &Method, headers: &[(&str, &str)]) -> u16 {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, TOKEN).unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let guard = Guard::new(Token::of(&file).unwrap(), "127.0.0.1:8765".parse().unwrap());
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            let name: header::HeaderName = name.parse().unwrap();
            all.append(name, value.parse().unwrap());
        }
        guard.admits(method, &all).err().map_or(200, |problem| problem.status().as_u16())
    }

    /// Every combination of host, origin, token, method and type of content: all but the right ones are refused.
    #[test]
    fn only_a_request_that_is_right_in_all_respects_is_admitted() {
        let hosts = [Some("127.0.0.1:8765"), Some("LOCALHOST:8765"), Some("[::1]:8765"), None]
            .into_iter()
            .chain(["127.0.0.1", "127.0.0.1:80", "evil.example:8765", "127.0.0.1.nip.io:8765", ""].map(Some));
        let origins = [None, Some("http://127.0.0.1:8765"), Some("http://localhost:8765")].into_iter();
        let origins: Vec<_> = origins
            .chain(["null", "https://127.0.0.1:8765", "http://evil.example", "http://127.0.0.1:8766", ""].map(Some))
            .collect();
        let bearer = format!("Bearer {TOKEN}");
        let tokens = [
            Some(("authorization", bearer.as_str())),
            Some(("x-api-key", TOKEN)),
            Some(("authorization", TOKEN)),
            Some(("authorization", "Bearer 0123456789abcdeF")),
            Some(("authorization", "Bearer ")),
            None,
        ];
        let kinds = [Some("application/json"), Some("Application/JSON; charset=utf-8"), Some("text/plain"), None];
        let mut admitted = 0;
        for (at_host, host) in hosts.enumerate() {
            for (at_origin, origin) in origins.iter().enumerate() {
                for (at_token, token) in tokens.iter().enumerate() {
                    for (at_kind, kind) in kinds.iter().enumerate() {
                        for method in [Method::GET, Method::POST, Method::DELETE, Method::OPTIONS] {
                            let headers = [host.map(|h| ("host", h)), origin.map(|o| ("origin", o)), *token];
                            let headers = headers.into_iter().flatten().chain(kind.map(|kind| ("content-type", kind)));
                            let got = status(&method, &headers.collect::<Vec<_>>());
                            let expected = if at_host > 2 || at_origin > 2 {
                                403
                            } else if at_token > 1 {
                                401
                            } else if method != Method::GET && at_kind > 1 {
                                400
                            } else {
                                200
                            };
                            assert_eq!(got, expected, "{method} {host:?} {origin:?} {token:?} {kind:?}");
                            admitted += usize::from(got == 200);
                        }
                    }
                }
            }
        }
        assert_eq!(admitted, 3 * 3 * 2 * (4 + 3 * 2));
    }

    #[test]
    fn a_header_that_stands_twice_is_not_believed() {
        let bearer = format!("Bearer {TOKEN}");
        let right = [("host", "localhost:8765"), ("authorization", bearer.as_str())];
        assert_eq!(status(&Method::GET, &right), 200);
        assert_eq!(status(&Method::GET, &[&right[..], &[("host", "evil.example")]].concat()), 403);
        assert_eq!(status(&Method::GET, &[&right[..], &[("authorization", "Bearer x")]].concat()), 401);
    }
}
