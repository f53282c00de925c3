//! `/upload [--send] PATH`: a file of the person's goes into the folder `uploads/` of the project (UI-10), and with the next message to a
//! server that takes files (SRV-10).

use std::fs;
use std::path::{Path, PathBuf};

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_core::image::size_in_words;
use zori_providers::agent_zero::Attachment;
use zori_providers::catalog::MAX_PROMPT_BYTES;

use super::Next;
use super::report::words;
use crate::chat::Chat;
use zori_setup::agent_zero::preface::ContextPreface;

/// How it is called.
const USAGE: &str =
    "`/upload PATH` copies a file into uploads/, `/upload --send PATH` sends it with the next prompt, too";

/// Runs the command in a chat.
pub(super) fn run(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let server = chat.plain.run.agent_zero.as_ref().map(|setup| &*setup.preface);
    let said = upload(&chat.plain.host.settings.workspace.root, rest, server)?;
    chat.cx.ui.say(&said);
    Ok(Next::Done)
}

/// Copies a file, and lets it go along with the next message where that is asked for; returns what to say about it. Nothing is copied that
/// cannot be sent.
pub fn upload(root: &Path, rest: &str, server: Option<&ContextPreface>) -> Result<String, Failure> {
    let bad = |why: String| Failure::new(&VALIDATION_ERROR, why);
    // All of it may be the name of a file with blanks in it.
    let typed = match root.join(rest).is_file() && !rest.is_empty() {
        true => vec![rest.to_owned()],
        false => words(rest).ok_or_else(|| bad(format!("`/upload {rest}`: a quote is not closed")))?,
    };
    let send = typed.first().is_some_and(|word| word == "--send");
    let path = typed[usize::from(send)..].join(" ");
    if path.is_empty() {
        return Err(bad(USAGE.to_owned()));
    }
    let source = root.join(&path);
    if !source.is_file() {
        return Err(bad(format!("File not found: {path}")));
    }
    let attachment = match (send, server) {
        (false, _) => None,
        (true, Some(server)) => Some((server, read(&source, &path)?)),
        (true, None) => {
            return Err(bad("only an Agent Zero server takes files with a message".to_owned())
                .hint("`@PATH` in a prompt shows the model a text file, `/image PATH` an image"));
        }
    };
    let name = copy(root, &source).map_err(|error| bad(format!("{path} was not copied: {error}")))?;
    let Some((server, mut attachment)) = attachment else { return Ok(format!("Copied to uploads/{name}")) };
    let size = size_in_words(attachment.bytes.len() as u64);
    attachment.filename.clone_from(&name);
    server.attach(attachment);
    Ok(format!("Copied to uploads/{name}; it goes with the next prompt ({size})"))
}

fn read(source: &Path, path: &str) -> Result<Attachment, Failure> {
    let bad = |why: String| Failure::new(&VALIDATION_ERROR, format!("{path} cannot be sent: {why}"));
    let bytes = source.metadata().map_err(|error| bad(error.to_string()))?.len();
    if bytes > MAX_PROMPT_BYTES {
        let (size, most) = (size_in_words(bytes), size_in_words(MAX_PROMPT_BYTES));
        return Err(bad(format!("it has {size}; a file may have {most} at most")));
    }
    let bytes = fs::read(source).map_err(|error| bad(error.to_string()))?;
    Ok(Attachment { filename: String::new(), bytes: bytes.into() })
}

/// Copies a file into the folder; returns the name that was free.
fn copy(root: &Path, source: &Path) -> std::io::Result<String> {
    let folder: PathBuf = root.join("uploads");
    fs::create_dir_all(&folder)?;
    let mut original = fs::File::open(source)?;
    let stem = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending =
        source.extension().map_or_else(String::new, |ending| format!(".{}", ending.to_string_lossy()));
    for number in 0..1000 {
        let name = match number {
            0 => format!("{stem}{ending}"),
            number => format!("{stem}-{number}{ending}"),
        };
        // Whoever makes it first has the name.
        match fs::File::create_new(folder.join(&name)) {
            Ok(mut copy) => {
                std::io::copy(&mut original, &mut copy)?;
                return Ok(name);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other("uploads/ has too many files of that name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_taken() {
        let root = tempfile::tempdir().unwrap();
        let uploaded = |rest: &str| {
            upload(root.path(), rest, None).unwrap_or_else(|failure| format!("error: {}", failure.message))
        };
        fs::write(root.path().join("a.txt"), "one").unwrap();
        assert_eq!(uploaded("a.txt"), "Copied to uploads/a.txt");
        fs::write(root.path().join("a.txt"), "two").unwrap();
        assert_eq!(uploaded("'a.txt'"), "Copied to uploads/a-1.txt");
        assert_eq!(fs::read_to_string(root.path().join("uploads/a.txt")).unwrap(), "one");
        assert_eq!(fs::read_to_string(root.path().join("uploads/a-1.txt")).unwrap(), "two");
        fs::write(root.path().join("my notes.txt"), "three").unwrap();
        assert_eq!(uploaded("my notes.txt"), "Copied to uploads/my notes.txt");
        assert_eq!(uploaded("\"my notes.txt\""), "Copied to uploads/my notes-1.txt");
        assert_eq!(uploaded("b.txt"), "error: File not found: b.txt");
        assert_eq!(uploaded("uploads"), "error: File not found: uploads");
        assert_eq!(uploaded("'b.txt"), "error: `/upload 'b.txt`: a quote is not closed");
        assert_eq!(uploaded(""), format!("error: {USAGE}"));
        assert_eq!(uploaded("--send"), format!("error: {USAGE}"));
        let before = fs::read_dir(root.path().join("uploads")).unwrap().count();
        assert_eq!(uploaded("--send a.txt"), "error: only an Agent Zero server takes files with a message");
        assert_eq!(fs::read_dir(root.path().join("uploads")).unwrap().count(), before);
    }
}
