//! Programs that run their arguments (`docs/contracts/shell-analysis.md`): what they are and where the command starts.

mod table;

use table::WRAPPERS;

use super::options::OptionGrammar;
use super::{Call, EffectKind, ProgramEffects, Spawn, Stdin};
use crate::analysis::Via;
use crate::arg::Arg;

/// Returns what a wrapper does.
pub fn analyse(call: &Call<'_>) -> Option<ProgramEffects> {
    match call.name {
        "env" => return Some(env(call)),
        "xargs" => return Some(xargs(call)),
        "parallel" => return Some(parallel(call)),
        "watch" => {
            return Some(shell_words(
                call,
                "bcCd::en:pqtwx",
                "interval= differences=? exec no-title color beep errexit chgexit equexit= precise no-wrap",
            ));
        }
        "flock" => return Some(flock(call)),
        "script" => return Some(script(call)),
        "busybox" | "toybox" => return Some(applet(call)),
        "gdb" | "lldb" => return Some(debugger(call)),
        "hyperfine" => return Some(hyperfine(call)),
        _ => {}
    }
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&call.name))?;
    let parsed = wrapper.grammar.parse(call.args);
    // `command -v name` looks a name up and runs nothing.
    let first = call.args.first().and_then(Arg::literal);
    if call.name == "command" && matches!(first, Some("-v" | "-V")) {
        return Some(ProgramEffects::read_only());
    }
    let via = Via::Wrapper { privileged: wrapper.privileged };
    let mut effects = ProgramEffects { kind: EffectKind::ReadOnly, ..ProgramEffects::default() };
    if wrapper.privileged {
        effects.kind = EffectKind::Other;
        effects.no_auto_approval.push("changes who or where the command runs");
    }
    if wrapper.observes {
        effects.kind = EffectKind::Other;
        effects.no_auto_approval.push("does more than to run a command");
    }
    if wrapper.more.iter().any(|name| parsed.has(&[name])) {
        effects.kind = EffectKind::Other;
        effects.writes.extend(parsed.values(wrapper.more).cloned());
        effects.no_auto_approval.push("writes what it finds out");
    }
    for value in parsed.values(wrapper.text) {
        effects.spawns.push(super::table::text(value, via));
    }
    if parsed.has_unknown_option {
        effects.no_auto_approval.push("an option that is not known");
        effects.kind = EffectKind::Other;
    }
    if parsed.may_be_option && parsed.rest.is_none() {
        effects.unknown = Some("a word that is not known may become the command");
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
        effects.spawns.push(Spawn::Argv { words: words.to_vec(), via, environment });
    } else if effects.spawns.is_empty() && !matches!(call.name, "exec" | "command" | "time" | "builtin") {
        effects.kind = EffectKind::Other;
    }
    Some(effects)
}

/// Whether a text is a variable's name.
pub fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn env(call: &Call<'_>) -> ProgramEffects {
    let grammar = OptionGrammar {
        short: "0iu:C:S:vP:a:",
        long: "ignore-environment null unset= chdir= split-string= block-signal=? default-signal=? \
            ignore-signal=? list-signal-handling debug argv0= help version",
        stops_at_operand: true,
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
    let mut effects = ProgramEffects { kind: EffectKind::ReadOnly, unknown, ..ProgramEffects::default() };
    if parsed.has(&["u", "unset", "i", "ignore-environment"]) {
        effects.no_auto_approval.push("takes variables away from a command");
    }
    if parsed.has(&["C", "chdir", "P", "a", "argv0"]) || parsed.has_unknown_option {
        effects.no_auto_approval.push("runs a command elsewhere");
        effects.kind = EffectKind::Other;
    }
    if parsed.may_be_option {
        effects.unknown = Some("a word that is not known may become the command");
    }
    if words.is_empty() {
        // Prints the environment, secrets included.
        effects.kind = EffectKind::Other;
    } else {
        effects.spawns.push(Spawn::Argv { words, via, environment });
    }
    effects
}

fn xargs(call: &Call<'_>) -> ProgramEffects {
    let grammar = OptionGrammar {
        short: "0a:d:E:e::I:i::L:l::n:oP:prR:s:tx",
        long: "null arg-file= delimiter= eof=? replace=? max-lines=? max-args= interactive max-procs= \
            no-run-if-empty max-chars= verbose exit open-tty process-slot-var= show-limits help version",
        stops_at_operand: true,
    };
    let parsed = grammar.parse(call.args);
    let mut effects = ProgramEffects { kind: EffectKind::ReadOnly, ..ProgramEffects::default() };
    effects.reads.extend(parsed.values(&["a", "arg-file"]).cloned());
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
    let named = parsed.has(&["a", "arg-file"]);
    let input: Vec<Arg> = match call.stdin {
        Stdin::Text { text, exact: true } if !named && !text.contains(['\'', '"', '\\']) => {
            match (&replace, text.trim().lines().count()) {
                (None, _) => text.split_whitespace().map(Arg::known).collect(),
                // A line is one word then.
                (Some(_), 1) => vec![Arg::known(text.trim())],
                (Some(_), _) => vec![Arg::unknown("(from input)")],
            }
        }
        Stdin::Names(names) if !named => names.clone(),
        Stdin::Text { text, .. } if !named => {
            let words = text.split([' ', '\t', '\n', '\0']).filter(|word| !word.is_empty());
            vec![Arg::one_of(words.map(str::to_owned).take(8).collect(), "(from input)")]
        }
        _ => vec![Arg::unknown("(from input)")],
    };
    match replace.filter(|marker| !marker.is_empty()) {
        Some(marker) => {
            let whole = |word: &Arg| word.literal() == Some(marker.as_str());
            words = words
                .into_iter()
                .flat_map(|mut word| {
                    if whole(&word) {
                        return input.clone();
                    }
                    replaced(&mut word, &marker);
                    vec![word]
                })
                .collect();
        }
        None => words.extend(input),
    }
    if parsed.has_unknown_option || parsed.may_be_option {
        effects.unknown = Some("a word that is not known may become the command");
    }
    effects.spawns.push(Spawn::Argv {
        words,
        via: Via::Wrapper { privileged: false },
        environment: Vec::new(),
    });
    effects
}

/// Makes a word unknown from where `marker` stands in it. A whole name there may be every name.
pub fn replaced(word: &mut Arg, marker: &str) {
    if let Some(at) = word.text.find(marker) {
        let whole = word.text[at + marker.len()..].trim_matches('/').is_empty();
        word.text.truncate(at);
        if whole && word.text.ends_with('/') {
            word.maybe.push(format!("{}*", word.text));
        }
        word.rest = crate::arg::Rest::Unknown;
    }
}

fn parallel(call: &Call<'_>) -> ProgramEffects {
    let words: Vec<&Arg> = call.args.iter().skip_while(|arg| arg.text.starts_with('-')).collect();
    let shown: Vec<&str> =
        words.iter().map(|arg| arg.shown.as_str()).take_while(|word| !word.starts_with(":::")).collect();
    let mut effects = ProgramEffects::unknown("`parallel` makes commands from its input");
    effects.spawns.push(Spawn::Script {
        text: shown.join(" "),
        exact: false,
        via: Via::Wrapper { privileged: false },
        same_shell: false,
        parameters: Vec::new(),
    });
    effects
}

/// A wrapper that joins its words and gives them to a shell.
fn shell_words(call: &Call<'_>, short: &'static str, long: &'static str) -> ProgramEffects {
    let parsed = OptionGrammar { short, long, stops_at_operand: true }.parse(call.args);
    let mut effects = ProgramEffects { kind: EffectKind::Other, ..ProgramEffects::default() };
    let exact = parsed.operands.iter().all(|arg| arg.literal().is_some());
    let words: Vec<&str> =
        parsed.operands.iter().map(|arg| arg.literal().unwrap_or(arg.shown.as_str())).collect();
    if !words.is_empty() {
        let via = Via::Wrapper { privileged: false };
        effects.spawns.push(Spawn::Script {
            text: words.join(" "),
            exact,
            via,
            same_shell: false,
            parameters: Vec::new(),
        });
    }
    if parsed.may_be_option || parsed.has_unknown_option {
        effects.unknown = Some("a word that is not known may become the command");
    }
    effects
}

fn flock(call: &Call<'_>) -> ProgramEffects {
    let grammar = OptionGrammar {
        short: "c:eE:Fnosuw:xhV",
        long: "command= exclusive conflict-exit-code= no-fork nonblock close shared unlock timeout= verbose \
            fcntl help version",
        stops_at_operand: true,
    };
    let parsed = grammar.parse(call.args);
    let mut effects = ProgramEffects { kind: EffectKind::Other, ..ProgramEffects::default() };
    effects.writes.extend(parsed.operands.first().cloned());
    let via = Via::Wrapper { privileged: false };
    let words = parsed.operands.get(1..).unwrap_or_default();
    match words {
        [option, text, ..] if ["-c", "--command"].contains(&option.text.as_str()) => {
            effects.spawns.push(super::table::text(text, via));
        }
        [] => {}
        words => effects.spawns.push(Spawn::Argv { words: words.to_vec(), via, environment: Vec::new() }),
    }
    for value in parsed.values(&["c", "command"]) {
        effects.spawns.push(super::table::text(value, via));
    }
    effects
}

fn script(call: &Call<'_>) -> ProgramEffects {
    let grammar = OptionGrammar {
        short: "ac:eE:fI:B:O:T:m:o:qt::hV",
        long: "append command= return echo= flush log-in= log-out= log-io= log-timing= logging-format= \
            output-limit= quiet timing=? force",
        stops_at_operand: false,
    };
    let parsed = grammar.parse(call.args);
    let mut effects = ProgramEffects {
        kind: EffectKind::Other,
        writes: parsed.operands.clone(),
        ..ProgramEffects::default()
    };
    let via = Via::Wrapper { privileged: false };
    effects.spawns.extend(parsed.values(&["c", "command"]).map(|value| super::table::text(value, via)));
    effects
        .writes
        .extend(parsed.values(&["I", "B", "O", "T", "log-in", "log-out", "log-io", "log-timing"]).cloned());
    if effects.spawns.is_empty() {
        effects.unknown = Some("starts a shell");
    }
    effects
}

fn applet(call: &Call<'_>) -> ProgramEffects {
    match call.args {
        [first, ..] if first.literal().is_some_and(|name| !name.starts_with('-')) => {
            ProgramEffects::spawning(Spawn::Argv {
                words: call.args.to_vec(),
                via: Via::Wrapper { privileged: false },
                environment: Vec::new(),
            })
        }
        [first, ..] if first.literal().is_none() => ProgramEffects::unknown("an applet that is not known"),
        _ => ProgramEffects::default(),
    }
}

/// Each operand and each hook is a text for a shell.
fn hyperfine(call: &Call<'_>) -> ProgramEffects {
    let grammar = OptionGrammar {
        short: "w:m:M:r:s:p:c:P:D:L:S:Ni:u:n:hV",
        long: "warmup= min-runs= max-runs= runs= setup= prepare= conclude= cleanup= parameter-scan= \
            parameter-step-size= parameter-list= shell= ignore-failure=? style= sort= time-unit= \
            export-asciidoc= export-csv= export-json= export-markdown= export-orgmode= show-output output= \
            input= command-name= reference= help version",
        stops_at_operand: false,
    };
    let parsed = grammar.parse(call.args);
    let mut effects = ProgramEffects {
        no_auto_approval: vec!["does more than to run a command"],
        ..ProgramEffects::default()
    };
    let hooks = ["s", "setup", "p", "prepare", "c", "conclude", "cleanup", "reference"];
    let via = Via::Wrapper { privileged: false };
    let texts = parsed.operands.iter().chain(parsed.values(&hooks));
    effects.spawns.extend(texts.map(|value| super::table::text(value, via)));
    let exports =
        ["export-asciidoc", "export-csv", "export-json", "export-markdown", "export-orgmode", "output"];
    effects.writes.extend(parsed.values(&exports).cloned());
    effects.reads.extend(parsed.values(&["input"]).cloned());
    effects
}

fn debugger(call: &Call<'_>) -> ProgramEffects {
    let mut effects = ProgramEffects::unknown("a debugger runs what it is told");
    let at = call.args.iter().position(|arg| matches!(arg.text.as_str(), "--args" | "-args" | "--"));
    if let Some(words) = at.and_then(|at| call.args.get(at + 1..)).filter(|words| !words.is_empty()) {
        let via = Via::Wrapper { privileged: false };
        effects.spawns.push(Spawn::Argv { words: words.to_vec(), via, environment: Vec::new() });
    }
    effects
}
