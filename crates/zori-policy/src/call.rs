//! A call as a decision sees it: which tool, what it would do, and what is known of the paths it touches.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use zori_core::permission::{Judged, PathFacts, PlaceKind, Verdict};
use zori_core::tool::{Effect, ToolKind};
use zori_shell::{Analysis, Scene, TargetPath};

use crate::paths::{Access, Ground};

/// A call. Make it, look up the [`paths`](Call::paths) it asks for, decide.
#[derive(Clone, Debug)]
pub struct Call {
    /// The tool's name as it was called.
    pub name: String,
    /// Which built-in tool it is; `None` for tools of others.
    pub kind: Option<ToolKind>,
    /// What it does; empty for a call that cannot be understood.
    pub parts: Vec<Part>,
    /// What is known of its paths.
    pub facts: Facts,
    /// What is wrong with it, if it cannot be understood at all.
    pub flaw: Option<String>,
    /// What the user's hooks said about it.
    pub hook: Option<HookAnswer>,
}

/// What a hook said before the call was decided (steps 6 and 10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookAnswer {
    /// Its verdict.
    pub verdict: Verdict,
    /// Why, in the hook's words.
    pub reason: String,
}

/// One thing a call does.
#[derive(Clone, Debug)]
pub enum Part {
    /// Reads or writes a path.
    File(Access, PathBuf),
    /// Runs a shell text.
    Shell(Box<ShellPart>),
    /// Contacts a host.
    Net {
        /// The URL.
        url: String,
    },
    /// Calls a tool of a server.
    Mcp {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// Whether it counts as one that only reads.
        trusted_reader: bool,
    },
    /// Starts a sub-agent.
    Agent,
    /// Writes to the memory store.
    Memory,
    /// Changes nothing outside the session.
    Internal,
}

/// A shell text with what it would do.
#[derive(Clone, Debug)]
pub struct ShellPart {
    /// The text.
    pub text: String,
    /// Where it runs.
    pub cwd: PathBuf,
    /// What it would do.
    pub analysis: Analysis,
}

/// What is known of paths.
#[derive(Clone, Debug)]
pub enum Facts {
    /// Nothing is looked up: a path is what its text says.
    ByText,
    /// What the file system said. A path that was not asked about counts as outside of everything.
    Gathered(HashMap<PathBuf, PathFacts>),
}

impl Call {
    /// Understands what a call would do. The shell is analysed here, once.
    pub fn new(name: &str, kind: Option<ToolKind>, effects: &[Effect], ground: &Ground) -> Self {
        let part = |effect: &Effect| match effect {
            Effect::Read(path) => Part::File(Access::Read, path.clone()),
            Effect::Write(path) => Part::File(Access::Write, path.clone()),
            Effect::Exec { command, cwd } => Part::Shell(Box::new(ShellPart {
                analysis: analyse(command, cwd, ground),
                text: command.clone(),
                cwd: cwd.clone(),
            })),
            Effect::Net { url } => Part::Net { url: url.clone() },
            Effect::Mcp { server, tool, trusted_reader } => {
                Part::Mcp { server: server.clone(), tool: tool.clone(), trusted_reader: *trusted_reader }
            }
            Effect::Agent => Part::Agent,
            Effect::Memory => Part::Memory,
            Effect::Internal => Part::Internal,
        };
        let parts = effects.iter().map(part).collect();
        Self { name: name.to_owned(), kind, parts, facts: Facts::ByText, flaw: None, hook: None }
    }

    /// A call that cannot be understood; step 1 denies it.
    pub fn flawed(name: &str, flaw: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            kind: None,
            parts: Vec::new(),
            facts: Facts::ByText,
            flaw: Some(flaw.into()),
            hook: None,
        }
    }

    /// Returns the paths that have to be looked up before a decision.
    pub fn paths(&self) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for part in &self.parts {
            match part {
                Part::File(_, path) => paths.push(path.clone()),
                Part::Shell(shell) => {
                    let commands = shell.analysis.commands.iter();
                    let targets = commands.flat_map(|c| c.reads.iter().chain(&c.writes));
                    paths.extend(targets.filter_map(|target| match &target.path {
                        TargetPath::Known(path) | TargetPath::Within(path) => Some(path.clone()),
                        TargetPath::Unknown => None,
                    }));
                }
                Part::Net { .. } | Part::Mcp { .. } | Part::Agent | Part::Memory | Part::Internal => {}
            }
        }
        paths.sort();
        paths.dedup();
        paths
    }

    /// Looks every path up with `look`.
    pub fn gather(&mut self, look: impl Fn(&Path) -> PathFacts) {
        let known = self.paths().into_iter().map(|path| {
            let facts = look(&path);
            (path, facts)
        });
        self.facts = Facts::Gathered(known.collect());
    }
}

/// Exactly what was asked about (DEC-4): the values themselves rather than a digest of them, so that two bindings are
/// equal only if everything is. Made again before the call runs, a difference means `changed_since_approval`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    tool: String,
    input: String,
    cwd: PathBuf,
    targets: Vec<(PathBuf, PathFacts)>,
}

impl Call {
    /// Binds the call to its input, to where it runs, and to what its paths stand for.
    pub fn binding(&self, input: &str, cwd: &Path) -> Binding {
        let targets = self.paths().into_iter().map(|path| {
            let facts = self.facts.of(&path);
            (path, facts)
        });
        Binding {
            tool: self.name.clone(),
            input: input.to_owned(),
            cwd: cwd.to_owned(),
            targets: targets.collect(),
        }
    }
}

impl Facts {
    /// What the call may open, which is what it was judged by.
    pub fn into_judged(self) -> Judged {
        match self {
            Self::ByText => Judged::default(),
            Self::Gathered(known) => Judged::new(known),
        }
    }

    /// Returns what is known of a path.
    pub fn of(&self, path: &Path) -> PathFacts {
        match self {
            Self::ByText => PathFacts::by_text(path.to_owned()),
            Self::Gathered(known) => known.get(path).cloned().unwrap_or(PathFacts {
                places: Vec::new(),
                kind: PlaceKind::Unknown,
                links: 0,
            }),
        }
    }
}

/// The longest text that is looked at: no system takes a longer one as an argument, and step 1 denies it.
pub(crate) const MAX_COMMAND: usize = 1 << 20;

pub(crate) fn analyse(text: &str, cwd: &Path, ground: &Ground) -> Analysis {
    if text.len() > MAX_COMMAND || text.contains('\0') {
        return Analysis::default();
    }
    let scene = Scene {
        cwd: cwd.to_owned(),
        // Without a home `~` means nothing that could be inside the workspace.
        home: ground.home.clone().unwrap_or_else(|| "/nonexistent".into()),
        roots: ground.roots.clone(),
        repo: ground.repo.clone(),
    };
    zori_shell::analyse(text, &scene)
}
