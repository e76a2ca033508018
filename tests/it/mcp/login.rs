//! Signing in to a protected MCP server: the whole way with the real program, while a test plays
//! the browser, and everything that can go wrong on it.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use monobloc::tools::mcp::Setup;
use serde_json::{Value, json};

use super::World;
use super::far::Far;
use super::realm::Realm;
use crate::cli::{Ended, Project, Run, Running};
use crate::terminal::typed;

/// The program with the settings and the data of `project`.
pub fn run(project: &Project, arguments: &[&str]) -> Run {
    Run::new(project, arguments).env("XDG_DATA_HOME", project.beside("data")).env("PLAN_SECRET", "s-sesame")
}

/// A project whose settings name the server `far`.
pub fn project(realm: &Realm, more: &str) -> Project {
    let project = Project::todo();
    let table = format!("[mcp.far]\nurl = {:?}\nstart_timeout_s = 3\n{more}\n", realm.url);
    fs::write(project.folder("config/monobloc").join("config.toml"), table).expect("a configuration");
    project
}

pub fn login(project: &Project, more: &[&str]) -> Running {
    let arguments = [&["mcp", "login", "far", "--yes", "--json", "--no-browser"], more].concat();
    run(project, &arguments).talk()
}

/// The URL that the program prints for the browser.
pub fn printed(running: &mut Running) -> String {
    running.until("\n");
    let line: Value = serde_json::from_str(running.shown().lines().next().expect("a line")).expect("JSON");
    line["authorize"].as_str().expect("a URL").to_owned()
}

/// Opens a URL of this machine like a browser; returns the answer and the URL to which it leads.
pub fn opened(url: &str) -> (String, String) {
    let (address, path) = url.trim_start_matches("http://").split_once('/').expect("a path");
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let to = answer.lines().find_map(|line| line.strip_prefix("location: ")).unwrap_or_default().to_owned();
    (answer, to)
}

/// Signs in with the program while this plays the browser.
pub fn signed_in(project: &Project, more: &[&str]) -> Ended {
    let mut running = login(project, more);
    let (answer, to) = opened(&printed(&mut running));
    assert!(to.starts_with("http://127.0.0.1:"), "{answer}");
    let (page, _) = opened(&to);
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("go back to the terminal"), "{page}");
    running.end().succeeded()
}

pub fn tokens(project: &Project) -> PathBuf {
    project.beside("data/monobloc/mcp")
}

pub fn token_file(project: &Project) -> PathBuf {
    let files = fs::read_dir(tokens(project)).expect("a folder").map(|entry| entry.expect("an entry").path());
    files.into_iter().find(|path| path.extension().is_some_and(|end| end == "json")).expect("a token")
}

/// A project of this process that uses the token with which `project` has signed in.
pub fn world(project: &Project, realm: &Realm) -> World {
    let table = format!("url = {:?}\nstart_timeout_s = 5\ntimeout_s = 5", realm.url);
    let consents = project.beside("config/monobloc/servers");
    let tokens = tokens(project);
    let setup = |setup: Setup| Setup { consents: consents.clone(), tokens: tokens.clone(), ..setup };
    World::of(tempfile::tempdir().expect("a folder"), &table, setup)
}

pub fn is_silent(ended: &Ended) {
    assert!(!ended.out.contains("sesame") && !ended.err.contains("sesame"), "{ended:#?}");
}

#[test]
fn a_user_signs_in_by_the_browser_uses_the_tools_and_signs_out() {
    for mode in ["repeats the token", "speaks OpenID", "gives a bare challenge", "gives a secret along with none"] {
        let realm = Realm::new(mode);
        let project = project(&realm, "");
        run(&project, &["mcp", "allow", "far", "--yes"]).end().succeeded();
        let before = run(&project, &["mcp", "test", "far"]).end();
        assert!(before.out.contains("(status 401); sign in: `monobloc mcp login far`"), "{before:#?}");
        let ended = signed_in(&project, &[]);
        let result = &ended.lines()[1];
        assert_eq!((&result["signed_in"], &result["renewable"]), (&json!(true), &json!(true)), "{ended:#?}");
        let mode_of = |path: &PathBuf| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
        assert_eq!((mode_of(&token_file(&project)), mode_of(&tokens(&project))), (0o600, 0o700));
        let listed = run(&project, &["mcp", "list", "--json"]).end().succeeded();
        assert_eq!(listed.lines()[0][0]["signed_in"], json!(true), "{listed:#?}");
        let called = run(&project, &["mcp", "call", "far.echo", "{\"text\":\"hello\"}", "--yes", "--json"]).end();
        let expected = if mode == "repeats the token" { "Bearer [token]" } else { "hello" };
        assert_eq!(called.lines().last().expect("a line")["text"], json!(expected), "{called:#?}");
        let out = run(&project, &["mcp", "logout", "far"]).end().succeeded();
        assert!(out.out.contains("its authorisation server was told") && realm.access().is_none(), "{out:#?}");
        let after = run(&project, &["mcp", "test", "far"]).end();
        assert!(after.code != Some(0) && after.out.contains("`monobloc mcp login far`"), "{after:#?}");
        for ended in [before, ended, listed, called, out, after] {
            is_silent(&ended);
        }
        let again = run(&project, &["mcp", "logout", "far", "--json"]).end().succeeded();
        assert_eq!(again.lines()[0]["was_signed_in"], json!(false), "{again:#?}");
    }
}

#[test]
fn the_url_that_a_browser_elsewhere_shows_can_be_pasted() {
    let realm = Realm::new("");
    let project = project(&realm, "");
    let mut running = login(&project, &[]);
    let url = printed(&mut running);
    let (_, to) = opened(&url);
    running.say("https");
    running.say(&url);
    running.say(&to.replace("state=", "state=x"));
    running.say(&to);
    let ended = running.end().succeeded();
    assert!(ended.err.contains("this is not a URL") && ended.err.contains("another `state`"), "{ended:#?}");
    assert!(ended.err.contains("begins with http://127.0.0.1"), "{ended:#?}");
    assert!(token_file(&project).exists());
    is_silent(&ended);
}

#[test]
fn an_answer_with_another_state_is_not_taken_and_the_sign_in_goes_on() {
    let realm = Realm::new("");
    let project = project(&realm, "");
    let mut running = login(&project, &[]);
    let (_, to) = opened(&printed(&mut running));
    // Any page can make a browser send these.
    for _ in 0..30 {
        let (wrong, _) = opened(&to.replace("state=", "state=x"));
        assert!(wrong.starts_with("HTTP/1.1 400"), "{wrong}");
    }
    let (icon, _) = opened(&to.replace("/callback?", "/favicon.ico?"));
    assert!(icon.starts_with("HTTP/1.1 404"), "{icon}");
    assert!(running.is_running() && realm.count("POST /token") == 0, "{:#?}", realm.log());
    opened(&to);
    let ended = running.end().succeeded();
    assert!(!ended.err.contains("another `state`"), "{ended:#?}");
    assert_eq!(realm.count("POST /token"), 1, "{:#?}", realm.log());
}

#[test]
fn a_refusal_in_the_browser_ends_the_sign_in_with_its_reason() {
    for (mode, part) in [
        ("denies", "refuses the sign-in: access_denied: not today"),
        ("answers for another", "is not from the authorisation server"),
    ] {
        let realm = Realm::new(mode);
        let project = project(&realm, "");
        let mut running = login(&project, &[]);
        let (_, to) = opened(&printed(&mut running));
        opened(&to);
        let ended = running.end();
        assert!(ended.code == Some(1) && ended.err.contains(part), "{mode}: {ended:#?}");
        assert_eq!(realm.count("POST /token"), 0, "{:#?}", realm.log());
        is_silent(&ended);
    }
}

/// Checks that a sign-in fails with a message that contains `part`, before a browser is needed.
fn fails(mode: &str, part: &str) -> Realm {
    let realm = Realm::new(mode);
    let project = project(&realm, "");
    fails_in(&project, mode, part);
    realm
}

/// The same in a project.
fn fails_in(project: &Project, mode: &str, part: &str) {
    let from = Instant::now();
    let ended = login(project, &["--timeout-s", "30"]).end();
    assert!(ended.code == Some(1) && ended.err.contains(part), "{mode}: {ended:#?}");
    assert!(!ended.out.contains("authorize") && from.elapsed() < Duration::from_secs(60), "{mode}: {ended:#?}");
    assert!(ended.err.len() < 2_000 && !ended.err.contains('\u{1b}'), "{mode}: {ended:#?}");
    is_silent(&ended);
}

#[test]
fn a_faulty_authorisation_server_is_named_and_nothing_is_sent_to_others() {
    fails("is plain http", "`http://login.example/realm` is not used: plain http can be read in transit");
    fails("is no URL", "`javascript:alert(1)` is not used");
    fails("is about another server", "is about `http://127.0.0.1:1/mcp`, not about");
    fails("names nothing", "/.well-known/openid-configuration: status 404");
    fails("has another name", "describes another authorisation server, `http://127.0.0.1:1/realm`");
    fails("has no PKCE", "PKCE (S256)");
    fails("has a plain endpoint", "token_endpoint `http://login.example/token` is not used");
    fails("registers nobody", "write its `client_id`");
    fails("refuses to register", "(status 400, invalid_redirect_uri: no loop�back)");
}

#[test]
fn a_redirection_of_a_sign_in_is_not_followed() {
    let other = Far::new("");
    let to = other.url.replace("127.0.0.1", "localhost");
    fails(&format!("redirects {to}"), &format!("a redirection to {to}, which is not followed"));
    assert!(other.log().is_empty(), "{:#?}", other.log());
}

#[test]
fn an_answer_without_end_ends_the_sign_in() {
    fails("sends 1 MB", "more than 262144 bytes");
    fails("sends without end", "more than 262144 bytes");
    for mode in ["stalls", "drips"] {
        let from = Instant::now();
        fails(mode, " 3 s");
        assert!(from.elapsed() < Duration::from_secs(30), "{mode}");
    }
}

#[test]
fn a_host_is_not_asked_without_the_users_consent_nor_offline() {
    let realm = Realm::new("");
    let project = project(&realm, "");
    let offline = run(&project, &["mcp", "login", "far", "--yes", "--offline"]).end();
    assert!(offline.code == Some(1) && offline.err.contains("--offline is on"), "{offline:#?}");
    let unasked = run(&project, &["mcp", "login", "far"]).end();
    assert!(unasked.code == Some(1) && unasked.err.contains("are sent to http"), "{unasked:#?}");
    assert!(realm.log().is_empty(), "{:#?}", realm.log());
    run(&project, &["mcp", "allow", "far", "--yes"]).end().succeeded();
    let unasked = run(&project, &["mcp", "login", "far"]).end();
    let host = realm.issuer.trim_end_matches("/realm");
    assert!(unasked.code == Some(1) && unasked.err.contains(&format!("sign in at {host}.")), "{unasked:#?}");
    assert!(unasked.err.contains("--yes"), "{unasked:#?}");
    assert_eq!((realm.log().len(), realm.count("oauth-protected-resource")), (2, 1), "{:#?}", realm.log());
}

#[test]
fn on_a_terminal_the_user_is_asked_about_each_host_and_can_paste_the_answer() {
    for consents in [true, false] {
        let realm = Realm::new("");
        let project = project(&realm, "");
        let (mut asked, issuer) = (0, realm.issuer.trim_end_matches("/realm").to_owned());
        let answer = |shown: &str| {
            if shown.contains("[y]es") {
                asked += 1;
                let names_the_host = shown.contains(if asked == 1 { &realm.url } else { &issuer });
                assert!(names_the_host, "{shown}");
                return Some(if asked == 1 || consents { "y" } else { "no" }.to_owned());
            }
            let url = shown.lines().find(|line| line.contains("code_challenge="));
            url.filter(|_| shown.contains("shows at the end:")).map(|url| opened(url.trim()).1)
        };
        let login = run(&project, &["mcp", "login", "far", "--no-browser"]);
        let (text, succeeded) = typed(login, answer);
        assert_eq!((asked, succeeded), (2, consents), "{text}");
        assert_eq!(text.contains("signed in to http"), consents, "{text}");
        assert!(consents || text.contains("not allowed"), "{text}");
        assert_eq!(realm.count("/.well-known/oauth-authorization-server"), usize::from(consents), "{:#?}", realm.log());
    }
}

#[test]
fn ctrl_c_and_the_time_limit_end_the_wait_for_the_browser() {
    let realm = Realm::new("");
    let project = project(&realm, "");
    let mut running = login(&project, &[]);
    printed(&mut running);
    running.interrupt();
    let ended = running.end();
    assert!(ended.code == Some(130) && ended.err.contains("cancelled"), "{ended:#?}");
    let late = login(&project, &["--timeout-s", "1"]).end();
    assert!(late.code == Some(1) && late.err.contains("no answer came within 1 s"), "{late:#?}");
}

/// A client in the settings that was registered at the issuer.
fn client(realm: &Realm) -> String {
    format!("client_id = \"known\"\nclient_secret = \"${{PLAN_SECRET}}\"\nissuer = {:?}\n", realm.issuer)
}

#[test]
fn a_client_of_the_settings_signs_in_with_its_secret_and_port() {
    let realm = Realm::new("knows a client");
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let more = format!("{}callback_port = {port}", client(&realm));
    let project = project(&realm, &more);
    let mut running = login(&project, &["--scope", "admin"]);
    let url = printed(&mut running);
    assert!(url.contains("client_id=known") && url.contains(&format!("127.0.0.1%3A{port}%2F")), "{url}");
    assert!(url.contains("scope=read+write+admin+offline_access"), "{url}");
    opened(&opened(&url).1);
    is_silent(&running.end().succeeded());
    assert_eq!(realm.count("POST /register"), 0, "{:#?}", realm.log());
}

#[test]
fn a_client_of_the_settings_is_shown_only_to_the_issuer_where_it_was_registered() {
    let realm = Realm::new("is its own authority");
    let bound = project(&realm, &client(&realm));
    fails_in(&bound, "is its own authority", &format!("`issuer` in the settings is `{}`", realm.issuer));
    assert_eq!((realm.count("POST /token"), realm.count("POST /register")), (0, 0), "{:#?}", realm.log());
    let unbound = project(&realm, "client_id = \"known\"");
    fails_in(&unbound, "without issuer", "has a `client_id` without the `issuer`");
}

#[test]
fn the_issuer_of_the_settings_is_found_among_several_and_with_a_closing_slash() {
    let realm = Realm::new("names two authorities");
    let project = project(&realm, &client(&realm).replace("/realm\"", "/realm/\""));
    let mut running = login(&project, &[]);
    let url = printed(&mut running);
    realm.becomes("knows a client");
    opened(&opened(&url).1);
    is_silent(&running.end().succeeded());
}

/// Allows requests to the server and to these hosts of its sign-in.
fn allow(project: &Project, realm: &Realm, hosts: &[&str]) {
    run(project, &["mcp", "allow", "far", "--yes"]).end().succeeded();
    let mut file = OpenOptions::new().append(true).open(project.beside("config/monobloc/servers")).expect("consents");
    for host in hosts {
        writeln!(file, "sign in at {host} for mcp {}", realm.url).expect("written");
    }
}

#[test]
fn a_token_endpoint_on_a_further_host_is_not_asked_without_consent() {
    let realm = Realm::new("splits");
    let (project, issuer) = (project(&realm, ""), realm.issuer.trim_end_matches("/realm"));
    allow(&project, &realm, &[issuer]);
    let unasked = run(&project, &["mcp", "login", "far", "--no-browser"]).end();
    let asks = unasked.err.contains(&format!("sign in at {}.", realm.third)) && unasked.err.contains("--yes");
    assert!(unasked.code == Some(1) && asks, "{unasked:#?}");
    let at_third = format!("at={}", realm.third.trim_start_matches("http://"));
    assert_eq!((realm.count(&at_third), realm.count("POST /register")), (0, 0), "{:#?}", realm.log());
    signed_in(&project, &[]);
    assert_eq!((realm.count(&at_third), realm.count("POST /token")), (1, 1), "{:#?}", realm.log());
}

#[test]
fn the_user_is_asked_each_time_if_another_host_gets_the_answer_of_the_one_where_one_signs_in() {
    let realm = Realm::new("splits and signs nothing");
    let (project, issuer) = (project(&realm, ""), realm.issuer.trim_end_matches("/realm"));
    allow(&project, &realm, &[issuer, &realm.third]);
    let unasked = run(&project, &["mcp", "login", "far", "--no-browser"]).end();
    let asks = unasked.err.contains(&format!("You sign in at {issuer}, but {} gets", realm.third));
    assert!(unasked.code == Some(1) && asks && unasked.err.contains("--yes"), "{unasked:#?}");
    assert_eq!(realm.count("POST /register"), 0, "{:#?}", realm.log());
    signed_in(&project, &[]);
}

#[test]
fn a_sign_in_that_cannot_be_kept_fails_before_the_browser_is_needed() {
    let realm = Realm::new("");
    let project = project(&realm, "");
    fs::write(project.folder("data/monobloc").join("mcp"), "a file").expect("written");
    fails_in(&project, "", "cannot be locked");
    assert_eq!(realm.count("POST /register"), 0, "{:#?}", realm.log());
}

#[test]
fn more_rights_are_added_to_those_that_were_given() {
    let realm = Realm::new("");
    let project = project(&realm, "");
    let first = signed_in(&project, &["--scope", "admin"]);
    assert_eq!(first.lines()[1]["scope"], json!("read write admin offline_access"), "{first:#?}");
    let second = signed_in(&project, &["--scope", "audit"]);
    assert_eq!(second.lines()[1]["scope"], json!("read write audit admin offline_access"), "{second:#?}");
    let plain = signed_in(&project, &[]);
    assert_eq!(plain.lines()[1]["scope"], json!("read write offline_access"), "{plain:#?}");
    // Each was registered as a client of its own, so the one before is no longer needed.
    assert_eq!(realm.count("POST /revoke"), 2, "{:#?}", realm.log());
    assert!(realm.access().is_some(), "{:#?}", realm.log());
}

#[test]
fn rights_are_added_though_commas_separate_them_but_not_to_those_of_another_authorisation_server() {
    let realm = Realm::new("writes commas between scopes");
    let project = project(&realm, "");
    signed_in(&project, &["--scope", "admin"]);
    let asks_for = |scopes: &str| {
        let mut running = login(&project, &["--scope", "audit"]);
        let url = printed(&mut running);
        assert!(url.contains(&format!("&scope={scopes}&")), "{url}");
        running.interrupt();
        running.end();
    };
    asks_for("read+write+audit+admin+offline_access");
    let file = token_file(&project);
    let mut kept: Value = serde_json::from_str(&fs::read_to_string(&file).expect("a token")).expect("JSON");
    kept["token_endpoint"] = json!("http://127.0.0.1:1/token");
    fs::write(&file, kept.to_string()).expect("written");
    asks_for("read+write+audit+offline_access");
}

#[test]
fn signing_out_revokes_a_token_that_others_could_read() {
    let realm = Realm::new("");
    let project = project(&realm, "");
    signed_in(&project, &[]);
    fs::set_permissions(token_file(&project), Permissions::from_mode(0o644)).expect("a mode");
    let out = run(&project, &["mcp", "logout", "far"]).end().succeeded();
    assert!(out.out.contains("its authorisation server was told") && realm.access().is_none(), "{out:#?}");
}
