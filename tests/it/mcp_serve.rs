//! `monobloc mcp serve`, as seen by a client program.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationCapability, ErrorData, Implementation, InitializeRequestParams,
    ProgressNotificationParam, Tool,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RoleClient, RunningService};
use rmcp::{ClientHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::cli::{Project, Run, Running};

const QUESTION: &str = "Read src/retry.ts and tell me how many times a request is tried";
const CHANGE: &str = "In src/retry.ts change the maximum number of attempts from 5 to 3";

/// A client whose user gives the same answer to every question, or that cannot ask its user.
#[derive(Clone, Default)]
struct Client {
    answer: Option<&'static str>,
    asked: Arc<Mutex<Vec<String>>>,
    /// The progress reports of its calls.
    told: Arc<Mutex<Vec<String>>>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> InitializeRequestParams {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = self.answer.map(|_| ElicitationCapability::new());
        InitializeRequestParams::new(capabilities, Implementation::new("test", "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, .. } = request else { panic!("{request:?}") };
        self.asked.lock().expect("no test panics here").push(message);
        let content = json!({ "decision": self.answer });
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content))
    }

    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.told.lock().expect("no test panics here").extend(progress.message);
    }
}

/// A running server and its client.
struct World {
    client: RunningService<RoleClient, Client>,
    child: Child,
}

impl World {
    async fn new(project: &Project, client: Client) -> World {
        World::with(project, client, &[]).await
    }

    async fn with(project: &Project, client: Client, flags: &[&str]) -> World {
        let run = Run::new(project, &[&["mcp", "serve"], flags].concat());
        let mut command = Command::from(run.command);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = piped.spawn().expect("the program starts");
        let ends = (child.stdout.take().expect("a pipe"), child.stdin.take().expect("a pipe"));
        let client = client.serve(ends).await.expect("a handshake");
        World { client, child }
    }

    /// The text of the result, and whether the call succeeded.
    async fn call(&self, tool: &'static str, arguments: Value) -> (bool, String) {
        let arguments = arguments.as_object().expect("an object").clone();
        let called = self.client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await;
        let result = called.unwrap_or_else(|error| panic!("{tool}: {error}"));
        let text = result.content.iter().filter_map(|one| one.as_text()).map(|one| one.text.as_str()).collect();
        (result.is_error != Some(true), text)
    }

    async fn told(&self, tool: &'static str, arguments: Value) -> String {
        let (ok, text) = self.call(tool, arguments).await;
        assert!(ok, "{tool}: {text}");
        text
    }

    async fn refused(&self, tool: &'static str, arguments: Value) -> String {
        let (ok, text) = self.call(tool, arguments).await;
        assert!(!ok, "{tool}: {text}");
        text
    }

    /// Closes the connection; the program must end by itself with success.
    async fn end(mut self) {
        drop(self.client.cancel().await);
        let ended = tokio::time::timeout(Duration::from_secs(30), self.child.wait()).await.expect("it ends");
        assert!(ended.expect("its state").success());
    }
}

#[tokio::test]
async fn code_is_looked_up_by_tools_that_only_read() {
    let project = Project::todo();
    let world = World::new(&project, Client::default()).await;
    let tools = world.client.list_all_tools().await.expect("tools");
    let changing: Vec<&Tool> =
        tools.iter().filter(|tool| tool.annotations.as_ref().and_then(|it| it.read_only_hint) != Some(true)).collect();
    assert!(tools.len() == 12 && changing.len() == 1 && changing[0].name == "ask", "{tools:#?}");

    let found = world.told("search", json!({ "query": "how often is a request tried", "limit": 3 })).await;
    assert!(found.contains("src/retry.ts:"), "{found}");
    let code = world.told("context", json!({ "question": "how often is a request tried", "tokens": 300 })).await;
    assert!(code.contains("src/retry.ts") && code.contains("places in about"), "{code}");
    let status = world.told("index_status", json!({})).await;
    assert!(status.contains("state      up to date"), "{status}");

    let command = |arguments: &[&str]| Run::new(&project, arguments).end().succeeded().out;
    for (tool, verb, symbol) in [
        ("graph_definition", "definition", "retry"),
        ("graph_callers", "callers", "retry"),
        ("graph_callees", "callees", "retry"),
        ("graph_imports", "imports", "src/todo.ts"),
        ("graph_dependents", "dependents", "src/retry.ts"),
        ("graph_impact", "impact", "retry"),
    ] {
        let told = world.told(tool, json!({ "symbol": symbol })).await;
        assert_eq!(told, command(&["graph", verb, symbol]), "{tool} says what the command says");
    }
    let unknown = world.refused("graph_callers", json!({ "symbol": "retrys" })).await;
    assert!(unknown.contains("did you mean one of these: retry"), "{unknown}");
    let wrong = world.refused("search", json!({ "text": "x" })).await;
    assert!(wrong.contains("search: unknown field `text`"), "{wrong}");
    world.end().await;
}

#[tokio::test]
async fn the_first_look_at_a_project_tells_how_it_goes_on_and_can_be_cancelled() {
    let project = Project::todo();
    let client = Client::default();
    let world = World::new(&project, client.clone()).await;
    let arguments = json!({ "query": "how often is a request tried" });
    let params = CallToolRequestParams::new("search").with_arguments(arguments.as_object().expect("an object").clone());
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let sent = world.client.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
    sent.expect("a call").cancel(None).await.expect("it is told");
    let found = world.told("search", arguments).await;
    assert!(found.contains("src/retry.ts:"), "{found}");
    let told = client.told.lock().expect("no test panics here").clone();
    assert!(told.iter().any(|doing| doing.contains("project") || doing.contains("index: ")), "{told:?}");
    world.end().await;
}

#[tokio::test]
async fn a_request_is_answered_or_gets_a_handle() {
    let project = Project::todo();
    let world = World::new(&project, Client::default()).await;
    let later = world.told("ask", json!({ "request": QUESTION, "wait_s": 0 })).await;
    let handle = later.rsplit(' ').next().expect("a handle").to_owned();
    assert!(later.contains("still running") && handle.starts_with('h'), "{later}");
    let second = world.refused("ask", json!({ "request": QUESTION })).await;
    assert!(second.contains(&format!("request {handle} is still running")), "{second}");
    let answer = world.told("ask_result", json!({ "handle": handle })).await;
    assert!(answer.contains('5'), "{answer}");
    assert_eq!(world.told("ask_result", json!({ "handle": handle })).await, answer, "the result is kept");
    let unknown = world.refused("ask_result", json!({ "handle": "h0" })).await;
    assert!(unknown.contains("there is no request `h0`"), "{unknown}");
    world.end().await;
}

#[tokio::test]
async fn a_change_needs_consent_and_a_client_that_cannot_ask_gets_none() {
    let project = Project::todo();
    let before = project.text("src/retry.ts");
    let world = World::new(&project, Client::default()).await;
    let told = world.told("ask", json!({ "request": CHANGE })).await;
    assert!(told.contains("not asked") && told.contains("this client cannot ask its user"), "{told}");
    assert_eq!(project.text("src/retry.ts"), before);
    world.end().await;

    for (answer, changes) in [("reject", false), ("allow once", true)] {
        let client = Client { answer: Some(answer), ..Client::default() };
        let world = World::new(&project, client.clone()).await;
        let told = world.told("ask", json!({ "request": CHANGE })).await;
        assert_eq!(project.text("src/retry.ts") != before, changes, "{answer}: {told}");
        let asked = client.asked.lock().expect("no test panics here").clone();
        assert!(asked.len() == 1 && asked[0].contains("+++ b/src/retry.ts"), "{asked:?}");
        world.end().await;
    }
}

#[tokio::test]
async fn the_end_of_the_input_ends_a_running_request() {
    let project = Project::todo();
    let world = World::new(&project, Client::default()).await;
    world.told("ask", json!({ "request": "Hello! Tell me a story", "wait_s": 0 })).await;
    world.end().await;
}

#[test]
fn what_cannot_be_read_is_answered_and_the_next_message_is_read() {
    let project = Project::todo();
    let mut server = Run::new(&project, &["mcp", "serve"]).talk();
    let check = |server: &mut Running, line: &str, id: Value, code: i64| {
        server.say(line);
        server.until(&format!("\"code\":{code}"));
        let shown = server.shown();
        let last: Value = serde_json::from_str(shown.trim_end().lines().last().expect("a line")).expect("JSON");
        assert_eq!((&last["id"], &last["error"]["code"]), (&id, &json!(code)), "{line}");
    };
    check(&mut server, "hello", Value::Null, -32700);
    check(&mut server, r#"[{"jsonrpc":"2.0","id":4,"method":"ping"}]"#, Value::Null, -32600);
    server.say(&format!("\"{}\"", "y".repeat(5 << 20)));
    server.until("4194304 bytes");
    let hello = json!({ "jsonrpc": "2.0", "id": "one", "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    server.say(&hello.to_string());
    server.until("serverInfo");
    server.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    server.say(r#"{"jsonrpc":"2.0","id":"two","method":"tools/call","params":7}"#);
    server.until("\"id\":\"two\"");
    server.say(r#"{"jsonrpc":"2.0","id":"three","method":"tools/list"}"#);
    server.until("inputSchema");
    server.hang_up();
    assert_eq!(server.end().code, Some(0));
}

#[tokio::test]
async fn a_planner_of_a_server_answers_other_agents() {
    let (project, (server, _)) = (Project::todo(), crate::away::saying(&[("how are you", "All is well in the box.")]));
    let models = crate::boxed::roles(&project, "planner", &server.url(), crate::away::WRITES, true);
    let world = World::with(&project, Client::default(), &["--models-file", &models]).await;
    let told = world.told("ask", json!({ "request": "Hello, how are you?" })).await;
    assert!(told.contains("All is well in the box."), "{told}");
    world.end().await;
}
