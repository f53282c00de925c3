//! Links the release build for Linux at a fixed address, so that nothing has to be relocated at start (ADR 8).
//! `ZORI_PIE=1` leaves it position independent, for distributions that want every program to be.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=ZORI_PIE");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|set| set == value);
    let gnu_linux = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if gnu_linux && is("PROFILE", "release") && !is("ZORI_PIE", "1") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
