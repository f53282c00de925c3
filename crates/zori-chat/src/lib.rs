//! The chats that people have with a model: on the [`screen`] and in lines ([`chat`], over [`plain`]), their slash commands, and the [`demo`].
//!
//! What is drawn is `zori_tui`'s; here is what it is drawn from, and what a chat wants of the outside. The commands that open one are the binary's.

pub mod attachment;
pub mod chat;
pub mod demo;
pub mod frontend;
pub mod plain;
pub mod prompt_options;
pub mod recap;
pub mod scheduler;
pub mod screen;
pub mod typed_path;
