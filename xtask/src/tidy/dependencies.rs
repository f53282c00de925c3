//! Who may depend on whom. The table is the picture in `docs/architecture.md`; change both together.

use std::collections::BTreeSet;

use toml::Table;

use super::Finding;
use crate::workspace::Workspace;

/// What one crate may use.
struct Rule {
    name: &'static str,
    /// Crates of ours.
    ours: &'static [&'static str],
    /// Crates of others.
    others: &'static [&'static str],
}

const RULES: &[Rule] = &[
    Rule {
        name: "zori-core",
        ours: &[],
        // `base64` is how every wire and the session file carry an image.
        others: &["base64", "bytes", "futures-core", "serde_json", "thiserror", "unicode-width", "zeroize"],
    },
    // Nothing runs without a decision, so the loop knows the function that makes it (ADR 6).
    Rule {
        name: "zori-engine",
        ours: &["zori-core", "zori-policy"],
        // `rustix` for the random numbers of `SystemIds`.
        others: &["futures-core", "rustix", "serde_json", "tokio"],
    },
    // Decides from values alone; `regex` for the user's own patterns, because it is linear in what a model sends.
    Rule {
        name: "zori-policy",
        ours: &["zori-core", "zori-shell", "zori-spelling"],
        others: &["regex", "serde", "serde_json", "thiserror"],
    },
    Rule {
        name: "zori-providers",
        ours: &["zori-core", "zori-spelling"],
        others: &[
            "base64",
            "bytes",
            "futures-core",
            // The client's own part that chooses a proxy, to say which one was used.
            "hyper-util",
            "reqwest",
            "rustls",
            "serde",
            "serde_json",
            "thiserror",
            "tokio",
            "webpki-roots",
        ],
    },
    Rule {
        name: "zori-tools",
        ours: &["zori-core"],
        others: &[
            "globset",
            "grep-matcher",
            "grep-regex",
            "grep-searcher",
            // Letters composed and decomposed are the same in an edit; it is linked already, for host names.
            "icu_normalizer",
            "ignore",
            "libc",
            "rustix",
            "serde",
            "serde_json",
            // The hash of a workspace that a server's document names; it is linked already, for the audit log.
            "sha2",
            "similar",
            "thiserror",
            "tokio",
        ],
    },
    // Nothing of ours, so that what a text means depends on the text alone.
    Rule { name: "zori-shell", ours: &[], others: &[] },
    // `landlock` speaks the kernel's interface of that name, whose versions differ in what they can hold.
    Rule { name: "zori-sandbox", ours: &["zori-core"], others: &["landlock", "libc", "rustix", "thiserror"] },
    // `blake3` names a project's folder, `sha2` chains the audit log; both hashes are given by the formats.
    Rule {
        name: "zori-store",
        ours: &["zori-atomic", "zori-core", "zori-redact"],
        // `memchr` finds the ends of lines at the speed of memory; it is linked already.
        others: &["blake3", "memchr", "rustix", "serde", "serde_json", "sha2", "thiserror"],
    },
    // Owns SQLite (`rusqlite`, built from its one C file) and the calendar: `croner` reads cron lines, `jiff` has the time zones,
    // as one piece of bytes: which no machine has to have, and no start pays for. Nothing of ours: the callers bring values.
    Rule {
        name: "zori-index",
        ours: &[],
        others: &["blake3", "croner", "jiff", "rusqlite", "serde_json", "thiserror"],
    },
    // Owns `tree-sitter` and the grammars. Pure: a text in, its symbols and chunks out.
    Rule {
        name: "zori-syntax",
        ours: &[],
        others: &[
            "tree-sitter",
            "tree-sitter-bash",
            "tree-sitter-c",
            "tree-sitter-cpp",
            "tree-sitter-go",
            "tree-sitter-java",
            "tree-sitter-javascript",
            "tree-sitter-json",
            "tree-sitter-md",
            "tree-sitter-python",
            "tree-sitter-rust",
            "tree-sitter-toml-ng",
            "tree-sitter-typescript",
        ],
    },
    // `lz4_flex` packs contents, `libc` takes a lease on a file before it is unlinked, `ignore` is the matcher alone.
    Rule {
        name: "zori-undo",
        ours: &["zori-core"],
        others: &[
            "base64",
            "blake3",
            "ignore",
            "libc",
            "lz4_flex",
            "rustix",
            "serde",
            "serde_json",
            "similar",
            "thiserror",
        ],
    },
    // Reads what people and projects bring: bounded files, no links out. `toml` for the commands of other agents, `blake3` for what was approved.
    Rule { name: "zori-extensions", ours: &["zori-core"], others: &["blake3", "rustix", "serde", "toml"] },
    // Owns `age`, which brings many small crates; nobody else reads or writes the file.
    Rule {
        name: "zori-vault",
        ours: &["zori-atomic", "zori-core"],
        others: &["age", "serde_json", "thiserror", "zeroize"],
    },
    // `similar` for the patches that clients of the Claude protocol draw.
    Rule {
        name: "zori-frontends",
        ours: &["zori-core", "zori-redact"],
        others: &["serde", "serde_json", "similar"],
    },
    // The messages of the protocol are the official crate's; `tokio` for the answers that are waited for.
    Rule {
        name: "zori-acp",
        ours: &["zori-core", "zori-redact"],
        others: &["agent-client-protocol", "serde", "serde_json", "tokio"],
    },
    // `hyper` takes the connections of `mcp serve --http`; what the requests mean is `rmcp`'s. All three are linked already, for
    // the way to the models.
    Rule {
        name: "zori-mcp",
        // What looks like a secret is no description of a server.
        ours: &["zori-atomic", "zori-core", "zori-redact"],
        others: &[
            "base64",
            // What a server is known by, and what a tool was when it was approved.
            "blake3",
            "bytes",
            "futures-core",
            "http-body-util",
            "hyper",
            "hyper-util",
            "rmcp",
            "serde",
            "serde_json",
            "tokio",
        ],
    },
    // Owns the credential stores. It knows the providers' catalogue and their token endpoints, and no front end.
    Rule {
        name: "zori-auth",
        ours: &["zori-core", "zori-providers"],
        others: &["keyring", "rustix", "serde", "serde_json", "sha2", "thiserror", "tokio"],
    },
    // The chat on a terminal, as values. `pulldown-cmark` reads answers, `similar` compares lines, `nucleo-matcher` ranks names.
    Rule {
        name: "zori-tui",
        ours: &["zori-core"],
        others: &[
            "nucleo-matcher",
            "pulldown-cmark",
            "serde_json",
            "similar",
            "thiserror",
            "unicode-segmentation",
            "unicode-width",
        ],
    },
    Rule { name: "zori-redact", ours: &["zori-core"], others: &["aho-corasick", "regex", "serde_json"] },
    // Which known name was meant: one measure for all who ask, so it depends on nothing.
    Rule { name: "zori-spelling", ours: &[], others: &[] },
    // Files of our own, replaced in one step: one way for all who keep some.
    Rule { name: "zori-atomic", ours: &[], others: &["rustix"] },
    // What any command line needs, and nothing of agents. The signals of the example are for its tests.
    Rule {
        name: "zori-contract",
        ours: &["zori-atomic", "zori-spelling"],
        others: &[
            "base64",
            "clap",
            "clap_complete",
            "clap_mangen",
            // Signals to a child's whole group, and the name of an error that the standard library has none for.
            "rustix",
            "serde",
            "serde_json",
            "sha2",
            "signal-hook",
        ],
    },
    // Where a session lives: the only user of the engine outside tests. It brings the parts together and owns none of them.
    Rule {
        name: "zori-host",
        ours: &[
            "zori-core",
            "zori-engine",
            "zori-extensions",
            "zori-frontends",
            "zori-index",
            "zori-mcp",
            "zori-policy",
            "zori-providers",
            "zori-redact",
            "zori-sandbox",
            "zori-store",
            "zori-syntax",
            "zori-tools",
            "zori-undo",
        ],
        // `blake3` says whether a source file is another one than the index knows.
        others: &["blake3", "futures-core", "rustix", "serde_json", "thiserror", "tokio"],
    },
    // The input halves of the machine protocols; exit codes and failures are the contract's.
    Rule {
        name: "zori-serve",
        ours: &[
            "zori-acp",
            "zori-contract",
            "zori-core",
            "zori-extensions",
            "zori-frontends",
            "zori-host",
            "zori-mcp",
            "zori-policy",
            "zori-redact",
            "zori-store",
            "zori-tools",
        ],
        // The validator is for tests: our own check of schemas is held against it.
        others: &["futures-core", "jsonschema", "serde", "serde_json", "tokio"],
    },
    // The binary's side that every command shares: argv, environment, files and keys to settings. `regex` checks the user's patterns, `sha2` stands for a prompt in the audit
    // log, `signal-hook` hears signals.
    Rule {
        name: "zori-setup",
        ours: &[
            "zori-atomic",
            "zori-auth",
            "zori-contract",
            "zori-core",
            "zori-extensions",
            "zori-frontends",
            "zori-host",
            "zori-index",
            "zori-mcp",
            "zori-policy",
            "zori-providers",
            "zori-redact",
            "zori-serve",
            "zori-spelling",
            "zori-store",
            "zori-tools",
            "zori-vault",
        ],
        others: &[
            "futures-core",
            "regex",
            "rustix",
            "serde",
            "serde_json",
            "sha2",
            "signal-hook",
            "tokio",
            "toml",
        ],
    },
    // The chats; owns the line editor.
    Rule {
        name: "zori-chat",
        ours: &[
            "zori-auth",
            "zori-contract",
            "zori-core",
            "zori-extensions",
            "zori-frontends",
            "zori-host",
            "zori-index",
            "zori-mcp",
            "zori-policy",
            "zori-providers",
            "zori-redact",
            "zori-serve",
            "zori-setup",
            "zori-spelling",
            "zori-store",
            "zori-tools",
            "zori-tui",
        ],
        others: &["base64", "reedline", "rustix", "serde", "serde_json", "signal-hook", "tokio", "toml"],
    },
    // `regex` finds words in sessions without caring for capitals, `memchr` their lines, at the speed of the disk; the validator is for tests.
    Rule {
        name: "zori",
        ours: &[
            "zori-acp",
            "zori-auth",
            "zori-chat",
            "zori-contract",
            "zori-core",
            "zori-extensions",
            "zori-frontends",
            "zori-host",
            "zori-index",
            "zori-mcp",
            "zori-policy",
            "zori-providers",
            "zori-redact",
            "zori-sandbox",
            "zori-serve",
            "zori-setup",
            "zori-store",
            "zori-tools",
            "zori-vault",
        ],
        // Its tests also drive it with the client of the editors' protocol, which wants `futures`; both are built anyway.
        others: &[
            "agent-client-protocol",
            "futures",
            "jsonschema",
            "memchr",
            "regex",
            "rustix",
            "serde",
            "serde_json",
            "tokio",
        ],
    },
    Rule {
        name: "zori-testkit",
        ours: &["zori-core"],
        // `rustls` is a server whose certificate nobody knows; `toml` reads tables of cases; `avt` and `vt100` are terminals that reflow and that do not.
        others: &[
            "avt",
            "jsonschema",
            "rustix",
            "rustls",
            "serde",
            "serde_json",
            "sha2",
            "tempfile",
            "toml",
            "vt100",
        ],
    },
    // Built by cargo-fuzz alone, in a workspace of its own; libFuzzer is what it is for. The settings are parsed by `zori-setup`; `similar`
    // makes the patches that must fit.
    Rule {
        name: "zori-fuzz",
        ours: &[
            "zori-acp",
            "zori-core",
            "zori-extensions",
            "zori-frontends",
            "zori-mcp",
            "zori-policy",
            "zori-providers",
            "zori-setup",
            "zori-store",
            "zori-tools",
            "zori-tui",
        ],
        others: &["libfuzzer-sys", "serde_json", "similar", "tokio"],
    },
    // They also time the event renderer by itself, which redacts. They compare our search with the libraries beneath it, hence their crates, and play a server's answer
    // without a network, hence `bytes` and `futures-core`; `anyhow` is theirs alone.
    Rule {
        name: "xtask",
        ours: &[
            "zori",
            "zori-contract",
            "zori-core",
            "zori-frontends",
            "zori-index",
            "zori-policy",
            "zori-providers",
            "zori-redact",
            "zori-sandbox",
            "zori-setup",
            "zori-testkit",
            "zori-tools",
            "zori-tui",
            "zori-undo",
        ],
        others: &[
            "anyhow",
            "arrayvec",
            "base64",
            "bytes",
            // Packages are compressed archives.
            "flate2",
            // Letters of the pictures of screens.
            "fontdue",
            "futures-core",
            "globset",
            "grep-matcher",
            "grep-regex",
            "grep-searcher",
            "ignore",
            "serde_json",
            "sha2",
            "tar",
            "tempfile",
            "thiserror",
            "tokio",
            "toml",
        ],
    },
];

/// What tests of every crate may use on top.
const FOR_TESTS: &[&str] = &[
    // The second opinion on the grammar of shells.
    "brush-parser",
    "futures-core",
    "insta",
    "proptest",
    "rustix",
    "serde_json",
    "tempfile",
    "tokio",
    "vt100",
    "zori-testkit",
];

/// Looks at every manifest.
pub fn find(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for file in workspace.files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let table: Table = match file.text.parse() {
            Ok(table) => table,
            Err(error) => {
                findings.push(Finding::file(&file.path, format!("does not parse: {error}")));
                continue;
            }
        };
        let name =
            table.get("package").and_then(|p| p.get("name")).and_then(|n| n.as_str()).unwrap_or_default();
        seen.insert(name.to_owned());
        match RULES.iter().find(|rule| rule.name == name) {
            Some(rule) => {
                findings.extend(offences(rule, &table).into_iter().map(|w| Finding::file(&file.path, w)))
            }
            None => findings.push(Finding::file(&file.path, "has no rule in xtask/src/tidy/dependencies.rs")),
        }
        let elsewhere = ["xtask/Cargo.toml", "fuzz/Cargo.toml"].contains(&file.path.as_str());
        if !file.path.starts_with(&format!("crates/{name}/")) && !elsewhere {
            findings.push(Finding::file(&file.path, "a crate's folder has the crate's name"));
        }
    }
    for rule in RULES.iter().filter(|rule| !seen.contains(rule.name)) {
        let what = format!("has a rule for `{}`, which does not exist", rule.name);
        findings.push(Finding::file("xtask/src/tidy/dependencies.rs", what));
    }
    findings
}

fn offences(rule: &Rule, manifest: &Table) -> Vec<String> {
    let mut found = Vec::new();
    // A workspace of its own has nothing to take versions and lints from.
    let alone = manifest.contains_key("workspace");
    for (section, for_tests) in
        [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
    {
        let Some(dependencies) = manifest.get(section).and_then(|d| d.as_table()) else { continue };
        for (name, value) in dependencies {
            let name = name.as_str();
            let allowed = rule.ours.contains(&name)
                || rule.others.contains(&name)
                || (for_tests && FOR_TESTS.contains(&name));
            if !allowed {
                found.push(format!("must not use `{name}` in [{section}]"));
            }
            if !alone && value.get("workspace").and_then(|w| w.as_bool()) != Some(true) {
                found.push(format!("names a version of `{name}`: versions live in the root manifest"));
            }
        }
    }
    let inherits = manifest.get("lints").and_then(|l| l.get("workspace")).and_then(|w| w.as_bool());
    if !alone && inherits != Some(true) {
        found.push("does not take the workspace's lints".to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_in_the_table_is_found() {
        let manifest = "[dependencies]\nzori-engine.workspace = true\nserde_json = \"1\"\n\
            [dev-dependencies]\ninsta.workspace = true\nreqwest.workspace = true\n";
        let rule = Rule { name: "x", ours: &["zori-core"], others: &["serde_json"] };
        assert_eq!(
            offences(&rule, &manifest.parse().unwrap()),
            [
                "names a version of `serde_json`: versions live in the root manifest",
                "must not use `zori-engine` in [dependencies]",
                "must not use `reqwest` in [dev-dependencies]",
                "does not take the workspace's lints",
            ]
        );
    }
}
