//! git: what its global options, subcommands and their options start, write or change
//! (`docs/contracts/shell-analysis.md`).

mod files;
pub(super) mod tables;

use tables::{GLOBAL, GLOBAL_CHANGES, RISKY, SHOWING, SHOWING_LONG};

use super::options::{OptionGrammar, ParsedOptions};
use super::table::text;
use super::{Call, EffectKind, ProgramEffects, Spawn};
use crate::analysis::Via;
use crate::arg::Arg;

/// Returns what a git command does.
pub fn analyse(call: &Call<'_>) -> ProgramEffects {
    let global = GLOBAL.parse(call.args);
    let mut effects = ProgramEffects::default();
    // `-C .` changes nothing.
    let here = |value: &Arg| matches!(value.literal(), Some("." | "./"));
    let moves = global.has(&["C"]) && !global.values(&["C"]).all(here);
    let changes = |name: &&&str| **name != "C" && global.has(&[**name]);
    if moves || GLOBAL_CHANGES.iter().any(|name| changes(&name)) || global.has_unknown_option {
        effects.no_auto_approval.push("sets git's configuration, its pager or its place");
    }
    effects.reads.extend(global.values(&["C", "git-dir", "work-tree"]).filter(|value| !here(value)).cloned());
    effects.global_options = global.rest.unwrap_or(0);
    let Some(at) = global.rest else {
        if global.may_be_option {
            effects.unknown = Some("a word that is not known may become an option of git");
        }
        return effects;
    };
    let Some(name) = call.args.get(at).and_then(Arg::literal) else {
        effects.unknown = Some("a git command that is not known");
        return effects;
    };
    let args = &call.args[at + 1..];
    for value in global.values(&["c"]) {
        files::setting(value, args, name, &mut effects);
    }
    let risky = risks(name, args, &mut effects);
    commands(name, args, &mut effects);
    files::note(name, args, &mut effects);
    effects.no_auto_approval.extend(files::beyond(name, args));
    if let Some((_, short)) = SHOWING.iter().find(|(showing, _)| *showing == name) {
        shows(name, short, args, &mut effects);
        if risky || !effects.no_auto_approval.is_empty() {
            effects.kind = EffectKind::Other;
        }
    }
    effects
}

/// Whether a word before `--` may turn into an option: git has options that run and write.
fn may_be_option(args: &[Arg]) -> bool {
    let end = args.iter().position(|arg| arg.literal() == Some("--")).unwrap_or(args.len());
    args[..end].iter().any(Arg::may_be_option)
}

fn risks(name: &str, args: &[Arg], effects: &mut ProgramEffects) -> bool {
    let end = args.iter().position(|arg| arg.literal() == Some("--")).unwrap_or(args.len());
    let long: Vec<Arg> = args[..end].iter().filter(|arg| arg.text.starts_with("--")).cloned().collect();
    let parsed = RISKY.parse(&long);
    let next = |option: &str| {
        // A value that stands apart is the word behind the option.
        let at = args.iter().position(|arg| arg.text.starts_with("--") && option.starts_with(&arg.text[2..]));
        at.and_then(|at| args.get(at + 1)).cloned()
    };
    let mut risky = false;
    for (option, value) in &parsed.options {
        let value = value.clone().or_else(|| next(option));
        risky = true;
        match option.as_str() {
            "upload-pack"
            | "receive-pack"
            | "exec"
            | "open-files-in-pager"
            | "extcmd"
            | "sendmail-cmd"
            | "to-cmd"
            | "cc-cmd"
            | "upload-archive" => match value {
                Some(value) => effects.spawns.push(text(&value, Via::ExecOption)),
                None => effects.no_auto_approval.push("starts a program the configuration names"),
            },
            "output" | "output-directory" => effects.writes.extend(value),
            "contents" => effects.reads.extend(value),
            "upstream"
            | "filter"
            | "output-indicator-new"
            | "output-indicator-old"
            | "output-indicator-context" => risky = false,
            _ => effects.no_auto_approval.push("an option that makes git run or read something else"),
        }
    }
    // Letters that run something, by subcommand.
    let letters: &[(&str, &str, Via)] = &[
        ("clone", "u", Via::ExecOption),
        ("ls-remote", "u", Via::ExecOption),
        ("rebase", "x", Via::ExecOption),
        ("grep", "O", Via::ExecOption),
        ("difftool", "x", Via::ExecOption),
    ];
    for (_, letter, via) in letters.iter().filter(|(sub, _, _)| *sub == name) {
        for (at, arg) in args[..end].iter().enumerate() {
            let Some(rest) = arg.text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
                continue;
            };
            let Some(offset) = rest.find(letter) else { continue };
            let value = arg.tail(1 + offset + letter.len());
            let empty = value.text.is_empty() && value.literal().is_some();
            let value = if empty { args.get(at + 1).cloned() } else { Some(value) };
            risky = true;
            match value {
                Some(value) => effects.spawns.push(text(&value, *via)),
                None => effects.no_auto_approval.push("starts a program the configuration names"),
            }
        }
    }
    for arg in args {
        // `ext::command` and its like run a helper; `remote-x::y` any program of that name.
        let place = match arg.text.strip_prefix("--") {
            Some(option) => option.split_once('=').map_or("", |(_, value)| value),
            None => arg.text.as_str(),
        };
        if place.contains("::") && !place.starts_with(['-', ':']) && transports(name) {
            risky = true;
            effects.no_auto_approval.push("a transport that runs a program");
            if let Some(command) = place.strip_prefix("ext::") {
                let text = command.replace("% ", " ").replace("%%", "%");
                effects.spawns.push(Spawn::Script {
                    text,
                    exact: arg.literal().is_some(),
                    via: Via::ExecOption,
                    same_shell: false,
                    parameters: Vec::new(),
                });
            }
        }
    }
    if may_be_option(args) {
        effects.unknown = Some("a word that is not known may become an option of git");
    }
    risky
}

fn transports(name: &str) -> bool {
    matches!(name, "fetch" | "pull" | "push" | "clone" | "ls-remote" | "remote" | "submodule" | "archive")
}

/// Subcommands that run, remove or reconfigure.
fn commands(name: &str, args: &[Arg], effects: &mut ProgramEffects) {
    let first = args.first().map_or("", |arg| arg.text.as_str());
    let has = |letters: &str, names: &[&str]| {
        args.iter().any(|arg| match arg.text.strip_prefix("--") {
            Some(long) => {
                !long.is_empty()
                    && names.iter().any(|name| name.starts_with(long.split('=').next().unwrap_or(long)))
            }
            None => arg.text.starts_with('-') && arg.text[1..].contains(|c| letters.contains(c)),
        })
    };
    let words = |skip: usize| args.get(skip..).unwrap_or_default().to_vec();
    let destructive = match name {
        "bisect" if first == "run" => {
            let via = Via::ExecOption;
            effects.spawns.push(Spawn::Argv { words: words(1), via, environment: Vec::new() });
            true
        }
        "submodule" if args.iter().any(|arg| arg.text == "foreach") => {
            let at = args.iter().position(|arg| arg.text == "foreach").map_or(0, |at| at + 1);
            let command: Vec<Arg> =
                words(at).into_iter().skip_while(|arg| arg.text.starts_with('-')).collect();
            effects.spawns.push(super::shells::joined(&command, false, Via::ExecOption));
            true
        }
        "subtree" => {
            // A script around other commands of git.
            let inner = match first {
                "push" => Some("push"),
                "add" | "pull" => Some("fetch"),
                _ => None,
            };
            effects.spawns.extend(inner.map(|inner| Spawn::Argv {
                words: [Arg::known("git"), Arg::known(inner)].into_iter().chain(words(1)).collect(),
                via: Via::ExecOption,
                environment: Vec::new(),
            }));
            true
        }
        // The manual is shown by a program that the configuration names.
        "help" | "filter-branch" | "difftool" | "mergetool" | "gui" | "citool" | "instaweb"
        | "send-email" | "daemon" | "shell" | "upload-pack" | "receive-pack" | "fast-import" | "p4"
        | "svn" | "cvsserver" | "web--browse" => true,
        "config" => {
            let reads =
                has("l", &["get", "get-all", "get-regexp", "list"]) || matches!(first, "get" | "list");
            let one = args.iter().filter(|arg| !arg.text.starts_with('-')).count() == 1;
            !(reads || one)
                || has(
                    "ef",
                    &["edit", "file", "unset", "replace-all", "add", "rename-section", "remove-section"],
                )
        }
        "branch" => has(
            "dDmMcCfu",
            &["delete", "move", "copy", "force", "set-upstream-to", "unset-upstream", "edit-description"],
        ),
        "tag" => has("dfasuFm", &["delete", "force", "annotate", "sign", "local-user", "file", "message"]),
        "stash" => matches!(first, "drop" | "clear"),
        "remote" => matches!(
            first,
            "add" | "remove" | "rm" | "rename" | "set-url" | "set-head" | "set-branches" | "prune"
        ),
        "clean" | "reset" | "checkout" | "restore" | "update-ref" | "gc" | "prune" | "replace"
        | "update-index" | "symbolic-ref" | "rm" | "mv" => true,
        "reflog" => matches!(first, "expire" | "delete"),
        "worktree" => !matches!(first, "list"),
        "rebase" => has("x", &["exec"]),
        // A place that is not one of the repository's remotes.
        "push" if args.iter().any(|arg| arg.text.starts_with("--repo")) || is_place(args) => true,
        "push" => has("fd", &["force", "delete", "mirror", "prune", "force-with-lease"]),
        "clone" | "init" => has("c", &["config", "template"]),
        _ => false,
    };
    if destructive {
        effects.no_auto_approval.push("a git command that removes, rewrites or reconfigures");
    }
    if matches!(name, "fetch" | "pull" | "push" | "clone" | "ls-remote") {
        effects.net.extend(args.iter().filter(|arg| !arg.text.starts_with('-')).map(|arg| arg.shown.clone()));
    }
}

/// Whether the first operand is an address or a folder, and not the name of a remote.
fn is_place(args: &[Arg]) -> bool {
    let first = args.iter().find(|arg| !arg.text.starts_with('-'));
    first.is_some_and(|arg| arg.text.contains(':') || arg.text.starts_with(['/', '.', '~']))
}

/// Subcommands that only show.
fn shows(name: &str, short: &'static str, args: &[Arg], effects: &mut ProgramEffects) {
    let grammar = OptionGrammar { short, long: SHOWING_LONG, stops_at_operand: false };
    let parsed: ParsedOptions = grammar.parse(args);
    let vetted = !parsed.has_unknown_option
        && match name {
            "branch" => {
                let listing = parsed.has(&[
                    "l",
                    "list",
                    "a",
                    "all",
                    "r",
                    "remotes",
                    "v",
                    "verbose",
                    "show-current",
                    "contains",
                    "merged",
                    "no-merged",
                ]);
                parsed.operands.is_empty()
                    || (listing && parsed.has(&["l", "list", "contains", "merged", "no-merged"]))
            }
            "tag" => {
                parsed.operands.is_empty() || parsed.has(&["l", "list", "contains", "merged", "points-at"])
            }
            "remote" => parsed.operands.is_empty(),
            "stash" => matches!(first(&parsed), "list" | "show"),
            "worktree" => first(&parsed) == "list",
            "reflog" => !matches!(first(&parsed), "expire" | "delete" | "drop" | "write"),
            "cat-file" => parsed.has(&["p", "t", "s", "e"]),
            _ => true,
        };
    // A signature is checked by a program that the configuration names.
    let signs = |value: &Arg| {
        value.literal().is_none() || value.text.contains("%G") || value.text.contains("(signature")
    };
    let vetted = vetted && !parsed.values(&["format", "pretty"]).any(signs);
    if vetted {
        effects.kind = EffectKind::ReadOnly;
    }
    effects.reads.extend(parsed.values(&["O", "X", "exclude-from", "ignore-revs-file", "contents"]).cloned());
    if name == "blame" {
        effects.reads.extend(parsed.values(&["S"]).cloned());
    }
    if name == "grep" {
        effects.reads.extend(parsed.values(&["f"]).cloned());
        // What git does not track is read from the folder, secrets included.
        if parsed.has(&["untracked"]) {
            effects.reads.push(Arg::found("", true, None));
        }
    }
    if name == "log" {
        // `-L 1,10:file`, `-L :name:file`.
        let ranges = parsed.values(&["L"]).filter_map(|range| {
            let colon = range.text.rfind(':')?;
            Some(range.tail(colon + 1))
        });
        effects.reads.extend(ranges);
    }
    if NAMES_ONLY.contains(&name) {
        return;
    }
    let skip = usize::from(name == "grep" && !parsed.has(&["e", "f"])) + usize::from(name == "stash");
    effects.reads.extend(parsed.operands.iter().skip(skip).flat_map(files::pathspecs));
}

fn first(parsed: &ParsedOptions) -> &str {
    parsed.operands.first().map_or("", |operand| operand.text.as_str())
}

/// Commands that print names and no contents.
const NAMES_ONLY: &[&str] = &[
    "branch",
    "tag",
    "remote",
    "rev-parse",
    "describe",
    "status",
    "ls-files",
    "ls-tree",
    "merge-base",
    "show-ref",
    "for-each-ref",
    "worktree",
    "reflog",
    "rev-list",
    "shortlog",
];
