//! The sandbox for commands (`docs/contracts/sandbox.md`): the whole file tree readable but for secrets, little of it
//! writable, no network, no privileges.
//!
//! [`Spec`] says what a command may do. [`Sandbox`] is the entry point: it finds out what the machine offers
//! ([`backend`]), and prepares commands for it. [`bubblewrap`] builds a tree of mounts by the plan in [`layout`];
//! [`landlock`] grants rights on the tree that is there; [`seccomp`] filters system calls for both; [`seatbelt`] writes
//! the profile for macOS. How a failure is told apart from others is in [`denial_hint`]. Nothing here starts the
//! commands themselves.

#![deny(clippy::print_stdout, clippy::print_stderr)]

#[cfg(target_os = "linux")]
mod attributes;
#[cfg(target_os = "linux")]
mod backend;
#[cfg(target_os = "linux")]
mod bubblewrap;
mod denial_hint;
#[cfg(target_os = "linux")]
mod landlock;
mod layout;
#[cfg(target_os = "linux")]
mod path_state;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod sandbox;
pub mod seatbelt;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod set_aside;
mod spec;
#[cfg(target_os = "linux")]
mod stubs;

#[cfg(target_os = "linux")]
pub use self::backend::{Backend, Machine, Report, Strength};
#[cfg(target_os = "linux")]
pub use self::sandbox::{Requirement, Sandbox};
#[cfg(target_os = "linux")]
pub use self::seccomp::refused_calls;
pub use self::spec::{Level, Limits, Network, PathKind, ProtectedPath, Spec};
