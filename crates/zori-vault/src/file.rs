//! The encrypted file: read whole, replaced whole, with the old one kept beside it (VLT-1, VLT-6).

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use age::secrecy::ExposeSecret;
use age::x25519::Identity;
use zeroize::Zeroizing;
use zori_atomic::{Outlives, Readers};
use zori_core::secret::Secret;

use crate::error::VaultError;
use crate::place::VaultPlace;

/// More than a vault ever holds.
const MAX_BYTES: u64 = 8 << 20;

/// The secrets of a vault, by name. They are overwritten in memory when it is dropped.
pub type Entries = BTreeMap<String, Secret>;

/// A vault whose file has been opened.
pub struct VaultFile {
    entries: Entries,
}

/// Returns whether an entry can have this name.
pub fn is_name(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"_-.:".contains(&b);
    (1..=128).contains(&name.len()) && name.bytes().all(fits)
}

impl VaultFile {
    /// Makes an empty vault with a key of its own. `replace`: also where there is one, whose two files are kept as `.bak`.
    pub fn init(place: &VaultPlace, replace: bool) -> Result<(), VaultError> {
        if let Some(folder) = place.file.parent() {
            fs::create_dir_all(folder)
                .map_err(|error| VaultError::io("make the folder of", &place.file, &error))?;
        }
        let _lock = lock(place)?;
        let exists = |path: &Path| path.symlink_metadata().is_ok();
        if !replace && let Some(path) = [&place.file, &place.key].into_iter().find(|path| exists(path)) {
            return Err(VaultError::Exists(path.clone()));
        }
        for path in [&place.file, &place.key].into_iter().filter(|path| exists(path)) {
            keep(path)?;
        }
        let identity = Identity::generate();
        write_key(place, &identity)?;
        write(place, &identity, &Entries::new())
    }

    /// Opens a vault.
    pub fn open(place: &VaultPlace) -> Result<Self, VaultError> {
        let sealed = read(&place.file)?.ok_or_else(|| VaultError::Missing(place.file.clone()))?;
        Ok(Self { entries: unseal(place, &identity(place)?, &sealed)? })
    }

    /// Returns an entry.
    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.entries.get(name)
    }

    /// Returns the names of all entries, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Changes a vault, while nobody else does. What `change` refuses leaves the file as it was.
    pub fn update<T>(
        place: &VaultPlace,
        change: impl FnOnce(&mut Entries) -> Result<T, VaultError>,
    ) -> Result<T, VaultError> {
        if !place.is_made() {
            return Err(VaultError::Missing(place.file.clone()));
        }
        let _lock = lock(place)?;
        let Self { mut entries } = Self::open(place)?;
        let changed = change(&mut entries)?;
        keep(&place.file)?;
        write(place, &identity(place)?, &entries)?;
        Ok(changed)
    }

    /// Adds an entry, or replaces one if that is wanted. Returns whether one was replaced.
    pub fn set(place: &VaultPlace, name: &str, value: &Secret, replace: bool) -> Result<bool, VaultError> {
        if !is_name(name) {
            return Err(VaultError::BadName);
        }
        Self::update(place, |entries| {
            if !replace && entries.contains_key(name) {
                return Err(VaultError::EntryExists(name.to_owned()));
            }
            Ok(entries.insert(name.to_owned(), value.clone()).is_some())
        })
    }

    /// Removes an entry. Returns whether it was there; if it was not, nothing is written.
    pub fn remove(place: &VaultPlace, name: &str) -> Result<bool, VaultError> {
        match Self::update(place, |entries| match entries.remove(name) {
            Some(_) => Ok(()),
            None => Err(VaultError::NoEntry(name.to_owned())),
        }) {
            Ok(()) => Ok(true),
            Err(VaultError::NoEntry(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Gives a vault another key. The old key and what it opens are kept as `.bak`, so a crash in between loses nothing.
    pub fn rekey(place: &VaultPlace) -> Result<(), VaultError> {
        if !place.is_made() {
            return Err(VaultError::Missing(place.file.clone()));
        }
        let _lock = lock(place)?;
        let Self { entries } = Self::open(place)?;
        keep(&place.file)?;
        keep(&place.key)?;
        let identity = Identity::generate();
        write_key(place, &identity)?;
        write(place, &identity, &entries)
    }
}

/// Holds off all others who would change the vault. The kernel lets go of it with the process.
fn lock(place: &VaultPlace) -> Result<File, VaultError> {
    let path = place.lock();
    let failed = |error: &std::io::Error| VaultError::io("lock", &path, error);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(|error| failed(&error))?;
    // Whoever holds it writes a small file and is done.
    file.lock().map_err(|error| failed(&error))?;
    Ok(file)
}

/// Reads a regular file; `None` where there is none. A pipe would be waited for.
fn read(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, VaultError> {
    let failed = |error: &std::io::Error| VaultError::io("read", path, error);
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&error)),
    };
    if !meta.is_file() {
        return Err(VaultError::Damaged { path: path.to_owned(), why: "is not a regular file" });
    }
    if meta.len() > MAX_BYTES {
        return Err(VaultError::Damaged { path: path.to_owned(), why: "is larger than a vault can be" });
    }
    let mut bytes = Zeroizing::new(Vec::new());
    let file = File::open(path).map_err(|error| failed(&error))?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    Ok(Some(bytes))
}

/// Reads the key, which only its owner may be able to read.
fn identity(place: &VaultPlace) -> Result<Identity, VaultError> {
    let path = &place.key;
    let bytes = read(path)?.ok_or_else(|| VaultError::KeyMissing(path.clone()))?;
    let meta = fs::metadata(path).map_err(|error| VaultError::io("read", path, &error))?;
    if meta.mode() & 0o077 != 0 {
        return Err(VaultError::KeyReadable(path.clone()));
    }
    let damaged = || VaultError::Damaged { path: path.clone(), why: "is no key of a vault" };
    let text = std::str::from_utf8(&bytes).map_err(|_| damaged())?;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    line.and_then(|line| line.parse().ok()).ok_or_else(damaged)
}

fn unseal(place: &VaultPlace, identity: &Identity, sealed: &[u8]) -> Result<Entries, VaultError> {
    let damaged = |why| VaultError::Damaged { path: place.file.clone(), why };
    let plain = age::decrypt(identity, sealed)
        .map(Zeroizing::new)
        .map_err(|_| damaged("is damaged, or `vault.key` beside it is not its key"))?;
    let map: BTreeMap<String, String> =
        serde_json::from_slice(&plain).map_err(|_| damaged("holds no table of secrets"))?;
    Ok(map.into_iter().map(|(name, value)| (name, Secret::from(value))).collect())
}

fn write(place: &VaultPlace, identity: &Identity, entries: &Entries) -> Result<(), VaultError> {
    let map: BTreeMap<&str, &str> =
        entries.iter().map(|(name, value)| (name.as_str(), value.reveal())).collect();
    let plain = Zeroizing::new(serde_json::to_vec(&map).expect("texts are JSON"));
    let sealed = age::encrypt(&identity.to_public(), &plain)
        .map_err(|error| VaultError::io("encrypt", &place.file, &std::io::Error::other(error)))?;
    replace(&place.file, &sealed)
}

fn write_key(place: &VaultPlace, identity: &Identity) -> Result<(), VaultError> {
    let text = identity.to_string();
    let text = Zeroizing::new(format!(
        "# the key of {}; whoever has both can read it\n{}\n",
        place.file.file_name().unwrap_or_default().to_string_lossy(),
        text.expose_secret()
    ));
    replace(&place.key, text.as_bytes())
}

/// Keeps a copy of a file as it is.
fn keep(path: &Path) -> Result<(), VaultError> {
    match read(path)? {
        Some(bytes) => replace(&VaultPlace::backup(path), &bytes),
        None => Ok(()),
    }
}

/// Replaces a file in one step, for its owner alone: whoever looks sees the old content or the new one, also after a crash.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), VaultError> {
    zori_atomic::replace(path, Readers::Owner, Outlives::PowerLoss, |file| file.write_all(bytes))
        .map_err(|error| VaultError::io("write", path, &error))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn made() -> (tempfile::TempDir, VaultPlace) {
        let dir = tempfile::tempdir().unwrap();
        let place = VaultPlace::in_dir(dir.path());
        VaultFile::init(&place, false).unwrap();
        (dir, place)
    }

    fn names(place: &VaultPlace) -> Vec<String> {
        VaultFile::open(place).unwrap().names().map(str::to_owned).collect()
    }

    #[test]
    fn entries_are_kept_privately() {
        let (dir, place) = made();
        assert!(!VaultFile::set(&place, "B", &"beta".into(), false).unwrap());
        assert!(!VaultFile::set(&place, "A", &"alpha".into(), false).unwrap());
        assert_eq!(names(&place), ["A", "B"]);
        assert!(VaultFile::open(&place).unwrap().get("A").is_some_and(|value| value.reveal() == "alpha"));
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!([mode(&place.file), mode(&place.key)], [0o600; 2]);
        for entry in fs::read_dir(dir.path()).unwrap().flatten() {
            let bytes = fs::read(entry.path()).unwrap();
            assert!(!bytes.windows(5).any(|part| part == b"alpha"), "{:?}", entry.file_name());
        }
        assert!(VaultFile::remove(&place, "A").unwrap());
        assert!(!VaultFile::remove(&place, "A").unwrap());
        assert_eq!(names(&place), ["B"]);
    }

    /// The reference implementation lost nineteen secrets this way.
    #[test]
    fn nothing_is_overwritten_unasked() {
        let (_dir, place) = made();
        VaultFile::set(&place, "A", &"alpha".into(), false).unwrap();
        assert_eq!(VaultFile::init(&place, false), Err(VaultError::Exists(place.file.clone())));
        assert_eq!(
            VaultFile::set(&place, "A", &"other".into(), false),
            Err(VaultError::EntryExists("A".into()))
        );
        assert!(VaultFile::set(&place, "A", &"other".into(), true).unwrap());
        // What was there before stands beside it.
        let old = VaultPlace { file: VaultPlace::backup(&place.file), key: place.key.clone() };
        assert!(VaultFile::open(&old).unwrap().get("A").is_some_and(|value| value.reveal() == "alpha"));
        VaultFile::init(&place, true).unwrap();
        assert_eq!(names(&place), [""; 0]);
        let old = VaultPlace { file: VaultPlace::backup(&place.file), key: VaultPlace::backup(&place.key) };
        assert_eq!(names(&old), ["A"]);
        // A key alone is worth as much: what it opens may be elsewhere.
        fs::remove_file(&place.file).unwrap();
        assert_eq!(VaultFile::init(&place, false), Err(VaultError::Exists(place.key.clone())));
    }

    #[test]
    fn another_key() {
        let (_dir, place) = made();
        VaultFile::set(&place, "A", &"alpha".into(), false).unwrap();
        let before = fs::read(&place.key).unwrap();
        VaultFile::rekey(&place).unwrap();
        assert_ne!(fs::read(&place.key).unwrap(), before);
        assert_eq!(names(&place), ["A"]);
        fs::write(&place.key, before).unwrap();
        let open = VaultFile::open(&place).err();
        assert_eq!(
            open.map(|error| error.to_string()),
            Some(format!("{} is damaged, or `vault.key` beside it is not its key", place.file.display()))
        );
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let (_dir, place) = made();
        let fails = || VaultFile::open(&place).err().expect("it cannot be opened");
        fs::set_permissions(&place.key, PermissionsExt::from_mode(0o640)).unwrap();
        assert_eq!(fails(), VaultError::KeyReadable(place.key.clone()));
        fs::set_permissions(&place.key, PermissionsExt::from_mode(0o600)).unwrap();
        fs::write(&place.key, "nonsense").unwrap();
        assert_eq!(fails(), VaultError::Damaged { path: place.key.clone(), why: "is no key of a vault" });
        fs::remove_file(&place.key).unwrap();
        assert_eq!(fails(), VaultError::KeyMissing(place.key.clone()));
        fs::remove_file(&place.file).unwrap();
        assert_eq!(fails(), VaultError::Missing(place.file.clone()));
        assert_eq!(VaultFile::set(&place, "A", &"a".into(), false), Err(fails()));
        fs::create_dir(&place.file).unwrap();
        assert_eq!(fails(), VaultError::Damaged { path: place.file.clone(), why: "is not a regular file" });
        for name in ["", "a b", "K=v", "ä", &"x".repeat(129)] {
            assert_eq!(VaultFile::set(&place, name, &"a".into(), false), Err(VaultError::BadName));
        }
    }

    /// VLT-6: two at once are both kept.
    #[test]
    fn many_who_write_at_once() {
        let (_dir, place) = made();
        std::thread::scope(|scope| {
            for n in 0..8 {
                let place = &place;
                scope.spawn(move || VaultFile::set(place, &format!("N{n}"), &"value".into(), false).unwrap());
            }
        });
        assert_eq!(names(&place).len(), 8);
    }
}
