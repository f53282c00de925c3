//! Looks for a copy of `bwrap` that only root can have changed. `PATH` is not used: a workspace may be on it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where distributions install it.
const INSTALL_PATHS: &[&str] = &[
    "/usr/bin/bwrap",
    "/bin/bwrap",
    "/usr/local/bin/bwrap",
    "/run/wrappers/bin/bwrap",
    "/run/current-system/sw/bin/bwrap",
];

/// Returns the first copy that can be trusted, or why none can.
pub fn find(roots: &[PathBuf]) -> Result<PathBuf, String> {
    let mut why = "bubblewrap is not installed".to_owned();
    for place in INSTALL_PATHS {
        let Ok(path) = Path::new(place).canonicalize() else { continue };
        match distrust(&path, roots) {
            None => return Ok(path),
            Some(reason) => why = format!("{}: {reason}", path.display()),
        }
    }
    Err(why)
}

/// Returns why a copy must not be used.
fn distrust(path: &Path, roots: &[PathBuf]) -> Option<&'static str> {
    if roots.iter().any(|root| path.starts_with(root) && root != Path::new("/")) {
        return Some("is inside the workspace");
    }
    let meta = fs::metadata(path).ok()?;
    if !meta.is_file() || meta.mode() & 0o111 == 0 {
        return Some("is not a program");
    }
    for place in path.ancestors() {
        let Ok(meta) = fs::metadata(place) else { return Some("cannot be looked at") };
        if meta.uid() != 0 {
            return Some("it or a directory above it does not belong to root");
        }
        if meta.mode() & 0o022 != 0 {
            return Some("it or a directory above it can be written by others");
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn copies_that_are_not_trusted() {
        // The directory is below one that everybody can write.
        let dir = tempfile::tempdir().unwrap();
        let copy = dir.path().canonicalize().unwrap().join("bwrap");
        fs::write(&copy, "").unwrap();
        assert_eq!(distrust(&copy, &[]), Some("is not a program"));
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(distrust(&copy, &[]).is_some_and(|why| why.starts_with("it or a directory above it ")));
        assert_eq!(distrust(&copy, &[copy.parent().unwrap().to_owned()]), Some("is inside the workspace"));
        assert_eq!(distrust(&Path::new("/bin/sh").canonicalize().unwrap(), &[]), None);
    }
}
