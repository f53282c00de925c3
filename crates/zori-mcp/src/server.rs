//! The server: what it offers, and calls on their way to the binary.

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

use crate::ask::Asker;
use crate::call::{Answer, Call, Progress};
use crate::lines::{Lines, Outlet, Wire};

/// What is served.
pub struct Offer {
    /// The program's name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// What the tools are for, written for a model.
    pub about: String,
    /// The tools.
    pub tools: Vec<ToolSpec>,
}

/// Serves until the lines end and what was asked is answered. Calls go out by `calls`, one after the other or together,
/// as their receiver likes.
pub async fn serve(
    offer: Offer,
    lines: Lines,
    outlet: Outlet,
    calls: mpsc::Sender<Call>,
) -> Result<(), String> {
    let tools = offer.tools.iter().map(tool).collect();
    let server = Server { offer: Arc::new(offer), tools, calls };
    match serve_server(server, Wire::new(lines, outlet)).await {
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
    offer: Arc<Offer>,
    tools: Vec<Tool>,
    calls: mpsc::Sender<Call>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(self.offer.name, self.offer.version))
            .with_instructions(self.offer.about.clone())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    /// A request is of no known kind when there is no such method, or when it has other parameters than that takes.
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
        let call = Call {
            name: request.name.into_owned(),
            arguments: Value::Object(request.arguments.unwrap_or_default()).to_string(),
            asker: asks.then(|| Asker::new(context.peer.clone())),
            progress: token.map(|token| Progress::new(context.peer.clone(), token)),
            reply,
        };
        let gone = || Answer::failed("the server is about to end");
        if self.calls.send(call).await.is_err() {
            return Ok(gone().result().into());
        }
        let answer = tokio::select! {
            answer = answer => answer.unwrap_or_else(|_| gone()),
            // Dropping the receiver ends the call.
            () = context.ct.cancelled() => Answer::failed("the call was cancelled"),
        };
        Ok(answer.result().into())
    }
}

fn tool(spec: &ToolSpec) -> Tool {
    let schema: Map<String, Value> = serde_json::from_str(spec.schema.get()).unwrap_or_default();
    Tool::new(spec.name.clone(), spec.description.clone(), Arc::new(schema))
}
