//! zori.
fn main() {}
