//! What only the shell knows when a command is over: the exit code of every part of its last pipeline, and the folder it
//! ended in. One EXIT trap tells both, as a line on standard error that is taken out again (FOR-12).

use std::sync::Arc;
use std::time::Duration;

use zori_core::ids::CallId;
use zori_core::tool::{LiveOutput, OutputStream};

use crate::env::ShellProgram;
use crate::process::output::take_line;

/// A part that only its reader's end cut off has not failed.
const SIGPIPE: &str = "141";

/// What the shell reported.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The exit codes of a pipeline of which a part failed and the last one did not.
    pub pipeline: Option<String>,
    /// The folder the command ended in.
    pub folder: Option<String>,
    /// How long it ran, where that is worth a word.
    pub ran: Option<Duration>,
}

/// The line that a command's trap writes.
#[derive(Clone, Debug)]
pub struct ReportLine(String);

impl ReportLine {
    /// Returns the line for a call, if there may be something to report, the shell can, and nothing of the command is in its
    /// way: a trap or an `exec` of its own.
    pub fn wanted(command: &str, shell: ShellProgram, call: &CallId) -> Option<Self> {
        let word = |name: &str| {
            command.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').any(|word| word == name)
        };
        let something = command.contains('|') || word("cd") || word("pushd") || word("popd");
        if shell != ShellProgram::Bash || !something || word("trap") || word("exec") {
            return None;
        }
        let id: String = call.as_str().chars().filter(char::is_ascii_alphanumeric).collect();
        Some(Self(format!("\u{1e}zori-{id}")))
    }

    /// Returns the trap, on a line before the command; on the same line, a syntax error would show it.
    pub fn prelude(&self) -> String {
        let mark = &self.0;
        format!("trap 'printf \"{mark} %s|%s\\n\" \"${{PIPESTATUS[*]}}\" \"$PWD\" >&2' EXIT\n")
    }

    /// Returns how the line begins.
    pub fn mark(&self) -> &str {
        &self.0
    }

    /// Takes the line out of what was printed.
    pub fn take(&self, stderr: &mut String) -> Report {
        let Some(line) = take_line(stderr, &self.0) else { return Report::default() };
        let Some((codes, folder)) = line.trim_matches([' ', '\n']).split_once('|') else {
            return Report::default();
        };
        let parts: Vec<&str> = codes.split(' ').collect();
        let failed = parts.iter().any(|code| !matches!(*code, "0" | SIGPIPE));
        let pipeline = (parts.len() > 1 && failed && parts.last() == Some(&"0")).then(|| codes.to_owned());
        Report { pipeline, folder: Some(folder.to_owned()), ran: None }
    }

    /// Keeps the line from who watches.
    pub fn hidden_from(&self, live: Arc<dyn LiveOutput>) -> Arc<dyn LiveOutput> {
        Arc::new(WithoutReport { live, line: self.clone() })
    }
}

struct WithoutReport {
    live: Arc<dyn LiveOutput>,
    line: ReportLine,
}

impl LiveOutput for WithoutReport {
    fn push(&self, stream: OutputStream, text: &str) {
        if stream == OutputStream::Stdout || !text.contains(&self.line.0) {
            return self.live.push(stream, text);
        }
        let mut text = text.to_owned();
        self.line.take(&mut text);
        if !text.is_empty() {
            self.live.push(stream, &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(command: &str) -> Option<ReportLine> {
        ReportLine::wanted(command, ShellProgram::Bash, &CallId::new("toolu_1"))
    }

    #[test]
    fn only_where_there_may_be_something_to_report() {
        for command in ["a | b", "cd x && ls", "pushd x"] {
            assert!(line(command).is_some(), "{command}");
        }
        for command in ["ls", "echo abcd", "trap 'x' EXIT; a | b", "exec a | b", "cd x; exec ls"] {
            assert!(line(command).is_none(), "{command}");
        }
        assert!(ReportLine::wanted("a | b", ShellProgram::Sh, &CallId::new("x")).is_none());
    }

    #[test]
    fn the_line_is_taken_out() {
        let line = line("a | b").unwrap();
        let take = |printed: &str| {
            let mut stderr = printed.to_owned();
            (line.take(&mut stderr), stderr)
        };
        let folder = Some("/x".to_owned());
        assert_eq!(
            take("oops\n\u{1e}zori-toolu1 1 0|/x\n"),
            (
                Report { pipeline: Some("1 0".to_owned()), folder: folder.clone(), ran: None },
                "oops\n".to_owned()
            )
        );
        for codes in ["0", "1", "0 1", "141 0", "0 0"] {
            let printed = format!("\u{1e}zori-toolu1 {codes}|/x\n");
            assert_eq!(
                take(&printed),
                (Report { folder: folder.clone(), ..Report::default() }, String::new()),
                "{codes}"
            );
        }
        assert_eq!(take("plain\n"), (Report::default(), "plain\n".to_owned()));
    }
}
