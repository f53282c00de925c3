//! Test support, used as a dev-dependency only.
//!
//! [`env::TestEnv`] runs the binary in a world of its own, [`server::ModelServer`] plays the model, and
//! [`anthropic`] writes its replies tersely; [`faults`] lists how an answer can go wrong on its way, and a
//! [`proxy::Proxy`] or a [`tls::TlsFront`] stands in between. A [`output::CommandOutput`] prints everything a user would see, with
//! what differs from run to run rewritten, so that a test compares one literal. [`pty::Pty`] is for what needs a
//! terminal, [`terminal::Terminal`] for what it would show, [`authorization::AuthorizationServer`] and [`browser`] for logins; [`random`] and [`shell`] make cases
//! from seeds, [`forgiveness`] plays a model's mistakes. A test about something a machine may lack asks [`needs`] first. Waiting is always for a condition and
//! always bounded ([`wait`]); a bound that is passed fails the test with the output so far.
//!
//! Unlike the product's libraries this crate reads the clock and `PATH`: it stands in for the outside.

pub mod agent_zero;
pub mod anthropic;
pub mod authorization;
pub mod browser;
pub mod env;
pub mod faults;
pub mod fixture;
pub mod forgiveness;
pub mod gate;
pub mod history;
pub mod mcp;
pub mod mcp_http;
pub mod needs;
pub mod output;
pub mod process;
pub mod proxy;
pub mod pty;
pub mod qdrant;
pub mod random;
pub mod reply;
pub mod rewrite;
pub mod running;
pub mod schema;
pub mod server;
pub mod shell;
pub mod terminal;
pub mod tls;
pub mod wait;

mod capture;
mod http;
mod loopback;
