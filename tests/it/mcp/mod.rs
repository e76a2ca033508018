//! MCP servers that hang, die, flood or send false data cost one failed call with a clear message;
//! none of them outlives the session.

pub mod far;
mod login;
mod offers;
mod realm;
pub mod server;
mod token;
mod url;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use monobloc::base::Cancel;
use monobloc::config::{ApproveMode, file};
use monobloc::tools::confine::Root;
use monobloc::tools::mcp::{REFUSED_ARGUMENTS, Seen, Servers, Setup};
use monobloc::tools::policy::{Policy, Verdict};
use monobloc::tools::{Catalog, Context, Outcome, ToolCall, ToolSpec, execute};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A project with one MCP server that misbehaves in one way.
struct World {
    dir: TempDir,
    servers: Servers,
    context: Context,
}

impl World {
    /// `more` are additional lines of the server's table.
    fn new(mode: &str, more: &str) -> World {
        let dir = tempfile::tempdir().expect("a folder");
        let program = std::env::current_exe().expect("this program");
        let text = format!(
            "command = {program:?}\nargs = [\"--exact\", \"mcp::server::serve\", \"--ignored\", \"--nocapture\"]\n\
             env = {{ {} = {mode:?}, {} = {:?} }}\n{more}\n",
            server::MODE,
            server::TRACE,
            dir.path().join("trace"),
        );
        World::of(dir, &text, |setup| setup)
    }

    /// A project whose server has the table `text`.
    fn of(dir: TempDir, text: &str, setup: impl Fn(Setup) -> Setup) -> World {
        let said = file::read(&dir.path().join("config.toml"), &format!("[mcp.h]\n{text}")).expect("a configuration");
        let servers = Servers::new(&said.servers, setup(Setup::of(dir.path(), dir.path())));
        let root = Root::open(dir.path()).expect("a project");
        let context = Context { servers: Some(servers.clone()), ..Context::new(root, Cancel::new()) };
        World { dir, servers, context }
    }

    fn seen(&self) -> Seen {
        self.servers.specs().remove(0)
    }

    async fn call(&self, tool: &str, arguments: Value) -> Outcome {
        let spec = ToolSpec { name: tool.to_owned(), ..Catalog::builtin().specs()[0].clone() };
        let call = ToolCall { tool: tool.to_owned(), arguments: arguments.as_object().expect("an object").clone() };
        let approved = Policy::of(ApproveMode::Never).approved(call, &spec).expect("nobody is asked");
        execute(approved, &self.context).await
    }

    async fn echo(&self) -> Outcome {
        self.call("h.echo", json!({ "text": "hello" })).await
    }

    fn trace(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("trace")).unwrap_or_default()
    }

    fn starts(&self) -> usize {
        self.trace().lines().filter(|line| line.starts_with("start")).count()
    }
}

/// Checks that a call fails with a message that contains `part`, and that the next call starts at
/// most one server.
async fn costs_one_failed_call(mode: &str, timeout_s: usize, part: &str) {
    let world = World::new(mode, &format!("timeout_s = {timeout_s}"));
    let outcome = world.echo().await;
    assert!(!outcome.is_ok() && outcome.text.contains(part), "{mode}: {}", outcome.text);
    assert!(outcome.text.len() < 2_000, "{mode}: {}", outcome.text.len());
    let again = world.echo().await;
    assert!(!again.is_ok() && world.starts() <= 2, "{mode}: {} starts", world.starts());
}

#[tokio::test]
async fn a_server_that_hangs_or_falls_silent() {
    costs_one_failed_call("hangs", 2, "did not answer within 2 s").await;
    costs_one_failed_call("is no JSON", 2, "did not answer within 2 s").await;
    costs_one_failed_call("answers somebody else", 2, "did not answer within 2 s").await;
}

#[tokio::test]
async fn a_server_that_dies() {
    costs_one_failed_call("dies", 20, "segmentation fault").await;
}

#[tokio::test]
async fn a_server_that_floods() {
    costs_one_failed_call("floods", 20, "20000 lines on standard output").await;
    costs_one_failed_call("floods notices", 20, "20000 lines on standard output").await;
    costs_one_failed_call("floods its errors", 20, "on standard error").await;
    costs_one_failed_call("sends 50 MB", 20, "a message of more than 4 MiB").await;
    costs_one_failed_call("sends 50 MB without a line", 20, "a message of more than 4 MiB").await;
}

#[tokio::test]
async fn an_answer_of_the_wrong_shape_or_depth_is_no_success() {
    for mode in ["is of the wrong shape", "nests deeply"] {
        let world = World::new(mode, "timeout_s = 2");
        let outcome = world.echo().await;
        assert!(!outcome.is_ok(), "{mode}: {}", outcome.text);
    }
}

#[tokio::test]
async fn a_failed_call_says_so_and_a_large_result_is_cut() {
    let failed = World::new("fails", "").echo().await;
    assert_eq!((failed.is_ok(), failed.text.as_str()), (false, "no such thing"));
    let large = World::new("sends 1 MB", "").echo().await;
    assert!(large.is_ok() && large.text.len() < 300_000 && large.text.contains("bytes left out"));
}

/// Only refused arguments show that nothing was done.
#[tokio::test]
async fn refused_arguments_are_told_from_other_errors() {
    let refused = World::new("refuses the arguments", "").echo().await;
    assert!(!refused.is_ok() && refused.text.contains(&format!("{REFUSED_ARGUMENTS}text is too short")), "{refused:?}");
    let broken = World::new("breaks down", "").echo().await;
    assert!(!broken.is_ok() && broken.text.contains("it refused: out of paper"), "{broken:?}");
}

#[tokio::test]
async fn a_dead_server_is_restarted_by_the_next_call() {
    let world = World::new("dies the first time", "");
    assert!(!world.echo().await.is_ok());
    assert_eq!(world.echo().await.text, "hello");
    assert_eq!(world.starts(), 2);
}

#[tokio::test]
async fn a_server_that_always_dies_is_not_restarted_for_ever() {
    let world = World::new("dies at once", "");
    let first = world.echo().await;
    assert!(first.text.contains("cannot find my configuration"), "{}", first.text);
    for _ in 0..6 {
        assert!(!world.echo().await.is_ok());
    }
    assert_eq!(world.starts(), 4);
    assert!(world.echo().await.text.contains("not started again yet"));
}

#[tokio::test]
async fn a_server_that_is_not_installed_is_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let text = "[mcp.h]\ncommand = \"no-such-server\"\n";
    let said = file::read(&dir.path().join("config.toml"), text).expect("a configuration");
    let seen = Servers::new(&said.servers, Setup::of(dir.path(), dir.path())).specs().remove(0);
    assert!(seen.failed && seen.notes[0].contains("no-such-server: not found"), "{:?}", seen.notes);
    assert!(seen.notes[0].contains("exit status: 127"), "{:?}", seen.notes);
}

#[tokio::test]
async fn a_server_without_a_handshake_is_given_up() {
    let world = World::new("never shakes hands", "start_timeout_s = 1");
    let seen = world.seen();
    assert!(seen.failed && seen.notes[0].contains("not ready within 1 s"), "{:?}", seen.notes);
}

#[tokio::test]
async fn only_usable_tools_are_taken_from_a_false_tool_list() {
    let seen = World::new("lies about its tools", "").seen();
    let names: Vec<&str> = seen.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!((names, seen.notes.len()), (vec!["h.echo", "h.wipe_disk"], 6), "{:#?}", seen.notes);
    assert!(seen.notes.iter().all(|note| note.len() < 300 && !note.contains('\u{1b}')), "{:#?}", seen.notes);
    assert!(!seen.tools[0].description.contains('\n'));
    assert_eq!(World::new("has too many tools", "").seen().tools.len(), 256);
    let endless = World::new("never ends its list", "").seen();
    assert!(endless.failed && endless.notes[0].contains("32 pages"), "{:?}", endless.notes);
}

#[tokio::test]
async fn hints_of_a_server_about_its_tools_do_not_replace_consent() {
    let seen = World::new("lies about its tools", "").seen();
    let policy = Policy::of(ApproveMode::OnMutation);
    for tool in &seen.tools {
        assert!(!tool.mutates, "the hint is kept: {}", tool.name);
        let call = ToolCall { tool: tool.name.clone(), arguments: serde_json::Map::new() };
        assert!(matches!(policy.assess(&call, tool), Verdict::Ask { .. }), "{}", tool.name);
    }
}

#[tokio::test]
async fn known_tools_are_listed_without_starting_the_server() {
    let world = World::new("", "");
    let first = world.seen();
    assert_eq!((first.tools.len(), world.starts()), (2, 1));
    let text = std::fs::read_dir(world.dir.path().join("cache")).expect("a cache").count();
    assert_eq!(text, 1);
    world.servers.end();
    let again = world.seen();
    assert_eq!((again.tools, world.starts()), (first.tools, 1));
}

#[tokio::test]
async fn arguments_are_checked_against_the_current_schema() {
    let world = World::new("changes its mind", "");
    assert!(!world.echo().await.is_ok());
    let refused = world.echo().await;
    assert!(refused.text.contains("`number`"), "{}", refused.text);
    let world = World::new("", "");
    let wrong = world.call("h.echo", json!({ "text": 5 })).await;
    assert!(wrong.text.contains("do not fit"), "{}", wrong.text);
    assert!(world.call("h.echo", json!({})).await.text.contains("needs the argument `text`"));
    assert!(world.call("h.other", json!({})).await.text.contains("no longer offers a tool `other`"));
}

#[tokio::test]
async fn tools_that_a_running_server_changes_are_offered_and_called() {
    let world = World::new("learns a tool", "");
    let names = |seen: Seen| seen.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(world.seen()), ["h.echo", "h.wait"]);
    assert!(!world.servers.refreshed());
    assert!(world.echo().await.is_ok());
    // A notification between calls is handled shortly afterwards.
    let from = Instant::now();
    let servers = world.servers.clone();
    let refreshed = move || std::iter::repeat_with(|| servers.refreshed()).any(|it| it || from.elapsed().as_secs() > 5);
    assert!(tokio::task::spawn_blocking(refreshed).await.expect("a look") && from.elapsed().as_secs() < 5);
    assert_eq!(names(world.seen()), ["h.echo", "h.new"]);
    assert_eq!(world.call("h.new", json!({ "text": "hi" })).await.text, "hi");
    assert_eq!((world.starts(), world.servers.refreshed()), (1, false));
}

#[tokio::test]
async fn text_from_a_server_cannot_control_the_terminal() {
    let text = World::new("steers the terminal", "").echo().await.text;
    assert!(!text.chars().any(char::is_control) && !text.contains('\u{202e}'), "{text:?}");
}

#[tokio::test]
async fn a_request_from_a_server_is_refused_and_the_call_continues() {
    assert_eq!(World::new("asks back", "timeout_s = 5").echo().await.text, "done");
}

#[tokio::test]
async fn a_server_gets_few_environment_variables() {
    let world = World::new("tells its variables", "inherit = [\"CARGO_PKG_NAME\"]");
    let text = world.echo().await.text;
    let names: Vec<&str> = text.split(' ').collect();
    // Cargo sets both variables for every test.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(names.contains(&"CARGO_PKG_NAME") && names.contains(&"PATH"), "{text}");
    assert!(!names.contains(&"CARGO_MANIFEST_DIR"), "{text}");
}

#[tokio::test]
async fn a_server_reaches_only_what_it_was_granted_and_the_error_names_the_setting() {
    if let Some(missing) = monobloc::tools::sandbox::missing() {
        return eprintln!("not tested, because this machine cannot confine servers: {missing}");
    }
    let outside = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(outside.path().join(".ssh")).expect("a folder");
    let key = outside.path().join(".ssh/id");
    std::fs::write(&key, "the key").expect("a key");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let (read, write) = (format!("read {}", key.display()), format!("write {}/new", outside.path().display()));
    let connect = format!("connect {}", listener.local_addr().expect("an address"));
    let obeys = |world: World, said: String| async move { world.call("h.echo", json!({ "text": said })).await };
    for said in [&read, &write, &connect] {
        let refused = obeys(World::new("obeys", ""), said.clone()).await;
        assert!(!refused.is_ok() && !refused.text.contains("the key"), "{said}: {}", refused.text);
        assert!(refused.text.contains("`network` of [mcp.h] at"), "{said}: {}", refused.text);
    }
    assert!(!outside.path().join("new").exists());
    let world = World::new("obeys", "");
    std::fs::create_dir(world.dir.path().join(".monobloc")).expect("a folder");
    let own = format!("write {}/.monobloc/config.toml", world.dir.path().display());
    assert!(!obeys(world, own).await.is_ok(), "it set its own rules");
    for (more, may) in [("", false), ("writes = [\".git\"]", true)] {
        let world = World::new("obeys", more);
        std::fs::create_dir(world.dir.path().join(".git")).expect("a folder");
        let (config, redirect) = ("write PROJECT/.git/config.worktree", world.dir.path().join(".git/config.worktree"));
        let said = config.replace("PROJECT", &world.dir.path().display().to_string());
        let outcome = world.call("h.echo", json!({ "text": said })).await;
        assert_eq!((outcome.is_ok(), redirect.exists()), (may, may), "{}", outcome.text);
        // A file that a person creates in the meantime stays, unless the server could have created
        // it.
        std::fs::write(&redirect, "mine").expect("a file");
        world.servers.end();
        assert_eq!(redirect.exists(), !may);
    }
    let world = World::new("obeys", "");
    let inside = format!("write {}/made.txt", world.dir.path().display());
    assert_eq!(obeys(world, inside).await.text, "written");
    let folder = format!("{:?}", outside.path());
    for (more, said, expected) in [
        (format!("reads = [{folder}]"), &read, "the key"),
        (format!("writes = [{folder}]"), &write, "written"),
        ("network = true".to_owned(), &connect, "connected"),
        ("confined = false".to_owned(), &read, "the key"),
    ] {
        assert_eq!(obeys(World::new("obeys", &more), said.clone()).await.text, expected, "{more}");
    }
    let only_reads = obeys(World::new("obeys", &format!("reads = [{folder}]")), write.clone()).await;
    assert!(!only_reads.is_ok(), "{}", only_reads.text);
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once_and_the_server_is_told() {
    let world = World::new("", "timeout_s = 60");
    assert!(world.echo().await.is_ok());
    let cancel = world.context.cancel.clone();
    let (outcome, ()) = tokio::join!(world.call("h.wait", json!({})), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        cancel.cancel();
    });
    assert!(outcome.text.contains("cancelled"), "{}", outcome.text);
    eventually(|| world.trace().contains("notifications/cancelled")).await;
}

#[tokio::test]
async fn nothing_outlives_the_session() {
    let world = World::new("leaves a child", "");
    assert!(world.echo().await.is_ok());
    let trace = world.trace();
    let ids: Vec<&str> = trace.lines().filter_map(|line| line.split_once(' ')).map(|(_, id)| id).collect();
    let alive = |id: &str| {
        let stat = std::fs::read_to_string(PathBuf::from("/proc").join(id).join("stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z")
    };
    let processes: Vec<&&str> = ids.iter().filter(|id| id.parse::<u32>().is_ok()).collect();
    assert!(processes.len() == 2 && processes.iter().all(|id| alive(id)), "{trace}");
    let World { dir, servers, context } = world;
    drop((servers, context));
    eventually(|| !processes.iter().any(|id| alive(id))).await;
    drop(dir);
}

/// Waits until `holds` returns true; fails after 20 seconds.
async fn eventually(holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(20), "it never came to hold");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
