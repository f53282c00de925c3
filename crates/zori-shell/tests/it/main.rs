//! What the analysis promises, statement by statement of `docs/contracts/shell-analysis.md`.

mod differential;
mod limits;
mod properties;
mod show;
mod statements;
