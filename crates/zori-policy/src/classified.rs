//! A call classified under a policy: the files it accesses, the class of each of its commands, and its own class. The
//! steps look at nothing else.

use std::path::{Path, PathBuf};

use zori_core::path::normalise;
use zori_core::permission::{Class, PathFacts, RuleRef};
use zori_shell::{CommandEffect, Target, TargetPath};

use crate::call::{Call, Part, ShellPart, TreeFacts, matched};
use crate::paths::{Access, globs};
use crate::policy::Policy;

/// A call, classified under a policy.
pub(crate) struct ClassifiedCall<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) call: &'a Call,
    /// Files that tools access themselves.
    pub(crate) files: Vec<FileAccess>,
    /// Shell texts.
    pub(crate) shells: Vec<ClassifiedShell<'a>>,
    /// The strictest class of all parts.
    pub(crate) class: Class,
}

/// A shell text, classified under a policy.
pub(crate) struct ClassifiedShell<'a> {
    pub(crate) part: &'a ShellPart,
    /// One entry per command of the analysis.
    pub(crate) commands: Vec<ClassifiedCommand>,
    /// The strictest class of its commands.
    pub(crate) class: Class,
}

/// A command's class, and the files it accesses.
pub(crate) struct ClassifiedCommand {
    pub(crate) class: Class,
    pub(crate) file_accesses: Vec<FileAccess>,
}

pub(crate) struct FileAccess {
    pub(crate) access: Access,
    pub(crate) path: AccessedPath,
    pub(crate) facts: PathFacts,
    pub(crate) class: Class,
    /// How messages name it.
    pub(crate) shown: String,
}

/// Which file.
pub(crate) enum AccessedPath {
    At(PathBuf),
    /// Some below this folder.
    Below(PathBuf, Filter),
    /// Any.
    Anywhere,
}

/// What is known of the names below a folder.
pub(crate) struct Filter {
    /// Whether they may begin with a dot.
    pub(crate) hidden: bool,
    /// A pattern the last of them fits.
    pub(crate) name: Option<String>,
}

impl Filter {
    /// Returns whether a file of this name may be among them.
    pub(crate) fn lets_through(&self, name: &str) -> bool {
        let last = |pattern: &String| pattern.rsplit('/').next().unwrap_or(pattern).to_owned();
        (self.hidden || !name.starts_with('.'))
            && self
                .name
                .as_ref()
                .map(last)
                .is_none_or(|pattern| globs::fits_name(&pattern, &name.to_lowercase()))
    }
}

pub(crate) struct RuleMatch<'a> {
    pub(crate) rule: &'a RuleRef,
    pub(crate) what: String,
}

impl<'a> ClassifiedCall<'a> {
    pub(crate) fn new(policy: &'a Policy, call: &'a Call) -> Self {
        let mut files = Vec::new();
        let mut shells = Vec::new();
        let mut classes = Vec::new();
        for part in &call.parts {
            classes.push(match part {
                Part::File(access, path) => {
                    let file = FileAccess::at(policy, call, *access, path, shown(path));
                    let class = file.class;
                    files.push(file);
                    class
                }
                Part::Shell(part) => {
                    let shell = ClassifiedShell::new(policy, call, part);
                    let class = shell.class;
                    shells.push(shell);
                    class
                }
                other => class_of_part(other),
            });
        }
        // What cannot be judged counts as the strictest thing there is (TM-4).
        let class = classes.into_iter().max().unwrap_or(Class::Shell);
        Self { policy, call, files, shells, class }
    }

    /// Returns every file access, by tools and by commands.
    pub(crate) fn file_accesses(&self) -> impl Iterator<Item = &FileAccess> {
        self.files.iter().chain(self.shell_file_accesses())
    }

    /// Returns the file accesses of commands.
    pub(crate) fn shell_file_accesses(&self) -> impl Iterator<Item = &FileAccess> {
        self.shells.iter().flat_map(|shell| &shell.commands).flat_map(|command| &command.file_accesses)
    }

    /// Returns what is not known before it runs, if anything.
    pub(crate) fn unresolved(&self) -> Option<String> {
        self.shells.iter().find_map(ClassifiedShell::unresolved)
    }
}

/// Returns the class of a part that accesses no file and starts no process.
pub(crate) fn class_of_part(part: &Part) -> Class {
    match part {
        Part::File(Access::Read, _) => Class::ReadOutside,
        Part::File(Access::Write, _) => Class::WriteOutside,
        Part::Shell(_) => Class::ShellUnknown,
        Part::Net { .. } => Class::Network,
        Part::Mcp { trusted_reader: true, .. } => Class::McpRead,
        Part::Mcp { trusted_reader: false, .. } => Class::Mcp,
        Part::Agent => Class::Agent,
        Part::Memory => Class::MemoryWrite,
        Part::Schedule => Class::Schedule,
        Part::Internal => Class::Internal,
    }
}

impl<'a> ClassifiedShell<'a> {
    fn new(policy: &Policy, call: &Call, part: &'a ShellPart) -> Self {
        let commands: Vec<ClassifiedCommand> = part
            .analysis
            .commands
            .iter()
            .map(|command| {
                let read = command.reads.iter().map(|t| FileAccess::target(policy, call, Access::Read, t));
                let written =
                    command.writes.iter().map(|t| FileAccess::target(policy, call, Access::Write, t));
                let file_accesses: Vec<FileAccess> = read.chain(written).collect();
                let inside =
                    file_accesses.iter().all(|file| matches!(file.class, Class::Read | Class::Write));
                let writes = file_accesses.iter().any(|file| file.access == Access::Write);
                let foreign = call.repository_runs && command.base_name == "git";
                let plain =
                    inside && !foreign && command.no_auto_approval.is_empty() && command.net.is_empty();
                let class = match &command.effect {
                    CommandEffect::Unresolved(_) => Class::ShellUnknown,
                    CommandEffect::ReadOnly if plain && !writes => Class::ShellRead,
                    CommandEffect::ReadOnly | CommandEffect::FileOperation if plain => Class::ShellFile,
                    CommandEffect::ReadOnly | CommandEffect::FileOperation | CommandEffect::Other => {
                        Class::Shell
                    }
                };
                ClassifiedCommand { class, file_accesses }
            })
            .collect();
        // A text without a command in it does nothing; one that cannot be read may do anything.
        let strictest = commands.iter().map(|command| command.class).max().unwrap_or(Class::ShellUnknown);
        let class = if part.analysis.unresolved.is_empty() { strictest } else { Class::ShellUnknown };
        Self { part, commands, class }
    }

    /// Returns what is not known before it runs, if anything.
    pub(crate) fn unresolved(&self) -> Option<String> {
        let whole = self.part.analysis.unresolved.first();
        let inner = self.part.analysis.commands.iter().find_map(|command| match &command.effect {
            CommandEffect::Unresolved(unresolved) => Some(unresolved),
            _ => None,
        });
        let found = whole.or(inner)?;
        Some(format!("`{}` is not known before it runs: {}", short(&found.shown), found.why))
    }
}

impl FileAccess {
    fn at(policy: &Policy, call: &Call, access: Access, path: &Path, shown: String) -> Self {
        let facts = call.facts.of(path);
        let path = normalise(path);
        let class = policy.workspace.class(access, &path, &facts);
        Self { access, path: AccessedPath::At(path), facts, class, shown }
    }

    fn target(policy: &Policy, call: &Call, access: Access, target: &Target) -> Self {
        let shown = short(&target.shown);
        match &target.path {
            TargetPath::Known(path) => Self::at(policy, call, access, path, shown),
            TargetPath::Glob { folder, pattern } => {
                let facts = call.facts.of(folder);
                let facts_folder = folder.clone();
                let folder = normalise(folder);
                // A link is judged by where it leads as well.
                let places = facts.places.last().filter(|place| **place != folder);
                let class = policy.workspace.class_glob(access, &folder, pattern, &facts).max(
                    places.map_or(Class::Internal, |place| {
                        policy.workspace.class_glob(access, place, pattern, &facts)
                    }),
                );
                let filter = Filter {
                    hidden: pattern.starts_with('.') || pattern.contains("/."),
                    name: Some(pattern.clone()),
                };
                let (class, shown) = match call.facts.tree(&matched(&facts_folder, pattern)) {
                    Some(TreeFacts::Sensitive(path)) if access == Access::Read => {
                        (Class::ReadSensitive, self::shown(path))
                    }
                    Some(TreeFacts::Sensitive(path) | TreeFacts::Linked(path)) => {
                        (class.max(outside(access)), self::shown(path))
                    }
                    Some(TreeFacts::Unfinished | TreeFacts::Harmless) | None => (class, shown),
                };
                Self { access, path: AccessedPath::Below(folder, filter), facts, class, shown }
            }
            TargetPath::Tree(tree) => {
                let facts = call.facts.of(&tree.folder);
                let folder = normalise(&tree.folder);
                let class = policy.workspace.class_tree(access, &folder, tree.name.as_deref(), &facts);
                let (class, shown) = match call.facts.tree(tree) {
                    Some(TreeFacts::Linked(path)) => (class.max(outside(access)), self::shown(path)),
                    _ if access != Access::Read => (class, shown),
                    Some(TreeFacts::Sensitive(path)) => (Class::ReadSensitive, self::shown(path)),
                    Some(TreeFacts::Unfinished) => (Class::ReadSensitive, format!("what is below {shown}")),
                    Some(TreeFacts::Harmless) | None => (class, shown),
                };
                let filter = Filter { hidden: tree.hidden, name: tree.name.clone() };
                Self { access, path: AccessedPath::Below(folder, filter), facts, class, shown }
            }
            // SH-17: it may be the worst.
            TargetPath::Unknown => {
                let class = match access {
                    Access::Read => Class::ReadSensitive,
                    Access::Write => Class::WriteOutside,
                };
                let facts = PathFacts {
                    places: Vec::new(),
                    kind: zori_core::permission::PathKind::Unknown,
                    links: 0,
                };
                Self { access, path: AccessedPath::Anywhere, facts, class, shown }
            }
        }
    }
}

/// The class of an access to a place outside of the workspace.
fn outside(access: Access) -> Class {
    match access {
        Access::Read => Class::ReadOutside,
        Access::Write => Class::WriteOutside,
    }
}

/// A path as messages show it (P-8).
pub(crate) fn shown(path: &Path) -> String {
    zori_core::text::one_line(&path.to_string_lossy()).into_owned()
}

/// A text as messages show it: one line, not too long.
pub(crate) fn short(text: &str) -> String {
    const MAX: usize = 200;
    let line = zori_core::text::one_line(text);
    match line.len() > MAX {
        true => format!("{}...", zori_core::text::prefix(&line, MAX)),
        false => line.into_owned(),
    }
}
