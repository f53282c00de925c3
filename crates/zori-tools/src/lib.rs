//! The built-in tools, one file each, and the name tables (dialects) over them.
//!
//! Start with [`toolset`]: it turns a dialect and a [`env::ToolEnv`] into the `Toolbox` the engine sees. A tool is one
//! struct, one [`def::ToolDef`] and one entry in each dialect that shows it.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod blocking;
pub mod def;
pub mod env;
