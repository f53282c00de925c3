//! Commands that are turns with a fixed prompt: `/init` and `/review` (CMD-4).

use zori_contract::failure::Failure;

use super::Chat;
use super::slash::Next;

const INIT: &str = "Write a file AGENTS.md in the root of this project, for coding agents that work in it. Look first: build files, \
scripts, tests, the layout of the folders, what an existing README, CONTRIBUTING or CI says, and rules for other tools such as CLAUDE.md \
or .cursorrules. Say how to build, how to run all tests and a single one, how code is formatted and checked, where what is, and which \
conventions a newcomer would get wrong. Only what you have seen in the files, and nothing that is obvious; at most 60 lines. If AGENTS.md \
exists, improve it and keep what people wrote. Run the commands you name where that is quick and harmless.";

const REVIEW: &str = "Report what is wrong with it: bugs, lost errors, races, security problems, missing or weak tests, changes that the \
purpose does not need. Read the code around a change before you judge it, and prove a finding where that is cheap. For each finding: the \
file and line, what goes wrong and when, and how bad it is; the worst first. Say so if there is nothing. Change no file.";

/// `/init`: the model writes the project's guidelines.
pub(super) fn init(_: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    Ok(Next::Ask(INIT.to_owned()))
}

/// `/review [REF]`: the model looks at changes, and changes nothing.
pub(super) fn review(_: &mut Chat<'_, '_>, reference: &str) -> Result<Next, Failure> {
    let what = match reference {
        "" => "Review the uncommitted changes of this repository (`git status`, `git diff HEAD`, and files that are not tracked yet).".to_owned(),
        name => format!("Review what `{name}` changed: if it is a branch, its commits since it left this one (`git diff HEAD...{name}`); if it is a commit, that commit (`git show {name}`)."),
    };
    Ok(Next::Ask(format!("{what} {REVIEW}")))
}
