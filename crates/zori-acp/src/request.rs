//! What the client asks for, as values: one arm for each method we have.

use std::path::PathBuf;

use agent_client_protocol::v1::schema::{
    AuthenticateRequest, CancelNotification, CloseSessionRequest, DeleteSessionRequest, ListSessionsRequest,
    LoadSessionRequest, McpServer, NewSessionRequest, PromptRequest, ResumeSessionRequest,
    SessionConfigOptionValue, SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use agent_client_protocol::{Error, RawJsonRpcId};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use zori_core::input::Prompt;

use crate::client::AcpClient;
use crate::error::RequestError;
use crate::outcome::{self, PromptEnd};
use crate::prompt;
use crate::responder::Responder;
use crate::state::{self, OpenedSession, SessionList, SessionOption};

/// Something the client asks for.
#[derive(Debug)]
pub enum Request {
    /// Look for a key again.
    Authenticate {
        method: String,
        reply: Responder<()>,
    },
    /// Begin, or go on with, a session.
    Open {
        how: OpenMode,
        place: SessionSetup,
        reply: Responder<OpenedSession>,
    },
    /// Say which sessions there are.
    List {
        /// Only those of this folder.
        cwd: Option<PathBuf>,
        /// Where the last page ended.
        cursor: Option<String>,
        reply: Responder<SessionList>,
    },
    Close {
        session: String,
        reply: Responder<()>,
    },
    /// Remove a session for good.
    Delete {
        session: String,
        reply: Responder<()>,
    },
    Prompt {
        session: String,
        prompt: Prompt,
        reply: Responder<PromptEnd>,
    },
    Cancel {
        session: String,
    },
    /// Cancel a request.
    CancelRequest {
        /// Its id, as [`Request::id`] has it.
        id: String,
    },
    SetMode {
        session: String,
        mode: String,
        reply: Responder<()>,
    },
    /// Change one of the choices.
    SetChoice {
        session: String,
        choice: String,
        value: String,
        /// All choices as they are then.
        reply: Responder<Vec<SessionOption>>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenMode {
    New,
    /// A saved session, whose conversation is replayed.
    Load(String),
    /// One that was saved; the client knows what was said.
    Resume(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSetup {
    pub cwd: PathBuf,
    /// Further folders that belong to it.
    pub more: Vec<PathBuf>,
    /// The MCP servers it should have, by name, as `.mcp.json` describes them.
    pub servers: Vec<(String, Value)>,
}

impl Request {
    /// Returns the id of a prompt's request, by which it may be given up.
    pub fn id(&self) -> Option<String> {
        match self {
            Self::Prompt { reply, .. } => reply.id().map(RawJsonRpcId::to_string),
            _ => None,
        }
    }
}

/// The methods there are, but for `initialize`.
const METHODS: &[&str] = &[
    "authenticate",
    "session/new",
    "session/load",
    "session/resume",
    "session/list",
    "session/close",
    "session/delete",
    "session/prompt",
    "session/set_mode",
    "session/set_config_option",
];

pub(crate) fn is_known(method: &str) -> bool {
    METHODS.contains(&method)
}

pub(crate) fn parse(
    client: &AcpClient,
    id: RawJsonRpcId,
    method: &str,
    params: Value,
) -> Result<Request, Error> {
    Ok(match method {
        "authenticate" => {
            let asked: AuthenticateRequest = read(&params)?;
            Request::Authenticate {
                method: asked.method_id.to_string(),
                reply: Responder::new(client.clone(), id, |()| state::authenticated()),
            }
        }
        "session/new" => {
            let asked: NewSessionRequest = read(&params)?;
            let place = place(asked.cwd, asked.additional_directories, &asked.mcp_servers)?;
            Request::Open {
                how: OpenMode::New,
                place,
                reply: Responder::new(client.clone(), id, OpenedSession::created),
            }
        }
        "session/load" => {
            let asked: LoadSessionRequest = read(&params)?;
            let place = place(asked.cwd, asked.additional_directories, &asked.mcp_servers)?;
            let how = OpenMode::Load(asked.session_id.to_string());
            Request::Open { how, place, reply: Responder::new(client.clone(), id, OpenedSession::loaded) }
        }
        "session/resume" => {
            let asked: ResumeSessionRequest = read(&params)?;
            let place = place(asked.cwd, asked.additional_directories, &asked.mcp_servers)?;
            let how = OpenMode::Resume(asked.session_id.to_string());
            Request::Open { how, place, reply: Responder::new(client.clone(), id, OpenedSession::resumed) }
        }
        "session/list" => {
            let asked: ListSessionsRequest = read(&params)?;
            let reply = Responder::new(client.clone(), id, SessionList::json);
            Request::List { cwd: asked.cwd, cursor: asked.cursor, reply }
        }
        "session/close" => {
            let asked: CloseSessionRequest = read(&params)?;
            let session = asked.session_id.to_string();
            Request::Close { session, reply: Responder::new(client.clone(), id, |()| state::closed()) }
        }
        "session/delete" => {
            let asked: DeleteSessionRequest = read(&params)?;
            let session = asked.session_id.to_string();
            Request::Delete { session, reply: Responder::new(client.clone(), id, |()| state::deleted()) }
        }
        "session/prompt" => {
            let asked: PromptRequest = read(&params)?;
            let prompt = prompt::read(asked.prompt)?;
            let session = asked.session_id.to_string();
            Request::Prompt { session, prompt, reply: Responder::new(client.clone(), id, outcome::json) }
        }
        "session/set_mode" => {
            let asked: SetSessionModeRequest = read(&params)?;
            let (session, mode) = (asked.session_id.to_string(), asked.mode_id.to_string());
            Request::SetMode {
                session,
                mode,
                reply: Responder::new(client.clone(), id, |()| state::mode_set()),
            }
        }
        "session/set_config_option" => {
            let asked: SetSessionConfigOptionRequest = read(&params)?;
            let value = match asked.value {
                SessionConfigOptionValue::ValueId { value } => value.to_string(),
                _ => {
                    return Err(RequestError::invalid(
                        "`value` must be the id of one of the option's values",
                    )
                    .into());
                }
            };
            Request::SetChoice {
                session: asked.session_id.to_string(),
                choice: asked.config_id.to_string(),
                value,
                reply: Responder::new(client.clone(), id, state::choice_set),
            }
        }
        _ => {
            return Err(Error::method_not_found().data(Value::from(format!("there is no method `{method}`"))));
        }
    })
}

/// Reads a notification; `None` for those we do not know, and for those that make no sense.
pub(crate) fn parse_notification(method: &str, params: Value) -> Option<Request> {
    match method {
        "session/cancel" => {
            let told: CancelNotification = read(&params).ok()?;
            Some(Request::Cancel { session: told.session_id.to_string() })
        }
        "$/cancel_request" => {
            let told: agent_client_protocol::v1::schema::CancelRequestNotification = read(&params).ok()?;
            Some(Request::CancelRequest { id: RawJsonRpcId::from(told.request_id).to_string() })
        }
        _ => None,
    }
}

/// Parses parameters. An error names the field.
pub(crate) fn read<T: DeserializeOwned>(params: &Value) -> Result<T, Error> {
    T::deserialize(params).map_err(|error| RequestError::invalid(format!("invalid params: {error}")).into())
}

fn place(cwd: PathBuf, more: Vec<PathBuf>, servers: &[McpServer]) -> Result<SessionSetup, Error> {
    let named = std::iter::once(("cwd", &cwd)).chain(more.iter().map(|path| ("additionalDirectories", path)));
    for (field, path) in named {
        if !path.is_absolute() {
            let why = format!("`{field}` must be an absolute path, not `{}`", path.display());
            return Err(RequestError::invalid(why).into());
        }
    }
    let described = |server: &McpServer| {
        // A client sends lists of names and values where the file has tables.
        let table = |pairs: Vec<(&String, &String)>| -> Value {
            pairs.into_iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect()
        };
        match server {
            McpServer::Http(server) => {
                let headers =
                    table(server.headers.iter().map(|header| (&header.name, &header.value)).collect());
                (server.name.clone(), json!({"type": "http", "url": server.url, "headers": headers}))
            }
            McpServer::Sse(server) => {
                let headers =
                    table(server.headers.iter().map(|header| (&header.name, &header.value)).collect());
                (server.name.clone(), json!({"type": "sse", "url": server.url, "headers": headers}))
            }
            McpServer::Stdio(server) => {
                let env =
                    table(server.env.iter().map(|variable| (&variable.name, &variable.value)).collect());
                (server.name.clone(), json!({"command": server.command, "args": server.args, "env": env}))
            }
            _ => ("?".to_owned(), Value::Null),
        }
    };
    Ok(SessionSetup { cwd, more, servers: servers.iter().map(described).collect() })
}
