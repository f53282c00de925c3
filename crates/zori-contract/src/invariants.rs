//! What must hold of a program's tables. A test of the program calls [`check`] and finds nothing.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::command::Command;
use crate::error::ErrorKind;
use crate::exit::{Danger, Exit, ExitEntry, SideEffects};
use crate::flag::{Flag, framework};
use crate::help;
use crate::kind::Kind;
use crate::mode::Class;
use crate::program::Program;
use crate::redact;

/// Returns every offence, one line each.
pub fn check<A>(program: &Program<A>) -> Vec<String> {
    let mut found = Vec::new();
    let mut names = BTreeSet::new();
    for command in program.commands {
        let name = command.name();
        if !names.insert(name.clone()) {
            found.push(format!("`{name}` is there twice"));
        }
        let offences = command_offences(program, command);
        found.extend(offences.into_iter().map(|what| format!("`{name}`: {what}")));
    }
    let mut codes = BTreeSet::new();
    for kind in program.all_errors() {
        if !codes.insert(kind.code) {
            found.push(format!("{} is there twice", kind.code));
        }
        found.extend(error_offences(program, kind).into_iter().map(|what| format!("{}: {what}", kind.code)));
    }
    for (old, new) in program.renamed {
        if !is_command(program, new) {
            found.push(format!("`{old}` is said to be `{new}` today, which is no command"));
        }
    }
    found
}

fn command_offences<A>(program: &Program<A>, command: &Command<A>) -> Vec<String> {
    let mut found = Vec::new();
    if !(1..=2).contains(&command.path.len()) {
        found.push("a command has one word or two".to_owned());
    }
    if command.about.is_empty() || command.about.ends_with('.') {
        found.push("says what it does in one line without full stop".to_owned());
    }
    let exits = command.exit_map();
    if !exits.contains(&Exit::Success) {
        found.push("its exit map has no 0".to_owned());
    }
    for exit in exits {
        let offence = exit_offence(exit.code(), exit.entry(command.danger));
        found.extend(offence.map(|what| format!("{}: {what}", exit.name())));
    }
    let conversation = matches!(command.class, Class::Interactive | Class::Protocol);
    let own_way = command.flags.iter().any(|flag| flag.long == framework::DRY_RUN.long);
    if command.danger != Danger::Safe && !conversation && command.preview.is_none() && !own_way {
        found.push("it changes something and has no preview".to_owned());
    }
    if command.asks && command.preview.is_none() {
        found.push("it asks and has nothing to show".to_owned());
    }
    if command.safe_default && (command.preview.is_none() || command.danger == Danger::Safe) {
        found.push("it is only shown by default, and there is nothing to show".to_owned());
    }
    let safe = command.danger == Danger::Safe && command.changes_with.is_none();
    if safe && (command.preview.is_some() || command.idempotent) {
        found.push("it changes nothing: there is nothing to preview or to do once".to_owned());
    }
    if let Some(flag) = command.changes_with
        && !command.flags.iter().any(|known| known.long == flag.long)
    {
        found.push(format!("it changes something with `{}`, which it does not take", flag.param()));
    }
    if command.list && command.id_field.is_none() {
        found.push("it is a list and names no field with the id".to_owned());
    }
    if serde_json::from_str::<Map<String, Value>>(command.output_schema).is_err() {
        found.push("its output schema is no JSON object".to_owned());
    }
    if serde_json::from_str::<Map<String, Value>>(command.declares).is_err() {
        found.push("its declarations are no JSON object".to_owned());
    }
    if !(2..=4).contains(&command.examples.len()) {
        found.push("it has 2 to 4 examples".to_owned());
    }
    for example in command.examples {
        let call = format!("{} {}", program.name, command.name());
        if !example.command.contains(&call) {
            found.push(format!("the example `{}` does not call `{call}`", example.command));
        }
    }
    let mut seen = BTreeSet::new();
    for flag in help::flags(program, command) {
        let shorts = flag.short.map(|short| short.to_string());
        for name in
            std::iter::once(flag.long).chain(flag.aliases.iter().copied()).map(str::to_owned).chain(shorts)
        {
            if !seen.insert(name.clone()) {
                found.push(format!("two flags are called `{name}`"));
            }
        }
        found.extend(flag_offences(&flag));
    }
    for (n, arg) in command.args.iter().enumerate() {
        if arg.many && n + 1 < command.args.len() {
            found.push(format!("`{}` takes all that follows and is not the last", arg.name));
        }
        if let Some(pattern) = arg.kind.pattern() {
            found.extend(unanchored(arg.name, pattern.regex));
        }
    }
    found
}

/// Says what is wrong with a code in an exit map: the promises of the table, whoever made the entry.
fn exit_offence(code: u8, entry: ExitEntry) -> Option<&'static str> {
    let nothing_done = entry.side_effects == SideEffects::None;
    match code {
        // 14 to 63 are for the framework, 64 to 78 are those of `sysexits.h`, 79 to 125 are for one command alone: this closed
        // table has none of them. A shell uses the others for itself, but for two signals.
        14.. if !matches!(code, 130 | 143) => Some("the code is none of the table's"),
        _ if entry.retryable && !nothing_done => Some("it can be repeated although something was changed"),
        2 if !nothing_done => Some("it is a rejection, and something was changed"),
        3 if entry.retryable => Some("what was done in part cannot be repeated"),
        _ if !(1..=120).contains(&entry.description.chars().count()) => {
            Some("it is described in 1 to 120 characters")
        }
        _ => None,
    }
}

fn flag_offences(flag: &Flag) -> Vec<String> {
    let mut found = Vec::new();
    let takes_value = !matches!(flag.kind, Kind::Switch | Kind::SecretVar | Kind::Path | Kind::Int { .. });
    if takes_value && redact::is_secret(flag.long) {
        found.push(format!("`--{}` takes a secret on the command line", flag.long));
    }
    if matches!(flag.kind, Kind::Switch) != flag.value.is_empty() {
        found.push(format!("`--{}` has a value or the name of one, not both", flag.long));
    }
    if let Some(pattern) = flag.kind.pattern() {
        found.extend(unanchored(flag.long, pattern.regex));
    }
    found
}

fn unanchored(name: &str, regex: &str) -> Option<String> {
    (!regex.starts_with('^') || !regex.ends_with('$'))
        .then(|| format!("the pattern of `{name}` is not anchored"))
}

fn error_offences<A>(program: &Program<A>, kind: &ErrorKind) -> Vec<String> {
    let mut found = Vec::new();
    let good = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    if kind.code.len() < 2 || !kind.code.as_bytes()[0].is_ascii_uppercase() || !kind.code.bytes().all(good) {
        found.push("a code is capitals, digits and underscores".to_owned());
    }
    if kind.exit == Exit::Success {
        found.push("a failure does not end with 0".to_owned());
    }
    if kind.retryable() && kind.exit.side_effects() != SideEffects::None {
        found.push("it can be repeated although something was changed".to_owned());
    }
    if kind.exit == Exit::Usage && kind.fix_required.is_none() {
        found.push("the caller is not told what to correct".to_owned());
    }
    if let Some(fix) = kind.fix_command {
        if fix.contains(['<', '>', '$', '|', ';', '&', '`']) {
            found.push("its command cannot be run as it is".to_owned());
        }
        match program.commands.iter().find(|command| starts_with(fix, &command.name())) {
            Some(command) if command.danger == Danger::Destructive => {
                found.push("its command destroys".to_owned())
            }
            Some(_) => {}
            None => found.push(format!("`{fix}` is no command")),
        }
    }
    found
}

fn is_command<A>(program: &Program<A>, call: &str) -> bool {
    program.commands.iter().any(|command| starts_with(call, &command.name()))
}

fn starts_with(call: &str, name: &str) -> bool {
    call == name || call.strip_prefix(name).is_some_and(|rest| rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Example;
    use crate::flag::Positional;
    use crate::kind::Pattern;
    use crate::program::NoCommand;
    use crate::reply::Reply;

    const OUT: Flag = Flag::valued("out", "FILE", Kind::Path, "A file");
    const LOOSE: Pattern = Pattern { name: "loose", regex: "[a-z]+", fits: |_| true };

    static BAD_ERROR: ErrorKind =
        ErrorKind::new("bad-code", Exit::Partial, "Wrong.").passing().by_command("wipe <id>");
    static BAD_USAGE: ErrorKind = ErrorKind::new("NOT_SAID", Exit::Usage, "Nobody says what to correct.");

    static BAD: Program<()> = Program {
        name: "bad",
        version: "0.0.0",
        about: "Everything that can be wrong",
        prefix: "BAD",
        commands: &[
            Command {
                danger: Danger::Destructive,
                changes_with: Some(&OUT),
                flags: const {
                    &[
                        Flag::valued("api-token", "TOKEN", Kind::Text, "A secret"),
                        Flag::switch("output", "Twice"),
                    ]
                },
                args: const {
                    &[
                        Positional::required("ID", Kind::Id(LOOSE), "It").many(),
                        Positional::required("B", Kind::Text, "It"),
                    ]
                },
                examples: &[Example { about: "another program", command: "good wipe" }],
                ..Command::new(&["wipe"], "Wipe.", |_, _| Ok(Reply::streamed()))
            },
            Command {
                list: true,
                idempotent: true,
                safe_default: true,
                output_schema: "[]",
                declares: "",
                ..Command::new(&["wipe"], "", |_, _| Ok(Reply::streamed()))
            },
        ],
        groups: &[],
        flags: &[],
        errors: &[&BAD_ERROR, &BAD_USAGE],
        variables: &[],
        renamed: &[("old", "nothing")],
        no_command: NoCommand::Help,
        plain: false,
        examples: &[],
        note: "",
        unknown: None,
        audit_log: None,
        ahead: &[],
        implied: |_, _| None,
        rewrite: |_| {},
    };

    /// Section 1 of the contract, each promise broken once.
    #[test]
    fn exit_codes_that_break_a_promise() {
        let entry =
            |retryable, side_effects| ExitEntry { name: "X", description: "It is.", retryable, side_effects };
        use SideEffects::{Complete, None as Nothing, Partial};
        for (code, entry, wanted) in [
            (0, entry(false, Complete), None),
            (11, entry(true, Nothing), None),
            (130, entry(false, Partial), None),
            (143, entry(false, Partial), None),
            (10, entry(true, Partial), Some("it can be repeated although something was changed")),
            (2, entry(false, Partial), Some("it is a rejection, and something was changed")),
            (3, entry(true, Nothing), Some("what was done in part cannot be repeated")),
            (
                5,
                ExitEntry { description: "", ..entry(false, Nothing) },
                Some("it is described in 1 to 120 characters"),
            ),
        ] {
            assert_eq!(exit_offence(code, entry), wanted, "{code}");
        }
        for code in (14..=129).chain(131..=142).chain(144..=255) {
            let offence = exit_offence(code, entry(false, Nothing));
            assert_eq!(offence, Some("the code is none of the table's"), "{code}");
        }
    }

    #[test]
    fn every_offence_is_found() {
        assert_eq!(
            check(&BAD),
            [
                "`wipe`: says what it does in one line without full stop",
                "`wipe`: it changes something and has no preview",
                "`wipe`: it changes something with `--out`, which it does not take",
                "`wipe`: it has 2 to 4 examples",
                "`wipe`: the example `good wipe` does not call `bad wipe`",
                "`wipe`: `--api-token` takes a secret on the command line",
                "`wipe`: two flags are called `output`",
                "`wipe`: `ID` takes all that follows and is not the last",
                "`wipe`: the pattern of `ID` is not anchored",
                "`wipe` is there twice",
                "`wipe`: says what it does in one line without full stop",
                "`wipe`: it is only shown by default, and there is nothing to show",
                "`wipe`: it changes nothing: there is nothing to preview or to do once",
                "`wipe`: it is a list and names no field with the id",
                "`wipe`: its output schema is no JSON object",
                "`wipe`: its declarations are no JSON object",
                "`wipe`: it has 2 to 4 examples",
                "UNKNOWN_COMMAND: `manifest` is no command",
                "bad-code: a code is capitals, digits and underscores",
                "bad-code: it can be repeated although something was changed",
                "bad-code: its command cannot be run as it is",
                "bad-code: its command destroys",
                "NOT_SAID: the caller is not told what to correct",
                "`old` is said to be `nothing` today, which is no command",
            ]
        );
    }
}
