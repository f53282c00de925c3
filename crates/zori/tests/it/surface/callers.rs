//! `AGENTS.md`, the page for those who call zori, says what is true; and what shells load, they can load.

use std::path::Path;
use std::process::Command;

use zori::program::ZORI;
use zori_testkit::running::{Stdin, Stdout};

use super::bare;
use crate::world::in_shell;

/// O-043, O-046.
#[test]
fn the_page_is_true() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../AGENTS.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let version = format!("<!-- cli-version: {} -->\n", env!("CARGO_PKG_VERSION"));
    assert!(page.starts_with(&version), "{page}");
    assert!(page.contains(bare().run(&["--version"]).stdout().trim()));
    for section in [
        "Canonical Invocation",
        "Non-Interactive Flags",
        "Environment Variables",
        "Input Conventions",
        "Installation",
        "CI Validation",
    ] {
        assert!(page.contains(&format!("\n## {section}\n")), "{section}");
    }
    let own = ZORI.commands.iter().flat_map(|command| ZORI.own_flags(command));
    let flags: Vec<_> = ZORI.global_flags().into_iter().chain(own).collect();
    let variables: Vec<_> = ZORI.all_variables().into_iter().map(|(name, _)| name).collect();
    for row in page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()) {
        match row.strip_prefix("--") {
            Some(flag) => assert!(flags.iter().any(|known| known.is_called(flag)), "{row}"),
            None => assert!(variables.iter().any(|known| known == row), "{row}"),
        }
    }
}

/// In the shell itself where the machine has it; each is at least a script of its own.
#[test]
fn completions_load_in_their_shells() {
    let world = bare();
    let mut seen = Vec::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = world.run(&["completions", shell]).success().stdout();
        assert!(script.contains("sessions") && !seen.contains(&script), "{shell}");
        seen.push(script.clone());
        let there = Command::new(shell).arg("--version").stdin(std::process::Stdio::null()).output().is_ok();
        if matches!(shell, "bash" | "zsh" | "fish") && there {
            world.write("script", script);
            let line = match shell {
                // Its completions need the system they hook into, which a person's start-up file loads.
                "zsh" => "zsh -fc 'autoload -U compinit && compinit -D && . ./script'".to_owned(),
                _ => format!("{shell} script"),
            };
            let command = in_shell(&world, &line, &[]);
            assert_eq!(
                world.start(command, Stdin::Null, Stdout::Captured).finish().to_string(),
                "[exit status: 0]",
                "{shell}"
            );
        }
    }
}

/// PROV-2, F-063: who has no key is told every way to one.
#[test]
fn a_missing_key_names_every_way_in() {
    let output = bare().run(&["exec", "-p", "hi", "--provider", "anthropic", "--output", "json"]);
    let error = super::envelope(&output)["error"].clone();
    let facts =
        [&error["code"], &error["reason"], &error["reauth_env_var"], &error["auth_methods"][0]["name"]];
    assert_eq!(facts, ["AUTH_REQUIRED", "UNAUTHENTICATED", "ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"]);
    assert_eq!(error["reauth_command"], "zori auth login --provider anthropic");
    assert_eq!(output.code(), Some(8));
}
