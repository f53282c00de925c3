//! The chat as a whole, against terminals that are models: what it shows at each width, and what a resize leaves of it.

mod frames;
mod hostile;
mod key_states;
mod pager;
mod panel;
mod plain;
mod put_by;
mod resize;
mod screens;
mod stage;
mod typing;
