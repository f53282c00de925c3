//! Models behind their APIs, and the HTTP client they share.
//!
//! A provider encodes a request, sends it through a [`Transport`](zori_core::transport::Transport) and decodes
//! the answer to chunks. It does not retry, log, price or interpret. Start with [`anthropic`]; the next API is a
//! file beside it and a row in [`catalog`]; the next server that speaks Chat Completions is a row in [`quirks`].

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod agent_zero;
mod answer;
pub mod anthropic;
mod borrowed_json;
pub mod catalog;
pub mod custom;
mod drain_body;
pub mod embeddings;
mod encoded;
pub mod endpoint;
pub mod failure;
pub mod gemini;
#[cfg(feature = "http")]
pub mod http;
pub mod key;
pub mod local;
pub mod models;
pub mod oauth;
pub mod openai;
pub mod openai_chat;
pub mod openai_responses;
pub mod qdrant;
pub mod quirks;
pub mod reachability;
#[cfg(feature = "http")]
pub mod recording;
pub mod replay;
mod reply;
pub mod scripted;
pub mod sse;
mod text_tools;
mod web_search;

// The examples of the README compile, and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
