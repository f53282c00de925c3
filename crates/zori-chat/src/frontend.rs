//! What the front ends of this program bring to a session: renderers on its streams, tools in its dialect.

use std::io::Write;

use zori_contract::failure::Failure;
use zori_core::render::Renderer;
use zori_frontends::jsonl::{JsonlRenderer, NoticeRenderer, Questions};
use zori_frontends::{TextRenderer, TextStyle};
use zori_host::{Answers, FrontendParts, ModeGate, SessionSettings};
use zori_policy::mode::Protocol;
use zori_redact::Redactor;
use zori_serve::NoticePrinter;
use zori_serve::claude::structured::Structured;

use crate::prompt_options::PromptOptions;
use zori_setup::agent_cx::AgentCx;
use zori_setup::terminal;
use zori_setup::ui::Ui;

/// Text on both streams, or lines for a program and remarks for people, as the command was asked to.
pub fn plain(cx: &AgentCx<'_>, settings: &SessionSettings) -> Result<FrontendParts, Failure> {
    plain_with(cx, settings, &PromptOptions::default())
}

/// The same, with what the caller of one prompt wants.
pub fn plain_with(
    cx: &AgentCx<'_>,
    settings: &SessionSettings,
    wanted: &PromptOptions,
) -> Result<FrontendParts, Failure> {
    let redactor = Redactor::new(settings.model.secrets.clone());
    let modes = ModeGate::new(settings, Protocol::Own, true);
    let structured = wanted.structured.as_ref();
    Ok(FrontendParts {
        renderers: renderers(cx, settings.permission.answers, redactor, structured)?,
        offered: wanted.offered.clone(),
        tools: structured.map(Structured::tool).into_iter().collect(),
        ..FrontendParts::new(cx.profile.dialect, modes)
    })
}

/// The screen of the chat, which brings its renderer itself.
pub fn screen(cx: &AgentCx<'_>, settings: &SessionSettings) -> FrontendParts {
    FrontendParts::new(cx.profile.dialect, ModeGate::new(settings, Protocol::Own, true))
}

/// Returns how text looks on the streams of a run.
pub fn style(cx: &AgentCx<'_>) -> TextStyle {
    let terminal = cx.terminal;
    TextStyle {
        stdout_terminal: terminal.stdout,
        stderr_terminal: terminal.stderr,
        colour: terminal.colour && terminal.stderr,
    }
}

/// Returns where words to people go, which `--quiet` closes.
pub fn words(cx: &AgentCx<'_>) -> Result<Box<dyn Write + Send>, Failure> {
    Ok(match cx.terminal.quiet {
        true => Box::new(std::io::sink()),
        false => Box::new(terminal::stderr()?),
    })
}

/// Returns the way to people for a protocol, which `--quiet` closes.
pub fn people(cx: &AgentCx<'_>) -> NoticePrinter {
    let quiet = cx.terminal.quiet;
    let redactor = cx.app.redactor();
    NoticePrinter::new(move |notices| Ui::new(quiet, &redactor).notices(notices))
}

/// Returns what shows the events: text on both streams, or lines for a program and remarks for people.
fn renderers(
    cx: &AgentCx<'_>,
    answers: Answers,
    redactor: Redactor,
    structured: Option<&Structured>,
) -> Result<Vec<Box<dyn Renderer + Send>>, Failure> {
    let (style, err) = (style(cx), words(cx)?);
    let Some(events) = cx.front.events() else {
        // An envelope comes when the turn is over, or the value that was asked for.
        let out: Box<dyn Write + Send> = match cx.terminal.collected || structured.is_some() {
            true => Box::new(std::io::sink()),
            false => Box::new(terminal::stdout()?),
        };
        return Ok(vec![Box::new(TextRenderer::new(out, err, style, redactor))]);
    };
    let questions = if answers == Answers::Client { Questions::ToClient } else { Questions::Settled };
    let mut lines = JsonlRenderer::new(events.clone(), redactor.clone(), questions);
    if let Some(structured) = structured {
        lines = lines.with_value(structured.value());
    }
    Ok(vec![Box::new(lines), Box::new(NoticeRenderer::new(err, style, redactor))])
}
