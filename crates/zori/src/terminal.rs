//! What kind of place an agent command runs in, as far as its parts want to know.

use zori_contract::mode::Talk;

use crate::commands::Context;

/// Where the three streams go, and what that allows.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Standard input is a terminal.
    pub stdin: bool,
    /// Standard output is a terminal.
    pub stdout: bool,
    /// Standard error is a terminal.
    pub stderr: bool,
    /// Somebody is there: `CI`, `ZORI_AGENT=1` and `--non-interactive` say no (DECISIONS 20).
    pub attended: bool,
    /// Colour is wanted on standard error.
    pub colour: bool,
    /// Nothing is said on standard error: `--quiet`.
    pub quiet: bool,
    /// The answer is for an envelope, not for standard output.
    pub collected: bool,
}

impl Terminal {
    /// Takes over what the framework has found.
    pub fn of(cx: &Context<'_>, non_interactive: bool) -> Self {
        Self {
            stdin: cx.inputs.stdin_terminal,
            stdout: cx.inputs.stdout_terminal,
            stderr: cx.inputs.stderr_terminal,
            attended: cx.inputs.attended(cx.program.prefix) && !non_interactive,
            colour: cx.mode.colour_err,
            quiet: cx.mode.talk == Talk::Silent,
            collected: cx.mode.format.structured(),
        }
    }

    /// Returns whether a person can type and read here (DECISIONS 23).
    pub fn interactive(&self) -> bool {
        self.attended && self.stdin && self.stdout
    }
}
