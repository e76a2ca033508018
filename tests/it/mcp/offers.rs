//! Resources and prompts of servers: a request names them, their texts reach the model, and a
//! mistake ends the turn before it begins.

use std::path::Path;
use std::sync::Arc;

use monobloc::agent::Toolkit;
use monobloc::base::Bytes;
use monobloc::budget::Ledger;
use monobloc::config::{ApproveMode, file as config_file};
use monobloc::engine::pool::Pool;
use monobloc::engine::scripted::Script;
use monobloc::protocol::{Ask, Decision, Event, Mode, Op, TurnFinished};
use monobloc::session::{Message, Session};
use monobloc::synth::Shape;
use monobloc::tools::mcp::Servers;
use monobloc::tools::mcp::offers::Offers;
use monobloc::tools::policy::{Policy, Rules};

use super::World;
use super::far::Far;
use super::url::world;
use crate::cli::Project;
use crate::pictures;
use crate::scripted::toolkit;

/// A turn whose model repeats the memo if its prompt contains it; returns the end of the turn, or
/// its failure, and the notices.
async fn turn(servers: &Servers, request: &str) -> (Result<TurnFinished, String>, Vec<String>) {
    let text = request.to_owned();
    turn_of(servers, Ask { text, ..Ask::default() }).await
}

async fn turn_of(servers: &Servers, ask: Ask) -> (Result<TurnFinished, String>, Vec<String>) {
    turn_under(Policy::of(ApproveMode::Never), servers, ask, Decision::Cancel).await
}

/// The same with a policy whose questions get this answer.
async fn turn_under(
    policy: Policy,
    servers: &Servers,
    ask: Ask,
    answer: Decision,
) -> (Result<TurnFinished, String>, Vec<String>) {
    turn_with(None, policy, servers, ask, answer).await
}

/// The same with these models instead of the script.
async fn turn_with(
    pool: Option<Pool>,
    policy: Policy,
    servers: &Servers,
    ask: Ask,
    answer: Decision,
) -> (Result<TurnFinished, String>, Vec<String>) {
    let script = Script::saying("I cannot say.").on("It carries 40 lamps", "The ship carries 40 lamps.");
    let plain = toolkit(&Project::todo(), script, Script::saying(""));
    let mut context = plain.context.clone().expect("a context");
    context.servers = Some(servers.clone());
    let pool = pool.unwrap_or_else(|| plain.pool.clone());
    let toolkit = Toolkit { orchestrate: false, context: Some(context), pool, ..plain };
    let session = Arc::new(Session::open(toolkit, None, policy).expect("a session"));
    let mut messages = session.submit(Op::Ask(ask));
    let (mut ended, mut notices) = (Err("no end".to_owned()), Vec::new());
    while let Some(message) = messages.recv().await {
        match message {
            Message::Failed(error) => ended = Err(error.to_string()),
            Message::Record(record) => match record.event {
                Event::TurnFinished(finished) => ended = Ok(finished),
                Event::Notice { text } => notices.push(text),
                _ => {}
            },
            Message::Approve { proposal, reply } => {
                notices.push(format!("asked: {} {}", proposal.tool, proposal.reason));
                reply.send(answer.clone()).expect("the turn waits for it");
            }
        }
    }
    (ended, notices)
}

#[tokio::test]
async fn the_rules_for_a_servers_tools_hold_for_its_resources_and_prompts() {
    let far = Far::new("");
    let world = world(&far, "");
    let under = async |decision: &str, request: &str, answer: Decision| {
        let rule =
            format!("[[rules]]\ntool = \"h.*\"\ndecision = \"{decision}\"\nmatches = [{{ tool = \"h.say\" }}]\n");
        let read = config_file::read(Path::new("config.toml"), &rule).expect("a file");
        let rules = Rules::compile(&read.rules).expect("rules");
        let policy = Policy::new(ApproveMode::OnMutation, rules, Path::new("/nowhere"));
        turn_under(policy, &world.servers, Ask { text: request.to_owned(), ..Ask::default() }, answer).await
    };
    let resource = "How many lamps does the ship carry, by @h:memo://monday?";
    for (request, named) in [(resource, "@h:memo://monday"), ("/h:where the blue lamp", "/h:where")] {
        let (denied, _) = under("deny", request, Decision::Approve).await;
        let why = denied.expect_err(request);
        assert!(why.contains(&format!("{named} was not fetched: the rule at config.toml")), "{why}");
    }
    assert!(far.log().is_empty(), "nothing was sent: {:#?}", far.log());
    let (refused, asked) = under("ask", resource, Decision::Reject).await;
    assert!(refused.is_err_and(|why| why.contains("was not fetched: you said no")), "{asked:?}");
    assert!(asked.iter().any(|one| one.starts_with("asked: h.resources/read")), "{asked:?}");
    let (ended, _) = under("ask", resource, Decision::Approve).await;
    assert!(ended.expect("an end").answer.contains("40 lamps"));
    let (ended, asked) = under("allow", resource, Decision::Reject).await;
    assert!(ended.is_ok() && !asked.iter().any(|one| one.starts_with("asked")), "{asked:?}");
}

#[tokio::test]
async fn what_servers_offer_is_listed_as_a_request_names_it() {
    let far = Far::new("streams");
    let offers = world(&far, "").servers.offers(None);
    let written: Vec<String> = offers.resources.iter().map(|one| format!("{} {}", one.written(), one.about)).collect();
    assert_eq!(written, ["@h:memo://monday what was said on Monday", "@h:memo://{day} a day"]);
    let forms: Vec<String> = offers.prompts.iter().map(|one| format!("{}: {}", one.form(), one.about)).collect();
    assert_eq!((forms, offers.notes.len()), (vec!["/h:where LAMP: where a lamp hangs".to_owned()], 0));
    // A server that offers none is not asked for them.
    let local = World::new("", "");
    assert_eq!(local.servers.offers(Some("h")), Offers::default());
}

#[tokio::test]
async fn a_resource_that_a_request_names_reaches_the_model_with_its_origin() {
    let far = Far::new("");
    let request = "How many lamps does the ship carry, by (@h:memo://monday)?";
    let (ended, notices) = turn(&world(&far, "").servers, request).await;
    let finished = ended.expect("an end");
    assert!(finished.answer.contains("40 lamps"), "{} {notices:?}", finished.answer);
    assert!(finished.answer.contains("@h:memo://monday:2"), "{}", finished.answer);
    assert_eq!(finished.request, request);
    assert!(notices.iter().any(|note| note.contains("@h:memo://monday: 42 bytes")), "{notices:?}");
    let (ended, _) =
        turn(&world(&far, "").servers, "How many lamps does the ship carry, by @other:memo://monday?").await;
    assert!(!ended.expect("an end").answer.contains("40 lamps"), "another server is not asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_of_a_server_is_read_by_a_model_that_sees() {
    let (far, folder) = (Far::new(""), tempfile::tempdir().expect("a folder"));
    pictures::pair(folder.path(), Shape::TinyMistral);
    let pool = pictures::pool(folder.path(), &Ledger::new(Bytes::gib(2)));
    let ask = Ask { text: "What does @h:memo://square show?".into(), mode: Mode::Chat, ..Ask::default() };
    let servers = &world(&far, "").servers;
    let (_, notices) = turn_with(Some(pool), Policy::of(ApproveMode::Never), servers, ask, Decision::Cancel).await;
    let is_handed =
        |note: &String| note.starts_with("@h:memo://square, as read by ") && note.contains("added to the request");
    assert!(notices.iter().any(is_handed), "{notices:?}");
}

#[tokio::test]
async fn a_prompt_of_a_server_becomes_the_request() {
    let far = Far::new("");
    let (ended, notices) = turn(&world(&far, "").servers, "/h:where the blue lamp").await;
    let finished = ended.expect("an end");
    assert_eq!(finished.request, "Say where the blue lamp hangs.");
    assert!(notices.iter().any(|note| note.contains("the request is the prompt /h:where")), "{notices:?}");
}

#[tokio::test]
async fn a_request_of_another_program_fetches_nothing() {
    let far = Far::new("");
    for text in ["/h:where the blue lamp", "How many lamps does the ship carry, by @h:memo://monday?"] {
        let ask = Ask { text: text.to_owned(), of_program: true, ..Ask::default() };
        let (ended, _) = turn_of(&world(&far, "").servers, ask).await;
        assert!(ended.as_ref().is_ok_and(|finished| finished.request == text), "{ended:?}");
    }
    assert!(far.log().is_empty(), "{:#?}", far.log());
}

#[tokio::test]
async fn what_cannot_be_fetched_ends_the_turn_before_anything_is_done() {
    let far = Far::new("");
    let world = world(&far, "");
    for (request, part) in [
        ("Sum up @h:memo://friday", "the server `h` failed: it refused: no such memo"),
        ("Sum up @h:memo://photo", "@h:memo://photo is not a PNG, JPEG, WebP or GIF"),
        ("Sum up @h:memo://square", "there is no projector beside it; put its mmproj-*.gguf"),
        ("Sum up @h:memo://long", "has 300000 bytes; the limit is 262144"),
        ("/h:where", "`lamp` is missing; the form is /h:where LAMP"),
        ("/h:when now", "no prompt `when`; it has /h:where"),
        ("/nobody:where now", "no server `nobody` is configured and enabled; the servers are: h"),
    ] {
        let (ended, _) = turn(&world.servers, request).await;
        assert!(ended.as_ref().is_err_and(|why| why.contains(part)), "{request}: {ended:?}");
    }
}
