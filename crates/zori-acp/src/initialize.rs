//! The `initialize` request: the protocol version, and what either side supports.

use agent_client_protocol::Error;
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, AuthMethod, AuthMethodAgent, ElicitationCapabilities, Implementation,
    InitializeRequest, InitializeResponse, McpCapabilities, PromptCapabilities,
    SessionAdditionalDirectoriesCapabilities, SessionCapabilities, SessionCloseCapabilities,
    SessionDeleteCapabilities, SessionListCapabilities, SessionResumeCapabilities,
};
use serde_json::Value;

use crate::request::read;

pub(crate) const METHOD: &str = "initialize";

/// What `initialize` tells the client about this agent.
#[derive(Clone, Debug)]
pub struct AgentInfo {
    pub name: &'static str,
    pub version: &'static str,
    /// The one authentication method: its id, its name, and instructions.
    pub auth: (&'static str, &'static str, String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientSupport {
    /// It reads text files for us, as its buffers have them.
    pub read_files: bool,
    /// It writes text files for us.
    pub write_files: bool,
    /// It runs commands for us.
    pub terminals: bool,
    pub notices: bool,
    /// It shows where a conversation was made shorter.
    pub compactions: bool,
    /// It shows forms.
    pub forms: bool,
}

/// Answers `initialize`. We only speak version 1; a client that cannot ends the connection.
pub(crate) fn answer(params: &Value, me: &AgentInfo) -> Result<(InitializeResponse, ClientSupport), Error> {
    let asked: InitializeRequest = read(params)?;
    let client = asked.client_capabilities;
    let can = ClientSupport {
        read_files: client.fs.read_text_file,
        write_files: client.fs.write_text_file,
        terminals: client.terminal,
        notices: client.session.as_ref().is_some_and(|session| session.notices.is_some()),
        compactions: client.session.as_ref().is_some_and(|session| session.compaction.is_some()),
        forms: client.elicitation.as_ref().is_some_and(ElicitationCapabilities::supports_form),
    };
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new())
        .delete(SessionDeleteCapabilities::new())
        .additional_directories(SessionAdditionalDirectoriesCapabilities::new());
    let prompts = PromptCapabilities::new().image(true).embedded_context(true);
    let (id, name, about) = &me.auth;
    let login = AuthMethodAgent::new(*id, *name).description(about.clone());
    let answer = InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(
            AgentCapabilities::new()
                .load_session(true)
                .mcp_capabilities(McpCapabilities::new().http(true).sse(true))
                .prompt_capabilities(prompts)
                .session_capabilities(sessions),
        )
        .auth_methods(vec![AuthMethod::Agent(login)])
        .agent_info(Implementation::new(me.name, me.version));
    Ok((answer, can))
}
