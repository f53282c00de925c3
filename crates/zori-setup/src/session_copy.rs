//! A session copied under another name, to go on with in another direction.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde_json::{Value, json};
use zori_contract::atomic::atomic_write_with;
use zori_contract::path::AbsPath;
use zori_core::ids::SessionId;
use zori_store::SessionDir;

/// Copies a session under another name, which nobody has yet. An error says why it cannot be.
pub fn copy(sessions: &SessionDir, parent: &SessionId, id: &SessionId) -> Result<(), String> {
    let (source, target) = (sessions.file(parent), sessions.file(id));
    let mut copied =
        SessionCopy::open(&source).map_err(|error| format!("cannot read {}: {error}", source.display()))?;
    let failed = |error: io::Error| format!("cannot write the session {}: {error}", target.display());
    let path = AbsPath::new(&target).ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
    atomic_write_with(&path, |file| copied.write(file, parent.as_str())).map_err(failed)
}

/// A session that is copied: the first line says whose it is, and half a line at the end stays behind. However large it is,
/// only its first line is held in memory.
pub struct SessionCopy {
    source: File,
    /// How much of it is whole lines.
    whole: u64,
}

impl SessionCopy {
    /// Opens the session that is copied.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut source = File::open(path)?;
        if !source.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let whole = whole_lines(&mut source)?;
        Ok(Self { source, whole })
    }

    /// Writes the copy.
    pub fn write(&mut self, target: &mut File, parent: &str) -> io::Result<()> {
        self.source.rewind()?;
        let mut reader = BufReader::new((&mut self.source).take(self.whole.min(MAX_META)));
        let mut first = Vec::new();
        reader.read_until(b'\n', &mut first)?;
        let meta = serde_json::from_slice::<Value>(&first).ok().filter(|meta| meta["type"] == "meta");
        let (meta, from) = match meta {
            Some(mut meta) => {
                meta["parent"] = json!(parent);
                (meta, first.len() as u64)
            }
            // A file of another program may begin without one.
            None => (json!({"type": "meta", "schema_version": 1, "parent": parent}), 0),
        };
        target.write_all(format!("{meta}\n").as_bytes())?;
        self.source.seek(SeekFrom::Start(from))?;
        io::copy(&mut (&mut self.source).take(self.whole - from), target)?;
        Ok(())
    }
}

/// The longest first line that is looked at.
const MAX_META: u64 = 1 << 20;

/// Returns how many bytes of a file are whole lines, looked for from its end.
fn whole_lines(file: &mut File) -> io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut buffer = vec![0; 64 << 10];
    while end > 0 {
        let len = end.min(buffer.len() as u64);
        let block = &mut buffer[..usize::try_from(len).unwrap_or(0)];
        file.seek(SeekFrom::Start(end - len))?;
        file.read_exact(block)?;
        if let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(end - len + at as u64 + 1);
        }
        end -= len;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forked(bytes: &[u8], parent: &str) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let (source, target) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&source, bytes).unwrap();
        SessionCopy::open(&source).unwrap().write(&mut File::create(&target).unwrap(), parent).unwrap();
        std::fs::read(target).unwrap()
    }

    #[test]
    fn the_first_line_names_the_parent_and_half_a_line_stays_behind() {
        let file = b"{\"type\":\"meta\",\"schema_version\":1,\"root\":\"/w\"}\n{\"type\":\"message\"}\n{\"type\":\"mess";
        let text = String::from_utf8(forked(file, "p")).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(
            lines,
            [
                json!({"type": "meta", "schema_version": 1, "root": "/w", "parent": "p"}),
                json!({"type": "message"})
            ]
        );
    }

    #[test]
    fn a_file_without_a_first_line_gets_one() {
        let text = String::from_utf8(forked(b"{\"type\":\"message\"}\n", "p")).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert_eq!(forked(b"", "p").iter().filter(|byte| **byte == b'\n').count(), 1);
    }
}
