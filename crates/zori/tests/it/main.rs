//! Behaviour tests: the real executable in a hermetic environment, whole output compared. One file per behaviour.

mod chat;
mod cli;
mod config;
mod demo;
mod errors;
mod exec;
mod guidelines;
mod interrupt;
mod limits;
mod output;
mod policy;
mod processes;
mod profiles;
mod prompt;
mod providers;
mod resume;
mod sessions;
mod system_prompt;
mod timeout;
mod tools;
mod trouble;
mod world;
