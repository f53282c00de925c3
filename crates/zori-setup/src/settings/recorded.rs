//! Runs that are written down, and runs that have the settings of a recording.

use std::path::PathBuf;
use std::sync::Arc;

use zori_contract::failure::Failure;
use zori_core::server_recording::ServerRecording;
use zori_host::settings::RequestSettings;
use zori_host::{Backoff, ModelSettings, Retry};
use zori_providers::catalog;
use zori_providers::recording::player::{Folders, Strictness};
use zori_providers::recording::servers::{ServerPlayer, ServerWriter};
use zori_providers::recording::{Recording, Shape, Start};

use super::Settings;
use crate::args::LowArgs;
use crate::model_choice::{self, Key, ModelChoice};
use crate::network::RecordingMode;

impl Settings {
    /// Has the run written down in this file.
    pub(super) fn recording(mut self, file: PathBuf) -> Self {
        let servers = Arc::new(ServerWriter::default());
        self.session.mcp.recording = ServerRecording::Recording(servers.clone());
        self.run.recording_mode = RecordingMode::Record(file, servers);
        self
    }

    /// Takes what shapes requests from a recording. Nobody waits before a request is sent again.
    pub(super) fn replaying(mut self, recording: Recording, args: &LowArgs) -> Self {
        let Recording { start, prompts, traffic, servers } = recording;
        let Shape { system, max_tokens, temperature, effort, delivery, tool_style } = start.shape;
        let present = self.session.workspace.root.display().to_string();
        let folders = Folders { recorded: start.root, present };
        let strictness = if args.recording.lenient { Strictness::Lenient } else { Strictness::Strict };
        let RequestSettings { system_parts, retry, waits, .. } = self.session.request;
        self.session.request = RequestSettings {
            system: system.map(Into::into),
            system_parts,
            max_tokens,
            temperature,
            effort,
            delivery,
            retry: Retry { backoff: Backoff::Skip, ..retry },
            waits,
        };
        self.session.model.tool_calls = tool_style;
        self.session.mcp.recording =
            ServerRecording::Replaying(Arc::new(ServerPlayer::new(servers, folders.clone(), strictness)));
        self.session.mcp.login = None;
        self.run.recording_mode = RecordingMode::Replay(traffic, folders, strictness);
        self.run.prompts = prompts;
        self
    }
}

/// Returns who answered a recorded run. The key is needed by nobody, and too short to be taken for a secret.
pub(super) fn replayed(start: &Start) -> Result<ModelChoice, Failure> {
    let facts =
        catalog::provider(&start.provider).ok_or_else(|| model_choice::unknown_provider(&start.provider))?;
    let base_url = start.base_url.clone();
    Ok(ModelChoice {
        model: ModelSettings { base_url, ..ModelSettings::new(facts, &start.model) },
        key: Ok(Some(Key::Variable("replay".into()))),
    })
}
