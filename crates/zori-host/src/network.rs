//! What a session's requests go through: the network, the network with a recorder before it, or a recording in place of
//! it. The model and the tools share it. How the network is reached is the caller's business.

use std::path::PathBuf;
use std::sync::Arc;

use zori_core::BoxFuture;
use zori_core::input::Prompt;
use zori_core::transport::{HttpRequest, HttpResponse, Transport, TransportFailure};
use zori_providers::recording::player::{Departure, Player};
use zori_providers::recording::recorder::{Recorder, RecordingTransport};

use crate::notice::Notice;

/// The way to the model and to the web.
#[derive(Clone)]
pub struct Network {
    /// What sends requests.
    pub transport: Arc<dyn Transport>,
    /// What sends requests past the recorder: logins are renewed here.
    pub private: Arc<dyn Transport>,
    end: End,
}

/// What is at the other end of it.
#[derive(Clone)]
enum End {
    Live,
    Recorded(Arc<Recorder>, PathBuf),
    Replayed(Arc<Player>),
}

/// A transport for sessions without a network.
struct Offline;

impl Transport for Offline {
    fn send(&self, _: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        let failure = TransportFailure::Connect("this session has no network".to_owned());
        Box::pin(std::future::ready(Err(failure)))
    }
}

/// Whether a run is still the recorded one; a live run is always on track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Track {
    /// It is, so far.
    On,
    /// A replay has left its recording, and there is nothing more to play.
    Off,
}

/// How a replay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// It was the recorded run, or there was none.
    Whole,
    /// Requests of the recording were not made.
    Short,
}

impl Network {
    /// Requests go out.
    pub fn live(transport: Arc<dyn Transport>) -> Self {
        Self { private: transport.clone(), transport, end: End::Live }
    }

    /// Nothing goes out: every request fails.
    pub fn offline() -> Self {
        Self::live(Arc::new(Offline))
    }

    /// Requests go out, and are recorded in this file.
    pub fn recorded(transport: Arc<dyn Transport>, recorder: Arc<Recorder>, file: PathBuf) -> Self {
        let recording = Arc::new(RecordingTransport::new(transport.clone(), recorder.clone()));
        Self { transport: recording, private: transport, end: End::Recorded(recorder, file) }
    }

    /// A recording answers.
    pub fn replayed(player: Arc<Player>) -> Self {
        Self { transport: player.clone(), private: player.clone(), end: End::Replayed(player) }
    }

    /// Returns whether a recording answers.
    pub(crate) fn is_replayed(&self) -> bool {
        matches!(self.end, End::Replayed(_))
    }

    /// Records what the user said and showed.
    pub(crate) fn prompt(&self, prompt: &Prompt) {
        if let End::Recorded(recorder, _) = &self.end {
            recorder.prompt(prompt);
        }
    }

    /// Returns what a turn has brought to light, and whether there is more to replay.
    pub(crate) fn turn_over(&self) -> (Vec<Notice>, Track) {
        let mut notices = Vec::new();
        match &self.end {
            End::Live => {}
            End::Recorded(recorder, path) => {
                if let Some(error) = recorder.take_failure() {
                    let path = path.display();
                    let text = format!("Failed to write the recording: {error}; {path} ends before that");
                    notices.push(Notice::Warning(text));
                }
            }
            End::Replayed(player) => {
                notices.extend(player.take_notes().into_iter().map(Notice::Warning));
                let Some(departure) = player.departure() else { return (notices, Track::On) };
                let mut hint = |text: &str| notices.push(Notice::Hint(text.to_owned()));
                if departure == Departure::ToolResult {
                    hint("tools really run on a replay: start it where the files are as they were");
                }
                if departure != Departure::Beyond {
                    hint("`--replay-lenient` goes on with the recorded answers");
                }
                return (notices, Track::Off);
            }
        }
        (notices, Track::On)
    }

    /// Ends it. A replay that has left requests over is not the recorded run.
    pub fn close(&self) -> (Vec<Notice>, Replay) {
        match &self.end {
            // The end of an answer may be written after its turn.
            End::Recorded(..) => (self.turn_over().0, Replay::Whole),
            End::Replayed(player) if player.departure().is_none() && player.unasked() > 0 => {
                let rest = match player.unasked() {
                    1 => "1 more request".to_owned(),
                    n => format!("{n} more requests"),
                };
                let text = format!("the recording has {rest} that this run did not make");
                (vec![Notice::Error { code: "replay", text }], Replay::Short)
            }
            End::Live | End::Replayed(_) => (Vec::new(), Replay::Whole),
        }
    }
}
