//! Text for people: the assistant's words on stdout and nothing else there, all talk on stderr (OUT-1 to OUT-9).
//!
//! What is said when is here; `text/prose.rs` keeps the bytes of stdout, `text/status.rs` the lines of stderr.

mod agents;
mod calls;
mod prose;
mod status;

use std::io::{self, Write};

use zori_core::compaction::{Compacted, Compaction};
use zori_core::event::{
    Event, EventKind, MessageEvent, Notice, NoticeLevel, StateEvent, ToolEvent, ToolFinished, ToolRequested,
    TurnEvent,
};
use zori_core::failure::ProviderFailure;
use zori_core::ids::{AgentId, CallId};
use zori_core::render::Renderer;
use zori_core::text::one_line;
use zori_core::tool::{Effect, Todo, TodoStatus, ToolCode, ToolKind};
use zori_redact::Redactor;

use agents::SubAgents;
use calls::Calls;
use prose::Prose;
use status::StatusLines;

/// Writes a run as text. What it collects goes out on `flush`, and before anything that has to come after it.
pub struct TextRenderer {
    prose: Prose,
    status: StatusLines,
    calls: Calls,
    agents: SubAgents,
    style: TextStyle,
}

/// What the two streams are. The binary knows; this crate does not look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextStyle {
    /// Whether stdout is a terminal; then control characters are made visible there.
    pub stdout_terminal: bool,
    pub stderr_terminal: bool,
    /// Whether stderr may use escape sequences: it is a terminal and `NO_COLOR` is not set.
    pub colour: bool,
}

impl TextRenderer {
    /// Returns a renderer that writes to the two streams. What the redactor finds is not shown on stderr; the
    /// assistant's own words are (SCR-3).
    pub fn new(
        out: Box<dyn Write + Send>,
        err: Box<dyn Write + Send>,
        style: TextStyle,
        redactor: Redactor,
    ) -> Self {
        Self {
            prose: Prose::new(out, style.stdout_terminal),
            status: StatusLines::new(err, style.colour, redactor),
            calls: Calls::default(),
            agents: SubAgents::default(),
            style,
        }
    }

    fn one_screen(&self) -> bool {
        self.style.stdout_terminal && self.style.stderr_terminal
    }

    /// Puts what was said so far before what comes next on stderr.
    fn before_status(&mut self) -> io::Result<()> {
        self.prose.write()?;
        if self.one_screen() && self.prose.leave_line() {
            self.status.raw("\n");
        }
        Ok(())
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        self.before_status()?;
        self.status.line(text);
        Ok(())
    }

    fn dim_line(&mut self, text: &str) -> io::Result<()> {
        self.before_status()?;
        self.status.dim_line(text);
        Ok(())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        if self.one_screen() {
            self.status.close();
        } else {
            self.status.close_thinking();
        }
        self.prose.push(text)
    }

    /// Reasoning is for watching: only where it can be told from the answer.
    fn thinking(&mut self, text: &str) -> io::Result<()> {
        if self.style.stderr_terminal && self.style.colour {
            self.before_status()?;
            self.status.think(text);
        }
        Ok(())
    }

    fn message_over(&mut self) {
        self.status.close_thinking();
        self.prose.end_message();
    }

    fn tool_requested(&mut self, request: &ToolRequested) -> io::Result<()> {
        self.calls.add(request);
        let command = request.effects.iter().find_map(|effect| match effect {
            Effect::Exec { command, .. } => Some(command),
            _ => None,
        });
        match (request.kind, command) {
            (Some(ToolKind::Bash), Some(command)) => {
                let name = one_line(&request.call.name);
                self.dim_line(&format!("Tool requested: {name} command=\"{}\"", one_line(command)))
            }
            _ => Ok(()),
        }
    }

    fn tool_started(&mut self, call: &CallId, name: &str) -> io::Result<()> {
        self.before_status()?;
        let label = self.calls.label(call, name);
        if self.calls.parallel() {
            self.status.dim_line(&format!("⚙ Running {label}..."));
        } else {
            self.status.open_tool(call.clone(), &format!("⚙ Running {label}..."));
        }
        Ok(())
    }

    fn tool_finished(&mut self, done: &ToolFinished) -> io::Result<()> {
        self.before_status()?;
        if let Some(duration) = done.duration {
            let took = format!("Done. ({:.2}s)", duration.as_secs_f64());
            if !self.status.end_tool(&done.call, &format!(" {took}")) {
                let label = self.calls.label(&done.call, &done.name);
                self.status.dim_line(&format!("⚙ {label} {took}"));
            }
        }
        if let Some(line) = result_line(done) {
            self.status.dim_line(&line);
        }
        for image in &done.output.images {
            self.status.dim_line(&image.to_string());
        }
        Ok(())
    }

    fn todos(&mut self, todos: &[Todo]) -> io::Result<()> {
        self.dim_line("Tasks:")?;
        for todo in todos {
            let mark = match todo.status {
                TodoStatus::Pending => ' ',
                TodoStatus::InProgress => '>',
                TodoStatus::Completed => 'x',
            };
            self.dim_line(&format!("  [{mark}] {}", one_line(&todo.content)))?;
        }
        Ok(())
    }

    fn compacted(&mut self, compaction: &Compaction) -> io::Result<()> {
        match compaction.how {
            Compacted::Dropped { .. } => self.line(&format!("Warning: {}", compaction.words())),
            _ => self.dim_line(&format!("Context: {}", compaction.words())),
        }
    }

    /// A sub-agent speaks to the agent that started it. People see what it does, its warnings, and its questions.
    fn sub_agent(&mut self, event: &Event) -> io::Result<()> {
        match &event.kind {
            EventKind::Notice(Notice { level: NoticeLevel::Warning, text, .. }) => {
                self.line(&format!("Warning: {}", one_line(text)))
            }
            EventKind::Tool(ToolEvent::ApprovalRequested { .. }) => self.before_question(),
            _ => match self.agents.line(event) {
                Some(line) => self.dim_line(&line),
                None => Ok(()),
            },
        }
    }

    /// Ends the open line: the asker prints the question, which starts on a line of its own.
    fn before_question(&mut self) -> io::Result<()> {
        self.before_status()?;
        self.status.close();
        Ok(())
    }

    fn error(&mut self, failure: &ProviderFailure) -> io::Result<()> {
        self.prose.end_message();
        self.line(&format!("Error [{}]: {}", failure.kind.as_str(), one_line(&failure.message)))?;
        match &failure.details {
            Some(details) => self.line(&format!("  Details: {}", one_line(details))),
            None => Ok(()),
        }
    }

    fn interrupted(&mut self) -> io::Result<()> {
        self.prose.end_message();
        self.prose.write()?;
        self.status.new_line();
        self.status.line("^C Interrupted.");
        Ok(())
    }

    fn turn_over(&mut self) -> io::Result<()> {
        self.status.close();
        self.prose.end_message();
        self.prose.write()
    }
}

/// Returns what is said about a result beside how long it took (OUT-6). Success needs no words, but a shell's exit
/// code is not known otherwise; a call that was cancelled before it ran is not worth any.
fn result_line(done: &ToolFinished) -> Option<String> {
    let name = one_line(&done.name);
    let Some(failure) = &done.output.failure else {
        let end = done.output.process.filter(|_| done.kind == Some(ToolKind::Bash))?;
        return Some(if end.timed_out {
            format!("Tool finished: {name} timed_out=true")
        } else {
            format!("Tool finished: {name} exit={}", end.exit_code)
        });
    };
    let message = one_line(&failure.message);
    match (done.duration, failure.code) {
        (None, ToolCode::Canceled) => None,
        (None, ToolCode::PermissionDenied) => Some(format!("Tool denied: {name}: {message}")),
        _ if is_shell(done) => Some(format!("Tool finished: {name} error=\"{message}\"")),
        (_, code) => Some(format!("Tool failed: {name} {}: {message}", code.as_str())),
    }
}

/// Returns whether the call was for the shell. One whose arguments made no sense has nothing but its name to tell.
fn is_shell(done: &ToolFinished) -> bool {
    done.kind.map_or(done.name.eq_ignore_ascii_case("bash"), |kind| kind == ToolKind::Bash)
}

impl Renderer for TextRenderer {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        if event.agent != AgentId::MAIN {
            return self.sub_agent(event);
        }
        match &event.kind {
            EventKind::Message(MessageEvent::MessageStarted { .. }) => {
                self.calls.clear();
                Ok(())
            }
            EventKind::Message(MessageEvent::AssistantDelta { text }) => self.text(text),
            EventKind::Message(MessageEvent::ThinkingDelta { text }) => self.thinking(text),
            EventKind::Message(MessageEvent::MessageFinished(_)) => {
                self.message_over();
                Ok(())
            }
            EventKind::Tool(ToolEvent::ToolRequested(request)) => self.tool_requested(request),
            EventKind::Tool(ToolEvent::ApprovalRequested { .. }) => self.before_question(),
            EventKind::Tool(ToolEvent::ToolStarted { call, name, .. }) => self.tool_started(call, name),
            EventKind::Tool(ToolEvent::ToolFinished(done)) => self.tool_finished(done),
            EventKind::State(StateEvent::TodosChanged { todos }) => self.todos(todos),
            EventKind::State(StateEvent::ContextCompacted(compaction)) => self.compacted(compaction),
            EventKind::Message(MessageEvent::Retrying { attempt, max, delay, failure }) => {
                let (secs, why) = (delay.as_secs_f64(), one_line(&failure.message));
                self.line(&format!("Retrying in {secs:.1}s ({attempt}/{max}): {why}"))
            }
            EventKind::Notice(Notice { level: NoticeLevel::Warning, text, .. }) => {
                self.line(&format!("Warning: {}", one_line(text)))
            }
            EventKind::Notice(Notice { level: NoticeLevel::Info, text, .. }) => self.line(&one_line(text)),
            EventKind::Notice(Notice { level: NoticeLevel::Error, text, .. }) => {
                self.line(&format!("Error: {}", one_line(text)))
            }
            EventKind::Turn(TurnEvent::Error { failure }) => self.error(failure),
            EventKind::Turn(TurnEvent::Interrupted) => self.interrupted(),
            EventKind::Turn(TurnEvent::TurnFinished(_)) => self.turn_over(),
            // The binary has the words for the start and end of a run; the rest is shown by other events.
            EventKind::Session(_)
            | EventKind::Turn(_)
            | EventKind::Message(_)
            | EventKind::Tool(_)
            | EventKind::State(_) => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.status.flush();
        self.prose.write()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.turn_over()
    }
}

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;
