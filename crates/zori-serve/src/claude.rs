//! The program behind the Claude protocol for SDKs: its requests ([`client`]), what it is asked ([`channel`]), its hooks and
//! tools ([`callbacks`], [`mcp`]), answers by a schema ([`structured`]), an earlier message to go on from ([`rewind`]). The lines
//! themselves are `zori_frontends::claude`; the process that serves them is the binary's.

pub mod agents;
pub mod callbacks;
pub mod channel;
pub mod client;
pub mod forms;
pub mod hook_events;
pub mod mcp;
mod mcp_control;
pub mod rewind;
pub mod rewind_files;
mod schema;
pub mod set_servers;
pub mod structured;
pub mod view;
