//! Serves the project's index and whole turns to other programs, over the Model Context Protocol on
//! standard input and output.
//!
//! The lookup tools only read. `ask` runs a turn like `monobloc ask`; the client's user is asked
//! for consent if the client supports it. No port is opened.

mod asks;
mod consent;
mod gate;
mod lookups;
mod progress;
mod project;
mod tools;
mod turn;

use std::borrow::Cow;
use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation, InitializeResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities,
};
use rmcp::service::{RequestContext, RoleServer, ServerInitializeError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ServerHandler, ServiceExt};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use self::asks::Asks;
use self::project::Project;
use self::tools::Call;
use crate::app::App;
use crate::protocol::Ask;

/// Maximum length of a line from the client.
const LINE_BYTES_MAX: usize = 4 << 20;
/// Time limit for writing the last lines when the connection ends.
const LAST_LINES_MAX: Duration = Duration::from_secs(2);

const INSTRUCTIONS: &str = "Looks up code of one project in its index: search, context and graph tools only read and answer at once. \
    `ask` hands a whole request to an agent with local models, which plans, changes files with consent and answers.";

/// Serves one client until its input ends.
pub async fn serve(
    app: &App,
    input: impl BufRead + Send + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<()> {
    // The texts are for models, regardless of terminal variables.
    console::set_colors_enabled(false);
    let project = Arc::new(Project::of(app.clone()));
    let server = Server { asks: Asks::on(project.clone()), project };
    let asks = server.asks.clone();
    let gate = gate::between(input, output, LINE_BYTES_MAX);
    let transport = AsyncRwTransport::new_server(gate.input, gate.output).with_max_line_length(LINE_BYTES_MAX);
    let ended = tokio::select! {
        ended = until_closed(server, transport) => ended,
        () = app.cancel.cancelled() => Err(anyhow!("cancelled")),
    };
    asks.end().await;
    // The last answers are written, but a client that does not read cannot delay the end.
    let _ = tokio::time::timeout(LAST_LINES_MAX, gate.writer).await;
    ended
}

async fn until_closed<R, W>(server: Server, transport: AsyncRwTransport<RoleServer, R, W>) -> Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    match server.serve(transport).await {
        Ok(running) => drop(running.waiting().await?),
        // The client disconnected before sending anything.
        Err(ServerInitializeError::ConnectionClosed(_)) => {}
        Err(why) => return Err(why.into()),
    }
    Ok(())
}

/// State shared by the client's calls.
struct Server {
    project: Arc<Project>,
    asks: Asks,
}

impl ServerHandler for Server {
    fn get_info(&self) -> InitializeResult {
        InitializeResult::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("monobloc", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    /// Later versions forbid servers to ask questions, which consent requires.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let CallToolRequestParams { name, arguments, .. } = request;
        if !tools::all().iter().any(|tool| tool.name == name) {
            let why = format!("there is no tool `{name}`; tools/list lists them");
            return Err(ErrorData::invalid_params(why, None));
        }
        let told = match tools::read(&name, Value::Object(arguments.unwrap_or_default())) {
            Ok(Call::Ask { request, mode, wait_s }) => {
                let ask = Ask { text: request, mode, of_program: true, ..Ask::default() };
                self.asks.ask(ask, tools::wait(wait_s), &context).await
            }
            Ok(Call::AskResult { handle, wait_s }) => self.asks.result(&handle, tools::wait(wait_s), &context).await,
            Ok(question) => lookups::answer(self.project.clone(), question, &context).await,
            Err(why) => Err(format!("{name}: {why}")),
        };
        Ok(match told {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(why)]),
        }
        .into())
    }
}
