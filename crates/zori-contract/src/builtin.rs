//! Commands every program can have: put them into its table.

use serde_json::Value;

use crate::args::Args;
use crate::command::{Command, Example};
use crate::failure::Failure;
use crate::flag::{Flag, Positional, Shown};
use crate::kind::Kind;
use crate::manifest;
use crate::mode::Class;
use crate::reply::Reply;
use crate::run::CommandCx;
use crate::tree;

const ETAG: Flag =
    Flag::valued("etag", "ETAG", Kind::Text, "Answer with nothing if this is still the manifest");
const SHELL: Positional = Positional::required("SHELL", Kind::Choice(SHELLS), "The shell");
const SHELLS: &[&str] = &["bash", "zsh", "fish", "powershell", "elvish"];

/// `manifest`: everything the program can do, in one call.
pub const fn manifest_command<A>(examples: &'static [Example]) -> Command<A> {
    Command {
        examples,
        flags: const { &[ETAG] },
        output_schema: r#"{"type":"object","required":["schema_version","framework_version","etag","commands"]}"#,
        // It is as large as the program, and of no use when it is cut.
        max_output_bytes: Some(usize::MAX),
        standalone: true,
        ..Command::new(&["manifest"], "Print all commands, flags and exit codes as JSON", run_manifest)
    }
}

/// `errors list`: every error code.
pub const fn errors_command<A>(examples: &'static [Example]) -> Command<A> {
    Command {
        examples,
        list: true,
        columns: &["code", "exit_code", "retryable", "description"],
        id_field: Some("code"),
        output_schema: r#"{"type":"array","items":{"type":"object","required":["code","exit_code","retryable","description"]}}"#,
        standalone: true,
        ..Command::new(&["errors", "list"], "List every error code", run_errors)
    }
}

/// `completions`: a script for a shell.
pub const fn completions_command<A>(examples: &'static [Example]) -> Command<A> {
    Command {
        examples,
        class: Class::Document,
        args: const { &[SHELL] },
        standalone: true,
        ..Command::new(&["completions"], "Print completions for a shell", run_completions)
    }
}

/// `man`: the manual page.
pub const fn man_command<A>(examples: &'static [Example]) -> Command<A> {
    Command {
        examples,
        class: Class::Document,
        standalone: true,
        ..Command::new(&["man"], "Print the manual page", run_man)
    }
}

fn run_manifest<A>(cx: &mut CommandCx<'_, A>, args: &Args) -> Result<Reply, Failure> {
    let manifest = manifest::manifest(cx.program);
    if args.text(&ETAG).is_some_and(|etag| manifest.etag == etag) {
        return Ok(Reply::one(Value::Null).text("The manifest is unchanged.").meta("not_modified", true));
    }
    Ok(Reply::table(manifest.json))
}

fn run_errors<A>(cx: &mut CommandCx<'_, A>, _args: &Args) -> Result<Reply, Failure> {
    let errors = manifest::errors(cx.program);
    Ok(Reply::rows(errors.as_array().cloned().unwrap_or_default()))
}

fn run_completions<A>(cx: &mut CommandCx<'_, A>, args: &Args) -> Result<Reply, Failure> {
    use clap_complete::Shell;
    let shell = match args.text(&SHELL) {
        Some("zsh") => Shell::Zsh,
        Some("fish") => Shell::Fish,
        Some("powershell") => Shell::PowerShell,
        Some("elvish") => Shell::Elvish,
        _ => Shell::Bash,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut tree::showing(cx.program, Shown::All), cx.program.name, &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    // zsh finds out by the first line which command it is for.
    let begin = script.find('\n').filter(|_| script.starts_with("#compdef")).map_or(0, |end| end + 1);
    script.insert_str(begin, &format!("# {} {}\n", cx.program.name, cx.program.version));
    Ok(Reply::document(script))
}

fn run_man<A>(cx: &mut CommandCx<'_, A>, _args: &Args) -> Result<Reply, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(tree::showing(cx.program, Shown::All))
        .render(&mut page)
        .expect("memory takes any number of bytes");
    Ok(Reply::document(String::from_utf8_lossy(&page)))
}
