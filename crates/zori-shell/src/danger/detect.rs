//! Hits of the built-in blacklist (`docs/contracts/permissions.md`), found on commands, not on text.

use std::ops::Range;
use std::path::Path;

use crate::analysis::{Analysis, Target, TargetPath, Via};
use crate::arg::{Arg, Rest};
use crate::context::ShellContext;
use crate::danger::Danger;
use crate::paths;
use crate::programs::irregular::DOWNLOADERS;
use crate::programs::shells::{SHELLS, is_interpreter, runs_input};
use crate::programs::{ProgramEffects, Spawn};
use crate::state::State;
use crate::syntax::Script;
use crate::tree::{Item, List, Node, NodeKind};
use crate::walk::shorten;

/// Top-level directories a system lives in.
const SYSTEM: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "opt",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "System",
    "Library",
    "Applications",
    "Users",
    "Volumes",
    "private",
    "cores",
    "nix",
    "snap",
];

/// Block devices, by how their names start.
const DEVICES: &[&str] = &[
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "loop", "md", "dm-", "mapper/", "ram", "sr",
    "nbd", "zd",
];

/// Whether a path is a catastrophic target.
pub fn is_catastrophic(path: &Path, context: &ShellContext) -> bool {
    let mut parts = path.components().skip(1).filter_map(|part| part.as_os_str().to_str());
    let below = (parts.next(), parts.next(), parts.next());
    let usual_home = matches!(below, (Some("home" | "Users"), Some(_), None));
    let system = matches!(below, (Some(top), None, None) if SYSTEM.contains(&top));
    below.0.is_none() || system || usual_home || path == context.home || Some(path) == context.home.parent()
}

/// Whether an argument names a catastrophic target, or everything in one.
fn names_catastrophe(arg: &Arg, state: &State, context: &ShellContext) -> bool {
    let normal = |path: &Path| paths::normalise(path, "");
    let known = paths::targets(arg, &state.cwds).iter().any(|target| match &target.path {
        TargetPath::Known(path) => is_catastrophic(&normal(path), context),
        TargetPath::Glob { folder, .. } => {
            let folder = normal(folder);
            let whole = arg.text.is_empty() || arg.text.ends_with('/');
            is_catastrophic(&folder, context) && (whole || folder == Path::new("/"))
        }
        TargetPath::Tree(tree) => is_catastrophic(&normal(&tree.folder), context),
        TargetPath::Unknown => false,
    });
    // `~/.*` is every file with a dot, and in some shells the parent too.
    let dots = arg.rest == Rest::Unknown && arg.text.ends_with("/.");
    known
        || (dots && is_catastrophic(&paths::normalise(Path::new("/"), &arg.text), context))
        || arg
            .maybe
            .iter()
            .any(|text| text.split_whitespace().any(|word| may_be_catastrophe(word, state, context)))
}

/// Whether a text that a word may be names a catastrophic target, or everything in one.
fn may_be_catastrophe(text: &str, state: &State, context: &ShellContext) -> bool {
    let whole = text.trim_end_matches(['*', '.']);
    let everything = whole.len() < text.len() && (whole.is_empty() || whole.ends_with('/'));
    let path = if everything && text.contains('*') { whole } else { text };
    let path = match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", context.home.display()),
        _ => path.to_owned(),
    };
    let anchored = path.starts_with('/');
    let root = [std::path::PathBuf::from("/")];
    let folders = if anchored { &root[..] } else { &state.cwds };
    !path.contains(['$', '`'])
        && folders.iter().any(|cwd| is_catastrophic(&paths::normalise(cwd, &path), context))
}

fn report(analysis: &mut Analysis, id: &'static str, shown: &str) {
    let danger = Danger { id, shown: shorten(shown) };
    if !analysis.dangers.contains(&danger) {
        analysis.dangers.push(danger);
    }
}

/// Looks at one command.
#[expect(
    clippy::too_many_arguments,
    reason = "what a command is, what it does, and where; there is no smaller noun"
)]
pub fn check_command(
    name: &str,
    args: &[Arg],
    effects: &ProgramEffects,
    writes: &[Target],
    state: &State,
    context: &ShellContext,
    source: &str,
    analysis: &mut Analysis,
) {
    let operands = || args.iter().filter(|arg| !arg.text.starts_with('-') || arg.rest != Rest::Nothing);
    let catastrophic = || operands().any(|arg| names_catastrophe(arg, state, context));
    let long = |word: &str, option: &str, least: usize| {
        word.strip_prefix("--").is_some_and(|word| word.len() >= least && option.starts_with(word))
    };
    let recursive = || {
        args.iter().any(|arg| {
            let short =
                arg.text.starts_with('-') && !arg.text.starts_with("--") && arg.text.contains(['r', 'R']);
            short || long(&arg.text, "recursive", 1)
        })
    };
    match name {
        "rm" | "shred" | "srm" if recursive() && catastrophic() => report(analysis, "remove-system", source),
        // Every file that a search of such a place finds.
        "rm" | "shred" | "srm" | "unlink"
            if operands().any(|arg| {
                matches!(arg.rest, Rest::Found { .. }) && names_catastrophe(arg, state, context)
            }) =>
        {
            report(analysis, "find-delete-system", source)
        }
        "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" | "chcon" if recursive() && catastrophic() => {
            report(analysis, "chmod-system", source)
        }
        "find" if catastrophic() => {
            let deletes = args.iter().any(|arg| arg.text == "-delete");
            let removes = effects.spawns.iter().any(|start| match start {
                Spawn::Argv { words, .. } => words.iter().any(|word| {
                    matches!(word.text.rsplit('/').next(), Some("rm" | "unlink" | "shred" | "rmdir"))
                }),
                Spawn::Script { .. } => false,
            });
            if deletes || removes {
                report(analysis, "find-delete-system", source);
            }
        }
        "shutdown" | "poweroff" | "reboot" | "halt" if !args.iter().any(|arg| arg.text == "--help") => {
            report(analysis, "power-off", source);
        }
        "init" | "telinit" if args.iter().any(|arg| matches!(arg.text.as_str(), "0" | "6")) => {
            report(analysis, "power-off", source);
        }
        "systemctl" | "loginctl"
            if operands().next().is_some_and(|arg| {
                matches!(arg.text.as_str(), "poweroff" | "reboot" | "halt" | "kexec" | "soft-reboot")
            }) =>
        {
            report(analysis, "power-off", source);
        }
        "kill" if args.iter().skip(1).any(|arg| arg.literal() == Some("-1")) => {
            report(analysis, "kill-all", source)
        }
        "killall5" => report(analysis, "kill-all", source),
        "nvme" if operands().next().is_some_and(|arg| matches!(arg.text.as_str(), "format" | "sanitize")) => {
            report(analysis, "make-filesystem", source);
        }
        name if makes_filesystems(name) && args.iter().any(|arg| arg.text.starts_with("/dev/")) => {
            report(analysis, "make-filesystem", source);
        }
        _ => {}
    }
    let device = |target: &Target| match &target.path {
        TargetPath::Known(path) | TargetPath::Glob { folder: path, .. } => {
            let name = path.strip_prefix("/dev").ok().and_then(Path::to_str).unwrap_or_default();
            DEVICES.iter().any(|device| name.starts_with(device))
        }
        TargetPath::Tree(_) | TargetPath::Unknown => false,
    };
    if writes.iter().any(device) {
        report(analysis, "write-device", source);
    }
}

fn makes_filesystems(name: &str) -> bool {
    name.starts_with("mkfs")
        || matches!(
            name,
            "mke2fs"
                | "mkswap"
                | "wipefs"
                | "blkdiscard"
                | "sgdisk"
                | "sfdisk"
                | "fdisk"
                | "parted"
                | "newfs"
                | "mkdosfs"
                | "cryptsetup"
                | "pvcreate"
                | "badblocks"
                | "hdparm"
        )
}

/// A command of which something is not known: literal arguments that name a catastrophic target are enough.
pub fn check_unknown_command(
    args: &[Arg],
    state: &State,
    context: &ShellContext,
    source: &str,
    analysis: &mut Analysis,
) {
    let named =
        |arg: &Arg| matches!(arg.rest, Rest::Nothing | Rest::Glob) && names_catastrophe(arg, state, context);
    let path = |arg: &&Arg| {
        arg.text.starts_with('/') || matches!(arg.text.as_str(), "." | "..") || arg.rest == Rest::Glob
    };
    if args.iter().filter(path).any(named) {
        report(analysis, "unknown-on-system", source);
    }
}

/// A download that ends in a shell or interpreter further down the pipe.
pub fn piped_download(analysis: &mut Analysis, stages: &[Range<usize>]) {
    let mut downloaded = false;
    let mut found = None;
    for stage in stages {
        for command in &analysis.commands[stage.clone()] {
            let fed = command.parent.and_then(|parent| analysis.commands.get(parent));
            let from_words = fed
                .is_some_and(|parent| matches!(parent.base_name.as_str(), "xargs" | "parallel"))
                && runs_its_words(&command.base_name, &command.argv);
            if downloaded && (from_words || takes_script_from_input(&command.base_name, &command.argv)) {
                found = Some(command.source.clone());
            }
        }
        downloaded |=
            analysis.commands[stage.clone()].iter().any(|command| is_downloader(&command.base_name));
    }
    if let Some(source) = found {
        report(analysis, "download-execute", &source);
    }
}

fn is_downloader(name: &str) -> bool {
    DOWNLOADERS.contains(&name)
}

fn takes_script_from_input(name: &str, argv: &[crate::analysis::Word]) -> bool {
    let args: Vec<&str> = argv.iter().skip(1).map(crate::analysis::Word::shown).collect();
    let operand = args.iter().find(|arg| !arg.starts_with('-') || **arg == "-");
    if SHELLS.contains(&name) {
        let flags = || args.iter().take_while(|arg| arg.starts_with('-') && **arg != "--");
        let command = flags().any(|arg| !arg.starts_with("--") && arg.contains('c'));
        let stdin = flags().any(|arg| !arg.starts_with("--") && arg.contains('s'));
        return !command && (stdin || operand.is_none() || matches!(operand, Some(&"-" | &"/dev/stdin")));
    }
    is_interpreter(name)
        && !args
            .iter()
            .any(|arg| matches!(*arg, "-m" | "-c" | "-e" | "-E" | "-n" | "-ne" | "-pe" | "-p" | "-r" | "-f"))
        && (operand.is_none() || matches!(operand, Some(&"-" | &"/dev/stdin")))
}

/// Downloads that are substituted into what a shell or interpreter runs.
pub fn substituted_download(analysis: &mut Analysis) {
    let commands = &analysis.commands;
    let mut found = Vec::new();
    for (index, command) in
        commands.iter().enumerate().filter(|(_, command)| is_downloader(&command.base_name))
    {
        // Up to the substitution the download belongs to, and on to the command whose words it makes.
        let mut at = index;
        let mut steps = 0;
        while let Some(parent) = commands[at].parent.filter(|_| steps < commands.len()) {
            steps += 1;
            if commands[at].via == Some(Via::Substitution) {
                let runs = commands.iter().enumerate().any(|(inner, candidate)| {
                    is_or_wraps(commands, parent, inner)
                        && runs_its_words(&candidate.base_name, &candidate.argv)
                });
                if runs {
                    found.push(command.source.clone());
                }
            }
            at = parent;
        }
    }
    for source in found {
        report(analysis, "download-execute", &source);
    }
}

fn is_or_wraps(commands: &[crate::analysis::Command], outer: usize, inner: usize) -> bool {
    let mut at = inner;
    while at != outer {
        match (commands[at].via, commands[at].parent) {
            (Some(Via::Wrapper { .. } | Via::ExecOption), Some(parent)) if parent < at => at = parent,
            _ => return false,
        }
    }
    true
}

fn runs_its_words(name: &str, argv: &[crate::analysis::Word]) -> bool {
    let open = |word: &crate::analysis::Word| word.literal().is_none_or(|text| text.starts_with("/dev/fd/"));
    let mut words = argv.iter().skip(1);
    match name {
        "eval" => words.any(open),
        name if runs_input(name) => match words.find(|word| !word.shown().starts_with('-')) {
            Some(word) => open(word),
            // A here-string made of a download.
            None => true,
        },
        _ => false,
    }
}

/// A function that starts itself in a pipe or in the background.
pub fn fork_bomb(name: &str, script: &Script, body: &Node, analysis: &mut Analysis) {
    if !name.is_empty() && multiplies(name, script, body, false) {
        report(analysis, "fork-bomb", &script.text);
    }
}

fn multiplies(name: &str, script: &Script, node: &Node, beside: bool) -> bool {
    let lists = |lists: &[&List]| {
        lists.iter().flat_map(|list| &list.0).any(|item: &Item| {
            let pipelines =
                std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline));
            pipelines.into_iter().any(|pipeline| {
                let beside = beside || item.background || pipeline.0.len() > 1;
                pipeline.0.iter().any(|node| multiplies(name, script, node, beside))
            })
        })
    };
    match &node.kind {
        NodeKind::Simple(tokens) => {
            let own = tokens.first().and_then(|token| script.tokens.get(*token));
            beside && own.is_some_and(|token| &script.text[token.start..token.end] == name)
        }
        NodeKind::Group(list) | NodeKind::Subshell(list) | NodeKind::For(_, _, list) => lists(&[list]),
        NodeKind::Branch(all) => lists(&all.iter().collect::<Vec<_>>()),
        NodeKind::While(condition, body) => lists(&[condition, body]),
        NodeKind::Case(_, arms) => lists(&arms.iter().map(|(_, list)| list).collect::<Vec<_>>()),
        NodeKind::Function(_, body) => multiplies(name, script, body, beside),
        NodeKind::Coprocess(inner) => multiplies(name, script, inner, true),
    }
}
