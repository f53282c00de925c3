//! A model of your own: `impl Provider` that repeats what it is told. A provider encodes a request, sends it and decodes
//! the answer to chunks; this one has nobody to send it to. `cargo run -p zori-host --example provider`.
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use zori_core::failure::ProviderFailure;
use zori_core::provider::{Chunk, ChunkStream, Provider, Request, StopReason};
use zori_core::{BoxFuture, cost::Spent};
use zori_frontends::{TextRenderer, TextStyle};
use zori_host::{BlockingSession, FrontendParts, Host, Machine, ModeGate, ModelSettings, Network};
use zori_host::{SessionSettings, Unattended, Upstream, runtime};
use zori_policy::{Mode, mode::Protocol};
use zori_tools::dialect::ZORI;

struct Echo;

impl Provider for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    fn stream<'a>(&'a self, request: &'a Request<'a>) -> BoxFuture<'a, Result<ChunkStream, ProviderFailure>> {
        let said = request.messages.last().map(|message| message.text()).unwrap_or_default();
        let answer: ChunkStream = Box::pin(Chunks(VecDeque::from([
            Chunk::Started { model: request.model.to_owned() },
            Chunk::Text(format!("You said: {said}")),
            Chunk::Done(StopReason::EndTurn),
        ])));
        Box::pin(async { Ok(answer) })
    }
}

/// An answer that is all there.
struct Chunks(VecDeque<Chunk>);

impl Stream for Chunks {
    type Item = Result<Chunk, ProviderFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ModelSettings::new(&zori_providers::catalog::PROVIDERS[0], "echo-1");
    let (root, temp) = (std::env::current_dir()?, std::env::temp_dir());
    let host = Host::new(SessionSettings::new(root, temp, model, Mode::Default), Machine::system())?;
    let mut parts = FrontendParts::new(&ZORI, ModeGate::new(&host.settings, Protocol::Own, false));
    let (out, err, redactor) = (std::io::stdout(), std::io::stderr(), host.redactor());
    let style = TextStyle { stdout_terminal: false, stderr_terminal: false, colour: false };
    parts.renderers.push(Box::new(TextRenderer::new(Box::new(out), Box::new(err), style, redactor)));
    let upstream = Upstream { network: Network::offline(), provider: Arc::new(Echo) };
    let session = host.start(host.unsaved(), &upstream, parts, Spent::NOTHING)?;
    let mut session = BlockingSession::new(session, runtime()?);
    session.turn("Is anybody there?".into(), &mut Unattended::default());
    Ok(session.close()?)
}
