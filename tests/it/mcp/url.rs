//! MCP servers at a URL: nothing is sent without consent, and a faulty server costs one failed
//! call, which is sent only once.

use std::time::{Duration, Instant};

use monobloc::tools::Outcome;
use monobloc::tools::mcp::Setup;
use serde_json::{Value, json};

use super::far::Far;
use super::{World, eventually};
use crate::cli::{Project, Run};

/// A project that may send to the server; `more` are additional lines of its table.
pub fn world(far: &Far, more: &str) -> World {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("servers"), format!("mcp {}\n", far.url)).expect("a consent");
    World::of(dir, &format!("url = {:?}\n{more}\n", far.url), |setup| setup)
}

/// Checks that a call to a server soon fails with a message that contains `part`.
async fn costs_one_failed_call(mode: &str, part: &str) -> Far {
    let (far, started) = (Far::new(mode), Instant::now());
    let world = world(&far, "timeout_s = 5\nstart_timeout_s = 5");
    let outcome = world.echo().await;
    assert!(!outcome.is_ok() && outcome.text.contains(part), "{mode}: {}", outcome.text);
    assert!(outcome.text.len() < 2_000 && started.elapsed() < Duration::from_secs(12), "{mode}: {}", outcome.text);
    assert!(far.count("did") <= 1, "{mode}: {:#?}", far.log());
    far
}

#[tokio::test]
async fn tools_of_a_url_are_listed_and_called_with_and_without_streams_and_sessions() {
    for mode in ["", "streams", "keeps no session"] {
        let far = Far::new(mode);
        let world = world(&far, "headers = { X-Key = \"${CARGO_PKG_NAME}\" }");
        let seen = world.seen();
        let names: Vec<&str> = seen.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!((names, seen.failed), (vec!["h.echo", "h.wait"], false), "{mode}: {:?}", seen.notes);
        let outcome = world.echo().await;
        assert!(outcome.is_ok() && outcome.text == "hello", "{mode}: {}", outcome.text);
        let session = if mode == "keeps no session" { "-" } else { "s1" };
        let log = far.log();
        let call = log.iter().find(|line| line.contains("tools/call")).expect("a call");
        assert!(call.contains(&format!("session={session} version=20")), "{mode}: {log:#?}");
        assert!(log.iter().all(|line| line.starts_with("did") || line.contains("key=monobloc ")), "{mode}: {log:#?}");
        assert_eq!(far.count("initialize session=-"), 1, "{mode}: {log:#?}");
        world.servers.end();
        assert_eq!(far.count("DELETE - session=s1"), usize::from(session == "s1"), "{mode}: {:#?}", far.log());
    }
}

#[tokio::test]
async fn nothing_is_sent_without_consent_or_with_offline() {
    let far = Far::new("");
    let table = format!("url = {:?}", far.url);
    let stranger = World::of(tempfile::tempdir().expect("a folder"), &table, |setup| setup);
    let offline = world(&far, "");
    let offline = World::of(offline.dir, &table, |setup| Setup { offline: true, ..setup });
    for (world, part) in [(stranger, "`monobloc mcp allow h`"), (offline, "--offline is on")] {
        let seen = world.seen();
        assert!(seen.failed && seen.tools.is_empty() && seen.notes[0].contains(part), "{:?}", seen.notes);
        let outcome = world.echo().await;
        assert!(!outcome.is_ok() && outcome.text.contains(part), "{}", outcome.text);
    }
    assert!(far.log().is_empty(), "{:#?}", far.log());
}

#[tokio::test]
async fn a_header_without_its_variable_is_an_error_before_anything_is_sent() {
    let far = Far::new("");
    let seen = world(&far, "headers = { X-Key = \"Bearer ${NO_SUCH_VARIABLE_HERE}\" }").seen();
    assert!(seen.failed && seen.notes[0].contains("variable NO_SUCH_VARIABLE_HERE"), "{:?}", seen.notes);
    assert!(far.log().is_empty(), "{:#?}", far.log());
}

#[tokio::test]
async fn a_redirection_is_not_followed() {
    let other = Far::new("");
    let to = other.url.replace("127.0.0.1", "localhost");
    costs_one_failed_call(&format!("redirects {to}"), &format!("redirects to {to}, which is not followed")).await;
    assert!(other.log().is_empty(), "{:#?}", other.log());
}

#[tokio::test]
async fn a_server_that_sends_too_much_is_no_longer_read() {
    costs_one_failed_call("sends 50 MB", "more than 4194304 bytes").await;
    costs_one_failed_call("sends an event without an end", "a message of more than 4 MiB").await;
    costs_one_failed_call("floods", "20000 lines on its streams").await;
}

#[tokio::test]
async fn an_answer_of_another_kind_names_the_way_out() {
    costs_one_failed_call("html", "of the type `text/html`").await;
    costs_one_failed_call(
        "locked",
        "refuses access (status 401); sign in: `monobloc mcp login h`, or give it a key by `headers`",
    )
    .await;
    costs_one_failed_call("breaks down", "it refused: out of paper").await;
    costs_one_failed_call("is busy", "asks to wait 30 s").await;
}

#[tokio::test]
async fn a_stream_that_stalls_ends_with_the_time_of_the_call() {
    let far = Far::new("stalls");
    let world = world(&far, "timeout_s = 1");
    for sessions in 1..=2 {
        let outcome = world.echo().await;
        assert!(outcome.text.contains("did not answer within 1 s and its connection was closed"), "{}", outcome.text);
        assert_eq!((far.count("POST initialize "), far.count("did")), (sessions, sessions), "{:#?}", far.log());
    }
}

#[tokio::test]
async fn a_call_whose_server_tells_of_progress_may_take_longer() {
    let far = Far::new("tells of progress");
    let (started, world) = (Instant::now(), world(&far, "timeout_s = 1"));
    let outcome = world.echo().await;
    assert!(outcome.is_ok() && outcome.text == "at last", "{}", outcome.text);
    assert!(started.elapsed() > Duration::from_secs(2) && far.count("did") == 1, "{:#?}", far.log());
}

#[tokio::test]
async fn a_forgotten_session_is_begun_anew_once() {
    let far = Far::new("forgets");
    let outcome = world(&far, "").echo().await;
    assert!(outcome.is_ok() && outcome.text == "hello", "{}", outcome.text);
    assert_eq!((far.count("initialize session=-"), far.count("did")), (2, 1), "{:#?}", far.log());
    let far = costs_one_failed_call("forgets always", "it forgets each session").await;
    assert_eq!((far.count("initialize session=-"), far.count("did")), (2, 0), "{:#?}", far.log());
}

#[tokio::test]
async fn an_answer_that_broke_off_is_continued_from_its_last_event_or_fails_and_the_call_is_made_once() {
    let far = Far::new("is cut");
    let outcome = world(&far, "").echo().await;
    assert!(outcome.is_ok() && outcome.text == "the rest", "{}: {:#?}", outcome.text, far.log());
    assert_eq!((far.count("did"), far.count("GET - session=s1 version=20")), (1, 2), "{:#?}", far.log());
    costs_one_failed_call("is cut for good", "broke off before it was complete").await;
}

#[tokio::test]
async fn a_server_that_goes_away_is_an_error_and_the_next_call_finds_it_again() {
    let mut far = Far::new("");
    let world = world(&far, "timeout_s = 5");
    assert!(world.echo().await.is_ok());
    far.stop();
    let gone = world.echo().await;
    assert!(!gone.is_ok() && gone.text.contains("does not answer (Connection refused"), "{}", gone.text);
    let address = far.url.trim_start_matches("http://").trim_end_matches("/mcp");
    let again = Far::at(address, "");
    let outcome = world.echo().await;
    assert!(outcome.is_ok() && outcome.text == "hello", "{}", outcome.text);
    assert_eq!((again.count("POST initialize "), again.count("did")), (1, 1), "{:#?}", again.log());
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once_and_the_server_of_a_url_is_told() {
    let far = Far::new("");
    let world = world(&far, "timeout_s = 60");
    assert!(world.echo().await.is_ok());
    let cancel = world.context.cancel.clone();
    let (outcome, ()): (Outcome, ()) = tokio::join!(world.call("h.wait", json!({})), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        cancel.cancel();
    });
    assert!(outcome.text.contains("cancelled"), "{}", outcome.text);
    eventually(|| far.count("notifications/cancelled session=s1") == 1).await;
}

#[test]
fn the_user_allows_a_url_once_and_reads_what_is_sent_there() {
    let (project, far) = (Project::todo(), Far::new(""));
    let folder = project.folder("config/monobloc");
    let table = format!("[mcp.far]\nurl = {:?}\nheaders = {{ X-Key = \"hunter2\" }}\n", far.url);
    std::fs::write(folder.join("config.toml"), table).expect("a configuration");
    let run = |arguments: &[&str]| Run::new(&project, arguments).end();
    let refused = run(&["mcp", "test"]);
    assert!(refused.code != Some(0) && refused.out.contains("`monobloc mcp allow"), "{refused:#?}");
    let unasked = run(&["mcp", "allow", "far"]);
    assert!(unasked.code != Some(0) && unasked.err.contains("give --yes"), "{unasked:#?}");
    assert!(far.log().is_empty(), "{:#?}", far.log());
    let allowed = run(&["mcp", "allow", "far", "--yes"]).succeeded();
    assert!(allowed.out.contains(&format!("are sent to {}", far.url)), "{allowed:#?}");
    assert!(allowed.out.contains("the header X-Key") && !allowed.out.contains("hunter2"), "{allowed:#?}");
    let tested = run(&["mcp", "test", "--json"]).succeeded();
    let seen = &tested.lines()[0][0];
    assert_eq!((&seen["tools"], &seen["resources"][0]["uri"]), (&json!(2), &json!("memo://monday")), "{tested:#?}");
    let shown = run(&["mcp", "test", "far"]).succeeded();
    assert!(shown.out.contains("@far:memo://monday") && shown.out.contains("/far:where LAMP"), "{shown:#?}");
    let called = run(&["mcp", "call", "far.echo", "{\"text\":\"over there\"}", "--yes"]).succeeded();
    assert!(called.out.contains("over there"), "{called:#?}");
    let offline = run(&["mcp", "test", "--offline"]);
    assert!(offline.code != Some(0) && offline.out.contains("--offline is on"), "{offline:#?}");
    for shown in [run(&["mcp", "list", "--json"]), run(&["config", "show", "--json"])] {
        let shown = shown.succeeded();
        assert!(shown.out.contains(&far.url) && !shown.out.contains("hunter2"), "{shown:#?}");
    }
    let wrong: Value = json!(run(&["mcp", "allow", "http://box.example/mcp"]).err);
    assert!(wrong.as_str().is_some_and(|text| text.contains("use https://")), "{wrong}");
}
