//! Checkpoints on a real file system: capture, undo, redo, crashes, faults, and users who edit meanwhile.

#![expect(clippy::unwrap_used, reason = "helpers of tests, in which what fails is a failed test")]

mod commands;
mod damage;
mod faults;
#[cfg(target_os = "linux")]
mod killed;
mod long_files;
mod model;
mod project;
mod purge;
mod racing;
mod repositories;
mod scarce;
mod scope;
