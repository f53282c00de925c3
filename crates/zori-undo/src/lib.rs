//! Checkpoints: what calls change on disk is captured, shown and put back, and what a person wrote is never lost.
//!
//! [`capture`] implements `zori_core::checkpoint::Checkpoints`; [`plan`] is the pure heart of a restore, [`restore`] carries
//! it out, [`store`] is what is on disk. [`timeline`] says which operations an undo is about.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod blobs;
pub mod capture;
pub mod contents;
pub mod diff;
pub mod disk;
pub mod error;
pub mod gc;
mod git;
pub mod hash;
mod lease;
mod live;
pub mod op;
pub mod plan;
pub mod purge;
mod repository;
pub mod restore;
pub mod rewind;
mod scope;
pub mod state;
pub mod store;
pub mod timeline;
mod tree;
mod watch;
