//! git: what its global options, subcommands and their options start, write or change (`security.md` 3.5, 3.6).

mod list;

use list::{GLOBAL, GLOBAL_CHANGES, RISKY, SHOWING, SHOWING_LONG};

use super::options::{Grammar, Parsed};
use super::table::text;
use super::{Call, Kind, Reading, Start};
use crate::analysis::Via;
use crate::arg::Arg;

/// Returns what a git command does.
pub fn read(call: &Call<'_>) -> Reading {
    let global = GLOBAL.parse(call.args);
    let mut reading = Reading::default();
    if GLOBAL_CHANGES.iter().any(|name| global.has(&[name])) || global.strange {
        reading.no_auto.push("sets git's configuration, its pager or its place");
    }
    reading.reads.extend(global.values(&["C", "git-dir", "work-tree"]).cloned());
    let Some(at) = global.rest else {
        if global.doubtful {
            reading.unknown = Some("a word that is not known may become an option of git");
        }
        return reading;
    };
    let Some(name) = call.args.get(at).and_then(Arg::literal) else {
        reading.unknown = Some("a git command that is not known");
        return reading;
    };
    let args = &call.args[at + 1..];
    let risky = risks(name, args, &mut reading);
    commands(name, args, &mut reading);
    if let Some((_, short)) = SHOWING.iter().find(|(showing, _)| *showing == name) {
        shows(name, short, args, &mut reading);
        if risky || !reading.no_auto.is_empty() {
            reading.kind = Kind::Other;
        }
    }
    reading
}

/// Whether a word before `--` may turn into an option: git has options that run and write.
fn doubtful(args: &[Arg]) -> bool {
    let end = args.iter().position(|arg| arg.literal() == Some("--")).unwrap_or(args.len());
    args[..end].iter().any(Arg::may_be_option)
}

fn risks(name: &str, args: &[Arg], reading: &mut Reading) -> bool {
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
                Some(value) => reading.starts.push(text(&value, Via::ExecOption)),
                None => reading.no_auto.push("starts a program the configuration names"),
            },
            "output" | "output-directory" => reading.writes.extend(value),
            "contents" | "reference" => reading.reads.extend(value),
            "upstream" | "output-indicator-new" | "output-indicator-old" | "output-indicator-context" => {
                risky = false
            }
            _ => reading.no_auto.push("an option that makes git run or read something else"),
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
                Some(value) => reading.starts.push(text(&value, *via)),
                None => reading.no_auto.push("starts a program the configuration names"),
            }
        }
    }
    for (at, arg) in args.iter().enumerate() {
        // `ext::command` and its like run a helper; `remote-x::y` any program of that name.
        if arg.text.contains("::")
            && !arg.text.starts_with('-')
            && !arg.text.starts_with(':')
            && transports(name)
        {
            risky = true;
            reading.no_auto.push("a transport that runs a program");
            if let Some(command) = arg.text.strip_prefix("ext::") {
                let text = command.replace("% ", " ").replace("%%", "%");
                reading.starts.push(Start::Text {
                    text,
                    exact: arg.literal().is_some(),
                    via: Via::ExecOption,
                    here: false,
                });
            }
        }
        if matches!(name, "format-patch" | "archive") && arg.text.starts_with("-o") {
            let value = arg.tail(2);
            let value = if value.text.is_empty() { args.get(at + 1).cloned() } else { Some(value) };
            reading.writes.extend(value);
        }
    }
    if doubtful(args) {
        reading.unknown = Some("a word that is not known may become an option of git");
    }
    risky
}

fn transports(name: &str) -> bool {
    matches!(name, "fetch" | "pull" | "push" | "clone" | "ls-remote" | "remote" | "submodule" | "archive")
}

/// Subcommands that run, remove or reconfigure.
fn commands(name: &str, args: &[Arg], reading: &mut Reading) {
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
            reading.starts.push(Start::Words { words: words(1), via, environment: Vec::new() });
            true
        }
        "submodule" if args.iter().any(|arg| arg.text == "foreach") => {
            let at = args.iter().position(|arg| arg.text == "foreach").map_or(0, |at| at + 1);
            let command: Vec<Arg> =
                words(at).into_iter().skip_while(|arg| arg.text.starts_with('-')).collect();
            reading.starts.push(super::shells::joined(&command, false, Via::ExecOption));
            true
        }
        "filter-branch" | "difftool" | "mergetool" | "gui" | "citool" | "instaweb" | "send-email"
        | "daemon" | "shell" | "upload-pack" | "receive-pack" | "fast-import" | "p4" | "svn"
        | "cvsserver" | "web--browse" => true,
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
        "worktree" => {
            if first == "add" {
                reading.writes.extend(args.iter().skip(1).find(|arg| !arg.text.starts_with('-')).cloned());
            }
            !matches!(first, "list")
        }
        "rebase" => has("x", &["exec"]),
        "push" => has("fd", &["force", "delete", "mirror", "prune", "force-with-lease"]),
        "clone" | "init" => has("c", &["config", "template"]),
        _ => false,
    };
    if destructive {
        reading.no_auto.push("a git command that removes, rewrites or reconfigures");
    }
    if matches!(name, "fetch" | "pull" | "push" | "clone" | "ls-remote") {
        reading.net.extend(args.iter().filter(|arg| !arg.text.starts_with('-')).map(|arg| arg.shown.clone()));
    }
}

/// Subcommands that only show.
fn shows(name: &str, short: &'static str, args: &[Arg], reading: &mut Reading) {
    let grammar = Grammar { short, long: SHOWING_LONG, stops: false };
    let parsed: Parsed = grammar.parse(args);
    let vetted = !parsed.strange
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
            _ => true,
        };
    if vetted {
        reading.kind = Kind::ReadOnly;
    }
    if matches!(name, "branch" | "tag" | "remote" | "rev-parse" | "describe") {
        return;
    }
    for operand in &parsed.operands {
        // `HEAD:path` names a file as well.
        match operand.text.split_once(':').filter(|_| operand.literal().is_some()) {
            Some((_, path)) => reading.reads.push(Arg::known(path)),
            None => reading.reads.push(operand.clone()),
        }
    }
    reading.reads.extend(parsed.values(&["ignore-revs-file", "contents"]).cloned());
}
