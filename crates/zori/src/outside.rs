//! Everything outside that a run may know, read once: arguments, streams, environment, clocks, random numbers.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use zori_contract::args::Args;
use zori_contract::cancel::Cancel;
use zori_contract::mode::{Inputs, Vars};
use zori_contract::path::AbsPath;
use zori_contract::world::{Clock, World};
use zori_providers::catalog::PROVIDERS;

use crate::audit;
use crate::base::{self, Base};
use crate::clock::random;
use crate::config::Config;
use crate::profile::{Exits, Profile};

/// Reads it.
pub fn world(profile: &'static Profile, argv: Vec<OsString>) -> World {
    let root = AbsPath::new(Path::new("/")).expect("the root is absolute");
    // A working directory that is gone is told by whoever needs it.
    let cwd = std::env::current_dir().ok().and_then(|cwd| AbsPath::new(&cwd)).unwrap_or(root);
    let temp = AbsPath::new(&std::env::temp_dir()).unwrap_or_else(|| cwd.join("tmp"));
    World {
        argv,
        inputs: Inputs {
            stdin_terminal: io::stdin().is_terminal(),
            stdout_terminal: io::stdout().is_terminal(),
            stderr_terminal: io::stderr().is_terminal(),
            native_screen: cfg!(target_os = "macos"),
            vars: vars(profile),
        },
        cwd,
        stdin: Box::new(io::stdin()),
        stdout: Box::new(io::stdout()),
        stderr: Box::new(io::stderr()),
        clock: Arc::new(Clocks(Instant::now())),
        random: random(),
        temp,
        output: Box::new(|args| configured_output(profile, args)),
        cancel: Cancel::default(),
        end: match profile.exits {
            Exits::Fine => end,
            Exits::Folded => end_folded,
        },
    }
}

/// Returns the environment. Whoever says that nobody is there says it under every name.
fn vars(profile: &Profile) -> Vars {
    let text =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    let mut vars = Vars(std::env::vars_os().filter_map(text).collect());
    if let Some(agent) = vars.get("ZORI_AGENT").map(str::to_owned) {
        vars.0.entry(format!("{}_AGENT", profile.program.prefix)).or_insert(agent);
    }
    vars
}

/// Returns `output` of the config file, or `--json` where it says `cli.json`. A file that is wrong is told by whoever needs the rest of it.
fn configured_output(profile: &Profile, args: &Args) -> Option<String> {
    base::choose_config(args);
    let path = Base::find(profile).ok()?.config();
    // Most files do not say it, and then there is no need to understand them twice.
    let said = |line: &str| {
        ["output", "json", "cli"].iter().any(|key| line.trim_start().trim_start_matches('[').starts_with(key))
    };
    std::fs::read_to_string(&path).ok().filter(|text| text.lines().any(said))?;
    let config = Config::load(&path, PROVIDERS[0].key_var).ok()?;
    let json = config.flag("cli.json").unwrap_or(false).then_some("--json");
    config.text("output").or(json).map(str::to_owned)
}

fn end(code: u8) {
    audit::end_at_once(code);
    std::process::exit(i32::from(code));
}

fn end_folded(code: u8) {
    end(crate::profile::ZDX.exit_code(code));
}

/// The machine's clocks.
pub struct Clocks(pub Instant);

impl Clock for Clocks {
    fn unix_ms(&self) -> u64 {
        // A clock set before 1970 counts as 1970; only time stamps depend on it.
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
    }

    fn elapsed_ms(&self) -> u64 {
        self.0.elapsed().as_millis() as u64
    }
}
