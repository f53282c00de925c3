//! Programs with command lines of their own making, or that need a word beyond a table.

use super::options::Grammar;
use super::table::text;
use super::{Call, Kind, Reading, table};
use crate::analysis::Via;
use crate::arg::Arg;

/// Programs from which a person can start others: pagers, editors, manuals.
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
pub fn read(call: &Call<'_>) -> Option<Reading> {
    let name = call.name;
    Some(match name {
        "dd" => dd(call),
        "tar" | "bsdtar" | "gtar" => tar(call),
        "go" => go(call),
        "make" | "gmake" | "bmake" => {
            let mut reading = table::read(call)?;
            if call.args.iter().any(|arg| arg.text.contains('=') && !arg.text.starts_with('-')) {
                reading.no_auto.push("sets a variable of the build");
            }
            reading
        }
        "cargo" => {
            // What stands behind `--` goes to the program that is built.
            let end = call.args.iter().position(|arg| arg.literal() == Some("--")).unwrap_or(call.args.len());
            let mut reading = table::read(&Call { args: &call.args[..end], ..*call })?;
            if call.args.first().is_some_and(|arg| arg.text.starts_with('+')) {
                reading.no_auto.push("chooses another toolchain");
            }
            reading
        }
        "ssh" | "mosh" => Reading {
            no_auto: vec!["runs commands on another machine"],
            net: hosts(call),
            starts: remote(call),
            ..Reading::default()
        },
        "curl" | "wget" => download(call),
        name if ESCAPES.contains(&name) => {
            let mut reading =
                Reading { no_auto: vec!["programs can be started from it"], ..Reading::default() };
            let named = ["-P", "--pager="];
            for (at, arg) in call.args.iter().enumerate().filter(|_| name == "man") {
                let Some(prefix) = named.iter().find(|prefix| arg.text.starts_with(**prefix)) else {
                    continue;
                };
                let value = arg.tail(prefix.len());
                let value = if value.text.is_empty() { call.args.get(at + 1).cloned() } else { Some(value) };
                reading.starts.extend(value.map(|value| text(&value, Via::ExecOption)));
            }
            reading.reads.extend(files(call));
            reading
        }
        name if NETWORK.contains(&name) => Reading { net: hosts(call), ..Reading::default() },
        _ => return None,
    })
}

fn files(call: &Call<'_>) -> Vec<Arg> {
    call.args.iter().filter(|arg| !arg.text.starts_with(['-', '+'])).cloned().collect()
}

fn hosts(call: &Call<'_>) -> Vec<String> {
    call.args.iter().filter(|arg| !arg.text.starts_with('-')).map(|arg| arg.shown.clone()).collect()
}

/// The command behind the host; it runs elsewhere, but a rule that denies it is meant.
fn remote(call: &Call<'_>) -> Vec<super::Start> {
    let grammar = Grammar {
        short: "46AaB:b:CcD:E:e:F:fGgI:i:J:KkL:l:MmN:nO:o:P:p:Q:qR:S:sTtVvW:w:XxYy",
        long: &[],
        stops: true,
    };
    let parsed = grammar.parse(call.args);
    let command = parsed.operands.get(1..).unwrap_or_default();
    if command.is_empty() {
        return Vec::new();
    }
    let super::Start::Text { text, exact, .. } = super::shells::joined(command, false, Via::ExecOption)
    else {
        return Vec::new();
    };
    vec![super::Start::Text { text, exact, via: Via::Wrapper { privileged: true }, here: false }]
}

fn dd(call: &Call<'_>) -> Reading {
    let mut reading = Reading { kind: Kind::Other, ..Reading::default() };
    for arg in call.args {
        if arg.text.starts_with("of=") {
            reading.writes.push(arg.tail(3));
        } else if arg.text.starts_with("if=") {
            reading.reads.push(arg.tail(3));
        } else if arg.literal().is_none() && arg.text.is_empty() {
            reading.unknown = Some("a word that is not known may become an operand");
        }
    }
    reading
}

fn tar(call: &Call<'_>) -> Reading {
    let grammar = Grammar {
        short: "AcdrtuxjJzZaf:C:T:X:I:F:b:g:H:i:K:k:L:l:M:mN:nOoPpRSsUV:vWwBhG",
        long: &[
            "create",
            "extract",
            "get",
            "list",
            "append",
            "update",
            "diff",
            "compare",
            "delete",
            "concatenate",
            "file=",
            "directory=",
            "files-from=",
            "exclude-from=",
            "exclude=",
            "use-compress-program=",
            "to-command=",
            "checkpoint=?",
            "checkpoint-action=",
            "rsh-command=",
            "rmt-command=",
            "info-script=",
            "new-volume-script=",
            "gzip",
            "bzip2",
            "xz",
            "zstd",
            "lzma",
            "auto-compress",
            "verbose",
            "to-stdout",
            "strip-components=",
            "transform=",
            "xform=",
            "absolute-names",
            "one-top-level=?",
            "overwrite",
            "keep-old-files",
            "owner=",
            "group=",
            "mode=",
            "mtime=",
            "sort=",
            "format=",
            "wildcards",
            "no-same-owner",
            "preserve-permissions",
            "same-owner",
            "remove-files",
            "index-file=",
            "listed-incremental=",
            "force-local",
            "null",
            "help",
            "version",
        ],
        stops: false,
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
    let mut reading = Reading { kind: Kind::Other, ..Reading::default() };
    if parsed.doubtful {
        reading.unknown = Some("a word that is not known may become an option");
    }
    if parsed.strange {
        reading.no_auto.push("an option that is not known");
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
    reading.starts.extend(parsed.values(&runs).map(|value| text(value, Via::ExecOption)));
    for action in parsed.values(&["checkpoint-action"]) {
        if action.text.starts_with("exec=") {
            reading.starts.push(text(&action.tail(5), Via::ExecOption));
        } else if action.literal().is_none() {
            reading.unknown = Some("an action that is not known");
        }
    }
    reading.reads.extend(parsed.values(&["T", "X", "files-from", "exclude-from"]).cloned());
    let extracts = parsed.has(&["x", "extract", "get"]);
    let lists = parsed.has(&["t", "list", "d", "diff", "compare"]);
    let archive = parsed.values(&["f", "file"]).cloned();
    if extracts || lists {
        reading.reads.extend(archive);
    } else {
        reading.writes.extend(archive);
        reading.reads.extend_from_slice(&parsed.operands);
    }
    let directory: Vec<Arg> = parsed.values(&["C", "directory"]).cloned().collect();
    if extracts && !parsed.has(&["O", "to-stdout"]) {
        reading.writes.extend(if directory.is_empty() { vec![Arg::known(".")] } else { directory });
        if parsed.has(&["P", "absolute-names"]) {
            reading.writes.push(Arg::unknown("(names in the archive)"));
        }
    } else {
        reading.reads.extend(directory);
    }
    reading.writes.extend(parsed.values(&["g", "listed-incremental", "index-file"]).cloned());
    if parsed.has(&["remove-files", "delete"]) {
        reading.writes.extend_from_slice(&parsed.operands);
    }
    reading
}

fn go(call: &Call<'_>) -> Reading {
    let mut reading = Reading { kind: Kind::Other, ..Reading::default() };
    for (at, arg) in call.args.iter().enumerate() {
        let flag = arg.text.trim_start_matches('-');
        if !arg.text.starts_with('-') {
            if arg.may_be_option() {
                reading.unknown = Some("a word that is not known may become an option");
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
                reading.starts.extend(value.map(|value| text(&value, Via::ExecOption)))
            }
            "C" | "modfile" | "overlay" | "gccgoflags" | "ldflags" | "gcflags" | "asmflags" | "compiler"
            | "pkgdir" | "modcacherw" => {
                reading.no_auto.push("sets the tool's configuration");
            }
            "o" | "coverprofile" | "cpuprofile" | "memprofile" | "trace" | "blockprofile"
            | "mutexprofile" | "outputdir" => {
                reading.writes.extend(value);
            }
            _ => {}
        }
    }
    reading
}

fn download(call: &Call<'_>) -> Reading {
    let curl = call.name == "curl";
    let grammar = if curl {
        Grammar {
            short: "#0123469aA:b:Bc:C:d:D:e:E:fF:gGh::H:iIjJkK:lLm:MnNo:OpP:qQ:r:RsStT:u:U:vVw:x:X:y:Y:zZ:",
            long: &[
                "output=",
                "output-dir=",
                "config=",
                "dump-header=",
                "cookie-jar=",
                "upload-file=",
                "data=",
                "form=",
                "trace=",
                "trace-ascii=",
                "stderr=",
                "silent",
                "location",
                "fail",
                "show-error",
                "request=",
                "header=",
                "user=",
                "proxy=",
                "insecure",
                "head",
                "remote-name",
                "netrc-file=",
                "key=",
                "cert=",
                "cacert=",
                "etag-save=",
                "hsts=",
                "alt-svc=",
                "libcurl=",
            ],
            stops: false,
        }
    } else {
        Grammar {
            short: "VhbDe:o:a:dqvi:F:B:t:O:cNST:w:Q:P:E:U:r:l:kmpA:R:H:I:X:np:x:",
            long: &[
                "output-document=",
                "output-file=",
                "append-output=",
                "directory-prefix=",
                "input-file=",
                "execute=",
                "post-file=",
                "body-file=",
                "use-askpass=",
                "save-cookies=",
                "quiet",
                "no-check-certificate",
                "header=",
                "config=",
                "warc-file=",
                "load-cookies=",
                "recursive",
                "no-verbose",
                "continue",
            ],
            stops: false,
        }
    };
    let parsed = grammar.parse(call.args);
    let writes: &[&str] = if curl {
        &[
            "o",
            "output",
            "output-dir",
            "D",
            "dump-header",
            "c",
            "cookie-jar",
            "trace",
            "trace-ascii",
            "stderr",
            "etag-save",
            "hsts",
            "alt-svc",
            "libcurl",
        ]
    } else {
        &[
            "O",
            "output-document",
            "o",
            "output-file",
            "a",
            "append-output",
            "P",
            "directory-prefix",
            "save-cookies",
            "warc-file",
        ]
    };
    let reads: &[&str] = if curl {
        &["T", "upload-file", "K", "config", "netrc-file", "key", "cert", "E", "cacert"]
    } else {
        &["i", "input-file", "post-file", "body-file", "config", "load-cookies"]
    };
    let mut reading = Reading {
        kind: Kind::Other,
        writes: parsed.values(writes).filter(|arg| arg.text != "-").cloned().collect(),
        reads: parsed.values(reads).cloned().collect(),
        net: parsed.operands.iter().map(|arg| arg.shown.clone()).collect(),
        ..Reading::default()
    };
    for value in parsed.values(&["d", "data", "F", "form"]) {
        if let Some(at) = value.text.find('@').filter(|_| curl) {
            reading.reads.push(value.tail(at + 1));
        }
    }
    if parsed.has(&["K", "config", "e", "execute", "use-askpass"]) && (!curl || parsed.has(&["K", "config"]))
    {
        reading.no_auto.push("reads another configuration");
    }
    reading
}
