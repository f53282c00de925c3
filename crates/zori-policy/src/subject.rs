//! A call under a policy, looked at once: what it touches, what each of its commands is, and its class. The steps
//! ask this and nothing else.

use std::path::{Path, PathBuf};

use zori_core::permission::{Class, PathFacts, RuleRef};
use zori_shell::{CommandEffect, Target, TargetPath};

use crate::call::{Call, Part, ShellPart};
use crate::paths::Access;
use crate::policy::Policy;

/// A call under a policy.
pub(crate) struct Subject<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) call: &'a Call,
    /// Files that tools touch themselves.
    pub(crate) files: Vec<Touch>,
    /// Shell texts.
    pub(crate) shells: Vec<Shell<'a>>,
    /// The strictest class of all parts.
    pub(crate) class: Class,
}

/// A shell text under a policy.
pub(crate) struct Shell<'a> {
    pub(crate) part: &'a ShellPart,
    /// One entry per command of the analysis.
    pub(crate) commands: Vec<Judged>,
    /// The strictest class of its commands.
    pub(crate) class: Class,
}

/// What a command is, and what it touches.
pub(crate) struct Judged {
    pub(crate) class: Class,
    pub(crate) touches: Vec<Touch>,
}

/// A file that is touched.
pub(crate) struct Touch {
    pub(crate) access: Access,
    pub(crate) place: Place,
    pub(crate) facts: PathFacts,
    pub(crate) class: Class,
    /// How messages name it.
    pub(crate) shown: String,
}

/// Which file.
pub(crate) enum Place {
    /// This one.
    At(PathBuf),
    /// Some below this folder.
    Below(PathBuf),
    /// Any.
    Anywhere,
}

/// A rule, and what it was found to match.
pub(crate) struct Hit<'a> {
    pub(crate) rule: &'a RuleRef,
    pub(crate) what: String,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(policy: &'a Policy, call: &'a Call) -> Self {
        let mut files = Vec::new();
        let mut shells = Vec::new();
        let mut classes = Vec::new();
        for part in &call.parts {
            classes.push(match part {
                Part::File(access, path) => {
                    let touch = Touch::at(policy, call, *access, path, shown(path));
                    let class = touch.class;
                    files.push(touch);
                    class
                }
                Part::Shell(part) => {
                    let shell = Shell::new(policy, call, part);
                    let class = shell.class;
                    shells.push(shell);
                    class
                }
                other => plain_class(other),
            });
        }
        // What cannot be judged counts as the strictest thing there is (TM-4).
        let class = classes.into_iter().max().unwrap_or(Class::X);
        Self { policy, call, files, shells, class }
    }

    /// Every file that is touched, by tools and by commands.
    pub(crate) fn touches(&self) -> impl Iterator<Item = &Touch> {
        self.files.iter().chain(self.shell_touches())
    }

    /// The files that commands touch.
    pub(crate) fn shell_touches(&self) -> impl Iterator<Item = &Touch> {
        self.shells.iter().flat_map(|shell| &shell.commands).flat_map(|command| &command.touches)
    }

    /// What is not known before it runs, if anything.
    pub(crate) fn unresolved(&self) -> Option<String> {
        self.shells.iter().find_map(Shell::unresolved)
    }
}

/// The class of a part that touches no file and starts no process of ours.
pub(crate) fn plain_class(part: &Part) -> Class {
    match part {
        Part::File(Access::Read, _) => Class::Rx,
        Part::File(Access::Write, _) => Class::Wx,
        Part::Shell(_) => Class::Xu,
        Part::Net { .. } => Class::N,
        Part::Mcp { trusted_reader: true, .. } => Class::Mr,
        Part::Mcp { trusted_reader: false, .. } => Class::Mx,
        Part::Agent => Class::A,
        Part::Memory => Class::Im,
        Part::Internal => Class::I,
    }
}

impl<'a> Shell<'a> {
    fn new(policy: &Policy, call: &Call, part: &'a ShellPart) -> Self {
        let commands: Vec<Judged> = part
            .analysis
            .commands
            .iter()
            .map(|command| {
                let read = command.reads.iter().map(|t| Touch::target(policy, call, Access::Read, t));
                let written = command.writes.iter().map(|t| Touch::target(policy, call, Access::Write, t));
                let touches: Vec<Touch> = read.chain(written).collect();
                let inside = touches.iter().all(|touch| matches!(touch.class, Class::R | Class::W));
                let writes = touches.iter().any(|touch| touch.access == Access::Write);
                let plain = inside && command.no_auto.is_empty() && command.net.is_empty();
                let class = match &command.effect {
                    CommandEffect::Unresolved(_) => Class::Xu,
                    CommandEffect::ReadOnly if plain && !writes => Class::Xr,
                    CommandEffect::ReadOnly | CommandEffect::FileOperation if plain => Class::Xf,
                    CommandEffect::ReadOnly | CommandEffect::FileOperation | CommandEffect::Other => Class::X,
                };
                Judged { class, touches }
            })
            .collect();
        // A text without a command in it does nothing; one that cannot be read may do anything.
        let strictest = commands.iter().map(|command| command.class).max().unwrap_or(Class::Xu);
        let class = if part.analysis.unresolved.is_empty() { strictest } else { Class::Xu };
        Self { part, commands, class }
    }

    /// What is not known before it runs, if anything.
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

impl Touch {
    fn at(policy: &Policy, call: &Call, access: Access, path: &Path, shown: String) -> Self {
        let facts = call.facts.of(path);
        let class = policy.ground.class(access, path, &facts);
        Self { access, place: Place::At(path.to_owned()), facts, class, shown }
    }

    fn target(policy: &Policy, call: &Call, access: Access, target: &Target) -> Self {
        let shown = short(&target.shown);
        match &target.path {
            TargetPath::Known(path) => Self::at(policy, call, access, path, shown),
            TargetPath::Within(folder) => {
                let facts = call.facts.of(folder);
                let class = policy.ground.class_below(access, folder, &facts);
                Self { access, place: Place::Below(folder.clone()), facts, class, shown }
            }
            // SH-17: it may be the worst.
            TargetPath::Unknown => {
                let class = match access {
                    Access::Read => Class::Rs,
                    Access::Write => Class::Wx,
                };
                let facts = PathFacts {
                    places: Vec::new(),
                    kind: zori_core::permission::PlaceKind::Unknown,
                    links: 0,
                };
                Self { access, place: Place::Anywhere, facts, class, shown }
            }
        }
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
