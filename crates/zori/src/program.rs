//! The program as a value, once for each name it goes by: the tables of `commands.rs` and `args/flags.rs` put together.

use zori_contract::command::Example;
use zori_contract::program::{NoCommand, Program};

use crate::commands::{COMMANDS, GROUPS, example};
use crate::rewrite::{implied, people};
use zori_setup::app::App;
use zori_setup::args::flags;
use zori_setup::error;
use zori_setup::profile::{self, Profile};

/// Returns the tables that a profile's name stands for.
pub fn of(profile: &Profile) -> &'static Program<App> {
    let program = PROGRAMS.iter().find(|program| program.name == profile.name);
    program.expect("each profile has a program of its name, as a test says")
}

/// The program under each of its names.
const PROGRAMS: &[&Program<App>] = &[&ZORI, &ZDX, &ZEPH, &YUME, &A0];

/// What the names have in common, and what holds where a name says nothing else.
const BASE: Program<App> = Program {
    name: "zori",
    version: env!("CARGO_PKG_VERSION"),
    about: "A terminal coding agent: one engine, every front end",
    prefix: profile::ZORI.prefix,
    commands: COMMANDS,
    groups: GROUPS,
    flags: flags::GLOBAL,
    errors: error::ALL,
    variables: VARIABLES,
    renamed: &[],
    no_command: NoCommand::Command { path: &["chat"], anywhere: false },
    plain: false,
    note: NOTE,
    examples: &[],
    unknown: Some("for a prompt: `zori -p TEXT`"),
    audit_log: Some("$ZORI_HOME/audit.jsonl"),
    ahead: flags::WITH_CHAT,
    implied: implied::command,
    rewrite: people::rewrite,
};

/// The program under its own name.
pub static ZORI: Program<App> = Program { examples: EXAMPLES, ..BASE };

/// The program as `zdx` users know it: text unless asked, and a chat from a pipe, too (DECISIONS 5, 19).
pub static ZDX: Program<App> = Program {
    name: "zdx",
    about: "A terminal coding agent (zori under the name zdx)",
    prefix: profile::ZDX.prefix,
    no_command: NoCommand::Command { path: &["chat"], anywhere: true },
    plain: true,
    unknown: Some("for a prompt: `zdx -p TEXT`"),
    rewrite: people::rewrite_flags,
    ..BASE
};

/// The program as `zeph` users know it: all as `zori` has it, variables and files included (DECISIONS 19).
pub static ZEPH: Program<App> = Program {
    name: "zeph",
    about: "A terminal coding agent (zori under the name zeph)",
    unknown: Some("for a prompt: `zeph -p TEXT`"),
    ..BASE
};

/// The program as the Yume GUI starts it: always by a command (DECISIONS 19).
pub static YUME: Program<App> = Program {
    name: "yume-cli",
    about: "A coding agent for the Yume GUI (zori under the name yume-cli)",
    prefix: profile::YUME.prefix,
    no_command: NoCommand::Refused("a GUI starts `yume-cli start`; `yume-cli start --help` says how"),
    note: "A GUI starts `yume-cli start`; the other commands are those of `zori`.\n`--help --all` shows every option.",
    unknown: Some("a GUI starts `yume-cli start`"),
    rewrite: people::rewrite_gui,
    ..BASE
};

/// The program for an Agent Zero server (DECISIONS 19). The bare call opens the panel.
pub static A0: Program<App> = Program {
    name: "a0",
    about: "A local operator for an Agent Zero server (zori under the name a0)",
    note: "Without a command and at a terminal this opens the panel (`tui`) with the provider agent-zero; `chat` is the chat.\n\
           `--help --all` shows every option.",
    no_command: NoCommand::Command { path: &["tui"], anywhere: false },
    unknown: Some("for a prompt: `a0 -p TEXT`"),
    examples: A0_EXAMPLES,
    ..BASE
};

const NOTE: &str = "Without a command and at a terminal this opens the chat; `-p TEXT` is `exec -p TEXT`.\n\
                    `--help --all` shows every option.";

const EXAMPLES: &[Example] = &[
    example("watch it work, without a key", "zori demo"),
    example("ask; the answer is on stdout", "zori -p \"What does this project do?\""),
    example("a pipe goes with the prompt", "git diff | zori -p \"Review this change\""),
    example("chat about it; `:q` leaves", "zori \"fix the failing test\""),
    example("go on with the latest session of this folder", "zori -c"),
    example("what is missing here", "zori doctor"),
];

const A0_EXAMPLES: &[Example] = &[
    example("watch it work, without a server", "a0 demo"),
    example("ask; the answer is on stdout", "a0 -p \"What does this project do?\""),
    example("what the server's agent is told of this folder", "a0 context show"),
    example("take over the settings of another client", "a0 config import config.yaml"),
    example("what is missing here", "a0 doctor"),
];

/// The variables it reads beside the framework's; a name that begins with `_` is the program's own.
const VARIABLES: &[(&str, &str)] = &[
    ("_HOME", "the base directory; `config path` shows which one it is without"),
    (
        "ZORI_PERMISSION_MODE",
        "what runs without a question; also `ZORI_SECURITY_MODE`, `AGENT_SECURITY_MODE`",
    ),
    ("ZORI_VAULT", "the folder of the vault; without it the base directory"),
    (
        "ZORI_MCP_TOKEN",
        "the token that clients of `mcp serve --http` show; without it one is made and said once",
    ),
    ("RUST_LOG", "log lines on standard error: error, warn, info, debug or trace; `zori=LEVEL` among others"),
    ("ZORI_TRACE", "a file that is told which background workers run, for tests"),
    (
        "CLAUDE_CODE_MAX_RETRIES",
        "how often a failed request is tried again, in the Claude protocol and under `start`",
    ),
    ("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1: say in the Claude protocol when a turn runs"),
    ("ACCESSIBLE", "1: the chat is the line chat, for screen readers"),
    ("REDUCE_MOTION", "not empty: nothing moves by itself in the chat"),
    ("VISUAL", "the editor for drafts; else `EDITOR`"),
    ("HOME", "the home directory"),
    ("XDG_CONFIG_HOME", "where base directories are"),
    ("PATH", "where programs are"),
    ("TMPDIR", "where temporary files go"),
    ("HTTP_PROXY", "the proxy for http"),
    ("HTTPS_PROXY", "the proxy for https"),
    ("NO_PROXY", "which hosts are reached without a proxy"),
    ("SSL_CERT_FILE", "certificates to trust beside the built-in ones"),
    ("REQUESTS_CA_BUNDLE", "more certificates to trust"),
    (
        "AGENTZERO_API_URL",
        "the address of an Agent Zero server; its other keys have variables, too: `AGENTZERO_STREAM` and so on",
    ),
    ("ANTHROPIC_API_KEY", "the key of Anthropic; each provider has its own, as `auth status` shows"),
];

#[cfg(test)]
mod tests {
    use zori_contract::parse;

    use super::*;
    use zori_setup::audit;

    /// What a profile says of its program is what the program is.
    #[test]
    fn a_program_for_each_profile() {
        for profile in profile::ALL {
            let program = of(profile);
            let told = (program.name, program.prefix, program.no_command.anywhere().is_some());
            assert_eq!(told, (profile.name, profile.prefix, profile.chats_on_a_pipe), "{}", profile.name);
        }
    }

    fn check(argv: &[&str], wanted: &str) {
        let argv: Vec<_> = argv.iter().map(Into::into).collect();
        assert_eq!(audit::shown(&parse::read(&ZORI, &argv).words), wanted);
    }

    #[test]
    fn prompts_are_length_and_hash() {
        let hi = "[2 bytes, sha256 8f434346648f6b96]";
        check(&["exec", "-p", "hi", "--model", "m"], &format!("exec -p {hi} --model m"));
        check(&["-phi"], &format!("-p{hi}"));
        check(&["exec", "-yphi"], &format!("exec -yp{hi}"));
        check(&["exec", "-yp=hi"], &format!("exec -yp={hi}"));
        check(&["exec", "-yp", "hi"], &format!("exec -yp {hi}"));
        check(&["-phi", "exec", "-yphi"], &format!("-p{hi} exec -yp{hi}"));
        check(&["exec", "--prompt=hi"], &format!("exec --prompt={hi}"));
        check(&["exec", "--append-system-prompt", "hi"], &format!("exec --append-system-prompt {hi}"));
        check(
            &["--system-prompt", "hi", "exec", "-p", "-"],
            "--system-prompt [2 bytes, sha256 8f434346648f6b96] exec -p [1 bytes, sha256 3973e022e93220f9]",
        );
        // Claude Code takes the prompt as an argument.
        check(&["--output-format=stream-json", "hi"], &format!("exec --output-format=stream-json {hi}"));
        check(&["--model=m", "-o", "plain"], "--model=m -o plain");
        check(&["handoff", "--goal", "hi"], &format!("handoff --goal {hi}"));
        check(&["exec", "--raw-payload=hi"], &format!("exec --raw-payload={hi}"));
    }

    /// VLT-5: what `mcp add` refuses because it is a secret is not kept by the log of commands.
    #[test]
    fn secrets_on_the_command_line() {
        let hidden = "[REDACTED]";
        check(
            &["mcp", "add", "s", "--env=MODE=fast", "--env", "HOME", "--", "x", "--api-key", "hunter22"],
            &format!("mcp add s --env=MODE={hidden} --env HOME -- x --api-key {hidden}"),
        );
        check(
            &["mcp", "add", "s", "--header", "Authorization: Bearer hunter22", "--header", "X=vault:x"],
            &format!("mcp add s --header Authorization={hidden} --header X=vault:x"),
        );
        check(
            &["mcp", "add", "s", "--url", "https://x.example/?token=hunter22&a=1"],
            &format!("mcp add s --url https://x.example/?token={hidden}&a=1"),
        );
        check(
            &["exec", "--mcp-config", r#"{"mcpServers":{"s":{"env":{"TOKEN":"hunter22"}}}}"#],
            &format!(r#"exec --mcp-config {{"mcpServers":{{"s":{{"env":{{"TOKEN":"{hidden}"}}}}}}}}"#),
        );
    }
}
