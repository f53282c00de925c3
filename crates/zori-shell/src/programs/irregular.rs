//! Programs with irregular command lines, or that need more than a table entry.

use super::options::OptionGrammar;
use super::table::text;
use super::{Call, EffectKind, ProgramEffects, table, texts};
use crate::analysis::Via;
use crate::arg::Arg;

/// Programs that can start others interactively: pagers, editors, manuals.
const ESCAPES: &[&str] = &[
    "man",
    "info",
    "less",
    "more",
    "most",
    "pg",
    "view",
    "vi",
    "vim",
    "nvim",
    "vimdiff",
    "ex",
    "ed",
    "emacs",
    "emacsclient",
    "nano",
    "pico",
    "joe",
    "mc",
    "top",
    "htop",
    "screen",
    "tmux",
    "gdbtui",
    "mutt",
    "lynx",
    "w3m",
    "links",
    "elinks",
    "ftp",
];

/// Programs that talk to the network; also those that only look up names.
pub const NETWORK: &[&str] = &[
    "curl",
    "wget",
    "ping",
    "ping6",
    "nslookup",
    "dig",
    "host",
    "drill",
    "getent",
    "nc",
    "ncat",
    "netcat",
    "socat",
    "telnet",
    "ssh",
    "scp",
    "sftp",
    "ftp",
    "tftp",
    "aria2c",
    "http",
    "https",
    "xh",
    "traceroute",
    "tracepath",
    "mtr",
    "whois",
    "nmap",
    "openssl",
    "rclone",
    "aws",
    "gcloud",
    "az",
    "gh",
    "glab",
    "kubectl",
    "docker",
    "podman",
];

/// Programs that fetch something and print it.
pub const DOWNLOADERS: &[&str] =
    &["curl", "wget", "fetch", "aria2c", "http", "https", "xh", "lynx", "w3m", "GET"];

/// Returns what one of them does.
pub fn analyse(call: &Call<'_>) -> Option<ProgramEffects> {
    let name = call.name;
    Some(match name {
        "hostname" if call.args.is_empty() => ProgramEffects::read_only(),
        "xxd" => xxd(call),
        "strings" if call.args.iter().any(|arg| arg.text.starts_with('@')) => ProgramEffects {
            reads: call.args.iter().map(|arg| arg.tail(1)).collect(),
            ..ProgramEffects::default()
        },
        "scp" | "sftp" => ProgramEffects {
            no_auto_approval: vec!["copies to or from another machine"],
            net: hosts(call),
            reads: local_files(call),
            writes: local_files(call).into_iter().next_back().into_iter().collect(),
            ..ProgramEffects::default()
        },
        "setfacl" => ProgramEffects { writes: files(call), ..ProgramEffects::default() },
        "dd" => dd(call),
        "tar" | "bsdtar" | "gtar" => tar(call),
        "go" => go(call),
        "make" | "gmake" | "bmake" => {
            let mut effects = table::analyse(call)?;
            if call.args.iter().any(|arg| arg.text.contains('=') && !arg.text.starts_with('-')) {
                effects.no_auto_approval.push("sets a variable of the build");
            }
            effects
        }
        "cargo" => {
            // What stands behind `--` goes to the program that is built.
            let end = call.args.iter().position(|arg| arg.literal() == Some("--")).unwrap_or(call.args.len());
            let mut effects = table::analyse(&Call { args: &call.args[..end], ..*call })?;
            if call.args.first().is_some_and(|arg| arg.text.starts_with('+')) {
                effects.no_auto_approval.push("chooses another toolchain");
            }
            effects
        }
        "ssh" | "mosh" => ProgramEffects {
            no_auto_approval: vec!["runs commands on another machine"],
            net: hosts(call),
            spawns: remote(call).into_iter().chain(texts::of(call)).collect(),
            ..ProgramEffects::default()
        },
        name if ESCAPES.contains(&name) => {
            let mut effects = ProgramEffects {
                no_auto_approval: vec!["programs can be started from it"],
                ..ProgramEffects::default()
            };
            let named = ["-P", "--pager="];
            for (at, arg) in call.args.iter().enumerate().filter(|_| name == "man") {
                let Some(prefix) = named.iter().find(|prefix| arg.text.starts_with(**prefix)) else {
                    continue;
                };
                let value = arg.tail(prefix.len());
                let value = if value.text.is_empty() { call.args.get(at + 1).cloned() } else { Some(value) };
                effects.spawns.extend(value.map(|value| text(&value, Via::ExecOption)));
            }
            effects.reads.extend(files(call));
            editor_commands(call, &mut effects);
            effects
        }
        name if NETWORK.contains(&name) => {
            // Their operands may be files as well: `openssl enc -in .env`.
            ProgramEffects { net: hosts(call), reads: super::operands(call), ..ProgramEffects::default() }
        }
        _ => return None,
    })
}

/// Whether a program is only asked which version it is.
pub fn is_version_question(call: &Call<'_>) -> bool {
    let [arg] = call.args else { return false };
    matches!(
        (call.name, arg.literal()),
        ("python3" | "node" | "npm" | "gcc" | "make" | "docker", Some("--version"))
            | ("python3", Some("-V"))
            | ("node" | "npm" | "make" | "docker", Some("-v"))
            | ("java", Some("-version"))
    )
}

/// An editor's own commands, which may run programs: `-c`, `--cmd`, `+COMMAND`, `-S`.
fn editor_commands(call: &Call<'_>, effects: &mut ProgramEffects) {
    let mut args = call.args.iter();
    while let Some(arg) = args.next() {
        let command = match arg.text.as_str() {
            "-c" | "--cmd" | "-S" | "-e" | "--eval" | "-f" | "-x" => args.next().cloned(),
            text if text.starts_with('+') && text.len() > 1 => Some(arg.tail(1)),
            text if text.starts_with("--eval=") => Some(arg.tail(7)),
            _ => None,
        };
        let Some(command) = command else { continue };
        if command.text.bytes().all(|b| b.is_ascii_digit()) && command.literal().is_some() {
            continue;
        }
        effects.unknown = Some("an editor runs commands of its own");
        if let Some(at) = command.text.find('!') {
            effects.spawns.push(text(&command.tail(at + 1), Via::ExecOption));
        }
    }
}

/// Operands that name no other machine.
fn local_files(call: &Call<'_>) -> Vec<Arg> {
    let remote = |arg: &Arg| arg.text.split('/').next().is_some_and(|first| first.contains(':'));
    files(call).into_iter().filter(|arg| !remote(arg)).collect()
}

/// `xxd`, whose options are words with one sign: one operand is read, a second is written, `-r` turns it round.
fn xxd(call: &Call<'_>) -> ProgramEffects {
    const FLAGS: &[&str] = &[
        "-a",
        "-autoskip",
        "-b",
        "-bits",
        "-C",
        "-capitalize",
        "-d",
        "-e",
        "-E",
        "-EBCDIC",
        "-i",
        "-include",
        "-p",
        "-ps",
        "-plain",
        "-postscript",
        "-u",
        "-uppercase",
        "-v",
        "-version",
        "-h",
        "-help",
    ];
    const VALUED: &[&str] = &[
        "-c",
        "-cols",
        "-g",
        "-groupsize",
        "-l",
        "-len",
        "-n",
        "-name",
        "-o",
        "-offset",
        "-s",
        "-seek",
        "-R",
    ];
    let mut effects = ProgramEffects::read_only();
    let mut operands = Vec::new();
    let mut args = call.args.iter();
    while let Some(arg) = args.next() {
        let text = arg.text.as_str();
        if arg.may_be_option() {
            effects.unknown = Some("a word that is not known may become an option");
        }
        let attached = text.len() > 2
            && text.is_char_boundary(2)
            && VALUED.contains(&&text[..2])
            && text[2..].bytes().all(|b| b.is_ascii_hexdigit() || b == b'x' || b == b'+' || b == b'-');
        match text {
            text if FLAGS.contains(&text) || attached => {}
            text if VALUED.contains(&text) => {
                args.next();
            }
            text if text.starts_with('-') && text.len() > 1 => effects.kind = EffectKind::Other,
            _ => operands.push(arg.clone()),
        }
    }
    effects.reads.extend(operands.first().cloned());
    if operands.len() > 1 {
        effects.kind = EffectKind::Other;
        effects.writes.extend(operands.into_iter().skip(1));
    }
    effects
}

fn files(call: &Call<'_>) -> Vec<Arg> {
    call.args.iter().filter(|arg| !arg.text.starts_with(['-', '+'])).cloned().collect()
}

fn hosts(call: &Call<'_>) -> Vec<String> {
    call.args.iter().filter(|arg| !arg.text.starts_with('-')).map(|arg| arg.shown.clone()).collect()
}

/// Returns the command after the host; it runs on another machine, but a rule that denies it applies.
fn remote(call: &Call<'_>) -> Vec<super::Spawn> {
    let grammar = OptionGrammar {
        short: "46AaB:b:CcD:E:e:F:fGgI:i:J:KkL:l:MmN:nO:o:P:p:Q:qR:S:sTtVvW:w:XxYy",
        long: "",
        stops_at_operand: true,
    };
    let parsed = grammar.parse(call.args);
    let command = parsed.operands.get(1..).unwrap_or_default();
    if command.is_empty() {
        return Vec::new();
    }
    let super::Spawn::Script { text, exact, .. } = super::shells::joined(command, false, Via::ExecOption)
    else {
        return Vec::new();
    };
    vec![super::Spawn::Script {
        text,
        exact,
        via: Via::Wrapper { privileged: true },
        same_shell: false,
        parameters: Vec::new(),
    }]
}

fn dd(call: &Call<'_>) -> ProgramEffects {
    let mut effects = ProgramEffects { kind: EffectKind::Other, ..ProgramEffects::default() };
    for arg in call.args {
        if arg.text.starts_with("of=") {
            effects.writes.push(arg.tail(3));
        } else if arg.text.starts_with("if=") {
            effects.reads.push(arg.tail(3));
        } else if arg.literal().is_none() && arg.text.is_empty() {
            effects.unknown = Some("a word that is not known may become an operand");
        }
    }
    effects
}

fn tar(call: &Call<'_>) -> ProgramEffects {
    let grammar = OptionGrammar {
        short: "AcdrtuxjJzZaf:C:T:X:I:F:b:g:H:iK:kL:lMmN:nOoPpRSsUV:vWwBhG",
        long: "create extract get list append update diff compare delete concatenate file= directory= \
            files-from= exclude-from= exclude= use-compress-program= to-command= checkpoint=? \
            checkpoint-action= rsh-command= rmt-command= info-script= new-volume-script= gzip bzip2 xz zstd \
            lzma auto-compress verbose to-stdout strip-components= transform= xform= absolute-names \
            one-top-level=? overwrite keep-old-files owner= group= mode= mtime= sort= format= wildcards \
            no-same-owner preserve-permissions same-owner remove-files index-file= listed-incremental= \
            force-local null help version",
        stops_at_operand: false,
    };
    // The old form: letters without a sign, whose values follow in order.
    let mut args = call.args.to_vec();
    let first = args.first().and_then(Arg::literal).unwrap_or_default().to_owned();
    if !first.starts_with('-') && !first.is_empty() {
        let valued = |c: char| "fCTXIFbgHKNV".contains(c);
        let mut rest = args.split_off(1).into_iter();
        let flags = first.replace(valued, "");
        args.clear();
        args.extend((!flags.is_empty()).then(|| Arg::known(format!("-{flags}"))));
        for letter in first.chars().filter(|c| valued(*c)) {
            args.push(Arg::known(format!("-{letter}")));
            args.extend(rest.next());
        }
        args.extend(rest);
    }
    let parsed = grammar.parse(&args);
    let mut effects = ProgramEffects { kind: EffectKind::Other, ..ProgramEffects::default() };
    if parsed.may_be_option {
        effects.unknown = Some("a word that is not known may become an option");
    }
    if parsed.has_unknown_option {
        effects.no_auto_approval.push("an option that is not known");
    }
    let runs = [
        "I",
        "F",
        "use-compress-program",
        "to-command",
        "rsh-command",
        "rmt-command",
        "info-script",
        "new-volume-script",
    ];
    effects.spawns.extend(parsed.values(&runs).map(|value| text(value, Via::ExecOption)));
    for action in parsed.values(&["checkpoint-action"]) {
        if action.text.starts_with("exec=") {
            effects.spawns.push(text(&action.tail(5), Via::ExecOption));
        } else if action.literal().is_none() {
            effects.unknown = Some("an action that is not known");
        }
    }
    effects.reads.extend(parsed.values(&["T", "X", "files-from", "exclude-from"]).cloned());
    if parsed.has(&["T", "files-from"]) {
        effects.unknown = Some("a list of files that is not known");
    }
    let extracts = parsed.has(&["x", "extract", "get"]);
    let lists = parsed.has(&["t", "list", "d", "diff", "compare"]);
    let archive = parsed.values(&["f", "file"]).cloned();
    if extracts || lists {
        effects.reads.extend(archive);
    } else {
        effects.writes.extend(archive);
        effects.reads.extend(packed(&args));
    }
    let directory: Vec<Arg> = parsed.values(&["C", "directory", "one-top-level"]).cloned().collect();
    if extracts && !parsed.has(&["O", "to-stdout"]) {
        effects.writes.extend(if directory.is_empty() { vec![Arg::known(".")] } else { directory });
        if parsed.has(&["P", "absolute-names"]) {
            effects.writes.push(Arg::unknown("(names in the archive)"));
        }
    } else {
        effects.reads.extend(directory);
    }
    effects.writes.extend(parsed.values(&["g", "listed-incremental", "index-file"]).cloned());
    if parsed.has(&["remove-files", "delete"]) {
        effects.writes.extend_from_slice(&parsed.operands);
    }
    effects
}

/// What an archive is made of: all below each operand, seen from the last `-C` before it.
fn packed(args: &[Arg]) -> Vec<Arg> {
    let mut found = Vec::new();
    let mut folder: Option<&Arg> = None;
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        at += 1;
        let text = arg.text.as_str();
        match text {
            "-C" | "--directory" => {
                folder = args.get(at);
                at += 1;
            }
            "-f" | "-T" | "-X" | "-I" | "-F" | "-b" | "-g" | "-H" | "-K" | "-N" | "-V" | "--file" => at += 1,
            // `-czf NAME` and its like.
            text if text.starts_with('-') && !text.starts_with("--") && text.ends_with(['f', 'C', 'T']) => {
                at += 1
            }
            text if text.starts_with('-') && text.len() > 1 => {}
            _ => {
                let walk = |path: &str| Arg { shown: arg.shown.clone(), ..Arg::found(path, true, None) };
                found.push(match (arg.literal(), folder.map(Arg::literal)) {
                    (Some(path), None) => walk(path),
                    (Some(path), Some(Some(folder))) => walk(&format!("{folder}/{path}")),
                    _ => Arg::unknown(&arg.shown),
                });
            }
        }
    }
    found
}

fn go(call: &Call<'_>) -> ProgramEffects {
    let mut effects = ProgramEffects { kind: EffectKind::Other, ..ProgramEffects::default() };
    for (at, arg) in call.args.iter().enumerate() {
        let flag = arg.text.trim_start_matches('-');
        if !arg.text.starts_with('-') {
            if arg.may_be_option() {
                effects.unknown = Some("a word that is not known may become an option");
            }
            continue;
        }
        let (flag, attached) = match flag.split_once('=') {
            Some((flag, _)) => (flag, Some(arg.tail(arg.text.find('=').map_or(0, |at| at + 1)))),
            None => (flag, None),
        };
        let value = attached.or_else(|| call.args.get(at + 1).cloned());
        match flag {
            "exec" | "toolexec" | "vettool" => {
                effects.spawns.extend(value.map(|value| text(&value, Via::ExecOption)))
            }
            "C" | "modfile" | "overlay" | "gccgoflags" | "ldflags" | "gcflags" | "asmflags" | "compiler"
            | "pkgdir" | "modcacherw" => {
                effects.no_auto_approval.push("sets the tool's configuration");
            }
            "o" | "coverprofile" | "cpuprofile" | "memprofile" | "trace" | "blockprofile"
            | "mutexprofile" | "outputdir" => {
                effects.writes.extend(value);
            }
            _ => {}
        }
    }
    effects
}
