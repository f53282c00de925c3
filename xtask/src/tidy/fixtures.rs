//! Every fixture is explained in the README of its folder, or used by a test that names it.

use std::fs;
use std::path::Path;

use super::Finding;
use crate::workspace::Workspace;

/// Looks at every file below `fixtures/`, those that are not text included.
pub fn find(workspace: &Workspace) -> Vec<Finding> {
    let mut paths = Vec::new();
    list(&workspace.root.join("fixtures"), "fixtures", &mut paths);
    paths.sort();
    let sources: Vec<&str> = workspace.rust().map(|file| file.text.as_str()).collect();
    paths.iter().filter_map(|path| offence(workspace, path, &sources)).collect()
}

fn offence(workspace: &Workspace, path: &str, sources: &[&str]) -> Option<Finding> {
    let (folder, name) = path.rsplit_once('/')?;
    if name == "README.md" {
        return None;
    }
    let Some(readme) = readme(workspace, folder) else {
        return Some(Finding::file(path, "no README.md beside it or above it says where it came from"));
    };
    // `text.sse` and `text.request.json` belong together: what names one names both.
    let stem = name.split('.').next().expect("splitting yields at least one part");
    let known = [readme].iter().chain(sources).any(|text| names(text, stem));
    (!known).then(|| Finding::file(path, "is not mentioned in its README.md, and no test names it"))
}

/// Whether the text names the file: alone, as the last part of a path, or with an ending.
fn names(text: &str, stem: &str) -> bool {
    text.match_indices(stem).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + stem.len()..].chars().next();
        before.is_some_and(|c| "`\"/".contains(c)) && after.is_some_and(|c| "`\".".contains(c))
    })
}

/// Returns the nearest README, from the folder up to `fixtures`.
fn readme<'a>(workspace: &'a Workspace, folder: &str) -> Option<&'a str> {
    let mut folder = folder;
    loop {
        if let Some(text) = workspace.text(&format!("{folder}/README.md")) {
            return Some(text);
        }
        folder = folder.rsplit_once('/')?.0;
    }
}

fn list(folder: &Path, prefix: &str, paths: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = format!("{prefix}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            list(&entry.path(), &path, paths);
        } else {
            paths.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::TextFile;

    #[test]
    fn explained_or_used_or_stray() {
        let readme =
            TextFile { path: "fixtures/a/README.md".to_owned(), text: "- `plain`: one text".to_owned() };
        let workspace = Workspace { root: "/nowhere".into(), files: vec![readme] };
        let verdict =
            |path: &str| offence(&workspace, path, &["load(\"a/used.sse\")"]).map(|f| f.to_string());
        assert_eq!(verdict("fixtures/a/plain.request.json"), None);
        assert_eq!(verdict("fixtures/a/deep/used.sse"), None);
        assert_eq!(
            verdict("fixtures/a/stray.sse").unwrap(),
            "fixtures/a/stray.sse: is not mentioned in its README.md, and no test names it"
        );
        assert_eq!(
            verdict("fixtures/b/x.sse").unwrap(),
            "fixtures/b/x.sse: no README.md beside it or above it says where it came from"
        );
    }
}
