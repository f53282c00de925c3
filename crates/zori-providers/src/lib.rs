//! Models behind their APIs, and the HTTP client they share.
//!
//! A provider encodes a request, sends it through a [`Transport`](zori_core::transport::Transport) and decodes
//! the answer to chunks. It does not retry, log, price or interpret. Start with [`anthropic`]; the next API is a
//! file beside it and a row in [`catalog`].

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod answer;
pub mod anthropic;
pub mod catalog;
mod encoded;
pub mod failure;
pub mod gemini;
pub mod http;
mod linger;
pub mod openai_responses;
pub mod replay;
mod reply;
pub mod scripted;
pub mod sse;
