//! Tests every combination of path, host, origin, site, token, cookie, type, header and method: only the right ones pass.

use super::*;

const TOKEN: &str = "0123456789abcdef";

fn guard() -> Guard {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, TOKEN).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let (token, key) = (Token::of(&file).unwrap(), Token::fresh().unwrap());
    Guard::new(token, key, "127.0.0.1:8765".parse().unwrap()).unwrap()
}

fn status(guard: &Guard, path: &str, method: &Method, headers: &[(&str, &str)]) -> u16 {
    let mut all = HeaderMap::new();
    for (name, value) in headers {
        let name: HeaderName = name.parse().unwrap();
        all.append(name, value.parse().unwrap());
    }
    guard.admits(Area::of(path), method, "", &all).err().map_or(200, |problem| problem.status().as_u16())
}

/// The values of a header (`None`: absent), and whether each is right.
type Choices = Vec<(Option<(&'static str, String)>, bool)>;

/// The choices for a header: right and wrong values. `missing` is true if it may be missing.
fn choices(name: &'static str, right: &[&str], missing: bool, wrong: &[&str]) -> Choices {
    let as_said = |values: &[&str], is_right| -> Choices {
        values.iter().map(|value| (Some((name, (*value).to_owned())), is_right)).collect()
    };
    [as_said(right, true), vec![(None, missing)], as_said(wrong, false)].concat()
}

/// Which of host, origin, site, token, cookie, type and proof are right, and whether the proof's
/// header is present.
type Right = ([bool; 7], bool);

/// The expected verdict on a request to `path`, given which of its parts are right.
fn expected(path: &str, get: bool, right: Right) -> u16 {
    let ([host, origin, site, token, cookie, kind, proof], by_script) = right;
    let first = |checks: &[(bool, u16)]| checks.iter().find(|(right, _)| !right).map_or(200, |(_, status)| *status);
    let here = (host && origin, 403);
    match path {
        "/" => first(&[here, (get, 400)]),
        "/api/enter" => first(&[here, (site, 403), (kind && by_script, 400)]),
        "/api/turns" => first(&[here, (site, 403), (cookie && proof, 401), (get || kind, 400)]),
        _ => first(&[here, (token, 401), (get || kind, 400)]),
    }
}

#[test]
fn only_a_request_that_is_right_in_all_respects_is_admitted() {
    let guard = guard();
    let (key, session, proof) = (guard.key.text(), guard.session.text(), guard.proof.text());
    let bearer = |token: &str| format!("Bearer {token}");
    let cookie = |port: u16, value: &str| format!("monobloc-{port}={value}");
    let (own, among) = (cookie(8765, session), format!("a=b; {}; c=d", cookie(8765, session)));
    let twice = format!("{own}; {own}");
    let tokens = choices("authorization", &[&bearer(TOKEN)], false, &[&bearer(key), &bearer("0123456789abcdeF")]);
    let wrong_hosts = ["127.0.0.1", "127.0.0.1:80", "evil.example:8765", "127.0.0.1.nip.io:8765"];
    let wrong_origins = ["null", "https://127.0.0.1:8765", "http://evil.example", "http://127.0.0.1:80"];
    let all = [
        choices("host", &["127.0.0.1:8765", "LOCALHOST:8765", "[::1]:8765"], false, &wrong_hosts),
        choices("origin", &["http://127.0.0.1:8765"], true, &wrong_origins),
        choices("sec-fetch-site", &["same-origin"], true, &["same-site", "cross-site", "none"]),
        [tokens, vec![(Some(("x-api-key", TOKEN.to_owned())), true)]].concat(),
        choices("cookie", &[&own, &among], false, &[&cookie(8766, session), &cookie(8765, key), &twice]),
        choices("content-type", &["application/json", "Application/JSON; charset=utf-8"], false, &["text/plain"]),
        choices("x-monobloc", &[proof], false, &[session]),
    ];
    let mut admitted = std::collections::BTreeMap::<&str, usize>::new();
    for number in 0..all.iter().map(Vec::len).product::<usize>() {
        // The digits of the number select the choice for each header.
        let mut rest = number;
        let chosen = all.each_ref().map(|choices| {
            let place = rest % choices.len();
            rest /= choices.len();
            &choices[place]
        });
        let mut right = chosen.map(|(_, is_right)| *is_right);
        let value = |header: usize| chosen[header].0.as_ref().map(|(_, value)| value.as_str());
        // Host and origin must have the same name.
        right[1] &= value(1).is_none_or(|origin| value(0).is_some_and(|host| origin == format!("http://{host}")));
        let headers: Vec<(&str, &str)> = chosen
            .iter()
            .filter_map(|(header, _)| header.as_ref())
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        for path in ["/", "/api/enter", "/api/turns", "/v1/models"] {
            for method in [Method::GET, Method::POST, Method::OPTIONS] {
                let got = status(&guard, path, &method, &headers);
                let reads = method == Method::GET || (method == Method::OPTIONS && path == "/v1/models");
                let expected = expected(path, reads, (right, value(6).is_some()));
                assert_eq!(got, expected, "{method} {path} {headers:?}");
                *admitted.entry(path).or_default() += usize::from(got == 200);
            }
        }
    }
    // Three hosts are right without an origin, and one with its own origin. For headers that a path
    // ignores, all choices pass.
    let api = 4 * 2 * 6 * 5 * 3;
    assert_eq!(admitted["/v1/models"], 2 * api * 4 + api * 2);
    assert_eq!(admitted["/api/turns"], 4 * 2 * 5 * 2 * (4 + 2 * 2));
    assert_eq!(admitted["/api/enter"], 4 * 2 * 5 * 6 * 3 * (2 * 2));
    assert_eq!(admitted["/"], 4 * 5 * 5 * 6 * 4 * 3);
}

#[test]
fn a_path_belongs_to_one_area_and_what_is_nearly_one_of_the_page_needs_the_token() {
    let check = |path: &str, area: Area| assert_eq!(Area::of(path), area, "{path}");
    check("/page/main.js", Area::Files);
    check("/api/turns/1/events", Area::Page);
    check("/api/enter/", Area::Page);
    for path in
        ["/api", "/API/turns", "//api/turns", "/%61pi/turns", "/v1/api/turns", "/page", "/health", "/metrics", ""]
    {
        check(path, Area::Apis);
    }
}

/// Another user of this machine may listen on `[::1]`, on the port that this server uses on
/// `127.0.0.1`.
#[test]
fn a_page_at_another_name_of_this_host_is_another_site() {
    let guard = guard();
    let bearer = format!("Bearer {TOKEN}");
    let check = |host: &str, origin: &str, expected: u16| {
        let headers = [("host", host), ("origin", origin), ("authorization", bearer.as_str())];
        assert_eq!(status(&guard, "/v1/models", &Method::GET, &headers), expected, "{host} {origin}");
    };
    check("127.0.0.1:8765", "http://127.0.0.1:8765", 200);
    check("[::1]:8765", "http://[::1]:8765", 200);
    check("127.0.0.1:8765", "http://[::1]:8765", 403);
    check("127.0.0.1:8765", "http://localhost:8765", 403);
}

#[test]
fn what_a_standard_compares_without_case_is_compared_so() {
    let guard = guard();
    let check = |name: &str, value: &str, expected: u16| {
        let bearer = format!("Bearer {TOKEN}");
        let right =
            [("host", "127.0.0.1:8765"), ("authorization", bearer.as_str()), ("content-type", "application/json")];
        let others = right.into_iter().filter(|(other, _)| *other != name);
        let headers: Vec<(&str, &str)> = others.chain([(name, value)]).collect();
        assert_eq!(status(&guard, "/v1/completions", &Method::POST, &headers), expected, "{name}: {value}");
    };
    check("authorization", &format!("BEARER {TOKEN}"), 200);
    check("authorization", &format!("bearer   {TOKEN} "), 200);
    check("authorization", &format!("Basic {TOKEN}"), 401);
    check("authorization", TOKEN, 401);
    check("origin", "HTTP://127.0.0.1:8765", 200);
    check("origin", "https://127.0.0.1:8765", 403);
    check("content-type", "APPLICATION/json;charset=UTF-8", 200);
    check("content-type", "application/json-seq", 400);
}

#[test]
fn the_port_of_the_scheme_may_be_left_out() {
    let (token, key) = (Token::fresh().unwrap(), Token::fresh().unwrap());
    let bearer = format!("Bearer {}", token.text());
    let guard = Guard::new(token, key, "127.0.0.1:80".parse().unwrap()).unwrap();
    for (host, origin, expected) in [
        ("127.0.0.1", "http://127.0.0.1", 200),
        ("localhost:80", "http://localhost:80", 200),
        ("127.0.0.1:8", "http://127.0.0.1:8", 403),
    ] {
        let headers = [("host", host), ("origin", origin), ("authorization", bearer.as_str())];
        assert_eq!(status(&guard, "/v1/models", &Method::GET, &headers), expected, "{host}");
    }
}

#[test]
fn a_header_that_stands_twice_is_not_believed() {
    let guard = guard();
    let (bearer, cookie) = (format!("Bearer {TOKEN}"), format!("monobloc-8765={}", guard.session.text()));
    let right = [("host", "localhost:8765"), ("authorization", bearer.as_str())];
    let entered = [("host", "localhost:8765"), ("cookie", cookie.as_str()), ("x-monobloc", guard.proof.text())];
    let check = |path: &str, headers: &[(&str, &str)], extra: Option<(&str, &str)>, expected: u16| {
        let all: Vec<(&str, &str)> = headers.iter().copied().chain(extra).collect();
        assert_eq!(status(&guard, path, &Method::GET, &all), expected, "{path} {extra:?}");
    };
    check("/v1/models", &right, None, 200);
    check("/v1/models", &right, Some(("host", "evil.example")), 403);
    check("/v1/models", &right, Some(("authorization", "Bearer x")), 401);
    check("/api/status", &entered, None, 200);
    check("/api/status", &entered, Some(("cookie", "monobloc-8765=x")), 401);
}

#[test]
fn a_stream_of_events_has_its_proof_in_the_address() {
    let guard = guard();
    let (cookie, proof) = (format!("monobloc-8765={}", guard.session.text()), guard.proof.text().to_owned());
    let mut headers = HeaderMap::new();
    headers.insert("host", "localhost:8765".parse().unwrap());
    headers.insert("cookie", cookie.parse().unwrap());
    let admits = |query: &str| guard.admits(Area::Page, &Method::GET, query, &headers).is_ok();
    assert!(admits(&format!("proof={proof}")) && admits(&format!("a=b&proof={proof}")));
    assert!(!admits("") && !admits("proof=") && !admits(&format!("proof={}", guard.session.text())));
}

#[test]
fn answers_of_the_page_are_sealed_and_those_of_the_apis_are_as_they_were() {
    let header =
        |response: &Response, name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    for (area, kept) in [(Area::Files, "no-cache"), (Area::Enter, "no-store"), (Area::Page, "no-store")] {
        let response = sealed(area, Problem::failed("x").into_response());
        let policy = header(&response, "content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'self';") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(header(&response, "cache-control").as_deref(), Some(kept));
        assert_eq!(header(&response, "x-content-type-options").as_deref(), Some("nosniff"));
        assert_eq!(header(&response, "referrer-policy").as_deref(), Some("no-referrer"));
    }
    let plain = sealed(Area::Apis, Problem::failed("x").into_response());
    assert_eq!(header(&plain, "content-security-policy"), None);
}
