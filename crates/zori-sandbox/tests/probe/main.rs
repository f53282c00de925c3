//! The escape cases (SB-10). `drive` stands outside: it builds a small world with secrets, victims and listeners, runs
//! each case of the table in a sandbox, and looks whether anything got out. `attack` is what a case runs inside where a
//! shell cannot do it.
//!
//! The test that starts it is `tests/it/escape.rs`. It is a program of its own so that it can be copied to where another
//! user reaches it.

#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "attacks are made of bare system calls")]
#![expect(clippy::disallowed_methods, reason = "a program of its own, which goes where its attacks begin")]
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test program speaks by printing and panicking"
)]

mod attack;
mod cases;
mod drive;
mod outside;
mod world;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["drive", backend, user, scratch] => drive::drive(backend, user, scratch.as_ref()),
        ["attack", name, ref rest @ ..] => attack::attack(name, rest),
        _ => panic!("usage: sandbox-probe drive BACKEND USER SCRATCH | attack NAME ARG..."),
    }
}
