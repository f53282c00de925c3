//! The terminals of the client's editor: created, shown beside the call, waited for and released; killed when nobody waits.

use std::time::Duration;

use agent_client_protocol::v1::schema::{
    CreateTerminalRequest, CreateTerminalResponse, KillTerminalRequest, ReleaseTerminalRequest,
    SessionUpdate, TerminalId, TerminalOutputRequest, WaitForTerminalExitRequest,
};
use zori_core::BoxFuture;
use zori_core::terminal::{ClientTerminals, TerminalCommand, TerminalExit};

use crate::call;
use crate::client::{AcpClient, ClientError};

/// How long an editor may take to say what a command printed, once that has ended.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The terminals of one session.
pub struct EditorTerminals {
    client: AcpClient,
    session: String,
}

impl EditorTerminals {
    /// Returns the terminals of a session.
    pub fn new(client: AcpClient, session: &str) -> Self {
        Self { client, session: session.to_owned() }
    }

    async fn command(&self, job: TerminalCommand<'_>) -> Result<TerminalExit, ClientError> {
        let (client, session) = (&self.client, self.session.clone());
        let limit = (job.max_output > 0).then_some(job.max_output as u64);
        let create = CreateTerminalRequest::new(session.clone(), "sh")
            .args(vec!["-c".to_owned(), job.command.to_owned()])
            .cwd(job.cwd.to_owned())
            .output_byte_limit(limit);
        let tidy = session.clone();
        let created = client.request_with_cleanup(create, move |client, answer| {
            // The call was given up before the editor had made its terminal.
            if let Ok(CreateTerminalResponse { terminal_id, .. }) = serde_json::from_value(answer) {
                drop(Open { client, session: tidy, id: terminal_id, running: true });
            }
        });
        let id = created.await?.terminal_id;
        let mut open = Open { client, session: session.clone(), id: id.clone(), running: true };
        client.note_terminal(job.call, &id);
        // A reader that is gone is found out by the next question.
        let _ = client.update(&session, SessionUpdate::ToolCallUpdate(call::in_terminal(job.call, &id)));
        let exit = client.call(WaitForTerminalExitRequest::new(session.clone(), id.clone()));
        let (exit, timed_out) = match job.timeout {
            None => (Some(exit.await?), false),
            Some(limit) => match tokio::time::timeout(limit, exit).await {
                Ok(exit) => (Some(exit?), false),
                Err(_) => {
                    client.send_and_forget(KillTerminalRequest::new(session.clone(), id.clone()));
                    (None, true)
                }
            },
        };
        open.running = false;
        let code = exit.and_then(|exit| exit.exit_status.exit_code);
        let exit_code = code.map(|code| i32::try_from(code).unwrap_or(i32::MAX));
        let shown = client.call(TerminalOutputRequest::new(session, id));
        Ok(match tokio::time::timeout(TIMEOUT, shown).await {
            Ok(shown) => {
                let shown = shown?;
                TerminalExit { output: shown.output, truncated: shown.truncated, exit_code, timed_out }
            }
            // It has ended all the same, with output that nobody knows.
            Err(_) => TerminalExit { output: String::new(), truncated: true, exit_code, timed_out },
        })
    }
}

impl ClientTerminals for EditorTerminals {
    fn run<'a>(&'a self, job: TerminalCommand<'a>) -> BoxFuture<'a, Result<TerminalExit, String>> {
        Box::pin(async move { self.command(job).await.map_err(|error| error.to_string()) })
    }
}

/// A terminal that is released when nobody needs it any more, and killed before that if it still runs.
struct Open<'p> {
    client: &'p AcpClient,
    session: String,
    id: TerminalId,
    running: bool,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let (session, id) = (self.session.clone(), self.id.clone());
        if self.running {
            self.client.send_and_forget(KillTerminalRequest::new(session.clone(), id.clone()));
        }
        self.client.send_and_forget(ReleaseTerminalRequest::new(session, id));
    }
}
