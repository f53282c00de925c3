//! The vault: secrets in a file that only its key opens, and references to them (VLT-1 to VLT-6).
//!
//! [`place`] is where the two files are, [`file`] reads and replaces them, [`reference`] finds `vault:NAME` in a value, and
//! [`resolver::Resolver`] answers a reference from the environment, a credential store or the file. Nothing is opened before
//! the first reference, and what is found is known to the redactor before it is handed out.
//!
//! The crate reads no environment and prints nothing: the caller hands in values.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod error;
pub mod file;
pub mod place;
pub mod reference;
pub mod resolver;

pub use error::VaultError;
pub use file::VaultFile;
pub use place::VaultPlace;
pub use resolver::{Backend, Resolver};
