//! Tools that may not leave the workspace, whatever the policy allows: paths are relative, and lead nowhere else (AT-3).

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use zori_core::tool::{Effect, ToolKind};

/// The fields that hold paths, in the words of every dialect.
const PATH_FIELDS: &[&str] = &["path", "file", "target", "dir", "file_path", "notebook_path"];

/// The lines of a patch that name files.
const HEADERS: &[&str] =
    &["--- ", "+++ ", "*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// Returns why a call may not run here; `asked` is what the model wrote, `effects` what would happen.
pub(crate) fn refusal(
    root: &Path,
    kind: ToolKind,
    asked: &Map<String, Value>,
    effects: &[Effect],
) -> Option<String> {
    let given = PATH_FIELDS.iter().filter_map(|field| asked.get(*field)?.as_str());
    let patch = ["patch", "diff", "input"].iter().find_map(|field| asked.get(*field)?.as_str());
    let named = patch.filter(|_| kind == ToolKind::Patch).into_iter().flat_map(patch_paths);
    if let Some(absolute) = given.chain(named).find(|path| is_absolute(path)) {
        return Some(format!("`{absolute}` is not a relative path; only paths in the workspace can be used"));
    }
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let outside = effects.iter().find_map(|effect| match effect {
        Effect::Read(path) | Effect::Write(path) => (!leads_into(path, &root)).then_some(path),
        _ => None,
    })?;
    let shown = outside.strip_prefix(&root).unwrap_or(outside);
    Some(format!("`{}` leads out of the workspace", shown.display()))
}

fn is_absolute(path: &str) -> bool {
    let path = path.trim();
    path.starts_with(['/', '\\', '~', '$']) || path.as_bytes().get(1) == Some(&b':')
}

/// Returns the paths that a patch names; `/dev/null` stands for a file that is not there.
fn patch_paths(patch: &str) -> impl Iterator<Item = &str> {
    patch.lines().filter_map(|line| {
        let path = HEADERS.iter().find_map(|header| line.strip_prefix(header))?;
        let path = path.split('\t').next().unwrap_or(path).trim();
        (path != "/dev/null").then_some(path)
    })
}

/// Returns whether a path is below the root once all links are followed. Of a file that does not exist yet, the nearest folder
/// that does is what counts.
fn leads_into(path: &Path, root: &Path) -> bool {
    let mut existing: PathBuf = path.to_owned();
    loop {
        match existing.canonicalize() {
            Ok(real) => return real.starts_with(root),
            // A link to nowhere would be followed by whoever creates the file.
            Err(_) if existing.symlink_metadata().is_ok() => return false,
            Err(_) => {}
        }
        if !existing.pop() {
            return false;
        }
    }
}
