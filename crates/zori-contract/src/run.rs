//! One run, as a straight line: read the call, answer questions about the program, check everything, pass the gates, do it,
//! print what came of it. [`run`] returns the exit code; ending the process is the binary's business. What is decided before
//! anything is done is in `run/prepare.rs`.

mod prepare;

use std::cell::RefCell;
use std::io::{ErrorKind, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};

use crate::args::Args;
use crate::cancel::{Cancel, Cause};
use crate::command::Command;
use crate::discover;
use crate::error;
use crate::exit::Exit;
use crate::failure::{Failure, Issue, IssueCode};
use crate::flag::framework;
use crate::gate::{self, Gate};
use crate::idempotency::Answers;
use crate::input;
use crate::lock::Lock;
use crate::mask::Redactor;
use crate::mode::{Class, Inputs, Mode, Verbosity};
use crate::output_streams::{OutputStreams, Written};
use crate::parse::{self, Parsed, Word};
use crate::path::AbsPath;
use crate::print::Printed;
use crate::program::{NoCommand, Program};
use crate::reply::{Body, Reply};
use crate::steps::Steps;
use crate::temp::SessionTemp;
use crate::time;
use crate::warning::Warning;
use crate::watchdog::Watchdog;
use crate::world::{Clock, RunFacts, Started, World};

use self::prepare::{Ready, prepare, short_hash};

/// The longest answer that is read.
const MAX_ANSWER: usize = 4096;

/// What a command runs in: its program, mode, place and streams.
pub struct CommandCx<'a, A: 'static> {
    /// The program's state.
    pub app: &'a mut A,
    /// The table of everything that can be run.
    pub program: &'static Program<A>,
    /// The command itself.
    pub command: &'static Command<A>,
    /// How it prints and whom it can ask.
    pub mode: Mode,
    /// Where it works.
    pub cwd: AbsPath,
    /// The terminals and the environment.
    pub inputs: &'a Inputs,
    /// Whether it should end.
    pub cancel: Cancel,
    /// How far it got.
    pub steps: Steps,
    /// Standard output and standard error, for messages on the way and for streams.
    pub streams: OutputStreams,
    /// The time of day, and the time since the start.
    pub clock: &'a dyn Clock,
    warnings: RefCell<Vec<Warning>>,
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

impl Temp {
    /// Returns what `meta` says of what was made.
    fn facts(&self) -> Option<(&'static str, Value)> {
        self.folder.as_ref().map(|folder| ("session_tmp_dir", json!(folder.path())))
    }
}

impl<A> CommandCx<'_, A> {
    /// Reads what the command's entry says about standard input: `--input-file`, else what was sent.
    ///
    /// # Panics
    ///
    /// When the entry does not say that the command reads anything.
    pub fn input(&mut self, args: &Args) -> Result<Option<Vec<u8>>, Failure> {
        let wanted = self.command.stdin.expect("a command that reads input says so in its entry");
        let limit = stdin_limit(self.inputs, self.program.prefix).unwrap_or(wanted.max_bytes);
        input::read(args, wanted, limit, (&mut *self.stdin, self.inputs.stdin_terminal), &self.cwd)
    }

    /// Asks on standard error and reads one line of standard input, whoever sends it; without its line end. `None` where there is none.
    pub fn answer(&mut self, question: &str) -> Option<String> {
        self.streams.ask(question);
        let mut line = Vec::new();
        // No more than the line is taken: what follows belongs to others.
        let mut byte = [0];
        while line.len() < MAX_ANSWER {
            match self.stdin.read(&mut byte) {
                Ok(0) => break,
                Ok(_) if byte == *b"\n" => break,
                Ok(_) => line.extend(byte),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        (!line.is_empty()).then(|| String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned())
    }

    /// Adds a warning to whatever comes of the command.
    pub fn warn(&self, warning: Warning) {
        self.warnings.borrow_mut().push(warning);
    }

    /// Writes a line to standard error, if it is at least this verbose.
    pub fn say(&self, level: Verbosity, line: &str) {
        self.streams.say(level, line);
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
    start: impl FnOnce(&RunFacts<'_, A>) -> Result<Started<A>, Failure>,
) -> u8 {
    let World {
        argv,
        inputs,
        cwd,
        stdin,
        stdout,
        stderr,
        clock,
        random,
        temp,
        output,
        redactor,
        cancel,
        end,
    } = world;
    let streams = OutputStreams::new(stdout, stderr, Verbosity::Errors);
    let mut parsed = parse::read(program, &argv);
    let about = [framework::HELP, framework::VERSION, framework::SCHEMA, framework::OUTPUT_SCHEMA];
    let asks = about.iter().any(|flag| parsed.args.has(flag));
    if parsed.path.is_empty() && parsed.issues.is_empty() && !asks {
        let terminal = inputs.stdin_terminal && inputs.stdout_terminal && inputs.attended(program.prefix);
        match program.no_command {
            NoCommand::Command { path, anywhere } if terminal || anywhere => {
                parsed.command = program.find(path)
            }
            NoCommand::Command { .. } | NoCommand::Help => {}
            NoCommand::Refused(instead) => parsed.issues.push(parse::no_command(program, instead)),
        }
    }
    // Help and the like look at no file.
    let output = move |args: &Args| if asks { None } else { output(args) };
    let typed = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut environment =
        Environment { argv: typed, inputs, stdin, clock, temp_parent: temp, redactor, end, cancel, streams };
    let request_id = time::ulid(environment.clock.unix_ms(), random);
    let (ready, issues) = prepare(program, &mut parsed, &mut environment, cwd, request_id, output);
    let printed = match discover::answer(
        program,
        &parsed,
        &ready.printer,
        environment.clock.elapsed_ms(),
        issues.is_empty(),
    ) {
        Some(printed) => printed,
        None => match checked(program, &parsed, issues) {
            Ok(command) => {
                return execute(program, command, (&parsed.args, &parsed.words), ready, environment, start);
            }
            Err(failure) => ready.printer.failure(&failure, environment.clock.elapsed_ms()),
        },
    };
    write(&environment.streams, &printed)
}

/// What the world hands a run, as far as it is still needed.
struct Environment {
    argv: Vec<String>,
    inputs: Inputs,
    stdin: Box<dyn Read + Send>,
    clock: std::sync::Arc<dyn Clock>,
    temp_parent: AbsPath,
    redactor: Option<Redactor>,
    end: std::sync::Arc<dyn Fn(u8) + Send + Sync>,
    cancel: Cancel,
    streams: OutputStreams,
}

/// Returns the command if nothing is wrong with the call.
fn checked<A>(
    program: &'static Program<A>,
    parsed: &Parsed<A>,
    issues: Vec<Issue>,
) -> Result<&'static Command<A>, Failure> {
    let unknown = IssueCode::Kind(&error::UNKNOWN_COMMAND);
    if let Some(unknown) = issues.iter().find(|issue| issue.code == unknown) {
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
    (args, words): (&Args, &[Word]),
    ready: Ready,
    mut environment: Environment,
    start: impl FnOnce(&RunFacts<'_, A>) -> Result<Started<A>, Failure>,
) -> u8 {
    let Ready { mut printer, cwd, timeout, request_id } = ready;
    let clock = environment.clock.clone();
    if args.has(&framework::VALIDATE_ONLY) {
        let reply = Reply::one(Value::Null).text("The arguments are fine.").meta("validation_only", true);
        return write(&environment.streams, &printer.reply(reply, clock.elapsed_ms()));
    }
    let begin = RunFacts {
        command,
        args,
        words,
        cancel: &environment.cancel,
        cwd: cwd.clone(),
        inputs: &environment.inputs,
        request_id: &request_id,
        verbosity: printer.mode.verbosity,
    };
    let terminal = printer.mode.interactive && environment.inputs.stdout_terminal;
    let anywhere = program.no_command.anywhere() == Some(command.path);
    let started = match command.class {
        Class::Interactive if !terminal && !anywhere && !(command.without_terminal)(args) => {
            Err(Failure::terminal_required(&command.name(), &format!("{} --help", program.name)))
        }
        _ => start(&begin),
    };
    let mut started = match started {
        Ok(started) => started,
        Err(failure) => return write(&environment.streams, &printer.failure(&failure, clock.elapsed_ms())),
    };
    printer.facts.project_root = started.project_root.clone();
    printer.facts.audit_log = started.audit_log.clone();
    printer.facts.config_sources = started.config_sources.clone();
    printer.facts.effective_config_hash = short_hash(&started.effective_config);
    let steps = Steps::new(command.steps);
    let watchdog = Watchdog {
        cancel: environment.cancel.clone(),
        time: timeout,
        signals: started.signals.take(),
        printer: printer.clone(),
        streams: environment.streams.clone(),
        steps: steps.clone(),
        clock: clock.clone(),
        end: environment.end.clone(),
    };
    // A command that owns its streams hears signals itself; without a limit there is nothing to watch.
    let watched = timeout.is_some() || !command.owns_streams();
    if let Err(error) = if watched { watchdog.start() } else { Ok(()) } {
        let failure =
            Failure::new(&error::IO_ERROR, format!("cannot start the clock of the command: {error}"));
        return write(&environment.streams, &printer.failure(&failure, clock.elapsed_ms()));
    }
    let mut temp = Temp { parent: environment.temp_parent, program: program.name, request_id, folder: None };
    let answers = started.state.as_ref().map(|state| Answers::new(state, clock.unix_ms()));
    let mut cx = CommandCx {
        app: &mut started.app,
        program,
        command,
        mode: printer.mode,
        cwd,
        inputs: &environment.inputs,
        cancel: environment.cancel.clone(),
        steps: steps.clone(),
        streams: environment.streams.clone(),
        clock: &*clock,
        warnings: RefCell::default(),
        temp: &mut temp,
        stdin: &mut *environment.stdin,
    };
    let result = catch_unwind(AssertUnwindSafe(|| gated(&mut cx, args, answers.as_ref())));
    let result = result.unwrap_or_else(|_| {
        Err(Failure::new(
            &error::INTERNAL_ERROR,
            format!("`{}` broke off because of a defect", command.name()),
        ))
    });
    let warnings = cx.warnings.take();
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
        Ok(mut reply) => {
            reply.warnings.splice(0..0, warnings);
            if command.owns_streams() {
                // What a model said is printed as it said it (SCR-3).
                printer.mask.redactor = None;
            }
            let reply = made.into_iter().fold(reply, |reply, (name, value)| reply.meta(name, value));
            printer.reply(reply, clock.elapsed_ms())
        }
        Err(mut failure) => {
            failure.facts.warnings.splice(0..0, warnings);
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
    match written(&environment.streams, &printed) {
        Some(code) => {
            environment.cancel.over();
            code
        }
        None => with_the_last_word(&environment.cancel, printed.exit),
    }
}

/// Returns the code of a run whose end the watchdog tells. It ends the process when that is said; a code of ours, or an end
/// of ours before, would contradict its words.
fn with_the_last_word(cancel: &Cancel, exit: Exit) -> u8 {
    std::thread::park_timeout(crate::watchdog::LAST_WORDS * 3);
    cancel.cause().map_or(exit, Cause::exit).code()
}

/// Runs the command, or only says what it would do; once per key.
fn gated<A>(cx: &mut CommandCx<'_, A>, args: &Args, answers: Option<&Answers>) -> Result<Reply, Failure> {
    let command = cx.command;
    let preview = |cx: &CommandCx<'_, A>| {
        let preview = command
            .preview
            .expect("what destroys or previews says what it would do: the registry's invariants");
        preview(cx, args)
    };
    let mut meta = Vec::new();
    match Gate::of(command, args) {
        Gate::Preview => {
            if let Some(dry_run) = command.dry_run {
                return Ok(dry_run(cx, args)?.meta("dry_run", true));
            }
            let preview = preview(cx)?;
            return Ok(Reply::one(preview.data()).text(preview.text()).meta("dry_run", true));
        }
        Gate::Ask => {
            let preview = preview(cx)?;
            // Nothing that would go needs nobody's word.
            if !preview.items.is_empty() {
                gate::confirm(command, &preview, &cx.mode, &cx.streams, cx.stdin)?;
            }
            meta.push(("confirmed", json!(true)));
        }
        Gate::Open if command.needs_agreement() => meta.push(("confirmed", json!(true))),
        Gate::Open => {}
    }
    if command.preview.is_some() {
        meta.push(("dry_run", json!(false)));
    }
    let key = args.text(&framework::IDEMPOTENCY_KEY).map(|key| match answers {
        Some(answers) => Ok((answers, key)),
        None => Err(Failure::new(&error::INIT_REQUIRED, "there is no folder to remember the key in")),
    });
    let key = key.transpose()?;
    let name = command.name();
    let _held = key.map(|(answers, key)| answers.hold(&name, key, args, &cx.cancel)).transpose()?;
    let mut reply = match key.and_then(|(answers, key)| answers.find(&name, key, args)) {
        Some(data) => {
            let words = data.get("result").and_then(Value::as_str).unwrap_or("It was done before").to_owned();
            Reply::one(data).text(words).meta("idempotency_hit", true)
        }
        None => {
            cx.cancel.before_work()?;
            let reply = (command.run)(cx, args)?;
            let done = match &reply.body {
                Body::One(data) => Some(data),
                _ => reply.kept.as_ref(),
            };
            if let (Some((answers, key)), Some(data)) = (key, done) {
                answers.keep(&name, key, args, data)?;
            }
            reply
        }
    };
    reply.meta.extend(meta.into_iter().map(|(name, value)| (name.to_owned(), value)));
    Ok(reply)
}

/// Writes the answer and returns the exit code. A reader that is gone is no failure of a command that worked.
fn write(streams: &OutputStreams, printed: &Printed) -> u8 {
    written(streams, printed).unwrap_or(printed.exit.code())
}

/// Writes the answer and returns the exit code; `None` where the run's end was told already.
fn written(streams: &OutputStreams, printed: &Printed) -> Option<u8> {
    Some(match streams.finish(&printed.stdout, &printed.said) {
        Written::TooLate => return None,
        Written::Done | Written::Closed => printed.exit.code(),
        Written::Failed(error) => {
            streams.complain(&format!("Error: cannot write to standard output: {error}"));
            if printed.exit == Exit::Success { Exit::General.code() } else { printed.exit.code() }
        }
    })
}

fn stdin_limit(inputs: &Inputs, prefix: &str) -> Option<usize> {
    inputs.vars.tool(prefix, "MAX_STDIN_BYTES").and_then(|value| value.parse().ok())
}
