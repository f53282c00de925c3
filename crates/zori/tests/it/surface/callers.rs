//! `AGENTS.md`, the page for those who call zori, says what is true; and what shells load, they can load.

use std::path::Path;
use std::process::Command;

use zori::program::ZORI;
use zori_testkit::needs;
use zori_testkit::pty::{Pty, Size};
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

/// The flow of the page, line by line.
#[test]
fn the_workflow_runs() {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../AGENTS.md")).unwrap();
    let flow = page.split("\n## Workflow\n").nth(1).unwrap().split("```").nth(1).unwrap();
    let ok = || zori_testkit::anthropic::text("Done.");
    let (mut world, _model) = crate::world::with_model([ok(), ok()]);
    world.remove_var("ZORI_OUTPUT");
    std::fs::create_dir(world.work().join(".git")).unwrap();
    for line in flow.lines().filter_map(|line| line.strip_prefix("zori ")) {
        // A prompt stands between quotes, the rest has none.
        let words: Vec<&str> = line
            .split('"')
            .enumerate()
            .flat_map(|(n, part)| if n % 2 == 1 { vec![part] } else { part.split_whitespace().collect() })
            .collect();
        let answer = super::envelope(&world.run(&words).success());
        assert_eq!(answer["ok"], true, "{line}");
    }
}

/// O-044: the page and the README name the same way to install, which asks nothing, and how to verify it.
#[test]
fn how_to_install_is_said_alike() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for page in ["AGENTS.md", "README.md"] {
        let text = std::fs::read_to_string(root.join(page)).expect("the page is there");
        for part in ["cargo install --path crates/zori --locked", "zori --version", "zori doctor"] {
            assert!(text.contains(part), "{page}: {part}");
        }
    }
    // What the line names is there, and is called so.
    let manifest = std::fs::read_to_string(root.join("crates/zori/Cargo.toml")).expect("it is this package");
    assert!(manifest.contains("name = \"zori\"") && root.join("Cargo.lock").exists());
}

/// O-045: whatever is made for somebody else says which version made it.
#[test]
fn every_artifact_carries_the_version() {
    let world = bare();
    let version = env!("CARGO_PKG_VERSION");
    let named = format!("zori {version}");
    assert_eq!(world.run(&["--version"]).stdout(), format!("{named}\n"));
    for args in
        [&["manifest"][..], &["--schema"], &["sessions", "list", "--schema"], &["exec", "--output-schema"]]
    {
        let answer = super::envelope(&world.run(args).success());
        assert_eq!(answer["meta"]["tool_version"], version, "{args:?}");
        if args.len() == 1 {
            assert_eq!(answer["data"]["framework_version"], version, "{args:?}");
        }
    }
    assert!(
        world.run(&["man"]).stdout().lines().any(|line| line.starts_with(".TH") && line.contains(&named))
    );
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = world.run(&["completions", shell]).success().stdout();
        let at = script.lines().position(|line| line == format!("# {named}"));
        assert_eq!(at, Some(usize::from(shell == "zsh")), "{shell}");
    }
    for (format, ending) in [("markdown", "md"), ("json", "json")] {
        world.run(&["generate-skills", "--output-dir", format, "--skill-format", format]).success();
        for file in ["CONTEXT", "SKILL-exec"] {
            let text = world.read(format!("{format}/{file}.{ending}"));
            let said = [named.clone(), format!("version: {version}"), format!("_version\": \"{version}\"")];
            assert!(said.iter().any(|words| text.contains(words)), "{file}.{ending}");
        }
    }
}

/// How each shell that distributions package is asked to load `script` and to complete `zori sess`, and what it says.
const SHELLS: &[(&str, &str, &str)] = &[
    (
        "bash",
        "bash --norc -c 'source ./script; COMP_WORDS=(zori sess); COMP_CWORD=1; _zori zori sess zori; echo ${COMPREPLY[@]}'",
        "sessions\n",
    ),
    // Its candidates are shown by the line editor; that the function is there and bound is what a script can see.
    (
        "zsh",
        "zsh -f -c 'autoload -Uz compinit && compinit -u -D; source ./script; print $_comps[zori]; whence -w _zori'",
        "_zori\n_zori: function\n",
    ),
    (
        "fish",
        "fish --no-config -c 'source ./script; complete -C \"zori sess\"'",
        "sessions\tList, show, search, export, fork, rewind, remove and resume saved sessions\n",
    ),
];

#[test]
fn completions_load_in_bash() {
    completions_load_in("bash");
}

#[test]
fn completions_load_in_zsh() {
    completions_load_in("zsh");
}

#[test]
fn completions_load_in_fish() {
    completions_load_in("fish");
}

#[track_caller]
fn completions_load_in(shell: &str) {
    if needs::program(shell).is_none() {
        return;
    }
    let (_, line, says) = SHELLS.iter().find(|(name, ..)| *name == shell).expect("it is in the table");
    let world = bare();
    world.write("script", world.run(&["completions", shell]).success().stdout());
    let output = world.start(in_shell(&world, line, &[]), Stdin::Null, Stdout::Captured).finish().success();
    assert_eq!(output.stdout(), *says);
}

/// elvish loads completions only where it edits lines, so it gets a terminal.
#[test]
fn completions_load_in_elvish() {
    let Some(elvish) = needs::program("elvish") else { return };
    let world = bare();
    world.write("script", world.run(&["completions", "elvish"]).success().stdout());
    let mut command = Command::new(elvish);
    command.arg("-norc").current_dir(world.work()).env_clear().env("HOME", world.home()).env("TERM", "xterm");
    let mut pty = Pty::start(command, Size::CLASSIC, world.rewrite());
    pty.wait_for("\x1b[?2004h");
    pty.send("eval (slurp < script); echo it-is-a-(kind-of $edit:completion:arg-completer[zori])\r");
    pty.wait_for("it-is-a-fn");
}

/// No distribution packages PowerShell: its script is looked at here.
#[test]
fn completions_for_powershell() {
    let script = bare().run(&["completions", "powershell"]).success().stdout();
    let start: Vec<_> = script.lines().filter(|line| !line.is_empty()).take(7).collect();
    assert_eq!(
        start,
        [
            concat!("# zori ", env!("CARGO_PKG_VERSION")),
            "using namespace System.Management.Automation",
            "using namespace System.Management.Automation.Language",
            "Register-ArgumentCompleter -Native -CommandName 'zori' -ScriptBlock {",
            "    param($wordToComplete, $commandAst, $cursorPosition)",
            "    $commandElements = $commandAst.CommandElements",
            "    $command = @(",
        ]
    );
    assert_eq!(script.matches('{').count(), script.matches('}').count());
    assert!(script.contains("        'zori;sessions;list' {\n"));
}

/// PROV-2, F-063: who has no key is told every way to one.
#[test]
fn a_missing_key_names_every_way_in() {
    let output = bare().run(&["exec", "-p", "hi", "--provider", "anthropic", "--output", "json"]);
    let error = super::envelope(&output)["error"].clone();
    let facts =
        [&error["code"], &error["reason"], &error["reauth_env_var"], &error["auth_methods"][0]["name"]];
    assert_eq!(facts, ["AUTH_REQUIRED", "UNAUTHENTICATED", "ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"]);
    assert_eq!(error["reauth_command"], "zori auth login --provider anthropic --with-token");
    assert_eq!(output.code(), Some(8));
}
