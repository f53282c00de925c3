//! Between the chat and a terminal: bytes to keys, rows to bytes, and what the terminal is asked. Nothing here opens one.

pub mod decode;
pub mod inline;
pub mod modes;
pub mod paint;
pub mod probe;
pub mod screen;
