//! What kind of place the program runs in: looked at once, then passed on as a value.

use std::io::IsTerminal;

/// Where the three streams go, and what that allows.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Standard input is a terminal.
    pub stdin: bool,
    /// Standard output is a terminal.
    pub stdout: bool,
    /// Standard error is a terminal.
    pub stderr: bool,
    /// Somebody is there: `CI` and `ZORI_AGENT=1` say no (DECISIONS 20).
    pub attended: bool,
    /// Colour is wanted where a stream is a terminal.
    pub colour: bool,
}

impl Terminal {
    /// Looks at the streams and the variables.
    pub fn detect() -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let agent = std::env::var_os("ZORI_AGENT").is_some_and(|value| value == "1");
        Self {
            stdin: std::io::stdin().is_terminal(),
            stdout: std::io::stdout().is_terminal(),
            stderr: std::io::stderr().is_terminal(),
            attended: !set("CI") && !agent,
            colour: std::env::var_os("NO_COLOR").is_none() && !set("CI") && !dumb,
        }
    }

    /// Returns whether a person can type and read here (DECISIONS 23).
    pub fn interactive(&self) -> bool {
        self.attended && self.stdin && self.stdout
    }
}
