//! The command that a call without one means: `zori -p TEXT` is `zori exec -p TEXT` (DECISIONS 6).

use zori_contract::args::Args;
use zori_contract::flag::Flag;
use zori_contract::flag::framework::{FORMAT, HELP, JSON, OUTPUT, OUTPUT_SCHEMA, SCHEMA, STREAM, VERSION};

use zori_setup::args::flags::{PROMPT, WITH_CHAT};

/// Returns the command: `exec` for a prompt, a lone `-` or events, the chat for anything else that goes with a prompt.
pub fn command(args: &Args, words: &[&str]) -> Option<&'static [&'static str]> {
    let prompt = args.has(&PROMPT) || words.contains(&"-");
    match () {
        () if prompt || wants_events(args) => Some(&["exec"]),
        () if WITH_CHAT.iter().any(|flag| args.has(flag)) => Some(&["chat"]),
        () => None,
    }
}

/// Returns whether the call asks for events, and not for something about the program: `zori --json` is a session for a
/// program.
fn wants_events(args: &Args) -> bool {
    let says = |flag: &Flag, value: &str| args.all(flag).iter().any(|said| said == value);
    let asks = args.has(&JSON) || args.has(&STREAM) || says(&FORMAT, "json") || says(&OUTPUT, "jsonl");
    asks && ![HELP, VERSION, SCHEMA, OUTPUT_SCHEMA].iter().any(|flag| args.has(flag))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use crate::program::ZORI;

    /// Compares the command, its arguments by name, and the codes of what is wrong.
    #[track_caller]
    fn check(line: &str, wanted: &str) {
        let argv: Vec<OsString> = line.split_whitespace().map(Into::into).collect();
        let parsed = zori_contract::parse::read(&ZORI, &argv);
        let mut said = vec![parsed.path.join(" ")];
        said.extend(parsed.args.iter().map(|(name, values)| format!("{name}={}", values.join(","))));
        said.extend(parsed.issues.iter().map(|issue| format!("{} {}", issue.param, issue.code.as_str())));
        assert_eq!(said.join("; "), wanted, "{line}");
    }

    #[test]
    fn without_a_command() {
        check("-p hi", "exec; prompt=hi");
        check("--model m -p hi -", "exec; PROMPT=-; model=m; prompt=hi");
        check("-yp hi --no-save", "exec; no-save=true; prompt=hi; yes=true");
        check("--prompt=hi", "exec; prompt=hi");
        check("-p hi --resume x", "exec; prompt=hi; resume=x");
        check("-p", "exec; prompt=; --prompt MISSING_VALUE");
        check("-", "exec; PROMPT=-");
        check("--image a.png", "chat; image=a.png");
        check("--model m", "; model=m");
        check("--help", "; help=true");
        check("--json", "exec; json=true");
        check("--bare --output jsonl --model m", "exec; bare=true; model=m; output=jsonl");
        check("-ojsonl", "exec; output=jsonl");
        check("--json --help", "; help=true; json=true");
        check("--output json", "; output=json");
        check("--keep", "; --keep UNKNOWN_ARGUMENT");
        check("", "");
    }

    #[test]
    fn before_a_command() {
        check("-p hi exec --no-save", "exec; no-save=true; prompt=hi");
        check("-p hi sessions -o plain resume x", "sessions resume; ID=x; output=plain; prompt=hi");
        check("--image a --record r exec -p hi", "exec; image=a; prompt=hi; record=r");
        check("--model exec exec -p hi", "exec; model=exec; prompt=hi");
        check("-p hi frobnicate", "; COMMAND UNKNOWN_COMMAND");
        check("-p hi sessions list", "sessions list; -p UNKNOWN_ARGUMENT");
        check("--keep demo", "demo; --keep UNKNOWN_ARGUMENT");
        check("exec -- -p", "exec; PROMPT=-p");
    }
}
