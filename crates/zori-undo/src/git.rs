//! What git already holds: a file that equals its index entry is known by its blob and not copied (UNDO-7).
//!
//! The index is read here. Where the bytes in the working tree may differ from those of the blob (filters, line ends), or the
//! index has a form that is not understood, nothing is known and everything is copied.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files that are the same as in git's index.
#[derive(Default)]
pub(crate) struct CleanFiles {
    entries: HashMap<PathBuf, IndexEntry>,
    folders: Vec<PathBuf>,
    /// What the index names, and is not known by it.
    others: HashSet<PathBuf>,
    /// Whether git may have left line ends out of the blobs.
    has_text: bool,
}

struct IndexEntry {
    id: Box<str>,
    ctime: (u32, u32),
    mtime: (u32, u32),
    inode: u32,
    len: u32,
    executable: bool,
}

/// Attributes under which a file's bytes are not those of its blob.
const TRANSFORMS: &[&str] = &["filter", "ident", "working-tree-encoding", "eol=crlf"];

impl CleanFiles {
    /// Reads the index of a working tree. `home`: where the user may have attributes for all; `id_len`: how many bytes an object's id
    /// has.
    pub(crate) fn read(root: &Path, git_dir: &Path, home: Option<&Path>, id_len: usize) -> Option<Self> {
        let path = git_dir.join("index");
        let written = fs::metadata(&path).ok()?;
        let bytes = fs::read(&path).ok()?;
        let written = (u32::try_from(written.mtime()).ok()?, u32::try_from(written.mtime_nsec()).ok()?);
        let mut clean = Self::default();
        let mut folders = BTreeSet::new();
        for (name, entry) in parse(&bytes, id_len)? {
            let path = root.join(OsStr::from_bytes(&name));
            for folder in path.ancestors().skip(1).take_while(|folder| *folder != root) {
                if !folders.insert(folder.to_owned()) {
                    break;
                }
            }
            // What was changed as late as the index itself may have changed since.
            match entry.filter(|entry| entry.mtime < written) {
                Some(entry) => drop(clean.entries.insert(path, entry)),
                None => drop(clean.others.insert(path)),
            }
        }
        let attributes = folders.iter().map(|folder| folder.join(".gitattributes"));
        let attributes = attributes.chain([root.join(".gitattributes"), git_dir.join("info/attributes")]);
        for attributes in attributes.chain(home.map(|home| home.join(".config/git/attributes"))) {
            match Bytes::of(&attributes) {
                Bytes::Same => {}
                Bytes::SameButLineEnds => clean.has_text = true,
                Bytes::Others => {
                    clean.others.extend(clean.entries.drain().map(|(path, _)| path));
                    break;
                }
            }
        }
        clean.folders = folders.into_iter().collect();
        Some(clean)
    }

    /// Returns the folders that hold tracked files.
    pub(crate) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Returns the ids of the blobs.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries.values().map(|entry| &*entry.id)
    }

    /// Returns the blob of a file whose stat equals its index entry.
    pub(crate) fn get(&self, path: &Path, meta: &Metadata) -> Option<Box<str>> {
        let entry = self.entries.get(path)?;
        let time = |(secs, nanos): (u32, u32), s: i64, ns: i64| {
            i64::from(secs) == s && (nanos == 0 || i64::from(nanos) == ns)
        };
        let same = time(entry.mtime, meta.mtime(), meta.mtime_nsec())
            && time(entry.ctime, meta.ctime(), meta.ctime_nsec())
            && entry.inode == meta.ino() as u32
            && u64::from(entry.len) == meta.len()
            && entry.executable == (meta.mode() & 0o100 != 0);
        (same && !(self.has_text && has_carriage_return(path))).then(|| entry.id.clone())
    }

    /// Returns whether the index names a file.
    pub(crate) fn tracks(&self, path: &Path) -> bool {
        self.entries.contains_key(path) || self.others.contains(path)
    }
}

/// What the bytes of a working tree are to those of the blobs, as far as a file of attributes says.
enum Bytes {
    Same,
    /// `text` takes carriage returns out of a blob and leaves them in the working tree.
    SameButLineEnds,
    Others,
}

impl Bytes {
    fn of(attributes: &Path) -> Self {
        let text = match fs::read_to_string(attributes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::Same,
            Err(_) => return Self::Others,
            Ok(text) => text,
        };
        if TRANSFORMS.iter().any(|word| text.contains(word)) {
            return Self::Others;
        }
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let mut words =
            lines.flat_map(str::split_whitespace).map(|word| word.split('=').next().unwrap_or(word));
        match words.any(|word| matches!(word, "text" | "crlf" | "eol")) {
            true => Self::SameButLineEnds,
            false => Self::Same,
        }
    }
}

fn has_carriage_return(path: &Path) -> bool {
    let read = || {
        let mut file = File::open(path)?;
        let mut piece = vec![0; 64 << 10];
        loop {
            let len = file.read(&mut piece)?;
            if len == 0 || piece[..len].contains(&b'\r') {
                return Ok::<_, io::Error>(len > 0);
            }
        }
    };
    // One that cannot be read is not known by its blob.
    read().unwrap_or(true)
}

/// Every name in an index, with its entry where that is a plain file. `None` for a form that is not understood.
fn parse(bytes: &[u8], id_len: usize) -> Option<Vec<(Vec<u8>, Option<IndexEntry>)>> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let version = number(4)?;
    if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let count = number(8)?;
    let (mut at, mut name) = (12, Vec::new());
    let mut entries = Vec::new();
    for _ in 0..count {
        let start = at;
        let field = |index: usize| number(start + index * 4);
        let (mode, id_at) = (field(6)?, start + 40);
        let id = bytes.get(id_at..id_at + id_len)?;
        let flags = u16::from_be_bytes(bytes.get(id_at + id_len..id_at + id_len + 2)?.try_into().ok()?);
        at = id_at + id_len + 2;
        let extended = flags & 0x4000 != 0;
        let mut more = 0;
        if extended {
            more = u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?);
            at += 2;
        }
        if version == 4 {
            let strip = varint(bytes, &mut at)?;
            name.truncate(name.len().checked_sub(strip)?);
        } else {
            name.clear();
        }
        let end = at + bytes.get(at..)?.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(&bytes[at..end]);
        at = if version == 4 { end + 1 } else { start + (end - start + 8) / 8 * 8 };
        // Not assumed unchanged, of no conflict, neither sparse nor only announced, and a regular file.
        let plain = flags & 0xb000 == 0 && more & 0x6000 == 0 && mode & 0o170_000 == 0o100_000;
        let entry = IndexEntry {
            id: id.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into(),
            ctime: (field(0)?, field(1)?),
            mtime: (field(2)?, field(3)?),
            inode: field(5)?,
            len: field(9)?,
            executable: mode & 0o100 != 0,
        };
        entries.push((name.clone(), plain.then_some(entry)));
    }
    // A split index has the rest of its entries in another file.
    let shared = bytes.get(at..at + 4) == Some(b"link");
    (!shared).then_some(entries)
}

/// A number in the form that offsets of packs have.
fn varint(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut byte = *bytes.get(*at)?;
    let mut value = usize::from(byte & 0x7f);
    *at += 1;
    while byte & 0x80 != 0 {
        byte = *bytes.get(*at)?;
        *at += 1;
        value = value.checked_add(1)?.checked_shl(7)? | usize::from(byte & 0x7f);
    }
    Some(value)
}
