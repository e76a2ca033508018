//! Every combination of path, host, origin, site, token, cookie, type, header and method: all but the right ones are refused.

use super::*;

const TOKEN: &str = "0123456789abcdef";

/// A guard for port 8765 with [`TOKEN`].
fn guard() -> Guard {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, TOKEN).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let (token, key) = (Token::of(&file).unwrap(), Token::fresh().unwrap());
    Guard::new(token, key, "127.0.0.1:8765".parse().unwrap()).unwrap()
}

fn status<'a>(
    guard: &Guard,
    path: &str,
    method: &Method,
    headers: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> u16 {
    let mut all = HeaderMap::new();
    for (name, value) in headers {
        let name: HeaderName = name.parse().unwrap();
        all.append(name, value.parse().unwrap());
    }
    guard.admits(Area::of(path), method, "", &all).err().map_or(200, |problem| problem.status().as_u16())
}

/// What can be right or wrong about a request; the last of each pair says whether it is right.
struct Choices {
    hosts: Vec<(Option<&'static str>, bool)>,
    origins: Vec<(Option<&'static str>, bool)>,
    sites: Vec<(Option<&'static str>, bool)>,
    tokens: Vec<(Option<(&'static str, String)>, bool)>,
    cookies: Vec<(Option<String>, bool)>,
    kinds: Vec<(Option<&'static str>, bool)>,
    owns: Vec<(Option<String>, bool)>,
}

impl Choices {
    fn new(guard: &Guard) -> Choices {
        let (key, session) = (guard.key.text(), guard.session.text());
        let right = |all: &[&'static str]| all.iter().map(|one| (Some(*one), true)).collect::<Vec<_>>();
        let wrong = |all: &[&'static str]| all.iter().map(|one| (Some(*one), false)).collect::<Vec<_>>();
        let hosts = [right(&["127.0.0.1:8765", "LOCALHOST:8765", "[::1]:8765"]), vec![(None, false)]].concat();
        let origins = [right(&["http://127.0.0.1:8765"]), vec![(None, true)]].concat();
        let bearer = |token: &str| Some(("authorization", format!("Bearer {token}")));
        Choices {
            hosts: [hosts, wrong(&["127.0.0.1", "127.0.0.1:80", "evil.example:8765", "127.0.0.1.nip.io:8765"])]
                .concat(),
            origins: [
                origins,
                wrong(&["null", "https://127.0.0.1:8765", "http://evil.example", "http://127.0.0.1:80"]),
            ]
            .concat(),
            sites: [right(&["same-origin"]), vec![(None, true)], wrong(&["same-site", "cross-site", "none"])].concat(),
            tokens: vec![
                (bearer(TOKEN), true),
                (Some(("x-api-key", TOKEN.to_owned())), true),
                (bearer(key), false),
                (bearer("0123456789abcdeF"), false),
                (None, false),
            ],
            cookies: vec![
                (Some(format!("monobloc-8765={session}")), true),
                (Some(format!("a=b; monobloc-8765={session}; c=d")), true),
                (Some(format!("monobloc-8766={session}")), false),
                (Some(format!("monobloc-8765={key}")), false),
                (Some(format!("monobloc-8765={session}; monobloc-8765={session}")), false),
                (None, false),
            ],
            kinds: [
                right(&["application/json", "Application/JSON; charset=utf-8"]),
                wrong(&["text/plain"]),
                vec![(None, false)],
            ]
            .concat(),
            owns: vec![(Some(guard.proof.text().to_owned()), true), (Some(session.to_owned()), false), (None, false)],
        }
    }
}

/// What is expected of a request to `path`, from what is right about it.
struct Right {
    from_here: bool,
    site: bool,
    token: bool,
    cookie: bool,
    kind: bool,
    proof: bool,
    by_script: bool,
}

impl Right {
    fn expected(&self, path: &str, get: bool) -> u16 {
        let first = |checks: &[(bool, u16)]| checks.iter().find(|(right, _)| !right).map_or(200, |(_, status)| *status);
        let here = (self.from_here, 403);
        match path {
            "/" => first(&[here, (get, 400)]),
            "/api/enter" => first(&[here, (self.site, 403), (self.kind && self.by_script, 400)]),
            "/api/turns" => first(&[here, (self.site, 403), (self.cookie && self.proof, 401), (get || self.kind, 400)]),
            _ => first(&[here, (self.token, 401), (get || self.kind, 400)]),
        }
    }
}

#[test]
fn only_a_request_that_is_right_in_all_respects_is_admitted() {
    let guard = guard();
    let all = Choices::new(&guard);
    let mut admitted = std::collections::BTreeMap::<&str, usize>::new();
    for path in ["/", "/api/enter", "/api/turns", "/v1/models"] {
        for method in [Method::GET, Method::POST, Method::OPTIONS] {
            for (host, host_right) in &all.hosts {
                for (origin, origin_right) in &all.origins {
                    for (site, site_right) in &all.sites {
                        for (token, token_right) in &all.tokens {
                            for (cookie, cookie_right) in &all.cookies {
                                for (kind, kind_right) in &all.kinds {
                                    for (own, own_right) in &all.owns {
                                        let headers = [
                                            host.map(|host| ("host", host)),
                                            origin.map(|origin| ("origin", origin)),
                                            site.map(|site| ("sec-fetch-site", site)),
                                            token.as_ref().map(|(name, token)| (*name, token.as_str())),
                                            cookie.as_ref().map(|cookie| ("cookie", cookie.as_str())),
                                            kind.map(|kind| ("content-type", kind)),
                                            own.as_ref().map(|own| ("x-monobloc", own.as_str())),
                                        ];
                                        let got = status(&guard, path, &method, headers.into_iter().flatten());
                                        let own_origin = origin.is_none_or(|origin| {
                                            host.is_some_and(|host| origin == format!("http://{host}"))
                                        });
                                        let right = Right {
                                            from_here: *host_right && *origin_right && own_origin,
                                            site: *site_right,
                                            token: *token_right,
                                            cookie: *cookie_right,
                                            kind: *kind_right,
                                            proof: *own_right,
                                            by_script: own.is_some(),
                                        };
                                        let expected = right.expected(path, method == Method::GET);
                                        assert_eq!(got, expected, "{method} {path} {headers:?}");
                                        *admitted.entry(path).or_default() += usize::from(got == 200);
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    // Three hosts are right without an origin, and one with its own. What a path does not look at, all of its choices pass.
    let api = 4 * 2 * 6 * 5 * 3;
    assert_eq!(admitted["/v1/models"], api * 4 + 2 * api * 2);
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

/// Another user of this machine may listen at `[::1]` with the port that this server has at `127.0.0.1`.
#[test]
fn a_page_at_another_name_of_this_host_is_another_site() {
    let guard = guard();
    let bearer = format!("Bearer {TOKEN}");
    let check = |host: &str, origin: &str, expected: u16| {
        let headers = [("host", host), ("origin", origin), ("authorization", bearer.as_str())];
        assert_eq!(status(&guard, "/v1/models", &Method::GET, headers), expected, "{host} {origin}");
    };
    check("127.0.0.1:8765", "http://127.0.0.1:8765", 200);
    check("[::1]:8765", "http://[::1]:8765", 200);
    check("127.0.0.1:8765", "http://[::1]:8765", 403);
    check("127.0.0.1:8765", "http://localhost:8765", 403);
}

#[test]
fn a_header_that_stands_twice_is_not_believed() {
    let guard = guard();
    let (bearer, cookie) = (format!("Bearer {TOKEN}"), format!("monobloc-8765={}", guard.session.text()));
    let right = [("host", "localhost:8765"), ("authorization", bearer.as_str())];
    let with = |extra: (&'static str, &'static str)| right.into_iter().chain([extra]);
    assert_eq!(status(&guard, "/v1/models", &Method::GET, right), 200);
    assert_eq!(status(&guard, "/v1/models", &Method::GET, with(("host", "evil.example"))), 403);
    assert_eq!(status(&guard, "/v1/models", &Method::GET, with(("authorization", "Bearer x"))), 401);
    let entered = [("host", "localhost:8765"), ("cookie", cookie.as_str()), ("x-monobloc", guard.proof.text())];
    assert_eq!(status(&guard, "/api/status", &Method::GET, entered), 200);
    let twice = entered.into_iter().chain([("cookie", "monobloc-8765=x")]);
    assert_eq!(status(&guard, "/api/status", &Method::GET, twice), 401);
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
