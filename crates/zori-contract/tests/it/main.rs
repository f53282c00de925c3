//! What the framework promises, tested on the example as a real process: no terminal, stdin closed, bad input, signals.

#[path = "../../examples/notes/commands.rs"]
mod commands;
#[path = "../../examples/notes/store.rs"]
mod store;

mod answers;
mod children;
mod discovery;
mod endings;
mod gates;
mod notes;
mod refusals;
mod requirements;
mod walks;
