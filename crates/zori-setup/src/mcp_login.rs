//! The flow of a login to an MCP server: a port for the browser, the address to open, and what comes back (MCP-81).

use std::io::{BufRead, Read};

use zori_auth::listener::{CallbackResult, Listener};
use zori_auth::pkce::Pkce;
use zori_core::secret::Secret;
use zori_core::time::Clock;
use zori_core::transport::Transport;
use zori_host::{SystemClock, random_bytes};
use zori_mcp::client::oauth::bearer::Bearer;
use zori_mcp::client::oauth::{Challenge, Login, LoginError, LoginRequest};

/// More than any address has.
const MAX_LINE: u64 = 64 * 1024;

/// Why a flow ended without a login.
#[derive(Debug)]
pub enum FlowError {
    /// The port that the browser comes back to failed.
    Listen(std::io::Error),
    /// A server refused, or cannot be trusted.
    Login(LoginError),
    /// What was pasted is of no use.
    Pasted(&'static str),
}

impl std::fmt::Display for FlowError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Listen(error) => write!(f, "cannot listen for the browser: {error}"),
            Self::Login(error) => error.fmt(f),
            Self::Pasted(why) => f.write_str(why),
        }
    }
}

/// How a user comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayBack {
    /// The browser is sent to a port of this machine.
    Browser,
    /// It may be on another machine: somebody may paste where it was sent to, on standard input.
    BrowserOrPaste,
}

/// Logs in to a server. `show` gets the address as soon as somebody can come back from it. Dropping the future gives up.
pub async fn log_in(
    transport: &dyn Transport,
    bearer: &Bearer,
    challenge: &Challenge,
    way_back: WayBack,
    show: &mut impl FnMut(&str),
) -> Result<Login, FlowError> {
    let pkce = Pkce::new(random_bytes(), random_bytes());
    let port = bearer.settings().callback_port;
    let listener = Listener::open(&pkce.state, port).await.map_err(FlowError::Listen)?;
    let (redirect_uri, code_challenge) = (listener.redirect_uri(), pkce.challenge());
    let request = LoginRequest {
        server: bearer.url(),
        challenge,
        settings: bearer.settings(),
        scopes: &bearer.scopes(),
        redirect_uri: &redirect_uri,
        code_challenge: &code_challenge,
        state: &pkce.state,
    };
    let pending = request.begin(transport).await.map_err(FlowError::Login)?;
    show(&pending.url);
    let brought = tokio::select! {
        brought = listener.wait() => brought.map_err(FlowError::Listen)?,
        brought = pasted(&listener), if way_back == WayBack::BrowserOrPaste => brought.map_err(FlowError::Pasted)?,
    };
    drop(listener);
    match brought {
        CallbackResult::Code { code, issuer } => {
            let finished =
                pending.finish(transport, &code, issuer.as_deref(), &pkce.verifier, SystemClock::new().now());
            finished.await.map_err(FlowError::Login)
        }
        CallbackResult::Refused(why) => Err(FlowError::Login(LoginError::Refused(why))),
    }
}

/// Waits for a line with the address that the browser was sent to. Where standard input has ended, the browser alone can come back.
async fn pasted(listener: &Listener) -> Result<CallbackResult, &'static str> {
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        let read = std::io::stdin().lock().take(MAX_LINE).read_line(&mut line);
        read.ok().filter(|count| *count > 0).map(|_| Secret::from(line))
    });
    match read.await {
        Ok(Some(line)) => listener.pasted(line.reveal()),
        _ => std::future::pending().await,
    }
}
