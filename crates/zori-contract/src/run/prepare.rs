//! What is decided before anything is done: who reads, how to print, where to work, and everything that is wrong with the call.

use std::io::Read;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::Outside;
use crate::args::Args;
use crate::asked;
use crate::cap;
use crate::command::{Command, Place};
use crate::envelope::Facts;
use crate::exit::Danger;
use crate::failure::Issue;
use crate::input;
use crate::kind::Kind;
use crate::mask::Mask;
use crate::mode::{Class, Format, Mode};
use crate::page::{self, Cursor, Page};
use crate::parse::{self, Parsed};
use crate::path::AbsPath;
use crate::print::Printer;
use crate::program::Program;
use crate::shape::Columns;
use crate::time;

/// What is decided before anything is done.
pub(super) struct Ready {
    pub printer: Printer,
    pub place: Place,
    pub timeout: Option<Duration>,
    pub request_id: String,
}

/// Decides the mode and how to print, and finds everything that is wrong with the call.
pub(super) fn prepare<A>(
    program: &'static Program<A>,
    parsed: &mut Parsed<A>,
    outside: &mut Outside,
    cwd: AbsPath,
    request_id: String,
    configured: impl FnOnce(&Args) -> Option<String>,
) -> (Ready, Vec<Issue>) {
    let mut issues = std::mem::take(&mut parsed.issues);
    let (command, vars) = (parsed.command, &outside.inputs.vars);
    let class = command.map_or(Class::Utility, |command| command.class);
    let list = command.is_some_and(|command| command.list);
    let known = command.map_or(Format::of(class), |command| command.formats());
    let configured = || if command.is_some() { configured(&parsed.args) } else { None };
    let mut asked =
        asked::read(&parsed.args, (class, known), list, (vars, program.prefix), configured, &mut issues);
    asked.format = asked.format.or(program.plain.then_some(Format::Plain));
    let mode = Mode::detect(&outside.inputs, class, asked, program.prefix);
    let mut place = Place { cwd };
    for name in ["cwd", "root"] {
        let Some(folder) = parsed.args.text(name) else { continue };
        let folder = place.cwd.join(folder);
        if folder.as_path().is_dir() {
            place.cwd = folder;
        } else {
            let message = format!("`--{name}` takes a folder, and {folder} is none");
            issues.push(Issue::new(&format!("--{name}"), "INVALID_VALUE", message).value(folder.to_string()));
        }
    }
    issues.extend(ids_from_stdin(command, &mut parsed.args, outside));
    issues.extend(parse::check(program, command, &parsed.args, &place));
    let args = &parsed.args;
    let timeout = match args.duration("timeout") {
        Some(time) => Some(time).filter(|time| !time.is_zero()),
        None => command.and_then(|command| command.timeout_ms).map(Duration::from_millis),
    };
    let page = command
        .filter(|command| command.list)
        .map(|command| wanted_page(command, args, mode.format, &mut issues));
    let bytes = |value: &str| value.parse::<usize>().ok();
    let max_bytes = args
        .text("max-output")
        .and_then(bytes)
        .or_else(|| outside.inputs.vars.tool(program.prefix, "MAX_OUTPUT_BYTES").and_then(bytes))
        .or(command.and_then(|command| command.max_output_bytes))
        .unwrap_or(cap::DEFAULT_BYTES);
    let facts = Facts {
        command: command.map_or_else(|| parsed.path.join(" "), |command| command.name()),
        command_schema_version: command.map_or("1.0.0", |command| command.schema_version),
        tool_version: program.version,
        timeout_ms: timeout.map_or(0, |time| time.as_millis() as u64),
        cwd: place.cwd.clone(),
        project_root: None,
        audit_log: None,
        config_sources: Vec::new(),
        effective_config_hash: short_hash(""),
        request_id: request_id.clone(),
        trace_id: outside.inputs.vars.tool(program.prefix, "TRACE_ID").map(str::to_owned),
        timestamp: time::rfc3339((outside.clock.unix_ms() / 1_000) as i64),
        headless: mode.headless,
        stable: args.has("stable-output"),
    };
    let printer = Printer {
        program: program.name,
        danger: command.map_or(Danger::Safe, |command| command.danger_of(args)),
        columns: Columns {
            names: command.map_or(&[], |command| command.columns),
            id: command.and_then(|command| command.id_field),
        },
        mode,
        facts,
        mask: Mask { known: Vec::new(), entropy: !args.has("unmask") },
        fields: args.has("fields").then(|| args.list("fields")),
        max_bytes,
        max_field: args
            .int("max-field")
            .map_or((class == Class::Utility).then_some(cap::DEFAULT_FIELD), |max| usize::try_from(max).ok())
            .filter(|max| *max > 0),
        width: args.int("width").and_then(|width| usize::try_from(width).ok()),
        argv: outside.argv.clone(),
        page,
        unmark: args.has("no-injection-protection"),
        strict: args.has("warnings-as-errors"),
        failure_line: command.and_then(|command| command.failure_line),
    };
    outside.outlet.set_talk(mode.talk);
    (Ready { printer, place, timeout, request_id }, issues)
}

/// Replaces `-` where an id is expected by the id that standard input has.
fn ids_from_stdin<A>(command: Option<&Command<A>>, args: &mut Args, outside: &mut Outside) -> Option<Issue> {
    let positional =
        command?.args.iter().find(|arg| matches!(arg.kind, Kind::Id(_)) && args.all(arg.name) == ["-"])?;
    let stdin: &mut dyn Read =
        if outside.inputs.stdin_terminal { &mut std::io::empty() } else { &mut outside.stdin };
    match input::id(stdin, input::DEFAULT_BYTES) {
        Ok(id) => {
            args.replace(positional.name, vec![id]);
            None
        }
        Err(failure) => Some(Issue::new(positional.name, failure.kind.code, failure.message).value("-")),
    }
}

fn wanted_page<A>(command: &Command<A>, args: &Args, format: Format, issues: &mut Vec<Issue>) -> Page {
    let own = args.iter().filter(|(name, _)| {
        command.flags.iter().any(|flag| flag.long == *name)
            || command.args.iter().any(|arg| arg.name == *name)
    });
    let filter = page::filter(&command.name(), own);
    let cursor = args.text("cursor").and_then(|text| {
        let cursor = Cursor::parse(text, &filter);
        if cursor.is_none() {
            let message = format!("`--cursor {text}` is not a cursor of this list");
            issues.push(Issue::new("--cursor", "INVALID_CURSOR", message).value(text));
        }
        cursor
    });
    // Text for people is whole unless they say otherwise; they can scroll.
    let whole = format == Format::Plain && !args.has("limit");
    let limit = match whole {
        true => 0,
        false => args.int("limit").and_then(|n| usize::try_from(n).ok()).unwrap_or(page::DEFAULT_LIMIT),
    };
    Page { limit: (limit > 0).then_some(limit), cursor, filter }
}

/// Returns enough of a hash to see that something changed.
pub(super) fn short_hash(text: &str) -> String {
    Sha256::digest(text).iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}
