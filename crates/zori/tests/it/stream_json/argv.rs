//! The command lines of both SDKs, and of those who call `claude -p`.

use serde_json::Value;
use zori_testkit::anthropic;

use super::{lines, told, user};
use crate::world::{with_model, world};

/// Everything the SDKs may write is taken; what has no effect says so once.
#[test]
fn all_flags_of_both_sdks() {
    let python: &[&str] = &[
        "--output-format",
        "stream-json",
        "--verbose",
        "--system-prompt",
        "",
        "--tools",
        "default",
        "--allowedTools",
        "Read,Bash(git log:*)",
        "--max-turns",
        "3",
        "--max-budget-usd",
        "1.5",
        "--disallowedTools",
        "WebFetch",
        "--task-budget",
        "9",
        "--model",
        "claude-haiku-4-5",
        "--fallback-model",
        "claude-sonnet-4-5",
        "--betas",
        "b",
        "--permission-prompt-tool",
        "stdio",
        "--permission-mode",
        "default",
        "--settings",
        "{}",
        "--add-dir",
        ".",
        "--mcp-config",
        "{\"mcpServers\":{}}",
        "--include-partial-messages",
        "--include-hook-events",
        "--strict-mcp-config",
        "--session-mirror",
        "--setting-sources=",
        "--plugin-dir",
        "p",
        "--thinking",
        "adaptive",
        "--thinking-display",
        "x",
        "--effort",
        "low",
        "--resume-drops-turn=1",
        "--input-format",
        "stream-json",
    ];
    let typescript: &[&str] = &[
        "--output-format",
        "stream-json",
        "--input-format",
        "stream-json",
        "--verbose",
        "--model=claude-haiku-4-5",
        "--max-turns=3",
        "--thinking=disabled",
        "--effort=high",
        "--allow-dangerously-skip-permissions",
        "--permission-mode=acceptEdits",
        "--agent=x",
        "--agents={}",
        "--debug-to-stderr",
        "--debug-file=f",
        "--await-initialize",
        "--no-session-persistence",
        "--setting-sources=user",
        "--plugin-dir-no-mcp=q",
        "--max-thinking-tokens=1024",
        "--replay-user-messages",
        "--settings",
        "{}",
        "--mcp-config",
        "{}",
    ];
    for (line, without) in [
        (python, "resume-drops-turn thinking-display betas plugin-dir task-budget session-mirror"),
        (typescript, "agent plugin-dir-no-mcp debug-file debug-to-stderr"),
    ] {
        let (world, _model) = with_model([anthropic::text("ok")]);
        let output = world.run_with_stdin(line, user("hi"));
        assert_eq!(output.code(), Some(0), "{output}");
        let said: Vec<_> = output.stderr().lines().map(str::to_owned).collect();
        let mut wanted: Vec<_> =
            without.split(' ').map(|flag| format!("Warning: `--{flag}` has no effect here")).collect();
        wanted.sort();
        let mut said: Vec<_> = said.into_iter().filter(|line| line.contains("no effect here")).collect();
        said.sort();
        assert_eq!(said, wanted, "{output}");
        assert!(
            !output.stdout().contains("WebFetch") || line == typescript,
            "a tool that is denied is not offered"
        );
    }
}

#[test]
fn the_other_formats() {
    let run = |line: &[&str], stdin: &str| {
        let (world, _model) = with_model([anthropic::text("Hello.")]);
        world.run_with_stdin(line, stdin)
    };
    for (line, stdin) in [
        (&["-p", "hi", "--output-format", "text"][..], ""),
        (&["--output-format", "text", "-p", "--model", "claude-haiku-4-5", "hi"], ""),
        (&["--output-format=text", "--print"], "hi"),
        (&["exec", "--output-format", "text", "hi"], ""),
    ] {
        assert_eq!(run(line, stdin).to_string(), "Hello.\n[exit status: 0]", "{line:?}");
    }
    let output = run(&["-p", "hi", "--output-format", "json"], "");
    let result: Vec<Value> = lines(&output.stdout());
    assert_eq!(
        (result.len(), &result[0]["result"], &result[0]["type"]),
        (1, &"Hello.".into(), &"result".into())
    );
    let output = run(&["-p", "hi", "--output-format", "stream-json"], "");
    insta::assert_snapshot!(told(&output), @r#"
    init
    says "Hello."
    over success "Hello." completed turns=1
    [exit status: 0]
    "#);
}

/// What is wrong with a command line is on standard error and nowhere else.
#[test]
fn command_lines_that_are_wrong() {
    let world = world();
    for (line, why) in [
        (
            &["--output-format", "xml", "-p", "x"][..],
            "`--output-format` takes text, json or stream-json, not `xml`",
        ),
        (&["--output-format", "json", "--frobnicate", "-p", "x"], "there is no option `--frobnicate`"),
        (
            &["--output-format", "json", "--input-format", "stream-json"],
            "`--input-format stream-json` needs `--output-format stream-json`, not `json`",
        ),
        (&["--output-format", "stream-json", "--mcp-config", "{"], "`--mcp-config` is not understood"),
        (
            &["--output-format", "stream-json", "--permission-mode", "fast", "-p", "x"],
            "`--permission-mode` cannot be `fast`",
        ),
        (&["--output-format", "stream-json"], "there is no prompt"),
    ] {
        let output = world.run_with_stdin(line, "");
        assert_eq!((output.stdout().as_str(), output.code()), ("", Some(2)), "{line:?} {output}");
        assert!(output.stderr().contains(why), "{line:?} {output}");
    }
}

#[test]
fn versions() {
    let world = world();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(world.run(&["-v"]).stdout(), format!("2.1.0 (zori {version})\n"));
}
