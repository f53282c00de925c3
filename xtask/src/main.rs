//! The chores of the workspace, run as `cargo xtask CHORE`.
//!
//! `tidy` keeps the house rules (its checks are also the tests of this crate), `docs` writes the generated
//! reference pages, `picture` draws the README's picture, `test` runs every test, `conformance` drives zori with the
//! clients of others, `dist` makes packages, `fuzz` and `soak` go on for longer, `bench` measures speed and size, `order` tells
//! the linker what a start runs. Nothing here is part of the product.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore talks to the person who runs it")]

mod bench;
mod conformance;
mod dist;
mod docs;
mod fuzz;
mod picture;
mod soak;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;

use crate::workspace::Workspace;

/// A chore: its name, what it takes, what it does, and the function that does it.
struct Chore {
    name: &'static str,
    args: &'static str,
    about: &'static str,
    run: fn(&Workspace, &[String]) -> Result<ExitCode>,
}

const CHORES: &[Chore] = &[
    Chore { name: "tidy", args: "", about: "Check the house rules", run: tidy::chore },
    Chore { name: "docs", args: "", about: "Write the generated reference pages", run: docs::chore },
    Chore {
        name: "picture",
        args: "[screens [FOLDER]]",
        about: "Draw docs/chat.png from a run of the demo, or the screens of the chat as PNGs",
        run: picture::chore,
    },
    Chore { name: "test", args: "[ARGS]", about: "Run every test, doc tests included", run: test::chore },
    Chore {
        name: "conformance",
        args: "[CLIENT ...] [--all] [--bin PATH] [--case NAME]",
        about: "Drive zori with the SDKs and editor libraries of others",
        run: conformance::chore,
    },
    Chore {
        name: "dist",
        args: "[--out DIR] [--check]",
        about: "Make the tarball, the Debian package and the Python wheel",
        run: dist::chore,
    },
    Chore {
        name: "fuzz",
        args: "[SECONDS | build]",
        about: "Run every fuzz target over its corpus and on, or only build them",
        run: fuzz::chore,
    },
    Chore {
        name: "soak",
        args: "[AREA] [--hours N] [--part PERCENT]",
        about: "Run the long tests in full",
        run: soak::chore,
    },
    Chore {
        name: "bench",
        args: "[--binary PATH] [AREA]",
        about: "Measure speed and size",
        run: bench::chore,
    },
    Chore {
        name: "order",
        args: "",
        about: "Write which functions every start runs, for the linker to put side by side",
        run: bench::order::chore,
    },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = args.split_first() else {
        print_help();
        return ExitCode::SUCCESS;
    };
    let Some(chore) = CHORES.iter().find(|chore| chore.name == name) else {
        eprintln!("Error: no chore is called `{name}`");
        print_help();
        return ExitCode::from(2);
    };
    match Workspace::load().and_then(|workspace| (chore.run)(&workspace, rest)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn print_help() {
    println!("Usage: cargo xtask CHORE\n\nChores:");
    for chore in CHORES {
        println!("  {:<24} {}", format!("{} {}", chore.name, chore.args), chore.about);
    }
}
