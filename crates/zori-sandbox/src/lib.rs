//! The sandbox for commands (`security.md` chapter 8): the whole file tree readable but for secrets, little of it
//! writable, no network, no privileges.
//!
//! [`Spec`] says what a command may do. [`Sandbox`] is the way in: it finds out what the machine offers ([`backend`]),
//! and prepares commands for it. [`bubblewrap`] builds a tree of mounts by the plan in [`layout`]; [`landlock`] grants
//! rights on the tree that is there; [`seccomp`] filters system calls for both; [`seatbelt`] writes the profile for
//! macOS. How a failure is told apart from others is in [`suspect`]. Nothing here starts the commands themselves.

#![deny(clippy::print_stdout, clippy::print_stderr)]

#[cfg(target_os = "linux")]
mod backend;
#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod landlock;
mod layout;
#[cfg(target_os = "linux")]
mod look;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod sandbox;
pub mod seatbelt;
#[cfg(target_os = "linux")]
mod seccomp;
mod spec;
#[cfg(target_os = "linux")]
mod stubs;
mod suspect;

#[cfg(target_os = "linux")]
pub use self::backend::{Backend, Machine, Report, Strength};
#[cfg(target_os = "linux")]
pub use self::sandbox::{Need, Sandbox};
#[cfg(target_os = "linux")]
pub use self::seccomp::refused_calls;
pub use self::spec::{Level, Limits, Network, PathKind, Protected, Spec};
