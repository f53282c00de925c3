//! `zori -p TEXT` is `zori exec -p TEXT` (DECISIONS 6), and what goes with a prompt may stand before the command, too.
//!
//! The words are moved before anybody reads them: `-p` and its kin go behind the command; where there is none, a prompt or
//! a lone `-` or `--json` means `exec`, and anything else of the kind the chat.

use zori_contract::flag::Flag;
use zori_contract::kind::Kind;

use super::claude;
use super::flags::PROMPT;
use crate::program::ZORI;

/// Moves the words.
pub fn words(words: &mut Vec<String>) {
    let global = ZORI.global_flags();
    let wants_next = |word: &str| {
        let flag = find(word, claude::EXEC).or_else(|| find(word, &global));
        word.starts_with('-') && flag.is_some_and(|flag| takes_next(flag, word))
    };
    if claude::words(words, wants_next) {
        return;
    }
    let (mut kept, mut moved, mut dash) = (Vec::new(), Vec::new(), false);
    let mut rest = std::mem::take(words).into_iter().peekable();
    while let Some(word) = rest.next_if(|word| word.starts_with('-') && word != "--") {
        dash |= word == "-";
        let (before, word) = match unglued(&word, &global) {
            Some((before, word)) => (Some(before), word),
            None => (None, word),
        };
        kept.extend(before);
        let ours = find(&word, PROMPT);
        let target = if ours.is_some() { &mut moved } else { &mut kept };
        let wants = ours.or_else(|| find(&word, &global)).is_some_and(|flag| takes_next(flag, &word));
        target.push(word);
        if wants {
            target.extend(rest.next());
        }
    }
    // The command, with the second word of a two-word one and the options in between.
    let command = rest.next_if(|word| word != "--");
    let two = command.as_ref().is_some_and(|name| ZORI.groups.iter().any(|(group, _)| group == name));
    kept.extend(command.clone());
    while two && let Some(word) = rest.next() {
        let wants = find(&word, &global).is_some_and(|flag| takes_next(flag, &word));
        let leaf = !word.starts_with('-');
        kept.push(word);
        if wants {
            kept.extend(rest.next());
        }
        if leaf {
            break;
        }
    }
    let prompt = moved.iter().any(|word| find(word, &PROMPT[..1]).is_some());
    match command {
        None if prompt || dash || wants_events(&kept) => kept.insert(0, "exec".to_owned()),
        None if !moved.is_empty() => kept.insert(0, "chat".to_owned()),
        _ => {}
    }
    kept.append(&mut moved);
    kept.extend(rest);
    *words = kept;
}

/// Returns whether the words ask for events, and not for something about the program: `zori --json` is a session for a
/// program.
fn wants_events(words: &[String]) -> bool {
    let about = ["--help", "-h", "--version", "-V", "--schema", "--print-schema", "--output-schema"];
    let mut pairs =
        words.iter().map(String::as_str).zip(words.iter().skip(1).map(String::as_str).chain([""]));
    let asks = |(word, next)| {
        matches!(word, "--json" | "--stream" | "--format=json" | "--output=jsonl" | "-ojsonl" | "-o=jsonl")
            || matches!((word, next), ("--format", "json") | ("--output" | "-o", "jsonl"))
    };
    pairs.any(asks) && !words.iter().any(|word| about.contains(&word.as_str()))
}

/// Finds the flag that a word names.
fn find<'f>(word: &str, flags: &'f [Flag]) -> Option<&'f Flag> {
    match (word.strip_prefix("--"), word.strip_prefix('-')) {
        (Some(long), _) => {
            let name = long.split_once('=').map_or(long, |(name, _)| name);
            flags.iter().find(|flag| flag.is_called(name))
        }
        (None, Some(short)) => {
            let first = short.chars().next()?;
            flags.iter().find(|flag| flag.short == Some(first))
        }
        (None, None) => None,
    }
}

/// Returns whether the next word is the flag's value: it takes one, and the word has none glued to it.
fn takes_next(flag: &Flag, word: &str) -> bool {
    let glued = if word.starts_with("--") { word.contains('=') } else { word.len() > 2 };
    !matches!(flag.kind, Kind::Switch) && !glued
}

/// Takes `-yp` apart where a flag of a prompt stands behind switches.
fn unglued(word: &str, global: &[Flag]) -> Option<(String, String)> {
    let short = word.strip_prefix('-').filter(|short| !short.starts_with('-'))?;
    for (at, c) in short.char_indices() {
        if PROMPT.iter().any(|flag| flag.short == Some(c)) {
            return (at > 0).then(|| (format!("-{}", &short[..at]), format!("-{}", &short[at..])));
        }
        let switch = global.iter().any(|flag| flag.short == Some(c) && matches!(flag.kind, Kind::Switch));
        if !switch {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    fn check(line: &str, wanted: &str) {
        let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        super::words(&mut words);
        assert_eq!(words.join(" "), wanted, "{line}");
    }

    #[test]
    fn without_a_command() {
        check("-p hi", "exec -p hi");
        check("--model m -p hi -", "exec --model m - -p hi");
        check("-yp hi --no-save", "exec -y --no-save -p hi");
        check("--prompt=hi", "exec --prompt=hi");
        check("-", "exec -");
        check("--image a.png", "chat --image a.png");
        check("--model m", "--model m");
        check("--help", "--help");
        check("--json", "exec --json");
        check("--bare --output jsonl --model m", "exec --bare --output jsonl --model m");
        check("--json --help", "--json --help");
        check("--output json", "--output json");
        check("", "");
    }

    #[test]
    fn before_a_command() {
        check("-p hi exec --no-save", "exec -p hi --no-save");
        check("-p hi sessions -o plain resume x", "sessions -o plain resume -p hi x");
        check("--image a --record r exec -p hi", "exec --image a --record r -p hi");
        check("--model exec exec -p hi", "--model exec exec -p hi");
        check("-p hi frobnicate", "frobnicate -p hi");
        check("exec -- -p", "exec -- -p");
    }
}
