//! Help: text for people, and on a pipe an envelope beside it that says where the machine-readable form is.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::command::{Command, Example};
use crate::flag::{Flag, Shown};
use crate::program::Program;
use crate::tree;

/// Returns the help of a command, a group or the program.
pub fn text<A>(program: &Program<A>, path: &[&str], shown: Shown) -> String {
    let mut known = path.to_vec();
    while !program.commands.iter().any(|command| command.path.starts_with(&known)) {
        known.pop();
    }
    let mut clap = tree::place(program, &known, shown);
    clap.build();
    let mut deepest = &mut clap;
    for name in known {
        deepest = deepest.find_subcommand_mut(name).expect("the tree was built for it");
    }
    let mut text = deepest.render_help().to_string();
    if path.is_empty() {
        text.push_str(&topics(program));
    }
    text
}

fn topics<A>(program: &Program<A>) -> String {
    let mut text = String::new();
    if !program.note.is_empty() {
        let _ = write!(text, "\n{}\n", program.note);
    }
    if !program.examples.is_empty() {
        let width = program.examples.iter().map(|example| example.command.len()).max().unwrap_or(0);
        text.push_str("\nExamples:\n");
        for Example { about, command } in program.examples {
            let _ = writeln!(text, "  {command:width$}  {about}");
        }
        text.push_str(&for_programs(program));
        return text;
    }
    let safe = program.commands.iter().find(|command| command.list).or(program.commands.first());
    if let Some(command) = safe {
        let (name, call) = (program.name, command.name());
        let _ = write!(
            text,
            "\nExamples:\n  {name} {call}\n  {name} {call} --output json\n  {name} {call} --schema\n"
        );
    }
    text.push_str(&for_programs(program));
    text
}

/// What programs should know.
fn for_programs<A>(program: &Program<A>) -> String {
    format!(
        "\nOn a pipe every result is one line of JSON; `--output plain` or\n`{}_OUTPUT=plain` gives text.\n\n\
         Exit codes:\n  0 done; 2 rejected before anything was done; 3 failed after a change;\n  \
         4 something must be there first; 5 not found; 6 exists already; 7 denied;\n  \
         8 credential; 10 time over; 11 wait; 12 unavailable; 1 anything else\n",
        program.prefix
    )
}

/// Returns the commands, for a call without one on a pipe.
pub fn list<A>(program: &Program<A>) -> Value {
    let entry = |command: &Command<A>| json!({"name": command.name(), "description": command.about});
    json!({"commands": program.commands.iter().map(entry).collect::<Vec<_>>()})
}

/// Returns the call that explains the same to a program.
pub fn schema_ref<A>(program: &Program<A>, path: &[&str]) -> String {
    match path {
        [] => format!("{} --schema", program.name),
        path => format!("{} {} --schema", program.name, path.join(" ")),
    }
}

/// Returns every flag of a command, the framework's included.
pub fn flags<A>(program: &Program<A>, command: &Command<A>) -> Vec<Flag> {
    let mut flags = program.global_flags();
    flags.extend(program.own_flags(command));
    flags
}
