//! Everything outside that a run may know, read once: arguments, variables, folders, streams, clocks, random numbers.
//!
//! This is the only file of the program that asks `std::env`. Whoever needs a variable gets an [`Environment`].

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use zori_contract::cancel::Cancel;
use zori_contract::mask;
use zori_contract::mode::{Inputs, Vars};
use zori_contract::path::AbsPath;
use zori_contract::world::{Clock, World};
use zori_core::secret::Secrets;
use zori_core::tool::Leniency;
use zori_host::random_bytes;
use zori_tools::env::ShellProgram;

use crate::audit::CommandRecord;
use crate::config::ConfigReader;
use crate::data_dir::{Locations, chosen_config};
use crate::profile::Profile;
use crate::secrets;

/// The operating system and the processor that this program was built for.
pub const PLATFORM: (&str, &str) = (std::env::consts::OS, std::env::consts::ARCH);

/// The variables and folders of this process, as they were when it started. Clones share them. It has no `Debug`: some
/// variables are keys.
#[derive(Clone, Default)]
pub struct Environment(Arc<Values>);

#[derive(Default)]
struct Values {
    vars: BTreeMap<OsString, OsString>,
    cwd: Option<PathBuf>,
    temp_dir: PathBuf,
    /// Words of the command line that are keys: nobody meant to type them there.
    typed_keys: Vec<String>,
    /// Secrets that a command has learned while it runs, and that its answer must not say.
    learned: Secrets,
    /// Where the home directory really is, looked up when it is first asked for.
    real_home: OnceLock<Option<PathBuf>>,
    /// Whether there is a bash, looked up when it is first asked for.
    bash: OnceLock<bool>,
    /// What this program is started with again.
    again: OnceLock<Vec<OsString>>,
}

/// Returns the words that are keys, also behind the sign of an option or its `=`.
fn typed_keys(words: impl Iterator<Item = OsString>) -> Vec<String> {
    let words = words.filter_map(|word| word.into_string().ok());
    let part = |word: String| {
        let word = word.trim_start_matches('-');
        let value = word.split_once('=').map_or(word, |(_, value)| value);
        [word, value].into_iter().find(|part| mask::looks_like_key(part)).map(str::to_owned)
    };
    words.filter_map(part).collect()
}

impl Environment {
    /// Reads the environment of this process.
    pub fn read() -> Self {
        Self(Arc::new(Values {
            vars: std::env::vars_os().collect(),
            cwd: std::env::current_dir().ok(),
            temp_dir: std::env::temp_dir(),
            typed_keys: typed_keys(std::env::args_os().skip(1)),
            ..Values::default()
        }))
    }

    /// Returns the words of the command line that are keys.
    pub fn typed_keys(&self) -> &[String] {
        &self.0.typed_keys
    }

    /// Returns the secrets that a command has learned while it runs, such as those of the vault that MCP servers get: whoever learns one
    /// adds it, and no answer or message has it.
    pub fn learned(&self) -> &Secrets {
        &self.0.learned
    }

    /// Returns an environment of these variables alone.
    pub fn of(vars: &[(&str, &str)]) -> Self {
        let vars = vars.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self(Arc::new(Values { vars, temp_dir: "/tmp".into(), ..Values::default() }))
    }

    /// Returns a variable that is text; it may be empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.vars.get(OsStr::new(name))?.to_str()
    }

    /// Returns a variable that is not empty, as a path.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.0.vars.get(OsStr::new(name)).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// Returns the names of all variables.
    pub fn names(&self) -> impl Iterator<Item = &OsString> {
        self.0.vars.keys()
    }

    /// Returns the user's home directory.
    pub fn home(&self) -> Option<PathBuf> {
        self.path("HOME")
    }

    /// Returns the user's home directory without links; `None` where there is none.
    pub fn real_home(&self) -> Option<&Path> {
        self.0.real_home.get_or_init(|| self.home()?.canonicalize().ok()).as_deref()
    }

    /// Returns the folder of temporary files.
    pub fn temp_dir(&self) -> &Path {
        &self.0.temp_dir
    }

    /// Returns the folders that programs are looked for in.
    pub fn search_path(&self) -> Vec<PathBuf> {
        let path = self.0.vars.get(OsStr::new("PATH"));
        path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default()
    }

    /// Returns the shell that runs commands: bash where it exists, unless the profile's document has `sh` (FOR-1).
    pub fn shell(&self, profile: &Profile) -> ShellProgram {
        let is_there = |folder: PathBuf| folder.join("bash").is_file();
        let bash = || *self.0.bash.get_or_init(|| self.search_path().into_iter().any(is_there));
        match profile.leniency == Leniency::Forgiving && bash() {
            true => ShellProgram::Bash,
            false => ShellProgram::Sh,
        }
    }

    /// Returns the file of this program.
    pub fn executable(&self) -> io::Result<PathBuf> {
        std::env::current_exe()
    }

    /// Says where this run keeps its data and finds its settings, for those that start the program [`again`](Self::again).
    pub fn run_at(&self, locations: &Locations) {
        let _ = self.0.again.set(locations.args());
    }

    /// Returns the start of this program by itself: under the name it was called by, with the settings and the vault that the command line names.
    pub fn again(&self) -> io::Result<Command> {
        let mut command = Command::new(self.executable()?);
        command.args(self.0.again.get().into_iter().flatten());
        Ok(command)
    }

    /// Returns the variables that are text, for the contract. Whoever says that nobody is there says it under every name.
    fn for_contract(&self, profile: &Profile) -> Vars {
        let text = |(name, value): (&OsString, &OsString)| {
            Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))
        };
        let mut vars = Vars(self.0.vars.iter().filter_map(text).collect());
        if let Some(agent) = vars.get("ZORI_AGENT").map(str::to_owned) {
            vars.0.entry(format!("{}_AGENT", profile.prefix)).or_insert(agent);
        }
        vars
    }
}

/// Returns the name the program was called by, and its arguments.
pub fn arguments() -> (OsString, Vec<OsString>) {
    let mut argv = std::env::args_os();
    (argv.next().unwrap_or_default(), argv.collect())
}

/// Returns what the contract is handed. What the search for the output format reads of the config file stays with `reader`.
pub fn world(
    profile: &'static Profile,
    argv: Vec<OsString>,
    env: &Environment,
    reader: &ConfigReader,
    record: &CommandRecord,
) -> World {
    let root = AbsPath::new(Path::new("/")).expect("the root is absolute");
    // A working directory that is gone is told by whoever needs it.
    let cwd = env.0.cwd.as_deref().and_then(AbsPath::new).unwrap_or(root);
    let temp = AbsPath::new(env.temp_dir()).unwrap_or_else(|| cwd.join("tmp"));
    let (locations, record) = ((env.clone(), reader.clone()), record.clone());
    World {
        argv,
        inputs: Inputs {
            stdin_terminal: io::stdin().is_terminal(),
            stdout_terminal: io::stdout().is_terminal(),
            stderr_terminal: io::stderr().is_terminal(),
            native_screen: cfg!(target_os = "macos"),
            vars: env.for_contract(profile),
        },
        cwd,
        stdin: Box::new(io::stdin()),
        stdout: Box::new(io::stdout()),
        stderr: Box::new(io::stderr()),
        clock: Arc::new(Clocks(Instant::now())),
        random: random_bytes(),
        temp,
        output: Box::new(move |args| {
            let (env, reader) = locations;
            let config_file = chosen_config(args);
            configured_output(&Locations { profile, env, config_file, vault_dir: None, reader })
        }),
        redactor: Some(secrets::redactor_of_output(env)),
        cancel: Cancel::default(),
        end: Arc::new(move |code| {
            let code = profile.exit_code(code);
            record.end_at_once(code);
            std::process::exit(i32::from(code));
        }),
    }
}

/// Returns `output` of the config file, or `--json` where it says `cli.json`. A file that is wrong is told by whoever needs the rest of it.
fn configured_output(locations: &Locations) -> Option<String> {
    let data_dir = locations.data_dir().ok()?;
    // Most files do not say it, and then there is no need to understand them twice.
    let said = |line: &str| {
        ["output", "json", "cli"].iter().any(|key| line.trim_start().trim_start_matches('[').starts_with(key))
    };
    // A pipe would be waited for, before there is a time limit.
    let file = Some(data_dir.config()).filter(|file| file.is_file())?;
    std::fs::read_to_string(file).ok().filter(|text| text.lines().any(said))?;
    let config = data_dir.read_config().ok()?;
    let json = config.flag("cli.json").unwrap_or(false).then_some("--json");
    config.text("output").or(json).map(str::to_owned)
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
