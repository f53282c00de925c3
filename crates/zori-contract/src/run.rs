//! One run, as a straight line: read the call, answer questions about the program, check everything, pass the gates, do it,
//! print what came of it. [`run`] returns the exit code; ending the process is the binary's business.

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::args::Args;
use crate::asked;
use crate::cancel::Cancel;
use crate::cap;
use crate::command::{Command, Place};
use crate::discover;
use crate::envelope::Facts;
use crate::error;
use crate::exit::{Danger, Exit};
use crate::failure::{Failure, Issue};
use crate::gate::{self, Gate};
use crate::idempotency::Answers;
use crate::input;
use crate::kind::Kind;
use crate::lock::Lock;
use crate::mask::Mask;
use crate::mode::{Class, Format, Inputs, Mode, Talk};
use crate::outlet::{Outlet, Written};
use crate::page::{self, Cursor, Page};
use crate::parse::{self, Parsed};
use crate::path::AbsPath;
use crate::print::{Printed, Printer};
use crate::program::{Bare, Program};
use crate::reply::{Body, Reply};
use crate::shape::Columns;
use crate::steps::Steps;
use crate::temp::SessionTemp;
use crate::time;
use crate::watchdog::Watchdog;
use crate::world::{Begin, Clock, Started, World};

/// What a command runs in.
pub struct Cx<'a, A: 'static> {
    /// The program's state.
    pub app: &'a mut A,
    /// The program.
    pub program: &'static Program<A>,
    /// The command itself.
    pub command: &'static Command<A>,
    /// How it prints and whom it can ask.
    pub mode: Mode,
    /// Where it works.
    pub place: Place,
    /// The terminals and the environment.
    pub inputs: &'a Inputs,
    /// Whether it should end.
    pub cancel: Cancel,
    /// How far it got.
    pub steps: Steps,
    /// The way out, for what is said on the way and for streams.
    pub outlet: Outlet,
    /// The clocks.
    pub clock: &'a dyn Clock,
    temp: &'a mut Temp,
    stdin: &'a mut dyn Read,
}

/// The temporary folder of the run, made when it is first asked for.
struct Temp {
    parent: AbsPath,
    program: &'static str,
    request_id: String,
    folder: Option<SessionTemp>,
}

impl<A> Cx<'_, A> {
    /// Reads what the command's entry says about standard input: `--input-file`, else what was sent.
    ///
    /// # Panics
    ///
    /// When the entry does not say that the command reads anything.
    pub fn input(&mut self, args: &Args) -> Result<Option<Vec<u8>>, Failure> {
        let wanted = self.command.stdin.expect("a command that reads input says so in its entry");
        let limit = stdin_limit(self.inputs, self.program.prefix).unwrap_or(wanted.max_bytes);
        input::read(args, wanted, limit, (&mut *self.stdin, self.inputs.stdin_terminal), &self.place.cwd)
    }

    /// Says what is going on, to people who want to hear it.
    pub fn say(&self, level: Talk, line: &str) {
        self.outlet.say(level, line);
    }

    /// Returns the run's own temporary folder.
    pub fn temp(&mut self) -> Result<&SessionTemp, Failure> {
        let temp = &mut *self.temp;
        if temp.folder.is_none() {
            let made =
                SessionTemp::create(&temp.parent, temp.program, &temp.request_id).map_err(|error| {
                    let message = format!("cannot make a temporary folder in {}: {error}", temp.parent);
                    Failure::new(&error::IO_ERROR, message)
                })?;
            temp.folder = Some(made);
        }
        Ok(temp.folder.as_ref().expect("made above"))
    }

    /// Takes a lock, waiting for it as long as is usual.
    pub fn lock(&self, path: &AbsPath) -> Result<Lock, Failure> {
        Lock::take(path, crate::lock::PATIENCE, self.clock.unix_ms(), &self.cancel)
    }
}

/// Runs the program once and returns its exit code. `start` makes the program's state; it is called after all checks.
pub fn run<A>(
    program: &'static Program<A>,
    world: World,
    start: impl FnOnce(&Begin<'_, A>) -> Result<Started<A>, Failure>,
) -> u8 {
    let World { argv, inputs, cwd, stdin, stdout, stderr, clock, random, temp, output, cancel, end } = world;
    let outlet = Outlet::new(stdout, stderr, Talk::Errors);
    let mut parsed = parse::read(program, &argv);
    let asks = ["help", "version", "schema", "output-schema"].iter().any(|name| parsed.args.has(name));
    if parsed.path.is_empty() && parsed.issues.is_empty() && !asks {
        let terminal = inputs.stdin_terminal && inputs.stdout_terminal && inputs.attended(program.prefix);
        match program.bare {
            Bare::Command { path, anywhere } if terminal || anywhere => parsed.command = program.find(path),
            Bare::Command { .. } | Bare::Help => {}
            Bare::Refused(instead) => parsed.issues.push(parse::no_command(program, instead)),
        }
    }
    // Help and the like look at no file.
    let output = move |args: &Args| if asks { None } else { output(args) };
    let mut outside = Outside { inputs, stdin, clock, temp_parent: temp, end, cancel, outlet };
    let request_id = time::ulid(outside.clock.unix_ms(), random);
    let (ready, issues) = prepare(program, &mut parsed, &mut outside, cwd, request_id, output);
    let printed = match discover::answer(
        program,
        &parsed,
        &ready.printer,
        outside.clock.elapsed_ms(),
        issues.is_empty(),
    ) {
        Some(printed) => printed,
        None => match checked(program, &parsed, issues) {
            Ok(command) => return execute(program, command, &parsed.args, ready, outside, start),
            Err(failure) => ready.printer.failure(&failure, outside.clock.elapsed_ms()),
        },
    };
    write(&outside.outlet, &printed)
}

/// The outside, as far as it is still needed.
struct Outside {
    inputs: Inputs,
    stdin: Box<dyn Read + Send>,
    clock: std::sync::Arc<dyn Clock>,
    temp_parent: AbsPath,
    end: fn(u8),
    cancel: Cancel,
    outlet: Outlet,
}

/// What is decided before anything is done.
struct Ready {
    printer: Printer,
    place: Place,
    timeout: Option<Duration>,
    request_id: String,
}

/// Decides the mode and how to print, and finds everything that is wrong with the call.
fn prepare<A>(
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

/// Returns the command if nothing is wrong with the call.
fn checked<A>(
    program: &'static Program<A>,
    parsed: &Parsed<A>,
    issues: Vec<Issue>,
) -> Result<&'static Command<A>, Failure> {
    if let Some(unknown) = issues.iter().find(|issue| issue.code == "UNKNOWN_COMMAND") {
        let typed = unknown.value.clone().unwrap_or_default();
        if let Some((old, new)) = program.renamed.iter().find(|(old, _)| *old == typed) {
            return Err(Failure::renamed(
                &format!("{} {old}", program.name),
                &format!("{} {new}", program.name),
            ));
        }
        let mut failure =
            Failure::new(&error::UNKNOWN_COMMAND, unknown.message.clone()).field("errors", &issues);
        failure.facts.hints.extend(unknown.suggestion.clone());
        if !typed.is_empty() {
            failure.facts.hints.extend(program.unknown.map(str::to_owned));
        }
        return Err(failure);
    }
    match parsed.command {
        Some(command) if issues.is_empty() => Ok(command),
        _ => Err(Failure::invalid(issues)),
    }
}

/// Passes the gates, does it and prints what came of it.
fn execute<A>(
    program: &'static Program<A>,
    command: &'static Command<A>,
    args: &Args,
    ready: Ready,
    mut outside: Outside,
    start: impl FnOnce(&Begin<'_, A>) -> Result<Started<A>, Failure>,
) -> u8 {
    let Ready { mut printer, place, timeout, request_id } = ready;
    let clock = outside.clock.clone();
    if args.has("validate-only") {
        let reply = Reply::one(Value::Null).text("The arguments are fine.").meta("validation_only", true);
        return write(&outside.outlet, &printer.reply(reply, clock.elapsed_ms()));
    }
    let begin = Begin {
        command,
        args,
        cancel: &outside.cancel,
        cwd: place.cwd.clone(),
        inputs: &outside.inputs,
        request_id: &request_id,
    };
    let terminal = printer.mode.interactive && outside.inputs.stdout_terminal;
    let anywhere = program.bare.anywhere() == Some(command.path);
    let started = match command.class {
        Class::Interactive if !terminal && !anywhere => {
            Err(Failure::terminal_required(&command.name(), &format!("{} --help", program.name)))
        }
        _ => start(&begin),
    };
    let mut started = match started {
        Ok(started) => started,
        Err(failure) => return write(&outside.outlet, &printer.failure(&failure, clock.elapsed_ms())),
    };
    printer.facts.project_root = started.project_root.clone();
    printer.facts.audit_log = started.audit_log.clone();
    printer.facts.config_sources = started.config_sources.clone();
    printer.facts.effective_config_hash = short_hash(&started.effective_config);
    printer.mask.known = started.secrets.clone();
    outside.outlet.set_mask(printer.mask.clone());
    let steps = Steps::new(command.steps);
    let watchdog = Watchdog {
        cancel: outside.cancel.clone(),
        time: timeout,
        signals: started.signals.take(),
        printer: printer.clone(),
        outlet: outside.outlet.clone(),
        steps: steps.clone(),
        clock: clock.clone(),
        end: outside.end,
    };
    // A command that owns its streams hears signals itself; without a limit there is nothing to watch.
    let watched = timeout.is_some() || !command.owns_streams();
    if let Err(error) = if watched { watchdog.start() } else { Ok(()) } {
        let failure =
            Failure::new(&error::IO_ERROR, format!("cannot start the clock of the command: {error}"));
        return write(&outside.outlet, &printer.failure(&failure, clock.elapsed_ms()));
    }
    let mut temp = Temp { parent: outside.temp_parent, program: program.name, request_id, folder: None };
    let answers = started.state.as_ref().map(|state| Answers::new(state, clock.unix_ms()));
    let mut cx = Cx {
        app: &mut started.app,
        program,
        command,
        mode: printer.mode,
        place,
        inputs: &outside.inputs,
        cancel: outside.cancel.clone(),
        steps: steps.clone(),
        outlet: outside.outlet.clone(),
        clock: &*clock,
        temp: &mut temp,
        stdin: &mut *outside.stdin,
    };
    let result = catch_unwind(AssertUnwindSafe(|| gated(&mut cx, args, answers.as_ref())));
    let result = result.unwrap_or_else(|_| {
        Err(Failure::new(
            &error::INTERNAL_ERROR,
            format!("`{}` broke off because of a defect", command.name()),
        ))
    });
    // It goes before the answer does: whoever has the answer finds nothing left behind.
    drop(temp.folder);
    let result = result.map_err(|failure| match failure.kind.exit {
        Exit::Timeout | Exit::Interrupted | Exit::Terminated if failure.facts.data.is_none() => {
            failure.with_data(steps.partial())
        }
        _ => failure,
    });
    let printed = match result {
        Ok(reply) => printer.reply(reply, clock.elapsed_ms()),
        Err(failure) => printer.failure(&failure, clock.elapsed_ms()),
    };
    debug_assert!(
        command.exit_map().contains(&printed.exit),
        "{:?} is not in the exit map of `{}`",
        printed.exit,
        command.name()
    );
    let code = write(&outside.outlet, &printed);
    outside.cancel.over();
    code
}

/// Runs the command, or only says what it would do; once per key.
fn gated<A>(cx: &mut Cx<'_, A>, args: &Args, answers: Option<&Answers>) -> Result<Reply, Failure> {
    let command = cx.command;
    let preview = |cx: &Cx<'_, A>| {
        let preview = command
            .preview
            .expect("what destroys or previews says what it would do: the registry's invariants");
        preview(cx, args)
    };
    let mut meta = Vec::new();
    match Gate::of(command, args) {
        Gate::Preview => {
            let preview = preview(cx)?;
            return Ok(Reply::one(preview.data()).text(preview.text()).meta("dry_run", true));
        }
        Gate::Ask => {
            let preview = preview(cx)?;
            // Nothing that would go needs nobody's word.
            if !preview.items.is_empty() {
                gate::confirm(command, &preview, &cx.mode, &cx.outlet, cx.stdin)?;
            }
            meta.push(("confirmed", json!(true)));
        }
        Gate::Open if command.danger == Danger::Destructive => meta.push(("confirmed", json!(true))),
        Gate::Open => {}
    }
    if command.preview.is_some() {
        meta.push(("dry_run", json!(false)));
    }
    let key = args.text("idempotency-key").map(|key| match answers {
        Some(answers) => Ok((answers, key)),
        None => Err(Failure::new(&error::INIT_REQUIRED, "there is no folder to remember the key in")),
    });
    let key = key.transpose()?;
    let name = command.name();
    let mut reply = match key.and_then(|(answers, key)| answers.find(&name, key, args)) {
        Some(data) => Reply::one(data).meta("idempotency_hit", true),
        None => {
            cx.cancel.before_work()?;
            let reply = (command.run)(cx, args)?;
            if let (Some((answers, key)), Body::One(data)) = (key, &reply.body) {
                answers.keep(&name, key, args, data)?;
            }
            reply
        }
    };
    reply.meta.extend(meta.into_iter().map(|(name, value)| (name.to_owned(), value)));
    Ok(reply)
}

/// Writes the answer and returns the exit code. A reader that is gone is no failure of a command that worked.
fn write(outlet: &Outlet, printed: &Printed) -> u8 {
    match outlet.finish(&printed.stdout, &printed.said) {
        Written::Done | Written::Closed | Written::TooLate => printed.exit.code(),
        Written::Failed(error) => {
            outlet.complain(&format!("Error: cannot write to standard output: {error}"));
            if printed.exit == Exit::Success { Exit::General.code() } else { printed.exit.code() }
        }
    }
}

fn stdin_limit(inputs: &Inputs, prefix: &str) -> Option<usize> {
    inputs.vars.tool(prefix, "MAX_STDIN_BYTES").and_then(|value| value.parse().ok())
}

fn short_hash(text: &str) -> String {
    Sha256::digest(text).iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}
