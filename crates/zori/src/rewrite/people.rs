//! What people type that the tables do not spell: a prompt without a flag, `version`, a group alone, `--resume` without a session
//! (DECISIONS 49, 50). Words are put into the form that the parser knows; everything else stays as it is.

use zori_contract::flag::Flag;
use zori_contract::flag::framework::{FORMAT, JSON, NO_STREAM, OUTPUT, STREAM};

use super::{claude, show_config};
use crate::program::ZORI;
use zori_setup::args::claude::EXEC;
use zori_setup::args::flags::{PROMPT, RESUME};

/// Puts the words into the parser's form.
pub fn rewrite(words: &mut Vec<String>) {
    rewrite_flags(words);
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["version"] => return replace(words, &["--version"]),
        [group] if ZORI.groups.iter().any(|(name, _)| *name == group) && ZORI.find(&[group]).is_none() => {
            words.push("--help".to_owned());
            return;
        }
        _ => {}
    }
    complete_resume(words);
    name_command(words);
}

/// What the GUI of that name writes: `start` may be left out, and flags have letters of their own. A prompt whose answer is
/// wanted in another form is not the GUI's, but somebody's `exec`.
pub fn rewrite_gui(words: &mut Vec<String>) {
    let name = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&name(word).as_str()));
    let begins = GUI_FLAGS.iter().any(|(letter, long)| has(&[letter, long]));
    let asked = has(&["-p", "--prompt"]) && has(OUTPUTS);
    if words.first().is_some_and(|word| word.starts_with('-')) && begins && !asked {
        words.insert(0, "start".to_owned());
    }
    rewrite_flags(words);
}

/// The flags that choose what an answer looks like.
const OUTPUTS: &[&str] =
    &["--output", "-o", "--format", "--json", "--output-format", "--stream", "--no-stream"];

/// The letters of `start`, as the GUI knows them.
const GUI_FLAGS: &[(&str, &str)] = &[
    ("-P", "--provider"),
    ("-m", "--model"),
    ("-d", "--cwd"),
    ("-s", "--session-id"),
    ("-p", "--prompt"),
    ("-r", "--resume"),
];

/// Spells the letters of `start` out.
fn spell_out(words: &mut [String]) {
    if words.first().is_none_or(|word| word != "start") {
        return;
    }
    let mut value = false;
    for word in words.iter_mut().skip(1) {
        if std::mem::take(&mut value) {
            continue;
        }
        if word == "--" {
            return;
        }
        if word == "-v" {
            *word = "--verbose".to_owned();
        }
        if let Some((_, long)) = GUI_FLAGS.iter().find(|(letter, _)| word == letter) {
            *word = (*long).to_owned();
            value = true;
        }
    }
}

/// The same for the names under which people type nothing else.
pub fn rewrite_flags(words: &mut Vec<String>) {
    spell_out(words);
    show_config::rewrite(words);
    claude::rewrite(words);
}

fn replace(words: &mut Vec<String>, with: &[&str]) {
    *words = with.iter().map(|word| (*word).to_owned()).collect();
}

/// Gives `--resume` an empty value where none follows: then a person chooses.
fn complete_resume(words: &mut [String]) {
    for at in 0..words.len() {
        if words[at] == "--" {
            return;
        }
        let alone = words.get(at + 1).is_none_or(|next| next.starts_with('-'));
        if alone && (words[at] == "-r" || words[at] == "--resume") {
            words[at] = format!("--{}=", RESUME.long);
        }
    }
}

/// Puts the command before a prompt that stands alone: several words that are one argument. A single word is a command or a mistake.
fn name_command(words: &mut Vec<String>) {
    let flags: Vec<Flag> = EXEC.iter().copied().chain(ZORI.global_flags()).collect();
    let mut at = 0;
    let mut program_reads = false;
    while let Some(word) = words.get(at) {
        if word == "--" || [&PROMPT].iter().any(|flag| flag.wants_next(word)) {
            return;
        }
        if !word.starts_with('-') {
            break;
        }
        let asks = |flag: &Flag| word.split('=').next() == Some(flag.param().as_str());
        program_reads |= [OUTPUT, FORMAT, JSON, STREAM, NO_STREAM].iter().any(asks);
        at += if flags.iter().any(|flag| flag.wants_next(word)) { 2 } else { 1 };
    }
    let Some(word) = words.get(at) else { return };
    if !word.trim().contains(char::is_whitespace) {
        return;
    }
    program_reads |= words[at..].iter().any(|word| {
        [OUTPUT, FORMAT, JSON, STREAM, NO_STREAM]
            .iter()
            .any(|flag| word.split('=').next() == Some(flag.param().as_str()))
    });
    words.insert(0, if program_reads { "exec" } else { "chat" }.to_owned());
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(line: &[&str], wanted: &[&str]) {
        let mut words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        super::rewrite(&mut words);
        assert_eq!(words, wanted);
    }

    #[test]
    fn a_prompt_without_a_flag() {
        check(&["fix the test"], &["chat", "fix the test"]);
        check(&["--model", "m", "fix the test", "-c"], &["chat", "--model", "m", "fix the test", "-c"]);
        check(&["--json", "fix the test"], &["exec", "--json", "fix the test"]);
        check(&["fix the test", "--output=json"], &["exec", "fix the test", "--output=json"]);
        check(&["fix"], &["fix"]);
        check(&["exec", "fix the test"], &["exec", "fix the test"]);
        check(&["-p", "fix the test"], &["-p", "fix the test"]);
        check(&["--", "fix the test"], &["--", "fix the test"]);
    }

    #[test]
    fn questions_about_the_program() {
        check(&["version"], &["--version"]);
        check(&["help"], &["help"]);
        check(&["help", "sessions", "list"], &["help", "sessions", "list"]);
        check(&["sessions"], &["sessions", "--help"]);
        check(&["sessions", "list"], &["sessions", "list"]);
        check(&["mcp"], &["mcp", "--help"]);
    }

    #[test]
    fn what_a_gui_writes() {
        let gui = |line: &str| {
            let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            super::rewrite_gui(&mut words);
            words.join(" ")
        };
        assert_eq!(
            gui("-P gemini -m m -d /x -p -v -s s -v"),
            "start --provider gemini --model m --cwd /x --prompt -v --session-id s --verbose"
        );
        assert_eq!(
            gui("--provider openai --output-format stream-json --resume x"),
            "start --provider openai --output-format stream-json --resume x"
        );
        assert_eq!(gui("--help"), "--help");
        assert_eq!(gui("-p hi --output=plain"), "-p hi --output=plain");
        check(&["start", "-P", "openai", "-s", "x"], &["start", "--provider", "openai", "--session-id", "x"]);
    }

    #[test]
    fn a_session_to_choose() {
        check(&["-r"], &["--resume="]);
        check(&["--resume", "--fork-session"], &["--resume=", "--fork-session"]);
        check(&["-r", "abc"], &["-r", "abc"]);
        check(&["exec", "--", "-r"], &["exec", "--", "-r"]);
    }
}
