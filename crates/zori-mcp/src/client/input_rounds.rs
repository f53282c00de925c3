//! Requests that a server answers with a question before it goes on (`input_required`, MCP-70): a round for each answer.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::{Map, Value, json};

use super::peer::Peer;
use super::server::{self, Server};
use super::servers::Shared;

/// So often a request may ask for more input.
pub const MAX_ROUNDS: usize = 10;

/// Returns whether a server wants an answer first.
pub fn wants_input(result: &Value) -> bool {
    result["resultType"] == "input_required"
}

/// Says that it never went on.
pub fn too_many() -> String {
    format!("it asked for more input {MAX_ROUNDS} times")
}

/// Makes a request, and answers what the server asks for before it goes on. An error says why there is no result. `late` says why it is dropped:
/// its time is over.
pub async fn request(
    server: &Server,
    shared: &Shared,
    peer: &Arc<Peer>,
    (method, mut params): (&str, Value),
    late: &AtomicBool,
) -> Result<Value, String> {
    for _ in 0..=MAX_ROUNDS {
        let result = peer.call_with(method, params.clone(), Vec::new(), None, late).await;
        let result = result.map_err(|failure| failure.words())?;
        if !wants_input(&result) {
            return Ok(result);
        }
        answer(server, shared, peer, &result, &mut params).await?;
    }
    Err(too_many())
}

/// Answers what a server asks for, in what is sent next.
pub async fn answer(
    server: &Server,
    shared: &Shared,
    peer: &Peer,
    result: &Value,
    params: &mut Value,
) -> Result<(), String> {
    let mut responses = Map::new();
    for (key, request) in result["inputRequests"].as_object().into_iter().flatten() {
        let method = request["method"].as_str().unwrap_or_default();
        if method != "elicitation/create" {
            let method = zori_core::text::prefix(method, 40);
            return Err(format!("it asks for `{method}`, which is not offered by this client"));
        }
        let answer = match peer.may_elicit {
            true => server::answer_form(server, shared, &request["params"]).await,
            false => json!({"action": "decline"}),
        };
        responses.insert(key.clone(), answer);
    }
    params["inputResponses"] = responses.into();
    // What the server gave goes back as it is, and to nobody else.
    match result.get("requestState") {
        Some(state) => params["requestState"] = state.clone(),
        None => drop(params.as_object_mut().and_then(|params| params.remove("requestState"))),
    }
    Ok(())
}
