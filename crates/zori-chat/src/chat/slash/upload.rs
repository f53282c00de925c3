//! `/upload [--send] PATH`: a file of the person's goes into the folder `uploads/` of the project (UI-10), and with the next message to a
//! server that takes files (SRV-10).

use std::path::Path;
use std::{fs, io};

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_core::image::size_in_words;
use zori_host::settings::WorkspaceSettings;
use zori_providers::agent_zero::Attachment;
use zori_providers::catalog::MAX_PROMPT_BYTES;

use super::Next;
use super::report::words;
use crate::chat::Chat;
use crate::typed_path;
use zori_setup::agent_zero::preface::ContextPreface;

/// How it is called.
const USAGE: &str =
    "`/upload PATH` copies a file into uploads/, `/upload --send PATH` sends it with the next prompt, too";

/// Runs the command in a chat.
pub(super) fn run(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let server = chat.plain.run.agent_zero.as_ref().map(|setup| &*setup.preface);
    let WorkspaceSettings { root, home, .. } = &chat.plain.host.settings.workspace;
    let said = upload(root, home.as_deref(), rest, server)?;
    chat.cx.ui.say(&said);
    Ok(Next::Done)
}

/// Copies a file, and lets it go along with the next message where that is asked for; returns what to say about it. Nothing is copied that
/// cannot be sent.
pub fn upload(
    root: &Path,
    home: Option<&Path>,
    rest: &str,
    server: Option<&ContextPreface>,
) -> Result<String, Failure> {
    let bad = |why: String| Failure::new(&VALIDATION_ERROR, why);
    let at = |path: &str| typed_path::resolve(path, root, home);
    // All of it may be the name of a file with blanks in it.
    let typed = match at(rest).is_file() && !rest.is_empty() {
        true => vec![rest.to_owned()],
        false => words(rest).ok_or_else(|| bad(format!("`/upload {rest}`: a quote is not closed")))?,
    };
    let send = typed.first().is_some_and(|word| word == "--send");
    let path = typed[usize::from(send)..].join(" ");
    if path.is_empty() {
        return Err(bad(USAGE.to_owned()));
    }
    let source = at(&path);
    if !source.is_file() {
        return Err(bad(format!("File not found: {path}")));
    }
    let attachment = match (send, server) {
        (false, _) => None,
        (true, Some(server)) => Some((server, read(&source, &path, server.attached_bytes())?)),
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

/// Reads a file that goes with a message; `beside`: how many bytes go with it already.
fn read(source: &Path, path: &str, beside: u64) -> Result<Attachment, Failure> {
    let bad = |why: String| Failure::new(&VALIDATION_ERROR, format!("{path} cannot be sent: {why}"));
    let bytes = source.metadata().map_err(|error| bad(error.to_string()))?.len();
    if bytes.saturating_add(beside) > MAX_PROMPT_BYTES {
        let (size, most) = (size_in_words(bytes), size_in_words(MAX_PROMPT_BYTES));
        let others = match beside {
            0 => String::new(),
            beside => format!(", and {} go with the next prompt already", size_in_words(beside)),
        };
        return Err(bad(format!("it has {size}{others}; the files of a prompt may have {most} at most")));
    }
    let bytes = fs::read(source).map_err(|error| bad(error.to_string()))?;
    Ok(Attachment { filename: String::new(), bytes: bytes.into() })
}

/// Copies a file into the folder; returns the name that was free. What cannot be copied whole leaves nothing there.
fn copy(root: &Path, source: &Path) -> io::Result<String> {
    let mut original = fs::File::open(source)?;
    let folder = root.join("uploads");
    fs::create_dir_all(&folder)?;
    let stem = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending =
        source.extension().map_or_else(String::new, |ending| format!(".{}", ending.to_string_lossy()));
    for number in 0..1000 {
        let name = match number {
            0 => format!("{stem}{ending}"),
            number => format!("{stem}-{number}{ending}"),
        };
        // Whoever makes it first has the name.
        let made = folder.join(&name);
        match fs::File::create_new(&made) {
            Ok(mut copy) => {
                return match io::copy(&mut original, &mut copy) {
                    Ok(_) => Ok(name),
                    Err(error) => {
                        let _ = fs::remove_file(&made);
                        Err(error)
                    }
                };
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("uploads/ has too many files of that name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_taken() {
        let (root, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let uploaded = |rest: &str| {
            upload(root.path(), Some(home.path()), rest, None)
                .unwrap_or_else(|failure| format!("error: {}", failure.message))
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
        fs::write(home.path().join("mine.txt"), "four").unwrap();
        assert_eq!(uploaded("~/mine.txt"), "Copied to uploads/mine.txt");
        assert_eq!(uploaded("b.txt"), "error: File not found: b.txt");
        assert_eq!(uploaded("uploads"), "error: File not found: uploads");
        assert_eq!(uploaded("'b.txt"), "error: `/upload 'b.txt`: a quote is not closed");
        assert_eq!(uploaded(""), format!("error: {USAGE}"));
        assert_eq!(uploaded("--send"), format!("error: {USAGE}"));
        let before = fs::read_dir(root.path().join("uploads")).unwrap().count();
        assert_eq!(uploaded("--send a.txt"), "error: only an Agent Zero server takes files with a message");
        assert_eq!(fs::read_dir(root.path().join("uploads")).unwrap().count(), before);
    }

    #[test]
    fn no_more_than_a_prompt_may_have() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("a.bin");
        fs::File::create(&file).unwrap().set_len(MAX_PROMPT_BYTES - 10).unwrap();
        let refused = |beside: u64| match read(&file, "a.bin", beside) {
            Ok(attachment) => attachment.bytes.len().to_string(),
            Err(failure) => failure.message,
        };
        assert_eq!(refused(10), (MAX_PROMPT_BYTES - 10).to_string());
        let (size, most) = (size_in_words(MAX_PROMPT_BYTES - 10), size_in_words(MAX_PROMPT_BYTES));
        assert_eq!(
            refused(11),
            format!(
                "a.bin cannot be sent: it has {size}, and 11 bytes go with the next prompt already; \
                 the files of a prompt may have {most} at most"
            )
        );
    }

    /// A copy that breaks off, as on a full disk, is not left half: here the source turns out to be no file.
    #[test]
    fn a_copy_that_breaks_off() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a.d");
        fs::create_dir(&folder).unwrap();
        assert!(copy(root.path(), &folder).is_err());
        assert_eq!(fs::read_dir(root.path().join("uploads")).unwrap().count(), 0);
    }
}
