//! What the analysis promises, statement by statement of `security.md` chapter 3.

mod show;
mod statements;
