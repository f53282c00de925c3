//! Folds the chunks of an answer into one message, and says what to show on the way. A pure state machine.

use std::sync::Arc;

use zori_core::event::{EventKind, Reply};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::ids::CallId;
use zori_core::message::{Block, IdOrigin, Message, Opaque, Role, Thinking, ToolCall, ToolInput};
use zori_core::provider::{Chunk, StopReason};
use zori_core::usage::Usage;

use crate::crew::Crew;

/// Arguments beyond this are never executed (NET-8).
const MAX_INPUT_BYTES: usize = 8 << 20;

/// An answer in the making.
pub(crate) struct Assembly {
    model: Arc<str>,
    /// What ids are named after that the provider does not issue, and how many there are.
    maker: String,
    made: usize,
    /// Who knows the ids of all calls of the session.
    crew: Arc<Crew>,
    drafts: Vec<Draft>,
    /// Whether the last draft takes further text or thinking.
    open: bool,
    usage: Usage,
    stop: Option<StopReason>,
    visible: bool,
}

enum Draft {
    Text(String),
    Thinking { text: String, replay: Option<Opaque> },
    Call(CallDraft),
}

struct CallDraft {
    index: u32,
    /// As the provider calls it.
    theirs: CallId,
    /// As everybody else does.
    id: CallId,
    id_origin: IdOrigin,
    name: Arc<str>,
    input: String,
    replay: Option<Opaque>,
    ended: bool,
}

impl Assembly {
    /// `model` is what was asked for; the provider may name it more exactly. Ids that are made up are named after
    /// `maker` and numbered on from `made`.
    pub(crate) fn new(model: Arc<str>, maker: String, made: usize, crew: Arc<Crew>) -> Self {
        Self {
            model,
            maker,
            made,
            crew,
            drafts: Vec::new(),
            open: false,
            usage: Usage::default(),
            stop: None,
            visible: false,
        }
    }

    /// Returns how many ids have been made up, those before this answer included.
    pub(crate) fn made(&self) -> usize {
        self.made
    }

    /// Lets other calls have the ids of this answer's: nobody has seen them.
    pub(crate) fn forget_ids(&mut self) {
        let crew = Arc::clone(&self.crew);
        self.calls().for_each(|call| crew.forget(&call.id));
    }

    /// Returns whether anything of the answer was shown: then the request must not be sent again.
    pub(crate) fn visible(&self) -> bool {
        self.visible
    }

    /// Returns what the answer has used so far.
    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    /// Takes one chunk and returns what to show for it.
    pub(crate) fn push(&mut self, chunk: Chunk) -> Result<Option<EventKind>, ProviderFailure> {
        if self.stop.is_some() {
            // Late events after the end are noise (NET-9).
            return Ok(None);
        }
        let shown = match chunk {
            Chunk::Started { model } => {
                if !model.is_empty() {
                    self.model = model.into();
                }
                return Ok(Some(EventKind::MessageStarted { model: self.model.clone() }));
            }
            Chunk::Usage(usage) => {
                self.usage = usage;
                None
            }
            Chunk::Done(stop) => {
                self.stop = Some(stop);
                None
            }
            // Neither this nor a signature says anything to anybody: the request may still be sent again.
            Chunk::BlockEnd => {
                let was_open = std::mem::replace(&mut self.open, false);
                return Ok(was_open.then_some(EventKind::BlockFinished));
            }
            Chunk::Text(text) if text.is_empty() => None,
            Chunk::Text(text) => {
                match self.open_draft() {
                    Some(Draft::Text(draft)) => draft.push_str(&text),
                    _ => self.begin(Draft::Text(text.clone())),
                }
                Some(EventKind::AssistantDelta { text })
            }
            Chunk::Thinking(text) => {
                match self.open_draft() {
                    Some(Draft::Thinking { text: draft, .. }) => draft.push_str(&text),
                    _ => self.begin(Draft::Thinking { text: text.clone(), replay: None }),
                }
                (!text.is_empty()).then_some(EventKind::ThinkingDelta { text })
            }
            Chunk::ThinkingReplay(opaque) => {
                let told = EventKind::ThinkingSigned { replay: opaque.clone() };
                match self.open_draft() {
                    Some(Draft::Thinking { replay, .. }) => *replay = Some(opaque),
                    _ => self.begin(Draft::Thinking { text: String::new(), replay: Some(opaque) }),
                }
                return Ok(Some(told));
            }
            Chunk::CallStart { index, id, name, replay } => {
                let (theirs, id_origin) = match id {
                    Some(id) => (CallId::new(id), IdOrigin::Provider),
                    None => {
                        self.made += 1;
                        (CallId::new(format!("call_{}_{}", self.maker, self.made)), IdOrigin::Made)
                    }
                };
                self.start_call(index, theirs, id_origin, name.into(), replay)?;
                None
            }
            Chunk::CallInput { index, json } => {
                let CallDraft { id, name, input, .. } = self.call(index)?;
                input.push_str(&json);
                let (call, name) = (id.clone(), name.clone());
                (!json.is_empty()).then_some(EventKind::ToolInputDelta { index, call, name, json })
            }
            Chunk::CallEnd { index } => {
                self.call(index)?.ended = true;
                None
            }
        };
        self.visible |= shown.is_some();
        Ok(shown)
    }

    /// Returns the complete reply, once the answer is done.
    pub(crate) fn finish(self) -> Option<Reply> {
        let stop = self.stop?;
        let blocks = self.drafts.into_iter().map(|draft| match draft {
            Draft::Text(text) => Block::Text(text),
            Draft::Thinking { text, replay } => Block::Thinking(Thinking { text, replay }),
            Draft::Call(call) => Block::ToolCall(call.finish()),
        });
        let message = Message { role: Role::Assistant, blocks: blocks.collect() };
        Some(Reply { message: Arc::new(message), model: self.model, usage: self.usage, stop: Some(stop) })
    }

    /// Returns what has arrived of an answer that was cut off, if it says anything. Calls are left out: one that
    /// did not arrive whole is never executed, and one that did has no result.
    pub(crate) fn partial(self) -> Option<Reply> {
        let blocks: Vec<_> = self
            .drafts
            .into_iter()
            .filter_map(|draft| match draft {
                Draft::Text(text) => Some(Block::Text(text)),
                Draft::Thinking { text, replay } => Some(Block::Thinking(Thinking { text, replay })),
                Draft::Call(_) => None,
            })
            .collect();
        (!blocks.is_empty()).then(|| Reply {
            message: Arc::new(Message { role: Role::Assistant, blocks }),
            model: self.model,
            usage: self.usage,
            stop: None,
        })
    }

    fn open_draft(&mut self) -> Option<&mut Draft> {
        if self.open { self.drafts.last_mut() } else { None }
    }

    fn begin(&mut self, draft: Draft) {
        self.drafts.push(draft);
        self.open = true;
    }

    /// Takes the beginning of a call, and gives it an id that no other call of the session has.
    fn start_call(
        &mut self,
        index: u32,
        theirs: CallId,
        id_origin: IdOrigin,
        name: Arc<str>,
        replay: Option<Opaque>,
    ) -> Result<(), ProviderFailure> {
        if self.calls().any(|other| other.index == index || other.theirs == theirs) {
            return Err(contradiction(format!("tool call {index} was started twice")));
        }
        let id = self.crew.name(&theirs);
        let id_origin = if id == theirs { id_origin } else { IdOrigin::Made };
        let (input, ended) = (String::new(), false);
        self.drafts.push(Draft::Call(CallDraft { index, theirs, id, id_origin, name, input, replay, ended }));
        self.open = false;
        Ok(())
    }

    fn calls(&mut self) -> impl Iterator<Item = &mut CallDraft> {
        self.drafts.iter_mut().filter_map(|d| if let Draft::Call(call) = d { Some(call) } else { None })
    }

    fn call(&mut self, index: u32) -> Result<&mut CallDraft, ProviderFailure> {
        match self.calls().find(|call| call.index == index) {
            Some(call) if call.ended => {
                Err(contradiction(format!("tool call {index} went on after its end")))
            }
            Some(call) => Ok(call),
            None => Err(contradiction(format!("tool call {index} was never started"))),
        }
    }
}

impl CallDraft {
    fn finish(self) -> ToolCall {
        let input = match self.input {
            text if !self.ended || text.len() > MAX_INPUT_BYTES => ToolInput::Malformed(text),
            text => ToolInput::parse(text),
        };
        let Self { id, id_origin, name, replay, .. } = self;
        ToolCall { id, name: name.to_string(), input, id_origin, replay }
    }
}

fn contradiction(message: String) -> ProviderFailure {
    ProviderFailure::new(FailureKind::Parse, message)
}
