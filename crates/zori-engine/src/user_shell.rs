//! Commands that the user runs beside the conversation (`!command`), between turns and while one runs.
//!
//! They go through the same decision as calls of the model, but the person's word answers what would be asked; a denial holds.
//! They are no part of the conversation: what the model should know of them comes back as a note for the next prompt. What they change is the
//! user's own doing, so no undo of a turn takes it back.

use std::collections::HashSet;
use std::future::poll_fn;
use std::task::Poll;

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use zori_core::BoxFuture;
use zori_core::ids::CallId;
use zori_core::input::Input;
use zori_core::message::{IdOrigin, ToolCall, ToolInput, ToolResult};
use zori_core::outcome::CancelCause;
use zori_core::render::Sink;
use zori_policy::Policy;

use crate::control::Control;
use crate::dispatch::Dispatch;
use crate::engine::Engine;
use crate::reprompt::Mistakes;
use crate::settings::CallOrder;
use crate::shared::Shared;

/// The tool that runs commands.
const TOOL: &str = "bash";
/// How long one may take, in seconds: as long as the tool lets it.
const TIMEOUT_SECS: u32 = 600;

/// The commands of the user that run.
pub struct UserShells<S> {
    shared: Shared<S>,
    policy: Policy,
    running: Vec<Running>,
}

struct Running {
    inputs: mpsc::Sender<Input>,
    /// Whether a person typed it, whose word answers what would be asked.
    by_user: bool,
    done: BoxFuture<'static, UserCommand>,
}

/// A command of the user that is over.
#[derive(Clone, Debug)]
pub struct UserCommand {
    /// What was run.
    pub command: String,
    /// Whether the model reads of it with the next prompt.
    pub share: bool,
    /// What came of it.
    pub result: ToolResult,
}

impl UserCommand {
    /// Returns what the model reads of it.
    pub fn note(&self) -> String {
        format!(
            "The user ran this command in the terminal, beside the conversation:\n$ {}\n{}",
            self.command,
            self.result.content()
        )
    }
}

impl<S: Sink + 'static> Engine<S> {
    /// Returns what runs commands of the user, under the rules in force now.
    pub fn user_shells(&self) -> UserShells<S> {
        UserShells { shared: self.shared.clone(), policy: self.policy.clone(), running: Vec::new() }
    }
}

impl<S: Sink + 'static> UserShells<S> {
    /// Starts a command. Its events are those of an agent of their own.
    pub fn start(&mut self, command: String, share: bool) {
        self.begin(command, share, true);
    }

    /// Starts a command that a file of the user's or the project's has in a prompt: what would be asked is asked (CUS-3).
    pub fn start_asking(&mut self, command: String) {
        self.begin(command, false, false);
    }

    /// Hands an answer to the commands that may ask.
    pub fn answer(&self, input: &Input) {
        for running in self.running.iter().filter(|running| !running.by_user) {
            // It waits for the answer, so there is room.
            let _ = running.inputs.try_send(input.clone());
        }
    }

    fn begin(&mut self, command: String, share: bool, by_user: bool) {
        let registry = &self.shared.registry;
        let id = registry.unique_call_id(&CallId::new("user"));
        let arguments = serde_json::json!({ "command": command, "timeout_secs": TIMEOUT_SECS });
        let input = RawValue::from_string(arguments.to_string()).expect("a value is JSON");
        let (name, input) = (TOOL.to_owned(), ToolInput::Json(input));
        let call = ToolCall { id, name, input, id_origin: IdOrigin::Made, replay: None };
        let (inputs, receiver) = mpsc::channel(4);
        let mut shared = self.shared.clone();
        shared.emitter = shared.emitter.of_agent(registry.number_agent(), None);
        let mut policy = self.policy.clone();
        if by_user {
            // What a command of a file is narrowed to is not for the person.
            policy.widen();
        }
        let done = Box::pin(async move {
            let result = run(shared, policy, call, receiver, by_user).await;
            UserCommand { command, share, result }
        });
        self.running.push(Running { inputs, by_user, done });
    }

    /// Lets later commands run in another permission mode, if there is one of this name.
    pub fn set_mode(&mut self, name: &str) {
        if let Ok((mode, shell)) = (self.shared.modes)(name) {
            self.policy.mode = mode;
            self.policy.shell = shell;
        }
    }

    /// Stops all that run.
    pub fn cancel(&self, cause: CancelCause) {
        for running in &self.running {
            // There is room, or it is about to end.
            let _ = running.inputs.try_send(Input::Cancel(cause));
        }
    }

    /// Returns whether nothing runs.
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Waits for the next one to end; for ever if nothing runs. A wait that is dropped loses nothing.
    pub async fn next(&mut self) -> UserCommand {
        poll_fn(|cx| {
            for at in 0..self.running.len() {
                if let Poll::Ready(done) = self.running[at].done.as_mut().poll(cx) {
                    drop(self.running.remove(at));
                    return Poll::Ready(done);
                }
            }
            Poll::Pending
        })
        .await
    }
}

async fn run<S: Sink + 'static>(
    mut shared: Shared<S>,
    mut policy: Policy,
    call: ToolCall,
    mut inputs: mpsc::Receiver<Input>,
    by_user: bool,
) -> ToolResult {
    let spawner = std::sync::Arc::new(crate::subagent::SubagentSpawner {
        shared: shared.clone(),
        totals: std::sync::Arc::default(),
    });
    let (image_support, model) = (shared.models.image_support.clone(), shared.settings.model.clone());
    let mut dispatch = Dispatch {
        toolbox: &*shared.toolbox,
        policy: &mut policy,
        modes: &shared.modes,
        hooks: shared.hooks.as_deref(),
        checkpoints: None,
        hook_messages: Vec::new(),
        halt: None,
        interrupted: false,
        clock: &*shared.clock,
        emitter: &mut shared.emitter,
        control: &mut Control::new(&mut inputs, None),
        image_support: &|image| image_support(&model, image),
        live: shared.settings.live_output,
        registry: &shared.registry,
        spawner,
        granted: &mut Vec::new(),
        order: CallOrder::OneByOne,
        withheld: None,
        mistakes: &Mistakes::default(),
        repaired: &HashSet::new(),
        by_user,
    };
    let mut results = dispatch.run(std::slice::from_ref(&call)).await.results;
    results.pop().expect("a call has a result")
}
