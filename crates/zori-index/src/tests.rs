mod background;
mod code;
mod crowd;
mod damage;
mod files;
mod graph;
mod jobs;
mod memory;
mod plans;
mod purge;
mod vectors;
mod writer;

use std::path::Path;

use tempfile::TempDir;

use crate::{Database, ProjectStore, SessionCopy, SessionFile, Synced, database_path};

const NOW: i64 = 1_800_000_000;

fn store(base: &TempDir, root: &str) -> ProjectStore {
    ProjectStore::new(Database::open(&database_path(base.path())).unwrap(), Path::new(root)).unwrap()
}

/// Returns a connection of another program, which may do anything.
fn raw(base: &TempDir) -> rusqlite::Connection {
    rusqlite::Connection::open(database_path(base.path())).unwrap()
}

fn file(name: &str, len: u64) -> SessionFile {
    SessionFile { name: name.into(), len, time: 7 }
}

/// Copies sessions whose turns have one prompt each.
fn sync(store: &mut ProjectStore, sessions: &[(&str, &[&str])]) -> Synced {
    let files: Vec<_> = sessions
        .iter()
        .map(|(name, said)| file(name, said.iter().map(|text| text.len() as u64).sum()))
        .collect();
    let copy = |name: &str| {
        let said = sessions.iter().find(|(known, _)| *known == name)?.1;
        let messages = said
            .iter()
            .zip(1..)
            .map(|(text, turn)| (turn, "user", (*text).to_owned(), format!("2027-01-{turn:02}T00:00:00Z")));
        Some(SessionCopy { title: name.into(), messages: messages.collect() })
    };
    store.sync(&files, false, NOW, copy).unwrap()
}

fn found(store: &ProjectStore, question: &str) -> Vec<String> {
    store.search(question, 10, None).unwrap().into_iter().map(|found| found.message.content).collect()
}
