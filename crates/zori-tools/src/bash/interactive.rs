//! Commands that wait for somebody at a terminal, who is not there: refused at once, with the way that works (FOR-12).
//!
//! A text is cut into simple commands by its separators, quotes respected. What cannot be read this way is let through: it
//! then ends by itself, since standard input is closed, or by its time limit.

/// Programs that own a terminal, and what to do instead.
const PROGRAMS: &[(&[&str], &str)] = &[
    (
        &["vi", "vim", "nvim", "view", "nano", "pico", "emacs", "micro", "joe"],
        "change files with the edit and write tools",
    ),
    (&["less", "more", "most"], "read files with the read tool, or use cat, head or tail"),
    (&["htop", "btop", "atop", "nmon"], "use `top -b -n 1` or `ps aux`"),
    (&["watch"], "run the command once, or in a loop with an end"),
    (&["tmux", "screen", "byobu"], "start long commands in the background"),
    (&["telnet", "ftp"], "use curl, or nc with input from a file"),
    (&["visudo", "vipw"], "change files with the edit and write tools"),
];

/// Programs that talk to a person when they get no arguments, and what to give them.
const PROMPTS: &[(&[&str], &str)] = &[
    (&["python", "python3", "ipython"], "use `python3 -c CODE` or a file"),
    (&["node", "deno", "bun"], "use `node -e CODE` or a file"),
    (
        &["irb", "ghci", "psql", "mysql", "sqlite3", "bc", "gdb"],
        "give it its input in a file or by an option",
    ),
];

/// Returns why a command would wait for a person, and what works instead.
pub fn refusal(command: &str) -> Option<String> {
    simple_commands(command).iter().find_map(of_simple)
}

fn of_simple(simple: &Simple) -> Option<String> {
    let editor_set = simple.assignments.iter().any(|name| name.ends_with("EDITOR"));
    let (program, args) = simple.words.split_first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    let needs =
        |what: &str, instead: &str| Some(format!("`{what}` waits for somebody at a terminal; {instead}"));
    if args.iter().any(|arg| matches!(arg.as_str(), "--help" | "--version" | "-V")) {
        return None;
    }
    if let Some((_, instead)) = PROGRAMS.iter().find(|(names, _)| names.contains(&name)) {
        let batch = args
            .iter()
            .any(|arg| matches!(arg.as_str(), "--batch" | "-batch" | "-es" | "-Es" | "--headless"));
        return if batch { None } else { needs(name, instead) };
    }
    match name {
        "top" if !args.iter().any(|arg| arg.starts_with('-') && arg.contains(['b', 'l'])) => {
            needs("top", "use `top -b -n 1`")
        }
        "ssh" if is_login(args) => needs("ssh", "give it a command: `ssh -o BatchMode=yes HOST COMMAND`"),
        "crontab" if args.iter().any(|arg| arg == "-e") => {
            needs("crontab -e", "use `crontab -l` and `crontab FILE`")
        }
        "git" if !editor_set => git(args),
        _ if args.is_empty() && !simple.has_input => {
            let (_, instead) = PROMPTS.iter().find(|(names, _)| names.contains(&name))?;
            needs(name, instead)
        }
        _ => None,
    }
}

/// Returns whether there is a host and nothing to run there.
fn is_login(args: &[String]) -> bool {
    const WITH_VALUE: &str = "BbcDEeFIiJLlmOopQRSWw";
    let mut operands = 0;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.strip_prefix('-') {
            // Tunnels, tests and questions need no command.
            Some(flags) if flags.contains(['N', 'f', 'T', 'V', 'G', 'Q', 'O']) => return false,
            Some(flags) if flags.len() == 1 && WITH_VALUE.contains(flags) => drop(args.next()),
            Some(_) => {}
            None => operands += 1,
        }
    }
    operands == 1
}

fn git(args: &[String]) -> Option<String> {
    let mut args = args.iter().map(String::as_str).peekable();
    while let Some(option) = args.next_if(|arg| arg.starts_with('-')) {
        if matches!(option, "-C" | "-c" | "--git-dir" | "--work-tree") {
            args.next();
        }
    }
    let subcommand = args.next()?;
    let rest: Vec<&str> = args.collect();
    let short = |letter: char| {
        rest.iter().any(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter))
    };
    let long =
        |names: &[&str]| rest.iter().any(|arg| names.iter().any(|name| arg.split('=').next() == Some(name)));
    let waits =
        |what: &str, instead: &str| Some(format!("`git {what}` waits for somebody at a terminal; {instead}"));
    match subcommand {
        "commit" if short('p') || long(&["--patch", "--interactive"]) => {
            waits("commit -p", "stage whole files with `git add`")
        }
        "commit" => {
            let told = short('m')
                || short('F')
                || short('C')
                || long(&["--message", "--file", "--no-edit", "--reuse-message", "--fixup", "--dry-run"]);
            match (told, long(&["--amend"])) {
                (true, _) => None,
                (false, true) => waits("commit --amend", "add `--no-edit` or `-m MESSAGE`"),
                (false, false) => waits("commit", "add `-m MESSAGE`"),
            }
        }
        "rebase" if short('i') || long(&["--interactive"]) => {
            waits("rebase -i", "use `git rebase` without it, or set GIT_SEQUENCE_EDITOR to a command")
        }
        "add" if short('p') || short('i') || long(&["--patch", "--interactive"]) => {
            waits("add -p", "stage whole files with `git add FILE`")
        }
        _ => None,
    }
}

/// A simple command: its words without quotes, and what stands around it.
#[derive(Default)]
struct Simple {
    /// The names of variables that are set for it.
    assignments: Vec<String>,
    words: Vec<String>,
    /// Whether it reads a pipe, a file or a here-document.
    has_input: bool,
}

/// Cuts a text into its simple commands, as far as that goes without a grammar.
fn simple_commands(text: &str) -> Vec<Simple> {
    let mut commands: Vec<Simple> = Vec::new();
    let mut current = Simple::default();
    let mut word = String::new();
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    let end_word = |word: &mut String, quoted: &mut bool, current: &mut Simple| {
        if !word.is_empty() || *quoted {
            current.add(std::mem::take(word));
            *quoted = false;
        }
    };
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                quoted = true;
                word.extend(chars.by_ref().take_while(|c| *c != '\''));
            }
            '"' => {
                quoted = true;
                while let Some(c) = chars.next() {
                    match c {
                        '"' => break,
                        '\\' => word.extend(chars.next()),
                        c => word.push(c),
                    }
                }
            }
            '\\' => match chars.next() {
                Some('\n') | None => {}
                Some(c) => word.push(c),
            },
            '#' if word.is_empty() && !quoted => while chars.next_if(|c| *c != '\n').is_some() {},
            // Behind a here-document's mark comes text, not commands.
            '<' if chars.peek() == Some(&'<') => {
                current.has_input = true;
                end_word(&mut word, &mut quoted, &mut current);
                commands.push(current);
                return commands;
            }
            '<' => current.has_input = true,
            ' ' | '\t' => end_word(&mut word, &mut quoted, &mut current),
            ';' | '&' | '|' | '\n' | '(' | ')' | '{' | '}' | '`' => {
                end_word(&mut word, &mut quoted, &mut current);
                let piped = c == '|' && chars.peek() != Some(&'|');
                let next = Simple { has_input: piped, ..Simple::default() };
                commands.push(std::mem::replace(&mut current, next));
            }
            c => word.push(c),
        }
    }
    end_word(&mut word, &mut quoted, &mut current);
    commands.push(current);
    commands
}

impl Simple {
    fn add(&mut self, word: String) {
        const BEFORE: &[&str] = &[
            "sudo", "env", "command", "nohup", "time", "exec", "then", "do", "else", "if", "while", "until",
            "!", "builtin",
        ];
        let assigned = word.split_once('=').map(|(name, _)| name);
        let is_name =
            |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match (self.words.is_empty(), assigned.filter(is_name)) {
            (true, Some(name)) => self.assignments.push(name.to_owned()),
            (true, None) if BEFORE.contains(&word.as_str()) => {}
            _ => self.words.push(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_wait() {
        for command in [
            "vi a.txt",
            "cd x && /usr/bin/nano a",
            "cat a | less",
            "sudo EDITOR=x vim",
            "top",
            "top -d 1",
            "ssh host",
            "ssh -p 22 -i key user@host",
            "python3",
            "git commit",
            "git -C x commit -a",
            "git commit --amend",
            "git add -A; git rebase -i HEAD~2",
            "git add -p",
            "if true; then vi x; fi",
        ] {
            assert!(refusal(command).is_some(), "{command}");
        }
    }

    #[test]
    fn commands_that_do_not() {
        for command in [
            "echo vi nano",
            "echo 'vi a.txt; less'",
            "grep -rn 'less' .",
            "git log | cat",
            "git commit -m x",
            "git commit -am 'a b'",
            "git commit --amend --no-edit",
            "GIT_EDITOR=true git commit --amend",
            "git commit --message=x",
            "git add .",
            "top -b -n 1",
            "ssh host ls",
            "ssh -N -L 1:b:2 host",
            "python3 -c 'print(1)'",
            "python3 < x.py",
            "python3 <<'EOF'\nvi\nEOF",
            "echo 'print(1)' | python3",
            "emacs --batch -l x.el",
            "vim --version",
            "# vi",
            "ls # then vi",
            "cat vi",
            "npm run watch",
            "",
        ] {
            assert_eq!(refusal(command), None, "{command}");
        }
    }
}
