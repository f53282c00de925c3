//! The words of a text that cannot be read as a program (`docs/contracts/shell-analysis.md`): quotes are dropped,
//! everything that may separate does. Linear, and no larger than the text.

use crate::analysis::{Analysis, RawWords};
use crate::arg::Arg;
use crate::context::ShellContext;
use crate::danger::detect;
use crate::programs::ProgramEffects;
use crate::state::State;

/// How many words behind a command's name are looked at.
const WINDOW: usize = 8;

/// Returns the words of `text`.
pub fn split(text: &str) -> RawWords {
    let mut words = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.next_if_eq(&'\n').is_some() => {}
            '\'' | '"' | '\\' => {}
            '\0' | ';' | '|' | '&' | '(' | ')' | '<' | '>' | '`' | '{' | '}' => words.push('\0'),
            c if c.is_whitespace() => words.push('\0'),
            c => words.push(c),
        }
    }
    RawWords(words)
}

/// Looks for the blacklist among words.
pub fn dangers(words: &RawWords, context: &ShellContext, analysis: &mut Analysis) {
    const NAMES: &[&str] = &[
        "rm",
        "shred",
        "chmod",
        "chown",
        "chgrp",
        "find",
        "shutdown",
        "poweroff",
        "reboot",
        "halt",
        "init",
        "telinit",
        "systemctl",
        "kill",
        "killall5",
        "dd",
    ];
    let state = State::new(context);
    let mut last: Vec<&str> = Vec::new();
    let mut iter = words.iter();
    while let Some(word) = iter.next() {
        let name = word.rsplit('/').next().unwrap_or(word);
        if !NAMES.contains(&name) && !name.starts_with("mk") && !name.starts_with("wipefs") {
            continue;
        }
        let window = || iter.clone().take(WINDOW);
        // Most removals are of something plain; they are passed over before anything is copied.
        let pointed =
            |word: &str| word.starts_with(['/', '~', '.', '$', '*']) || word.starts_with("of=/dev/");
        let bare = matches!(name, "rm" | "shred" | "chmod" | "chown" | "chgrp" | "find" | "dd");
        if (bare && !window().any(pointed)) || window().eq(last.iter().copied()) {
            continue;
        }
        last = window().collect();
        let home = context.home.to_string_lossy();
        let args: Vec<Arg> = window()
            .map(|word| {
                let word = word.replace("$HOME", &home);
                match word.strip_prefix('~') {
                    Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                        Arg::known(format!("{home}{rest}"))
                    }
                    _ => Arg::known(word.strip_suffix('*').unwrap_or(&word)),
                }
            })
            .collect();
        let shown = std::iter::once(word)
            .chain(args.iter().map(|arg| arg.text.as_str()))
            .collect::<Vec<_>>()
            .join(" ");
        let effects = ProgramEffects::default();
        let writes: Vec<_> = args
            .iter()
            .filter_map(|arg| arg.text.strip_prefix("of="))
            .flat_map(|file| crate::paths::targets(&Arg::known(file), &state.cwds))
            .collect();
        detect::check_command(name, &args, &effects, &writes, &state, context, &shown, analysis);
        if analysis.dangers.len() > 16 {
            return;
        }
    }
}
