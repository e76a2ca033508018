//! A protected MCP server and the authorisation server that it names, in this process:
//! well-behaved, or faulty in one way. Every secret that they give out has `sesame` in it.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Uri};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use futures_util::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::far::{self, Answer, Behaviour, Log, Served};

/// The path of the authorisation server, so that it is inserted into the URL of its metadata.
const REALM: &str = "/realm";
const ABOUT_SERVER: &str = "/.well-known/oauth-protected-resource/mcp";
const ABOUT_REALM: &str = "/.well-known/oauth-authorization-server/realm";
const ABOUT_OPENID: &str = "/realm/.well-known/openid-configuration";
/// The path of the metadata of an authorisation server without a path.
const ABOUT_HOST: &str = "/.well-known/oauth-authorization-server";

pub struct Realm {
    /// The URL of the MCP server.
    pub url: String,
    /// The name and URL of the authorisation server, on another port.
    pub issuer: String,
    /// A third host, which has the token endpoint in the modes that begin with "splits".
    pub third: String,
    state: Shared,
    log: Log,
    _served: [Served; 3],
}

type Shared = Arc<Mutex<Marks>>;

/// What the two servers remember.
#[derive(Default)]
struct Marks {
    mode: String,
    url: String,
    issuer: String,
    third: String,
    /// The fields of the sign-in that each code is for.
    codes: HashMap<String, BTreeMap<String, String>>,
    access: Option<String>,
    refresh: Option<String>,
    given: usize,
    clients: usize,
}

#[derive(Clone)]
struct Servers {
    marks: Shared,
    far: Behaviour,
    log: Log,
}

impl Realm {
    pub fn new(mode: &str) -> Realm {
        let (state, log) = (Shared::default(), Log::default());
        let far = if mode.ends_with(" in streams") { "streams" } else { "" };
        let servers = Servers { marks: state.clone(), far: Behaviour::new(far, log.clone()), log: log.clone() };
        let serve = || Served::at("127.0.0.1:0", axum::Router::new().fallback(answer).with_state(servers.clone()));
        let served = [serve(), serve(), serve()];
        let url = format!("http://{}/mcp", served[0].address);
        let issuer = format!("http://{}{REALM}", served[1].address);
        let third = format!("http://{}", served[2].address);
        let named = if mode == "is its own authority" { url.trim_end_matches("/mcp") } else { &issuer };
        *state.lock().expect("no panic") = Marks {
            mode: mode.to_owned(),
            url: url.clone(),
            issuer: named.to_owned(),
            third: third.clone(),
            ..Marks::default()
        };
        Realm { url, issuer, third, state, log, _served: served }
    }

    /// From now on the servers behave like this.
    pub fn becomes(&self, mode: &str) {
        self.state.lock().expect("no panic").mode = mode.to_owned();
    }

    pub fn log(&self) -> Vec<String> {
        self.log.lock().expect("no panic").clone()
    }

    pub fn count(&self, part: &str) -> usize {
        self.log().iter().filter(|line| line.contains(part)).count()
    }

    /// The token that the server accepts.
    pub fn access(&self) -> Option<String> {
        self.state.lock().expect("no panic").access.clone()
    }

    /// From now on the server refuses the token that it accepted; `for_good`, also its renewal.
    pub fn forget(&self, for_good: bool) {
        let mut marks = self.state.lock().expect("no panic");
        marks.access = None;
        if for_good {
            marks.refresh = None;
        }
    }
}

async fn answer(State(servers): State<Servers>, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("-").to_owned();
    let token = header("authorization");
    let kind = if token.starts_with("Bearer ") { "bearer" } else { "none" };
    let line = format!("{method} {} token={kind} at={}", uri.path(), header("host"));
    servers.log.lock().expect("no panic").push(line);
    let (mode, accepted) = {
        let marks = servers.marks.lock().expect("no panic");
        (marks.mode.clone(), marks.access.as_ref().map(|access| format!("Bearer {access}")))
    };
    if uri.path() == "/mcp" {
        if accepted.as_ref() != Some(&token) || mode == "refuses every token" {
            let url = servers.marks.lock().expect("no panic").url.replace("/mcp", ABOUT_SERVER);
            let challenge = match mode.as_str() {
                "names nothing" | "gives a bare challenge" => "Bearer".to_owned(),
                _ => format!("Bearer error=\"invalid_token\", resource_metadata=\"{url}\", scope=\"read write\""),
            };
            return (401, [("www-authenticate", challenge.as_str())], "no").answer();
        }
        if mode == "wants more" {
            let challenge = "Bearer error=\"insufficient_scope\", scope=\"admin $(reboot)\"";
            return (403, [("www-authenticate", challenge)], "no").answer();
        }
        let mut request: Value = serde_json::from_slice(&body).unwrap_or_default();
        if mode.starts_with("repeats the token") {
            match request["method"].as_str() {
                Some("tools/list") => {
                    let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
                    let tool = json!({ "name": "echo", "description": token, "inputSchema": schema });
                    let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": { "tools": [tool] } });
                    return written(&mode, json_of(200, &answer)).await;
                }
                Some("tools/call") => request["params"]["arguments"]["text"] = token.into(),
                Some("prompts/get") => request["params"]["arguments"]["lamp"] = token.into(),
                _ => {}
            }
        }
        if mode == "forgets the token after the list" && request["method"] == "tools/list" {
            servers.marks.lock().expect("no panic").access = None;
        }
        let body = if request.is_null() { body } else { Bytes::from(request.to_string()) };
        return written(&mode, far::serve(State(servers.far), method, headers, body).await).await;
    }
    let mut marks = servers.marks.lock().expect("no panic");
    match uri.path() {
        ABOUT_SERVER if mode != "names nothing" => marks.about_server(),
        ABOUT_REALM if mode != "speaks OpenID" => marks.about_realm(),
        ABOUT_HOST if mode == "is its own authority" => marks.about_realm(),
        ABOUT_OPENID => marks.about_realm(),
        "/register" => marks.register(&body),
        "/authorize" => marks.authorize(uri.query().unwrap_or_default()),
        "/token" => marks.token(&fields(&String::from_utf8_lossy(&body)), &token),
        "/revoke" => {
            let token = fields(&String::from_utf8_lossy(&body)).remove("token");
            if token == marks.access || token == marks.refresh {
                (marks.access, marks.refresh) = (None, None);
            }
            json_of(200, &json!({}))
        }
        _ => json_of(404, &json!({})),
    }
}

impl Marks {
    fn about_server(&self) -> Response {
        let issuer = match self.mode.as_str() {
            "is plain http" => "http://login.example/realm",
            "is no URL" => "javascript:alert(1)",
            _ => &self.issuer,
        };
        let mut issuers = vec![issuer];
        if self.mode == "names two authorities" {
            issuers.insert(0, "http://127.0.0.1:1/realm");
        }
        let resource = if self.mode == "is about another server" { "http://127.0.0.1:1/mcp" } else { &self.url };
        match self.mode.strip_prefix("redirects ") {
            Some(to) => (302, [("location", to)], "").answer(),
            None => json_of(
                200,
                &json!({ "resource": resource, "authorization_servers": issuers,
                "scopes_supported": ["read", "write"] }),
            ),
        }
    }

    fn about_realm(&self) -> Response {
        let origin = self.issuer.trim_end_matches(REALM);
        let mut about = json!({
            "issuer": self.issuer,
            "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"),
            "registration_endpoint": format!("{origin}/register"),
            "revocation_endpoint": format!("{origin}/revoke"),
            "code_challenge_methods_supported": ["plain", "S256"],
            "scopes_supported": ["read", "offline_access"],
            "authorization_response_iss_parameter_supported": true,
        });
        match self.mode.as_str() {
            "has another name" => about["issuer"] = "http://127.0.0.1:1/realm".into(),
            "has no PKCE" => about["code_challenge_methods_supported"] = Value::Null,
            "registers nobody" => about["registration_endpoint"] = Value::Null,
            "splits" => about["token_endpoint"] = format!("{}/token", self.third).into(),
            "splits and signs nothing" => {
                about["token_endpoint"] = format!("{}/token", self.third).into();
                about["authorization_response_iss_parameter_supported"] = Value::Null;
            }
            "has a plain endpoint" => about["token_endpoint"] = "http://login.example/token".into(),
            "sends 1 MB" => about["logo"] = "x".repeat(1 << 20).into(),
            "sends without end" => {
                let blanks = stream::repeat(Bytes::from(" ".repeat(1 << 16))).map(Ok::<_, Infallible>);
                return Body::from_stream(blanks).into_response();
            }
            "stalls" => {
                return Body::from_stream(stream::pending::<Result<Bytes, Infallible>>()).into_response();
            }
            "drips" => {
                let drops = stream::repeat(Bytes::from(" ")).then(|drop| async move {
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                    Ok::<_, Infallible>(drop)
                });
                return Body::from_stream(drops).into_response();
            }
            _ => {}
        }
        json_of(200, &about)
    }

    fn register(&mut self, body: &[u8]) -> Response {
        let wish: Value = serde_json::from_slice(body).unwrap_or_default();
        let is_right = wish["application_type"] == "native"
            && wish["token_endpoint_auth_method"] == "none"
            && wish["redirect_uris"][0].as_str().is_some_and(|uri| uri.starts_with("http://127.0.0.1:"));
        if !is_right || self.mode == "refuses to register" {
            let why = json!({ "error": "invalid_redirect_uri", "error_description": "no loop\u{1b}back" });
            return json_of(400, &why);
        }
        self.clients += 1;
        let mut made = json!({ "client_id": format!("made-for-you-{}", self.clients), "client_name": "monobloc" });
        if self.mode == "gives a secret along with none" {
            (made["client_secret"], made["token_endpoint_auth_method"]) = ("s-sesame".into(), "none".into());
        }
        json_of(201, &made)
    }

    /// The page on which the user consents at once.
    fn authorize(&mut self, query: &str) -> Response {
        let asked = fields(query);
        let field = |name: &str| asked.get(name).map(String::as_str).unwrap_or_default();
        let is_right = field("response_type") == "code"
            && field("code_challenge_method") == "S256"
            && field("resource") == self.url
            && field("scope").starts_with("read write")
            && field("scope").ends_with("offline_access");
        if !is_right {
            return json_of(400, &json!({ "error": "invalid_request", "asked": asked }));
        }
        let issuer = if self.mode == "answers for another" { "http://127.0.0.1:1" } else { &self.issuer };
        let answer = if self.mode == "denies" {
            "error=access_denied&error_description=not+today".to_owned()
        } else {
            let code = format!("code-{}-sesame", self.codes.len());
            self.codes.insert(code.clone(), asked.clone());
            format!("code={code}")
        };
        let to = format!("{}?{answer}&state={}&iss={issuer}", field("redirect_uri"), field("state"));
        (302, [("location", to.as_str())], "").answer()
    }

    fn token(&mut self, asked: &BTreeMap<String, String>, authorization: &str) -> Response {
        let field = |name: &str| asked.get(name).map(String::as_str).unwrap_or_default();
        let refused = |why: &str| json_of(400, &json!({ "error": "invalid_grant", "error_description": why }));
        let client = match self.mode.as_str() {
            "knows a client" => "Basic ".to_owned() + &STANDARD.encode("known:s-sesame"),
            _ => field("client_id").to_owned(),
        };
        let is_client = match self.mode.as_str() {
            "knows a client" => client == authorization,
            _ => client.starts_with("made-for-you-"),
        };
        if !is_client || field("resource") != self.url {
            return json_of(401, &json!({ "error": "invalid_client" }));
        }
        match field("grant_type") {
            "refresh_token" if self.mode == "is overloaded" => {
                return json_of(400, &json!({ "error": "temporarily_unavailable" }));
            }
            "refresh_token" if self.mode == "refuses with status 200" => {
                return json_of(200, &json!({ "error": "bad_refresh_token" }));
            }
            "authorization_code" => {
                let Some(begun) = self.codes.remove(field("code")) else { return refused("no such code") };
                let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(field("code_verifier")));
                if begun["code_challenge"] != challenge || begun["redirect_uri"] != field("redirect_uri") {
                    return refused("not the same client");
                }
            }
            // A token for renewal is good for one renewal.
            "refresh_token" if self.refresh.as_deref() == Some(field("refresh_token")) => {}
            _ => return refused(&format!("{} is not known", field("refresh_token"))),
        }
        self.given += 1;
        self.access = Some(format!("access/{}-sesame==", self.given));
        self.refresh = Some(format!("refresh-{}-sesame", self.given));
        let lifetime_s = if self.mode == "gives short tokens" { 1 } else { 3600 };
        let mut given = json!({ "access_token": self.access, "refresh_token": self.refresh, "token_type": "bearer",
            "expires_in": lifetime_s });
        if self.mode == "writes commas between scopes" {
            given["scope"] = "read,write,admin".into();
        }
        json_of(200, &given)
    }
}

/// The answer as the server of this mode writes it: some escape more in JSON than they must.
async fn written(mode: &str, answer: Response) -> Response {
    if !mode.contains("escaped") {
        return answer;
    }
    let (head, body) = answer.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.expect("a body");
    let text = String::from_utf8_lossy(&body).replace('/', "\\/").replace('=', "\\u003d");
    Response::from_parts(head, Body::from(text))
}

/// The fields of a form or a query. The texts of these tests have no `%` of their own.
fn fields(text: &str) -> BTreeMap<String, String> {
    let decoded = |text: &str| {
        let mut parts = text.split('%');
        let first = parts.next().unwrap_or_default().replace('+', " ");
        parts.fold(first, |all, part| {
            let (code, rest) = part.split_at(2);
            let byte = u8::from_str_radix(code, 16).expect("two digits");
            format!("{all}{}{}", char::from(byte), rest.replace('+', " "))
        })
    };
    text.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

fn json_of(status: u16, value: &Value) -> Response {
    (status, [("content-type", "application/json")], value.to_string().as_str()).answer()
}
