//! Folders beside the root that a run may work in.

use std::path::Path;

use zori_policy::Policy;

/// Adds folders to the workspace (`--add-dir`). Returns what to say of those that are none.
pub fn add(policy: &mut Policy, root: &Path, folders: &[String]) -> Vec<String> {
    let mut warnings = Vec::new();
    for folder in folders {
        match root.join(folder).canonicalize() {
            Ok(folder) if folder.is_dir() => policy.workspace.roots.push(folder),
            Ok(_) => warnings.push(format!("`--add-dir {folder}`: it is no folder, and is not added")),
            Err(error) => warnings.push(format!("`--add-dir {folder}`: {error}; it is not added")),
        }
    }
    warnings
}
