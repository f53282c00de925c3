//! What a client may say before `initialize`: that, a ping, or a request of the protocol without a handshake, which
//! carries what `initialize` would say. Everything else gets an error that says how to begin.

use rmcp::RoleServer;
use rmcp::model::{ClientRequest, ErrorCode, ErrorData, GetMeta, JsonRpcMessage, ProtocolVersion, RequestId};
use rmcp::service::RxJsonRpcMessage;

/// What becomes of a message that comes before the dialogue has begun.
pub(crate) enum EarlyMessage {
    /// The dialogue begins with it.
    Starts,
    /// It may come at any time.
    Allowed,
    /// It makes no sense yet, and nobody waits for an answer.
    Ignored,
    /// It makes no sense yet.
    Refused(RequestId, ErrorData),
}

/// Judges a message that comes before the dialogue has begun.
pub(crate) fn check(message: &RxJsonRpcMessage<RoleServer>) -> EarlyMessage {
    let JsonRpcMessage::Request(asked) = message else { return EarlyMessage::Ignored };
    let refused =
        |code, words: String| EarlyMessage::Refused(asked.id.clone(), ErrorData::new(code, words, None));
    match &asked.request {
        ClientRequest::PingRequest(_) => EarlyMessage::Allowed,
        ClientRequest::InitializeRequest(_) => EarlyMessage::Starts,
        request if request.method() == "initialize" => {
            let words = "`initialize` takes `protocolVersion`, `capabilities` and `clientInfo`";
            refused(ErrorCode::INVALID_PARAMS, words.to_owned())
        }
        request => {
            let meta = request.get_meta();
            let whole = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty();
            match (whole && meta.protocol_version().is_some(), request) {
                (true, ClientRequest::DiscoverRequest(_)) => EarlyMessage::Allowed,
                (true, _) => EarlyMessage::Starts,
                (false, _) => {
                    let words = format!("`{}` came too early: `initialize` comes first", request.method());
                    refused(ErrorCode::INVALID_REQUEST, words)
                }
            }
        }
    }
}
