//! What is typed and no table spells, put into the form that the parser knows: what `people` type, what SDKs of Claude Code
//! (`claude`) write, `show_config` in place of any command; and the command that a call without one means (`implied`).

mod claude;
pub mod implied;
pub mod people;
mod show_config;
