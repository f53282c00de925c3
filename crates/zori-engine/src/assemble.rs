//! Assembles the chunks of a reply into one message, and returns the events to emit on the way. A pure state machine.

use std::sync::Arc;

use serde_json::value::RawValue;
use zori_core::event::{MessageEvent, Reply};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::ids::CallId;
use zori_core::lenient_json;
use zori_core::message::{Block, IdOrigin, Message, Opaque, Role, Thinking, ToolCall, ToolInput};
use zori_core::provider::{Chunk, StopReason};
use zori_core::tool::Leniency;
use zori_core::usage::Usage;

use crate::agent_registry::AgentRegistry;

/// Arguments beyond this are never executed (NET-8).
const MAX_INPUT_BYTES: usize = 8 << 20;

/// A reply that is being received.
pub(crate) struct Assembly {
    /// The model that was asked; reasoning belongs to it.
    asked: Arc<str>,
    leniency: Leniency,
    model: Arc<str>,
    /// The prefix of generated call ids, and how many were generated so far.
    id_prefix: String,
    generated_ids: usize,
    /// Keeps the call ids of the session unique.
    registry: Arc<AgentRegistry>,
    drafts: Vec<Draft>,
    /// Whether the last draft takes further text or thinking.
    open: bool,
    usage: Usage,
    stop: Option<StopReason>,
    begun: bool,
    visible: bool,
    said: bool,
    contradicts: bool,
}

enum Draft {
    Text(String),
    Thinking { text: String, replay: Option<Opaque> },
    Call(CallDraft),
}

struct CallDraft {
    index: u32,
    /// The provider's id.
    provider_id: CallId,
    /// The id that is unique in the session.
    id: CallId,
    id_origin: IdOrigin,
    name: Arc<str>,
    input: String,
    replay: Option<Opaque>,
    ended: bool,
}

impl Assembly {
    /// `model` is the requested one; the provider may name it more exactly. Generated call ids start with `id_prefix` and
    /// are numbered on from `generated_ids`.
    pub(crate) fn new(
        model: Arc<str>,
        id_prefix: String,
        generated_ids: usize,
        registry: Arc<AgentRegistry>,
        leniency: Leniency,
    ) -> Self {
        Self {
            asked: model.clone(),
            leniency,
            model,
            id_prefix,
            generated_ids,
            registry,
            drafts: Vec::new(),
            open: false,
            usage: Usage::default(),
            stop: None,
            begun: false,
            visible: false,
            said: false,
            contradicts: false,
        }
    }

    /// Returns how many call ids were generated so far, in earlier replies as well.
    pub(crate) fn generated_ids(&self) -> usize {
        self.generated_ids
    }

    /// Frees the call ids of this reply, which no event has mentioned.
    pub(crate) fn release_ids(&mut self) {
        let registry = Arc::clone(&self.registry);
        self.calls().for_each(|call| registry.release_call_id(&call.id));
    }

    /// Returns whether events have mentioned any part of the reply.
    pub(crate) fn visible(&self) -> bool {
        self.visible
    }

    /// Returns whether words of the model were shown; arguments of a call that was never run are no words (FOR-13).
    pub(crate) fn has_text(&self) -> bool {
        self.said || self.visible && self.leniency == Leniency::Exact
    }

    /// Returns whether the reply has its end.
    pub(crate) fn is_complete(&self) -> bool {
        self.stop.is_some()
    }

    /// Returns whether the provider began to reply.
    pub(crate) fn begun(&self) -> bool {
        self.begun
    }

    /// Returns whether the stream contradicted itself.
    pub(crate) fn contradicts(&self) -> bool {
        self.contradicts
    }

    /// Returns the usage reported so far.
    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    /// Adds a chunk, and returns the event to emit for it.
    pub(crate) fn push(&mut self, chunk: Chunk) -> Result<Option<MessageEvent>, ProviderFailure> {
        let added = self.add(chunk);
        self.contradicts |= added.is_err();
        added
    }

    fn add(&mut self, chunk: Chunk) -> Result<Option<MessageEvent>, ProviderFailure> {
        if self.stop.is_some() {
            // Late events after the end are noise (NET-9).
            return Ok(None);
        }
        let shown = match chunk {
            Chunk::Started { model } => {
                self.begun = true;
                if !model.is_empty() {
                    self.model = model.into();
                }
                return Ok(Some(MessageEvent::MessageStarted { model: self.model.clone() }));
            }
            // Told by whoever receives the reply.
            Chunk::Status(_) | Chunk::CallReason(_) => return Ok(None),
            Chunk::Usage(usage) => {
                self.usage = usage;
                None
            }
            Chunk::Done(stop) => {
                self.stop = Some(stop);
                None
            }
            // Neither this nor a signature shows anything: the request may still be sent again.
            Chunk::BlockEnd => {
                let was_open = std::mem::replace(&mut self.open, false);
                return Ok(was_open.then_some(MessageEvent::BlockFinished));
            }
            Chunk::Text(text) if text.is_empty() => None,
            Chunk::Text(text) => {
                match self.open_draft() {
                    Some(Draft::Text(draft)) => draft.push_str(&text),
                    _ => self.begin(Draft::Text(text.clone())),
                }
                Some(MessageEvent::AssistantDelta { text })
            }
            Chunk::Thinking(text) => {
                match self.open_draft() {
                    Some(Draft::Thinking { text: draft, .. }) => draft.push_str(&text),
                    _ => self.begin(Draft::Thinking { text: text.clone(), replay: None }),
                }
                (!text.is_empty()).then_some(MessageEvent::ThinkingDelta { text })
            }
            Chunk::ThinkingReplay(opaque) => {
                let opaque = Opaque { model: Some(self.asked.clone()), ..opaque };
                let told = MessageEvent::ThinkingSigned { replay: opaque.clone() };
                match self.open_draft() {
                    Some(Draft::Thinking { replay, .. }) => *replay = Some(opaque),
                    _ => self.begin(Draft::Thinking { text: String::new(), replay: Some(opaque) }),
                }
                return Ok(Some(told));
            }
            Chunk::CallStart { index, id, name, replay } => {
                let (provider_id, id_origin) = match id {
                    Some(id) => (CallId::new(id), IdOrigin::Provider),
                    None => {
                        self.generated_ids += 1;
                        (
                            CallId::new(format!("call_{}_{}", self.id_prefix, self.generated_ids)),
                            IdOrigin::Made,
                        )
                    }
                };
                let replay = replay.map(|opaque| Opaque { model: Some(self.asked.clone()), ..opaque });
                self.start_call(index, provider_id, id_origin, name.into(), replay)?;
                None
            }
            Chunk::CallInput { index, json } => {
                let CallDraft { id, name, input, .. } = self.call(index)?;
                input.push_str(&json);
                let (call, name) = (id.clone(), name.clone());
                (!json.is_empty()).then_some(MessageEvent::ToolInputDelta { index, call, name, json })
            }
            Chunk::CallEnd { index } => {
                self.call(index)?.ended = true;
                None
            }
        };
        self.visible |= shown.is_some();
        self.said |=
            matches!(shown, Some(MessageEvent::AssistantDelta { .. } | MessageEvent::ThinkingDelta { .. }));
        Ok(shown)
    }

    /// Returns the reply if it is complete.
    ///
    /// Returns as well the calls whose arguments were repaired.
    pub(crate) fn finish(self) -> Option<(Reply, Vec<CallId>)> {
        let stop = self.stop?;
        let mut repaired = Vec::new();
        let leniency = self.leniency;
        let blocks: Vec<Block> = self
            .drafts
            .into_iter()
            .map(|draft| match draft {
                Draft::Text(text) => Block::Text(text),
                Draft::Thinking { text, replay } => Block::Thinking(Thinking { text, replay }),
                Draft::Call(call) => {
                    let mut call = call.finish();
                    repaired.extend(repair(&mut call, leniency));
                    Block::ToolCall(call.call)
                }
            })
            .collect();
        let message = Message { role: Role::Assistant, blocks };
        let reply = Reply {
            message: Arc::new(message),
            model: self.model,
            usage: self.usage,
            stop: Some(stop),
            discarded: false,
        };
        Some((reply, repaired))
    }

    /// Returns the part of an incomplete reply that has arrived, if any. It leaves out calls: an incomplete one is never
    /// executed, and a complete one has no result.
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
            discarded: false,
        })
    }

    fn open_draft(&mut self) -> Option<&mut Draft> {
        if self.open { self.drafts.last_mut() } else { None }
    }

    fn begin(&mut self, draft: Draft) {
        self.drafts.push(draft);
        self.open = true;
    }

    /// Starts a call, and gives it an id that no other call of the session has.
    fn start_call(
        &mut self,
        index: u32,
        provider_id: CallId,
        id_origin: IdOrigin,
        name: Arc<str>,
        replay: Option<Opaque>,
    ) -> Result<(), ProviderFailure> {
        // Two calls with one id are two calls; only the index says which one goes on (FOR-10).
        let same = |other: &mut CallDraft| other.index == index;
        let strict = self.leniency == Leniency::Exact;
        if self.calls().any(|other| same(other) || strict && other.provider_id == provider_id) {
            return Err(protocol_error(format!("tool call {index} was started twice")));
        }
        let id = self.registry.unique_call_id(&provider_id);
        let id_origin = if id == provider_id { id_origin } else { IdOrigin::Made };
        let (input, ended) = (String::new(), false);
        self.drafts.push(Draft::Call(CallDraft {
            index,
            provider_id,
            id,
            id_origin,
            name,
            input,
            replay,
            ended,
        }));
        self.open = false;
        Ok(())
    }

    fn calls(&mut self) -> impl Iterator<Item = &mut CallDraft> {
        self.drafts.iter_mut().filter_map(|d| if let Draft::Call(call) = d { Some(call) } else { None })
    }

    fn call(&mut self, index: u32) -> Result<&mut CallDraft, ProviderFailure> {
        match self.calls().find(|call| call.index == index) {
            Some(call) if call.ended => {
                Err(protocol_error(format!("tool call {index} went on after its end")))
            }
            Some(call) => Ok(call),
            None => Err(protocol_error(format!("tool call {index} was never started"))),
        }
    }
}

/// A call that has arrived, and whether all of it has.
struct ArrivedCall {
    call: ToolCall,
    whole: bool,
}

/// Repairs the arguments of a call that arrived whole. Returns its id if it did.
fn repair(arrived: &mut ArrivedCall, leniency: Leniency) -> Option<CallId> {
    let ToolInput::Malformed(text) = &arrived.call.input else { return None };
    if leniency == Leniency::Exact || !arrived.whole {
        return None;
    }
    let json = lenient_json::repaired(text)?;
    arrived.call.input = ToolInput::Json(RawValue::from_string(json).ok()?);
    Some(arrived.call.id.clone())
}

impl CallDraft {
    fn finish(self) -> ArrivedCall {
        let whole = self.ended && self.input.len() <= MAX_INPUT_BYTES;
        let input = match self.input {
            text if !self.ended || text.len() > MAX_INPUT_BYTES => ToolInput::Malformed(text),
            text => ToolInput::parse(text),
        };
        let Self { id, id_origin, name, replay, .. } = self;
        ArrivedCall { call: ToolCall { id, name: name.to_string(), input, id_origin, replay }, whole }
    }
}

fn protocol_error(message: String) -> ProviderFailure {
    ProviderFailure::new(FailureKind::Parse, message)
}
