//! The way in: a [`Spec`] and a machine, as something that prepares commands.

use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::OnceLock;

use zori_core::confine::{Confine, ConfineError, Confined, Consent, Denial, Start};

use crate::backend::{Backend, INSTALL, Machine};
use crate::bubblewrap;
use crate::landlock;
use crate::privileges;
use crate::seccomp::{self, Arch, Policy, Space};
use crate::spec::{Network, Spec};
use crate::suspect::{self, Told};

/// What happens where the machine cannot do it completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The best there is, down to nothing. The status says so.
    Auto,
    /// Completely, or the command does not run.
    Required,
}

/// Confines commands. What the machine offers is looked at when it is first needed.
pub struct Sandbox {
    spec: Spec,
    need: Need,
    machine: OnceLock<Machine>,
}

impl Sandbox {
    /// Makes one for this machine. Nothing is looked at yet.
    pub fn new(spec: Spec, need: Need) -> Self {
        Self { spec, need, machine: OnceLock::new() }
    }

    /// Makes one for a machine that was looked at.
    pub fn on(machine: Machine, spec: Spec, need: Need) -> Self {
        Self { spec, need, machine: machine.into() }
    }

    /// Returns what a command may do.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Returns what the machine offers.
    pub fn machine(&self) -> &Machine {
        self.machine.get_or_init(|| Machine::look(&self.spec.roots))
    }

    /// Returns why no command can run, if none can: the sandbox is required, and there is no complete one.
    pub fn refusal(&self) -> Option<ConfineError> {
        let machine = self.machine();
        let less = match (self.need, &machine.backend) {
            (Need::Auto, _) | (_, Backend::Bubblewrap(_)) => return None,
            (Need::Required, Backend::Landlock(_)) => "offers only Landlock, which is partial",
            (Need::Required, Backend::None) => "has none",
        };
        let why = machine.no_bubblewrap.as_deref().unwrap_or("bubblewrap is not used");
        Some(ConfineError(format!(
            "a complete sandbox is required, and this machine {less}: {why}; {INSTALL}, take what there is with \
             `sandbox = \"auto\"`, or do without with `--sandbox off`"
        )))
    }

    /// Returns whether a command may use the network: one that a person approved may.
    fn network(&self, consent: Consent) -> Network {
        match consent {
            Consent::Rule => self.spec.network,
            Consent::Person => Network::On,
        }
    }

    fn landlock(&self, network: Network) -> Result<Confined, ConfineError> {
        let rules = landlock::rules(&self.spec, network)
            .map_err(|error| ConfineError(format!("cannot set up the sandbox: {error}")))?;
        let filter = seccomp::program(Arch::here()?, Policy { network, space: Space::Shared });
        let limits = self.spec.limits;
        Ok(Confined {
            wrapper: Vec::new(),
            env: vec![("TMPDIR".into(), self.spec.temp.clone().into())],
            in_child: Some(Box::new(move || {
                privileges::limit(&limits)?;
                privileges::lock_down(rules.as_raw_fd(), &filter)
            })),
            wrapper_ends_all: false,
            hold: Box::new(()),
        })
    }
}

impl Confine for Sandbox {
    fn prepare(&self, start: &Start<'_>) -> Result<Confined, ConfineError> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let network = self.network(start.consent);
        match &self.machine().backend {
            Backend::Bubblewrap(program) => bubblewrap::prepare(program, &self.spec, network, start.cwd),
            Backend::Landlock(_) => self.landlock(network),
            Backend::None => Ok(unconfined()),
        }
    }

    fn profile(&self, start: &Start<'_>) -> String {
        let report = self.machine().report();
        if self.machine().backend == Backend::None {
            return report.to_string();
        }
        let network = match self.network(start.consent) {
            Network::Off => "no network",
            Network::On => "network",
        };
        format!("{}, {network}, by {report}", self.spec.level.name())
    }

    fn suspects(&self, start: &Start<'_>, exit_code: i32, stderr: &str) -> Option<Denial> {
        let (backend, partial) = match &self.machine().backend {
            Backend::Bubblewrap(_) => ("bubblewrap", false),
            Backend::Landlock(_) => ("landlock", true),
            Backend::None => return None,
        };
        let places: Vec<PathBuf> = self.spec.writable().map(PathBuf::from).collect();
        let told = Told { backend, level: self.spec.level, writable: &places, partial };
        let network = self.network(start.consent);
        let sign = suspect::suspect(exit_code, stderr, network)?;
        let message = suspect::sentence(sign, network, &told);
        Some(Denial { profile: self.profile(start), about: sign.about(), message })
    }
}

fn unconfined() -> Confined {
    Confined {
        wrapper: Vec::new(),
        env: Vec::new(),
        in_child: None,
        wrapper_ends_all: false,
        hold: Box::new(()),
    }
}
