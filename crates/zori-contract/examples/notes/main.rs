//! A small program with the whole contract: notes in a folder.
//!
//! `main` reads the outside once and hands it to `zori_contract::run`; `commands.rs` is the table and what each command does;
//! `store.rs` is the program itself, which knows nothing of command lines.

mod commands;
mod store;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use zori_contract::cancel::{Cancel, Cause};
use zori_contract::failure::Failure;
use zori_contract::mask::{REDACTED, Redactor};
use zori_contract::mode::{Inputs, Vars};
use zori_contract::path::AbsPath;
use zori_contract::world::{Clock, RunFacts, Started, World};

use crate::store::Store;

fn main() -> ExitCode {
    match world() {
        Ok(world) => ExitCode::from(zori_contract::run::run(&commands::PROGRAM, world, start)),
        Err(error) => {
            // Without a working directory or signals there is no run, and nobody to print an envelope for.
            let _ = io::Write::write_all(&mut io::stderr(), format!("Error: {error}\n").as_bytes());
            ExitCode::FAILURE
        }
    }
}

/// Makes the program's state. Help, bad arguments and `--validate-only` never come here.
fn start(begin: &RunFacts<'_, Store>) -> Result<Started<Store>, Failure> {
    let vars = &begin.inputs.vars;
    let folder = match (vars.get("NOTES_HOME"), vars.get("HOME")) {
        (Some(home), _) if !home.is_empty() => begin.cwd.join(home),
        (_, Some(home)) if !home.is_empty() => begin.cwd.join(home).join(".notes"),
        _ => begin.cwd.join(".notes"),
    };
    let mut started = Started::plain(Store::new(folder.join("notes")));
    started.state = Some(folder);
    Ok(started)
}

/// Returns what hides the token of this environment.
fn redactor(vars: &Vars) -> Option<Redactor> {
    // A short word is no secret, and hiding it would garble every text.
    let token = vars.get("NOTES_TOKEN").filter(|token| token.len() >= 8)?.to_owned();
    Some(Arc::new(move |text: &str| text.contains(&token).then(|| text.replace(&token, REDACTED))))
}

/// Reads everything outside that the run may know.
fn world() -> io::Result<World> {
    let cwd = AbsPath::new(&std::env::current_dir()?).ok_or(io::ErrorKind::InvalidInput)?;
    let temp = AbsPath::new(&std::env::temp_dir()).unwrap_or_else(|| cwd.join("tmp"));
    let vars = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
    let vars = Vars(vars.collect());
    let redactor = redactor(&vars);
    let cancel = Cancel::default();
    hear_signals(cancel.clone())?;
    let mut random = [0; 10];
    for chunk in random.chunks_mut(8) {
        let bytes = RandomState::new().build_hasher().finish().to_le_bytes();
        chunk.copy_from_slice(&bytes[..chunk.len()]);
    }
    Ok(World {
        argv: std::env::args_os().skip(1).collect(),
        inputs: Inputs {
            stdin_terminal: io::stdin().is_terminal(),
            stdout_terminal: io::stdout().is_terminal(),
            stderr_terminal: io::stderr().is_terminal(),
            native_screen: cfg!(target_os = "macos"),
            vars,
        },
        cwd,
        stdin: Box::new(io::stdin()),
        stdout: Box::new(io::stdout()),
        stderr: Box::new(io::stderr()),
        clock: Arc::new(SystemClock(Instant::now())),
        random,
        temp,
        output: Box::new(|_| None),
        redactor,
        cancel,
        end: Arc::new(|code| std::process::exit(i32::from(code))),
    })
}

/// Turns signals into words. A second SIGINT ends the program at once; a second SIGTERM changes nothing.
fn hear_signals(cancel: Cancel) -> io::Result<()> {
    let interrupted = Arc::default();
    // The order matters: the second SIGINT must find the flag set by the first one.
    signal_hook::flag::register_conditional_shutdown(SIGINT, 130, Arc::clone(&interrupted))?;
    signal_hook::flag::register(SIGINT, interrupted)?;
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            cancel.cancel(if signal == SIGINT { Cause::Interrupt } else { Cause::Terminate });
        }
    })?;
    Ok(())
}

/// The machine's clocks.
struct SystemClock(Instant);

impl Clock for SystemClock {
    fn unix_ms(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
    }

    fn elapsed_ms(&self) -> u64 {
        self.0.elapsed().as_millis() as u64
    }
}
