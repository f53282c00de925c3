//! What is cited is there: ids such as `SES-10` and `DECISIONS 24` are defined in `docs/contracts/`, once; a comment
//! names no document, and a page links to none, that is not in the repository.
//!
//! A definition is the first word of an item (`- **SES-10** ...`) or the first cell of a row (`| LOG-1 | ...`). What
//! has the form of an id and a prefix that no page defines is not ours: `UTF-8`, `SHA-256`.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::scan;
use crate::workspace::{TextFile, Workspace};

/// Where ids are defined.
const CONTRACTS: &str = "docs/contracts";

/// The page whose numbered list is cited as `DECISIONS 24`.
const DECISIONS: &str = "docs/contracts/decisions.md";

/// The word that comes before the number of a decision.
const DECISION: &str = "DECISIONS";

/// Looks up everything that is cited.
pub fn find(workspace: &Workspace) -> Vec<Finding> {
    let (defined, mut findings) = Defined::read(workspace);
    for file in workspace.files.iter().filter(|file| may_cite(file)) {
        for (n, line) in file.text.lines().enumerate() {
            for id in defined.unknown(line) {
                let what = format!("`{id}` is defined nowhere in {CONTRACTS}/");
                findings.push(Finding::line(&file.path, n + 1, what));
            }
        }
        findings.extend(missing_documents(workspace, file));
    }
    findings
}

/// Sources, pages, manifests and scripts. What fixtures say is not ours, and lock files cite nothing.
fn may_cite(file: &TextFile) -> bool {
    let endings = [".rs", ".md", ".toml", ".sh", ".py", ".ts", ".mjs", ".js", ".tsv"];
    let is_script = file.path.starts_with(".ci/");
    let is_data = file.path.starts_with("fixtures/") && file.name() != "README.md";
    !is_data && (is_script || endings.iter().any(|ending| file.path.ends_with(ending)))
}

/// What the contracts define.
struct Defined {
    ids: BTreeSet<String>,
    prefixes: BTreeSet<String>,
    decisions: BTreeSet<u32>,
}

impl Defined {
    /// Reads the contracts; a finding for each id that two places define.
    fn read(workspace: &Workspace) -> (Self, Vec<Finding>) {
        let mut places: BTreeMap<String, String> = BTreeMap::new();
        let mut twice = Vec::new();
        for file in workspace.below(CONTRACTS) {
            for (n, line) in file.text.lines().enumerate() {
                let Some(id) = definition(line) else { continue };
                let here = format!("{}:{}", file.path, n + 1);
                if let Some(there) = places.insert(id.to_owned(), here) {
                    let what = format!("`{id}` is defined in {there} already");
                    twice.push(Finding::line(&file.path, n + 1, what));
                }
            }
        }
        let prefix = |id: &String| id.split_once('-').map(|(prefix, _)| prefix.to_owned());
        let decisions = workspace.text(DECISIONS).unwrap_or_default();
        let defined = Self {
            prefixes: places.keys().filter_map(prefix).collect(),
            ids: places.into_keys().collect(),
            decisions: decisions.lines().filter_map(|line| line.split_once(". ")?.0.parse().ok()).collect(),
        };
        (defined, twice)
    }

    /// Returns what a line cites that is defined nowhere.
    fn unknown(&self, line: &str) -> Vec<String> {
        let ids = ids(line).filter(|id| {
            let prefix = id.split_once('-').map_or(*id, |(prefix, _)| prefix);
            self.prefixes.contains(prefix) && !self.ids.contains(*id)
        });
        let decisions = decisions(line).into_iter().filter(|number| !self.decisions.contains(number));
        ids.map(str::to_owned).chain(decisions.map(|number| format!("{DECISION} {number}"))).collect()
    }
}

/// Returns the id that a line of a contract defines.
fn definition(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.strip_prefix("- **").or_else(|| line.strip_prefix("| "))?;
    ids(rest).next().filter(|id| rest.starts_with(id))
}

/// Returns every word of the form `LETTERS-DIGITS`.
fn ids(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c != '-' && c != '_' && !c.is_alphanumeric()).filter(|word| {
        word.split_once('-').is_some_and(|(letters, digits)| {
            let is_upper = |c: char| c.is_ascii_uppercase();
            let is_digit = |c: char| c.is_ascii_digit();
            !letters.is_empty()
                && letters.chars().all(is_upper)
                && !digits.is_empty()
                && digits.chars().all(is_digit)
        })
    })
}

/// Returns the numbers in `DECISIONS 8`, `DECISIONS 8 and 24`, `DECISIONS 1, 8, 19`.
fn decisions(line: &str) -> Vec<u32> {
    let mut numbers = Vec::new();
    for (at, _) in line.match_indices(DECISION) {
        let mut rest = line[at + DECISION.len()..].strip_prefix(' ');
        while let Some(text) = rest {
            let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let Ok(number) = text[..digits].parse() else { break };
            numbers.push(number);
            rest = [" and ", ", ", " to "].iter().find_map(|mark| text[digits..].strip_prefix(mark));
        }
    }
    numbers
}

/// Looks for documents that a source's comments name or a page links to.
fn missing_documents(workspace: &Workspace, file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let missing =
        |n: usize, what: &str| Finding::line(&file.path, n + 1, format!("`{what}` is not in the repository"));
    if file.path.ends_with(".rs") {
        let code = scan::without_literals(&file.text);
        for (n, line) in code.lines().enumerate() {
            let comment = line.find("//").map_or("", |at| &line[at..]);
            let named =
                pages(comment).filter(|page| !workspace.files.iter().any(|file| file.name() == *page));
            findings.extend(named.map(|page| missing(n, page)));
        }
    } else if file.path.ends_with(".md") {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (n, line) in file.text.lines().enumerate() {
            let broken = links(line).filter(|link| !workspace.root.join(folder).join(link).exists());
            findings.extend(broken.map(|link| missing(n, link)));
        }
    }
    findings
}

/// Returns the names of pages in a comment.
fn pages(comment: &str) -> impl Iterator<Item = &str> {
    comment
        .split(|c: char| !"-_.*".contains(c) && !c.is_alphanumeric())
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| word.ends_with(".md") && !word.starts_with(['*', '.']))
}

/// Returns where the links of a line lead within the repository.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split(')').next()?.split('#').next()?;
        let is_ours = !target.is_empty() && !target.contains("://") && !target.contains(' ');
        is_ours.then_some(target)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(files: &[(&str, &str)]) -> Workspace {
        let file =
            |(path, text): &(&str, &str)| TextFile { path: (*path).to_owned(), text: (*text).to_owned() };
        Workspace { root: "/a/folder/that/is/not/there".into(), files: files.iter().map(file).collect() }
    }

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        find(&workspace(files)).iter().map(ToString::to_string).collect()
    }

    const SESSIONS: (&str, &str) =
        ("docs/contracts/sessions.md", "- **SES-1** Append-only.\n- **SES-2 Shapes:** x.\n");
    const NUMBERED: (&str, &str) = ("docs/contracts/decisions.md", "1. One product.\n24. **Codes.**\n");

    #[test]
    fn what_is_defined_may_be_cited() {
        let source =
            "//! SES-1, SES-2 (UTF-8, SHA-256), DECISIONS 1 and 24; see `sessions.md`.\nlet x = \"no.md\";\n";
        assert_eq!(found(&[SESSIONS, NUMBERED, ("a.rs", source)]), Vec::<String>::new());
        let table =
            ("docs/contracts/t.md", "| id | guarantee |\n|---|---|\n| LOG-1 | Whole records, SES-1 |\n");
        assert_eq!(found(&[SESSIONS, table, ("a.rs", "// LOG-1\n")]), Vec::<String>::new());
    }

    #[test]
    fn what_is_not_defined_is_told_with_its_place() {
        let source = "//! SES-1.\n\n// SES-9 and DECISIONS 24, 25.\n// `core.md` chapter 3\n";
        assert_eq!(
            found(&[SESSIONS, NUMBERED, ("a.rs", source)]),
            [
                "a.rs:3: `SES-9` is defined nowhere in docs/contracts/",
                "a.rs:3: `DECISIONS 25` is defined nowhere in docs/contracts/",
                "a.rs:4: `core.md` is not in the repository",
            ]
        );
        assert_eq!(
            found(&[("a.md", "[x](docs/x.md#y), [z](https://z.org/z.md), [t](#t)\n")]),
            ["a.md:1: `docs/x.md` is not in the repository"]
        );
    }

    #[test]
    fn one_definition_each() {
        let again = ("docs/contracts/t.md", "- **SES-1** Again.\n");
        assert_eq!(
            found(&[SESSIONS, again]),
            ["docs/contracts/t.md:1: `SES-1` is defined in docs/contracts/sessions.md:1 already"]
        );
    }
}
