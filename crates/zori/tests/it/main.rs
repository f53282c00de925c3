//! Behaviour tests: the real executable in a hermetic environment, whole output compared. One file per behaviour.

mod auth;
mod chat;
mod cli;
mod config;
mod context;
mod demo;
mod errors;
mod exec;
mod guidelines;
mod images;
mod interrupt;
mod limits;
mod output;
mod own_models;
mod processes;
mod profiles;
mod prompt;
mod providers;
mod recording;
mod resume;
mod sessions;
mod system_prompt;
mod timeout;
mod tools;
mod trouble;
mod world;
