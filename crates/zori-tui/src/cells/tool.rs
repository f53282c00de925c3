//! A tool call: what it asks for, what came of it, how it ended, how long it took, its number (UI-35).

mod facts;

use std::time::Duration;

use serde_json::value::RawValue;
use zori_core::event::{DecidedBy, Event, ToolFinished, ToolRequested};
use zori_core::ids::CallId;
use zori_core::permission::{Decision, Verdict};
use zori_core::tool::{Effect, OutputStream, ToolCode, ToolKind};

use super::Sign;
use super::agent::Progress;
use super::arguments::Arguments;
use super::diff::{AskedChange, Diff};
use super::output::{Output, Shown};
use super::words::duration;
use crate::cell::{Cell, CellCx, Detail, Signs};
use crate::row::{Role, Row, Span, Style};
use crate::wrap::{Break, TAB, expand_tabs, truncate, wrap_spans};
use facts::{Facts, title};

/// Under this width there is no right-hand column (UI-41).
const NARROW: u16 = 60;

/// A tool call.
#[derive(Clone, Debug)]
pub struct ToolCell {
    call: CallId,
    name: String,
    kind: Option<ToolKind>,
    arguments: Arguments,
    /// The server and the tool, for a tool of an MCP server.
    remote: Option<(String, String)>,
    /// Why it may not run, and what the user says to that.
    refused: Option<String>,
    because: Option<String>,
    live: Output,
    progress: Progress,
    done: Option<Done>,
}

/// How a call ended.
#[derive(Clone, Debug)]
struct Done {
    end: End,
    /// What its result adds to the header.
    facts: Facts,
    body: Output,
    diffs: Vec<Diff>,
    took: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    Fine,
    Failed { why: String },
    Denied { why: String },
    Cancelled,
}

impl ToolCell {
    /// Returns the cell of a call that was asked for.
    pub fn new(requested: &ToolRequested) -> Self {
        let remote = requested.effects.iter().find_map(|effect| match effect {
            Effect::Mcp { server, tool, .. } => Some((server.clone(), tool.clone())),
            _ => None,
        });
        Self {
            call: requested.call.id.clone(),
            name: requested.call.name.clone(),
            kind: requested.kind,
            arguments: Arguments::of(&requested.call.input),
            remote,
            refused: None,
            because: None,
            live: Output::default(),
            progress: Progress::default(),
            done: None,
        }
    }

    /// Returns the call's id.
    pub fn call(&self) -> &CallId {
        &self.call
    }

    /// Takes new arguments.
    pub fn changed(&mut self, input: &RawValue) {
        self.arguments = Arguments::parse(input.get());
    }

    /// Takes the decision about the call.
    pub fn resolved(&mut self, decision: &Decision, by: DecidedBy) {
        if decision.verdict == Verdict::Deny {
            self.refused = Some(match by {
                DecidedBy::User => match &self.because {
                    Some(why) => format!("you said no: {why}"),
                    None => "you said no".to_owned(),
                },
                DecidedBy::Policy => decision.reason.clone(),
                DecidedBy::Cancelled => "stopped before an answer".to_owned(),
            });
        }
    }

    /// Takes the words with which the user says no to the call.
    pub fn because(&mut self, why: &str) {
        self.because = Some(expand_tabs(why, TAB).split_whitespace().collect::<Vec<_>>().join(" "));
    }

    /// Takes output of the running call.
    pub fn output(&mut self, _: OutputStream, text: &str) {
        self.live.push(text);
    }

    /// Takes an event of the sub-agent that a call started, if it is this one or one of a sub-agent below it; returns whether it is.
    pub fn nested(&mut self, parent: &CallId, event: &Event) -> bool {
        if *parent != self.call {
            return self.progress.nested(parent, event);
        }
        self.progress.event(event);
        true
    }

    /// Returns the call in a few words.
    pub fn brief(&self) -> String {
        let arguments = &self.arguments;
        let what = arguments.command().or(arguments.pattern()).or(arguments.path()).or(arguments.url());
        let first = what.and_then(|what| what.lines().next()).unwrap_or_default();
        format!("{} {}", self.name, expand_tabs(first, TAB)).trim_end().to_owned()
    }

    /// Takes the result.
    pub fn finished(&mut self, finished: &ToolFinished) {
        let output = &finished.output;
        let end = match &output.failure {
            None => End::Fine,
            Some(failure) => match failure.code {
                ToolCode::PermissionDenied => {
                    End::Denied { why: self.refused.clone().unwrap_or_else(|| failure.message.clone()) }
                }
                ToolCode::Canceled => End::Cancelled,
                _ => End::Failed { why: failure.message.clone() },
            },
        };
        let facts = Facts::of(self.kind, output);
        let body = match (self.kind, &end) {
            (
                Some(ToolKind::Read | ToolKind::Ls | ToolKind::Glob | ToolKind::Grep | ToolKind::Todo),
                End::Fine,
            ) => Output::of(&facts.listing(self.kind, output)),
            (
                Some(
                    ToolKind::Write
                    | ToolKind::Edit
                    | ToolKind::MultiEdit
                    | ToolKind::NotebookEdit
                    | ToolKind::Patch,
                ),
                End::Fine,
            ) => Output::default(),
            (_, End::Denied { .. }) => Output::default(),
            (Some(ToolKind::Task), End::Fine) => Output::of(&facts::answer(output)),
            // What it printed until then was on the screen, and stays.
            (Some(ToolKind::Bash), End::Cancelled) if !self.live.is_empty() => std::mem::take(&mut self.live),
            (_, End::Failed { why }) if self.kind != Some(ToolKind::Bash) => Output::of(why),
            _ => Output::of(&output.readable(self.kind)),
        };
        let diffs = output.changes.iter().map(Diff::new).collect();
        self.done = Some(Done { end, facts, body, diffs, took: finished.duration });
        self.live = Output::default();
    }

    /// Takes what a call that went well asked for as what it changed, where its result does not say that any more.
    pub fn asked(&mut self, changes: &[AskedChange]) {
        let Some(done) = self.done.as_mut().filter(|done| done.end == End::Fine && done.diffs.is_empty())
        else {
            return;
        };
        done.diffs = changes.iter().map(Diff::asked).collect();
    }

    /// Returns whether it only looks at things, which neighbours do together.
    pub fn looks(&self) -> bool {
        matches!(self.kind, Some(ToolKind::Read | ToolKind::Ls | ToolKind::Glob | ToolKind::Grep))
    }

    /// Returns everything it says as text, for the clipboard.
    pub fn text(&self) -> String {
        match &self.done {
            Some(done) => done.body.text(),
            None => self.live.text(),
        }
    }

    fn header(&self, width: u16, cx: &CellCx) -> Row {
        let columns = usize::from(width);
        let (sign, role) = self.sign(cx);
        let mut left = Row::from(Span::new(format!("{sign} ")).role(role));
        left.spans.extend(self.title().spans);
        let mut right = Row::empty();
        let status = self.status(cx);
        if width >= NARROW {
            right.push(Span::new(status).style(self.status_style()));
        } else if matches!(
            self.done.as_ref().map(|done| &done.end),
            Some(End::Failed { .. } | End::Cancelled)
        ) && self.kind == Some(ToolKind::Bash)
        {
            left.push(Span::new(format!("  {status}")).style(self.status_style()));
        }
        if let Some(number) = cx.number {
            right.push(Span::new(format!("  #{number}")).muted());
        }
        if width < NARROW {
            let left = truncate(&left, columns.saturating_sub(right.width()));
            return Row { spans: left.spans.into_iter().chain(right.spans).collect() };
        }
        let room = columns.saturating_sub(right.width() + 2);
        truncate(&left, room).with_right(right, width)
    }

    fn sign(&self, cx: &CellCx) -> (&'static str, Role) {
        let (sign, role) = match self.done.as_ref().map(|done| (&done.end, done.facts.failed)) {
            None => (Sign::DOT, Role::Muted),
            Some((End::Fine, false)) => (Sign::DOT, Role::Success),
            Some((End::Failed { .. }, _) | (End::Fine, true)) => (Sign::CROSS, Role::Error),
            Some((End::Denied { .. } | End::Cancelled, _)) => (Sign::DENIED, Role::Warning),
        };
        (sign.of(cx.signs), role)
    }

    /// Returns what the call is about, and why it failed.
    fn title(&self) -> Row {
        let done = self.done.as_ref();
        let facts = done.map(|done| &done.facts);
        let mut row = title(
            self.kind,
            &self.name,
            self.remote.as_ref(),
            &self.arguments,
            facts,
            done.map_or(&[], |done| &done.diffs),
        );
        let why = match done.map(|done| &done.end) {
            Some(End::Failed { why }) if self.kind != Some(ToolKind::Bash) => why.as_str(),
            Some(End::Denied { why }) => why.as_str(),
            Some(End::Cancelled) => "stopped",
            _ => return row,
        };
        let first = why.lines().next().unwrap_or_default();
        row.push(Span::new(format!(": {}", expand_tabs(first, TAB))));
        row
    }

    /// Returns what stands at the right: how it ended and how long it took.
    fn status(&self, cx: &CellCx) -> String {
        let Some(done) = &self.done else {
            return match cx.running {
                Some(time) => format!("running {}s", time.as_secs()),
                None => String::new(),
            };
        };
        let took = done.took.map(duration);
        let parts: Vec<String> = done.facts.end.clone().into_iter().chain(took).collect();
        parts.join(" · ")
    }

    fn status_style(&self) -> Style {
        let failed = self.done.as_ref().is_some_and(|done| done.facts.failed);
        Style { role: if failed { Role::Error } else { Role::Muted }, ..Style::default() }
    }

    fn whole_command(&self, columns: usize) -> Vec<Row> {
        let text = match self.command() {
            Some(command) => command.to_owned(),
            None => self.arguments.lines(),
        };
        let lines = text.lines().map(|line| Span::new(expand_tabs(line, TAB).into_owned()).muted());
        lines
            .flat_map(|span| wrap_spans(&[span], columns.saturating_sub(2), Break::Anywhere))
            .map(|row| Row { spans: std::iter::once(Span::new("  ")).chain(row.spans).collect() })
            .collect()
    }
}

impl Cell for ToolCell {
    fn rows(&self, width: u16, cx: &CellCx) -> Vec<Row> {
        let columns = usize::from(width);
        let mut rows = vec![self.header(width, cx)];
        if cx.detail == Detail::Whole {
            rows.extend(self.whole_command(columns));
        }
        let Some(done) = &self.done else {
            rows.extend(self.progress.row().map(|row| truncate(&row, columns)));
            if cx.detail == Detail::Whole {
                rows.extend(self.progress.rows(width, cx));
            }
            rows.extend(self.live.rows(width, cx, Shown::LIVE));
            return rows;
        };
        for diff in &done.diffs {
            if done.diffs.len() > 1 {
                let counts = match diff.is_counted() {
                    true => format!("  +{} -{}", diff.added, diff.removed),
                    false => String::new(),
                };
                let file = format!("  {} {}{counts}", diff.verb, diff.path);
                rows.push(truncate(&Span::new(file).into(), columns));
            }
            rows.extend(diff.rows(width, cx));
        }
        if self.kind == Some(ToolKind::Task) {
            rows.extend(self.progress.row().map(|row| truncate(&row, columns)));
            if cx.detail == Detail::Whole {
                rows.extend(self.progress.rows(width, cx));
            }
        }
        let quiet = match (self.kind, &done.end) {
            (
                Some(ToolKind::Read | ToolKind::Ls | ToolKind::Glob | ToolKind::Grep | ToolKind::Todo),
                End::Fine,
            ) => true,
            // Its first line stands in the header.
            (kind, End::Failed { why }) => kind != Some(ToolKind::Bash) && why.lines().count() <= 1,
            (_, End::Cancelled) => self.kind != Some(ToolKind::Bash),
            _ => false,
        };
        if cx.detail == Detail::Whole || !quiet {
            let shown = if self.kind == Some(ToolKind::Bash) { Shown::COMMAND } else { Shown::BRIEF };
            rows.extend(done.body.rows(width, cx, shown));
        }
        rows
    }

    fn call_id(&self) -> Option<&CallId> {
        Some(&self.call)
    }

    fn command(&self) -> Option<&str> {
        (self.kind == Some(ToolKind::Bash)).then(|| self.arguments.command()).flatten()
    }

    fn file(&self) -> Option<&str> {
        self.done.as_ref()?.facts.file.as_deref()
    }

    fn summary(&self) -> Row {
        let cx = CellCx { number: None, detail: Detail::Short, running: None, signs: Signs::Unicode };
        let (sign, role) = self.sign(&cx);
        let mut row = Row::from(Span::new(format!("{sign} ")).role(role));
        row.spans.extend(self.title().spans);
        row
    }
}

/// Returns the row of calls that stand as one, with the numbers of the first and the last.
pub fn joined_row(cells: &[&ToolCell], numbers: &[u32], width: u16, signs: Signs) -> Row {
    let left = Row::from(Span::new(format!("{} ", Sign::DOT.of(signs))).role(Role::Success))
        .with(Span::new(joined(cells).unwrap_or_default()));
    let (first, last) = (numbers.first().unwrap_or(&0), numbers.last().unwrap_or(&0));
    let right = Row::from(Span::new(format!("  #{first}-{last}")).muted());
    let left = truncate(&left, usize::from(width).saturating_sub(right.width()));
    match width < NARROW {
        true => Row { spans: left.spans.into_iter().chain(right.spans).collect() },
        false => left.with_right(right, width),
    }
}

/// Joins neighbours that only looked at things: `Read 4 files, searched "add("`. `None` where they are not all such calls that went well.
pub fn joined(cells: &[&ToolCell]) -> Option<String> {
    let mut read = 0_usize;
    let mut parts: Vec<String> = Vec::new();
    for cell in cells {
        cell.done.as_ref().filter(|done| done.end == End::Fine)?;
        match cell.kind? {
            ToolKind::Read => read += 1,
            ToolKind::Grep => {
                parts.push(format!("searched {:?}", cell.arguments.pattern().unwrap_or_default()))
            }
            ToolKind::Glob => parts.push(format!("found {:?}", cell.arguments.pattern().unwrap_or_default())),
            ToolKind::Ls => parts.push(format!("listed {}", cell.arguments.path().unwrap_or("."))),
            _ => return None,
        }
    }
    if read > 0 {
        parts.insert(0, format!("read {}", super::words::counted(read, "file", "files")));
    }
    let mut text = parts.join(", ");
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    (!text.is_empty()).then_some(text)
}
