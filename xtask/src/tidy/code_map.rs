//! The code map of `docs/architecture.md` is true: every file that it names is there, and every crate has a section and a README. Nor do other
//! pages that lead to files name one that is gone.

use super::Finding;
use crate::workspace::Workspace;

const PAGE: &str = "docs/architecture.md";
/// The others. `NAME` stands for a file that is to be made.
const OTHER_PAGES: [&str; 3] = ["CONTRIBUTING.md", "SECURITY.md", "docs/adding.md"];
/// Where files are that are named by their whole path.
const ROOTS: [&str; 4] = ["crates/", "xtask/", "fixtures/", "docs/"];
/// What a README has beside what its crate is for.
const PARTS: [&str; 2] = ["the smallest use", "does not do"];

/// Holds the page against the files.
pub fn find(workspace: &Workspace) -> Vec<Finding> {
    let Some(page) = workspace.text(PAGE) else { return vec![Finding::file(PAGE, "is not there")] };
    let mut findings = undescribed(workspace, page);
    let mut section: Option<&str> = None;
    for (n, line) in page.lines().enumerate() {
        if line.starts_with('#') {
            section = line.strip_prefix("### `").and_then(|rest| rest.split('`').next());
        }
        let row = line.strip_prefix('|').and_then(|rest| rest.split('|').next());
        if let (Some(name), Some(files)) = (section, row) {
            let gone =
                quoted(files).filter(|file| file.ends_with(".rs") || file.ends_with('/')).filter(|file| {
                    !is_there(workspace, &format!("crates/{name}/src/{file}"))
                        && !is_there(workspace, &format!("crates/{name}/{file}"))
                });
            findings.extend(gone.map(|file| Finding::line(PAGE, n + 1, format!("`{name}` has no `{file}`"))));
        }
        findings.extend(gone(workspace, PAGE, n, line));
    }
    for page in OTHER_PAGES {
        let lines = workspace.text(page).unwrap_or_default().lines().enumerate();
        findings.extend(lines.flat_map(|(n, line)| gone(workspace, page, n, line)));
    }
    findings
}

/// Returns the paths of a line at which nothing is.
fn gone(workspace: &Workspace, page: &str, n: usize, line: &str) -> Vec<Finding> {
    let paths = quoted(line).filter(|path| ROOTS.iter().any(|root| path.starts_with(root)));
    let missing = paths.filter(|path| !path.contains("NAME") && !is_there(workspace, path));
    missing.map(|path| Finding::line(page, n + 1, format!("`{path}` is not there"))).collect()
}

/// Returns the crates without a section of the page, or without a README.
fn undescribed(workspace: &Workspace, page: &str) -> Vec<Finding> {
    let manifests = workspace.below("crates").filter(|file| file.name() == "Cargo.toml");
    let mut findings = Vec::new();
    for manifest in manifests {
        let folder = manifest.path.trim_end_matches("/Cargo.toml");
        let name = folder.trim_start_matches("crates/");
        if !page.lines().any(|line| line.starts_with(&format!("### `{name}`"))) {
            findings.push(Finding::file(PAGE, format!("has no section `{name}`")));
        }
        let readme = workspace.text(&format!("{folder}/README.md"));
        if !readme.is_some_and(|text| PARTS.iter().all(|part| text.to_lowercase().contains(part))) {
            let what = "has no README.md with what it is for, the smallest use, and what it does not do";
            findings.push(Finding::file(folder, what));
        }
    }
    findings
}

/// Returns what stands in backticks and looks like a path.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    let is_path = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    text.split('`').skip(1).step_by(2).filter(move |word| !word.is_empty() && word.chars().all(is_path))
}

/// Whether a file, or a folder with something in it, is there.
fn is_there(workspace: &Workspace, path: &str) -> bool {
    let folder = path.trim_end_matches('/');
    workspace.text(path).is_some() || workspace.below(folder).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::TextFile;

    fn found(page: &str, paths: &[&str]) -> Vec<String> {
        found_in(page, &paths.iter().map(|path| (*path, "")).collect::<Vec<_>>())
    }

    fn found_in(page: &str, files: &[(&str, &str)]) -> Vec<String> {
        let file =
            |(path, text): &(&str, &str)| TextFile { path: (*path).to_owned(), text: (*text).to_owned() };
        let files = files.iter().chain([&(PAGE, page)]).map(file).collect();
        find(&Workspace { root: "/".into(), files }).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_named_is_there() {
        let page = "## Map\n\n### `a`: the first\n\n| file | what |\n|---|---|\n| `x.rs` and `x/`, `gone.rs` | `no.rs` |\n\n\
                    ## More\n\nSee `crates/a/src/x.rs` and `crates/b`.\n";
        assert_eq!(
            found(page, &["crates/a/src/lib.rs", "crates/a/src/x.rs", "crates/a/src/x/y.rs"]),
            [
                "docs/architecture.md:7: `a` has no `gone.rs`",
                "docs/architecture.md:11: `crates/b` is not there",
            ]
        );
        assert_eq!(
            found("### `a`: the first\n\n`x.rs` does it.\n", &["crates/a/src/x.rs"]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn other_pages_name_what_is_there() {
        let files = [
            ("docs/adding.md", "Write `crates/a/src/NAME.rs` beside `crates/a/src/x.rs`.\n"),
            ("SECURITY.md", "It holds:\n`crates/a/src/x.rs`, `crates/a/src/gone.rs`, `gone.rs`\n"),
            ("crates/a/src/x.rs", ""),
        ];
        assert_eq!(found_in("", &files), ["SECURITY.md:2: `crates/a/src/gone.rs` is not there"]);
    }

    #[test]
    fn every_crate_is_described() {
        let lacks = "has no README.md with what it is for, the smallest use, and what it does not do";
        let files = [
            ("crates/a/Cargo.toml", ""),
            (
                "crates/a/README.md",
                "# a\n\nIt is for all.\n\n## The smallest use\n\n`a()`\n\n## What it does not do\n\nMuch.\n",
            ),
            ("crates/b/Cargo.toml", ""),
            ("crates/c/Cargo.toml", ""),
            ("crates/c/README.md", "# c\n\nThe smallest use is `c()`.\n"),
        ];
        assert_eq!(
            found_in("### `a`: the first\n### `c`: the third\n", &files),
            [
                "docs/architecture.md: has no section `b`".to_owned(),
                format!("crates/b: {lacks}"),
                format!("crates/c: {lacks}"),
            ]
        );
    }
}
