//! Programs that run their arguments (`security.md` 3.4): what they are and where the command starts.

mod list;

use list::WRAPPERS;

use super::options::Grammar;
use super::{Call, Kind, Reading, Start};
use crate::analysis::Via;
use crate::arg::Arg;

/// Returns what a wrapper does.
pub fn read(call: &Call<'_>) -> Option<Reading> {
    match call.name {
        "env" => return Some(env(call)),
        "xargs" => return Some(xargs(call)),
        "parallel" => return Some(parallel(call)),
        "watch" => {
            return Some(shell_words(
                call,
                "bcCd::en:pqtwx",
                &[
                    "interval=",
                    "differences=?",
                    "exec",
                    "no-title",
                    "color",
                    "beep",
                    "errexit",
                    "chgexit",
                    "equexit=",
                    "precise",
                    "no-wrap",
                ],
            ));
        }
        "flock" => return Some(flock(call)),
        "script" => return Some(script(call)),
        "busybox" | "toybox" => return Some(applet(call)),
        "gdb" | "lldb" => return Some(debugger(call)),
        _ => {}
    }
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&call.name))?;
    let parsed = wrapper.grammar.parse(call.args);
    // `command -v name` looks a name up and runs nothing.
    let first = call.args.first().and_then(Arg::literal);
    if call.name == "command" && matches!(first, Some("-v" | "-V")) {
        return Some(Reading::read_only());
    }
    let via = Via::Wrapper { privileged: wrapper.privileged };
    let mut reading = Reading { kind: Kind::ReadOnly, ..Reading::default() };
    if wrapper.privileged {
        reading.kind = Kind::Other;
        reading.no_auto.push("changes who or where the command runs");
    }
    if wrapper.more.iter().any(|name| parsed.has(&[name])) {
        reading.kind = Kind::Other;
        reading.writes.extend(parsed.values(wrapper.more).cloned());
        reading.no_auto.push("writes what it finds out");
    }
    for value in parsed.values(wrapper.text) {
        reading.starts.push(super::table::text(value, via));
    }
    if parsed.strange {
        reading.no_auto.push("an option that is not known");
        reading.kind = Kind::Other;
    }
    if parsed.doubtful && parsed.rest.is_none() {
        reading.unknown = Some("a word that is not known may become the command");
    }
    let mut words = parsed.operands.get(wrapper.skip..).unwrap_or_default();
    // Assignments in front of the command, as sudo and doas take them.
    let assigns = |arg: &Arg| arg.text.split_once('=').is_some_and(|(name, _)| is_name(name));
    let mut environment = Vec::new();
    while let Some((first, rest)) = words.split_first().filter(|(first, _)| assigns(first)) {
        environment.push(first.clone());
        words = rest;
    }
    if !words.is_empty() {
        reading.starts.push(Start::Words { words: words.to_vec(), via, environment });
    } else if reading.starts.is_empty() && !matches!(call.name, "exec" | "command" | "time" | "builtin") {
        reading.kind = Kind::Other;
    }
    Some(reading)
}

/// Whether a text is a variable's name.
pub fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn env(call: &Call<'_>) -> Reading {
    let grammar = Grammar {
        short: "0iu:C:S:vP:a:",
        long: &[
            "ignore-environment",
            "null",
            "unset=",
            "chdir=",
            "split-string=",
            "block-signal=?",
            "default-signal=?",
            "ignore-signal=?",
            "list-signal-handling",
            "debug",
            "argv0=",
            "help",
            "version",
        ],
        stops: true,
    };
    let parsed = grammar.parse(call.args);
    let via = Via::Wrapper { privileged: false };
    let mut words: Vec<Arg> = Vec::new();
    let mut unknown = None;
    for value in parsed.values(&["S", "split-string"]) {
        // Split at blanks, quotes removed; escapes and variables in it are left to a person.
        match value.literal() {
            Some(text) if !text.contains(['\\', '$']) => {
                words.extend(text.split_whitespace().map(|word| Arg::known(word.replace(['\'', '"'], ""))));
                if text.contains(['\'', '"']) {
                    unknown = Some("a command line that `env` splits");
                }
            }
            _ => unknown = Some("a command line that `env` splits"),
        }
    }
    words.extend(parsed.operands.iter().cloned());
    let mut environment = Vec::new();
    while words
        .first()
        .is_some_and(|word| word.text.split_once('=').is_some_and(|(name, _)| !name.is_empty()))
    {
        environment.push(words.remove(0));
    }
    let mut reading = Reading { kind: Kind::ReadOnly, unknown, ..Reading::default() };
    if parsed.has(&["u", "unset", "i", "ignore-environment"]) {
        reading.no_auto.push("takes variables away from a command");
    }
    if parsed.has(&["C", "chdir", "P", "a", "argv0"]) || parsed.strange {
        reading.no_auto.push("runs a command elsewhere");
        reading.kind = Kind::Other;
    }
    if parsed.doubtful {
        reading.unknown = Some("a word that is not known may become the command");
    }
    if words.is_empty() {
        // Prints the environment, secrets included.
        reading.kind = Kind::Other;
    } else {
        reading.starts.push(Start::Words { words, via, environment });
    }
    reading
}

fn xargs(call: &Call<'_>) -> Reading {
    let grammar = Grammar {
        short: "0a:d:E:e::I:i::L:l::n:oP:prR:s:tx",
        long: &[
            "null",
            "arg-file=",
            "delimiter=",
            "eof=?",
            "replace=?",
            "max-lines=?",
            "max-args=",
            "interactive",
            "max-procs=",
            "no-run-if-empty",
            "max-chars=",
            "verbose",
            "exit",
            "open-tty",
            "process-slot-var=",
            "show-limits",
            "help",
            "version",
        ],
        stops: true,
    };
    let parsed = grammar.parse(call.args);
    let mut reading = Reading { kind: Kind::ReadOnly, ..Reading::default() };
    reading.reads.extend(parsed.values(&["a", "arg-file"]).cloned());
    let replace = parsed
        .options
        .iter()
        .filter(|(name, _)| ["I", "i", "replace"].contains(&name.as_str()))
        .map(|(_, value)| value.as_ref().map_or("{}".to_owned(), |value| value.shown.clone()))
        .next_back();
    let mut words = match parsed.operands.as_slice() {
        [] => vec![Arg::known("echo")],
        words => words.to_vec(),
    };
    match replace.filter(|marker| !marker.is_empty()) {
        Some(marker) => {
            for word in &mut words {
                replaced(word, &marker);
            }
        }
        None => words.push(Arg::unknown("(from input)")),
    }
    if parsed.strange || parsed.doubtful {
        reading.unknown = Some("a word that is not known may become the command");
    }
    reading.starts.push(Start::Words {
        words,
        via: Via::Wrapper { privileged: false },
        environment: Vec::new(),
    });
    reading
}

/// Makes a word unknown from where `marker` stands in it.
pub fn replaced(word: &mut Arg, marker: &str) {
    if let Some(at) = word.text.find(marker) {
        word.text.truncate(at);
        word.rest = crate::arg::Rest::Unknown;
    }
}

fn parallel(call: &Call<'_>) -> Reading {
    let words: Vec<&Arg> = call.args.iter().skip_while(|arg| arg.text.starts_with('-')).collect();
    let shown: Vec<&str> =
        words.iter().map(|arg| arg.shown.as_str()).take_while(|word| !word.starts_with(":::")).collect();
    let mut reading = Reading::unknown("`parallel` makes commands from its input");
    reading.starts.push(Start::Text {
        text: shown.join(" "),
        exact: false,
        via: Via::Wrapper { privileged: false },
        here: false,
    });
    reading
}

/// A wrapper that joins its words and gives them to a shell.
fn shell_words(call: &Call<'_>, short: &'static str, long: &'static [&'static str]) -> Reading {
    let parsed = Grammar { short, long, stops: true }.parse(call.args);
    let mut reading = Reading { kind: Kind::Other, ..Reading::default() };
    let exact = parsed.operands.iter().all(|arg| arg.literal().is_some());
    let words: Vec<&str> =
        parsed.operands.iter().map(|arg| arg.literal().unwrap_or(arg.shown.as_str())).collect();
    if !words.is_empty() {
        let via = Via::Wrapper { privileged: false };
        reading.starts.push(Start::Text { text: words.join(" "), exact, via, here: false });
    }
    if parsed.doubtful || parsed.strange {
        reading.unknown = Some("a word that is not known may become the command");
    }
    reading
}

fn flock(call: &Call<'_>) -> Reading {
    let grammar = Grammar {
        short: "c:eE:Fnosuw:xhV",
        long: &[
            "command=",
            "exclusive",
            "conflict-exit-code=",
            "no-fork",
            "nonblock",
            "close",
            "shared",
            "unlock",
            "timeout=",
            "verbose",
            "fcntl",
            "help",
            "version",
        ],
        stops: true,
    };
    let parsed = grammar.parse(call.args);
    let mut reading = Reading { kind: Kind::Other, ..Reading::default() };
    reading.writes.extend(parsed.operands.first().cloned());
    let via = Via::Wrapper { privileged: false };
    let words = parsed.operands.get(1..).unwrap_or_default();
    match words {
        [option, text, ..] if ["-c", "--command"].contains(&option.text.as_str()) => {
            reading.starts.push(super::table::text(text, via));
        }
        [] => {}
        words => reading.starts.push(Start::Words { words: words.to_vec(), via, environment: Vec::new() }),
    }
    for value in parsed.values(&["c", "command"]) {
        reading.starts.push(super::table::text(value, via));
    }
    reading
}

fn script(call: &Call<'_>) -> Reading {
    let grammar = Grammar {
        short: "ac:eE:fI:B:O:T:m:o:qt::hV",
        long: &[
            "append",
            "command=",
            "return",
            "echo=",
            "flush",
            "log-in=",
            "log-out=",
            "log-io=",
            "log-timing=",
            "logging-format=",
            "output-limit=",
            "quiet",
            "timing=?",
            "force",
        ],
        stops: false,
    };
    let parsed = grammar.parse(call.args);
    let mut reading = Reading { kind: Kind::Other, writes: parsed.operands.clone(), ..Reading::default() };
    let via = Via::Wrapper { privileged: false };
    reading.starts.extend(parsed.values(&["c", "command"]).map(|value| super::table::text(value, via)));
    reading
        .writes
        .extend(parsed.values(&["I", "B", "O", "T", "log-in", "log-out", "log-io", "log-timing"]).cloned());
    if reading.starts.is_empty() {
        reading.unknown = Some("starts a shell");
    }
    reading
}

fn applet(call: &Call<'_>) -> Reading {
    match call.args {
        [first, ..] if first.literal().is_some_and(|name| !name.starts_with('-')) => {
            Reading::starting(Start::Words {
                words: call.args.to_vec(),
                via: Via::Wrapper { privileged: false },
                environment: Vec::new(),
            })
        }
        [first, ..] if first.literal().is_none() => Reading::unknown("an applet that is not known"),
        _ => Reading::default(),
    }
}

fn debugger(call: &Call<'_>) -> Reading {
    let mut reading = Reading::unknown("a debugger runs what it is told");
    let at = call.args.iter().position(|arg| matches!(arg.text.as_str(), "--args" | "-args" | "--"));
    if let Some(words) = at.and_then(|at| call.args.get(at + 1..)).filter(|words| !words.is_empty()) {
        let via = Via::Wrapper { privileged: false };
        reading.starts.push(Start::Words { words: words.to_vec(), via, environment: Vec::new() });
    }
    reading
}
