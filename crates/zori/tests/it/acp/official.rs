//! `zori acp` with the client of the protocol's own crate: what it can parse, and what it makes of the answers.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ContentBlock, InitializeRequest, ListSessionsRequest, LoadSessionRequest, NewSessionRequest,
    PermissionOptionKind, PromptRequest, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SelectedPermissionOutcome, SessionNotification, SessionUpdate, StopReason,
};
use agent_client_protocol::{Agent, Client, Error, Lines};
use futures::channel::mpsc;
use futures::{SinkExt, StreamExt};
use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;

use crate::world::with_model;

/// The agent as a child, and its two streams as the crate wants them: threads carry the lines.
fn agent(
    world: &TestEnv,
    args: &[&str],
) -> (
    Child,
    Lines<
        impl futures::Sink<String, Error = io::Error> + Send + 'static,
        impl futures::Stream<Item = io::Result<String>> + Send + 'static,
    >,
) {
    let mut command = world.cmd(&[&["acp"], args].concat());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("zori starts");
    let (mut stdin, stdout) =
        (child.stdin.take().expect("it is a pipe"), child.stdout.take().expect("it is a pipe"));
    let (told, read) = mpsc::unbounded();
    std::thread::spawn(move || {
        BufReader::new(stdout).lines().try_for_each(|line| told.unbounded_send(line)).ok()
    });
    let (said, mut written) = mpsc::unbounded::<String>();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime can be made");
        while let Some(line) = runtime.block_on(written.next()) {
            if stdin.write_all(format!("{line}\n").as_bytes()).is_err() {
                return;
            }
        }
    });
    (child, Lines::new(said.sink_map_err(io::Error::other), read))
}

/// The words of an update: its kind, and what there is to read.
fn told(update: &SessionUpdate) -> Option<String> {
    let text = |content: &ContentBlock| match content {
        ContentBlock::Text(text) => text.text.clone(),
        other => format!("{other:?}"),
    };
    Some(match update {
        SessionUpdate::UserMessageChunk(chunk) => format!("user: {}", text(&chunk.content)),
        SessionUpdate::AgentMessageChunk(chunk) => format!("agent: {}", text(&chunk.content)),
        SessionUpdate::ToolCall(call) => format!("call: {} {:?}", call.title, call.status),
        SessionUpdate::ToolCallUpdate(call) => format!("update: {:?}", call.fields.status),
        SessionUpdate::AvailableCommandsUpdate(commands) => {
            format!("commands: {}", commands.available_commands.len())
        }
        SessionUpdate::UsageUpdate(_) => return None,
        other => format!("{other:?}"),
    })
}

/// Everything a user of the crate does: hello, a session, a prompt with a question in it, and the session again.
#[test]
fn the_crates_own_client() {
    let touch = anthropic::tool_use("t1", "bash", json!({"command": "touch made"}));
    let (world, _model) = with_model([touch, anthropic::text("Done.")]);
    let cwd = world.work().canonicalize().unwrap();
    let (mut child, lines) = agent(&world, &["--sandbox", "off"]);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = heard.clone();
    let dialogue = Client
        .v1()
        .on_receive_notification(
            async move |notification: SessionNotification, _cx| {
                hears.lock().unwrap().extend(told(&notification.update));
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _connection| {
                let once =
                    request.options.iter().find(|option| option.kind == PermissionOptionKind::AllowOnce);
                let chosen = SelectedPermissionOutcome::new(once.unwrap().option_id.clone());
                responder.respond(RequestPermissionResponse::new(RequestPermissionOutcome::Selected(chosen)))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(lines, |connection: ConnectionTo<Agent>| async move {
            let hello =
                connection.send_request(InitializeRequest::new(ProtocolVersion::V1)).block_task().await?;
            assert_eq!(hello.protocol_version, ProtocolVersion::V1);
            assert!(hello.agent_capabilities.load_session);
            let opened = connection.send_request(NewSessionRequest::new(cwd.clone())).block_task().await?;
            let session = opened.session_id;
            assert!(opened.modes.is_some() && opened.config_options.is_some());
            let prompt = PromptRequest::new(session.clone(), vec![ContentBlock::from("go")]);
            let ended = connection.send_request(prompt).block_task().await?;
            assert_eq!(ended.stop_reason, StopReason::EndTurn);
            let listed = connection.send_request(ListSessionsRequest::new()).block_task().await?;
            assert_eq!(listed.sessions.iter().map(|one| &one.session_id).collect::<Vec<_>>(), [&session]);
            connection.send_request(LoadSessionRequest::new(session, cwd)).block_task().await?;
            Ok::<_, Error>(())
        });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime
        .block_on(async { tokio::time::timeout(zori_testkit::wait::BOUND, dialogue).await })
        .unwrap()
        .unwrap();
    drop(runtime);
    assert!(child.wait().unwrap().success());
    assert!(world.work().join("made").exists());
    let heard = heard.lock().unwrap().clone();
    let turn = [
        "commands: 6",
        "call: `touch made` Pending",
        "update: Some(InProgress)",
        "update: Some(Completed)",
        "agent: Done.",
    ];
    assert_eq!(heard[..5], turn);
    let again = ["user: go", "call: `touch made` Pending", "update: Some(Completed)", "agent: Done."];
    assert_eq!(heard[5..9], again);
}
