//! From argv to [`LowArgs`]: what was typed, by the flag and command tables, before anything is looked up.
//!
//! clap does the parsing and the help; it is fed from the tables, so that nothing is said twice.

pub mod flags;
mod outputs;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{Arg, ArgAction, Command as Clap, ValueHint};
use clap::error::ErrorKind;
use zori_core::cost::MicroUsd;
use zori_core::provider::Effort;

use crate::args::flags::{Flag, GLOBAL, Shown, Times};
use crate::command_error::{CommandError, ErrorCode};
use crate::commands::{self, COMMANDS, Command};
use crate::profile::{Bare, Profile};
use crate::terminal::Terminal;

/// What was typed.
#[derive(Clone, Debug, Default)]
pub struct LowArgs {
    /// `--root`.
    pub root: Option<String>,
    /// `--system-prompt`.
    pub system_prompt: Option<String>,
    /// `--session`.
    pub session: Option<String>,
    /// `--no-save`.
    pub no_save: bool,
    /// `--provider`.
    pub provider: Option<String>,
    /// `--model`.
    pub model: Option<String>,
    /// `--prompt`.
    pub prompt: Option<String>,
    /// `--image`, in the order given.
    pub images: Vec<String>,
    /// The spellings of the output setting, with what each asks for.
    pub outputs: Vec<(&'static str, String)>,
    /// `--retries`.
    pub retries: Option<u32>,
    /// `--retry-delay`, in milliseconds.
    pub retry_delay_ms: Option<u64>,
    /// `--thinking`.
    pub thinking: Option<Effort>,
    /// `--max-turns`.
    pub max_turns: Option<u32>,
    /// `--max-budget-usd`.
    pub max_budget: Option<MicroUsd>,
    /// `--max-tokens-total`.
    pub max_tokens_total: Option<u64>,
    /// `--timeout`: `Some(None)` is 0, which means none.
    pub timeout: Option<Option<Duration>>,
    /// `--record`.
    pub record: Option<PathBuf>,
    /// `--replay`.
    pub replay: Option<PathBuf>,
    /// `--replay-lenient`.
    pub replay_lenient: bool,
    /// `--permission-mode`.
    pub permission_mode: Option<String>,
    /// `--allow`.
    pub allow: Vec<String>,
    /// `--ask`.
    pub ask: Vec<String>,
    /// `--deny`.
    pub deny: Vec<String>,
    /// `--yes`.
    pub yes: bool,
    /// `--trust-workspace`.
    pub trust_workspace: bool,
    /// `--without-hooks`.
    pub without_hooks: bool,
    /// `--below`.
    pub below: bool,
    /// `--policy`.
    pub policy: Option<String>,
    /// `--profile`.
    pub policy_profile: Option<String>,
    /// `--tool`.
    pub tool: Option<String>,
    /// `--input`.
    pub input: Option<String>,
    /// `--corpus`.
    pub corpus: Option<String>,
    /// `--keep`.
    pub keep: bool,
    /// `--with-token`.
    pub with_token: bool,
    /// `--event`.
    pub event: Option<String>,
    /// `--limit`.
    pub limit: Option<usize>,
    /// `--verify`.
    pub verify: bool,
    /// Arguments without a flag.
    pub positionals: Vec<String>,
}

/// What argv asks for.
pub enum Parsed {
    /// A text: help or version.
    Help(String),
    /// A command.
    Run(&'static Command, Box<LowArgs>),
}

/// Parses. All problems are usage errors; nothing has happened yet.
pub fn parse(profile: &Profile, argv: &[OsString]) -> Result<Parsed, CommandError> {
    let (argv, shown) = take_all(profile, argv);
    outputs::agree(&argv[1..], takes_value)?;
    let mut root = build(profile, shown);
    let matches = match root.try_get_matches_from_mut(with_exec(&argv)) {
        Ok(matches) => matches,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            return Ok(Parsed::Help(error.to_string()));
        }
        Err(error) => return Err(usage(profile, &error)),
    };
    let mut path = Vec::new();
    let mut deepest = &matches;
    while let Some((name, inner)) = deepest.subcommand() {
        path.push(name);
        deepest = inner;
    }
    let command = match path.as_slice() {
        [] => match bare(
            profile,
            deepest.contains_id("prompt") && deepest.get_one::<String>("prompt").is_some(),
        ) {
            Some(command) => command,
            None => return Ok(Parsed::Help(root.render_help().to_string())),
        },
        path => match COMMANDS.iter().find(|command| command.path == path) {
            Some(command) => command,
            // A group such as `sessions` without a command of it.
            None => return Err(incomplete(profile, path)),
        },
    };
    let mut args = LowArgs::default();
    for flag in GLOBAL.iter().chain(command.flags) {
        flag.read(deepest, &mut args).map_err(|why| CommandError::new(ErrorCode::Usage, why))?;
    }
    if !path.is_empty()
        && let Some(prompt) = matches.get_one::<String>("prompt")
    {
        // `-p` before the command belongs to it, if it takes one.
        let taken = command.flags.iter().any(|flag| flag.long == flags::PROMPT.long);
        if !taken || args.prompt.as_ref().is_some_and(|inner| inner != prompt) {
            let message = format!("`-p` before `{}` has no meaning", path.join(" "));
            return Err(
                CommandError::new(ErrorCode::Usage, message).hint("give one prompt, after the command")
            );
        }
        args.prompt = Some(prompt.clone());
    }
    if !path.is_empty()
        && let Some(before) = matches.get_many::<String>(flags::IMAGE.long)
    {
        if !command.flags.iter().any(|flag| flag.long == flags::IMAGE.long) {
            let message = format!("`--image` before `{}` has no meaning", path.join(" "));
            return Err(CommandError::new(ErrorCode::Usage, message).hint("it goes with a prompt"));
        }
        args.images.splice(..0, before.cloned());
    }
    recording(command, &args)?;
    if !command.args.is_empty() && !path.is_empty() {
        args.positionals = deepest.get_many::<String>("args").into_iter().flatten().cloned().collect();
    }
    Ok(Parsed::Run(command, Box::new(args)))
}

/// Checks the flags about recordings: whether they fit the command, and each other.
fn recording(command: &Command, args: &LowArgs) -> Result<(), CommandError> {
    let flags = [
        ("--record", args.record.is_some()),
        ("--replay", args.replay.is_some()),
        ("--replay-lenient", args.replay_lenient),
    ];
    let given: Vec<_> = flags.iter().filter(|(_, given)| *given).map(|(flag, _)| *flag).collect();
    let wrong = |message: String| Err(CommandError::new(ErrorCode::Usage, message));
    // Those that take a prompt are those that ask a model.
    let asks = command.flags.iter().any(|flag| flag.long == flags::PROMPT.long);
    if args.trust_workspace && !asks {
        let message = format!("`--trust-workspace` has no meaning for `{}`", command.path.join(" "));
        return Err(
            CommandError::new(ErrorCode::Usage, message).hint("it goes with a prompt, or with the chat")
        );
    }
    match given[..] {
        [flag, ..] if !asks => {
            wrong(format!("`{flag}` has no meaning for `{}`, which asks no model", command.path.join(" ")))
        }
        ["--record", other, ..] => wrong(format!("`--record` and `{other}` exclude each other")),
        ["--replay-lenient"] => wrong("`--replay-lenient` needs `--replay FILE`".to_owned()),
        _ => Ok(()),
    }
}

/// Puts `exec` before arguments that end in a lone `-` and name no command: `zori -p TEXT -` is `zori exec -p TEXT -`.
fn with_exec(argv: &[OsString]) -> Vec<OsString> {
    let commands = || COMMANDS.iter().filter_map(|command| command.path.first());
    let mut argv = argv.to_vec();
    let lone = argv.len() > 2 && argv[argv.len() - 1] == "-" && !takes_value(&argv[argv.len() - 2]);
    if lone && !argv.iter().any(|arg| commands().any(|name| arg == name)) {
        argv.insert(1, "exec".into());
    }
    argv
}

/// Returns whether an argument is a flag whose value comes next.
fn takes_value(arg: &OsString) -> bool {
    let arg = arg.to_str().unwrap_or_default();
    let flags = || GLOBAL.iter().chain([&flags::PROMPT, &flags::IMAGE]).filter(|flag| flag.value.is_some());
    match (arg.strip_prefix("--"), arg.strip_prefix('-')) {
        (Some(long), _) => flags().any(|flag| flag.long == long || flag.aliases.contains(&long)),
        (None, Some(short)) => flags().any(|flag| flag.short.is_some_and(|s| short == s.to_string())),
        (None, None) => false,
    }
}

/// What a call without a command means (DECISIONS 6, 19, 23).
fn bare(profile: &Profile, prompt: bool) -> Option<&'static Command> {
    if prompt {
        return Some(&commands::EXEC);
    }
    let chat = Terminal::detect().interactive() || profile.bare_without_terminal == Bare::Chat;
    chat.then_some(&commands::CHAT)
}

/// Builds the parser for a profile.
pub fn build(profile: &Profile, shown: Shown) -> Clap {
    let mut root = Clap::new(profile.name)
        .version(env!("CARGO_PKG_VERSION"))
        .about(profile.about)
        .disable_help_subcommand(true)
        .subcommand_negates_reqs(true)
        .after_help(
            "Without a command and at a terminal this opens the chat; `-p TEXT` is `exec -p TEXT`.\n\
             `--help --all` shows every option.",
        );
    root = root.arg(flags::PROMPT.arg(shown)).arg(flags::IMAGE.arg(shown));
    for flag in GLOBAL {
        root = root.arg(flag.arg(shown).global(true));
    }
    for command in COMMANDS {
        root = attach(root, command, shown);
    }
    root
}

fn attach(root: Clap, command: &'static Command, shown: Shown) -> Clap {
    match command.path {
        [] => root,
        [name] => root.subcommand(leaf(name, command, shown)),
        [group, name] => {
            let inner = leaf(name, command, shown);
            if root.find_subcommand(group).is_some() {
                root.mut_subcommand(group, |parent| parent.subcommand(inner))
            } else {
                let about = commands::GROUPS.iter().find(|(g, _)| g == group).map_or("", |(_, about)| about);
                let parent = Clap::new(*group).about(about).disable_help_subcommand(true);
                root.subcommand(parent.subcommand(inner))
            }
        }
        longer => unreachable!("a command path has at most two words, not {longer:?}"),
    }
}

fn leaf(name: &'static str, command: &'static Command, shown: Shown) -> Clap {
    let mut leaf = Clap::new(name).about(command.about).after_help(command.after_help);
    for flag in command.flags {
        leaf = leaf.arg(flag.arg(shown));
    }
    if let [arg] = command.args {
        let positional = Arg::new("args").value_name(arg.name).help(arg.about).required(arg.required);
        leaf = leaf.arg(positional.action(ArgAction::Set).value_hint(ValueHint::Other));
    }
    leaf
}

/// Takes `--all` out when help is asked for: `--help --all` in any order.
fn take_all(profile: &Profile, argv: &[OsString]) -> (Vec<OsString>, Shown) {
    let help = argv.iter().any(|arg| arg == "--help" || arg == "-h");
    let mut rest = vec![OsString::from(profile.name)];
    if help && argv.iter().any(|arg| arg == "--all") {
        rest.extend(argv.iter().filter(|arg| *arg != "--all").cloned());
        return (rest, Shown::All);
    }
    rest.extend(argv.iter().cloned());
    (rest, Shown::Common)
}

fn incomplete(profile: &Profile, path: &[&str]) -> CommandError {
    let group = path.join(" ");
    let names: Vec<_> = COMMANDS
        .iter()
        .filter(|c| c.path.starts_with(path))
        .map(|c| format!("`{}`", c.path.join(" ")))
        .collect();
    CommandError::new(ErrorCode::Usage, format!("`{} {group}` needs a command", profile.name))
        .hint(format!("one of {}", names.join(", ")))
}

/// Says a parse error in our words: what is wrong, what may be meant, where the help is.
fn usage(profile: &Profile, error: &clap::Error) -> CommandError {
    let text = error.to_string();
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().trim_start_matches("error: ");
    let mut message = first.to_owned();
    let mut hints = Vec::new();
    for line in lines.map(str::trim) {
        if let Some(tip) = line.strip_prefix("tip: ") {
            // What follows `--` is no prompt here, so that advice would lead nowhere.
            if !tip.starts_with("to pass") {
                hints.push(quoted(tip));
            }
        } else if line.starts_with("Usage:") || line.starts_with("For more information") {
            break;
        } else if !line.is_empty() {
            message.push(' ');
            message.push_str(line);
        }
    }
    if error.kind() == ErrorKind::InvalidSubcommand {
        hints.push(format!("for a prompt: `{} -p TEXT`", profile.name));
    }
    hints.push(format!("`{} --help` shows what there is", profile.name));
    CommandError { code: ErrorCode::Usage, message: quoted(&message), hints }
}

/// Puts literals in backticks, as everywhere else.
fn quoted(text: &str) -> String {
    text.replace('\'', "`")
}

impl Flag {
    /// Returns the flag as clap knows it.
    fn arg(&self, shown: Shown) -> Arg {
        let mut arg = Arg::new(self.long).long(self.long).help(self.about);
        if let Some(short) = self.short {
            arg = arg.short(short);
        }
        arg = arg.aliases(self.aliases.iter().copied());
        arg = match self.value {
            Some(name) => {
                let action = match self.times {
                    Times::Once => ArgAction::Set,
                    Times::Many => ArgAction::Append,
                };
                arg.value_name(name).action(action).allow_hyphen_values(true)
            }
            None => arg.action(ArgAction::SetTrue),
        };
        arg.hide(self.shown == Shown::All && shown == Shown::Common)
    }

    fn read(&self, matches: &clap::ArgMatches, args: &mut LowArgs) -> Result<(), String> {
        match self.value {
            Some(_) => {
                let mut values = matches.get_many::<String>(self.long).into_iter().flatten();
                values.try_for_each(|value| (self.apply)(args, value))
            }
            None if matches.get_flag(self.long) => (self.apply)(args, ""),
            None => Ok(()),
        }
    }
}
