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
mod conversation;
mod demo;
mod discovery;
mod endless;
mod gemini_replies;
mod gemini_requests;
mod gemini_trouble;
mod http;
mod loopback;
mod mutations;
mod openai_responses_replies;
mod openai_responses_requests;
mod openai_responses_trouble;
mod tls;
mod vendor;
mod vendor_cuts;
