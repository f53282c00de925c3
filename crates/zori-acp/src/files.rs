//! The files of the client's editor, which may have changes that are not saved.

use std::path::Path;

use agent_client_protocol::v1::schema::{ReadTextFileRequest, WriteTextFileRequest};
use zori_core::files::ClientFiles;

use crate::client::AcpClient;

/// The files of one session, as the client has them. What it does not offer is read and written on disk.
pub struct EditorFiles {
    client: AcpClient,
    session: String,
}

impl EditorFiles {
    /// Returns the files of a session.
    pub fn new(client: AcpClient, session: &str) -> Self {
        Self { client, session: session.to_owned() }
    }
}

impl ClientFiles for EditorFiles {
    fn read(&self, path: &Path) -> Option<String> {
        if !self.client.support().read_files {
            return None;
        }
        // An editor that cannot read it leaves it to us, who say why.
        let asked = ReadTextFileRequest::new(self.session.clone(), path);
        self.client.request_blocking(asked).ok().map(|answer| answer.content)
    }

    fn writes(&self) -> bool {
        self.client.support().write_files
    }

    fn write(&self, path: &Path, text: &str) -> Option<Result<(), String>> {
        if !self.writes() {
            return None;
        }
        let asked = WriteTextFileRequest::new(self.session.clone(), path, text);
        Some(
            self.client
                .request_blocking(asked)
                .map(drop)
                .map_err(|error| format!("the editor did not: {error}")),
        )
    }
}
