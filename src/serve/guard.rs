//! Admits requests: each must name this host, come from no other site, and carry the secret for its path.
//!
//! A page from another site in the user's browser can reach local ports, directly or under a name
//! that it rebinds to this machine (CVE-2026-22812, CVE-2026-42559), so a loopback address alone
//! protects nothing. There are two secrets. The token for the APIs is in a file and in the
//! configuration of other programs, so it does not allow approving tool calls; the page key is
//! generated on each start, and only the user's browser gets it.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, AsHeaderName, CACHE_CONTROL, CONTENT_TYPE, COOKIE, HOST, HeaderName, HeaderValue, ORIGIN, SET_COOKIE,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use super::problem::{Kind, Problem};
use super::token::Token;
use super::wire;

/// Maximum size of a request body: other agents' prompts have up to 60,000 tokens, JSON escapes
/// make them longer, and pictures are included.
const BODY_MAX: usize = 32 << 20;
/// Maximum size of the body with which a client enters the page, before it has proved any secret.
const ENTER_BODY_MAX: usize = 64 << 10;
/// Time limit for receiving the body of a request.
const BODY_TIME: Duration = Duration::from_secs(60);
/// The same for a client that is entering, which must not hold a connection for long.
const ENTER_BODY_TIME: Duration = Duration::from_secs(10);

/// A header set only by the page's own script: it contains the proof. Another site would need this
/// server's permission to send it, which it never gets.
const OWN: &str = "x-monobloc";
/// The header in which a browser states the origin of a request.
const FETCH_SITE: &str = "sec-fetch-site";

/// Headers of the page: it runs only its own files, and cannot be shown in a frame.
const SEALS: [(&str, &str); 5] = [
    ("content-security-policy", "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

/// The part of the server to which a path belongs; it determines the required secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Area {
    /// The files of the page, which need no secret because they contain no project data.
    Files,
    /// `/api/enter`, which takes the page key in its body and returns the cookie.
    Enter,
    /// Everything else under `/api/`: requires the cookie, and never accepts the token.
    Page,
    /// The APIs for other programs: require the token, and never accept the cookie.
    Apis,
}

impl Area {
    fn of(path: &str) -> Area {
        match path {
            "/" => Area::Files,
            "/api/enter" => Area::Enter,
            _ if path.starts_with("/page/") => Area::Files,
            _ if path.starts_with("/api/") => Area::Page,
            _ => Area::Apis,
        }
    }
}

/// The secrets and host names against which requests are checked.
#[derive(Clone)]
pub struct Guard {
    token: Token,
    key: Token,
    /// The value of the cookie. Browsers send it to every port on this host, so a program on
    /// another port can read it.
    session: Token,
    /// The token that the page's script receives on entry and stores for its origin, including the
    /// port; the cookie alone gives no access.
    proof: Token,
    /// This server's names, each with the port.
    hosts: [String; 3],
    /// The name of the cookie. It contains the port, because a host's ports share cookies in
    /// browsers.
    cookie: String,
}

impl Guard {
    /// `token` gives access to the APIs, `key` to the page.
    pub fn new(token: Token, key: Token, address: SocketAddr) -> anyhow::Result<Guard> {
        let port = address.port();
        let own = address.to_string();
        let other = if address.is_ipv4() { format!("[::1]:{port}") } else { format!("127.0.0.1:{port}") };
        let (session, proof) = (Token::fresh()?, Token::fresh()?);
        let (hosts, cookie) = ([own, format!("localhost:{port}"), other], format!("monobloc-{port}"));
        Ok(Guard { token, key, session, proof, hosts, cookie })
    }

    /// Whether a request with these headers may be answered.
    fn admits(&self, area: Area, method: &Method, query: &str, headers: &HeaderMap) -> Result<(), Problem> {
        self.is_from_here(headers)?;
        let changes = !matches!(*method, Method::GET | Method::HEAD);
        match area {
            Area::Files if changes => Err(Problem::invalid("method", "the page's files can only be fetched, with GET")),
            Area::Files => Ok(()),
            Area::Apis => {
                self.has_token(headers)?;
                if changes && *method != Method::OPTIONS { is_json(headers) } else { Ok(()) }
            }
            Area::Enter => is_of_the_page(headers).and_then(|()| is_json(headers)).and_then(|()| is_by_script(headers)),
            Area::Page => {
                is_of_the_page(headers)?;
                self.has_cookie(headers)?;
                self.has_proof(query, headers)?;
                if changes { is_json(headers) } else { Ok(()) }
            }
        }
    }

    /// Host and origin must be this server, under the same name: another user's program may be
    /// listening on another of its names.
    fn is_from_here(&self, headers: &HeaderMap) -> Result<(), Problem> {
        // The scheme's default port may be omitted (RFC 9110, 4.2.3).
        let same = |own: &str, host: &str| {
            own.eq_ignore_ascii_case(host) || own.strip_suffix(":80").is_some_and(|own| own.eq_ignore_ascii_case(host))
        };
        let is_own = |host: &&str| self.hosts.iter().any(|own| same(own, host));
        let Some(host) = only(headers, HOST).filter(is_own) else {
            let text = format!("the Host header names another server; this one is {}", self.hosts.join(", "));
            return Err(Problem::new(Kind::Forbidden, text));
        };
        let is_here = |origin: &str| {
            origin.split_once("://").is_some_and(|(scheme, origin)| {
                scheme.eq_ignore_ascii_case("http") && origin.eq_ignore_ascii_case(host)
            })
        };
        if headers.contains_key(ORIGIN) && !only(headers, ORIGIN).is_some_and(is_here) {
            return Err(Problem::new(Kind::Forbidden, "pages from other sites may not use this server"));
        }
        Ok(())
    }

    fn has_token(&self, headers: &HeaderMap) -> Result<(), Problem> {
        // RFC 9110, 11.1 and 11.4: a case-insensitive scheme, spaces, and the credentials.
        let scheme = only(headers, AUTHORIZATION).and_then(|value| value.trim().split_once(' '));
        let bearer = scheme.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, given)| given);
        // Anthropic's clients send the other header.
        if bearer.or(only(headers, "x-api-key")).is_some_and(|given| self.token.is(given.trim())) {
            return Ok(());
        }
        let text = "the token is missing or wrong; send `Authorization: Bearer` with the content of the token file";
        Err(Problem::new(Kind::Unauthorized, text))
    }

    fn has_cookie(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let pairs = only(headers, COOKIE).unwrap_or_default().split(';').filter_map(|pair| pair.trim().split_once('='));
        let mut own = pairs.filter(|(name, _)| *name == self.cookie);
        // A cookie that appears twice is not trusted: one of the two comes from someone else.
        if own.next().is_some_and(|(_, given)| self.session.is(given)) && own.next().is_none() {
            return Ok(());
        }
        Err(not_entered())
    }

    /// The proof is in the header, or where browsers do not let a script set headers, as for an
    /// event stream, in the URL.
    fn has_proof(&self, query: &str, headers: &HeaderMap) -> Result<(), Problem> {
        let in_query = query.split('&').find_map(|pair| pair.strip_prefix("proof="));
        if only(headers, OWN).or(in_query).is_some_and(|given| self.proof.is(given)) {
            return Ok(());
        }
        Err(not_entered())
    }
}

fn not_entered() -> Problem {
    let text = "this browser is not signed in; open the address that `monobloc serve --open` prints";
    Problem::new(Kind::Unauthorized, text)
}

/// The value of a header. A missing, duplicate or non-text header is treated as lacking the
/// expected value.
fn only(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    let mut all = headers.get_all(name).iter();
    all.next().filter(|_| all.next().is_none()).and_then(|value| value.to_str().ok())
}

/// A form on another site cannot send this type without asking permission first.
fn is_json(headers: &HeaderMap) -> Result<(), Problem> {
    let is =
        |kind: &str| kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"));
    if only(headers, CONTENT_TYPE).is_some_and(is) {
        return Ok(());
    }
    Err(Problem::invalid("Content-Type", "a request's body must be application/json"))
}

fn is_by_script(headers: &HeaderMap) -> Result<(), Problem> {
    if only(headers, OWN).is_some() {
        return Ok(());
    }
    Err(Problem::invalid("X-Monobloc", "this request needs the header `X-Monobloc`, with any value"))
}

/// To a browser, all ports of a host are one site, and pages on any port also send the cookie: only
/// pages from this origin are allowed.
fn is_of_the_page(headers: &HeaderMap) -> Result<(), Problem> {
    if !headers.contains_key(FETCH_SITE) || only(headers, FETCH_SITE) == Some("same-origin") {
        return Ok(());
    }
    Err(Problem::new(Kind::Forbidden, "only this server's own page may send this"))
}

/// Refuses requests that the guard does not admit, reads the body within its limits, and adds the
/// page's security headers.
pub async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let (area, anthropic) = (Area::of(path), path.starts_with("/v1/messages"));
    let asks_what_there_is = request.method() == Method::OPTIONS;
    let response = match admitted(&guard, area, request).await {
        Ok(request) => {
            let mut response = next.run(request).await;
            // The answer to such a request is the header `Allow` (RFC 9110, 9.3.7).
            if asks_what_there_is && response.status() == StatusCode::METHOD_NOT_ALLOWED {
                *response.status_mut() = StatusCode::NO_CONTENT;
            }
            response
        }
        Err(problem) if anthropic => wire::messages::refused(&problem),
        Err(problem) => problem.into_response(),
    };
    sealed(area, response)
}

async fn admitted(guard: &Guard, area: Area, request: Request) -> Result<Request, Problem> {
    guard.admits(area, request.method(), request.uri().query().unwrap_or_default(), request.headers())?;
    let (most, time) = match area {
        // These requests have no body, so none is awaited.
        Area::Files => return Ok(request.map(|_| Body::empty())),
        Area::Enter => (ENTER_BODY_MAX, ENTER_BODY_TIME),
        Area::Page | Area::Apis => (BODY_MAX, BODY_TIME),
    };
    let (head, body) = request.into_parts();
    let read = tokio::time::timeout(time, to_bytes(body, most)).await;
    let slow = |_| Problem::invalid("body", format!("the body took longer than {time:?} to arrive"));
    let large = |_| Problem::invalid("body", format!("the body broke off, or has more than {} KiB", most >> 10));
    let body = read.map_err(slow)?.map_err(large)?;
    Ok(Request::from_parts(head, Body::from(body)))
}

fn sealed(area: Area, mut response: Response) -> Response {
    if area == Area::Apis {
        return response;
    }
    let headers = response.headers_mut();
    for (name, value) in SEALS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    // The files change with the program, so a browser must ask again; API answers are never stored.
    let kept = if area == Area::Files { "no-cache" } else { "no-store" };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(kept));
    response
}

#[derive(Deserialize)]
struct Entry {
    key: String,
}

/// `POST /api/enter`: returns a cookie and a proof for the page key. Scripts cannot read the
/// cookie, and requests from other sites do not carry it.
pub async fn enter(State(guard): State<Guard>, body: Bytes) -> Result<Response, Problem> {
    let entry: Entry = wire::read(&body)?;
    if !guard.key.is(&entry.key) {
        let text = "the key is wrong; each start of `monobloc serve --open` prints an address with a new one";
        return Err(Problem::new(Kind::Unauthorized, text));
    }
    let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/api/", guard.cookie, guard.session.text());
    Ok(([(SET_COOKIE, cookie)], Json(json!({ "proof": guard.proof.text() }))).into_response())
}

#[cfg(test)]
mod tests;
