//! What a command changes in the shell that runs it, for the commands that follow.

use crate::arg::{Arg, Rest};
use crate::assignment;
use crate::paths;
use crate::programs::Stdin;
use crate::state::State;
use crate::syntax::{Script, TokenKind, bare};
use crate::tree::{List, Node, NodeKind};

/// How many lines of a known input are looked at.
const MAX_LINES: usize = 8;

/// Commands that evaluate subscripts in their words.
pub fn evaluates_subscripts(name: &str) -> bool {
    matches!(
        name,
        "export"
            | "declare"
            | "typeset"
            | "readonly"
            | "local"
            | "read"
            | "mapfile"
            | "readarray"
            | "printf"
            | "test"
            | "["
            | "[["
            | "unset"
            | "let"
            | "getopts"
            | "wait"
            | "(("
    )
}

/// Notes that a variable was assigned: some decide what later commands are.
pub fn note_assignment(name: &str, state: &mut State) {
    if assignment::decides_programs(name) {
        state.redefined = Some("`PATH` or its like is changed");
    } else if assignment::may_be_exported(name) {
        state.no_auto_approval = Some("an assignment before it");
    }
}

/// Applies what a builtin changes.
pub fn apply(name: &str, args: &[Arg], state: &mut State) {
    match name {
        "cd" | "pushd" => {
            let target = args.iter().find(|arg| !is_option(arg));
            state.changed_dir = true;
            match target {
                None if args.iter().all(|arg| arg.literal().is_some()) && name == "cd" => {
                    let home = state.get("HOME").map(str::to_owned);
                    state.cwds = home.map(Into::into).into_iter().collect();
                }
                // The kernel follows a link before it steps up: where that leads is the disk's to say.
                Some(arg) if args.iter().any(is_physical) && steps_back(&arg.text) => state.cwds.clear(),
                Some(arg) if arg.rest == Rest::Nothing && !matches!(arg.text.as_str(), "-" | "") => {
                    state.cwds = state.cwds.iter().map(|cwd| paths::normalise(cwd, &arg.text)).collect();
                    if state.cwds.is_empty() && arg.text.starts_with('/') {
                        state.cwds.push(paths::normalise("/".as_ref(), &arg.text));
                    }
                }
                _ => state.cwds.clear(),
            }
        }
        "shift" => {
            let by = match args {
                [] => Some(1),
                [count] => count.literal().and_then(|count| count.parse().ok()),
                _ => None,
            };
            state.shift(by);
        }
        "popd" => {
            state.changed_dir = true;
            state.cwds.clear();
        }
        "export" | "declare" | "typeset" | "readonly" | "local" => declared(args, state),
        "alias" | "unalias" | "enable" | "shopt" => {
            state.redefined = Some("names or options of the shell are changed")
        }
        "hash" if !args.is_empty() => state.redefined = Some("names of the shell are changed"),
        "source" | "." => {
            state.redefined = Some("a file was sourced");
            state.forget_vars();
            state.cwds.clear();
        }
        "set" => {
            let exports = |arg: &Arg| {
                arg.literal().is_none()
                    || arg.text == "allexport"
                    || (arg.text.starts_with('-')
                        && !arg.text.starts_with("--")
                        && arg.text.contains(['a', 'k']))
            };
            if args.iter().take_while(|arg| arg.text != "--").any(exports) {
                state.no_auto_approval = Some("the shell exports what it assigns");
            }
            let operands = match args.iter().position(|arg| arg.text == "--") {
                Some(at) => Some(&args[at + 1..]),
                None => args.iter().position(|arg| !arg.text.starts_with(['-', '+'])).map(|at| &args[at..]),
            };
            if let Some(operands) = operands {
                let parameters: Vec<Arg> =
                    std::iter::once(Arg::unknown("$0")).chain(operands.iter().cloned()).collect();
                state.set_parameters(&parameters);
            }
        }
        "unset" => {
            if args.iter().any(|arg| arg.text.starts_with("-f") || arg.literal().is_none()) {
                state.redefined = Some("a function is taken away");
            }
            for arg in args.iter().filter_map(Arg::literal) {
                state.set(arg, None);
                note_assignment(arg, state);
            }
        }
        "read" | "mapfile" | "readarray" | "getopts" | "let" | "printf" | "((" | "wait" => {
            if name == "printf"
                && !args.first().is_some_and(|arg| arg.text.starts_with("-v") || arg.may_be_option())
            {
                return;
            }
            for arg in args {
                let text = arg.text.strip_prefix("-v").unwrap_or(&arg.text);
                for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
                    if crate::programs::wrappers::is_name(word) {
                        state.set(word, None);
                        note_assignment(word, state);
                    }
                }
                if arg.literal().is_none() && name != "((" {
                    state.forget_vars();
                    state.no_auto_approval = Some("a variable that is not known is assigned");
                }
            }
        }
        _ => {}
    }
}

/// Whether an option makes `cd` take links for where they lead.
fn is_physical(arg: &Arg) -> bool {
    is_option(arg) && !arg.text.starts_with("--") && arg.text.contains('P')
}

/// Whether a path goes into a folder and out of it again.
fn steps_back(path: &str) -> bool {
    let mut inside = false;
    path.split('/').any(|part| {
        let back = inside && part == "..";
        inside |= !matches!(part, "" | "." | "..");
        back
    })
}

/// Notes what `read` may have read: a line, or a word of it.
pub fn note_read(args: &[Arg], stdin: &Stdin, state: &mut State) {
    let Stdin::Text { text, .. } = stdin else { return };
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let texts: Vec<String> = lines
        .take(MAX_LINES)
        .flat_map(|line| std::iter::once(line).chain(line.split_whitespace()))
        .map(str::to_owned)
        .collect();
    for name in args.iter().filter(|arg| !is_option(arg)).filter_map(Arg::literal) {
        state.set_maybe(name, texts.iter().cloned());
    }
    state.set_maybe("REPLY", texts);
}

fn is_option(arg: &Arg) -> bool {
    arg.text.len() > 1 && arg.text.starts_with('-') && arg.rest == Rest::Nothing
}

fn declared(args: &[Arg], state: &mut State) {
    let plain = args
        .iter()
        .filter(|arg| is_option(arg))
        .all(|arg| arg.text[1..].chars().all(|c| matches!(c, 'x' | 'r' | 'g')));
    for arg in args.iter().filter(|arg| !is_option(arg)) {
        if arg.literal().is_none() && !arg.text.contains('=') {
            state.forget_vars();
            state.no_auto_approval = Some("a variable that is not known is exported");
            continue;
        }
        let (name, value) = match arg.text.split_once('=') {
            Some((name, value)) => (name, arg.literal().is_some().then(|| value.to_owned())),
            None => (arg.text.as_str(), state.get(&arg.text).map(str::to_owned)),
        };
        let name = name.trim_end_matches('+');
        state.set(name, value.filter(|_| plain));
        if assignment::decides_programs(name) {
            state.redefined = Some("`PATH` or its like is changed");
        } else if !assignment::is_harmless(name) {
            state.no_auto_approval = Some("a variable exported before it");
        }
    }
}

/// Applies what a loop's body may have changed by the time it runs again.
pub fn apply_loop_changes(script: &Script, list: &List, state: &mut State) {
    for item in &list.0 {
        let pipelines = std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline));
        for node in pipelines.flat_map(|pipeline| &pipeline.0) {
            apply_node_changes(script, node, state);
        }
    }
}

fn apply_node_changes(script: &Script, node: &Node, state: &mut State) {
    match &node.kind {
        NodeKind::Simple(tokens) => {
            for token in tokens {
                let (word, assigns) = match script.tokens[*token].kind {
                    TokenKind::Assignment(word) => (word, true),
                    TokenKind::Word(word) | TokenKind::Reserved(_, word) => (word, false),
                    _ => continue,
                };
                let parts = &script.words[word];
                match parts.first() {
                    Some(crate::syntax::WordPart::Text(text)) if assigns => {
                        let name = text.split(['=', '+', '[']).next().unwrap_or_default();
                        note_assignment(name, state);
                    }
                    _ => {}
                }
                match bare(parts) {
                    Some("cd" | "pushd" | "popd") => {
                        state.changed_dir = true;
                        state.cwds.clear();
                    }
                    Some(
                        "alias" | "hash" | "enable" | "shopt" | "eval" | "source" | "." | "unset" | "export"
                        | "declare" | "typeset" | "readonly" | "local",
                    ) => {
                        state.redefined = Some("a later part of the loop changes names");
                    }
                    _ => {}
                }
            }
        }
        NodeKind::Group(list) => apply_loop_changes(script, list, state),
        NodeKind::Subshell(_) => {}
        NodeKind::Branch(lists) => lists.iter().for_each(|list| apply_loop_changes(script, list, state)),
        NodeKind::While(condition, body) => {
            apply_loop_changes(script, condition, state);
            apply_loop_changes(script, body, state);
        }
        NodeKind::For(_, _, body) => apply_loop_changes(script, body, state),
        NodeKind::Case(_, arms) => arms.iter().for_each(|(_, list)| apply_loop_changes(script, list, state)),
        NodeKind::Function(..) => state.redefined = Some("a later part of the loop defines a function"),
        NodeKind::Coprocess(inner) => apply_node_changes(script, inner, state),
    }
}
