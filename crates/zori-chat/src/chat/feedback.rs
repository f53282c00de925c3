//! `/feedback`: a folder with what helps to understand a problem (CMD-2). Nothing of it is sent anywhere; what is in it can be read before it is passed on.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use zori_contract::error::{IO_ERROR, VALIDATION_ERROR};
use zori_contract::failure::Failure;
use zori_core::ids::SessionId;
use zori_redact::Redactor;
use zori_store::SessionDir;

use super::Chat;
use zori_setup::data_dir::DataDir;
use zori_setup::environment::Environment;
use zori_setup::network::RecordingMode;

/// A recording that is longer than this stays where it is.
const MOST_RECORDED: u64 = 16 << 20;

/// What the folder is put together from; a chat whose turn does not end has it, too.
#[derive(Clone)]
pub struct Subject {
    base: Option<DataDir>,
    session: SessionId,
    saved: bool,
    /// The file that `--record` writes.
    recording: Option<PathBuf>,
    facts: String,
    redactor: Redactor,
    env: Environment,
}

impl Subject {
    pub fn of(chat: &Chat<'_, '_>) -> Self {
        let session = chat.plain.session();
        // By it a purge knows whose folder this is.
        let project = chat.plain.run.base.as_ref().map(|base| {
            let root = base.project_root(&chat.plain.host.settings.workspace.root);
            format!("project {}", zori_index::project_key(&root))
        });
        let facts = [
            format!("version {}", env!("CARGO_PKG_VERSION")),
            format!("model {}", session.model()),
            format!("mode {}", session.policy().mode.shown()),
            format!("messages {}\n", session.messages().len()),
        ];
        Self {
            base: chat.plain.run.base.clone(),
            session: session.id().clone(),
            saved: session.is_saved(),
            recording: match &chat.plain.run.recording_mode {
                RecordingMode::Record(file, _) => Some(file.clone()),
                RecordingMode::None | RecordingMode::Replay(..) => None,
            },
            facts: project.into_iter().chain(facts).collect::<Vec<_>>().join("\n"),
            redactor: chat.plain.host.redactor(),
            env: chat.cx.app.env.clone(),
        }
    }
}

/// Writes the folder, with files of the caller's beside its own; returns what is said about it.
pub fn write(subject: &Subject, extra: &[(&str, String)]) -> Result<String, Failure> {
    let Subject { base, session, saved, recording, facts, redactor, env } = subject;
    let Some(base) = base else {
        return Err(Failure::new(&VALIDATION_ERROR, "there is no base directory to put it into"));
    };
    let name = format!("{session}-{:04x}", zori_host::random_number() as u16);
    let folder = base.feedback().join(name);
    let failed = |error: std::io::Error| Failure::new(&IO_ERROR, format!("{}: {error}", folder.display()));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
    let mut files = vec![("facts.txt", facts.clone()), ("doctor.txt", doctor(env))];
    if *saved {
        let file = SessionDir::new(base.sessions()).file(session);
        files.extend(lines(&file, redactor).map(|text| ("session.jsonl", text)));
    }
    let short = |file: &PathBuf| fs::metadata(file).is_ok_and(|meta| meta.len() <= MOST_RECORDED);
    let recorded = recording.as_ref().filter(|file| short(file)).and_then(|file| lines(file, redactor));
    files.extend(recorded.map(|text| ("recording.jsonl", text)));
    files.extend(extra.iter().cloned());
    for (name, text) in &files {
        zori_setup::private_file::write(&folder.join(name), redactor.redact(text).as_bytes())
            .map_err(failed)?;
    }
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    Ok(format!(
        "Written to {}: {}. Nothing was sent; look through it before you pass it on.",
        folder.display(),
        names.join(", ")
    ))
}

/// Returns a session or a recording without secrets, line by line, so that every line stays what it was.
fn lines(file: &Path, redactor: &Redactor) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    Some(text.lines().map(|line| format!("{}\n", redactor.redact(line))).collect())
}

fn doctor(env: &Environment) -> String {
    let output = env.again().and_then(|mut program| program.arg("doctor").stdin(Stdio::null()).output());
    match output {
        Ok(output) => {
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
        }
        Err(error) => format!("doctor cannot be run: {error}\n"),
    }
}
