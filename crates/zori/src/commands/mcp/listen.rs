//! `mcp serve --http`: where it listens, and the token it wants.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use zori_contract::args::Args;
use zori_contract::command::Rule;
use zori_contract::failure::{Failure, Issue, IssueCode};
use zori_contract::flag::Flag;
use zori_contract::kind::Kind;
use zori_contract::path::AbsPath;
use zori_serve::mcp;

use crate::commands::AgentCx;
use zori_setup::environment::Environment;
use zori_setup::error::{ADDRESS_UNAVAILABLE, SETTING_INVALID};
use zori_setup::secrets::MCP_TOKEN;

/// `--http`: the other way to be reached.
pub const HTTP: Flag = Flag::valued(
    "http",
    "ADDRESS:PORT",
    Kind::Text,
    "Serve over HTTP at this address of this machine, such as 127.0.0.1:4242; port 0 takes a free one",
);

/// `--allow-remote`: others may come, too.
pub const ALLOW_REMOTE: Flag =
    Flag::switch("allow-remote", "Let `--http` name an address that other machines reach").rare();

/// What does not make sense alone.
pub const RULES: &[Rule] = &[Rule::Needs { flag: &ALLOW_REMOTE, value: None, other: &HTTP }];

/// A token that can be guessed is none.
const SHORTEST_TOKEN: usize = 16;

/// Checks what was typed.
pub fn validate(args: &Args, _: &AbsPath) -> Vec<Issue> {
    let Some(text) = args.text(&HTTP) else { return Vec::new() };
    let issue = |message: String| Issue::new("--http", IssueCode::InvalidValue, message).value(text);
    match parse(text) {
        None => vec![
            issue(format!("`--http` takes an address and a port, not `{text}`")).suggest("127.0.0.1:4242"),
        ],
        Some(address) if !address.ip().is_loopback() && !args.has(&ALLOW_REMOTE) => vec![
            issue(format!("other machines reach `{text}`, and whoever has the token can run commands here"))
                .suggest("listen on 127.0.0.1, or say `--allow-remote`"),
        ],
        Some(_) => Vec::new(),
    }
}

/// Returns where to listen, if it is HTTP that is spoken. It has been checked.
pub fn address(args: &Args) -> Option<SocketAddr> {
    args.text(&HTTP).and_then(parse)
}

fn parse(text: &str) -> Option<SocketAddr> {
    match text.strip_prefix("localhost:") {
        Some(port) => Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port.parse().ok()?)),
        None => text.parse().ok(),
    }
}

/// Takes the address.
pub fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .map_err(|error| Failure::new(&ADDRESS_UNAVAILABLE, format!("cannot listen on {address}: {error}")))
}

/// What a client has to show.
pub struct Token {
    pub text: String,
    /// Whether nobody knows it yet.
    made: bool,
}

impl Token {
    /// Takes the one of the environment, or makes one.
    pub fn find(env: &Environment) -> Result<Self, Failure> {
        match env.text(MCP_TOKEN).filter(|text| !text.is_empty()) {
            None => Ok(Self { text: mcp::secret(), made: true }),
            Some(text) if text.len() >= SHORTEST_TOKEN && text.bytes().all(|b| b.is_ascii_graphic()) => {
                Ok(Self { text: text.to_owned(), made: false })
            }
            Some(_) => Err(Failure::new(
                &SETTING_INVALID,
                format!(
                    "`{MCP_TOKEN}` takes {SHORTEST_TOKEN} letters, digits and signs or more, without spaces"
                ),
            )
            .hint("leave it away, and a token is made and said")),
        }
    }
}

/// Says where the server is and, once, which token it has made.
pub fn announce(cx: &mut AgentCx<'_>, listener: &TcpListener, token: &Token) -> Result<(), Failure> {
    let address = listener
        .local_addr()
        .map_err(|error| Failure::new(&ADDRESS_UNAVAILABLE, format!("cannot listen: {error}")))?;
    cx.ui.say(&format!("listening on http://{address}/mcp"));
    if token.made {
        // Not by way of what takes secrets out of words: this is the one place that has to say it.
        cx.ui.raw(&format!("token: {}\n", token.text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, wanted) in [
            ("127.0.0.1:4242", Some("127.0.0.1:4242")),
            ("localhost:0", Some("127.0.0.1:0")),
            ("[::1]:80", Some("[::1]:80")),
            ("0.0.0.0:80", Some("0.0.0.0:80")),
            ("4242", None),
            (":4242", None),
            ("127.0.0.1", None),
            ("127.0.0.1:70000", None),
            ("localhost:", None),
            ("example.com:80", None),
        ] {
            assert_eq!(parse(text).map(|address| address.to_string()).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn tokens() {
        let found = |value: &str| Token::find(&Environment::of(&[(MCP_TOKEN, value)]));
        let token = found("0123456789abcdef").unwrap();
        assert_eq!((token.text.as_str(), token.made), ("0123456789abcdef", false));
        assert!(found("0123456789abcde").is_err(), "too short");
        assert!(found("0123456789 abcdef").is_err(), "a space cannot be shown");
        let made = [found("").unwrap(), Token::find(&Environment::default()).unwrap()];
        assert_eq!(made.each_ref().map(|token| (token.text.len(), token.made)), [(64, true); 2]);
        assert_ne!(made[0].text, made[1].text);
    }
}
