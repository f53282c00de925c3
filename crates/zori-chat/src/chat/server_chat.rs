//! A session's chat on its Agent Zero server, when the session ends here: cleared by `/clear`, deleted where
//! `connection.terminate_on_close` says so; and whether the server is well, for `/status` (SRV-10).

use std::time::Duration;

use zori_core::failure::{FailureKind, ProviderFailure};

use crate::plain::PlainSession;

/// How long the server may take; the person waits.
const LIMIT: Duration = Duration::from_secs(5);
/// The same where nothing depends on it.
const SHORT_LIMIT: Duration = Duration::from_secs(2);

/// Asks the server whether it is well. Returns what to say; `None` where the session has none.
pub fn health(plain: &PlainSession) -> Option<String> {
    let setup = plain.run.agent_zero.as_ref().filter(|setup| !setup.mock)?;
    let server = setup.server.get()?;
    Some(match plain.block_on(within(SHORT_LIMIT, server.health())) {
        Ok(()) => "it answers".to_owned(),
        Err(failure) => format!("it is not well: {}", failure.message),
    })
}

/// Clears the chat's history on the server. Returns what to say; `None` where the session has no chat on one.
pub fn reset(plain: &PlainSession) -> Option<String> {
    let server = plain.run.agent_zero.as_ref()?.server.get()?;
    match plain.block_on(within(LIMIT, server.reset(plain.session().messages()))) {
        Ok(false) => None,
        Ok(true) => Some("The server has cleared this chat, too".to_owned()),
        Err(failure) => Some(format!("The server still has this chat: {}", failure.message)),
    }
}

/// Returns what to say where turns were taken back: the server keeps the conversation, and goes on with it (CTX-3).
pub fn still_knows(plain: &PlainSession) -> Option<&'static str> {
    let server = plain.run.agent_zero.as_ref()?.server.get()?;
    server
        .goes_on(plain.session().messages())
        .then_some("The server's agent still knows what was taken back; `/clear` begins a new chat there")
}

/// Deletes the chat on the server, if that is wanted when a chat is closed. Returns what to say of a failure.
pub fn terminate(plain: &PlainSession) -> Option<String> {
    let setup = plain.run.agent_zero.as_ref().filter(|setup| setup.terminate_on_close)?;
    let server = setup.server.get()?;
    let failed = plain.block_on(within(LIMIT, server.terminate(plain.session().messages()))).err()?;
    Some(format!("the chat was not deleted on the server: {}", failed.message))
}

async fn within<T>(
    limit: Duration,
    asked: impl Future<Output = Result<T, ProviderFailure>>,
) -> Result<T, ProviderFailure> {
    let late = || {
        let message = format!("no answer after {} s", limit.as_secs());
        ProviderFailure::new(FailureKind::Timeout, message)
    };
    tokio::time::timeout(limit, asked).await.unwrap_or_else(|_| Err(late()))
}
