//! The entry point: prepares commands for a [`Spec`] and a machine.

use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use zori_core::confine::{
    CommandStart, Confine, ConfineError, Confined, Consent, Denial, Holding, ServiceAccess, ServiceNetwork,
};

use crate::attributes::{self, Places};
use crate::backend::{Backend, INSTALL, Machine};
use crate::bubblewrap;
use crate::denial_hint::{self, HintFacts};
use crate::landlock::{self, Closed};
use crate::layout;
use crate::path_state::look_at;
use crate::privileges;
use crate::seccomp::{self, Arch, NamespaceUse, Policy};
use crate::set_aside::SetAside;
use crate::spec::{Network, Spec};

/// What happens if the machine cannot confine completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Confine as well as possible, or not at all. The status says which.
    Auto,
    /// Confine completely, or do not run the command.
    Required,
}

/// Confines commands. What the machine offers is detected when it is first needed.
pub struct Sandbox {
    spec: Spec,
    requirement: Requirement,
    machine: OnceLock<Machine>,
    set_aside: SetAside,
}

impl Sandbox {
    /// Makes a sandbox for this machine. Nothing is detected yet.
    pub fn new(spec: Spec, requirement: Requirement) -> Self {
        Self { spec, requirement, machine: OnceLock::new(), set_aside: SetAside::default() }
    }

    /// Makes a sandbox for a machine that was detected.
    pub fn with_machine(machine: Machine, spec: Spec, requirement: Requirement) -> Self {
        Self { spec, requirement, machine: machine.into(), set_aside: SetAside::default() }
    }

    /// Returns what a command may do.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Returns what the machine offers.
    pub fn machine(&self) -> &Machine {
        self.machine.get_or_init(|| Machine::detect(&self.spec.roots))
    }

    /// Returns why no command can run, if the sandbox is required and not complete.
    pub fn refusal(&self) -> Option<ConfineError> {
        let machine = self.machine();
        let less = match (self.requirement, &machine.backend) {
            (Requirement::Auto, _) | (_, Backend::Bubblewrap(_)) => return None,
            (Requirement::Required, Backend::Landlock(_)) => "offers only Landlock, which is partial",
            (Requirement::Required, Backend::None) => "has none",
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

    /// Returns the sandbox of a configured program. What it leaves in protected places is told with what commands leave there.
    fn of_service(&self, service: &ServiceAccess<'_>) -> Self {
        let mut spec = self.spec.clone();
        spec.caches.extend_from_slice(service.writable);
        spec.network = match service.network {
            ServiceNetwork::Granted => Network::On,
            ServiceNetwork::AsCommands => spec.network,
            ServiceNetwork::Denied => Network::Off,
        };
        let machine = self.machine().clone().into();
        Self { spec, requirement: self.requirement, machine, set_aside: self.set_aside.clone() }
    }

    fn landlock(&self, network: Network) -> Result<Confined, ConfineError> {
        let closed = Closed::of(&self.spec);
        let rules = landlock::rules(&self.spec, &closed, network)
            .map_err(|error| ConfineError(format!("cannot set up the sandbox: {error}")))?;
        let filter = seccomp::program(Arch::here()?, Policy { network, space: NamespaceUse::Shared });
        let limits = self.spec.limits;
        let writable = self.spec.writable().map(PathBuf::from);
        let places = Places {
            writable: writable.flat_map(|path| path.canonicalize().into_iter().chain([path])).collect(),
            closed: [closed.hidden, closed.protected, self.spec.hidden.clone()].concat(),
        };
        let asked = attributes::watch(places)
            .map_err(|error| ConfineError(format!("cannot set up the sandbox: {error}")))?;
        Ok(Confined {
            wrapper: Vec::new(),
            env: vec![("TMPDIR".into(), self.spec.temp.clone().into())],
            in_child: Some(Box::new(move || {
                privileges::limit(&limits)?;
                let listener = privileges::lock_down(rules.as_raw_fd(), &filter)?;
                asked.send(listener)
            })),
            wrapper_ends_all: false,
            hold: Box::new(()),
        })
    }
}

impl Confine for Sandbox {
    fn prepare(&self, start: &CommandStart<'_>) -> Result<Confined, ConfineError> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let network = self.network(start.consent);
        match &self.machine().backend {
            Backend::Bubblewrap(program) => {
                bubblewrap::prepare(program, &self.spec, network, start.cwd, &self.set_aside)
            }
            Backend::Landlock(_) => self.landlock(network),
            Backend::None => Ok(unconfined()),
        }
    }

    fn prepare_service(&self, service: &ServiceAccess<'_>) -> Result<Confined, ConfineError> {
        let own = self.of_service(service);
        own.prepare(&CommandStart {
            command: "",
            cwd: service.cwd,
            consent: Consent::Rule,
            holding: Holding::Usual,
        })
    }

    fn hides(&self, service: &ServiceAccess<'_>, path: &Path) -> Option<PathBuf> {
        let spec = self.of_service(service).spec;
        match &self.machine().backend {
            Backend::Bubblewrap(_) => layout::hiding(&spec, path, &look_at),
            Backend::Landlock(_) => {
                let seen = spec.visible.iter().any(|visible| path.starts_with(visible));
                spec.hidden.into_iter().find(|hidden| !seen && path.starts_with(hidden))
            }
            Backend::None => None,
        }
    }

    fn profile(&self, start: &CommandStart<'_>) -> String {
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

    fn suspects(&self, start: &CommandStart<'_>, exit_code: i32, stderr: &str) -> Option<Denial> {
        let (backend, partial) = match &self.machine().backend {
            Backend::Bubblewrap(_) => ("bubblewrap", false),
            Backend::Landlock(_) => ("landlock", true),
            Backend::None => return None,
        };
        let places: Vec<PathBuf> = self.spec.writable().map(PathBuf::from).collect();
        let facts = HintFacts { backend, level: self.spec.level, writable: &places, partial };
        let network = self.network(start.consent);
        let hint = denial_hint::find_hint(exit_code, stderr, network);
        let sentence = hint.map(|hint| denial_hint::hint_sentence(hint, network, &facts));
        let message: Vec<String> = sentence.into_iter().chain(self.set_aside.take_sentence()).collect();
        let about = hint.map_or("files", |hint| hint.about());
        let profile = self.profile(start);
        (!message.is_empty()).then(|| Denial { profile, about, message: message.join("; ") })
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
