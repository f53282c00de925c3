//! A program with a tool of its own, streaming to standard output: `cargo run -p zori-host --example hello`.
use std::sync::Arc;

use serde_json::value::RawValue;
use zori_core::tool::{Effect, Tool, ToolCx, ToolKind, ToolOutput, ToolSpec};
use zori_core::{BoxFuture, cost::Spent};
use zori_host::{BlockingSession, FrontendParts, Host, Machine, ModelSettings, Network};
use zori_host::{SessionSettings, Unattended, Upstream, runtime};
use zori_policy::Mode;
use zori_providers::{catalog::PROVIDERS, scripted::Pace, scripted::ScriptedProvider};
use zori_tools::{dialect::ZORI, toolset::ExternalTool};

struct Dice;
impl Tool for Dice {
    fn kind(&self) -> Option<ToolKind> {
        None
    }
    fn effects(&self, _: &RawValue) -> Vec<Effect> {
        vec![Effect::Internal]
    }
    fn run<'a>(&'a self, _: ToolCx, _: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async { ToolOutput::success(r#"{"rolled":4}"#) })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (model, temp) = (ModelSettings::new(&PROVIDERS[0], "scripted"), std::env::temp_dir());
    let host = Host::new(SessionSettings::new(".".into(), temp, model, Mode::Default), Machine::system())?;
    let provider = Arc::new(ScriptedProvider::parse(include_str!("hello.jsonl"), Pace::Instant)?);
    let mut parts = FrontendParts::text(&ZORI, &host.settings, std::io::stdout(), std::io::stderr());
    let (name, description) = ("dice".to_owned(), "Rolls a die".to_owned());
    let spec = ToolSpec { name, description, schema: serde_json::from_str("{}")? };
    parts.tools.push(ExternalTool { spec, tool: Arc::new(Dice) });
    let upstream = Upstream { network: Network::offline(), provider };
    let started = host.start(host.unsaved(), &upstream, parts, Spent::NOTHING)?;
    let mut session = BlockingSession::new(started, runtime()?);
    let end = session.turn("Roll a die for me.".into(), &mut Unattended::default());
    session.close()?;
    end.error.map_or(Ok(()), |why| Err(why.into()))
}
