//! What people and projects bring along: custom commands (CUS-1 to CUS-3), skills (SK-1 to SK-6), and instruction files with
//! their imports (EXT-10 to EXT-13).
//!
//! Files are read in bounds and never followed out of their folder; nothing is run here, and nobody is asked. [`plain_dir`] reads a
//! folder that nobody has trusted, [`front_matter`] what stands between two lines of dashes.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod built_in;
pub mod catalogue;
pub mod command;
pub mod command_folder;
pub mod front_matter;
pub mod instructions;
pub mod matching;
pub mod plain_dir;
pub mod skill;
pub mod skill_folder;
pub mod template;
