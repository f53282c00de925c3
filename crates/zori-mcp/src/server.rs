//! The server: lists its tools, and passes calls to the binary. It is the same on lines (`lines.rs`) and over HTTP
//! (`http.rs`).

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ErrorCode, ErrorData, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProgressToken, ProtocolVersion,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer, serve_server};
use rmcp::{Peer, ServerHandler};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use zori_core::tool::ToolSpec;

use crate::call::{ProgressTarget, ToolAnswer, ToolCall};
use crate::elicit::Elicitor;
use crate::lines::{LineTransport, Lines, MessageWriter};
use crate::rounds::{OpenCall, Resumed, Rounds};

pub struct ServerInfo {
    pub name: &'static str,
    pub version: &'static str,
    /// What the tools are for, written for a model.
    pub about: String,
    pub tools: Vec<ToolSpec>,
    /// Makes a text that nobody can guess.
    pub secret: fn() -> String,
}

/// Serves until the lines end and what was asked is answered. Calls go out by `calls`, one after the other or together,
/// as their receiver likes.
pub async fn serve(
    info: ServerInfo,
    lines: Lines,
    writer: MessageWriter,
    calls: mpsc::Sender<ToolCall>,
) -> Result<(), String> {
    match serve_server(Server::new(info, calls), LineTransport::new(lines, writer)).await {
        // The end before the first word is an end like any other.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(error.to_string()),
        Ok(running) => running.waiting().await.map(drop).map_err(|error| error.to_string()),
    }
}

/// The methods there are, and what they take.
const PARAMETERS: &[(&str, &str)] = &[
    ("initialize", "`protocolVersion`, `capabilities` and `clientInfo`"),
    ("tools/list", "an optional `cursor`"),
    ("tools/call", "`name`, which is a text, and `arguments`, which are an object"),
];

/// Clones serve the same calls.
#[derive(Clone)]
pub(crate) struct Server {
    info: Arc<ServerInfo>,
    tools: Arc<[Tool]>,
    calls: mpsc::Sender<ToolCall>,
    rounds: Rounds,
}

impl Server {
    pub(crate) fn new(info: ServerInfo, calls: mpsc::Sender<ToolCall>) -> Self {
        let tools = info.tools.iter().map(tool).collect();
        Self { info: Arc::new(info), tools, calls, rounds: Rounds::default() }
    }

    /// Passes a call on, if there is still somebody to do it.
    async fn begin(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<OpenCall> {
        let form = |client: &rmcp::model::ClientCapabilities| client.elicitation.is_some();
        let asks = context.client_capabilities().as_ref().is_some_and(form);
        let by_result =
            context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        let (reply, answer) = oneshot::channel();
        let (asked, questions) = mpsc::channel(1);
        let progress = ProgressTarget::default();
        progress.set(progress_of(context));
        let name = request.name.into_owned();
        let arguments = request.arguments.unwrap_or_default();
        let call = ToolCall {
            name: name.clone(),
            arguments: Value::Object(arguments.clone()).to_string(),
            elicitor: match by_result {
                _ if !asks => None,
                true => Some(Elicitor::by_result(asked)),
                false => Some(Elicitor::by_request(context.peer.clone())),
            },
            progress: progress.progress(),
            reply,
        };
        self.calls.send(call).await.ok()?;
        Some(OpenCall { name, arguments, answer, questions, progress })
    }
}

fn progress_of(context: &RequestContext<RoleServer>) -> Option<(Peer<RoleServer>, ProgressToken)> {
    context.meta.get_progress_token().map(|token| (context.peer.clone(), token))
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(self.info.name, self.info.version))
            .with_instructions(self.info.about.clone())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(no_method("completion/complete"))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(no_method("prompts/list"))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(no_method("resources/list"))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(no_method("resources/templates/list"))
    }

    /// Called for unknown methods, and for known ones with invalid parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        Err(match PARAMETERS.iter().find(|(known, _)| *known == method) {
            Some((_, takes)) => {
                ErrorData::new(ErrorCode::INVALID_PARAMS, format!("`{method}` takes {takes}"), None)
            }
            None => no_method(&method),
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let gone = || ToolAnswer::failed("the server is about to end");
        let state = request.request_state.clone();
        let mut call = match state {
            Some(state) => match self.rounds.answered(&state, &request, self.info.secret)? {
                Resumed::Call(call) => {
                    call.progress.set(progress_of(&context));
                    call
                }
                Resumed::AskAgain(result) => return Ok(result.into()),
            },
            None => match self.begin(request, &context).await {
                Some(call) => call,
                None => return Ok(gone().result().into()),
            },
        };
        let answer = tokio::select! {
            biased;
            answer = &mut call.answer => answer.unwrap_or_else(|_| gone()),
            Some(question) = call.questions.recv() => {
                return Ok(self.rounds.ask((self.info.secret)(), call, question).into());
            }
            // Dropping the receiver ends the call.
            () = context.ct.cancelled() => ToolAnswer::failed("the call was cancelled"),
        };
        Ok(answer.result().into())
    }
}

/// What is not offered is not there: an empty list would say that there could be more one day.
fn no_method(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method `{method}`"), None)
}

fn tool(spec: &ToolSpec) -> Tool {
    let schema: Map<String, Value> = serde_json::from_str(spec.schema.get()).unwrap_or_default();
    Tool::new(spec.name.clone(), spec.description.clone(), Arc::new(schema))
}
