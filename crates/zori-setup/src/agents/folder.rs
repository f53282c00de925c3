//! Folders of sub-agents: `<base>/agents` of the user; a project's are read by `trust/project.rs`.

use std::io::ErrorKind;
use std::path::Path;

use super::{AgentDescription, file};

/// The most files that one folder may contribute.
pub const MAX_FILES: usize = 200;

/// Reads the user's folder. The second value holds a warning for each file that is skipped.
pub fn read_user_agents(folder: &Path) -> (Vec<AgentDescription>, Vec<String>) {
    let mut names: Vec<_> = match std::fs::read_dir(folder) {
        Ok(entries) => {
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
        }
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Default::default();
        }
        Err(error) => return (Vec::new(), vec![format!("cannot read {}: {error}", folder.display())]),
    };
    names.retain(|name| is_agent_file(name));
    names.sort_unstable();
    names.truncate(MAX_FILES);
    let (mut agents, mut warnings) = (Vec::new(), Vec::new());
    for path in names.into_iter().map(|name| folder.join(name)) {
        let read = match path.metadata() {
            Ok(meta) if !meta.is_file() => Err("is not a regular file".to_owned()),
            Ok(_) => std::fs::read(&path).map_err(|error| format!("cannot be read: {error}")),
            Err(error) => Err(format!("cannot be read: {error}")),
        };
        match read.and_then(|bytes| file::read(&path, &bytes)) {
            Ok(agent) => agents.push(agent),
            Err(why) => warnings.push(skip_warning(&path, &why)),
        }
    }
    (agents, warnings)
}

/// Returns whether a file of this name holds a sub-agent.
pub fn is_agent_file(name: &str) -> bool {
    name.ends_with(".md") && !name.starts_with('.')
}

/// Returns the warning for a file that is skipped.
pub fn skip_warning(path: &Path, why: &str) -> String {
    format!("{} {why}; it is no sub-agent", path.display())
}
