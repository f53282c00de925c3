//! What a front end brings to a session: who sees its events, who answers its questions, and which tools and hooks there
//! are beside those of this machine. `wire_up` puts it together with the rest and knows no front end.

use std::io::Write;
use std::sync::Arc;

use zori_contract::failure::Failure;
use zori_core::hook::{Hooks, Watch};
use zori_core::render::Renderer;
use zori_engine::engine::CutAnswer;
use zori_frontends::jsonl::{JsonlRenderer, Questions, Remarks};
use zori_frontends::{TextRenderer, TextStyle};
use zori_policy::mode::Protocol;
use zori_redact::Redactor;
use zori_tools::dialect::Dialect;
use zori_tools::toolset::{Offered, OtherTool};

use crate::asking::{Answers, Asking};
use crate::commands::Cx;
use crate::mode_gate::ModeGate;
use crate::settings::Settings;
use crate::terminal;

/// A front end's part of a session.
pub struct Outlet {
    /// Who sees the events, in this order.
    pub renderers: Vec<Box<dyn Renderer + Send>>,
    /// Who answers questions while `exec::turn` runs. A protocol that answers by itself has [`Asking::nobody`].
    pub asking: Asking,
    /// The names of the tools.
    pub dialect: &'static Dialect,
    /// Which of the dialect's tools there are.
    pub offered: Offered,
    /// Further tools.
    pub tools: Vec<OtherTool>,
    /// Who is told what happens, after the hook programs of this machine.
    pub hooks: Vec<Arc<dyn Hooks>>,
    /// Who sees hooks run.
    pub watch: Option<Arc<dyn Watch>>,
    /// Which modes may come to hold.
    pub modes: ModeGate,
    /// What becomes of an answer that somebody cuts off.
    pub cut: CutAnswer,
    /// Whether what tools print is told while they run.
    pub live_output: bool,
}

impl Outlet {
    /// Text on both streams, or lines for a program and remarks for people, as the command was asked to.
    pub fn plain(cx: &Cx<'_>, settings: &Settings) -> Result<Self, Failure> {
        let redactor = Redactor::new(settings.choice.secrets.clone());
        let mut renderers = renderers(cx, settings.answers, redactor.clone())?;
        let (asking, questions) = Asking::new(settings.answers, redactor, settings.rules_file.clone());
        // What was said so far stands above the question, so the text goes first.
        renderers.push(Box::new(questions));
        Ok(Self {
            renderers,
            asking,
            dialect: cx.profile.dialect,
            offered: Offered::All,
            tools: Vec::new(),
            hooks: Vec::new(),
            watch: None,
            modes: ModeGate::new(settings, Protocol::Own, true),
            cut: CutAnswer::Forgotten,
            live_output: false,
        })
    }
}

/// Returns how text looks on the streams of a run.
pub fn style(cx: &Cx<'_>) -> TextStyle {
    let terminal = cx.terminal;
    TextStyle {
        stdout_terminal: terminal.stdout,
        stderr_terminal: terminal.stderr,
        colour: terminal.colour && terminal.stderr,
    }
}

/// Returns where words to people go, which `--quiet` closes.
pub fn words(cx: &Cx<'_>) -> Result<Box<dyn Write + Send>, Failure> {
    Ok(match cx.terminal.quiet {
        true => Box::new(std::io::sink()),
        false => Box::new(terminal::stderr()?),
    })
}

/// Returns what shows the events: text on both streams, or lines for a program and remarks for people.
fn renderers(
    cx: &Cx<'_>,
    answers: Answers,
    redactor: Redactor,
) -> Result<Vec<Box<dyn Renderer + Send>>, Failure> {
    let (style, err) = (style(cx), words(cx)?);
    let Some(events) = cx.front.events() else {
        // An envelope comes when the turn is over.
        let out: Box<dyn Write + Send> = match cx.terminal.collected {
            true => Box::new(std::io::sink()),
            false => Box::new(terminal::stdout()?),
        };
        return Ok(vec![Box::new(TextRenderer::new(out, err, style, redactor))]);
    };
    let questions = if answers == Answers::Client { Questions::ToClient } else { Questions::Settled };
    let lines = JsonlRenderer::new(events.clone(), redactor.clone(), questions);
    Ok(vec![Box::new(lines), Box::new(Remarks::new(err, style, redactor))])
}
