//! What a call may open: the path that was decided about, not what it leads to by the time the call runs (P-3, DEC-4).

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use zori_core::permission::{PathFacts, PathSnapshot};
use zori_core::tool::{ToolCode, ToolOutput};

use crate::lookup;
use crate::open_dir::OpenError;

/// A path of a call, and where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The path as the tool understood it; messages name it.
    pub path: PathBuf,
    /// Its own place: that of the link, if it is one.
    pub own: PathBuf,
    /// Where it ends: absolute, without links, and perhaps not there yet.
    pub place: PathBuf,
}

impl Target {
    /// Returns the target that was decided about. Any other path is not opened.
    pub fn from_snapshot(snapshot: &PathSnapshot, path: &Path) -> Result<Self, OpenError> {
        Self::new(path, snapshot.of(path).ok_or(OpenError::Changed)?)
    }

    /// Returns the target as it is now: for previews, and for files the user names.
    pub fn found(path: &Path) -> Result<Self, OpenError> {
        Self::new(path, &lookup::look(path))
    }

    fn new(path: &Path, facts: &PathFacts) -> Result<Self, OpenError> {
        if path.as_os_str().as_bytes().contains(&0) {
            let why = "file name contained an unexpected NUL byte";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why).into());
        }
        match &facts.places[..] {
            [own, ..] => Ok(Self {
                path: path.to_owned(),
                own: own.clone(),
                place: facts.places[facts.places.len() - 1].clone(),
            }),
            [] => Err(io::Error::from_raw_os_error(libc::ELOOP).into()),
        }
    }
}

/// Returns the failure for a path that changed since the decision.
pub fn changed(path: &Path) -> ToolOutput {
    let path = path.display();
    ToolOutput::failure(
        ToolCode::PermissionDenied,
        format!(
            "changed_since_approval: {path} leads elsewhere than when the call was judged; nothing was done, and the \
             same call is judged anew"
        ),
    )
}
