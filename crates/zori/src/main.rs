//! The executable. Everything is in the library, so that tests and `xtask` can walk its tables.

use std::process::ExitCode;

fn main() -> ExitCode {
    zori::main()
}
