//! Searches that print names of files, and filters that let some of their lines through.

use crate::arg::Arg;
use crate::expand::printed::{is_pathspec, last_name};

/// Returns the names that a search prints, if it prints nothing else.
pub(super) fn printed_names(words: &[&str]) -> Option<Vec<Arg>> {
    match words {
        ["find", rest @ ..] => found(rest),
        ["git", "ls-files", rest @ ..] => tracked(rest),
        ["rg", rest @ ..] => searched(rest, &["-l", "--files-with-matches", "--files"], false),
        ["grep", rest @ ..] => searched(rest, &["-l", "-rl", "-lr", "-rln", "-Rl", "-ril", "-rli"], true),
        _ => None,
    }
}

fn found(words: &[&str]) -> Option<Vec<Arg>> {
    let end = words.iter().position(|word| word.starts_with(['-', '(', '!'])).unwrap_or(words.len());
    let (starts, expression) = words.split_at(end);
    // Other actions print more than names.
    let prints_else = |word: &&str| {
        matches!(
            *word,
            "-printf" | "-ls" | "-exec" | "-execdir" | "-ok" | "-okdir" | "-files0-from" | "-L" | "-follow"
        )
    };
    if expression.iter().any(prints_else) {
        return None;
    }
    let starts = if starts.is_empty() { &["."][..] } else { starts };
    let name = only_name(expression);
    // Regular files alone: a link is none.
    let regular = expression.windows(2).any(|pair| pair == ["-type", "f"])
        && !expression.iter().any(|word| matches!(*word, "-o" | "-or" | "!" | "-not" | ","));
    let names = starts.iter().map(|start| Arg::found(start, true, name));
    Some(names.map(|names| if regular { names.without_links() } else { names }).collect())
}

/// Returns the pattern of `-name`, if every file that is found fits it: there is one, and neither `-o` nor a negation.
pub fn only_name<'w>(expression: &[&'w str]) -> Option<&'w str> {
    let loose = |word: &&str| matches!(*word, "-o" | "-or" | "!" | "-not" | ",");
    let at = expression.iter().position(|word| *word == "-name")?;
    let once = expression.iter().filter(|word| **word == "-name").count() == 1;
    let name = expression.get(at + 1).filter(|_| once && !expression.iter().any(loose))?;
    Some(name)
}

fn tracked(words: &[&str]) -> Option<Vec<Arg>> {
    let flags = ["-z", "-c", "--cached", "-m", "--modified", "-o", "--others", "--exclude-standard", "--"];
    let patterns: Vec<&str> = words.iter().copied().filter(|word| !flags.contains(word)).collect();
    if !patterns.iter().all(|word| is_pathspec(word)) {
        return None;
    }
    let name = match patterns.as_slice() {
        [one] => Some(last_name(one)),
        _ => None,
    };
    Some(vec![Arg::found("", true, name.as_deref())])
}

fn searched(words: &[&str], listing: &[&str], hidden: bool) -> Option<Vec<Arg>> {
    if !words.iter().any(|word| listing.contains(word)) {
        return None;
    }
    let harmless = [
        "-i", "-w", "-F", "-E", "-P", "-S", "-v", "-r", "-R", "-0", "-Z", "-n", "-s", "-q", "--null",
        "--hidden",
    ];
    let mut operands = Vec::new();
    let mut hidden = hidden;
    for word in words {
        match *word {
            word if listing.contains(&word) || harmless.contains(&word) => hidden |= word == "--hidden",
            word if word.starts_with('-') => return None,
            word => operands.push(word),
        }
    }
    let skip = usize::from(!words.contains(&"--files"));
    let folders = operands.get(skip..).unwrap_or_default();
    // Neither goes through links on its way, unless it is told to.
    let follows = words.iter().any(|word| matches!(*word, "-R" | "-Rl"));
    let names = |folder: &str| match Arg::found(folder, hidden, None) {
        names if follows => names,
        names => names.without_links(),
    };
    match folders {
        [] => Some(vec![names("")]),
        folders => Some(folders.iter().map(|folder| names(folder)).collect()),
    }
}

/// Whether a filter prints lines of its input and nothing else.
pub(super) fn keeps_lines(words: &[&str]) -> bool {
    let Some((program, args)) = words.split_first() else { return false };
    let options = |allowed: &[&str]| {
        args.iter()
            .filter(|word| word.starts_with('-'))
            .all(|word| allowed.contains(word) || word[1..].bytes().all(|b| b.is_ascii_digit()))
    };
    let operands: Vec<&&str> = args.iter().filter(|word| !word.starts_with('-')).collect();
    match *program {
        "grep" => {
            operands.len() == 1
                && options(&["-v", "-i", "-E", "-F", "-w", "-x", "-P", "-z", "-iv", "-vE", "-Ev", "-iE"])
        }
        "sort" => operands.is_empty() && options(&["-u", "-r", "-z", "-V", "-n", "-uz"]),
        "uniq" => args.is_empty(),
        "head" | "tail" => match args {
            ["-n", count] => count.bytes().all(|b| b.is_ascii_digit()),
            args => args.len() <= 1 && operands.is_empty() && options(&[]),
        },
        _ => false,
    }
}
