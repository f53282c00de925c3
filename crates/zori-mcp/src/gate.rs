//! What a client may say before `initialize`: that, a ping, or a request of the protocol without a handshake, which
//! carries what `initialize` would say. Everything else is answered in words that name the way in.

use rmcp::RoleServer;
use rmcp::model::{ClientRequest, ErrorCode, ErrorData, GetMeta, JsonRpcMessage, ProtocolVersion, RequestId};
use rmcp::service::RxJsonRpcMessage;

/// What becomes of a message that comes before the dialogue has begun.
pub(crate) enum Early {
    /// The dialogue begins with it.
    Begins,
    /// It may come at any time.
    Passes,
    /// It makes no sense yet, and nobody waits for an answer.
    Ignored,
    /// It makes no sense yet.
    Refused(RequestId, ErrorData),
}

/// Judges a message that comes before the dialogue has begun.
pub(crate) fn early(message: &RxJsonRpcMessage<RoleServer>) -> Early {
    let JsonRpcMessage::Request(asked) = message else { return Early::Ignored };
    let refused = |code, words: String| Early::Refused(asked.id.clone(), ErrorData::new(code, words, None));
    match &asked.request {
        ClientRequest::PingRequest(_) => Early::Passes,
        ClientRequest::InitializeRequest(_) => Early::Begins,
        request if request.method() == "initialize" => {
            let words = "`initialize` takes `protocolVersion`, `capabilities` and `clientInfo`";
            refused(ErrorCode::INVALID_PARAMS, words.to_owned())
        }
        request => {
            let meta = request.get_meta();
            let whole = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty();
            match (whole && meta.protocol_version().is_some(), request) {
                (true, ClientRequest::DiscoverRequest(_)) => Early::Passes,
                (true, _) => Early::Begins,
                (false, _) => {
                    let words = format!("`{}` came too early: `initialize` comes first", request.method());
                    refused(ErrorCode::INVALID_REQUEST, words)
                }
            }
        }
    }
}
