//! Why a server cannot be reached, without an address: the words go to the model and to recordings.

use zori_core::transport::TransportFailure;

use crate::client::oauth::LoginError;

/// Says why there is no response.
pub fn reason(failure: &TransportFailure) -> String {
    let (kind, why) = match failure {
        TransportFailure::BadUrl(_) => return "its address cannot be used".to_owned(),
        TransportFailure::Redirect(_) => return "it leads to another address".to_owned(),
        TransportFailure::Connect(why) => ("Connection failed", why),
        TransportFailure::Timeout(why) => ("Request timed out", why),
        TransportFailure::Broken(why) => ("connection lost", why),
        TransportFailure::Replay(why) => return why.clone(),
    };
    // Host and port stand before the rest.
    let behind = why.split_once(": ").filter(|(place, _)| !place.contains(' ')).map(|(_, rest)| rest);
    let why = behind.unwrap_or(why);
    match why.contains(" leads to ") {
        true => format!("{kind}: its name leads to an address that is not allowed"),
        // A certificate names hosts.
        false => format!("{kind}: {}", why.split(" for name").next().unwrap_or_default()),
    }
}

/// Says why the login to a server of this name is of no use.
pub fn of_login(error: &LoginError, name: &str) -> String {
    let why = match error {
        LoginError::Unreachable(_) => "who gives out its tokens cannot be reached",
        LoginError::Unreadable(_) => "who gives out its tokens cannot be understood",
        _ => "it was refused",
    };
    format!("its login cannot be used: {why} (`zori mcp login {name}` says more)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address() {
        use TransportFailure::{BadUrl, Broken, Connect, Redirect, Timeout};
        type Kind = fn(String) -> TransportFailure;
        let cases: [(Kind, &str, &str); 10] = [
            (
                Connect,
                "127.0.0.1:9: Connection refused (os error 111)",
                "Connection failed: Connection refused (os error 111)",
            ),
            (
                Connect,
                "[::1]:9: the proxy refused to connect",
                "Connection failed: the proxy refused to connect",
            ),
            (
                Connect,
                "h.example: invalid peer certificate: certificate not valid for name `h.example`; it is for `x`",
                "Connection failed: invalid peer certificate: certificate not valid",
            ),
            (
                Connect,
                "h.example: h.example leads to 169.254.1.1, a link-local address; name it",
                "Connection failed: its name leads to an address that is not allowed",
            ),
            (Connect, "`x odd` is no name of a header", "Connection failed: `x odd` is no name of a header"),
            (
                Timeout,
                "h.example:8: no connection within 10 s",
                "Request timed out: no connection within 10 s",
            ),
            (Timeout, "no answer within 60 s", "Request timed out: no answer within 60 s"),
            (Broken, "h.example: connection closed", "connection lost: connection closed"),
            (Redirect, "https://other.example/x", "it leads to another address"),
            (BadUrl, "scheme `ftp`", "its address cannot be used"),
        ];
        for (kind, failure, words) in cases {
            assert_eq!(reason(&kind(failure.to_owned())), words);
        }
    }
}
