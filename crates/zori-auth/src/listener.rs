//! Where the browser comes back to after a login: a loopback port for one answer (LS-1, LS-2).
//!
//! It takes data only: a code, or why there is none. Whoever else knocks is turned away, and the wait goes on. `judge`
//! decides, as a function of the request's head.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use zori_core::secret::Secret;

use crate::pkce::same;

/// How long a client may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a request's head may be; codes of some servers are long.
const MAX_HEAD: usize = 16 * 1024;
/// How many clients may knock at once.
const MAX_CLIENTS: usize = 16;

/// The listening port. Dropping it closes it.
pub struct Listener {
    socket: TcpListener,
    expected: Arc<Expected>,
}

/// What the browser brings back.
pub enum CallbackResult {
    /// The code that is exchanged for tokens.
    Code {
        /// The code itself.
        code: Secret,
        /// Who says to have sent it (RFC 9207).
        issuer: Option<String>,
    },
    /// Why there is none: the server's `error`, and its `error_description`.
    Refused(String),
}

/// How the answer we wait for is recognised.
struct Expected {
    /// The `Host` that names this port, and nothing a foreign page could make up.
    host: String,
    path: Secret,
    /// The state it has to carry; `None` where the path itself is the secret.
    state: Option<Secret>,
}

impl Listener {
    /// Opens this port, or a random one.
    pub async fn open(state: &Secret, port: Option<u16>) -> io::Result<Self> {
        Self::expecting("/callback".into(), Some(state.clone()), port).await
    }

    /// Opens a random port for servers that send no state back: it is a part of the path.
    pub async fn with_secret_path(state: &Secret) -> io::Result<Self> {
        Self::expecting(format!("/callback/{}", state.reveal()).into(), None, None).await
    }

    async fn expecting(path: Secret, state: Option<Secret>, port: Option<u16>) -> io::Result<Self> {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await?;
        let host = format!("127.0.0.1:{}", socket.local_addr()?.port());
        Ok(Self { socket, expected: Arc::new(Expected { host, path, state }) })
    }

    /// Reads what somebody pasted in place of the browser: the address that it was sent to, or the code alone. An error says what is wrong
    /// with it.
    pub fn pasted(&self, text: &str) -> Result<CallbackResult, &'static str> {
        let text = text.trim();
        let Some((address, query)) = text.split_once('?') else {
            let code = !text.is_empty() && !text.contains("://") && !text.contains(char::is_whitespace);
            return match code {
                true => Ok(CallbackResult::Code { code: text.into(), issuer: None }),
                false => Err("that is neither the address that the browser was sent to nor a code"),
            };
        };
        if address.split_once("://").is_none() {
            return Err("that is neither the address that the browser was sent to nor a code");
        }
        answer(query.split('#').next().unwrap_or_default(), &self.expected)
            .map_err(|_| "that address does not belong to this login")
    }

    /// Returns where the browser has to come.
    pub fn redirect_uri(&self) -> String {
        format!("http://{}{}", self.expected.host, self.expected.path.reveal())
    }

    /// Waits for the answer. Dropping the future ends all conversations.
    pub async fn wait(&self) -> io::Result<CallbackResult> {
        let mut clients = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.socket.accept() => {
                    let (stream, _) = accepted?;
                    if clients.len() < MAX_CLIENTS {
                        clients.spawn(serve(stream, self.expected.clone()));
                    }
                }
                Some(served) = clients.join_next() => {
                    if let Ok(Some(brought)) = served {
                        return Ok(brought);
                    }
                }
            }
        }
    }
}

/// Talks to one client; returns what it brought if it was the one.
async fn serve(mut stream: TcpStream, expected: Arc<Expected>) -> Option<CallbackResult> {
    let head = timeout(PATIENCE, read_head(&mut stream)).await.ok()??;
    let (status, text, brought) = match judge(&head, &expected) {
        Ok(code @ CallbackResult::Code { .. }) => (
            "200 OK",
            "The login has arrived. You can close this page and go back to the terminal.",
            Some(code),
        ),
        Ok(refused) => ("200 OK", "The login was refused. You can close this page.", Some(refused)),
        Err(status) => (status, status, None),
    };
    let page = format!("<!doctype html><meta charset=utf-8><title>zori</title><p>{text}</p>\n");
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\ncontent-security-policy: default-src 'none'\r\n\
         x-content-type-options: nosniff\r\nconnection: close\r\n\r\n{page}",
        page.len()
    );
    // A browser that is gone has brought what it had to bring.
    let _ = timeout(PATIENCE, async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await
    })
    .await;
    brought
}

async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let n = stream.read(&mut buffer).await.ok()?;
        head.extend_from_slice(&buffer[..n]);
        if n == 0 || head.len() > MAX_HEAD {
            return None;
        }
    }
    String::from_utf8(head).ok()
}

/// Returns what a request brings, or the status it is turned away with.
fn judge(head: &str, expected: &Expected) -> Result<CallbackResult, &'static str> {
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let headers: Vec<_> = lines.filter_map(|line| line.split_once(':')).collect();
    let header = |wanted: &str| -> Vec<&str> {
        let named = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        named.map(|(_, value)| value.trim()).collect()
    };
    // Another name for this address is a page that had its own name rebound; an origin is a script.
    if header("host") != [expected.host.as_str()] || !header("origin").is_empty() {
        return Err("403 Forbidden");
    }
    if method != "GET" {
        return Err("405 Method Not Allowed");
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if !same(path, expected.path.reveal()) {
        return Err("404 Not Found");
    }
    answer(query, expected)
}

/// Returns what the parameters of an address bring.
fn answer(query: &str, expected: &Expected) -> Result<CallbackResult, &'static str> {
    let state = parameter(query, "state")?;
    if let Some(wanted) = &expected.state
        && !state.is_some_and(|state| same(&state, wanted.reveal()))
    {
        return Err("400 Bad Request");
    }
    if let Some(error) = parameter(query, "error")? {
        let description = parameter(query, "error_description")?;
        return Ok(CallbackResult::Refused(match description.filter(|text| !text.is_empty()) {
            Some(description) => format!("{error}: {description}"),
            None => error,
        }));
    }
    match parameter(query, "code")?.filter(|code| !code.is_empty()) {
        Some(code) => Ok(CallbackResult::Code { code: code.into(), issuer: parameter(query, "iss")? }),
        None => Err("400 Bad Request"),
    }
}

/// Returns a parameter of a query; one that is there twice is a trick.
fn parameter(query: &str, name: &str) -> Result<Option<String>, &'static str> {
    let mut values = query.split('&').filter_map(|pair| pair.split_once('=')).filter(|(key, _)| *key == name);
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some((_, value)), None) => decode(value).map(Some).ok_or("400 Bad Request"),
        (Some(_), Some(_)) => Err("400 Bad Request"),
    }
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        bytes.push(match first {
            b'+' => b' ',
            b'%' => {
                let digits = std::str::from_utf8(after.get(..2)?).ok()?;
                rest = &after[2..];
                u8::from_str_radix(digits, 16).ok()?
            }
            other => *other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(state: Option<&str>) -> Expected {
        let path = if state.is_some() { "/callback" } else { "/callback/s3cret" };
        Expected { host: "127.0.0.1:99".into(), path: path.into(), state: state.map(Secret::from) }
    }

    fn judged(expected: &Expected, request: &str, headers: &str) -> String {
        match judge(&format!("{request} HTTP/1.1\r\n{headers}\r\n\r\n"), expected) {
            Ok(CallbackResult::Code { code, issuer: None }) => format!("code {}", code.reveal()),
            Ok(CallbackResult::Code { code, issuer: Some(issuer) }) => {
                format!("code {} of {issuer}", code.reveal())
            }
            Ok(CallbackResult::Refused(why)) => format!("refused {why}"),
            Err(status) => status.to_owned(),
        }
    }

    #[test]
    fn requests() {
        let to = |request: &str| judged(&expected(Some("st")), request, "Host: 127.0.0.1:99");
        assert_eq!(to("GET /callback?code=a%2Bb+c&state=st"), "code a+b c");
        assert_eq!(to("GET /callback?code=a&state=st&iss=https%3A%2F%2Fas"), "code a of https://as");
        assert_eq!(to("GET /callback?state=st&error=access_denied"), "refused access_denied");
        assert_eq!(to("GET /callback?state=st&error=x&error_description=no%20way"), "refused x: no way");
        for bad in [
            "GET /callback?code=a",
            "GET /callback?code=a&state=",
            "GET /callback?code=a&state=no",
            "GET /callback?code=&state=st",
            "GET /callback?state=st",
            "GET /callback?error=access_denied",
            "GET /callback?code=a&code=b&state=st",
            "GET /callback?code=a&state=st&state=st",
            "GET /callback?code=%zz&state=st",
            "GET /callback?code=%&state=st",
            "GET /callback?code=%ff&state=st",
        ] {
            assert_eq!(to(bad), "400 Bad Request", "{bad}");
        }
        assert_eq!(to("GET /favicon.ico"), "404 Not Found");
        assert_eq!(to("GET /callback/x?code=a&state=st"), "404 Not Found");
        assert_eq!(to("POST /callback?code=a&state=st"), "405 Method Not Allowed");
        assert_eq!(to(""), "405 Method Not Allowed");
    }

    #[test]
    fn hosts_and_origins() {
        let with = |headers: &str| judged(&expected(Some("st")), "GET /callback?code=a&state=st", headers);
        assert_eq!(with("host:127.0.0.1:99"), "code a");
        for bad in [
            "",
            "Host: evil.example:99",
            "Host: 127.0.0.1",
            "Host: 127.0.0.1:98",
            "Host: 127.0.0.1:99\r\nHost: 127.0.0.1:99",
            "Host: 127.0.0.1:99\r\nOrigin: http://evil.example",
            "Host: 127.0.0.1:99\r\nOrigin: null",
        ] {
            assert_eq!(with(bad), "403 Forbidden", "{bad}");
        }
    }

    #[tokio::test]
    async fn pasted() {
        let listener = Listener::open(&"st".into(), None).await.unwrap();
        let of = |text: &str| match listener.pasted(text) {
            Ok(CallbackResult::Code { code, issuer }) => format!("code {} {issuer:?}", code.reveal()),
            Ok(CallbackResult::Refused(why)) => format!("refused {why}"),
            Err(why) => why.to_owned(),
        };
        let back = listener.redirect_uri();
        assert_eq!(of(&format!(" {back}?code=a%2Fb&state=st&iss=i\n")), "code a/b Some(\"i\")");
        assert_eq!(of("a-code"), "code a-code None");
        assert_eq!(of(&format!("{back}?error=access_denied&state=st")), "refused access_denied");
        assert_eq!(of(&format!("{back}?code=a&state=other")), "that address does not belong to this login");
        for bad in ["", "two words", "http://127.0.0.1:1/callback", "code?x=1"] {
            assert_eq!(
                of(bad),
                "that is neither the address that the browser was sent to nor a code",
                "{bad}"
            );
        }
    }

    #[test]
    fn a_path_that_is_the_secret() {
        let to = |request: &str| judged(&expected(None), request, "Host: 127.0.0.1:99");
        assert_eq!(to("GET /callback/s3cret?code=a"), "code a");
        assert_eq!(to("GET /callback/s3cres?code=a"), "404 Not Found");
        assert_eq!(to("GET /callback?code=a"), "404 Not Found");
    }
}
