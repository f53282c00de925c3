//! The first words: which version is spoken, and what either side can do.

use agent_client_protocol::Error;
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, AuthMethod, AuthMethodAgent, Implementation, InitializeRequest, InitializeResponse,
    PromptCapabilities, SessionAdditionalDirectoriesCapabilities, SessionCapabilities,
    SessionCloseCapabilities, SessionDeleteCapabilities, SessionListCapabilities, SessionResumeCapabilities,
};
use serde_json::Value;

use crate::request::read;

pub(crate) const METHOD: &str = "initialize";

/// What the client is told about us.
#[derive(Clone, Debug)]
pub struct Me {
    /// The program's name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The one way to get a key that `authenticate` knows: its id, its name, and what to do for it.
    pub auth: (&'static str, &'static str, String),
}

/// What the client offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Can {
    /// It reads text files for us, as its buffers have them.
    pub read_files: bool,
    /// It writes text files for us.
    pub write_files: bool,
    /// It runs commands for us.
    pub terminals: bool,
    /// It shows remarks.
    pub notices: bool,
    /// It shows where a conversation was made shorter.
    pub compactions: bool,
}

/// Answers `initialize`. We speak version 1 whatever the client would like; it ends the connection if it cannot.
pub(crate) fn answer(params: &Value, me: &Me) -> Result<(InitializeResponse, Can), Error> {
    let asked: InitializeRequest = read(params)?;
    let client = asked.client_capabilities;
    let can = Can {
        read_files: client.fs.read_text_file,
        write_files: client.fs.write_text_file,
        terminals: client.terminal,
        notices: client.session.as_ref().is_some_and(|session| session.notices.is_some()),
        compactions: client.session.as_ref().is_some_and(|session| session.compaction.is_some()),
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
                .prompt_capabilities(prompts)
                .session_capabilities(sessions),
        )
        .auth_methods(vec![AuthMethod::Agent(login)])
        .agent_info(Implementation::new(me.name, me.version));
    Ok((answer, can))
}
