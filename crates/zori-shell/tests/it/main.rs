//! What the analysis promises, statement by statement of `security.md` chapter 3.

mod limits;
mod show;
mod statements;
