//! The files of the client's editor, which may have changes that are not saved.

use std::path::Path;

use agent_client_protocol::v1::schema::{ReadTextFileRequest, WriteTextFileRequest};
use zori_core::files::HeldFiles;

use crate::peer::Peer;

/// The files of one session, as the client has them. What it does not offer is read and written on disk.
pub struct EditorFiles {
    peer: Peer,
    session: String,
}

impl EditorFiles {
    /// Returns the files of a session.
    pub fn new(peer: Peer, session: &str) -> Self {
        Self { peer, session: session.to_owned() }
    }
}

impl HeldFiles for EditorFiles {
    fn read(&self, path: &Path) -> Option<String> {
        if !self.peer.can().read_files {
            return None;
        }
        // An editor that cannot read it leaves it to us, who say why.
        let asked = ReadTextFileRequest::new(self.session.clone(), path);
        self.peer.call_and_wait(asked).ok().map(|answer| answer.content)
    }

    fn writes(&self) -> bool {
        self.peer.can().write_files
    }

    fn write(&self, path: &Path, text: &str) -> Option<Result<(), String>> {
        if !self.writes() {
            return None;
        }
        let asked = WriteTextFileRequest::new(self.session.clone(), path, text);
        Some(self.peer.call_and_wait(asked).map(drop).map_err(|error| format!("the editor did not: {error}")))
    }
}
