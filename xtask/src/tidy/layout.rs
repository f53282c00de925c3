//! What holds for every file: how it opens, how it ends, and what must not be left in it.

use std::path::Path;

use super::Finding;
use super::scan;
use crate::workspace::{TextFile, Workspace};

/// Looks at every text file.
pub fn find(workspace: &Workspace) -> Vec<Finding> {
    let machine = machine_paths(&workspace.root);
    let mut findings = Vec::new();
    for file in workspace.files.iter().filter(|file| !is_data(file)) {
        findings.extend(text_offences(file, &machine));
        if file.path.ends_with(".rs") {
            findings.extend(rust_offences(file));
        }
    }
    findings
}

/// Fixtures are what they are: recorded streams may end anyhow, and so do snapshots of them. Licences and lock files are not ours to format.
fn is_data(file: &TextFile) -> bool {
    (file.path.starts_with("fixtures/") && file.name() != "README.md")
        || file.name().starts_with("LICENSE")
        || file.name() == "Cargo.lock"
        || file.path.ends_with(".svg")
        || file.path.ends_with(".snap")
}

fn text_offences(file: &TextFile, machine: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_rust = file.path.ends_with(".rs");
    let layout = if is_rust { &scan::without_literals(&file.text) } else { &file.text };
    for (n, _) in layout.lines().enumerate().filter(|(_, line)| line.ends_with([' ', '\t', '\r'])) {
        findings.push(Finding::line(&file.path, n + 1, "trailing space"));
    }
    for (n, line) in file.text.lines().enumerate() {
        let mut add = |what: &str| findings.push(Finding::line(&file.path, n + 1, what));
        // Written in two halves, so that this file does not offend.
        if [concat!("TO", "DO"), concat!("FIX", "ME")].iter().any(|mark| has_word(line, mark)) {
            add("a leftover: do it, or open an issue");
        }
        if machine.iter().any(|path| has_path(line, path)) {
            add("a path of a developer's machine");
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        findings.push(Finding::file(&file.path, "no newline at the end"));
    }
    if file.text.ends_with("\n\n") {
        findings.push(Finding::file(&file.path, "blank lines at the end"));
    }
    findings
}

fn rust_offences(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    // A `tests.rs` belongs to the file it tests, which has said it.
    if !file.text.starts_with("//!") && file.name() != "tests.rs" {
        findings.push(Finding::file(&file.path, "does not open with `//!`: say what lives here"));
    }
    if file.name() == "mod.rs" {
        findings.push(Finding::file(&file.path, "is a `mod.rs`: name it after its module"));
    }
    for (n, line) in scan::code_only(&file.text).lines().enumerate() {
        let mut add = |what: &str| findings.push(Finding::line(&file.path, n + 1, what));
        if line.contains("#[ignore") {
            add("an ignored test: assert what happens today, and say what is wrong with it");
        }
        if line.contains("dead_code") {
            add("unused code is allowed: delete it");
        }
        if line.contains("todo!(") || line.contains("unimplemented!(") {
            add("a stub");
        }
    }
    findings
}

/// Returns the workspace's own path, and its parent's where that is not a folder every machine has.
fn machine_paths(root: &Path) -> Vec<String> {
    const COMMON: [&str; 9] = ["/", "/home", "/opt", "/root", "/src", "/srv", "/tmp", "/usr", "/var"];
    let parent = root.parent().filter(|parent| !COMMON.iter().any(|common| *parent == Path::new(common)));
    [Some(root), parent].into_iter().flatten().map(|path| path.to_string_lossy().into_owned()).collect()
}

/// Whether the line names the folder, or something in it, as an absolute path.
fn has_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + folder.len()..].chars().next();
        !before.is_some_and(|c| c.is_alphanumeric() || "_-.$}~/".contains(c)) && after == Some('/')
    })
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        ![before, after].into_iter().flatten().any(|c| c.is_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offences(path: &str, text: &str) -> Vec<String> {
        let file = TextFile { path: path.to_owned(), text: text.to_owned() };
        let mut findings = text_offences(&file, &["/builds/me".to_owned()]);
        if path.ends_with(".rs") {
            findings.extend(rust_offences(&file));
        }
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn text_is_judged() {
        let text = format!("a \nb {}: c\n/builds/me/x $T/builds/me/x TODOS", concat!("TO", "DO"));
        assert_eq!(
            offences("a.md", &text),
            [
                "a.md:1: trailing space",
                "a.md:2: a leftover: do it, or open an issue",
                "a.md:3: a path of a developer's machine",
                "a.md: no newline at the end",
            ]
        );
        assert_eq!(offences("a.md", "see $T/builds/me/x\n"), Vec::<String>::new());
    }

    #[test]
    fn rust_is_judged() {
        assert_eq!(
            offences("a/mod.rs", "use x;\n#[ignore]\n// #[ignore]\n#[allow(dead_code)]\n"),
            [
                "a/mod.rs: does not open with `//!`: say what lives here",
                "a/mod.rs: is a `mod.rs`: name it after its module",
                "a/mod.rs:2: an ignored test: assert what happens today, and say what is wrong with it",
                "a/mod.rs:4: unused code is allowed: delete it",
            ]
        );
        assert_eq!(offences("a/b.rs", "//! Fine.\n"), Vec::<String>::new());
    }

    #[test]
    fn common_parents_are_no_machine_paths() {
        assert_eq!(machine_paths(Path::new("/tmp/zori")), ["/tmp/zori"]);
        assert_eq!(machine_paths(Path::new("/builds/zori")), ["/builds/zori", "/builds"]);
    }
}
