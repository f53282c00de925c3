//! A process that does nothing: what starting and ending one costs on this machine.

fn main() {}
