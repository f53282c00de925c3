//! How often and how long a run tries: retries of a request, the limits of its phases, and how long a client may think.

use std::time::Duration;

use zori_core::transport;
use zori_host::{Backoff, Retry};
use zori_policy::mode::Protocol;

use crate::args::LowArgs;
use crate::config::Config;
use crate::environment::Environment;

/// Returns how long the client of a protocol may take to answer for a call; `None`: as long as it likes.
pub(super) fn approval(config: &Config) -> Option<Duration> {
    config.count("approval_timeout_secs").filter(|seconds| *seconds > 0).map(Duration::from_secs)
}

/// Returns how often a failed request is tried again. Clients of the Claude protocol say it in a variable of theirs.
pub fn retry(args: &LowArgs, config: &Config, env: &Environment) -> Retry {
    let claude = || env.text("CLAUDE_CODE_MAX_RETRIES")?.parse().ok();
    let per_request = args
        .request
        .retries
        .or_else(|| {
            args.protocol.spoken().filter(|protocol| *protocol != Protocol::Own).and_then(|_| claude())
        })
        .or_else(|| config.count("retries").map(|n| n as u32))
        .unwrap_or(Retry::DEFAULT.per_request);
    let base =
        args.request.retry_delay_ms.or_else(|| config.count("retry_delay_ms")).map(Duration::from_millis);
    Retry {
        per_request,
        per_turn: Retry::DEFAULT.per_turn.max(per_request),
        base: base.unwrap_or(Retry::DEFAULT.base),
        backoff: Backoff::Wait,
    }
}

/// Returns how long each phase of a request may take.
pub fn http_limits(args: &LowArgs, config: &Config) -> transport::Timeouts {
    let limit = |key, default| match config.count(key) {
        Some(0) => None,
        Some(ms) => Some(Duration::from_millis(ms)),
        None => default,
    };
    let default = transport::Timeouts::DEFAULT;
    transport::Timeouts {
        connect: args.request.connect_timeout.unwrap_or_else(|| limit("connect_timeout_ms", default.connect)),
        first_byte: limit("first_byte_timeout_ms", default.first_byte),
        idle: limit("idle_timeout_ms", default.idle),
        pings: limit("ping_timeout_ms", default.pings),
    }
}
