//! The house rules as checks. Each is a line in [`CHECKS`] and a test below, so that `cargo test -p xtask` and
//! `cargo xtask tidy` judge alike. A finding says where, and what to do.

mod background;
mod citations;
mod code_map;
mod coverage;
mod dependencies;
mod fixtures;
mod layout;
mod outside;
mod product_graph;
mod scan;

use std::fmt;
use std::process::ExitCode;

use anyhow::Result;

use crate::docs;
use crate::workspace::Workspace;

/// A rule: its name, what it says, and the function that looks for offences.
struct Check {
    name: &'static str,
    about: &'static str,
    find: fn(&Workspace) -> Vec<Finding>,
}

const CHECKS: &[Check] = &[
    Check {
        name: "dependencies",
        about: "a crate uses only those of ours, and those of others, that the table allows",
        find: dependencies::find,
    },
    Check {
        name: "product_graph",
        about: "no crate that only tests want is part of the product",
        find: product_graph::find,
    },
    Check {
        name: "outside",
        about: "no library prints, or reads the environment, a clock or a random source",
        find: outside::find,
    },
    Check {
        name: "background",
        about: "what goes on beside a turn starts in `Workers::spawn`, or is listed with a reason",
        find: background::find,
    },
    Check {
        name: "layout",
        about: "files open with `//!`, hold no trailing space, no leftovers and no path of a machine",
        find: layout::find,
    },
    Check { name: "fixtures", about: "every fixture is explained or used", find: fixtures::find },
    Check {
        name: "coverage",
        about: "every tool, provider and command is called in a test or a fixture and named in the docs",
        find: coverage::find,
    },
    Check {
        name: "citations",
        about: "every cited id is defined in `docs/contracts/`, and every named document is there",
        find: citations::find,
    },
    Check {
        name: "code_map",
        about: "the code map of `docs/architecture.md` names the files there are, and every crate has a section and a README",
        find: code_map::find,
    },
    Check { name: "docs", about: "generated pages are current", find: docs::stale },
];

/// An offence: where, and what is wrong.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    path: String,
    line: Option<usize>,
    what: String,
}

impl Finding {
    /// An offence of a whole file.
    pub fn file(path: &str, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, what: what.into() }
    }

    /// An offence in a line, counted from 1.
    pub fn line(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: Some(line), what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.what),
            None => write!(f, "{}: {}", self.path, self.what),
        }
    }
}

/// Runs all checks; exit code 1 when one finds something.
pub fn chore(workspace: &Workspace, _args: &[String]) -> Result<ExitCode> {
    let mut clean = true;
    for check in CHECKS {
        let findings = (check.find)(workspace);
        println!("{} {}: {}", if findings.is_empty() { "ok  " } else { "FAIL" }, check.name, check.about);
        for finding in &findings {
            println!("       {finding}");
        }
        clean &= findings.is_empty();
    }
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_clean(name: &str) {
        let workspace = Workspace::load().unwrap();
        let check = CHECKS.iter().find(|check| check.name == name).unwrap();
        let findings: Vec<_> = (check.find)(&workspace).iter().map(ToString::to_string).collect();
        assert!(findings.is_empty(), "{}:\n{}", check.about, findings.join("\n"));
    }

    #[test]
    fn dependencies() {
        assert_clean("dependencies");
    }

    #[test]
    fn outside() {
        assert_clean("outside");
    }

    #[test]
    fn background() {
        assert_clean("background");
    }

    #[test]
    fn layout() {
        assert_clean("layout");
    }

    #[test]
    fn fixtures() {
        assert_clean("fixtures");
    }

    #[test]
    fn coverage() {
        assert_clean("coverage");
    }

    #[test]
    fn citations() {
        assert_clean("citations");
    }

    #[test]
    fn code_map() {
        assert_clean("code_map");
    }

    #[test]
    fn docs() {
        assert_clean("docs");
    }

    #[test]
    fn product_graph() {
        assert_clean("product_graph");
    }

    #[test]
    fn every_check_has_a_test() {
        let mut names: Vec<_> = CHECKS.iter().map(|check| check.name).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "background",
                "citations",
                "code_map",
                "coverage",
                "dependencies",
                "docs",
                "fixtures",
                "layout",
                "outside",
                "product_graph"
            ]
        );
    }
}
