//! What the analysis promises, statement by statement of `security.md` chapter 3.

mod differential;
mod limits;
mod properties;
mod show;
mod statements;
