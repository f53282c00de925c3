//! Texts for a shell in places where no grammar of options looks: values of options, of assignments and of standard input.
//! Rules that deny see them; what the program itself does is told elsewhere.

use super::{Call, Spawn, Stdin, table};
use crate::analysis::Via;
use crate::arg::Arg;

/// Options whose value is a text for a shell, standing apart or behind a `=`.
const OPTIONS: &[(&[&str], &[&str])] = &[
    (&["nix-shell"], &["--run", "--command"]),
    (&["npx", "npm", "pnpm", "pnpx", "yarn", "bunx"], &["-c", "--call", "--shell-mode"]),
    (&["zip"], &["-TT", "--unzip-command"]),
    (&["make", "gmake", "bmake"], &["--eval", "-E"]),
    (&["entr"], &["-s", "-rs", "-ns", "-cs"]),
    (&["xterm", "konsole", "gnome-terminal", "alacritty", "kitty"], &["-e", "--command"]),
    (&["tmux"], &["-c"]),
    (&["mapfile", "readarray", "complete", "compgen"], &["-C"]),
    (&["nodemon"], &["-x", "--exec"]),
    (&["chokidar"], &["-c", "--command"]),
    (&["psql"], &["--pager"]),
];

/// Settings of ssh whose value is a command.
const SSH: &[&str] = &["proxycommand", "localcommand", "knownhostscommand", "remotecommand"];

/// Variables whose value a program runs.
const VARIABLES: &[&str] = &[
    "BROWSER",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "EDITOR",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "LESSCLOSE",
    "LESSOPEN",
    "MANPAGER",
    "PAGER",
    "PROMPT_COMMAND",
    "RSYNC_RSH",
    "RUSTC",
    "RUSTC_WRAPPER",
    "SHELL",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "SUDO_EDITOR",
    "TAR_OPTIONS",
    "VISUAL",
];

/// Returns the texts that a command gives to a shell.
pub(super) fn of(call: &Call<'_>) -> Vec<Spawn> {
    let text = |value: &Arg| table::text(value, Via::ExecOption);
    let mut found = Vec::new();
    if let Some((_, options)) = OPTIONS.iter().find(|(names, _)| names.contains(&call.name)) {
        for (at, arg) in call.args.iter().enumerate() {
            if options.contains(&arg.text.as_str()) {
                found.extend(call.args.get(at + 1).map(text));
            } else if let Some((name, _)) = arg.text.split_once('=')
                && options.contains(&name)
            {
                found.push(text(&arg.tail(name.len() + 1)));
            }
        }
    }
    match call.name {
        "make" | "gmake" | "bmake" => {
            let shells = call.args.iter().filter(|arg| arg.text.starts_with("SHELL="));
            found.extend(shells.map(|arg| text(&arg.tail("SHELL=".len()))));
        }
        "ssh" | "mosh" | "scp" | "sftp" => found.extend(ssh(call.args).iter().map(text)),
        "at" | "batch" => {
            if let Stdin::Text { text, exact } = call.stdin {
                let text = text.clone();
                let (exact, via) = (*exact, Via::PipeIntoShell);
                found.push(Spawn::Script { text, exact, via, same_shell: false, parameters: Vec::new() });
            }
        }
        _ => {}
    }
    found
}

/// Returns the text that a variable in front of a command makes it run.
pub(crate) fn of_variable(name: &str, value: &Arg) -> Option<Spawn> {
    // Handed on by a wrapper, the name still stands in front.
    let value = match value.text.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')) {
        true => value.tail(name.len() + 1),
        false => value.clone(),
    };
    let runs = VARIABLES.contains(&name) && value.text.contains(char::is_whitespace);
    runs.then(|| table::text(&value.tail(usize::from(value.text.starts_with(['|', '!']))), Via::ExecOption))
}

/// `-o NAME=VALUE`, `-oNAME=VALUE`, `-o 'NAME VALUE'`.
fn ssh(args: &[Arg]) -> Vec<Arg> {
    let mut found = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        let setting = match arg.text.as_str() {
            "-o" => args.get(at + 1).cloned(),
            text if text.starts_with("-o") => Some(arg.tail(2)),
            _ => None,
        };
        let Some(setting) = setting else { continue };
        let end = setting.text.find(['=', ' ']).unwrap_or(setting.text.len());
        if SSH.contains(&setting.text[..end].to_ascii_lowercase().as_str()) {
            found.push(setting.tail(end + 1));
        }
    }
    found
}
