//! The token of a sign-in: lent to its server alone, renewed, and never shown.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::Duration;

use monobloc::base::Cancel;
use serde_json::{Value, json};

use super::login::{is_silent, project, run, signed_in, token_file, tokens, world};
use super::realm::Realm;

#[tokio::test]
async fn a_token_is_renewed_before_it_expires_and_once_when_it_is_refused() {
    let realm = Realm::new("gives short tokens");
    let project = project(&realm, "");
    signed_in(&project, &[]);
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let one = world(&project, &realm);
    assert_eq!(one.echo().await.text, "hello");
    let renewed = realm.count("POST /token");
    assert!(renewed >= 2 && realm.count("POST /mcp token=none") == 1, "{:#?}", realm.log());
    let realm = Realm::new("");
    let project = self::project(&realm, "");
    signed_in(&project, &[]);
    let (one, two) = (world(&project, &realm), world(&project, &realm));
    assert_eq!((one.echo().await.text.as_str(), two.echo().await.text.as_str()), ("hello", "hello"));
    realm.forget(false);
    assert_eq!(one.echo().await.text, "hello");
    assert_eq!((realm.count("POST /token"), realm.count("did")), (2, 3), "{:#?}", realm.log());
    // The other process takes the token that the first one has got.
    assert_eq!(two.echo().await.text, "hello");
    assert_eq!((realm.count("POST /token"), realm.count("did")), (2, 4), "{:#?}", realm.log());
}

#[tokio::test]
async fn a_sign_in_that_is_not_renewed_names_the_way_out_and_is_not_tried_again() {
    let realm = Realm::new("");
    let project = project(&realm, "");
    signed_in(&project, &[]);
    let world = world(&project, &realm);
    assert_eq!(world.echo().await.text, "hello");
    realm.forget(true);
    for part in ["is not renewed (http", "is no longer accepted and cannot be renewed"] {
        let outcome = world.echo().await;
        assert!(!outcome.is_ok() && outcome.text.contains(part), "{}", outcome.text);
        assert!(
            outcome.text.contains("`monobloc mcp login h`") && !outcome.text.contains("sesame"),
            "{}",
            outcome.text
        );
    }
    assert_eq!((realm.count("POST /token"), realm.count("did")), (2, 1), "{:#?}", realm.log());
}

#[tokio::test]
async fn a_token_file_that_is_damaged_or_open_to_others_is_not_used() {
    let realm = Realm::new("");
    let project = project(&realm, "");
    signed_in(&project, &[]);
    let (file, requests) = (token_file(&project), realm.log().len());
    fs::set_permissions(&file, Permissions::from_mode(0o644)).expect("a mode");
    let open = world(&project, &realm).echo().await;
    assert!(open.text.contains("chmod 600") && open.text.contains("`monobloc mcp login h`"), "{}", open.text);
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("a mode");
    let text = fs::read_to_string(&file).expect("a token");
    fs::write(&file, &text[..text.len() / 2]).expect("written");
    let damaged = world(&project, &realm).echo().await;
    assert!(damaged.text.contains("is damaged") && damaged.text.contains("`monobloc mcp login h`"), "{}", damaged.text);
    assert!(!damaged.text.contains("sesame"), "{}", damaged.text);
    assert_eq!(realm.log().len(), requests, "{:#?}", realm.log());
    signed_in(&project, &[]);
    assert_eq!(world(&project, &realm).echo().await.text, "hello");
}

#[tokio::test]
async fn a_token_goes_to_the_server_that_it_was_made_for_alone() {
    let (realm, other) = (Realm::new(""), Realm::new(""));
    let project = project(&realm, "");
    signed_in(&project, &[]);
    run(&project, &["mcp", "allow", &other.url, "--yes"]).end().succeeded();
    assert!(!world(&project, &other).echo().await.is_ok());
    assert!(other.count("POST /mcp token=none") > 0 && other.count("token=bearer") == 0, "{:#?}", other.log());
    assert_eq!(world(&project, &realm).echo().await.text, "hello");
    let elsewhere = realm.log().into_iter().filter(|line| line.contains("token=bearer") && !line.contains(" /mcp "));
    assert_eq!(elsewhere.count(), 0, "{:#?}", realm.log());
}

#[tokio::test]
async fn a_call_that_needs_another_scope_says_how_to_get_it() {
    let realm = Realm::new("wants more");
    let project = project(&realm, "");
    signed_in(&project, &[]);
    let outcome = world(&project, &realm).echo().await;
    assert!(outcome.text.contains("`monobloc mcp login h --scope \"admin\"`"), "{}", outcome.text);
}

#[tokio::test]
async fn two_processes_that_renew_at_once_send_one_request() {
    let realm = Realm::new("");
    let project = project(&realm, "");
    signed_in(&project, &[]);
    let (one, two) = (world(&project, &realm), world(&project, &realm));
    assert_eq!((one.echo().await.text.as_str(), two.echo().await.text.as_str()), ("hello", "hello"));
    realm.forget(false);
    let (first, second) = tokio::join!(one.echo(), two.echo());
    assert_eq!((first.text.as_str(), second.text.as_str()), ("hello", "hello"));
    assert_eq!(realm.count("POST /token"), 2, "{:#?}", realm.log());
}

#[tokio::test]
async fn a_server_that_refuses_the_renewed_token_too_costs_one_renewal_per_call() {
    let realm = Realm::new("");
    let project = project(&realm, "");
    signed_in(&project, &[]);
    realm.becomes("refuses every token");
    let world = world(&project, &realm);
    for calls in 1..=2 {
        let outcome = world.echo().await;
        let names_the_way_out = outcome.text.contains("(status 401); sign in again: `monobloc mcp login h`");
        assert!(!outcome.is_ok() && names_the_way_out, "{}", outcome.text);
        let requests = (realm.count("POST /mcp token=bearer"), realm.count("POST /token"));
        assert_eq!(requests, (2 * calls, 1 + calls), "{:#?}", realm.log());
    }
}

#[tokio::test]
async fn only_a_refusal_of_the_renewal_itself_ends_a_sign_in() {
    let realm = Realm::new("");
    let project = project(&realm, "");
    signed_in(&project, &[]);
    let world = world(&project, &realm);
    realm.forget(false);
    realm.becomes("is overloaded");
    let outcome = world.echo().await;
    assert!(outcome.text.contains("could not be renewed") && outcome.text.contains("later"), "{}", outcome.text);
    realm.becomes("");
    assert_eq!(world.echo().await.text, "hello");
    realm.forget(false);
    realm.becomes("refuses with status 200");
    for part in ["is not renewed (http", "is no longer accepted and cannot be renewed"] {
        let outcome = world.echo().await;
        assert!(outcome.text.contains(part), "{}", outcome.text);
    }
    assert_eq!(realm.count("POST /token"), 4, "{:#?}", realm.log());
}

#[tokio::test]
async fn a_token_that_is_valid_is_used_while_its_renewal_fails() {
    let realm = Realm::new("");
    let project = project(&realm, "");
    signed_in(&project, &[]);
    let (file, text) = (token_file(&project), fs::read_to_string(token_file(&project)).expect("a token"));
    let mut kept: Value = serde_json::from_str(&text).expect("JSON");
    kept["renew_at_s"] = json!(0);
    fs::write(&file, kept.to_string()).expect("written");
    realm.becomes("is overloaded");
    let world = world(&project, &realm);
    for _ in 0..2 {
        assert_eq!(world.echo().await.text, "hello");
    }
    // It is not tried again for each request.
    assert_eq!(realm.count("POST /token"), 2, "{:#?}", realm.log());
}

#[tokio::test]
async fn a_token_is_not_used_after_the_user_has_signed_out() {
    let realm = Realm::new("");
    let project = project(&realm, "");
    signed_in(&project, &[]);
    let world = world(&project, &realm);
    assert_eq!(world.echo().await.text, "hello");
    // Without a word to the authorisation server, so that the token stays valid there.
    run(&project, &["mcp", "logout", "far", "--offline"]).end().succeeded();
    assert!(realm.access().is_some());
    let requests = realm.log().len();
    let outcome = world.echo().await;
    assert!(!outcome.is_ok() && outcome.text.contains("you have signed out; sign in again"), "{}", outcome.text);
    assert_eq!(realm.log().len(), requests, "{:#?}", realm.log());
}

/// The token for renewal in the file is already spent when the second renewal begins.
#[test]
fn a_renewed_token_is_used_even_if_it_cannot_be_written() {
    let realm = Realm::new("");
    let project = project(&realm, "");
    signed_in(&project, &[]);
    run(&project, &["mcp", "allow", "far", "--yes"]).end().succeeded();
    let before = fs::read(token_file(&project)).expect("a token");
    realm.forget(false);
    realm.becomes("forgets the token after the list");
    let mut run = run(&project, &["mcp", "call", "far.echo", "{\"text\":\"hello\"}", "--yes", "--json"]);
    run.command = unable_to_write(&run.command);
    let called = run.end();
    assert_eq!(called.lines().last().expect("a line")["text"], json!("hello"), "{called:#?}\n{:#?}", realm.log());
    assert_eq!(realm.count("POST /token"), 3, "{:#?}", realm.log());
    assert!(fs::read(token_file(&project)).expect("a token") == before, "the file was written");
    is_silent(&called);
}

/// The same command, but every write to a file fails, as on a full disk.
fn unable_to_write(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""]).arg(command.get_program());
    shell.args(command.get_args()).current_dir(command.get_current_dir().expect("a folder"));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

#[tokio::test]
async fn a_server_is_tried_again_immediately_after_a_sign_in() {
    let realm = Realm::new("");
    let project = project(&realm, "");
    run(&project, &["mcp", "allow", "far", "--yes"]).end().succeeded();
    fs::create_dir_all(tokens(&project)).expect("a folder");
    let world = world(&project, &realm);
    for _ in 0..5 {
        assert!(!world.echo().await.is_ok());
    }
    assert!(world.echo().await.text.contains("is not connected to again yet"));
    signed_in(&project, &[]);
    assert_eq!(world.echo().await.text, "hello");
}

#[tokio::test]
async fn nothing_that_a_server_says_shows_the_token() {
    for mode in [
        "repeats the token",
        "repeats the token in streams",
        "repeats the token escaped",
        "repeats the token escaped in streams",
    ] {
        let realm = Realm::new(mode);
        let project = project(&realm, "");
        signed_in(&project, &[]);
        let world = world(&project, &realm);
        assert_eq!(world.seen().tools[0].description, "Bearer [token]");
        assert_eq!(world.echo().await.text, "Bearer [token]");
        let filled = world.servers.prompt("h", "where", "bow", &Cancel::new()).await.expect("a prompt");
        assert_eq!(filled.text, "Say where Bearer [token] hangs.");
    }
}

#[tokio::test]
async fn urls_that_differ_in_their_query_have_sign_ins_of_their_own() {
    let mut realm = Realm::new("");
    let plain = realm.url.clone();
    realm.url = format!("{plain}?plan=a");
    let project = project(&realm, "");
    signed_in(&project, &[]);
    assert_eq!(world(&project, &realm).echo().await.text, "hello");
    let requests = realm.count("token=bearer");
    for query in ["", "?plan=b"] {
        realm.url = format!("{plain}{query}");
        let outcome = world(&project, &realm).echo().await;
        assert!(!outcome.is_ok() && outcome.text.contains("sign in: `monobloc mcp login h`"), "{}", outcome.text);
    }
    assert_eq!(realm.count("token=bearer"), requests, "{:#?}", realm.log());
    // By its whole URL, a server of the settings is found with its other keys.
    let found = run(&project, &["mcp", "logout", &format!("{plain}?plan=a"), "--json"]).end().succeeded();
    assert_eq!(found.lines()[0]["was_signed_in"], json!(true), "{found:#?}");
}
