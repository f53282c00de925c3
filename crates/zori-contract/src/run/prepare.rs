//! What is decided before anything is done: who reads, how to print, where to work, and everything that is wrong with the call.

use std::io::Read;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::Environment;
use crate::args::Args;
use crate::cap;
use crate::check;
use crate::command::Command;
use crate::envelope::Facts;
use crate::error;
use crate::exit::Danger;
use crate::failure::{Issue, IssueCode};
use crate::flag::framework;
use crate::input;
use crate::kind::Kind;
use crate::mask::Mask;
use crate::mode::{Class, Format, Mode};
use crate::output_flags;
use crate::page::{self, Cursor, Page};
use crate::parse::Parsed;
use crate::path::AbsPath;
use crate::print::Printer;
use crate::program::Program;
use crate::shape::Columns;
use crate::time;

/// What is decided before anything is done.
pub(super) struct Ready {
    pub printer: Printer,
    pub cwd: AbsPath,
    pub timeout: Option<Duration>,
    pub request_id: String,
}

/// Decides the mode and how to print, and finds everything that is wrong with the call.
pub(super) fn prepare<A>(
    program: &'static Program<A>,
    parsed: &mut Parsed<A>,
    environment: &mut Environment,
    mut cwd: AbsPath,
    request_id: String,
    configured: impl FnOnce(&Args) -> Option<String>,
) -> (Ready, Vec<Issue>) {
    let mut issues = std::mem::take(&mut parsed.issues);
    let (command, vars) = (parsed.command, &environment.inputs.vars);
    let class = command.map_or(Class::Utility, |command| command.class);
    let list = command.is_some_and(|command| command.list);
    let known = command.map_or(Format::of(class), |command| command.formats());
    let configured = || if command.is_some() { configured(&parsed.args) } else { None };
    let mut asked = output_flags::read(
        &parsed.args,
        (class, known),
        list,
        (vars, program.prefix),
        configured,
        &mut issues,
    );
    asked.format = asked.format.or(program.plain.then_some(Format::Plain));
    let mode = Mode::detect(&environment.inputs, class, asked, program.prefix);
    // A program may have a flag of its own in its place.
    let flag = program.global_flags().into_iter().find(|flag| flag.is_called(framework::CWD.long));
    if let Some((flag, folder)) = flag.and_then(|flag| Some((flag, parsed.args.text(&flag)?))) {
        let folder = cwd.join(folder);
        if folder.as_path().is_dir() {
            cwd = folder;
        } else {
            let message = format!("`{}` takes a folder, and {folder} is none", flag.param());
            let issue = Issue::new(&flag.param(), IssueCode::InvalidValue, message);
            issues.push(issue.value(folder.to_string()));
        }
    }
    issues.extend(ids_from_stdin(command, &mut parsed.args, environment));
    issues.extend(check::arguments(program, command, &parsed.args, &cwd));
    let args = &parsed.args;
    let timeout = match args.duration(&framework::TIMEOUT) {
        Some(time) => Some(time).filter(|time| !time.is_zero()),
        None => command.and_then(|command| command.timeout_ms).map(Duration::from_millis),
    };
    let page = command
        .filter(|command| command.list)
        .map(|command| wanted_page(command, args, mode.format, &mut issues));
    let bytes = |value: &str| value.parse::<usize>().ok();
    let max_bytes = args
        .text(&framework::MAX_OUTPUT)
        .and_then(bytes)
        .or_else(|| environment.inputs.vars.tool(program.prefix, "MAX_OUTPUT_BYTES").and_then(bytes))
        .or(command.and_then(|command| command.max_output_bytes))
        .unwrap_or(cap::DEFAULT_BYTES);
    let facts = Facts {
        command: command.map_or_else(|| parsed.path.join(" "), |command| command.name()),
        command_schema_version: command.map_or("1.0.0", |command| command.schema_version),
        tool_version: program.version,
        timeout_ms: timeout.map_or(0, |time| time.as_millis() as u64),
        cwd: cwd.clone(),
        project_root: None,
        audit_log: None,
        config_sources: Vec::new(),
        effective_config_hash: short_hash(""),
        request_id: request_id.clone(),
        trace_id: environment.inputs.vars.tool(program.prefix, "TRACE_ID").map(str::to_owned),
        timestamp: time::rfc3339((environment.clock.unix_ms() / 1_000) as i64),
        headless: mode.headless,
        stable: args.has(&framework::STABLE_OUTPUT),
    };
    let printer = Printer {
        program: program.name,
        danger: command.map_or(Danger::Safe, |command| command.danger_of(args)),
        columns: Columns {
            names: command.map_or(&[], |command| command.columns),
            id: command.and_then(|command| command.id_field),
            // Who picks fields sees those.
            line: command.and_then(|command| command.line).filter(|_| !args.has(&framework::FIELDS)),
        },
        mode,
        facts,
        mask: Mask { redactor: environment.redactor.clone(), entropy: !args.has(&framework::UNMASK) },
        fields: args.has(&framework::FIELDS).then(|| args.list(&framework::FIELDS)),
        max_bytes,
        max_field: args
            .int(&framework::MAX_FIELD)
            .map_or((class == Class::Utility).then_some(cap::DEFAULT_FIELD), |max| usize::try_from(max).ok())
            .filter(|max| *max > 0),
        width: args.int(&framework::WIDTH).and_then(|width| usize::try_from(width).ok()),
        argv: environment.argv.clone(),
        page,
        unmark: args.has(&framework::NO_INJECTION_PROTECTION),
        strict: args.has(&framework::WARNINGS_AS_ERRORS),
        protocol: class == Class::Protocol,
        failure_line: command.and_then(|command| command.failure_line),
    };
    environment.streams.set_verbosity(mode.verbosity);
    environment.streams.set_mask(printer.mask.clone());
    (Ready { printer, cwd, timeout, request_id }, issues)
}

/// Replaces `-` where an id is expected by the id that standard input has.
fn ids_from_stdin<A>(
    command: Option<&Command<A>>,
    args: &mut Args,
    environment: &mut Environment,
) -> Option<Issue> {
    let positional =
        command?.args.iter().find(|arg| matches!(arg.kind, Kind::Id(_)) && args.all(*arg) == ["-"])?;
    let stdin: &mut dyn Read =
        if environment.inputs.stdin_terminal { &mut std::io::empty() } else { &mut environment.stdin };
    match input::id(stdin, input::DEFAULT_BYTES) {
        Ok(id) => {
            args.replace(positional, vec![id]);
            None
        }
        Err(failure) => {
            Some(Issue::new(positional.name, IssueCode::Kind(failure.kind), failure.message).value("-"))
        }
    }
}

fn wanted_page<A>(command: &Command<A>, args: &Args, format: Format, issues: &mut Vec<Issue>) -> Page {
    let own = args.iter().filter(|(name, _)| {
        command.flags.iter().any(|flag| flag.long == *name)
            || command.args.iter().any(|arg| arg.name == *name)
    });
    let filter = page::filter(&command.name(), own);
    let cursor = args.text(&framework::CURSOR).and_then(|text| {
        let cursor = Cursor::parse(text, &filter);
        if cursor.is_none() {
            let message = format!("`--cursor {text}` is not a cursor of this list");
            issues.push(Issue::new("--cursor", IssueCode::Kind(&error::INVALID_CURSOR), message).value(text));
        }
        cursor
    });
    // Text for people is whole unless they say otherwise; they can scroll.
    let whole = format == Format::Plain && !args.has(&framework::LIMIT);
    let limit = match whole {
        true => 0,
        false => {
            args.int(&framework::LIMIT).and_then(|n| usize::try_from(n).ok()).unwrap_or(page::DEFAULT_LIMIT)
        }
    };
    Page { limit: (limit > 0).then_some(limit), cursor, filter }
}

/// Returns enough of a hash to see that something changed.
pub(super) fn short_hash(text: &str) -> String {
    Sha256::digest(text).iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}
