//! Files that git commands read and write, and commands that do more than work on the repository.

use super::super::options::OptionGrammar;
use super::super::{ProgramEffects, Spawn};
use crate::analysis::Via;
use crate::arg::{Arg, Rest};

/// What a command's operands are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// Nothing that matters here.
    None,
    /// Files that are read.
    Read,
    /// Files that are written.
    Write,
    /// The first is something else; the others are read.
    ReadAfterFirst,
    /// The second is written.
    WriteSecond,
}

struct FileCommand {
    name: &'static str,
    /// Its options that take a value, so that operands are told apart.
    short: &'static str,
    long: &'static str,
    /// Options whose value is read, and written.
    reads: &'static [&'static str],
    writes: &'static [&'static str],
    operands: Operands,
}

const fn command(
    name: &'static str,
    short: &'static str,
    long: &'static str,
    reads: &'static [&'static str],
    writes: &'static [&'static str],
    operands: Operands,
) -> FileCommand {
    FileCommand { name, short, long, reads, writes, operands }
}

const MESSAGE: &str = "file= message= template= author= date= reuse-message= pathspec-from-file=";
const FROM_FILE: &[&str] = &["F", "file", "t", "template", "pathspec-from-file"];

/// The commands that name files beside the repository's own.
const FILE_COMMANDS: &[FileCommand] = &[
    command("add", "", "pathspec-from-file= chmod=", &["pathspec-from-file"], &[], Operands::Read),
    command("am", "C:p:S::", "directory= patch-format=", &[], &[], Operands::Read),
    command(
        "apply",
        "C:p:",
        "directory= exclude= include= build-fake-ancestor=",
        &[],
        &["build-fake-ancestor"],
        Operands::Read,
    ),
    command(
        "archive",
        "o:",
        "format= output= prefix= remote= add-file= exec=",
        &["add-file"],
        &["o", "output"],
        Operands::ReadAfterFirst,
    ),
    command(
        "bugreport",
        "o:s:",
        "output-directory= suffix= diagnose=?",
        &[],
        &["o", "output-directory"],
        Operands::None,
    ),
    command("bundle", "", "version=", &[], &[], Operands::WriteSecond),
    command(
        "checkout",
        "b:B:",
        "conflict= orphan= pathspec-from-file=",
        &["pathspec-from-file"],
        &[],
        Operands::Write,
    ),
    command("checkout-index", "", "prefix= stage=", &[], &["prefix"], Operands::Write),
    command(
        "clone",
        "b:c:j:o:u:",
        "branch= config= depth= jobs= origin= reference= separate-git-dir= template= upload-pack= bundle-uri=",
        &["reference"],
        &["separate-git-dir"],
        Operands::WriteSecond,
    ),
    command("commit", "C:c:F:m:t:S::u::", MESSAGE, FROM_FILE, &[], Operands::None),
    command("commit-tree", "F:m:p:S::", "", &["F"], &[], Operands::None),
    command(
        "diagnose",
        "o:s:",
        "output-directory= suffix= mode=",
        &[],
        &["o", "output-directory"],
        Operands::None,
    ),
    command(
        "fast-export",
        "",
        "export-marks= import-marks= import-marks-if-exists= refspec= anonymize-map=",
        &["import-marks", "import-marks-if-exists", "anonymize-map"],
        &["export-marks"],
        Operands::None,
    ),
    command(
        "format-patch",
        "o:v:",
        "output-directory= signature-file= description-file= output=",
        &["signature-file", "description-file"],
        &["o", "output-directory", "output"],
        Operands::None,
    ),
    command("hash-object", "t:", "path=", &[], &[], Operands::Read),
    command(
        "init",
        "b:",
        "initial-branch= separate-git-dir= template= object-format=",
        &[],
        &["separate-git-dir"],
        Operands::Write,
    ),
    command("mailinfo", "", "encoding= quoted-cr=", &[], &[], Operands::Write),
    command("mailsplit", "b:d:f:o:", "", &[], &["o"], Operands::Read),
    command("merge", "F:m:s:X:S::", "file=", &["F", "file"], &[], Operands::None),
    command("merge-file", "L:", "marker-size=", &[], &[], Operands::Write),
    command("mv", "", "", &[], &[], Operands::Write),
    command("notes", "C:c:F:m:", "file= ref=", &["F", "file"], &[], Operands::None),
    command(
        "restore",
        "s:",
        "source= conflict= pathspec-from-file=",
        &["pathspec-from-file"],
        &[],
        Operands::Write,
    ),
    command("rm", "", "pathspec-from-file=", &["pathspec-from-file"], &[], Operands::Write),
    command("stash", "m:", "message= pathspec-from-file=", &["pathspec-from-file"], &[], Operands::None),
    command("stripspace", "", "", &[], &[], Operands::None),
    command(
        "tag",
        "F:m:u:n::",
        "file= message= local-user= sort= format=",
        &["F", "file"],
        &[],
        Operands::None,
    ),
    command("worktree", "b:B:", "reason=", &[], &[], Operands::WriteSecond),
];

/// Notes the files of a command.
pub(super) fn note(name: &str, args: &[Arg], effects: &mut ProgramEffects) {
    if name == "interpret-trailers" && args.iter().any(|arg| arg.text.starts_with("--in-place")) {
        effects.writes.extend(args.iter().filter(|arg| !arg.text.starts_with('-')).cloned());
    }
    let Some(command) = FILE_COMMANDS.iter().find(|command| command.name == name) else { return };
    let grammar = OptionGrammar { short: command.short, long: command.long, stops_at_operand: false };
    let parsed = grammar.parse(args);
    effects.reads.extend(parsed.values(command.reads).cloned());
    effects.writes.extend(parsed.values(command.writes).cloned());
    let operands = &parsed.operands;
    match command.operands {
        Operands::None => {}
        Operands::Read => effects.reads.extend(operands.iter().flat_map(pathspecs)),
        Operands::Write => effects.writes.extend(operands.iter().flat_map(pathspecs)),
        Operands::ReadAfterFirst => effects.reads.extend(operands.iter().skip(1).flat_map(pathspecs)),
        Operands::WriteSecond => effects.writes.extend(operands.get(1).cloned()),
    }
}

/// Git's own commands. Any other name is an alias or a program called `git-NAME`, so nobody knows what it does.
const OWN: &[&str] = &[
    "add",
    "am",
    "annotate",
    "apply",
    "archive",
    "bisect",
    "blame",
    "branch",
    "bugreport",
    "bundle",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "check-ref-format",
    "checkout",
    "checkout-index",
    "cherry",
    "cherry-pick",
    "clean",
    "clone",
    "column",
    "commit",
    "commit-graph",
    "commit-tree",
    "config",
    "count-objects",
    "describe",
    "diagnose",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "fast-export",
    "fetch",
    "fetch-pack",
    "fmt-merge-msg",
    "for-each-ref",
    "format-patch",
    "fsck",
    "gc",
    "get-tar-commit-id",
    "grep",
    "hash-object",
    "help",
    "index-pack",
    "init",
    "interpret-trailers",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "mailinfo",
    "mailsplit",
    "maintenance",
    "merge",
    "merge-base",
    "merge-file",
    "merge-index",
    "merge-tree",
    "mktag",
    "mktree",
    "multi-pack-index",
    "mv",
    "name-rev",
    "notes",
    "pack-objects",
    "pack-redundant",
    "pack-refs",
    "patch-id",
    "prune",
    "prune-packed",
    "pull",
    "push",
    "range-diff",
    "read-tree",
    "rebase",
    "reflog",
    "remote",
    "repack",
    "replace",
    "request-pull",
    "rerere",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "send-pack",
    "shortlog",
    "show",
    "show-branch",
    "show-index",
    "show-ref",
    "sparse-checkout",
    "stash",
    "status",
    "stripspace",
    "submodule",
    "switch",
    "symbolic-ref",
    "tag",
    "unpack-file",
    "unpack-objects",
    "update-index",
    "update-ref",
    "update-server-info",
    "var",
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "version",
    "whatchanged",
    "worktree",
    "write-tree",
];

/// Returns why a command may do what no rule with a wildcard covers.
pub(super) fn beyond(name: &str, args: &[Arg]) -> Option<&'static str> {
    let first = args.first().map_or("", |arg| arg.text.as_str());
    // Options may be cut short.
    let has = |option: &str| args.iter().any(|arg| arg.text.len() > 3 && option.starts_with(&arg.text));
    match name {
        "credential"
        | "credential-cache"
        | "credential-store"
        | "credential-libsecret"
        | "credential-osxkeychain" => Some("shows passwords that are kept"),
        "maintenance" if !matches!(first, "run" | "") => {
            Some("installs timers and changes the user's configuration")
        }
        "merge-index" | "merge-file" | "hook" => Some("runs a program that is named to it"),
        "verify-commit" | "verify-tag" => Some("runs the program that checks signatures"),
        "imap-send" => Some("sends to another machine"),
        "apply" if has("--unsafe-paths") => Some("writes outside of the repository"),
        "hash-object" if has("--stdin-paths") => Some("reads files that its input names"),
        name if !OWN.contains(&name) => Some("none of git's own commands"),
        _ => None,
    }
}

/// Settings whose value is a program.
const PROGRAMS: &[&str] = &[
    "pager",
    "editor",
    "sshcommand",
    "external",
    "helper",
    "program",
    "fsmonitor",
    "cmd",
    "clean",
    "smudge",
    "process",
    "driver",
    "textconv",
    "askpass",
    "command",
    "packobjectshook",
    "gitproxy",
];

/// Follows what `-c NAME=VALUE` makes git start.
pub(super) fn setting(setting: &Arg, args: &[Arg], subcommand: &str, effects: &mut ProgramEffects) {
    let Some((key, _)) = setting.text.split_once('=') else { return };
    let key_end = key.len() + 1;
    let key = key.to_ascii_lowercase();
    let value = setting.tail(key_end);
    if let Some(alias) = key.strip_prefix("alias.") {
        if !alias.eq_ignore_ascii_case(subcommand) {
            return;
        }
        if value.text.starts_with('!') {
            effects.spawns.push(super::super::table::text(&value.tail(1), Via::ExecOption));
            return;
        }
        let mut words = vec![Arg::known("git")];
        match value.literal() {
            Some(text) => words.extend(text.split_whitespace().map(Arg::known)),
            None => words.push(Arg::unknown(&value.shown)),
        }
        words.extend_from_slice(args);
        effects.spawns.push(Spawn::Argv { words, via: Via::ExecOption, environment: Vec::new() });
        return;
    }
    let last = key.rsplit('.').next().unwrap_or(&key);
    if (PROGRAMS.contains(&last) || key.starts_with("pager.")) && !value.text.is_empty() {
        let text = value.tail(usize::from(value.text.starts_with('!')));
        effects.spawns.push(super::super::table::text(&text, Via::ExecOption));
    }
}

/// Returns the files that a revision or pathspec names. Unlike a shell's, git's patterns fit names that begin with a dot.
pub(super) fn pathspecs(operand: &Arg) -> Vec<Arg> {
    let Some(named) = pathspec(operand) else { return Vec::new() };
    let bare = named.rest == Rest::Glob && (named.text.is_empty() || named.text.ends_with('/'));
    let dotted = bare && named.pattern.len() > 1 && !named.pattern.contains(['.', '/']);
    let hidden = dotted.then(|| Arg { pattern: format!(".{}", named.pattern), ..named.clone() });
    std::iter::once(named).chain(hidden).collect()
}

/// Returns the file that a revision or pathspec names; `None` where it leaves files out.
fn pathspec(operand: &Arg) -> Option<Arg> {
    let text = operand.text.as_str();
    let known = operand.literal().is_some();
    let cut = if let Some(magic) = text.strip_prefix(":(") {
        let (words, _) = magic.split_once(')')?;
        if words.split(',').any(|word| word == "exclude") {
            return None;
        }
        2 + words.len() + 1
    } else if text.starts_with(":!") || text.starts_with(":^") {
        return None;
    } else if text.starts_with(":/") {
        2
    } else if known && let Some(colon) = text.find(':') {
        // `:0:path` is a stage of the index, `REV:path` a file of a revision.
        let rest = &text[colon + 1..];
        let stage =
            colon == 0 && rest.len() > 1 && rest.as_bytes()[1] == b':' && rest.as_bytes()[0].is_ascii_digit();
        colon + 1 + if stage { 2 } else { 0 }
    } else {
        0
    };
    let path = operand.tail(cut);
    // Git reads patterns itself, in quotes or not.
    match path.literal().and_then(|text| text.find(['*', '?', '['])) {
        Some(at) => {
            let (start, pattern) = path.text.split_at(at);
            Some(Arg {
                text: start.to_owned(),
                rest: Rest::Glob,
                pattern: pattern.to_owned(),
                maybe: Vec::new(),
                shown: operand.shown.clone(),
            })
        }
        None => Some(path),
    }
}
