//! The file that says that a project uses something: its memory, its code index, its schedule. A start looks for it and for nothing else
//! (DECISIONS 64), so it goes with the last use, and its folder with the last file.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// How often it is made anew where its folder goes in between.
const TRIES: usize = 8;

/// Makes it.
pub(crate) fn set(marker: &Path) -> io::Result<()> {
    let make = || {
        if let Some(folder) = marker.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        fs::OpenOptions::new().create(true).append(true).mode(0o600).open(marker).map(drop)
    };
    for _ in 1..TRIES {
        match make() {
            // Whoever removed another one took the folder away in between: after it was made, or after it was seen to be there.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists) => {}
            made => return made,
        }
    }
    make()
}

/// Removes it.
pub(crate) fn unset(marker: &Path) -> io::Result<()> {
    match fs::remove_file(marker) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Where it was the last one, the next start has one look again. Others keep the folder.
    let _ = marker.parent().map(fs::remove_dir);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One goes while another one comes: what is said to be in use stays so.
    #[test]
    fn one_comes_while_another_goes() {
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| base.path().join("uses/key").join(name);
        std::thread::scope(|scope| {
            let goes = scope.spawn(|| {
                for _ in 0..300 {
                    set(&at("index")).unwrap();
                    unset(&at("index")).unwrap();
                }
            });
            for _ in 0..300 {
                set(&at("memory")).unwrap();
                assert!(at("memory").exists());
                fs::remove_file(at("memory")).unwrap();
            }
            goes.join().unwrap();
        });
        unset(&at("index")).unwrap();
        assert!(!base.path().join("uses/key").exists(), "the folder goes with the last one");
    }
}
