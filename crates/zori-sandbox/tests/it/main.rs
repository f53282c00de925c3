//! What the sandbox promises, tested on this machine's kernel: what gets out ([`escape`]), and what still works inside
//! ([`inside`]).

#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "what runs between fork and exec has no safe interface")]
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "the helpers of tests are outside of test functions"
)]

mod escape;
mod inside;
