//! One run, as a straight line: read the call, answer questions about the program, check everything, pass the gates, do it,
//! print what came of it. [`run`] returns the exit code; ending the process is the binary's business. What is decided before
//! anything is done is in `run/prepare.rs`.

mod prepare;

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};

use crate::args::Args;
use crate::cancel::Cancel;
use crate::command::{Command, Place};
use crate::discover;
use crate::error;
use crate::exit::{Danger, Exit};
use crate::failure::{Failure, Issue};
use crate::gate::{self, Gate};
use crate::idempotency::Answers;
use crate::input;
use crate::lock::Lock;
use crate::mode::{Class, Inputs, Mode, Talk};
use crate::outlet::{Outlet, Written};
use crate::parse::{self, Parsed};
use crate::path::AbsPath;
use crate::print::Printed;
use crate::process::PidFile;
use crate::program::{Bare, Program};
use crate::reply::{Body, Reply};
use crate::steps::Steps;
use crate::temp::SessionTemp;
use crate::time;
use crate::watchdog::Watchdog;
use crate::world::{Begin, Clock, Started, World};

use self::prepare::{Ready, prepare, short_hash};

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
    pids: Option<PidFile>,
}

impl Temp {
    /// Returns what `meta` says of what was made.
    fn facts(&self) -> Vec<(&'static str, Value)> {
        let folder = self.folder.as_ref().map(|folder| ("session_tmp_dir", json!(folder.path())));
        let pids = self.pids.as_ref().map(|pids| ("session_pid_file", json!(pids.path())));
        folder.into_iter().chain(pids).collect()
    }
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

    /// Returns the file that names the run's children.
    pub(crate) fn pids(&mut self) -> Result<&PidFile, Failure> {
        if self.temp.pids.is_none() {
            let made = PidFile::create(self.temp()?);
            let failed = |error| Failure::new(&error::IO_ERROR, format!("cannot make a pid file: {error}"));
            self.temp.pids = Some(made.map_err(failed)?);
        }
        Ok(self.temp.pids.as_ref().expect("made above"))
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
    let typed = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut outside = Outside { argv: typed, inputs, stdin, clock, temp_parent: temp, end, cancel, outlet };
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
    argv: Vec<String>,
    inputs: Inputs,
    stdin: Box<dyn Read + Send>,
    clock: std::sync::Arc<dyn Clock>,
    temp_parent: AbsPath,
    end: fn(u8),
    cancel: Cancel,
    outlet: Outlet,
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
        talk: printer.mode.talk,
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
    let mut temp =
        Temp { parent: outside.temp_parent, program: program.name, request_id, folder: None, pids: None };
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
    let made = temp.facts();
    drop(temp.folder);
    let result = result.map_err(|failure| match failure.kind.exit {
        Exit::Timeout | Exit::Interrupted | Exit::Terminated if failure.facts.data.is_none() => {
            failure.with_data(steps.partial())
        }
        _ => failure,
    });
    let printed = match result {
        Ok(reply) => {
            let reply = made.into_iter().fold(reply, |reply, (name, value)| reply.meta(name, value));
            printer.reply(reply, clock.elapsed_ms())
        }
        Err(failure) => {
            let failure = made.into_iter().fold(failure, |failure, (name, value)| failure.meta(name, value));
            printer.failure(&failure, clock.elapsed_ms())
        }
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
    let _held = key.map(|(answers, _)| answers.hold(&cx.cancel)).transpose()?;
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
