//! Commands that the program answers by itself, run beside the chat: `/doctor`, `/config`, `/log`, `/export`, `/schedule`. They need nothing of the session but its
//! name, so they run while a turn does, too.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;

use super::Next;
use crate::chat::Chat;
use crate::typed_path;
use zori_setup::environment::Environment;

/// How many messages `/memory` shows.
const REMEMBERED: &str = "20";
/// How many entries `/log` shows.
const ENTRIES: u32 = 20;

/// What the chat is about, as far as a report has to know.
#[derive(Clone, Debug)]
pub struct Subject {
    pub provider: &'static str,
    /// The session, if it is saved.
    pub session: Option<String>,
    pub root: PathBuf,
    pub home: Option<PathBuf>,
    /// The permission mode that holds.
    pub mode: String,
}

impl Subject {
    pub fn of(chat: &Chat<'_, '_>) -> Self {
        let session = chat.plain.session();
        let written = session.is_saved() && !session.messages().is_empty();
        let workspace = &chat.plain.host.settings.workspace;
        Self {
            provider: chat.plain.host.settings.model.facts.name,
            session: written.then(|| session.id().to_string()),
            root: workspace.root.clone(),
            home: workspace.home.clone(),
            mode: session.policy().mode.shown().to_owned(),
        }
    }
}

/// A report that is asked of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    args: Vec<String>,
    /// Where it goes, if it is not shown.
    file: Option<PathBuf>,
    root: PathBuf,
    pub diff: bool,
}

/// Runs a command of this file in the chat.
pub(super) fn next(chat: &Chat<'_, '_>, name: &str, rest: &str) -> Result<Next, Failure> {
    let report = find(name, rest, &Subject::of(chat)).expect("the table names reports only")?;
    Ok(Next::Report(report))
}

/// Returns the report that a command asks for; `None` if it is another command.
pub fn find(name: &str, rest: &str, subject: &Subject) -> Option<Result<Report, Failure>> {
    let report = |args: &[&str], file| {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Report { args, file, root: subject.root.clone(), diff: false }
    };
    Some(match name {
        "/doctor" => Ok(report(&["doctor", "--provider", subject.provider], None)),
        "/config" => Ok(report(&["config", "show"], None)),
        "/log" => match rest.is_empty().then_some(ENTRIES).or_else(|| rest.parse().ok()) {
            Some(count) if count > 0 => Ok(report(&["audit-log", "--limit", &count.to_string()], None)),
            _ => Err(Failure::new(&VALIDATION_ERROR, format!("`/log {rest}`: how many is a number from 1"))),
        },
        "/memory" if rest.is_empty() => Ok(report(&["memory", "list", "--limit", REMEMBERED], None)),
        // Words that look like a flag are words all the same.
        "/memory" => {
            let words = rest.trim_start_matches('-');
            Ok(report(&["memory", "search", words, "--limit", REMEMBERED], None))
        }
        "/graph" if rest.is_empty() => Ok(report(&["memory", "graph"], None)),
        "/graph" => Ok(report(&["memory", "graph", rest.trim_start_matches('-')], None)),
        "/schedule" => schedule(rest, &subject.mode)
            .map(|args| report(&args.iter().map(String::as_str).collect::<Vec<_>>(), None)),
        "/index" if matches!(rest, "" | "status") => Ok(report(&["index", "status"], None)),
        "/index" if rest == "build" => Ok(report(&["index", "build"], None)),
        "/index" if rest == "clear" => Ok(report(&["index", "clear", "--yes"], None)),
        "/index" => {
            let words = rest.trim_start_matches('-');
            Ok(report(&["index", "search", words, "--limit", REMEMBERED], None))
        }
        "/export" => export(rest, subject)
            .map(|(id, kind, file)| report(&["sessions", "export", &id, "--to", kind], Some(file))),
        // Between turns the session itself knows; in a turn the file does.
        "/diff" => saved(subject).and_then(|id| {
            let args = match rest {
                "" | "session" => vec!["sessions", "diff", id],
                turn => {
                    turn.parse::<u32>().map_err(|_| bad_turn(turn))?;
                    vec!["sessions", "diff", id, "--turn", turn]
                }
            };
            Ok(Report { diff: true, ..report(&args, None) })
        }),
        _ => return None,
    })
}

/// Returns the error for a turn that is no number.
pub fn bad_turn(text: &str) -> Failure {
    Failure::new(&VALIDATION_ERROR, format!("`/diff {text}`: a turn is a number"))
        .hint("`/diff session` shows all that this session changed")
}

fn saved(subject: &Subject) -> Result<&str, Failure> {
    let none = || Failure::new(&VALIDATION_ERROR, "there is no saved conversation yet");
    subject.session.as_deref().ok_or_else(none)
}

/// Reads `/schedule [add|list|show|rm ...]`: words as a shell has them. A job has the mode that holds in the chat (DECISIONS 67), and whoever types
/// that one goes has said so.
fn schedule(rest: &str, mode: &str) -> Result<Vec<String>, Failure> {
    let bad = |why: String| {
        Failure::new(&VALIDATION_ERROR, why).hint("`/schedule add NAME --cron \"0 9 * * *\" --prompt \"TEXT\"`, `/schedule show NAME`, `/schedule rm NAME`")
    };
    let words = words(rest).ok_or_else(|| bad(format!("`/schedule {rest}`: a quote is not closed")))?;
    let mut args = vec!["schedule".to_owned()];
    match words.first().map(String::as_str) {
        None => args.push("list".to_owned()),
        Some("add") => {
            args.extend(words);
            args.extend(["--permission-mode".to_owned(), mode.to_owned()]);
        }
        Some("rm") => {
            args.extend(words);
            args.push("--yes".to_owned());
        }
        Some("list" | "show") => args.extend(words),
        Some(word) => return Err(bad(format!("`/schedule {word}`: it takes `add`, `list`, `show` or `rm`"))),
    }
    Ok(args)
}

/// Returns the words of a line, with quotes and backslashes as a shell has them; `None` where a quote is not closed.
pub(super) fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// Reads `/export [FILE]`: the file's ending says what it becomes.
fn export(rest: &str, subject: &Subject) -> Result<(String, &'static str, PathBuf), Failure> {
    let id = saved(subject)?.to_owned();
    let file = match rest {
        "" => subject.root.join(format!("{id}.md")),
        rest => typed_path::resolve(rest, &subject.root, subject.home.as_deref()),
    };
    let kind = match file.extension().and_then(|ending| ending.to_str()) {
        Some("md" | "markdown" | "txt") => "markdown",
        Some("json") => "json",
        Some("html" | "htm") => "html",
        _ => {
            let message = format!("`/export {rest}`: the name of the file ends in .md, .json or .html");
            return Err(Failure::new(&VALIDATION_ERROR, message));
        }
    };
    if file.exists() {
        let message = format!("{} exists already; `/export FILE` takes another name", file.display());
        return Err(Failure::new(&VALIDATION_ERROR, message));
    }
    Ok((id, kind, file))
}

impl Report {
    /// Returns the command that makes it. It sees what the chat sees: the same data and settings, folder and keys.
    pub fn command(&self, env: &Environment) -> std::io::Result<Command> {
        let mut command = env.again()?;
        command.args(&self.args).args(["--output", "plain"]).current_dir(&self.root);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    /// Makes it, and waits for it; returns what to show.
    pub fn make(&self, env: &Environment) -> Result<String, String> {
        self.finish(self.command(env).and_then(|mut command| command.output()))
    }

    /// Returns what to show of what came.
    pub fn finish(&self, output: std::io::Result<Output>) -> Result<String, String> {
        let name = self.args.first().map_or("", String::as_str);
        let output = output.map_err(|error| format!("`{name}` cannot be run: {error}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        let Some(file) = &self.file else {
            // A check that failed is what `doctor` is for.
            let text = [said.trim_end(), errors.trim_end()].join("\n");
            // How it was asked for is no setting of the user's.
            let lines = text.trim().lines().filter(|line| *line != "output = \"plain\"  (flag)");
            let text = lines.collect::<Vec<_>>().join("\n");
            return if text.is_empty() { Ok("Nothing to show.".to_owned()) } else { Ok(text) };
        };
        if !output.status.success() {
            return Err(errors.trim().to_owned());
        }
        let mut options = fs::OpenOptions::new();
        let written = options.write(true).create_new(true).mode(0o600).open(file);
        written
            .and_then(|mut opened| opened.write_all(&output.stdout))
            .map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(format!("Written to {}", file.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("there.md"), "").unwrap();
        let root = temp.path().to_owned();
        let mut subject = Subject {
            provider: "anthropic",
            session: Some("s1".into()),
            root: root.clone(),
            home: Some("/home/me".into()),
            mode: "plan".into(),
        };
        let asked = |name: &str, rest: &str, subject: &Subject| match find(name, rest, subject).unwrap() {
            Ok(report) => {
                let file = report.file.map_or_else(String::new, |file| {
                    format!(" > {}", file.strip_prefix(&root).unwrap_or(&file).display())
                });
                report.args.join(" ") + &file
            }
            Err(failure) => failure.message.replace(&format!("{}/", root.display()), ""),
        };
        for (name, rest, wanted) in [
            ("/doctor", "", "doctor --provider anthropic"),
            ("/config", "", "config show"),
            ("/index", "", "index status"),
            ("/index", "build", "index build"),
            ("/index", "clear", "index clear --yes"),
            ("/index", "--parse config", "index search parse config --limit 20"),
            ("/memory", "", "memory list --limit 20"),
            ("/memory", "why no regex", "memory search why no regex --limit 20"),
            ("/graph", "", "memory graph"),
            ("/graph", "parser", "memory graph parser"),
            ("/schedule", "", "schedule list"),
            ("/schedule", "rm dawn", "schedule rm dawn --yes"),
            (
                "/schedule",
                "add dawn --cron '0 9 * * *' -p \"look at \\\"x\\\"\"",
                "schedule add dawn --cron 0 9 * * * -p look at \"x\" --permission-mode plan",
            ),
            ("/schedule", "add 'dawn", "`/schedule add 'dawn`: a quote is not closed"),
            ("/schedule", "run", "`/schedule run`: it takes `add`, `list`, `show` or `rm`"),
            ("/log", "", "audit-log --limit 20"),
            ("/log", "3", "audit-log --limit 3"),
            ("/log", "x", "`/log x`: how many is a number from 1"),
            ("/export", "", "sessions export s1 --to markdown > s1.md"),
            ("/export", "a/b.json", "sessions export s1 --to json > a/b.json"),
            ("/export", "~/x.html", "sessions export s1 --to html > /home/me/x.html"),
            ("/export", "x", "`/export x`: the name of the file ends in .md, .json or .html"),
            ("/export", "there.md", "there.md exists already; `/export FILE` takes another name"),
            ("/diff", "", "sessions diff s1"),
        ] {
            assert_eq!(asked(name, rest, &subject), wanted, "{name} {rest}");
        }
        subject.session = None;
        assert_eq!(asked("/export", "", &subject), "there is no saved conversation yet");
        assert!(find("/cost", "", &subject).is_none());
    }
}
