//! A command line of Claude Code, as its SDKs write it, put into the form that our parser knows.

use zori_contract::flag::Flag;

use crate::program::ZORI;
use zori_setup::args::claude::{EXEC, SPOKEN};

/// Makes a command line of ours of one of Claude Code: it has no command, and a format flag.
pub fn rewrite(words: &mut Vec<String>) {
    let names = |word: &str, flag: &Flag| {
        let value = word.strip_prefix("--").and_then(|word| word.strip_prefix(flag.long));
        value.is_some_and(|value| value.is_empty() || value.starts_with('='))
    };
    let theirs = words.first().is_some_and(|word| word.starts_with('-') || word == "exec")
        && words
            .iter()
            .take_while(|word| *word != "--")
            .any(|word| SPOKEN.iter().any(|flag| names(word, flag)));
    if !theirs {
        return;
    }
    let global = ZORI.global_flags();
    let mut kept = Vec::with_capacity(words.len() + 1);
    let mut rest = std::mem::take(words).into_iter().peekable();
    if rest.peek().is_none_or(|word| word != "exec") {
        kept.push("exec".to_owned());
    }
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--" => {
                kept.push(word);
                kept.extend(rest.by_ref());
            }
            // It takes the next word, unless that is another flag: then the prompt stands alone, or on standard input.
            "-p" | "--print" => {
                if let Some(prompt) = rest.next_if(|next| !next.starts_with('-')) {
                    kept.extend(["-p".to_owned(), prompt]);
                }
            }
            "--thinking" => kept.extend(rest.next().and_then(|value| thinking(&value))),
            _ if word.starts_with("--thinking=") => kept.extend(thinking(&word["--thinking=".len()..])),
            _ => {
                let wants = EXEC.iter().chain(&global).any(|flag| flag.wants_next(&word));
                kept.push(word);
                if wants {
                    kept.extend(rest.next());
                }
            }
        }
    }
    *words = kept;
}

/// Returns our word for how Claude Code says that a model may think; `None` is as it likes.
fn thinking(value: &str) -> Option<String> {
    match value {
        "adaptive" | "enabled" => None,
        "disabled" => Some("--thinking=off".to_owned()),
        other => Some(format!("--thinking={other}")),
    }
}

#[cfg(test)]
mod tests {
    fn check(line: &[&str], wanted: &[&str]) {
        let mut words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        super::rewrite(&mut words);
        assert_eq!(words, wanted);
    }

    #[test]
    fn what_the_sdks_write() {
        check(
            &[
                "--output-format",
                "stream-json",
                "--verbose",
                "--system-prompt",
                "",
                "--tools",
                "",
                "--thinking",
                "adaptive",
                "--input-format",
                "stream-json",
            ],
            &[
                "exec",
                "--output-format",
                "stream-json",
                "--verbose",
                "--system-prompt",
                "",
                "--tools",
                "",
                "--input-format",
                "stream-json",
            ],
        );
        check(
            &[
                "--output-format",
                "json",
                "--thinking=disabled",
                "--append-system-prompt",
                "-p",
                "-p",
                "--model=m",
                "hi",
            ],
            &[
                "exec",
                "--output-format",
                "json",
                "--thinking=off",
                "--append-system-prompt",
                "-p",
                "--model=m",
                "hi",
            ],
        );
        check(&["-p", "hi", "--output-format=text"], &["exec", "-p", "hi", "--output-format=text"]);
        check(&["exec", "-p", "--output-format=text"], &["exec", "--output-format=text"]);
    }

    #[test]
    fn other_command_lines_are_left_alone() {
        check(&["-p", "hi"], &["-p", "hi"]);
        check(&["sessions", "list", "--output-format", "x"], &["sessions", "list", "--output-format", "x"]);
    }
}
