//! The built-in tools, one file each, and the name tables (dialects) over them.
//!
//! Start with [`toolset`]: it turns a dialect and a [`env::ToolEnv`] into the `Toolbox` the engine sees. A tool is one
//! struct, one [`def::ToolDef`] and one entry in each dialect that shows it.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod args;
pub mod ask_user;
pub mod atomic;
pub mod bash;
pub mod blocking;
mod cancellable;
pub mod change;
mod confined;
pub mod context;
pub mod def;
pub mod dialect;
pub mod edit;
pub mod env;
pub mod fetch;
pub mod foreign;
pub mod glob;
pub mod grep;
pub mod hooks;
pub mod job_kill;
pub mod job_output;
mod listing;
pub mod lookup;
pub mod ls;
pub mod matching;
pub mod mended_path;
pub mod multi_edit;
pub mod notebook;
pub mod notebook_edit;
pub mod one_file;
pub mod open_dir;
pub mod patch;
pub mod paths;
pub mod plain;
mod preview;
pub mod process;
pub mod read;
pub mod seen;
pub mod spelling;
pub mod target;
pub mod task;
pub mod textfile;
pub mod todo;
pub mod toolset;
pub mod walk;
pub mod web_search;
pub mod write;

#[cfg(test)]
mod testing;
