//! Notes as files in a folder: the program behind the command line.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;

use zori_contract::atomic::atomic_write;
use zori_contract::path::AbsPath;

/// The folder of notes. It is made with the first note.
pub struct Store {
    folder: AbsPath,
}

/// A note: the first line is the title.
#[derive(Clone, Debug)]
pub struct Note {
    /// The name of its file, without the ending.
    pub id: String,
    /// The first line.
    pub title: String,
    /// Everything.
    pub text: Vec<u8>,
    /// Where it is.
    pub path: AbsPath,
}

impl Store {
    /// The notes in this folder.
    pub fn new(folder: AbsPath) -> Self {
        Self { folder }
    }

    /// Returns the file that locks the folder. The folder is made.
    pub fn lock_file(&self) -> io::Result<AbsPath> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        Ok(self.folder.join(".lock"))
    }

    /// Returns all notes, by id.
    pub fn all(&self) -> io::Result<Vec<Note>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut notes = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            if let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".md")) {
                notes.extend(self.find(id)?);
            }
        }
        notes.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(notes)
    }

    /// Returns a note.
    pub fn find(&self, id: &str) -> io::Result<Option<Note>> {
        let path = self.path(id);
        match fs::read(&path) {
            Ok(text) => {
                let title = text.split(|b| *b == b'\n').next().unwrap_or_default();
                let title = String::from_utf8_lossy(title).into_owned();
                Ok(Some(Note { id: id.to_owned(), title, text, path }))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a note.
    pub fn write(&self, id: &str, text: &[u8]) -> io::Result<AbsPath> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let path = self.path(id);
        atomic_write(&path, text)?;
        Ok(path)
    }

    /// Removes a note; returns whether it was there.
    pub fn remove(&self, id: &str) -> io::Result<bool> {
        match fs::remove_file(self.path(id)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn path(&self, id: &str) -> AbsPath {
        self.folder.join(format!("{id}.md"))
    }
}
