//! The server: lists its tools, and passes calls to the binary.

use std::sync::Arc;

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer, serve_server};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use zori_core::tool::ToolSpec;

use crate::call::{Progress, ToolAnswer, ToolCall};
use crate::elicit::Elicitor;
use crate::lines::{LineTransport, Lines, MessageWriter};

pub struct ServerInfo {
    pub name: &'static str,
    pub version: &'static str,
    /// What the tools are for, written for a model.
    pub about: String,
    pub tools: Vec<ToolSpec>,
}

/// Serves until the lines end and what was asked is answered. Calls go out by `calls`, one after the other or together,
/// as their receiver likes.
pub async fn serve(
    info: ServerInfo,
    lines: Lines,
    writer: MessageWriter,
    calls: mpsc::Sender<ToolCall>,
) -> Result<(), String> {
    let tools = info.tools.iter().map(tool).collect();
    let server = Server { info: Arc::new(info), tools, calls };
    match serve_server(server, LineTransport::new(lines, writer)).await {
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

struct Server {
    info: Arc<ServerInfo>,
    tools: Vec<Tool>,
    calls: mpsc::Sender<ToolCall>,
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
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
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
            None => {
                ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method `{method}`"), None)
            }
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let form = |client: &rmcp::model::ClientCapabilities| client.elicitation.is_some();
        let asks = context.client_capabilities().as_ref().is_some_and(form);
        let token = context.meta.get_progress_token();
        let (reply, answer) = oneshot::channel();
        let call = ToolCall {
            name: request.name.into_owned(),
            arguments: Value::Object(request.arguments.unwrap_or_default()).to_string(),
            elicitor: asks.then(|| Elicitor::new(context.peer.clone())),
            progress: token.map(|token| Progress::new(context.peer.clone(), token)),
            reply,
        };
        let gone = || ToolAnswer::failed("the server is about to end");
        if self.calls.send(call).await.is_err() {
            return Ok(gone().result().into());
        }
        let answer = tokio::select! {
            answer = answer => answer.unwrap_or_else(|_| gone()),
            // Dropping the receiver ends the call.
            () = context.ct.cancelled() => ToolAnswer::failed("the call was cancelled"),
        };
        Ok(answer.result().into())
    }
}

fn tool(spec: &ToolSpec) -> Tool {
    let schema: Map<String, Value> = serde_json::from_str(spec.schema.get()).unwrap_or_default();
    Tool::new(spec.name.clone(), spec.description.clone(), Arc::new(schema))
}
