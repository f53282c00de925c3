//! Events of `--json`: how long one takes, from the engine's event to the line in a pipe that is read (NFR-002).

use std::io::Read;
use std::time::Instant;

use anyhow::{Result, ensure};
use zori_core::event::{Event, EventKind, MessageEvent, ToolEvent, ToolFinished, TurnEvent};
use zori_core::ids::{AgentId, CallId, SessionId};
use zori_core::render::Renderer;
use zori_core::time::Timestamp;
use zori_core::tool::{ToolKind, ToolOutput};
use zori_frontends::jsonl::{EventWriter, JsonlRenderer, Questions};
use zori_redact::Redactor;

use super::area::Bench;
use super::figure::{Bar, Figure, ms};
use super::run::in_ms;

const COUNT: usize = 10_000;

/// Measures words of an answer, and every tenth event a result of four kilobytes.
pub fn events(_: &Bench) -> Result<Vec<Figure>> {
    let (mut reader, writer) = std::io::pipe()?;
    let drained = std::thread::spawn(move || {
        let (mut lines, mut chunk) = (0, vec![0; 64 * 1024]);
        while let Ok(count @ 1..) = reader.read(&mut chunk) {
            lines += chunk[..count].iter().filter(|byte| **byte == b'\n').count();
        }
        lines
    });
    let lines = EventWriter::new(Box::new(writer));
    let mut renderer = JsonlRenderer::new(lines, Redactor::default(), Questions::Settled);
    renderer.on_event(&event(TurnEvent::TurnStarted {
        prompt: "p".into(),
        images: Vec::new(),
        uuid: None,
        scheduled: None,
    }))?;
    let word = event(MessageEvent::AssistantDelta { text: "word ".to_owned() });
    let output = ToolOutput::success(&format!(r#"{{"stdout":"{}","stderr":""}}"#, "a line\\n".repeat(512)));
    let result = event(ToolEvent::ToolFinished(ToolFinished {
        call: CallId::new("1"),
        name: "bash".into(),
        kind: Some(ToolKind::Bash),
        output,
        duration: None,
    }));
    let mut times = Vec::with_capacity(COUNT);
    for index in 0..COUNT {
        let began = Instant::now();
        renderer.on_event(if index % 10 == 9 { &result } else { &word })?;
        times.push(in_ms(began.elapsed()));
    }
    drop(renderer);
    let read = drained.join().expect("the reader does not panic");
    ensure!(read == COUNT, "{read} lines of {COUNT} events arrived");
    times.sort_by(f64::total_cmp);
    Ok(vec![Figure {
        name: "event of `--json`, slowest of a hundred",
        measured: ms(times[COUNT * 99 / 100]),
        floor: None,
        bar: Bar::Under(1.0),
    }])
}

fn event(kind: impl Into<EventKind>) -> Event {
    let session = SessionId::parse("s").expect("a letter is a name");
    Event { seq: 0, at: Timestamp(0), session, agent: AgentId::MAIN, parent: None, kind: kind.into() }
}
