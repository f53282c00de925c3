//! Which permission modes a session may come to hold once it runs, as one value that a front end asks before it agrees and
//! the engine when it happens (MODE-2, MODE-4).

use std::sync::Arc;

use zori_engine::engine;
use zori_policy::mode::Protocol;
use zori_policy::policy::ShellPolicy;
use zori_policy::{Choice, Mode};

use crate::child_env::ChildEnv;
use crate::permissions::Modes;
use crate::settings::Settings;

/// Decides about a change of the mode.
#[derive(Clone)]
pub struct ModeGate {
    modes: Modes,
    protocol: Protocol,
    /// Whether `yolo` was permitted when the program started.
    yolo: bool,
    child_env: ChildEnv,
}

impl ModeGate {
    /// Speaks the names of a protocol. `yolo`: whether the mode without questions may come to hold.
    pub fn new(settings: &Settings, protocol: Protocol, yolo: bool) -> Self {
        let child_env = settings.child_env.clone();
        Self { modes: settings.modes.clone(), protocol, yolo, child_env }
    }

    /// Returns what a name means, or why it may not hold. Nothing changes.
    pub fn check(&self, name: &str) -> Result<(Choice, ShellPolicy), String> {
        let (choice, shell) = self.modes.named_in("mode", name, self.protocol).map_err(|failure| {
            let hints = failure.facts.hints.join("; ");
            if hints.is_empty() { failure.message } else { format!("{} ({hints})", failure.message) }
        })?;
        if choice.mode == Mode::Yolo && !self.yolo {
            return Err(format!(
                "the mode {name} was not permitted when the program started; \
                 `--allow-dangerously-skip-permissions` permits it"
            ));
        }
        Ok((choice, shell))
    }

    /// Returns the same for the engine: what it takes holds for the environment of commands, too.
    pub fn for_engine(&self) -> engine::Modes {
        let gate = self.clone();
        Arc::new(move |name| {
            let (choice, shell) = gate.check(name)?;
            gate.child_env.set_mode(choice.mode);
            Ok((choice, shell))
        })
    }
}
