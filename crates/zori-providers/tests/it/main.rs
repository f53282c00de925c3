//! The providers against recorded and written streams, and the HTTP client against a loopback server.

mod anthropic_cuts;
mod anthropic_replies;
mod anthropic_requests;
mod anthropic_trouble;
mod ask;
mod chat_ask;
mod chat_cuts;
mod chat_replies;
mod chat_requests;
mod chat_trouble;
mod demo;
mod discovery;
mod http;
mod loopback;
mod tls;
