//! A call as a decision sees it: which tool, what it would do, and what is known of the paths it touches.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use zori_core::path::normalise;
use zori_core::permission::{EntryKind, PathFacts, PathKind, PathSnapshot, Verdict};
use zori_core::tool::{Effect, McpChange, ToolKind};
use zori_shell::{Analysis, ShellContext, TargetPath, Tree};

use crate::paths::{Access, Workspace};

/// A call to decide about. Make it, look up its [`paths`](Call::paths), then decide.
#[derive(Clone, Debug)]
pub struct Call {
    /// The tool's name as it was called.
    pub name: String,
    /// Which built-in tool it is; `None` for tools of others.
    pub kind: Option<ToolKind>,
    /// What it does; empty for a malformed call.
    pub parts: Vec<Part>,
    /// What is known of its paths.
    pub facts: Facts,
    /// Why it is malformed, if it is.
    pub problem: Option<String>,
    /// What the user's hooks said about it.
    pub hook: Option<HookAnswer>,
    /// Whether git would start programs that the repository names, even to show something (SH-11).
    pub repository_runs: bool,
}

/// What a hook said before the call was decided (steps 6 and 10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookAnswer {
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
    Net { url: String },
    /// Calls a tool of a server.
    Mcp {
        server: String,
        tool: String,
        /// Whether it counts as one that only reads.
        trusted_reader: bool,
        /// Whether it is the tool that was approved.
        change: McpChange,
    },
    /// Starts a sub-agent.
    Agent,
    /// Writes to the memory store.
    Memory,
    /// Has a prompt run later.
    Schedule,
    /// Changes nothing outside the session.
    Internal,
}

/// A shell text with what it would do.
#[derive(Clone, Debug)]
pub struct ShellPart {
    pub text: String,
    /// Where it runs.
    pub cwd: PathBuf,
    /// What it would do.
    pub analysis: Analysis,
}

/// What is known of paths.
#[derive(Clone, Debug)]
pub enum Facts {
    /// Nothing was looked up: a path stands for itself.
    ByText,
    /// What the file system said. A path that was not looked up counts as outside the workspace.
    Gathered(HashMap<PathBuf, PathFacts>, HashMap<Tree, TreeFacts>),
}

/// What a bounded walk through a folder found (DECISIONS 52).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeFacts {
    /// Nothing sensitive.
    Harmless,
    /// This, and perhaps more.
    Sensitive(PathBuf),
    /// A link that leads out of the workspace.
    Linked(PathBuf),
    /// There is more than is looked at, or a folder that cannot be read.
    Unfinished,
}

/// How many files and folders a walk looks at.
const MAX_WALK: usize = 20_000;

impl Call {
    /// Describes what a call would do. Shell commands are analysed here, once.
    pub fn new(name: &str, kind: Option<ToolKind>, effects: &[Effect], workspace: &Workspace) -> Self {
        let part = |effect: &Effect| match effect {
            Effect::Read(path) => Part::File(Access::Read, path.clone()),
            Effect::Write(path) => Part::File(Access::Write, path.clone()),
            Effect::Exec { command, cwd } => Part::Shell(Box::new(ShellPart {
                analysis: analyse(command, cwd, workspace),
                text: command.clone(),
                cwd: cwd.clone(),
            })),
            Effect::Net { url } => Part::Net { url: url.clone() },
            Effect::Mcp { server, tool, trusted_reader, change } => Part::Mcp {
                server: server.clone(),
                tool: tool.clone(),
                trusted_reader: *trusted_reader,
                change: *change,
            },
            Effect::Agent => Part::Agent,
            Effect::Memory => Part::Memory,
            Effect::Schedule => Part::Schedule,
            Effect::Internal => Part::Internal,
        };
        let parts = effects.iter().map(part).collect();
        Self {
            name: name.to_owned(),
            kind,
            parts,
            facts: Facts::ByText,
            problem: None,
            hook: None,
            repository_runs: false,
        }
    }

    /// Returns a malformed call; step 1 denies it.
    pub fn malformed(name: &str, problem: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            kind: None,
            parts: Vec::new(),
            facts: Facts::ByText,
            problem: Some(problem.into()),
            hook: None,
            repository_runs: false,
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
                        TargetPath::Known(path) | TargetPath::Glob { folder: path, .. } => Some(path.clone()),
                        TargetPath::Tree(tree) => Some(tree.folder.clone()),
                        TargetPath::Unknown => None,
                    }));
                }
                Part::Net { .. }
                | Part::Mcp { .. }
                | Part::Agent
                | Part::Memory
                | Part::Schedule
                | Part::Internal => {}
            }
        }
        paths.sort();
        paths.dedup();
        paths
    }

    /// Looks up every path with `look`.
    pub fn gather(&mut self, look: impl Fn(&Path) -> PathFacts) {
        let known = self.paths().into_iter().map(|path| {
            let facts = look(&path);
            (path, facts)
        });
        self.facts = Facts::Gathered(known.collect(), HashMap::new());
    }

    /// Looks at the configuration of the repository, if a command is git's.
    pub fn gather_repository(&mut self, workspace: &Workspace, read: &dyn Fn(&Path) -> Option<String>) {
        let git = self.parts.iter().any(|part| match part {
            Part::Shell(shell) => shell.analysis.commands.iter().any(|command| command.base_name == "git"),
            _ => false,
        });
        self.repository_runs =
            git && workspace.roots.iter().any(|root| crate::repository::names_programs(root, read));
    }

    /// Walks through the folders that commands read as a whole, and looks for what is sensitive there, and for links that
    /// lead elsewhere. `list` returns the names in a folder, and what each is.
    pub fn gather_trees(
        &mut self,
        workspace: &Workspace,
        list: impl Fn(&Path) -> Option<Vec<(std::ffi::OsString, EntryKind)>>,
    ) {
        let trees: Vec<Tree> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Shell(shell) => Some(&shell.analysis.commands),
                _ => None,
            })
            .flatten()
            .flat_map(|command| command.reads.iter().chain(&command.writes))
            .filter_map(|target| match &target.path {
                TargetPath::Tree(tree) => Some(tree.clone()),
                TargetPath::Glob { folder, pattern } => Some(matched(folder, pattern)),
                TargetPath::Known(_) | TargetPath::Unknown => None,
            })
            .collect();
        let trees: std::collections::HashSet<Tree> = trees.into_iter().collect();
        for tree in trees {
            // What is outside is asked about anyway.
            let places = self.facts.of(&tree.folder).places;
            let inside = places.last().filter(|place| workspace.contains(place)).cloned();
            let found = match inside {
                Some(folder) => walk(&folder, &tree, workspace, &list),
                None => continue,
            };
            if let Facts::Gathered(_, known) = &mut self.facts {
                known.insert(tree, found);
            }
        }
    }
}

/// Returns the files that a pattern means, as a walk.
pub(crate) fn matched(folder: &Path, pattern: &str) -> Tree {
    Tree {
        folder: folder.to_owned(),
        hidden: pattern.starts_with('.') || pattern.contains("/."),
        name: pattern.rsplit('/').next().map(str::to_owned),
        follows: true,
        deep: pattern.contains('/'),
    }
}

fn walk(
    folder: &Path,
    tree: &Tree,
    workspace: &Workspace,
    list: &impl Fn(&Path) -> Option<Vec<(std::ffi::OsString, EntryKind)>>,
) -> TreeFacts {
    let mut folders = vec![folder.to_owned()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        let Some(entries) = list(&folder) else { return TreeFacts::Unfinished };
        for (name, kind) in entries {
            seen += 1;
            if seen > MAX_WALK {
                return TreeFacts::Unfinished;
            }
            let shown = name.to_string_lossy();
            if !tree.hidden && shown.starts_with('.') {
                continue;
            }
            let path = folder.join(&name);
            let wanted =
                tree.name.as_ref().is_none_or(|pattern| crate::paths::globs::fits_name(pattern, &shown));
            match kind {
                EntryKind::Folder => folders.extend(tree.deep.then_some(path)),
                EntryKind::Link(Some(target)) if tree.follows && wanted => {
                    if workspace.is_sensitive(&target) {
                        return TreeFacts::Sensitive(path);
                    }
                    if !workspace.contains(&target) {
                        return TreeFacts::Linked(path);
                    }
                }
                EntryKind::File | EntryKind::Link(_) if wanted && workspace.is_sensitive(&path) => {
                    return TreeFacts::Sensitive(path);
                }
                EntryKind::File | EntryKind::Link(_) => {}
            }
        }
    }
    TreeFacts::Harmless
}

/// Exactly what was asked about (DEC-4): the values themselves rather than a digest of them, so that two bindings are
/// equal only if everything is. Made again before the call runs, a difference means `changed_since_approval`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalBinding {
    tool: String,
    input: String,
    cwd: PathBuf,
    targets: Vec<(PathBuf, PathFacts)>,
}

impl Call {
    /// Binds the call to its input, its working directory and its resolved paths.
    pub fn binding(&self, input: &str, cwd: &Path) -> ApprovalBinding {
        let targets = self.paths().into_iter().map(|path| {
            let facts = self.facts.of(&path);
            (path, facts)
        });
        ApprovalBinding {
            tool: self.name.clone(),
            input: input.to_owned(),
            cwd: cwd.to_owned(),
            targets: targets.collect(),
        }
    }
}

impl Facts {
    /// Returns the paths the call may open: those it was decided by.
    pub fn into_snapshot(self) -> PathSnapshot {
        match self {
            Self::ByText => PathSnapshot::default(),
            Self::Gathered(known, _) => PathSnapshot::new(known),
        }
    }

    /// Returns what is known of a path.
    pub fn of(&self, path: &Path) -> PathFacts {
        match self {
            Self::ByText => PathFacts::by_text(normalise(path)),
            Self::Gathered(known, _) => known.get(path).cloned().unwrap_or(PathFacts {
                places: Vec::new(),
                kind: PathKind::Unknown,
                links: 0,
            }),
        }
    }
}

impl Facts {
    /// Returns what a walk found; `None` if there was none.
    pub(crate) fn tree(&self, tree: &Tree) -> Option<&TreeFacts> {
        match self {
            Self::ByText => None,
            Self::Gathered(_, trees) => trees.get(tree),
        }
    }
}

/// The longest text that is looked at: no system takes a longer one as an argument, and step 1 denies it.
pub(crate) const MAX_COMMAND_BYTES: usize = 1 << 20;

pub(crate) fn analyse(text: &str, cwd: &Path, workspace: &Workspace) -> Analysis {
    if text.len() > MAX_COMMAND_BYTES || text.contains('\0') {
        return Analysis::default();
    }
    let context = ShellContext {
        cwd: cwd.to_owned(),
        // Without a home `~` means nothing that could be inside the workspace.
        home: workspace.home.clone().unwrap_or_else(|| "/nonexistent".into()),
        shell: workspace.shell,
    };
    zori_shell::analyse(text, &context)
}
