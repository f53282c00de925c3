//! What stands between a call and its effects: `--dry-run`, `--live`, the question before something is destroyed.

use std::io::{BufRead, BufReader, Read};

use serde_json::{Map, Value, json};

use crate::args::Args;
use crate::command::Command;
use crate::error;
use crate::failure::Failure;
use crate::flag::framework;
use crate::mode::Mode;
use crate::output_streams::OutputStreams;

/// What a command would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The deed, such as `delete`: `data.would_delete` lists the items. Two words are joined there: `would_put_back`.
    pub verb: &'static str,
    /// What it is done to, each by its id or path.
    pub items: Vec<String>,
    /// Whether it can be undone.
    pub reversible: bool,
}

impl Preview {
    /// Returns the scope, as `would_affect`.
    pub fn would_affect(&self) -> Value {
        json!({"count": self.items.len(), "items": self.items, "reversible": self.reversible})
    }

    /// Returns the `data` of a dry run.
    pub fn data(&self) -> Value {
        let mut data = Map::new();
        data.insert("effect".into(), json!("noop"));
        data.insert(format!("would_{}", self.verb.replace(' ', "_")), json!(self.items));
        data.insert("would_affect".into(), self.would_affect());
        Value::Object(data)
    }

    /// Returns it in words.
    pub fn text(&self) -> String {
        let undo = if self.reversible { "" } else { ", which cannot be undone" };
        match self.items.as_slice() {
            [] => format!("Would {} nothing", self.verb),
            items => format!("Would {} {}{undo}: {}", self.verb, items.len(), items.join(", ")),
        }
    }
}

/// What the flags say about a command's effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Do it.
    Open,
    /// Only say what would be done.
    Preview,
    /// Do it if somebody agrees.
    Ask,
}

impl Gate {
    /// Decides by the command's entry and the flags.
    pub fn of<A>(command: &Command<A>, args: &Args) -> Self {
        // A command without a preview that takes the flag all the same has its own way with it.
        let dry = args.has(&framework::DRY_RUN) && command.preview.is_some();
        if dry || (command.safe_default && !args.has(&framework::LIVE)) {
            return Self::Preview;
        }
        let agreed = args.has(&framework::YES) || args.has(&framework::CONFIRM) || args.has(&framework::LIVE);
        if command.needs_agreement() && !agreed { Self::Ask } else { Self::Open }
    }
}

/// Asks whether to go on; fails where nobody is there, or where the answer is no.
pub fn confirm<A>(
    command: &Command<A>,
    preview: &Preview,
    mode: &Mode,
    streams: &OutputStreams,
    stdin: &mut dyn Read,
) -> Result<(), Failure> {
    if !mode.interactive {
        return Err(Failure::confirmation_required(&command.name(), command.danger, preview.would_affect()));
    }
    streams.ask(&format!("{}. Go on? [y/N] ", preview.text()));
    let mut answer = String::new();
    // No answer is a no.
    let _ = BufReader::new(stdin).read_line(&mut answer);
    if matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(Failure::new(&error::DECLINED, "nothing was changed, as you said"))
}
