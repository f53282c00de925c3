//! The loop under test: a scripted model, tools made for the purpose, and the whole event list compared.

mod agents;
mod approvals;
mod cancelling;
mod compacting;
mod embedding;
mod failures;
mod hooks;
mod limits;
mod refusals;
mod stage;
mod tools;
mod turns;
