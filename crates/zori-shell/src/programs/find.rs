//! `find`: starting points and an expression that may run, write and delete.

use super::wrappers::replaced;
use super::{Call, EffectKind, ProgramEffects, Spawn};
use crate::analysis::Via;
use crate::arg::Arg;

/// Tests and actions that take no value.
const PLAIN: &[&str] = &[
    "-print",
    "-print0",
    "-ls",
    "-prune",
    "-quit",
    "-depth",
    "-d",
    "-xdev",
    "-mount",
    "-follow",
    "-daystart",
    "-empty",
    "-executable",
    "-readable",
    "-writable",
    "-true",
    "-false",
    "-nouser",
    "-nogroup",
    "-noleaf",
    "-warn",
    "-nowarn",
    "-ignore_readdir_race",
    "-noignore_readdir_race",
    "-and",
    "-a",
    "-or",
    "-o",
    "-not",
    "!",
    "(",
    ")",
    ",",
    "-help",
    "--help",
    "-version",
    "--version",
    "-H",
    "-L",
    "-P",
];

/// Tests that take one value.
const VALUED: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-regextype",
    "-lname",
    "-ilname",
    "-type",
    "-xtype",
    "-size",
    "-mtime",
    "-mmin",
    "-ctime",
    "-cmin",
    "-atime",
    "-amin",
    "-maxdepth",
    "-mindepth",
    "-perm",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-links",
    "-inum",
    "-fstype",
    "-used",
    "-printf",
    "-context",
    "-D",
];

/// Tests whose value is a file.
const COMPARED: &[&str] = &["-newer", "-anewer", "-cnewer", "-samefile"];

/// Returns what a `find` command does.
pub fn analyse(call: &Call<'_>) -> ProgramEffects {
    let mut effects = ProgramEffects { kind: EffectKind::ReadOnly, ..ProgramEffects::default() };
    let mut starts: Vec<Arg> = Vec::new();
    let mut expression = false;
    let mut at = 0;
    while let Some(arg) = call.args.get(at) {
        let value = call.args.get(at + 1).cloned();
        at += 1;
        let Some(text) = arg.literal() else {
            if arg.may_be_option() || expression {
                effects.unknown = Some("a word that is not known may become part of the expression");
            }
            starts.push(arg.clone());
            continue;
        };
        if text.starts_with('-') && text.len() > 1 || matches!(text, "(" | ")" | "!" | ",") {
            expression |= !matches!(text, "-H" | "-L" | "-P") && !text.starts_with("-O");
        } else {
            starts.push(arg.clone());
            continue;
        }
        match text {
            text if PLAIN.contains(&text) || text.starts_with("-O") => {}
            text if VALUED.contains(&text) => at += 1,
            text if COMPARED.contains(&text) || text.starts_with("-newer") => {
                effects.reads.extend(value);
                at += 1;
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let rest = &call.args[at..];
                let end = rest
                    .iter()
                    .position(|arg| matches!(arg.literal(), Some(";" | "+")))
                    .unwrap_or(rest.len());
                let mut words = Vec::new();
                for word in &rest[..end] {
                    // A path that was found starts with where the search began.
                    if word.literal() == Some("{}") && text == "-exec" {
                        words.extend(found(&starts, call.args));
                        continue;
                    }
                    let mut word = word.clone();
                    let whole = word.literal() == Some("{}");
                    replaced(&mut word, "{}");
                    if whole {
                        word.text = "./".to_owned();
                    }
                    words.push(word);
                }
                at += end + 1;
                if text != "-exec" {
                    effects.kind = EffectKind::Other;
                }
                if words.is_empty() {
                    effects.unknown = Some("an action without its command");
                } else {
                    effects.spawns.push(Spawn::Argv { words, via: Via::ExecOption, environment: Vec::new() });
                }
            }
            "-delete" => effects.kind = EffectKind::Other,
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                effects.writes.extend(value);
                effects.kind = effects.kind.max(EffectKind::FileOperation);
                at += if text == "-fprintf" { 2 } else { 1 };
            }
            "-files0-from" => {
                effects.reads.extend(value);
                effects.unknown = Some("a search that starts at places a file names");
                at += 1;
            }
            _ => effects.kind = EffectKind::Other,
        }
    }
    if starts.is_empty() {
        starts.push(Arg::known("."));
    }
    if call.args.iter().any(|arg| arg.literal() == Some("-delete")) {
        effects.writes.extend(starts.clone());
        effects.no_auto_approval.push("deletes what it finds");
    }
    effects.reads.extend(starts);
    effects
}

/// The names that a search finds, one entry per starting point.
fn found(starts: &[Arg], args: &[Arg]) -> Vec<Arg> {
    let words: Vec<&str> = args.iter().map(|arg| arg.literal().unwrap_or_default()).collect();
    let name = crate::walk::only_name(&words);
    if words.iter().any(|word| matches!(*word, "-L" | "-follow")) {
        return vec![Arg::unknown("{}")];
    }
    match starts {
        [] => vec![Arg::found(".", true, name)],
        starts => starts
            .iter()
            .map(|start| match start.literal() {
                Some(start) => Arg::found(start, true, name),
                None => Arg::unknown("{}"),
            })
            .collect(),
    }
}
