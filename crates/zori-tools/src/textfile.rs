//! Opens files the way tools may: regular files only, never blocking, and as text.
//!
//! Every failure knows the code and the sentence the model gets. Writing is in [`crate::atomic`].

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use zori_core::tool::{ToolCode, ToolOutput};

use crate::open_dir::{FileMeta, NameInDir, OpenError};
use crate::target::{self, Target};

/// The largest file that is loaded whole, to be edited (FS-5).
pub const MAX_LOADED: u64 = 64 << 20;

/// A file that is open for reading.
#[derive(Debug)]
pub struct Opened {
    /// Its path without links.
    pub real: PathBuf,
    pub file: File,
    pub meta: FileMeta,
}

/// A file's whole text.
#[derive(Debug)]
pub struct Loaded {
    /// The folder it is in, and its name there.
    pub slot: NameInDir,
    /// The file, open for reading.
    pub file: File,
    /// Its content.
    pub text: String,
    /// How its bytes are text.
    pub encoding: Encoding,
    /// What the file was when it was read.
    pub meta: FileMeta,
}

/// How the bytes of a file are text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    /// UTF-16 with a byte order mark, which is not part of the text.
    Utf16Le,
    Utf16Be,
}

impl Encoding {
    /// Returns the encoding that a byte order mark names.
    pub fn of(bytes: &[u8]) -> Self {
        match bytes {
            [0xff, 0xfe, ..] => Self::Utf16Le,
            [0xfe, 0xff, ..] => Self::Utf16Be,
            _ => Self::Utf8,
        }
    }

    /// Returns the bytes of a text in this encoding.
    pub fn encoded(self, text: &str) -> Cow<'_, [u8]> {
        let units = |bytes: fn(u16) -> [u8; 2]| -> Cow<'_, [u8]> {
            std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect::<Vec<u8>>().into()
        };
        match self {
            Self::Utf8 => Cow::Borrowed(text.as_bytes()),
            Self::Utf16Le => units(u16::to_le_bytes),
            Self::Utf16Be => units(u16::to_be_bytes),
        }
    }

    /// Returns the text of UTF-16 bytes with their mark; `None` where they are not whole or are UTF-8.
    pub fn decoded(self, bytes: &[u8]) -> Option<String> {
        let unit = match self {
            Self::Utf8 => return None,
            Self::Utf16Le => u16::from_le_bytes,
            Self::Utf16Be => u16::from_be_bytes,
        };
        let (pairs, rest) = bytes.get(2..)?.as_chunks::<2>();
        let units = pairs.iter().map(|pair| unit(*pair));
        rest.is_empty().then(|| char::decode_utf16(units).collect::<Result<_, _>>().ok()).flatten()
    }
}

/// Why a file cannot be read as text.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// There is no such file.
    #[error("File not found: {} (ENOENT); check the path", path.display())]
    NotFound { path: PathBuf },
    /// The path leads nowhere.
    #[error("cannot resolve {}: {source}", path.display())]
    Unresolved { path: PathBuf, source: io::Error },
    /// It is not what it was when the call was judged (DEC-4).
    #[error("changed_since_approval: {} leads elsewhere than when the call was judged", path.display())]
    Changed { path: PathBuf },
    #[error("{} is a {kind}, not a regular file", path.display())]
    NotRegular { path: PathBuf, kind: &'static str },
    /// It is too large to be loaded.
    #[error("{} has {len} bytes; files over 64 MiB are not edited here, use a shell command", path.display())]
    TooLarge {
        path: PathBuf,
        /// How large.
        len: u64,
    },
    #[error("{} is not UTF-8 text: {what}; {advice}", path.display())]
    NotText {
        path: PathBuf,
        /// What shows it.
        what: String,
        /// What to do instead.
        advice: &'static str,
    },
    /// The system refused.
    #[error("cannot read {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl FileError {
    /// The file is UTF-16, where only UTF-8 is text.
    pub fn utf16(path: &Path) -> Self {
        Self::NotText {
            path: path.to_owned(),
            what: "it is UTF-16".into(),
            advice: "convert it with `iconv -f UTF-16 -t UTF-8` in the shell",
        }
    }

    /// Returns the code of READ-4.
    pub fn code(&self) -> ToolCode {
        match self {
            Self::NotFound { .. } | Self::Unresolved { .. } => ToolCode::PathError,
            Self::Changed { .. } => ToolCode::PermissionDenied,
            _ => ToolCode::ReadError,
        }
    }

    /// Returns the result for the model.
    pub fn output(&self) -> ToolOutput {
        match self {
            Self::Changed { path } => target::changed(path),
            Self::NotFound { path } => {
                let near =
                    in_other_letters(path).map(|name| format!("; there is `{name}`")).unwrap_or_default();
                ToolOutput::failure(self.code(), format!("{self}{near}"))
            }
            _ => ToolOutput::failure(self.code(), self.to_string()),
        }
    }

    /// Sorts a failure to open the path.
    pub fn from_open(path: &Path, error: OpenError) -> Self {
        match error {
            OpenError::Changed => Self::Changed { path: path.to_owned() },
            OpenError::Io(error) => Self::from_io(path, error),
        }
    }

    /// Sorts an error of the system by what it says about the path.
    pub fn from_io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.raw_os_error() {
            Some(libc::ENOENT) => Self::NotFound { path },
            Some(libc::ENOTDIR | libc::ELOOP | libc::ENAMETOOLONG) => Self::Unresolved { path, source },
            // A path with a NUL byte never reaches the system.
            None if source.kind() == io::ErrorKind::InvalidInput => Self::Unresolved { path, source },
            _ => Self::Io { path, source },
        }
    }
}

/// How many names of a folder are looked at.
const MAX_NAMES: usize = 2_000;

/// Returns the one name beside a path that is not there which differs in the case of its letters only.
fn in_other_letters(path: &Path) -> Option<String> {
    let written = path.file_name()?.to_str()?;
    let wanted = written.to_lowercase();
    let names = std::fs::read_dir(path.parent()?).ok()?.take(MAX_NAMES);
    let mut alike = names
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name != written && name.to_lowercase() == wanted);
    alike.next().filter(|_| alike.next().is_none())
}

/// Opens a regular file. Pipes, sockets and devices are refused without waiting for them (P-5).
pub fn open(target: &Target) -> Result<Opened, FileError> {
    let (_, file, meta) = open_slot(target)?;
    Ok(Opened { real: target.place.clone(), file, meta })
}

fn open_slot(target: &Target) -> Result<(NameInDir, File, FileMeta), FileError> {
    let failed = |error| FileError::from_open(&target.path, error);
    let slot = NameInDir::at(&target.place).map_err(failed)?;
    // Asking first spares a device the side effects of being opened; asking the open file again closes the gap
    // in which it could have been exchanged.
    regular(&target.path, &slot.meta().map_err(failed)?)?;
    let file = slot.read().map_err(failed)?;
    let meta = FileMeta::of(&file).map_err(|error| failed(error.into()))?;
    regular(&target.path, &meta)?;
    Ok((slot, file, meta))
}

/// Reads a file whole.
pub fn load(target: &Target) -> Result<Loaded, FileError> {
    let (slot, mut file, meta) = open_slot(target)?;
    let path = &target.path;
    if meta.len > MAX_LOADED {
        return Err(FileError::TooLarge { path: path.clone(), len: meta.len });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len).unwrap_or(0) + 1);
    // One byte more than allowed, so that a file that grows meanwhile is noticed and not swallowed.
    (&mut file)
        .take(MAX_LOADED + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| FileError::Io { path: path.clone(), source })?;
    if bytes.len() as u64 > MAX_LOADED {
        return Err(FileError::TooLarge { path: path.clone(), len: bytes.len() as u64 });
    }
    let encoding = Encoding::of(&bytes);
    let text = match encoding.decoded(&bytes) {
        Some(text) => text,
        None => text(path, bytes, Completeness::Whole)?,
    };
    Ok(Loaded { slot, file, text, encoding, meta })
}

/// Returns why a file's text on disk differs: another program changed it, or an editor that cannot store for us holds
/// unsaved changes.
pub fn not_as_loaded(held: bool) -> &'static str {
    match held {
        true => "the editor has changes of it that are not saved; have them saved first",
        false => "another process changed it meanwhile; read it again",
    }
}

/// Whether bytes end where the file ends, or may stop inside a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// The file ends here.
    Whole,
    /// There is more; an unfinished character at the end is dropped.
    Cut,
}

/// Takes bytes as text, or says what they are instead.
pub fn text(path: &Path, mut bytes: Vec<u8>, completeness: Completeness) -> Result<String, FileError> {
    if completeness == Completeness::Cut
        && let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    let not_text =
        |what: String, advice: &'static str| FileError::NotText { path: path.to_owned(), what, advice };
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(FileError::utf16(path));
    }
    // A NUL byte is valid UTF-8, but no text has one, and as JSON it costs six bytes.
    let shell = "inspect it with `xxd` or `file` in the shell";
    if let Some(at) = bytes.iter().position(|&b| b == 0) {
        return Err(not_text(format!("binary data (a NUL byte at offset {at})"), shell));
    }
    String::from_utf8(bytes)
        .map_err(|e| not_text(format!("an invalid byte at offset {}", e.utf8_error().valid_up_to()), shell))
}

/// Returns the name for what a path is if it is not a regular file.
pub fn kind_name(file_type: FileType) -> Option<&'static str> {
    match file_type {
        t if t.is_file() => None,
        t if t.is_dir() => Some("directory"),
        t if t.is_fifo() => Some("named pipe"),
        t if t.is_socket() => Some("socket"),
        t if t.is_block_device() || t.is_char_device() => Some("device"),
        _ => Some("special file"),
    }
}

fn regular(path: &Path, meta: &FileMeta) -> Result<(), FileError> {
    match kind_name(meta.kind) {
        None => Ok(()),
        Some(kind) => Err(FileError::NotRegular { path: path.to_owned(), kind }),
    }
}
