//! The providers against recorded and written streams, and the HTTP client against a loopback server.

mod anthropic_cuts;
mod anthropic_replies;
mod anthropic_requests;
mod anthropic_trouble;
mod ask;
mod demo;
mod http;
mod loopback;
mod tls;
