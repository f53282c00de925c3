//! Recorded and hand-written test data under `fixtures/` of the workspace.

use std::path::{Path, PathBuf};

pub fn workspace_root() -> PathBuf {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_dir.ancestors().nth(2).expect("this crate lies two levels below the workspace root").to_path_buf()
}

/// Returns the path of a fixture, for example `anthropic/text.sse`.
pub fn path(name: &str) -> PathBuf {
    workspace_root().join("fixtures").join(name)
}

/// Returns a fixture's bytes.
///
/// # Panics
///
/// When there is no such fixture.
#[track_caller]
pub fn bytes(name: &str) -> Vec<u8> {
    let path = path(name);
    match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) => panic!("fixture {}: {error}", path.display()),
    }
}

/// Returns a fixture's text.
///
/// # Panics
///
/// When there is no such fixture, or it is not UTF-8.
#[track_caller]
pub fn text(name: &str) -> String {
    String::from_utf8(bytes(name)).expect("this fixture is text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_at_the_workspace() {
        assert!(workspace_root().join("Cargo.lock").is_file());
        assert_eq!(path("a/b.sse"), workspace_root().join("fixtures/a/b.sse"));
    }
}
