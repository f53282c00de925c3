//! `find`: starting points and an expression that may run, write and delete.

use super::wrappers::replaced;
use super::{Call, Kind, Reading, Start};
use crate::analysis::Via;
use crate::arg::{Arg, Rest};

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
pub fn read(call: &Call<'_>) -> Reading {
    let mut reading = Reading { kind: Kind::ReadOnly, ..Reading::default() };
    let mut starts = Vec::new();
    let mut expression = false;
    let mut at = 0;
    while let Some(arg) = call.args.get(at) {
        let value = call.args.get(at + 1).cloned();
        at += 1;
        let Some(text) = arg.literal() else {
            if arg.may_be_option() || expression {
                reading.unknown = Some("a word that is not known may become part of the expression");
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
                reading.reads.extend(value);
                at += 1;
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let rest = &call.args[at..];
                let end = rest
                    .iter()
                    .position(|arg| matches!(arg.literal(), Some(";" | "+")))
                    .unwrap_or(rest.len());
                let mut words = rest[..end].to_vec();
                words.iter_mut().for_each(|word| replaced(word, "{}"));
                // A path that was found starts with where the search began.
                for word in &mut words {
                    if word.rest == Rest::Unknown && word.text.is_empty() && word.shown == "{}" {
                        word.text = "./".to_owned();
                    }
                }
                at += end + 1;
                reading.kind = Kind::Other;
                if words.is_empty() {
                    reading.unknown = Some("an action without its command");
                } else {
                    reading.starts.push(Start::Words {
                        words,
                        via: Via::ExecOption,
                        environment: Vec::new(),
                    });
                }
            }
            "-delete" => reading.kind = Kind::Other,
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                reading.writes.extend(value);
                reading.kind = reading.kind.max(Kind::FileOperation);
                at += if text == "-fprintf" { 2 } else { 1 };
            }
            "-files0-from" => {
                reading.reads.extend(value);
                reading.unknown = Some("a search that starts at places a file names");
                at += 1;
            }
            _ => reading.kind = Kind::Other,
        }
    }
    if starts.is_empty() {
        starts.push(Arg::known("."));
    }
    if call.args.iter().any(|arg| arg.literal() == Some("-delete")) {
        reading.writes.extend(starts.clone());
        reading.no_auto.push("deletes what it finds");
    }
    reading.reads.extend(starts);
    reading
}
